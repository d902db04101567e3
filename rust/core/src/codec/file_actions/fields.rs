//! The fields of `add`, `remove` and `cdc`: their names, their order and their Arrow types.
//!
//! Protocol: "Add File and Remove File", "Add CDC File".

use std::sync::{Arc, LazyLock};

use arrow_array::builder::{MapBuilder, MapFieldNames, StringBuilder};
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, SchemaRef};

/// A field of a file action, with the protocol's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileField {
    /// `path`, exactly as the log has it.
    Path,
    /// `partitionValues`.
    PartitionValues,
    /// `size` in bytes.
    Size,
    /// `modificationTime`, milliseconds since the epoch.
    ModificationTime,
    /// `deletionTimestamp`, milliseconds since the epoch.
    DeletionTimestamp,
    /// `dataChange`.
    DataChange,
    /// `extendedFileMetadata`.
    ExtendedFileMetadata,
    /// `stats`, JSON text.
    Stats,
    /// `tags`.
    Tags,
    /// `deletionVector`, the descriptor.
    DeletionVector,
    /// `baseRowId`.
    BaseRowId,
    /// `defaultRowCommitVersion`.
    DefaultRowCommitVersion,
    /// `clusteringProvider`.
    ClusteringProvider,
}

use FileField as F;

/// The fields of `add`, in output order.
pub const ADD_FIELDS: [FileField; 11] = [
    F::Path,
    F::PartitionValues,
    F::Size,
    F::ModificationTime,
    F::DataChange,
    F::Stats,
    F::Tags,
    F::DeletionVector,
    F::BaseRowId,
    F::DefaultRowCommitVersion,
    F::ClusteringProvider,
];

/// The fields of `remove`, in output order.
pub const REMOVE_FIELDS: [FileField; 11] = [
    F::Path,
    F::DeletionTimestamp,
    F::DataChange,
    F::ExtendedFileMetadata,
    F::PartitionValues,
    F::Size,
    F::Stats,
    F::Tags,
    F::DeletionVector,
    F::BaseRowId,
    F::DefaultRowCommitVersion,
];

/// The fields of `cdc`.
pub const CDC_FIELDS: [FileField; 5] =
    [F::Path, F::PartitionValues, F::Size, F::DataChange, F::Tags];

/// The fields of a deletion vector's descriptor.
pub static DELETION_VECTOR_FIELDS: LazyLock<Fields> = LazyLock::new(|| {
    Fields::from(vec![
        Field::new("storageType", DataType::Utf8, true),
        Field::new("pathOrInlineDv", DataType::Utf8, true),
        Field::new("offset", DataType::Int32, true),
        Field::new("sizeInBytes", DataType::Int32, true),
        Field::new("cardinality", DataType::Int64, true),
    ])
});

/// The fields of an entry of [`STRING_MAP`].
pub(crate) static STRING_MAP_FIELDS: LazyLock<Fields> = LazyLock::new(|| {
    Fields::from(vec![
        Field::new("key", DataType::Utf8, false),
        Field::new("value", DataType::Utf8, true),
    ])
});

/// The output type of `map<string, string>`.
pub static STRING_MAP: LazyLock<DataType> = LazyLock::new(|| {
    let entries = Field::new_struct("entries", STRING_MAP_FIELDS.clone(), false);
    DataType::Map(Arc::new(entries), false)
});

/// Returns a builder of [`STRING_MAP`].
pub fn string_map_builder() -> MapBuilder<StringBuilder, StringBuilder> {
    let names = MapFieldNames {
        entry: "entries".into(),
        key: "key".into(),
        value: "value".into(),
    };
    MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new())
}

impl FileField {
    /// Returns the protocol's name of the field.
    pub fn name(self) -> &'static str {
        match self {
            F::Path => "path",
            F::PartitionValues => "partitionValues",
            F::Size => "size",
            F::ModificationTime => "modificationTime",
            F::DeletionTimestamp => "deletionTimestamp",
            F::DataChange => "dataChange",
            F::ExtendedFileMetadata => "extendedFileMetadata",
            F::Stats => "stats",
            F::Tags => "tags",
            F::DeletionVector => "deletionVector",
            F::BaseRowId => "baseRowId",
            F::DefaultRowCommitVersion => "defaultRowCommitVersion",
            F::ClusteringProvider => "clusteringProvider",
        }
    }

    /// Finds the field of this name among `fields`.
    pub fn by_name(name: &str, fields: &[FileField]) -> Option<FileField> {
        fields.iter().copied().find(|field| field.name() == name)
    }

    /// Returns the Arrow type of the column.
    pub fn data_type(self) -> DataType {
        match self {
            F::Path | F::Stats | F::ClusteringProvider => DataType::Utf8,
            F::PartitionValues | F::Tags => STRING_MAP.clone(),
            F::DataChange | F::ExtendedFileMetadata => DataType::Boolean,
            F::DeletionVector => DataType::Struct(DELETION_VECTOR_FIELDS.clone()),
            F::Size
            | F::ModificationTime
            | F::DeletionTimestamp
            | F::BaseRowId
            | F::DefaultRowCommitVersion => DataType::Int64,
        }
    }

    /// Returns the Arrow field of the column; every column except `path` is nullable.
    pub fn arrow(self) -> FieldRef {
        Arc::new(Field::new(self.name(), self.data_type(), self != F::Path))
    }
}

/// Returns the Arrow schema of `fields`, in their order.
pub fn schema_of(fields: &[FileField]) -> SchemaRef {
    Arc::new(Schema::new(
        fields.iter().map(|field| field.arrow()).collect::<Fields>(),
    ))
}
