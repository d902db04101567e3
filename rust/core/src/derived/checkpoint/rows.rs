//! The rows of a checkpoint: its columns, and control actions as Arrow arrays.
//!
//! Protocol: "Checkpoint Schema".

use std::collections::BTreeMap;
use std::iter::once;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, StructArray, new_null_array,
};
use arrow_schema::{Fields, Schema, SchemaRef};
use parquet::errors::ParquetError;

use crate::codec::columns::{columns_mismatch, missing};
use crate::codec::control_columns::{
    domain_fields, domain_rows, long, maps, metadata_fields, metadata_rows, protocol_fields,
    protocol_rows, strings, structure, text, text_map, transaction_fields, transaction_rows,
};
use crate::codec::file_actions::{ADD_FIELDS, FileField, REMOVE_FIELDS, STRING_MAP};
use crate::codec::file_columns::FileColumns;
use crate::error::{Error, Result};
use crate::replay::Source;
use crate::snapshot::Snapshot;
use crate::spec::actions::Sidecar;
use crate::spec::{DomainMetadata, Metadata, Protocol, SetTransaction};

/// The column index of each kind of action.
pub(super) const TXN: usize = 0;
pub(super) const ADD: usize = 1;
pub(super) const REMOVE: usize = 2;
const METADATA: usize = 3;
const PROTOCOL: usize = 4;
const DOMAIN: usize = 5;
pub(super) const CHECKPOINT_METADATA: usize = 6;
pub(super) const SIDECAR: usize = 7;

/// Returns rows in which the column of this index has these values and all other columns are null.
pub(super) fn rows_of(schema: &SchemaRef, column: usize, values: ArrayRef) -> Result<RecordBatch> {
    let rows = values.len();
    let columns = schema.fields().iter().enumerate().map(|(number, field)| {
        if number == column {
            Arc::clone(&values)
        } else {
            new_null_array(field.data_type(), rows)
        }
    });
    RecordBatch::try_new(Arc::clone(schema), columns.collect()).map_err(columns_mismatch)
}

/// All actions except files: protocol, metadata, live transactions and domains.
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

    /// Returns the rows of each column, with its index.
    pub(super) fn rows(&self) -> Result<Vec<(usize, StructArray)>> {
        let mut rows = vec![
            (
                PROTOCOL,
                protocol_rows(once(&self.protocol)).map_err(columns_mismatch)?,
            ),
            (
                METADATA,
                metadata_rows(once(&self.metadata)).map_err(columns_mismatch)?,
            ),
        ];
        if !self.transactions.is_empty() {
            let transactions = transaction_rows(self.transactions.iter());
            rows.push((TXN, transactions.map_err(columns_mismatch)?));
        }
        if !self.domains.is_empty() {
            let domains = domain_rows(self.domains.iter());
            rows.push((DOMAIN, domains.map_err(columns_mismatch)?));
        }
        Ok(rows)
    }
}

/// Returns the columns of a checkpoint with all actions; with `v2`, including those of a manifest.
pub(super) fn schema(adds: &FileColumns, v2: bool) -> SchemaRef {
    let mut columns = vec![
        structure("txn", transaction_fields()),
        structure("add", adds.schema().fields().clone()),
        structure("remove", fields_of_removes()),
        structure("metaData", metadata_fields()),
        structure("protocol", protocol_fields()),
        structure("domainMetadata", domain_fields()),
    ];
    if v2 {
        columns.push(structure(
            "checkpointMetadata",
            checkpoint_metadata_fields(),
        ));
        columns.push(structure("sidecar", sidecar_fields()));
    }
    Arc::new(Schema::new(columns))
}

pub(super) fn sidecar_schema(adds: &FileColumns) -> SchemaRef {
    Arc::new(Schema::new(vec![
        structure("add", adds.schema().fields().clone()),
        structure("remove", fields_of_removes()),
    ]))
}

pub(super) fn tombstones(source: &Source, snapshot: &Snapshot) -> Result<Vec<StructArray>> {
    let batches = snapshot.tombstones(source)?.batches;
    batches.iter().map(convert_tombstones).collect()
}

/// Converts tombstones from the columns of the log to those of a checkpoint.
pub(super) fn convert_tombstones(batch: &RecordBatch) -> Result<StructArray> {
    let values = columns_of_removes().map(|field| {
        let values = batch.column_by_name(field.name()).cloned();
        let values = values.ok_or_else(|| missing(field.name()))?;
        Ok(match field {
            FileField::DataChange => Arc::new(BooleanArray::from(vec![false; values.len()])),
            _ => values,
        })
    });
    structs(fields_of_removes(), values.collect::<Result<_>>()?)
}

fn columns_of_removes() -> impl Iterator<Item = FileField> {
    let all = REMOVE_FIELDS.into_iter();
    all.filter(|field| !matches!(field, FileField::Stats | FileField::Tags))
}

fn fields_of_removes() -> Fields {
    columns_of_removes().map(|field| field.arrow()).collect()
}

pub(super) fn columns_of_adds(snapshot: &Snapshot) -> Result<FileColumns> {
    FileColumns::of_names(Some(&names_of_adds(snapshot)), snapshot)
}

/// Returns the names of the columns of `add`, depending on the properties for the format of statistics.
pub(super) fn names_of_adds(snapshot: &Snapshot) -> Vec<String> {
    let metadata = snapshot.metadata();
    let as_json = metadata.has_json_stats_in_checkpoints();
    let mut names: Vec<String> = ADD_FIELDS
        .iter()
        .filter(|field| as_json || **field != FileField::Stats)
        .map(|field| field.name().to_owned())
        .collect();
    // the default is false in the protocol and true in delta-spark
    if metadata.is_on("delta.checkpoint.writeStatsAsStruct") {
        if !metadata.partition_columns.is_empty() {
            names.push("partitionValues_parsed".to_owned());
        }
        names.push("stats_parsed".to_owned());
    }
    names
}

fn checkpoint_metadata_fields() -> Fields {
    vec![long("version"), text_map("tags")].into()
}

fn sidecar_fields() -> Fields {
    vec![
        text("path"),
        long("sizeInBytes"),
        long("modificationTime"),
        text_map("tags"),
    ]
    .into()
}

pub(super) fn checkpoint_metadata_rows(
    version: u64,
    tags: &BTreeMap<String, String>,
) -> Result<StructArray> {
    let version = i64::try_from(version).unwrap_or(i64::MAX);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![version])),
        maps(once(tags)).map_err(columns_mismatch)?,
    ];
    structs(checkpoint_metadata_fields(), columns)
}

pub(super) fn sidecar_rows(sidecars: &[Sidecar]) -> Result<StructArray> {
    let numbers = |of: fn(&Sidecar) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(sidecars.iter().map(of)))
    };
    let columns: Vec<ArrayRef> = vec![
        strings(sidecars.iter().map(|sidecar| Some(&sidecar.path))),
        numbers(|sidecar| sidecar.size_in_bytes),
        numbers(|sidecar| sidecar.modification_time),
        new_null_array(&STRING_MAP, sidecars.len()),
    ];
    structs(sidecar_fields(), columns)
}

fn structs(fields: Fields, columns: Vec<ArrayRef>) -> Result<StructArray> {
    StructArray::try_new(fields, columns, None).map_err(columns_mismatch)
}

pub(super) fn encoding_failed(cause: ParquetError) -> Error {
    Error::corrupt("log.columns", "the checkpoint cannot be encoded").because(cause)
}
