//! The differences between two versions of a table: files and their vectors, and the table's
//! definition.
//!
//! Compares the two states, not the commits between them: a file that was added and removed again is in
//! neither.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use serde_json::Value;

use crate::codec::file_columns::FileColumns;
use crate::error::{Error, Result};
use crate::replay::{FileActionKey, Source};
use crate::scan::ScanFile;
use crate::scan::scan_file::SCAN_FIELDS;
use crate::snapshot::Snapshot;
use crate::snapshot::row_count::live_rows;
use crate::spec::column_path::column_path_text;

/// Schemas are compared down to this depth; anything deeper is compared as a whole.
const MAX_DEPTH: usize = 32;

/// A difference in the table definition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// `column`, `partition columns`, `protocol`, `reader feature`, `writer feature`, `property`,
    /// `domain` or `metadata`.
    pub kind: &'static str,
    /// The path of the column, or the name of the property or feature.
    pub name: String,
    /// The value before; `None` if there was none.
    pub before: Option<String>,
    /// The value after; `None` if there is none.
    pub after: Option<String>,
}

/// Files, rows and bytes of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Live files.
    pub files: u64,
    /// Their rows; `None` if the number of rows of a file is unknown.
    pub rows: Option<u64>,
    /// The sum of their sizes in bytes.
    pub bytes: u64,
}

/// The differences between two versions.
#[derive(Clone, Debug)]
pub struct SnapshotDiff {
    /// One row for each file that differs.
    pub files: RecordBatch,
    /// The differences of the definition, sorted.
    pub definition: Vec<Difference>,
    /// The totals of both versions.
    pub totals: [Totals; 2],
}

struct LiveFile {
    file: ScanFile,
    rows: Option<u64>,
}

/// A file that differs, before and after: it was added, removed, or has another deletion vector.
type Differing = (Option<LiveFile>, Option<LiveFile>);

/// Selects the file before or the file after.
type BeforeOrAfter = fn(&Differing) -> &Option<LiveFile>;

/// Compares two versions of a table.
pub fn diff(source: &Source, before: &Snapshot, after: &Snapshot) -> Result<SnapshotDiff> {
    let (old, old_totals) = files(source, before)?;
    let (mut new, new_totals) = files(source, after)?;
    let mut differing: Vec<Differing> = Vec::new();
    for (key, before) in old {
        match new.remove(&key) {
            None => differing.push((Some(before), None)),
            Some(after) if after.file.deletion_vector != before.file.deletion_vector => {
                differing.push((Some(before), Some(after)));
            }
            Some(_) => {}
        }
    }
    differing.extend(new.into_values().map(|file| (None, Some(file))));
    differing.sort_by(|left, right| path(left).cmp(path(right)));
    Ok(SnapshotDiff {
        files: batch(&differing)?,
        definition: definition(source, before, after)?,
        totals: [old_totals, new_totals],
    })
}

fn path((before, after): &Differing) -> &str {
    let file = before.as_ref().or(after.as_ref());
    file.map_or("", |live| &live.file.path)
}

type FilesByKey = HashMap<FileActionKey, LiveFile>;

fn files(source: &Source, snapshot: &Snapshot) -> Result<(FilesByKey, Totals)> {
    let names = SCAN_FIELDS.iter().map(|field| field.name());
    let names: Vec<String> = names.chain(["numRecords"]).map(str::to_owned).collect();
    let columns = FileColumns::of_names(Some(&names), snapshot)?;
    let mut files = FilesByKey::new();
    let mut totals = Totals {
        rows: Some(0),
        ..Totals::default()
    };
    for rows in snapshot.file_batches(source, columns, None)? {
        let rows = rows?;
        for (file, live) in ScanFile::of(&rows)?.into_iter().zip(live_rows(&rows)?) {
            let file = file?;
            totals.files += 1;
            let size = u64::try_from(file.size).unwrap_or_default();
            totals.bytes = totals.bytes.saturating_add(size);
            totals.rows = totals
                .rows
                .zip(live)
                .map(|(all, live)| all.saturating_add(live));
            let key = source.keys.key(&file.path, None);
            files.insert(key, LiveFile { file, rows: live });
        }
    }
    Ok((files, totals))
}

fn batch(differing: &[Differing]) -> Result<RecordBatch> {
    let changes = differing.iter().map(|file| match file {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "vector",
    });
    let sizes = differing.iter().map(|(before, after)| {
        let file = after.as_ref().or(before.as_ref());
        file.map_or(0, |live| live.file.size)
    });
    let rows = |state: BeforeOrAfter| {
        let rows = differing
            .iter()
            .map(move |file| i64::try_from(state(file).as_ref()?.rows?).ok());
        Arc::new(rows.collect::<Int64Array>()) as ArrayRef
    };
    let deleted = |state: BeforeOrAfter| {
        let deleted = differing.iter().map(move |file| {
            let vector = state(file).as_ref()?.file.deletion_vector.as_ref();
            i64::try_from(vector.map_or(0, |vector| vector.cardinality())).ok()
        });
        Arc::new(deleted.collect::<Int64Array>()) as ArrayRef
    };
    let changes = Arc::new(StringArray::from_iter_values(changes));
    let paths = Arc::new(StringArray::from_iter_values(differing.iter().map(path)));
    let columns: [(&str, ArrayRef, bool); 7] = [
        ("change", changes, false),
        ("path", paths, false),
        ("size", Arc::new(Int64Array::from_iter_values(sizes)), false),
        ("rows_before", rows(|(before, _)| before), true),
        ("rows_after", rows(|(_, after)| after), true),
        ("deleted_before", deleted(|(before, _)| before), true),
        ("deleted_after", deleted(|(_, after)| after), true),
    ];
    RecordBatch::try_from_iter_with_nullable(columns).map_err(|cause| {
        Error::corrupt("log.columns", "the columns of two versions do not match").because(cause)
    })
}

/// The parts of a table definition by kind and name.
type Definition = BTreeMap<(&'static str, String), String>;

fn definition(source: &Source, before: &Snapshot, after: &Snapshot) -> Result<Vec<Difference>> {
    let (mut old, mut new) = (parts(source, before)?, parts(source, after)?);
    let mut differences = Vec::new();
    let keys: BTreeSet<_> = old.keys().chain(new.keys()).cloned().collect();
    for key in keys {
        let (before, after) = (old.remove(&key), new.remove(&key));
        let (kind, name) = key;
        if before != after {
            differences.push(Difference {
                kind,
                name,
                before,
                after,
            });
        }
    }
    Ok(differences)
}

fn parts(source: &Source, snapshot: &Snapshot) -> Result<Definition> {
    let mut parts = Definition::new();
    let mut add = |kind, name: &str, value: String| {
        parts.insert((kind, name.to_owned()), value);
    };
    let protocol = snapshot.protocol();
    let versions = [
        ("minReaderVersion", protocol.min_reader_version),
        ("minWriterVersion", protocol.min_writer_version),
    ];
    for (name, version) in versions {
        add("protocol", name, version.to_string());
    }
    for (kind, features) in [
        ("reader feature", &protocol.reader_features),
        ("writer feature", &protocol.writer_features),
    ] {
        for feature in features.iter().flatten() {
            add(kind, feature, "supported".to_owned());
        }
    }
    let metadata = snapshot.metadata();
    add("metadata", "id", metadata.id.clone());
    if let Some(name) = &metadata.name {
        add("metadata", "name", name.clone());
    }
    if let Some(description) = &metadata.description {
        add("metadata", "description", description.clone());
    }
    let partitions = metadata.partition_columns.join(", ");
    add("partition columns", "", partitions);
    for (key, value) in &metadata.configuration {
        add("property", key, value.clone());
    }
    for domain in snapshot.domain_metadata(source)? {
        add("domain", &domain.domain, domain.configuration);
    }
    let schema: Value = serde_json::from_str(&metadata.schema_string).unwrap_or_default();
    add_columns(&mut Vec::new(), &schema, &mut |name, text| {
        add("column", name, text)
    });
    Ok(parts)
}

/// Adds the columns of a struct type in the log's JSON; `path` is that of the struct.
fn add_columns(path: &mut Vec<String>, schema: &Value, add: &mut dyn FnMut(&str, String)) {
    let list = schema.get("fields").and_then(Value::as_array);
    for field in list.into_iter().flatten() {
        let name = field.get("name").and_then(Value::as_str).unwrap_or("?");
        let data_type = field.get("type").unwrap_or(&Value::Null);
        let nested = path.len() < MAX_DEPTH
            && data_type.get("type").and_then(Value::as_str) == Some("struct");
        let mut text = match data_type {
            Value::String(name) => name.clone(),
            _ if nested => "struct".to_owned(),
            other => other.to_string(),
        };
        if field.get("nullable") == Some(&Value::Bool(false)) {
            text.push_str(" not null");
        }
        let metadata = field.get("metadata").and_then(Value::as_object);
        if let Some(metadata) = metadata.filter(|metadata| !metadata.is_empty()) {
            text.push_str(&format!(" {}", Value::Object(metadata.clone())));
        }
        path.push(name.to_owned());
        add(&column_path_text(path), text);
        if nested {
            add_columns(path, data_type, add);
        }
        path.pop();
    }
}
