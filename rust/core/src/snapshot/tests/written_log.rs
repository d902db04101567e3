//! Handwritten logs.

use uuid::Uuid;

use crate::log::path::commit_path;
use crate::replay::Source;
use crate::snapshot::Snapshot;
use crate::snapshot::load::load;
use crate::spec::interval::MILLIS_PER_DAY;
use crate::storage::now;

const PROTOCOL: &str = r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}"#;
pub(crate) const SCHEMA: &str = r#"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}"#;

/// A table in memory with the column `id`, whose log is written now.
pub(crate) struct WrittenLog(pub(crate) Source);

impl WrittenLog {
    /// Creates a table whose version 0 has no files.
    pub(crate) fn new() -> Self {
        Self::create("", &[])
    }

    /// Creates a table with properties, given as members of a JSON object.
    pub(crate) fn with_properties(properties: &str) -> Self {
        Self::create(properties, &[])
    }

    /// Creates a table whose version 0 has these files.
    pub(crate) fn with_files(paths: &[&str]) -> Self {
        Self::create("", paths)
    }

    fn create(properties: &str, paths: &[&str]) -> Self {
        let uri = format!("memory://{}", Uuid::new_v4());
        let log = Self(Source::new(&uri, &[], None, None).unwrap());
        let metadata = format!(
            r#"{{"metaData":{{"id":"t","format":{{"provider":"parquet","options":{{}}}},"schemaString":"{SCHEMA}","partitionColumns":[],"configuration":{{{properties}}}}}}}"#
        );
        let mut actions = vec![PROTOCOL.to_owned(), metadata];
        actions.extend(paths.iter().map(|path| add(path, 1)));
        log.commit(0, &actions);
        log
    }

    pub(crate) fn commit(&self, version: u64, actions: &[String]) {
        self.put(&commit_path(version), &actions.join("\n"));
    }

    pub(crate) fn put(&self, path: &str, text: &str) {
        self.0.storage.put(path, text.as_bytes()).unwrap();
    }

    pub(crate) fn delete(&self, path: &str) {
        for deleted in self.0.storage.delete(&[path]) {
            deleted.unwrap();
        }
    }

    pub(crate) fn newest(&self) -> Snapshot {
        load(&self.0, None, false).unwrap()
    }

    /// Returns the paths below the table root, except those of the log.
    pub(crate) fn data_files(&self) -> Vec<String> {
        let files = self
            .0
            .storage
            .list_below("", &|path| path != "_delta_log")
            .unwrap();
        files.into_iter().map(|file| file.path).collect()
    }
}

pub(crate) fn add(path: &str, size: u64) -> String {
    format!(
        r#"{{"add":{{"path":"{path}","partitionValues":{{}},"size":{size},"modificationTime":1,"dataChange":true}}}}"#
    )
}

/// Returns the action of a file with one row, with its statistics.
pub(crate) fn add_row(path: &str, id: u64) -> String {
    format!(
        r#"{{"add":{{"path":"{path}","partitionValues":{{}},"size":1,"modificationTime":1,"dataChange":true,"stats":"{{\"numRecords\":1,\"minValues\":{{\"id\":{id}}},\"maxValues\":{{\"id\":{id}}}}}"}}}}"#
    )
}

/// Returns the action that removes a file at this time.
pub(crate) fn remove(path: &str, time: i64) -> String {
    format!(
        r#"{{"remove":{{"path":"{path}","deletionTimestamp":{time},"dataChange":true,"extendedFileMetadata":true,"partitionValues":{{}},"size":1}}}}"#
    )
}

/// Returns the time in this many days.
pub(crate) fn in_days(days: i64) -> i64 {
    now() + days * MILLIS_PER_DAY
}
