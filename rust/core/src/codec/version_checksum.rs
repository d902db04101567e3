//! Decodes version checksums (`<version>.crc`): the content of one version of the table.
//!
//! Absent differs from empty: `None` means that the writer did not know the value. Null is the same as
//! absent, unknown keys are ignored, and the last value of a duplicate key counts. Files of older writers
//! have few of the fields; callers check those that they need.
//!
//! Protocol: "Version Checksum File".

use arrow_array::RecordBatch;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::codec::action_json::{
    domain_metadata_from_json, metadata_from_json, protocol_from_json, transaction_from_json,
};
use crate::codec::commit::{ActionDecoder, ActionSelection};
use crate::codec::file_actions::ADD_FIELDS;
use crate::error::{Error, Result};
use crate::spec::json::{Event, JsonError, JsonReader, MAX_DEPTH, for_each_entry, text_of};
use crate::spec::{DomainMetadata, Metadata, Protocol, SetTransaction};

const CODE: &str = "checksum.json";

/// The maximum size of a checksum that is read. Checksums hold transactions, domains and sometimes the live
/// files.
pub const MAX_CHECKSUM_BYTES: u64 = 128 << 20;

/// The content of one version, according to its writer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionChecksum {
    /// Id of the transaction that committed the version.
    pub transaction_id: Option<String>,
    /// Total size of all live files in bytes.
    pub table_size_bytes: Option<u64>,
    /// Number of live files.
    pub num_files: Option<u64>,
    /// Number of `metaData` actions; 1 where present.
    pub num_metadata: Option<u64>,
    /// Number of `protocol` actions; 1 where present.
    pub num_protocol: Option<u64>,
    /// The in-commit timestamp, in milliseconds since the epoch.
    pub in_commit_timestamp: Option<i64>,
    /// All live application transactions.
    pub set_transactions: Option<Vec<SetTransaction>>,
    /// All live domains, without tombstones.
    pub domain_metadata: Option<Vec<DomainMetadata>>,
    /// The table's metadata.
    pub metadata: Option<Metadata>,
    /// The table's protocol.
    pub protocol: Option<Protocol>,
    /// Live files by size: `fileSizeHistogram`, or `histogramOpt` of older writers.
    pub file_size_histogram: Option<FileSizeHistogram>,
    /// All live files.
    pub all_files: Option<AllFiles>,
    /// Number of rows deleted by deletion vectors.
    pub num_deleted_records: Option<u64>,
    /// Number of live files with a deletion vector.
    pub num_deletion_vectors: Option<u64>,
    /// Live files by the number of their deleted rows, in ten bins.
    pub deleted_record_counts: Option<Vec<u64>>,
}

/// A histogram of live files by size. The three lists have the same length; boundaries ascend from 0; bin `i`
/// counts sizes from its boundary up to the next one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileSizeHistogram {
    /// Lower bounds of the bins.
    pub sorted_bin_boundaries: Vec<u64>,
    /// Number of files in each bin.
    pub file_counts: Vec<u64>,
    /// Bytes in each bin.
    pub total_bytes: Vec<u64>,
}

/// The live files in the checksum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllFiles {
    /// The number of files.
    pub count: u64,
    /// A JSON array of `add` bodies.
    pub json: String,
}

impl VersionChecksum {
    /// Returns the checksum of a table before its first version: no protocol, no metadata and no files.
    pub fn before_first_version() -> Self {
        Self {
            table_size_bytes: Some(0),
            num_files: Some(0),
            set_transactions: Some(Vec::new()),
            domain_metadata: Some(Vec::new()),
            num_deleted_records: Some(0),
            num_deletion_vectors: Some(0),
            all_files: Some(AllFiles {
                count: 0,
                json: "[]".to_owned(),
            }),
            ..Self::default()
        }
    }
}

impl FileSizeHistogram {
    /// Returns the index of the bin for files of this size.
    pub fn bin(&self, size: u64) -> usize {
        self.sorted_bin_boundaries
            .partition_point(|boundary| *boundary <= size)
            .saturating_sub(1)
    }

    /// Adds a file of this size; sums saturate, since a log may contain arbitrary numbers.
    pub fn add(&mut self, size: u64) {
        let bin = self.bin(size);
        if let Some(files) = self.file_counts.get_mut(bin) {
            *files = files.saturating_add(1);
        }
        if let Some(bytes) = self.total_bytes.get_mut(bin) {
            *bytes = bytes.saturating_add(size);
        }
    }
}

impl AllFiles {
    /// Returns the files as rows with all fields of `add`.
    pub fn rows(&self) -> Result<RecordBatch> {
        let mut lines = String::with_capacity(self.json.len());
        each_element("allFiles", &self.json, |file| {
            lines.push_str(r#"{"add":"#);
            // line breaks may occur between tokens, but not inside strings
            lines.push_str(&file.replace('\n', " "));
            lines.push_str("}\n");
            Ok(())
        })?;
        let mut decoder = ActionDecoder::new(ActionSelection {
            adds: Some(ADD_FIELDS.to_vec()),
            ..ActionSelection::default()
        });
        let decoded = decoder
            .decode(lines.as_bytes())
            .and_then(|()| decoder.finish());
        let adds = decoded
            .map_err(|error| wrong_type("allFiles", error))?
            .adds
            .ok_or_else(|| corrupt("allFiles", "does not have the protocol's type"))?;
        Ok(adds.rows)
    }
}

/// Returns the bin of `deletedRecordCountsHistogramOpt` for a file with this number of deleted rows.
pub fn deleted_records_bin(deleted: u64) -> usize {
    match deleted {
        0 => 0,
        2_147_483_647.. => 9,
        10_000_000.. => 8,
        other => other.ilog10() as usize + 1,
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeletedRecordCounts {
    deleted_record_counts: Vec<u64>,
}

impl VersionChecksum {
    /// Decodes one file.
    ///
    /// # Errors
    ///
    /// Corrupt: `checksum.json`, with the field at fault, or the byte offset at which the JSON is invalid.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let json = text_of(bytes, CODE)?;
        let mut checksum = Self::default();
        let fail = |error: JsonError| error.corrupt(CODE, "the file is not a valid JSON object");
        for_each_entry(json, fail, |name, json| checksum.read(name, json))?;
        Ok(checksum)
    }

    fn read(&mut self, name: &str, json: &str) -> Result<()> {
        let invalid = |error: Error| wrong_type(name, error);
        match name {
            "txnId" => self.transaction_id = Some(get(name, json)?),
            "tableSizeBytes" => self.table_size_bytes = Some(get(name, json)?),
            "numFiles" => self.num_files = Some(get(name, json)?),
            "numMetadata" => self.num_metadata = Some(single_count(name, json)?),
            "numProtocol" => self.num_protocol = Some(single_count(name, json)?),
            "inCommitTimestampOpt" => self.in_commit_timestamp = Some(get(name, json)?),
            "setTransactions" => {
                self.set_transactions = Some(list(name, json, transaction_from_json)?)
            }
            "domainMetadata" => {
                self.domain_metadata = Some(list(name, json, domain_metadata_from_json)?)
            }
            "metadata" => self.metadata = Some(metadata_from_json(json).map_err(invalid)?),
            "protocol" => self.protocol = Some(protocol_from_json(json).map_err(invalid)?),
            "fileSizeHistogram" | "histogramOpt" => {
                self.file_size_histogram = Some(histogram(name, json)?)
            }
            "allFiles" => {
                let mut count = 0;
                each_element(name, json, |file| {
                    count += 1;
                    if file.trim_start().starts_with('{') {
                        return Ok(());
                    }
                    Err(corrupt(name, "has an item that is not an object"))
                })?;
                self.all_files = Some(AllFiles {
                    count,
                    json: json.to_owned(),
                });
            }
            "numDeletedRecordsOpt" => self.num_deleted_records = Some(get(name, json)?),
            "numDeletionVectorsOpt" => self.num_deletion_vectors = Some(get(name, json)?),
            "deletedRecordCountsHistogramOpt" => {
                let counts: DeletedRecordCounts = get(name, json)?;
                self.deleted_record_counts = Some(counts.deleted_record_counts);
            }
            _ => {}
        }
        Ok(())
    }
}

fn corrupt(name: &str, problem: &str) -> Error {
    Error::corrupt(CODE, format!("{name} of the checksum {problem}"))
}

fn wrong_type(name: &str, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    corrupt(name, "does not have the protocol's type").because(cause)
}

fn get<T: DeserializeOwned>(name: &str, json: &str) -> Result<T> {
    serde_json::from_str(json).map_err(|cause| wrong_type(name, cause))
}

fn single_count(name: &str, json: &str) -> Result<u64> {
    match get(name, json)? {
        1 => Ok(1),
        count => Err(corrupt(name, &format!("must be 1 and is {count}"))),
    }
}

fn histogram(name: &str, json: &str) -> Result<FileSizeHistogram> {
    let histogram: FileSizeHistogram = get(name, json)?;
    let bins = histogram.sorted_bin_boundaries.len();
    if histogram.file_counts.len() != bins || histogram.total_bytes.len() != bins {
        return Err(corrupt(name, "has lists of different lengths"));
    }
    let rising = histogram.sorted_bin_boundaries.is_sorted_by(|a, b| a < b);
    if histogram.sorted_bin_boundaries.first() != Some(&0) || !rising {
        return Err(corrupt(name, "has boundaries that do not rise from 0"));
    }
    Ok(histogram)
}

fn list<T>(name: &str, json: &str, decode: impl Fn(&str) -> Result<T>) -> Result<Vec<T>> {
    let mut values = Vec::new();
    each_element(name, json, |element| {
        values.push(decode(element).map_err(|error| wrong_type(name, error))?);
        Ok(())
    })?;
    Ok(values)
}

fn each_element<'a>(
    name: &str,
    json: &'a str,
    mut visit: impl FnMut(&'a str) -> Result<()>,
) -> Result<()> {
    let fail = |error: JsonError| corrupt(name, &format!("is not a list: {error}"));
    let mut reader = JsonReader::new(json, MAX_DEPTH);
    if reader.next().map_err(fail)? != Event::BeginArray {
        return Err(corrupt(name, "is not a list"));
    }
    while !reader.at_end_of_array() {
        visit(reader.skip_value().map_err(fail)?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
