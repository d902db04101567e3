//! The values needed to read the pieces of a plan, in serializable form.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use serde::{Deserialize, Serialize};

use super::PieceOptions;
use crate::codec::file_columns::FileColumns;
use crate::error::{Error, Result};
use crate::expr::Predicate;
use crate::replay::{FileActionKey, FileFilter, KeySet, Keys, Source};
use crate::snapshot::Snapshot;
use crate::snapshot::columns::TableColumns;
use crate::snapshot::plain_value::PlainValue;
use crate::spec::properties::ColumnMappingMode;
use crate::spec::schema::StructType;

/// Pieces must be read by the release that planned them: another one may split files differently.
const LIBRARY: &str = env!("CARGO_PKG_VERSION");

/// The options for reading the rows of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PieceSpec {
    library: String,
    pub(super) plan: u64,
    /// The version of the snapshot.
    pub(super) version: u64,
    schema: String,
    partition_columns: Vec<String>,
    column_mapping: ColumnMappingMode,
    columns: Option<Vec<String>>,
    /// The predicate as SQL.
    filter: Option<String>,
    /// Keys can only be compared with those of the same seed.
    keys: Keys,
    /// True if rows come with their keys.
    pub(super) keyed: bool,
    pub(super) tombstones_since: Option<i64>,
}

impl PlainValue for PieceSpec {
    const CODE: &'static str = "replay.json";
    const NAME: &'static str = "part of a plan";
}

impl PieceSpec {
    pub(super) fn new(
        snapshot: &Snapshot,
        source: &Source,
        plan: u64,
        options: &PieceOptions,
    ) -> Self {
        Self {
            library: LIBRARY.to_owned(),
            plan,
            version: snapshot.version(),
            schema: snapshot.metadata().schema_string.clone(),
            partition_columns: snapshot.metadata().partition_columns.clone(),
            column_mapping: snapshot.properties().column_mapping_mode,
            columns: options.columns.clone(),
            filter: options.filter.as_ref().map(ToString::to_string),
            keys: source.keys.clone(),
            keyed: options.keyed,
            tombstones_since: options.tombstones_since,
        }
    }
}

/// The files that the tail hides, and the options for reading other rows. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ReplayTail {
    spec: Arc<PieceSpec>,
    table_schema: Arc<StructType>,
    keys: Arc<KeySet>,
}

impl ReplayTail {
    pub(super) fn new(spec: PieceSpec, keys: Arc<KeySet>) -> Result<Self> {
        Ok(Self {
            table_schema: Arc::new(StructType::parse(&spec.schema)?),
            spec: Arc::new(spec),
            keys,
        })
    }

    pub(super) fn spec(&self) -> &PieceSpec {
        &self.spec
    }

    /// Returns everything except the keys as JSON.
    pub fn to_json(&self) -> Result<String> {
        self.spec.to_json()
    }

    /// Returns the keys, 16 bytes each, in no defined order.
    pub fn hidden_bytes(&self) -> Vec<u8> {
        self.keys.iter().flat_map(|key| key.to_bytes()).collect()
    }

    /// Restores a tail from [`ReplayTail::to_json`] and [`ReplayTail::hidden_bytes`].
    ///
    /// # Errors
    ///
    /// Invalid argument: `replay.json`, also for a plan of another release of the library.
    pub fn from_parts(json: &str, key_bytes: &[u8]) -> Result<Self> {
        let spec = PieceSpec::from_json(json)?;
        if spec.library != LIBRARY {
            let message = format!(
                "this was made by deltareplay {}, but {LIBRARY} is installed here: install the same release \
                 on the driver and on the executors",
                spec.library
            );
            return Err(Error::invalid("replay.json", message));
        }
        let (keys, rest) = key_bytes.as_chunks();
        if !rest.is_empty() {
            let message = format!(
                "keys have 16 bytes each, but {} bytes were passed",
                key_bytes.len()
            );
            return Err(Error::invalid("replay.json", message));
        }
        let keys = keys.iter().map(|key| FileActionKey::from_bytes(*key));
        Self::new(spec, Arc::new(keys.collect()))
    }

    /// Returns the number of files that the tail hides.
    pub fn num_hidden(&self) -> usize {
        self.keys.len()
    }

    /// Returns the version of the snapshot.
    pub fn version(&self) -> u64 {
        self.spec.version
    }

    pub(super) fn filter(&self) -> Result<Option<Arc<FileFilter>>> {
        let Some(text) = &self.spec.filter else {
            return Ok(None);
        };
        let bound = Predicate::parse_sql(text)?.bind(&self.table_schema)?;
        let TableColumns {
            schema,
            partition_columns,
            mode,
        } = self.table_columns();
        let filter = FileFilter::new(bound, schema, partition_columns, mode)?;
        Ok(Some(Arc::new(filter)))
    }

    /// Returns the schema of a piece's rows: the requested columns; or, if rows come with their keys, `key`
    /// (binary), `version` (the first version of the piece, -1 for a checkpoint) and `file`, a struct of the
    /// requested columns that is null if the file was removed or skipped.
    pub fn schema(&self) -> Result<SchemaRef> {
        let files = self.columns()?.schema();
        Ok(if self.spec.keyed {
            Arc::new(Schema::new(vec![
                Field::new("key", DataType::Binary, false),
                Field::new("version", DataType::Int64, false),
                Field::new("file", DataType::Struct(files.fields().clone()), true),
            ]))
        } else {
            files
        })
    }

    /// Returns the columns of a file.
    pub fn columns(&self) -> Result<FileColumns> {
        FileColumns::named(self.spec.columns.as_deref(), &self.table_columns())
    }

    pub(super) fn table_columns(&self) -> TableColumns<'_> {
        TableColumns {
            schema: &self.table_schema,
            partition_columns: &self.spec.partition_columns,
            mode: self.spec.column_mapping,
        }
    }

    pub(super) fn keys(&self) -> Arc<KeySet> {
        Arc::clone(&self.keys)
    }

    /// Returns the source with the keys of the tail.
    pub(super) fn source(&self, source: &Source) -> Source {
        source.with_keys(self.spec.keys.clone())
    }
}
