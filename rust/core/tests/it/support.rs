//! Small logs in a temporary directory.

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
