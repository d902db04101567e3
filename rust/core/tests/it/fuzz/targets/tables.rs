//! Tables in which one file has arbitrary bytes: errors name the file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use deltareplay_core::codec::file_columns::FileColumns;
use deltareplay_core::error::{Error, Result};
use deltareplay_core::replay::Source;
use deltareplay_core::snapshot::load::load;
use deltareplay_core::storage::{FileMeta, Storage};

use super::{ACCEPTED, Target, feature};

/// The commits of versions 0 to 2; the last one removes a file that the first one adds.
const COMMITS: [&str; 3] = [
    concat!(
        r#"{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["v2Checkpoint","deletionVectors"],"writerFeatures":["v2Checkpoint","deletionVectors"]}}"#,
        "\n",
        r#"{"metaData":{"id":"t","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],"configuration":{}}}"#,
        "\n",
        r#"{"add":{"path":"a.parquet","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}"#,
        "\n"
    ),
    r#"{"add":{"path":"b.parquet","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}"#,
    concat!(
        r#"{"remove":{"path":"a.parquet","deletionTimestamp":9999999999999,"dataChange":true}}"#,
        "\n",
        r#"{"add":{"path":"c.parquet","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}"#
    ),
];

/// Files in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Files(BTreeMap<String, Bytes>);

impl Files {
    pub(super) fn with(mut self, name: &str, bytes: &[u8]) -> Self {
        let path = format!("_delta_log/{name}");
        self.0.insert(path, Bytes::copy_from_slice(bytes));
        self
    }

    pub(super) fn with_commits(mut self, versions: Range<usize>) -> Self {
        for version in versions {
            self = self.with(&format!("{version:020}.json"), COMMITS[version].as_bytes());
        }
        self
    }

    /// Returns the number of live files and of warnings of the newest version.
    pub(super) fn replayed(self) -> Result<(u64, u64)> {
        let mut source = Source::new("memory://fuzz", &[], None, None)?;
        source.storage = Arc::new(self);
        let snapshot = load(&source, None, false)?;
        let files = snapshot.files(&source, &FileColumns::all(), None)?;
        let rows: usize = files.batches.iter().map(|batch| batch.num_rows()).sum();
        assert_eq!(snapshot.num_files(&source)?, rows as u64);
        snapshot.tombstones(&source)?;
        snapshot.transactions(&source)?;
        Ok((rows as u64, snapshot.warnings().len() as u64))
    }

    fn file(&self, path: &str) -> Result<&Bytes> {
        let missing = || Error::storage("storage.not_found", "there is no such file").at_path(path);
        self.0.get(path).ok_or_else(missing)
    }
}

impl Storage for Files {
    fn root(&self) -> &'static str {
        "memory://fuzz"
    }

    fn list(&self, directory: &str, from: &str) -> Result<Vec<FileMeta>> {
        let inside = self.0.iter().filter_map(|(path, bytes)| {
            let name = path.strip_prefix(directory)?.strip_prefix('/')?;
            (!name.contains('/') && name >= from).then(|| FileMeta {
                path: path.clone(),
                size: bytes.len() as u64,
                modification_time: 1,
                tag: 0,
            })
        });
        Ok(inside.collect())
    }

    fn read(&self, path: &str) -> Result<Bytes> {
        self.file(path).cloned()
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let bytes = self.file(path)?;
        ranges.iter().map(|range| slice(bytes, range)).collect()
    }

    fn read_many(&self, paths: &[&str]) -> Vec<Result<Bytes>> {
        paths.iter().map(|path| self.read(path)).collect()
    }

    fn head(&self, path: &str) -> Result<FileMeta> {
        Ok(FileMeta {
            path: path.to_owned(),
            size: self.file(path)?.len() as u64,
            modification_time: 1,
            tag: 0,
        })
    }
}

/// Returns a range of a file, as a storage does.
pub(super) fn slice(bytes: &Bytes, range: &Range<u64>) -> Result<Bytes> {
    let position = |at: u64| usize::try_from(at).unwrap();
    if range.start > range.end || range.end > bytes.len() as u64 {
        return Err(Error::corrupt("storage.truncated", "beyond the end"));
    }
    Ok(bytes.slice(position(range.start)..position(range.end)))
}

/// Asserts that an error names this file.
pub(super) fn assert_names<T>(outcome: &Result<T>, file: &str) {
    if let Err(error) = outcome {
        let path = error.path().unwrap_or_default();
        assert!(path.contains(file), "{error:?} does not name {file}");
    }
}

/// The sidecar of a V2 checkpoint whose commits were deleted.
pub const SIDECARS: Target = Target {
    name: "sidecars",
    words: &[],
    memory: |bytes| (16 << 20) + bytes * 20_000,
    run: run_sidecars,
};

fn run_sidecars(input: &[u8]) -> u64 {
    let lines: Vec<&str> = COMMITS[0].lines().take(2).collect();
    let manifest = format!(
        "{{\"checkpointMetadata\":{{\"version\":1}}}}\n{}\n\
         {{\"sidecar\":{{\"path\":\"s.parquet\",\"sizeInBytes\":{},\"modificationTime\":1}}}}\n",
        lines.join("\n"),
        input.len()
    );
    let name = format!(
        "{:020}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
        1
    );
    let files = Files::default()
        .with_commits(1..3)
        .with(&name, manifest.as_bytes())
        .with("_sidecars/s.parquet", input);
    let result = files.replayed();
    assert_names(&result, "_sidecars/s.parquet");
    feature(&result.map(|(rows, warnings)| rows.min(63) << 3 | warnings.min(7)))
}

/// A compacted file in addition to its commits: it is skipped if it cannot be read.
pub const COMPACTED_FILES: Target = Target {
    name: "compacted_files",
    words: &[
        b"\n",
        b"{\"add\":{\"path\":\"",
        b"{\"remove\":{\"path\":\"a.parquet\"",
        b"\"partitionValues\":{",
        b"\"deletionVector\":{",
        b"null",
        b"}}\n",
        b"\\u0061",
        b"{\"commitInfo\":{}}\n",
        b"{\"cdc\":{\"path\":\"",
    ],
    memory: |bytes| (16 << 20) + bytes * 2_000,
    run: run_compacted_files,
};

fn run_compacted_files(input: &[u8]) -> u64 {
    let name = format!("{:020}.{:020}.compacted.json", 0, 1);
    let result = Files::default()
        .with_commits(0..3)
        .with(&name, input)
        .replayed();
    assert_names(&result, &name);
    feature(&result.map(|(rows, warnings)| {
        // without the compacted file, b and c are live
        assert!(
            warnings == 0 || rows == 2,
            "{rows} files, {warnings} warnings"
        );
        if warnings == 0 {
            rows.min(63) << 3 | 1
        } else {
            0
        }
    })) & if input.is_empty() { !ACCEPTED } else { !0 }
}
