//! Replays a version completely, and compares it with all fields of its checksum.
//!
//! All files of the log are decoded now instead of on demand, each data file must occur once, and every
//! field of the version checksum that the log determines is compared.
//!
//! Protocol: "Version Checksum File".

use std::collections::{BTreeMap, HashMap};

use arrow_array::cast::AsArray;
use arrow_array::{Array, Int64Array, RecordBatch, StringArray, StructArray};
use arrow_cast::display::array_value_to_string;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::checksum_match::{check, check_protocol, mismatch};
use super::{Checksum, Snapshot};
use crate::codec::columns::TypedColumns;
use crate::codec::commit::parse_commit_info;
use crate::codec::deletion_vector::Descriptors;
use crate::codec::file_actions::{ADD_FIELDS, FileField};
use crate::codec::file_columns::{FileColumns, PARTITION_VALUES};
use crate::codec::version_checksum::{FileSizeHistogram, deleted_records_bin};
use crate::error::{Error, Result};
use crate::log::commit::read_commit_info;
use crate::replay::{FileActionKey, KeySet, LogState, Source};
use crate::storage::interrupt;

/// The fields of a file that a checksum may omit.
const OPTIONAL_FIELDS: [FileField; 5] = [
    FileField::Stats,
    FileField::Tags,
    FileField::BaseRowId,
    FileField::DefaultRowCommitVersion,
    FileField::ClusteringProvider,
];

impl Snapshot {
    /// Replays the version completely: decodes every action, and compares the result with the checksum.
    ///
    /// # Errors
    ///
    /// Corrupt: `schema.physical_name`; `checksum.mismatch` with the field; with the file `log.duplicate_file`,
    /// `stats.json`, `partition_value.parse`, the errors of [`Descriptors::get`] and of its path. The errors of
    /// replay.
    pub fn verify(&self, source: &Source) -> Result<()> {
        self.verify_all(source)
            .map_err(|error| self.located(error))?;
        self.0.cache.set_verified();
        Ok(())
    }

    /// Returns `true` if the version was replayed completely and agrees with its checksum.
    pub fn is_verified(&self) -> bool {
        self.0.cache.is_verified()
    }

    fn verify_all(&self, source: &Source) -> Result<()> {
        let state = self.state(source)?;
        if let Some(checksum) = &self.0.checksum {
            self.check_state(checksum, &state)?;
            self.check_commit_info(checksum, source)?;
        }
        self.check_files(source)?;
        self.tombstones(source).map(drop)
    }

    /// Checks protocol, metadata, transactions and domains.
    fn check_state(&self, checksum: &Checksum, state: &LogState) -> Result<()> {
        let expected = &checksum.values;
        check_protocol(
            checksum,
            expected.protocol.as_ref(),
            state.protocol.as_ref(),
        )?;
        check(
            checksum,
            "the metadata",
            expected.metadata.as_ref(),
            state.metadata.as_ref(),
        )?;
        if let Some(expected) = &expected.domain_metadata {
            let live = expected.iter().filter(|domain| !domain.removed);
            let expected: BTreeMap<_, _> = live.map(|domain| (&domain.domain, domain)).collect();
            let actual: BTreeMap<_, _> = state.domains.iter().collect();
            check(checksum, "the domains", Some(&expected), Some(&actual))?;
        }
        if let Some(expected) = &expected.set_transactions {
            let expected = expected.iter().map(|txn| (&txn.app_id, txn));
            let mut expected: BTreeMap<_, _> = expected.collect();
            let mut actual: BTreeMap<_, _> = state.transactions.iter().collect();
            if self.properties().set_transaction_retention.is_some() {
                // a transaction that has expired since may be in only one of the two
                expected.retain(|app, _| actual.contains_key(app));
                actual.retain(|app, _| expected.contains_key(app));
            }
            check(checksum, "the transactions", Some(&expected), Some(&actual))?;
        }
        Ok(())
    }

    /// Checks the `commitInfo` of the version's own commit.
    fn check_commit_info(&self, checksum: &Checksum, source: &Source) -> Result<()> {
        let Some(commit) = &self.segment().last_commit else {
            return Ok(());
        };
        let info = read_commit_info(&*source.storage, commit, self.version())?;
        let info: Map<String, Value> = info
            .and_then(|text| parse_commit_info(&text).ok())
            .unwrap_or_default();
        let txn_id = info.get("txnId").and_then(Value::as_str).map(str::to_owned);
        check(
            checksum,
            "the transaction's id",
            checksum.values.transaction_id.as_ref(),
            txn_id.as_ref(),
        )?;
        if !self.0.definition.in_commit_timestamps_at(self.version()) {
            return Ok(());
        }
        let timestamp = info.get("inCommitTimestamp").and_then(Value::as_i64);
        match checksum.values.in_commit_timestamp {
            Some(expected) if timestamp != Some(expected) => {
                let name = "the in-commit timestamp";
                Err(mismatch(checksum, name, &expected, &timestamp))
            }
            _ => Ok(()),
        }
    }

    /// Checks the live files: each occurs once, all its fields are well-formed, and it agrees with the
    /// checksum.
    fn check_files(&self, source: &Source) -> Result<()> {
        // this also checks that the schema has physical names
        let typed = FileColumns::of_names(Some(&[PARTITION_VALUES.to_owned()]), self)?;
        let mut seen = KeySet::default();
        let mut totals = FileTotals::new(self.0.checksum.as_ref(), source)?;
        let keeps_stats = self.metadata().has_json_stats_in_checkpoints();
        for rows in self.file_batches(source, FileColumns::all(), None)? {
            interrupt::check()?;
            let rows = rows?;
            let paths = paths(&rows)?;
            let keys = source.keys.of_paths(&rows)?;
            let vectors = Descriptors::new(rows.typed(FileField::DeletionVector.name())?)?;
            for (row, key) in keys.iter().enumerate() {
                let path = paths.value(row);
                if !seen.insert(*key) {
                    let message = "the log adds this file twice without removing it in between";
                    return Err(Error::corrupt("log.duplicate_file", message).at_path(path));
                }
                let resolved = source.resolver.resolve("", path).map(drop);
                resolved
                    .and_then(|()| vectors.get(row).map(drop))
                    .and_then(|()| totals.add(&rows, row, *key, keeps_stats))
                    .map_err(|error| error.at_path(path))?;
            }
            if let Some(error) = malformed_fields(&rows, Some(&typed)).into_iter().next() {
                return Err(error);
            }
        }
        totals.finish()
    }
}

/// Returns an error for each file whose statistics are not JSON or whose partition values do not parse.
pub(crate) fn malformed_fields(rows: &RecordBatch, typed: Option<&FileColumns>) -> Vec<Error> {
    let paths = match paths(rows) {
        Ok(paths) => paths,
        Err(error) => return vec![error],
    };
    let mut malformed = Vec::new();
    let stats = rows.column_by_name(FileField::Stats.name());
    if let Some(stats) = stats.and_then(|stats| stats.as_string_opt::<i32>()) {
        for (row, text) in stats.iter().enumerate() {
            let Some(text) = text else { continue };
            if let Err(cause) = serde_json::from_str::<BTreeMap<String, IgnoredAny>>(text) {
                let message = "the statistics of this file are not a JSON object; a scan reads the \
                               file all the same, since nothing is skipped by them";
                let error = Error::corrupt("stats.json", message).because(cause);
                malformed.push(error.at_path(paths.value(row)));
            }
        }
    }
    if let Some(typed) = typed
        && typed.compute(rows).is_err()
    {
        for row in 0..rows.num_rows() {
            if let Err(error) = typed.compute(&rows.slice(row, 1)) {
                malformed.push(error.at_path(paths.value(row)));
            }
        }
    }
    malformed
}

fn paths(rows: &RecordBatch) -> Result<&StringArray> {
    rows.typed(FileField::Path.name())
}

/// The totals of the files so far, to be compared with a checksum.
struct FileTotals<'a> {
    checksum: Option<&'a Checksum>,
    by_size: Option<FileSizeHistogram>,
    by_deleted: Vec<u64>,
    vectors: u64,
    deleted: u64,
    /// The files that the checksum lists, and the indexes of those that were not matched yet.
    listed: Option<(RecordBatch, HashMap<FileActionKey, usize>)>,
}

impl<'a> FileTotals<'a> {
    fn new(checksum: Option<&'a Checksum>, source: &Source) -> Result<Self> {
        let values = checksum.map(|checksum| &checksum.values);
        let by_size = values
            .and_then(|values| values.file_size_histogram.as_ref())
            .map(|histogram| FileSizeHistogram {
                sorted_bin_boundaries: histogram.sorted_bin_boundaries.clone(),
                file_counts: vec![0; histogram.file_counts.len()],
                total_bytes: vec![0; histogram.total_bytes.len()],
            });
        let mut listed = None;
        if let (Some(checksum), Some(all)) = (checksum, values.and_then(|v| v.all_files.as_ref())) {
            let rows = all
                .rows()
                .map_err(|error| error.at_path(checksum.path.clone()))?;
            let keys = source.keys.of_paths(&rows)?;
            let indexes: HashMap<_, _> = keys.into_iter().zip(0..).collect();
            check(
                checksum,
                "the number of its own listed files",
                Some(&all.count),
                Some(&(indexes.len() as u64)),
            )?;
            listed = Some((rows, indexes));
        }
        Ok(Self {
            checksum,
            by_size,
            by_deleted: vec![0; 10], // see `deleted_records_bin`
            vectors: 0,
            deleted: 0,
            listed,
        })
    }

    /// Adds a live file, and compares it with the one that the checksum lists, if it lists files.
    fn add(
        &mut self,
        rows: &RecordBatch,
        row: usize,
        key: FileActionKey,
        keeps_stats: bool,
    ) -> Result<()> {
        let Some(checksum) = self.checksum else {
            return Ok(());
        };
        let to_u64 = |number: i64| u64::try_from(number).unwrap_or(0);
        let sizes: &Int64Array = rows.typed(FileField::Size.name())?;
        let size = to_u64(sizes.value(row));
        let vectors: &StructArray = rows.typed(FileField::DeletionVector.name())?;
        let mut deleted = 0;
        if vectors.is_valid(row) {
            let counts: &Int64Array = vectors.typed("cardinality")?;
            deleted = to_u64(counts.value(row));
            self.vectors += 1;
        }
        self.deleted = self.deleted.saturating_add(deleted);
        if let Some(bin) = self.by_deleted.get_mut(deleted_records_bin(deleted)) {
            *bin += 1;
        }
        if let Some(histogram) = &mut self.by_size {
            histogram.add(size);
        }
        let Some((expected, indexes)) = &mut self.listed else {
            return Ok(());
        };
        let Some(index) = indexes.remove(&key) else {
            let path = display_field(rows, FileField::Path, row);
            return Err(mismatch(checksum, "the live files", &"another list", &path));
        };
        check_same_file(checksum, (expected, index), (rows, row), keeps_stats)
    }

    fn finish(self) -> Result<()> {
        let Some(checksum) = self.checksum else {
            return Ok(());
        };
        let expected = &checksum.values;
        check(
            checksum,
            "the number of deletion vectors",
            expected.num_deletion_vectors.as_ref(),
            Some(&self.vectors),
        )?;
        check(
            checksum,
            "the number of deleted rows",
            expected.num_deleted_records.as_ref(),
            Some(&self.deleted),
        )?;
        check(
            checksum,
            "the files by their deleted rows",
            expected.deleted_record_counts.as_ref(),
            Some(&self.by_deleted),
        )?;
        check(
            checksum,
            "the files by size",
            expected.file_size_histogram.as_ref(),
            self.by_size.as_ref(),
        )?;
        if let Some((rows, indexes)) = &self.listed
            && let Some(index) = indexes.values().min()
        {
            let path = display_field(rows, FileField::Path, *index);
            return Err(mismatch(checksum, "the live files", &path, &"no such file"));
        }
        Ok(())
    }
}

/// Checks that a file is the same in the checksum and in the log.
fn check_same_file(
    checksum: &Checksum,
    (expected, index): (&RecordBatch, usize),
    (rows, row): (&RecordBatch, usize),
    keeps_stats: bool,
) -> Result<()> {
    for field in ADD_FIELDS {
        // the spelling of the path may differ, and `dataChange` is not part of the state
        if matches!(field, FileField::Path | FileField::DataChange)
            || (field == FileField::Stats && !keeps_stats)
        {
            continue;
        }
        let (left, right) = (expected.array(field.name())?, rows.array(field.name())?);
        if left.is_null(index) && OPTIONAL_FIELDS.contains(&field) {
            continue;
        }
        let is_equal = match (left.as_map_opt(), right.as_map_opt()) {
            (Some(left), Some(right)) => entries(&left.value(index)) == entries(&right.value(row)),
            _ => left.slice(index, 1) == right.slice(row, 1),
        };
        if !is_equal {
            let name = format!(
                "{} of the file {}",
                field.name(),
                display_field(rows, FileField::Path, row)
            );
            return Err(mismatch(
                checksum,
                &name,
                &display_field(expected, field, index),
                &display_field(rows, field, row),
            ));
        }
    }
    Ok(())
}

/// Returns the entries of one map, by key.
fn entries(map: &StructArray) -> BTreeMap<Option<&str>, Option<&str>> {
    let strings = |column: usize| map.column(column).as_string_opt::<i32>();
    let (keys, values) = (strings(0), strings(1));
    let keys = keys.into_iter().flatten();
    keys.zip(values.into_iter().flatten()).collect()
}

fn display_field(rows: &RecordBatch, field: FileField, row: usize) -> String {
    let column = rows.column_by_name(field.name());
    let text = column.and_then(|column| array_value_to_string(column, row).ok());
    text.unwrap_or_default()
}
