//! Small logs in a temporary directory, and random numbers.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

pub(crate) struct Log {
    dir: TempDir,
}

impl Log {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("_delta_log")).unwrap();
        Self { dir }
    }

    pub(crate) fn uri(&self) -> String {
        self.dir.path().to_str().unwrap().to_owned()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        Path::new(self.dir.path()).join("_delta_log").join(name)
    }

    pub(crate) fn commit(&self, version: u64, lines: &[String]) {
        let mut text = String::new();
        for line in lines {
            writeln!(text, "{line}").unwrap();
        }
        fs::write(self.path(&format!("{version:020}.json")), text).unwrap();
    }

    /// Creates version 0 with protocol, metadata and these files.
    pub(crate) fn create(&self, files: &[&str]) {
        let mut lines = vec![
            r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}"#.to_owned(),
            r#"{"metaData":{"id":"t","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[]}","partitionColumns":[],"configuration":{}}}"#.to_owned(),
        ];
        lines.extend(files.iter().map(|file| add(file)));
        self.commit(0, &lines);
    }
}

/// Random numbers from a seed (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// Returns a number less than `limit`, which is not 0.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % limit as u64).unwrap()
    }

    /// Returns `true` in this many of a hundred cases.
    pub(crate) fn percent(&mut self, percentage: usize) -> bool {
        self.below(100) < percentage
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }
}

pub(crate) fn add(path: &str) -> String {
    format!(
        r#"{{"add":{{"path":"{path}","partitionValues":{{}},"size":1,"modificationTime":1,"dataChange":true}}}}"#
    )
}

pub(crate) fn remove(path: &str) -> String {
    format!(
        r#"{{"remove":{{"path":"{path}","deletionTimestamp":9999999999999,"dataChange":true}}}}"#
    )
}
