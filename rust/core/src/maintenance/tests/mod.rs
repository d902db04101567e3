//! On logs that are written by hand, with data files of known sizes, at a time that the test chooses.

use uuid::Uuid;

use crate::log::path::commit_path;
use crate::replay::Source;
use crate::snapshot::Snapshot;
use crate::snapshot::load::load;
use crate::spec::interval::MILLIS_PER_DAY;
use crate::storage;

mod cleanup;
mod restore;
mod vacuum;
mod verify;

/// A table in memory, whose files were written just now.
struct Log(Source);

impl Log {
    /// Version 0 has no files.
    fn new() -> Self {
        Self::with_properties("")
    }

    /// Properties as members of a JSON object.
    fn with_properties(properties: &str) -> Self {
        let uri = format!("memory://{}", Uuid::new_v4());
        let log = Self(Source::new(&uri, &[], None, None).unwrap());
        let metadata = format!(
            r#"{{"metaData":{{"id":"t","format":{{"provider":"parquet","options":{{}}}},"schemaString":"{SCHEMA}","partitionColumns":[],"configuration":{{{properties}}}}}}}"#
        );
        log.commit(0, &[PROTOCOL.to_owned(), metadata]);
        log
    }

    fn commit(&self, version: u64, actions: &[String]) {
        self.put(&commit_path(version), &actions.join("\n"));
    }

    fn put(&self, path: &str, text: &str) {
        self.0.storage.put(path, text.as_bytes()).unwrap();
    }

    fn delete(&self, path: &str) {
        for deleted in self.0.storage.delete(&[path]) {
            deleted.unwrap();
        }
    }

    fn newest(&self) -> Snapshot {
        load(&self.0, None, false).unwrap()
    }

    /// Paths below the table root, those of the log left out.
    fn data_files(&self) -> Vec<String> {
        let files = self
            .0
            .storage
            .list_all(&|path| path != "_delta_log")
            .unwrap();
        files.into_iter().map(|file| file.path).collect()
    }
}

const PROTOCOL: &str = r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}"#;
const SCHEMA: &str = r#"{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}"#;

fn add(path: &str, size: u64) -> String {
    format!(
        r#"{{"add":{{"path":"{path}","partitionValues":{{}},"size":{size},"modificationTime":1,"dataChange":true}}}}"#
    )
}

/// Removed at this instant.
fn remove(path: &str, time: i64) -> String {
    format!(
        r#"{{"remove":{{"path":"{path}","deletionTimestamp":{time},"dataChange":true,"extendedFileMetadata":true,"partitionValues":{{}},"size":1}}}}"#
    )
}

/// So many days from now.
fn in_days(days: i64) -> i64 {
    storage::now() + days * MILLIS_PER_DAY
}
