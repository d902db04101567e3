//! The raw actions of a range of commits as columns: one row an action, one struct column a kind.
//!
//! What the log says, not what it means: nothing is reconciled, and compacted files and checkpoints
//! play no part.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use arrow_array::builder::{
    BooleanBuilder, Int32Builder, Int64Builder, ListBuilder, MapBuilder, MapFieldNames,
    StringBuilder,
};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StructArray, UInt32Array, new_null_array};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef};
use serde_json::{Map, Value};

use super::commit::decode_files;
use super::history;
use super::listing::{LogListing, VersionedFile};
use super::path;
use crate::codec::commit::{ActionBatch, ActionDecoder, FileActions, Placed, Wanted};
use crate::codec::file_actions::{
    ADD_FIELDS, CDC_FIELDS, FileField, REMOVE_FIELDS, STRING_MAP, schema_of,
};
use crate::error::{Error, ErrorKind, Result};
use crate::spec::actions::{DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::storage::{Storage, interrupt};

/// A batch holds about this many bytes of commits, and at most this many commits.
const RUN_BYTES: u64 = 4 << 20;
const RUN_COMMITS: usize = 256;

fn text(name: &str) -> Field {
    Field::new(name, DataType::Utf8, true)
}

fn long(name: &str) -> Field {
    Field::new(name, DataType::Int64, true)
}

fn texts(name: &str) -> Field {
    Field::new(
        name,
        DataType::List(Arc::new(Field::new("element", DataType::Utf8, true))),
        true,
    )
}

fn format_fields() -> Fields {
    Fields::from(vec![
        text("provider"),
        Field::new("options", STRING_MAP.clone(), true),
    ])
}

fn metadata_fields() -> Fields {
    Fields::from(vec![
        text("id"),
        text("name"),
        text("description"),
        Field::new("format", DataType::Struct(format_fields()), true),
        text("schemaString"),
        texts("partitionColumns"),
        Field::new("configuration", STRING_MAP.clone(), true),
        long("createdTime"),
    ])
}

fn protocol_fields() -> Fields {
    let int = |name: &str| Field::new(name, DataType::Int32, true);
    Fields::from(vec![
        int("minReaderVersion"),
        int("minWriterVersion"),
        texts("readerFeatures"),
        texts("writerFeatures"),
    ])
}

fn transaction_fields() -> Fields {
    Fields::from(vec![text("appId"), long("version"), long("lastUpdated")])
}

fn domain_fields() -> Fields {
    Fields::from(vec![
        text("domain"),
        text("configuration"),
        Field::new("removed", DataType::Boolean, true),
    ])
}

/// Fields of `commitInfo` that the protocol or the reference names, and all of it as JSON text.
fn commit_info_fields() -> Fields {
    Fields::from(vec![
        long("timestamp"),
        long("inCommitTimestamp"),
        text("operation"),
        Field::new("operationParameters", STRING_MAP.clone(), true),
        long("readVersion"),
        text("isolationLevel"),
        Field::new("isBlindAppend", DataType::Boolean, true),
        Field::new("operationMetrics", STRING_MAP.clone(), true),
        text("userMetadata"),
        text("engineInfo"),
        text("txnId"),
        text("json"),
    ])
}

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let kind = |name: &str, fields: Fields| Field::new(name, DataType::Struct(fields), true);
    let files = |name: &str, fields: &[FileField]| kind(name, schema_of(fields).fields().clone());
    Arc::new(Schema::new(vec![
        Field::new("version", DataType::Int64, false),
        files("add", &ADD_FIELDS),
        files("remove", &REMOVE_FIELDS),
        files("cdc", &CDC_FIELDS),
        kind("metaData", metadata_fields()),
        kind("protocol", protocol_fields()),
        kind("txn", transaction_fields()),
        kind("domainMetadata", domain_fields()),
        kind("commitInfo", commit_info_fields()),
    ]))
});

/// The actions of a range of commits, batch by batch, oldest first.
#[derive(Debug)]
pub struct ActionBatches {
    storage: Arc<dyn Storage>,
    commits: std::vec::IntoIter<VersionedFile>,
}

impl ActionBatches {
    /// The commits `start..=end`; without `end`, up to the newest.
    ///
    /// # Errors
    ///
    /// `version.range` when the range is empty or its ends are not in the log; `log.gap`.
    pub fn new(storage: Arc<dyn Storage>, start: u64, end: Option<u64>) -> Result<Self> {
        let listing = LogListing::read(&*storage, start)?;
        let commits: Vec<VersionedFile> = listing
            .commits
            .into_iter()
            .filter(|commit| end.is_none_or(|end| commit.version <= end))
            .collect();
        let first = commits.first().map(|commit| commit.version);
        let last = commits.last().map(|commit| commit.version);
        if first != Some(start) || end.is_some_and(|end| Some(end) != last) {
            let found = match (first, last) {
                (Some(first), Some(last)) => {
                    format!("from there on it has the commits {first} to {last}")
                }
                _ => "it has no commit from there on".to_owned(),
            };
            let end = end.map_or_else(|| "the newest".to_owned(), |end| end.to_string());
            let message =
                format!("the log does not hold all commits from {start} to {end}: {found}");
            return Err(Error::new(
                ErrorKind::VersionNotFound,
                "version.range",
                message,
            ));
        }
        for (commit, version) in commits.iter().zip(start..) {
            if commit.version != version {
                let message = "this commit is missing, while later ones are there; restore the file from a backup or another replica";
                return Err(Error::corrupt("log.gap", message)
                    .at_path(path::commit_path(version))
                    .at_version(version));
            }
        }
        Ok(Self {
            storage,
            commits: commits.into_iter(),
        })
    }

    /// The schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&SCHEMA)
    }

    fn pull(&mut self, run: &[VersionedFile]) -> Result<RecordBatch> {
        interrupt::check()?;
        let mut decoder = ActionDecoder::new(Wanted::everything());
        let files: Vec<_> = run
            .iter()
            .map(|commit| (&commit.file, commit.version))
            .collect();
        decode_files(&*self.storage, &files, &mut decoder)?;
        let versions: Vec<u64> = run.iter().map(|commit| commit.version).collect();
        batch(&decoder.finish()?, &versions).map_err(columns_error)
    }
}

impl Iterator for ActionBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut run: Vec<VersionedFile> = Vec::new();
        let mut bytes = 0_u64;
        while run.len() < RUN_COMMITS && bytes < RUN_BYTES {
            let Some(commit) = self.commits.next() else {
                break;
            };
            bytes = bytes.saturating_add(commit.file.size);
            run.push(commit);
        }
        if run.is_empty() {
            return None;
        }
        let next = self.pull(&run);
        if next.is_err() {
            self.commits = Vec::new().into_iter();
        }
        Some(next)
    }
}

fn columns_error(cause: ArrowError) -> Error {
    Error::corrupt(
        "commit.columns",
        "the actions do not fit into Arrow columns",
    )
    .because(cause)
}

/// One row for each place that holds an action of a known kind.
fn batch(actions: &ActionBatch, versions: &[u64]) -> std::result::Result<RecordBatch, ArrowError> {
    let files = |side: &Option<FileActions>| {
        side.as_ref()
            .map(|side| side.sequence.clone())
            .unwrap_or_default()
    };
    fn placed<T>(list: &[Placed<T>]) -> Vec<u32> {
        list.iter().map(|(place, _)| *place).collect()
    }
    let places = [
        files(&actions.adds),
        files(&actions.removes),
        files(&actions.cdcs),
        placed(&actions.metadatas),
        placed(&actions.protocols),
        placed(&actions.transactions),
        placed(&actions.domains),
        placed(&actions.commit_infos),
    ];
    let rows = |side: &Option<FileActions>, fields: &[FileField]| -> ArrayRef {
        match side {
            Some(side) => Arc::new(StructArray::from(side.rows.clone())),
            None => new_null_array(&DataType::Struct(schema_of(fields).fields().clone()), 0),
        }
    };
    let columns = [
        rows(&actions.adds, &ADD_FIELDS),
        rows(&actions.removes, &REMOVE_FIELDS),
        rows(&actions.cdcs, &CDC_FIELDS),
        metadatas(&actions.metadatas)?,
        protocols(&actions.protocols)?,
        transactions(&actions.transactions)?,
        domains(&actions.domains)?,
        commit_infos(&actions.commit_infos)?,
    ];
    // a line that holds two kinds gives two rows, in the order of the columns
    let mut order: Vec<(u32, usize)> = Vec::new();
    for (kind, places) in places.iter().enumerate() {
        order.extend(places.iter().map(|place| (*place, kind)));
    }
    order.sort_unstable();
    let version_of = |place: u32| {
        let file = actions
            .starts
            .partition_point(|start| *start <= place)
            .saturating_sub(1);
        versions
            .get(file)
            .and_then(|version| i64::try_from(*version).ok())
            .unwrap_or_default()
    };
    let mut out: Vec<ArrayRef> = vec![Arc::new(Int64Array::from_iter_values(
        order.iter().map(|(place, _)| version_of(*place)),
    ))];
    for (kind, column) in columns.iter().enumerate() {
        let mut next = 0_u32;
        let indices: UInt32Array = order
            .iter()
            .map(|(_, found)| {
                (*found == kind).then(|| {
                    next += 1;
                    next - 1
                })
            })
            .collect();
        out.push(arrow_select::take::take(column, &indices, None)?);
    }
    RecordBatch::try_new(Arc::clone(&SCHEMA), out)
}

fn map_builder() -> MapBuilder<StringBuilder, StringBuilder> {
    let names = MapFieldNames {
        entry: "entries".into(),
        key: "key".into(),
        value: "value".into(),
    };
    MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new())
}

fn maps<'a>(
    values: impl Iterator<Item = &'a BTreeMap<String, String>>,
) -> std::result::Result<ArrayRef, ArrowError> {
    let mut builder = map_builder();
    for map in values {
        for (key, value) in map {
            builder.keys().append_value(key);
            builder.values().append_value(value);
        }
        builder.append(true)?;
    }
    Ok(Arc::new(builder.finish()))
}

fn lists<'a>(values: impl Iterator<Item = Option<&'a Vec<String>>>) -> ArrayRef {
    let mut builder = ListBuilder::new(StringBuilder::new()).with_field(Field::new(
        "element",
        DataType::Utf8,
        true,
    ));
    for list in values {
        list.into_iter()
            .flatten()
            .for_each(|value| builder.values().append_value(value));
        builder.append(list.is_some());
    }
    Arc::new(builder.finish())
}

fn strings<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    let mut builder = StringBuilder::new();
    values.for_each(|value| builder.append_option(value));
    Arc::new(builder.finish())
}

fn longs(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    let mut builder = Int64Builder::new();
    values.for_each(|value| builder.append_option(value));
    Arc::new(builder.finish())
}

fn rows(
    fields: Fields,
    columns: Vec<ArrayRef>,
    count: usize,
) -> std::result::Result<ArrayRef, ArrowError> {
    Ok(Arc::new(StructArray::try_new_with_length(
        fields, columns, None, count,
    )?))
}

fn metadatas(list: &[Placed<Metadata>]) -> std::result::Result<ArrayRef, ArrowError> {
    let all = || list.iter().map(|(_, action)| action);
    let format = vec![
        strings(all().map(|action| Some(action.format_provider.as_str()))),
        maps(all().map(|action| &action.format_options))?,
    ];
    let columns = vec![
        strings(all().map(|action| Some(action.id.as_str()))),
        strings(all().map(|action| action.name.as_deref())),
        strings(all().map(|action| action.description.as_deref())),
        rows(format_fields(), format, list.len())?,
        strings(all().map(|action| Some(action.schema_string.as_str()))),
        lists(all().map(|action| Some(&action.partition_columns))),
        maps(all().map(|action| &action.configuration))?,
        longs(all().map(|action| action.created_time)),
    ];
    rows(metadata_fields(), columns, list.len())
}

fn protocols(list: &[Placed<Protocol>]) -> std::result::Result<ArrayRef, ArrowError> {
    let all = || list.iter().map(|(_, action)| action);
    let ints = |version: fn(&Protocol) -> i32| -> ArrayRef {
        let mut builder = Int32Builder::new();
        all().for_each(|action| builder.append_value(version(action)));
        Arc::new(builder.finish())
    };
    let columns = vec![
        ints(|protocol| protocol.min_reader_version),
        ints(|protocol| protocol.min_writer_version),
        lists(all().map(|action| action.reader_features.as_ref())),
        lists(all().map(|action| action.writer_features.as_ref())),
    ];
    rows(protocol_fields(), columns, list.len())
}

fn transactions(list: &[Placed<SetTransaction>]) -> std::result::Result<ArrayRef, ArrowError> {
    let all = || list.iter().map(|(_, action)| action);
    let columns = vec![
        strings(all().map(|action| Some(action.app_id.as_str()))),
        longs(all().map(|action| Some(action.version))),
        longs(all().map(|action| action.last_updated)),
    ];
    rows(transaction_fields(), columns, list.len())
}

fn domains(list: &[Placed<DomainMetadata>]) -> std::result::Result<ArrayRef, ArrowError> {
    let all = || list.iter().map(|(_, action)| action);
    let mut removed = BooleanBuilder::new();
    all().for_each(|action| removed.append_value(action.removed));
    let columns = vec![
        strings(all().map(|action| Some(action.domain.as_str()))),
        strings(all().map(|action| Some(action.configuration.as_str()))),
        Arc::new(removed.finish()) as ArrayRef,
    ];
    rows(domain_fields(), columns, list.len())
}

fn commit_infos(list: &[Placed<String>]) -> std::result::Result<ArrayRef, ArrowError> {
    let parsed: Vec<Map<String, Value>> = list
        .iter()
        .map(|(_, text)| serde_json::from_str(text).unwrap_or_default())
        .collect();
    let mut columns = Vec::new();
    for field in &commit_info_fields() {
        columns.push(match field.name().as_str() {
            "json" => strings(list.iter().map(|(_, text)| Some(text.as_str()))),
            name => history::column(
                field.data_type(),
                &mut parsed.iter().map(|info| info.get(name)),
            )?,
        });
    }
    rows(commit_info_fields(), columns, list.len())
}
