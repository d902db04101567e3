//! The rows of a checkpoint: which columns it has, and control actions as Arrow.
//!
//! Protocol: "Checkpoint Schema".

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, StructArray,
    new_null_array,
};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use parquet::errors::ParquetError;

use crate::codec::file_actions::{ADD_FIELDS, FileField, REMOVE_FIELDS, STRING_MAP};
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::snapshot::Snapshot;
use crate::snapshot::columns::FileColumns;
use crate::spec::actions::{DomainMetadata, Metadata, Protocol, SetTransaction, Sidecar};

/// Where each kind of action stands.
pub(super) const TXN: usize = 0;
pub(super) const ADD: usize = 1;
pub(super) const REMOVE: usize = 2;
const METADATA: usize = 3;
const PROTOCOL: usize = 4;
const DOMAIN: usize = 5;
pub(super) const CHECKPOINT_METADATA: usize = 6;
pub(super) const SIDECAR: usize = 7;

/// Rows in which column `at` has these values and all others are null.
pub(super) fn rows_of(schema: &SchemaRef, at: usize, values: ArrayRef) -> Result<RecordBatch> {
    let rows = values.len();
    let columns = schema.fields().iter().enumerate().map(|(number, field)| {
        if number == at {
            Arc::clone(&values)
        } else {
            new_null_array(field.data_type(), rows)
        }
    });
    RecordBatch::try_new(Arc::clone(schema), columns.collect()).map_err(misfit)
}

/// Everything but files: protocol, metadata, live transactions and domains.
#[derive(Debug)]
pub(super) struct ControlActions {
    pub(super) protocol: Protocol,
    pub(super) metadata: Metadata,
    pub(super) transactions: Vec<SetTransaction>,
    pub(super) domains: Vec<DomainMetadata>,
}

impl ControlActions {
    pub(super) fn of(source: &Source, snapshot: &Snapshot) -> Result<Self> {
        Ok(Self {
            protocol: snapshot.protocol().clone(),
            metadata: snapshot.metadata().clone(),
            transactions: snapshot.transactions(source)?,
            domains: snapshot.domain_metadata(source)?,
        })
    }

    pub(super) fn count(&self) -> u64 {
        2 + self.transactions.len() as u64 + self.domains.len() as u64
    }

    /// By the column that they go into.
    pub(super) fn rows(&self) -> Result<Vec<(usize, StructArray)>> {
        let mut rows = vec![
            (PROTOCOL, protocol_rows(&self.protocol)?),
            (METADATA, metadata_rows(&self.metadata)?),
        ];
        if !self.transactions.is_empty() {
            rows.push((TXN, transaction_rows(&self.transactions)?));
        }
        if !self.domains.is_empty() {
            rows.push((DOMAIN, domain_rows(&self.domains)?));
        }
        Ok(rows)
    }
}

/// `add` and `remove` with their rows.
#[derive(Debug)]
pub(super) struct FileRows {
    pub(super) adds: FileColumns,
    removes: Vec<FileField>,
}

impl FileRows {
    pub(super) fn of(snapshot: &Snapshot) -> Result<Self> {
        let names = names_of_adds(snapshot);
        Ok(Self::with(FileColumns::new(Some(&names), snapshot)?))
    }

    /// Those of which `add` has these columns.
    pub(super) fn with(adds: FileColumns) -> Self {
        Self {
            adds,
            removes: REMOVE_FIELDS
                .into_iter()
                .filter(|field| !matches!(field, FileField::Stats | FileField::Tags))
                .collect(),
        }
    }

    fn remove_fields(&self) -> Fields {
        self.removes.iter().map(|field| field.arrow()).collect()
    }

    /// The columns of a checkpoint that holds everything; `v2`: those of a manifest too.
    pub(super) fn schema(&self, v2: bool) -> SchemaRef {
        let mut columns = vec![
            column("txn", txn_fields()),
            column("add", self.adds.schema().fields().clone()),
            column("remove", self.remove_fields()),
            column("metaData", metadata_fields()),
            column("protocol", protocol_fields()),
            column("domainMetadata", domain_fields()),
        ];
        if v2 {
            columns.push(column("checkpointMetadata", checkpoint_metadata_fields()));
            columns.push(column("sidecar", sidecar_fields()));
        }
        Arc::new(Schema::new(columns))
    }

    /// The columns of a sidecar.
    pub(super) fn sidecar_schema(&self) -> SchemaRef {
        Arc::new(Schema::new(vec![
            column("add", self.adds.schema().fields().clone()),
            column("remove", self.remove_fields()),
        ]))
    }

    /// Unexpired tombstones.
    pub(super) fn tombstones(
        &self,
        source: &Source,
        snapshot: &Snapshot,
    ) -> Result<Vec<StructArray>> {
        let tombstones = snapshot.tombstones(source)?;
        let batches = tombstones.batches.iter();
        batches.map(|batch| self.removed(batch)).collect()
    }

    /// Tombstones as the log has them, as a checkpoint has them.
    pub(super) fn removed(&self, batch: &RecordBatch) -> Result<StructArray> {
        let values = self.removes.iter().map(|field| {
            let values = batch.column_by_name(field.name()).cloned();
            let values = values.ok_or_else(|| lacks(field.name()))?;
            Ok(match field {
                FileField::DataChange => Arc::new(BooleanArray::from(vec![false; values.len()])),
                _ => values,
            })
        });
        structs(
            self.remove_fields(),
            values.collect::<Result<Vec<ArrayRef>>>()?,
        )
    }
}

/// The columns of `add`, by the properties that choose how statistics are kept.
pub(super) fn names_of_adds(snapshot: &Snapshot) -> Vec<String> {
    let on = |key: &str, default: bool| {
        let value = snapshot.metadata().property(key);
        value.map_or(default, |value| value.eq_ignore_ascii_case("true"))
    };
    let as_json = on("delta.checkpoint.writeStatsAsJson", true);
    let mut names: Vec<String> = ADD_FIELDS
        .iter()
        .filter(|field| as_json || **field != FileField::Stats)
        .map(|field| field.name().to_owned())
        .collect();
    // the protocol's default is false, delta-spark's is true
    if on("delta.checkpoint.writeStatsAsStruct", false) {
        if !snapshot.metadata().partition_columns.is_empty() {
            names.push("partitionValues_parsed".to_owned());
        }
        names.push("stats_parsed".to_owned());
    }
    names
}

fn column(name: &str, fields: Fields) -> Field {
    Field::new(name, DataType::Struct(fields), true)
}

fn text(name: &str) -> FieldRef {
    Arc::new(Field::new(name, DataType::Utf8, true))
}

fn number(name: &str) -> FieldRef {
    Arc::new(Field::new(name, DataType::Int64, true))
}

fn texts(name: &str) -> FieldRef {
    Arc::new(Field::new(
        name,
        DataType::List(Arc::new(Field::new("element", DataType::Utf8, true))),
        true,
    ))
}

fn map(name: &str) -> FieldRef {
    Arc::new(Field::new(name, STRING_MAP.clone(), true))
}

fn txn_fields() -> Fields {
    vec![text("appId"), number("version"), number("lastUpdated")].into()
}

fn domain_fields() -> Fields {
    let removed = Arc::new(Field::new("removed", DataType::Boolean, true));
    vec![text("domain"), text("configuration"), removed].into()
}

fn protocol_fields() -> Fields {
    let version = |name: &str| Arc::new(Field::new(name, DataType::Int32, true));
    vec![
        version("minReaderVersion"),
        version("minWriterVersion"),
        texts("readerFeatures"),
        texts("writerFeatures"),
    ]
    .into()
}

fn format_fields() -> Fields {
    vec![text("provider"), map("options")].into()
}

fn metadata_fields() -> Fields {
    vec![
        text("id"),
        text("name"),
        text("description"),
        Arc::new(Field::new(
            "format",
            DataType::Struct(format_fields()),
            true,
        )),
        text("schemaString"),
        texts("partitionColumns"),
        map("configuration"),
        number("createdTime"),
    ]
    .into()
}

fn checkpoint_metadata_fields() -> Fields {
    vec![number("version"), map("tags")].into()
}

fn sidecar_fields() -> Fields {
    vec![
        text("path"),
        number("sizeInBytes"),
        number("modificationTime"),
        map("tags"),
    ]
    .into()
}

pub(super) fn checkpoint_metadata_rows(
    version: u64,
    tags: &BTreeMap<String, String>,
) -> Result<StructArray> {
    let version = i64::try_from(version).unwrap_or(i64::MAX);
    let columns: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(vec![version])), entries(tags)?];
    structs(checkpoint_metadata_fields(), columns)
}

pub(super) fn sidecar_rows(sidecars: &[Sidecar]) -> Result<StructArray> {
    let numbers = |of: fn(&Sidecar) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(sidecars.iter().map(of)))
    };
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(
            sidecars.iter().map(|sidecar| &sidecar.path),
        )),
        numbers(|sidecar| sidecar.size_in_bytes),
        numbers(|sidecar| sidecar.modification_time),
        new_null_array(&STRING_MAP, sidecars.len()),
    ];
    structs(sidecar_fields(), columns)
}

fn transaction_rows(transactions: &[SetTransaction]) -> Result<StructArray> {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(
            transactions.iter().map(|txn| &txn.app_id),
        )),
        Arc::new(Int64Array::from_iter_values(
            transactions.iter().map(|txn| txn.version),
        )),
        Arc::new(Int64Array::from_iter(
            transactions.iter().map(|txn| txn.last_updated),
        )),
    ];
    structs(txn_fields(), columns)
}

fn domain_rows(domains: &[DomainMetadata]) -> Result<StructArray> {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from_iter_values(
            domains.iter().map(|domain| &domain.domain),
        )),
        Arc::new(StringArray::from_iter_values(
            domains.iter().map(|domain| &domain.configuration),
        )),
        Arc::new(BooleanArray::from(vec![false; domains.len()])),
    ];
    structs(domain_fields(), columns)
}

fn protocol_rows(protocol: &Protocol) -> Result<StructArray> {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(vec![protocol.min_reader_version])),
        Arc::new(Int32Array::from(vec![protocol.min_writer_version])),
        list(protocol.reader_features.as_deref()),
        list(protocol.writer_features.as_deref()),
    ];
    structs(protocol_fields(), columns)
}

fn metadata_rows(metadata: &Metadata) -> Result<StructArray> {
    let one = |text: Option<&str>| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    let format = structs(
        format_fields(),
        vec![
            one(Some(&metadata.format_provider)),
            entries(&metadata.format_options)?,
        ],
    )?;
    let columns: Vec<ArrayRef> = vec![
        one(Some(&metadata.id)),
        one(metadata.name.as_deref()),
        one(metadata.description.as_deref()),
        Arc::new(format),
        one(Some(&metadata.schema_string)),
        list(Some(&metadata.partition_columns)),
        entries(&metadata.configuration)?,
        Arc::new(Int64Array::from(vec![metadata.created_time])),
    ];
    structs(metadata_fields(), columns)
}

/// One row: a list, or null.
fn list(values: Option<&[String]>) -> ArrayRef {
    let mut builder = ListBuilder::new(StringBuilder::new()).with_field(Field::new(
        "element",
        DataType::Utf8,
        true,
    ));
    for value in values.into_iter().flatten() {
        builder.values().append_value(value);
    }
    builder.append(values.is_some());
    Arc::new(builder.finish())
}

/// One row: a map.
fn entries(values: &BTreeMap<String, String>) -> Result<ArrayRef> {
    let names = MapFieldNames {
        entry: "entries".into(),
        key: "key".into(),
        value: "value".into(),
    };
    let mut builder = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for (key, value) in values {
        builder.keys().append_value(key);
        builder.values().append_value(value);
    }
    builder.append(true).map_err(misfit)?;
    Ok(Arc::new(builder.finish()))
}

pub(super) fn structs(fields: Fields, columns: Vec<ArrayRef>) -> Result<StructArray> {
    StructArray::try_new(fields, columns, None).map_err(misfit)
}

pub(super) fn lacks(name: &str) -> Error {
    Error::corrupt(
        "log.columns",
        format!("the tombstones were decoded without {name}"),
    )
}

pub(super) fn misfit(cause: ArrowError) -> Error {
    Error::corrupt(
        "log.columns",
        "the actions do not fit into the columns of a checkpoint",
    )
    .because(cause)
}

pub(super) fn failed(cause: ParquetError) -> Error {
    Error::corrupt("log.columns", "the checkpoint cannot be encoded").because(cause)
}
