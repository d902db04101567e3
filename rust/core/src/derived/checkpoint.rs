//! A checkpoint of one version: one Parquet file (V1, classic name), and the hint that names it.
//!
//! Live files stream from the log into row groups; what is held is the encoded file. A file that would not
//! hold every live file is never published.
//!
//! Protocol: "Checkpoints", "Checkpoint Schema", "Last Checkpoint File".

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, StructArray,
    new_null_array,
};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;
use serde_json::{Value, json};

use crate::codec::canonical_json::CanonicalJson;
use crate::codec::file_actions::{ADD_FIELDS, FileField, REMOVE_FIELDS, STRING_MAP};
use crate::codec::parquet_file::{codec, writer_options};
use crate::error::{Error, Result};
use crate::log::hint::{Hint, hint_path};
use crate::log::path::LOG_DIRECTORY;
use crate::replay::Source;
use crate::snapshot::Snapshot;
use crate::snapshot::columns::FileColumns;
use crate::spec::actions::{DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::storage::interrupt;

/// So many files make a row group.
const ROW_GROUP: usize = 50_000;

const ADD: usize = 1;
const REMOVE: usize = 2;

/// A checkpoint that was written, or was there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenCheckpoint {
    /// Its version.
    pub version: u64,
    /// Its path, relative to the table root.
    pub path: String,
    /// All of its actions.
    pub num_actions: u64,
    /// Those that are live files.
    pub num_files: u64,
    /// Bytes.
    pub size_in_bytes: u64,
}

/// Writes the checkpoint of a snapshot, then the hint. Where another writer has written it already,
/// that one stays.
///
/// # Errors
///
/// Corrupt: `checkpoint.count` when the log does not give all live files; Storage.
pub fn write_checkpoint(source: &Source, snapshot: &Snapshot) -> Result<WrittenCheckpoint> {
    let encoded = encode(source, snapshot)?;
    let version = snapshot.version();
    let path = format!("{LOG_DIRECTORY}/{version:020}.checkpoint.parquet");
    let made = source.storage.put_if_absent(&path, &encoded.bytes)?;
    let size = if made {
        encoded.bytes.len() as u64
    } else {
        source.storage.head(&path)?.size
    };
    let written = WrittenCheckpoint {
        version,
        path,
        num_actions: encoded.num_actions,
        num_files: encoded.num_files,
        size_in_bytes: size,
    };
    let newer = matches!(Hint::read(&*source.storage)?, Hint::Version(known) if known > version);
    if !newer {
        source
            .storage
            .put(&hint_path(), hint_json(&written)?.as_bytes())?;
    }
    Ok(written)
}

fn hint_json(written: &WrittenCheckpoint) -> Result<String> {
    let mut hint = json!({
        "version": written.version,
        "size": written.num_actions,
        "sizeInBytes": written.size_in_bytes,
        "numOfAddFiles": written.num_files,
    });
    let checksum = CanonicalJson::parse(&hint.to_string(), "last_checkpoint.json")?.checksum();
    if let Some(fields) = hint.as_object_mut() {
        fields.insert("checksum".to_owned(), Value::from(checksum));
    }
    Ok(hint.to_string())
}

struct Encoded {
    bytes: Vec<u8>,
    num_actions: u64,
    num_files: u64,
}

fn encode(source: &Source, snapshot: &Snapshot) -> Result<Encoded> {
    let columns = columns_of_adds(snapshot)?;
    let adds = columns.schema().fields().clone();
    let removes: Vec<FileField> = REMOVE_FIELDS
        .into_iter()
        .filter(|field| !matches!(field, FileField::Stats | FileField::Tags))
        .collect();
    let schema = schema(adds, removes.iter().map(|field| field.arrow()).collect());
    let (compression, _) = codec(
        snapshot
            .metadata()
            .property("delta.parquet.compression.codec"),
    );
    let options = writer_options(compression, |builder| {
        builder.set_max_row_group_row_count(Some(ROW_GROUP))
    });
    let mut writer = ArrowWriter::try_new_with_options(Vec::new(), Arc::clone(&schema), options)
        .map_err(failed)?;
    let mut num_actions = 0;
    for (at, values) in control_rows(source, snapshot)? {
        let batch = rows_of(&schema, at, Arc::new(values))?;
        num_actions += batch.num_rows() as u64;
        writer.write(&batch).map_err(failed)?;
    }
    let tombstones = snapshot.tombstones(source)?;
    for batch in &tombstones.batches {
        let values = removes.iter().map(|field| {
            let values = batch.column_by_name(field.name()).cloned();
            let values = values.ok_or_else(|| lacks(field.name()))?;
            Ok(match field {
                FileField::DataChange => Arc::new(BooleanArray::from(vec![false; values.len()])),
                _ => values,
            })
        });
        let values = values.collect::<Result<Vec<ArrayRef>>>()?;
        let values = structs(removes.iter().map(|field| field.arrow()).collect(), values)?;
        num_actions += values.len() as u64;
        writer
            .write(&rows_of(&schema, REMOVE, Arc::new(values))?)
            .map_err(failed)?;
    }
    writer.flush().map_err(failed)?; // so that row groups of files hold nothing else
    let mut num_files = 0;
    for batch in snapshot.file_batches(source, columns, None)? {
        interrupt::check()?;
        let values = StructArray::from(batch?);
        num_files += values.len() as u64;
        writer
            .write(&rows_of(&schema, ADD, Arc::new(values))?)
            .map_err(failed)?;
    }
    if num_files != snapshot.num_files(source)? {
        let message = format!(
            "the log gives {num_files} live files where {} are known: the checkpoint was not written",
            snapshot.num_files(source)?
        );
        return Err(Error::corrupt("checkpoint.count", message).at_version(snapshot.version()));
    }
    Ok(Encoded {
        bytes: writer.into_inner().map_err(failed)?,
        num_actions: num_actions + num_files,
        num_files,
    })
}

/// The fields of `add`, by the properties that choose how statistics are kept.
fn columns_of_adds(snapshot: &Snapshot) -> Result<FileColumns> {
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
    FileColumns::new(Some(&names), snapshot)
}

fn schema(adds: Fields, removes: Fields) -> SchemaRef {
    let column = |name: &str, fields: Fields| Field::new(name, DataType::Struct(fields), true);
    Arc::new(Schema::new(vec![
        column("txn", txn_fields()),
        column("add", adds),
        column("remove", removes),
        column("metaData", metadata_fields()),
        column("protocol", protocol_fields()),
        column("domainMetadata", domain_fields()),
    ]))
}

/// Rows in which column `at` has these values and all others are null.
fn rows_of(schema: &SchemaRef, at: usize, values: ArrayRef) -> Result<RecordBatch> {
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

/// Everything but files, by the column that it goes into.
fn control_rows(source: &Source, snapshot: &Snapshot) -> Result<Vec<(usize, StructArray)>> {
    let mut rows = vec![
        (4, protocol_rows(snapshot.protocol())?),
        (3, metadata_rows(snapshot.metadata())?),
    ];
    let transactions = snapshot.transactions(source)?;
    if !transactions.is_empty() {
        rows.push((0, transaction_rows(&transactions)?));
    }
    let domains = snapshot.domain_metadata(source)?;
    if !domains.is_empty() {
        rows.push((5, domain_rows(&domains)?));
    }
    Ok(rows)
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
fn entries(values: &std::collections::BTreeMap<String, String>) -> Result<ArrayRef> {
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

fn structs(fields: Fields, columns: Vec<ArrayRef>) -> Result<StructArray> {
    StructArray::try_new(fields, columns, None).map_err(misfit)
}

fn lacks(name: &str) -> Error {
    Error::corrupt(
        "log.columns",
        format!("the tombstones were decoded without {name}"),
    )
}

fn misfit(cause: ArrowError) -> Error {
    Error::corrupt(
        "log.columns",
        "the actions do not fit into the columns of a checkpoint",
    )
    .because(cause)
}

fn failed(cause: ParquetError) -> Error {
    Error::corrupt("log.columns", "the checkpoint cannot be encoded").because(cause)
}
