//! Version checksums (`<version>.crc`): bytes in, what one version of the table holds out.
//!
//! Absent is not empty: `None` says that the writer did not know, an empty list that there is nothing.
//! A null is the same as absent, unknown keys are passed over, and of a repeated key the last counts.
//! Files of old writers have few of the fields; which of them a caller needs is the caller's matter.
//!
//! Protocol: "Version Checksum File".

use arrow_array::RecordBatch;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::codec::action_json::{
    domain_metadata_from_json, metadata_from_json, protocol_from_json, transaction_from_json,
};
use crate::codec::commit::{ActionDecoder, Wanted};
use crate::codec::file_actions::ADD_FIELDS;
use crate::error::{Error, Result};
use crate::spec::actions::{DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::spec::json::{Event, JsonError, JsonReader, MAX_DEPTH, for_each_entry};

const CODE: &str = "checksum.json";

/// What the writer of one version says that version holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionChecksum {
    /// Id of the transaction that committed the version.
    pub transaction_id: Option<String>,
    /// Bytes of all live files.
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
    /// Rows that deletion vectors leave out.
    pub num_deleted_records: Option<u64>,
    /// Live files with a deletion vector.
    pub num_deletion_vectors: Option<u64>,
    /// Live files by the number of their deleted rows, in ten bins.
    pub deleted_record_counts: Option<Vec<u64>>,
}

/// Live files by size. The three lists have the same length; the first boundary is 0 and boundaries
/// rise; bin `i` holds sizes from its boundary up to the next one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileSizeHistogram {
    /// Lower ends of the bins.
    pub sorted_bin_boundaries: Vec<u64>,
    /// Files in each bin.
    pub file_counts: Vec<u64>,
    /// Bytes in each bin.
    pub total_bytes: Vec<u64>,
}

/// The live files as the checksum has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllFiles {
    /// How many there are.
    pub count: u64,
    /// A JSON array of `add` bodies.
    pub json: String,
}

impl FileSizeHistogram {
    /// One more file of this size; sums of numbers that a log may choose freely saturate.
    pub fn add(&mut self, size: u64) {
        let bin = self
            .sorted_bin_boundaries
            .partition_point(|boundary| *boundary <= size)
            .saturating_sub(1);
        if let Some(files) = self.file_counts.get_mut(bin) {
            *files = files.saturating_add(1);
        }
        if let Some(bytes) = self.total_bytes.get_mut(bin) {
            *bytes = bytes.saturating_add(size);
        }
    }
}

impl AllFiles {
    /// The files as rows with all fields of `add`.
    ///
    /// # Errors
    ///
    /// Corrupt: `checksum.json`.
    pub fn rows(&self) -> Result<RecordBatch> {
        let mut lines = String::with_capacity(self.json.len());
        each_element("allFiles", &self.json, |file| {
            lines.push_str(r#"{"add":"#);
            // between tokens a line may end; inside of strings it may not
            lines.extend(file.chars().map(|one| if one == '\n' { ' ' } else { one }));
            lines.push_str("}\n");
            Ok(())
        })?;
        let mut decoder = ActionDecoder::new(Wanted {
            adds: Some(ADD_FIELDS.to_vec()),
            ..Wanted::default()
        });
        let decoded = decoder
            .decode(lines.as_bytes())
            .and_then(|()| decoder.finish());
        let adds = decoded
            .map_err(|error| inside("allFiles", error))?
            .adds
            .ok_or_else(|| wrong("allFiles", "does not hold what it should"))?;
        Ok(adds.rows)
    }
}

/// The bin of `deletedRecordCountsHistogramOpt` that a file with so many deleted rows is in.
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
    /// Corrupt: `checksum.json`, with the field that is at fault, or the byte where the text stops
    /// being JSON.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let json = std::str::from_utf8(bytes).map_err(|cause| {
            let offset = cause.valid_up_to() as u64;
            Error::corrupt(CODE, "the file is not UTF-8 text")
                .at_offset(offset)
                .because(cause)
        })?;
        let mut checksum = Self::default();
        let fail = |error: JsonError| {
            error.corrupt(CODE, "the file is not the JSON object that it should be")
        };
        for_each_entry(json, fail, |name, json| checksum.read(name, json))?;
        Ok(checksum)
    }

    fn read(&mut self, name: &str, json: &str) -> Result<()> {
        match name {
            "txnId" => self.transaction_id = Some(get(name, json)?),
            "tableSizeBytes" => self.table_size_bytes = Some(get(name, json)?),
            "numFiles" => self.num_files = Some(get(name, json)?),
            "numMetadata" => self.num_metadata = Some(one(name, json)?),
            "numProtocol" => self.num_protocol = Some(one(name, json)?),
            "inCommitTimestampOpt" => self.in_commit_timestamp = Some(get(name, json)?),
            "setTransactions" => {
                self.set_transactions = Some(list(name, json, transaction_from_json)?)
            }
            "domainMetadata" => {
                self.domain_metadata = Some(list(name, json, domain_metadata_from_json)?)
            }
            "metadata" => {
                self.metadata = Some(metadata_from_json(json).map_err(|error| inside(name, error))?)
            }
            "protocol" => {
                self.protocol = Some(protocol_from_json(json).map_err(|error| inside(name, error))?)
            }
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
                    Err(wrong(name, "holds what is no object"))
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

fn wrong(name: &str, what: &str) -> Error {
    Error::corrupt(CODE, format!("{name} of the checksum {what}"))
}

fn inside(name: &str, error: Error) -> Error {
    wrong(name, "does not hold what it should").because(error)
}

fn get<T: DeserializeOwned>(name: &str, json: &str) -> Result<T> {
    serde_json::from_str(json)
        .map_err(|cause| wrong(name, "does not hold what it should").because(cause))
}

fn one(name: &str, json: &str) -> Result<u64> {
    match get(name, json)? {
        1 => Ok(1),
        found => Err(wrong(name, &format!("must be 1 and is {found}"))),
    }
}

fn histogram(name: &str, json: &str) -> Result<FileSizeHistogram> {
    let histogram: FileSizeHistogram = get(name, json)?;
    let bins = histogram.sorted_bin_boundaries.len();
    if histogram.file_counts.len() != bins || histogram.total_bytes.len() != bins {
        return Err(wrong(name, "has lists of different lengths"));
    }
    let rising = histogram.sorted_bin_boundaries.is_sorted_by(|a, b| a < b);
    if histogram.sorted_bin_boundaries.first() != Some(&0) || !rising {
        return Err(wrong(name, "has boundaries that do not rise from 0"));
    }
    Ok(histogram)
}

fn list<T>(name: &str, json: &str, decode: impl Fn(&str) -> Result<T>) -> Result<Vec<T>> {
    let mut found = Vec::new();
    each_element(name, json, |element| {
        found.push(decode(element).map_err(|error| inside(name, error))?);
        Ok(())
    })?;
    Ok(found)
}

fn each_element<'a>(
    name: &str,
    json: &'a str,
    mut visit: impl FnMut(&'a str) -> Result<()>,
) -> Result<()> {
    let fail = |error: JsonError| wrong(name, &format!("is no list: {error}"));
    let mut reader = JsonReader::new(json, MAX_DEPTH);
    if reader.next().map_err(fail)? != Event::BeginArray {
        return Err(wrong(name, "is no list"));
    }
    while !reader.at_end_of_array() {
        visit(reader.skip_value().map_err(fail)?)?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// A file with exactly the fields whose schema the "Deep Dive: Delta Log" document prints, and the
    /// values of that document's table: one file of 892610 bytes, protocol (1, 2).
    #[test]
    fn checksum_of_the_deep_dive() {
        let checksum = VersionChecksum::parse(
            br#"{"tableSizeBytes":892610,"numFiles":1,"numMetadata":1,"numProtocol":1,
                "protocol":{"minReaderVersion":1,"minWriterVersion":2},
                "metadata":{"id":"6beacf7b-dea1-4ecd-bd6e-6a4dfc697d6b","format":{"provider":"parquet"},
                "schemaString":"{\"type\":\"struct\",\"fields\":[]}","partitionColumns":[],
                "configuration":{"delta.autoOptimize.autoCompact":"true","delta.autoOptimize.optimizeWrite":"true"},
                "createdTime":1662199084374},
                "histogramOpt":{"sortedBinBoundaries":[0,8192,1048576],"fileCounts":[0,1,0],"totalBytes":[0,892610,0]}}"#,
        )
        .unwrap();
        let pairs = [
            "delta.autoOptimize.autoCompact",
            "delta.autoOptimize.optimizeWrite",
        ];
        let expected = VersionChecksum {
            table_size_bytes: Some(892_610),
            num_files: Some(1),
            num_metadata: Some(1),
            num_protocol: Some(1),
            protocol: Some(Protocol {
                min_reader_version: 1,
                min_writer_version: 2,
                ..Protocol::default()
            }),
            metadata: Some(Metadata {
                id: "6beacf7b-dea1-4ecd-bd6e-6a4dfc697d6b".to_owned(),
                format_provider: "parquet".to_owned(),
                schema_string: r#"{"type":"struct","fields":[]}"#.to_owned(),
                configuration: pairs.map(|key| (key.to_owned(), "true".to_owned())).into(),
                created_time: Some(1_662_199_084_374),
                ..Metadata::default()
            }),
            file_size_histogram: Some(FileSizeHistogram {
                sorted_bin_boundaries: vec![0, 8192, 1_048_576],
                file_counts: vec![0, 1, 0],
                total_bytes: vec![0, 892_610, 0],
            }),
            ..VersionChecksum::default()
        };
        assert_eq!(checksum, expected);
    }

    /// The example of the protocol digest, section 8, with every other field beside it.
    #[test]
    fn every_field() {
        let checksum = VersionChecksum::parse(
            br#"{"txnId":"9d5f","tableSizeBytes":733,"numFiles":1,"numMetadata":1,"numProtocol":1,
                "inCommitTimestampOpt":1718000003000,
                "setTransactions":[{"appId":"stream-7f","version":42,"lastUpdated":1718000000000},{"appId":"b","version":-1}],
                "domainMetadata":[{"domain":"d","configuration":"{}","removed":false}],
                "metadata":{"id":"t","configuration":{"a":"b"}},
                "protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[],"writerFeatures":[]},
                "fileSizeHistogram":{"sortedBinBoundaries":[0,8192],"fileCounts":[1,0],"totalBytes":[733,0]},
                "allFiles":[ {"path":"a"}, {"path":"b"} ],
                "numDeletedRecordsOpt":5,"numDeletionVectorsOpt":1,
                "deletedRecordCountsHistogramOpt":{"deletedRecordCounts":[0,1,0,0,0,0,0,0,0,0]},
                "numTransactions":7,"later":{"x":[null]}}"#,
        )
        .unwrap();
        assert_eq!(checksum.transaction_id.as_deref(), Some("9d5f"));
        assert_eq!(checksum.in_commit_timestamp, Some(1_718_000_003_000));
        let transactions = checksum.set_transactions.unwrap();
        assert_eq!(
            (transactions[0].app_id.as_str(), transactions[0].version),
            ("stream-7f", 42)
        );
        assert_eq!(
            (transactions[0].last_updated, transactions[1].last_updated),
            (Some(1_718_000_000_000), None)
        );
        assert_eq!(checksum.domain_metadata.unwrap()[0].domain, "d");
        let configuration = checksum.metadata.unwrap().configuration;
        assert_eq!(
            configuration,
            BTreeMap::from([("a".to_owned(), "b".to_owned())])
        );
        assert_eq!(checksum.protocol.unwrap().reader_features, Some(vec![]));
        let files = AllFiles {
            count: 2,
            json: r#"[ {"path":"a"}, {"path":"b"} ]"#.to_owned(),
        };
        assert_eq!(checksum.all_files, Some(files));
        assert_eq!(
            (checksum.num_deleted_records, checksum.num_deletion_vectors),
            (Some(5), Some(1))
        );
        assert_eq!(
            checksum.deleted_record_counts.unwrap(),
            [0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
        );
    }

    #[test]
    fn absent_is_not_empty() {
        let empty =
            VersionChecksum::parse(br#"{"setTransactions":[],"domainMetadata":[],"allFiles":[]}"#)
                .unwrap();
        assert_eq!(empty.set_transactions, Some(vec![]));
        assert_eq!(empty.domain_metadata, Some(vec![]));
        assert_eq!(empty.all_files.unwrap().count, 0);
        let absent =
            VersionChecksum::parse(br#"{"setTransactions":null,"numFiles":null}"#).unwrap();
        assert_eq!(absent, VersionChecksum::default());
    }

    #[test]
    fn the_last_histogram_counts_under_either_name() {
        let bins = |count| {
            format!(r#"{{"sortedBinBoundaries":[0],"fileCounts":[{count}],"totalBytes":[0]}}"#)
        };
        for (first, second) in [
            ("histogramOpt", "fileSizeHistogram"),
            ("fileSizeHistogram", "histogramOpt"),
        ] {
            let text = format!(r#"{{"{first}":{},"{second}":{}}}"#, bins(1), bins(2));
            let histogram = VersionChecksum::parse(text.as_bytes())
                .unwrap()
                .file_size_histogram
                .unwrap();
            assert_eq!(histogram.file_counts, [2]);
        }
    }

    #[test]
    fn errors_name_the_field() {
        for (text, needle) in [
            ("", "byte 0"),
            ("[]", "object"),
            (r#"{"numFiles":1"#, "byte 13"),
            (r#"{"numFiles":1} x"#, "byte 15"),
            (r#"{"numFiles":-1}"#, "numFiles"),
            (r#"{"tableSizeBytes":"1"}"#, "tableSizeBytes"),
            (r#"{"numMetadata":2}"#, "numMetadata"),
            (r#"{"numProtocol":0}"#, "numProtocol"),
            (r#"{"metadata":{"name":"x"}}"#, "metaData.id"),
            (r#"{"protocol":[]}"#, "protocol"),
            (r#"{"setTransactions":{}}"#, "setTransactions"),
            (r#"{"setTransactions":[{"appId":"a"}]}"#, "txn.version"),
            (r#"{"allFiles":3}"#, "allFiles"),
            (r#"{"allFiles":[ {"path":"a"}, 3]}"#, "allFiles"),
            (r#"{"allFiles":["a"]}"#, "allFiles"),
            (r#"{"allFiles":[[{"path":"a"}]]}"#, "allFiles"),
            (r#"{"allFiles":[null]}"#, "allFiles"),
            (
                r#"{"histogramOpt":{"sortedBinBoundaries":[0],"fileCounts":[],"totalBytes":[0]}}"#,
                "lengths",
            ),
            (
                r#"{"histogramOpt":{"sortedBinBoundaries":[1],"fileCounts":[0],"totalBytes":[0]}}"#,
                "rise",
            ),
            (
                r#"{"histogramOpt":{"sortedBinBoundaries":[0,0],"fileCounts":[0,0],"totalBytes":[0,0]}}"#,
                "rise",
            ),
        ] {
            let error = VersionChecksum::parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.code(), CODE, "{text}");
            assert!(error.to_string().contains(needle), "{error}");
        }
        assert_eq!(
            VersionChecksum::parse(b"{\"a\":\"\xff\"}")
                .unwrap_err()
                .offset(),
            Some(6)
        );
    }

    #[test]
    fn every_proper_prefix_and_deep_nesting_are_errors() {
        let whole = br#"{"numFiles":1,"setTransactions":[{"appId":"a","version":1}],"allFiles":[{"path":"p"}]}"#;
        assert!(VersionChecksum::parse(whole).is_ok());
        for end in 0..whole.len() {
            assert!(VersionChecksum::parse(&whole[..end]).is_err(), "{end}");
        }
        let deep = format!(r#"{{"allFiles":{}"#, "[".repeat(1_000_000));
        assert!(VersionChecksum::parse(deep.as_bytes()).is_err());
    }

    proptest! {
        /// Any change of a few bytes gives an error or a value, never a panic.
        #[test]
        fn changed_bytes_never_panic(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
            let mut bytes = br#"{"numFiles":1,"setTransactions":[{"appId":"a\n","version":1}],"metadata":{"id":"t","format":{"options":{}}},"protocol":{"minReaderVersion":1,"minWriterVersion":2},"histogramOpt":{"sortedBinBoundaries":[0],"fileCounts":[1],"totalBytes":[2]},"allFiles":[{"path":"p"}]}"#.to_vec();
            for (place, byte) in changes {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            if let Err(error) = VersionChecksum::parse(&bytes) {
                prop_assert_eq!(error.kind(), crate::error::ErrorKind::Corrupt);
            }
        }
    }
}
