use std::thread;

use arrow_array::{ArrayRef, Int64Array, StringArray};

use super::*;
use crate::error::ErrorKind;
use crate::spec::{Metadata, Protocol};
use crate::storage::far::{rounds, taken};
use crate::storage::interrupt::testing::stop_this_thread;
use crate::storage::{Access, Credentials, Location, VendedStorage, Vending};

#[test]
fn an_interrupted_write_leaves_no_file() {
    let source = Source::new("memory://far-interrupted/t", &[], None, None).unwrap();
    let mut written = WrittenFiles::new(&source);
    let files = (0..100).map(|file| (format!("{file}.parquet"), vec![0; 9]));
    stop_this_thread(true);
    let outcome = written.put_all(files.collect(), true);
    stop_this_thread(false);
    assert_eq!(outcome.unwrap_err().kind(), ErrorKind::Interrupted);
    drop(written);
    thread::sleep(Duration::from_millis(500)); // the time of a request that is still pending
    assert!(!taken("far-interrupted").is_empty());
    assert_eq!(source.storage.list_below("", &|_| true).unwrap(), []);
}

#[derive(Debug)]
struct NoCredentials;

impl Vending for NoCredentials {
    fn credentials(&self, _: Access) -> Result<Option<Credentials>> {
        Ok(None)
    }
}

#[test]
fn writes_partitions_in_parallel_with_credentials_of_a_catalog() {
    let uri = "memory://far-vended/t";
    let location = Location::parse(uri).unwrap();
    let vended = VendedStorage::new(location, &[], None, Arc::new(NoCredentials)).unwrap();
    let source = Source::new(uri, &[], None, None).unwrap();
    let source = source.with_storage(Arc::new(vended));
    let metadata = Metadata {
        schema_string: r#"{"type":"struct","fields":[{"name":"n","type":"long"},{"name":"p","type":"string"}]}"#
            .to_owned(),
        partition_columns: vec!["p".to_owned()],
        ..Metadata::default()
    };
    let protocol = Protocol::for_new_table(&metadata).unwrap();
    let layout = Layout::new(&metadata, &protocol, Purpose::Data, &[]).unwrap();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![1, 2, 3, 4])),
        Arc::new(StringArray::from(vec!["a", "b", "c", "d"])),
    ];
    let mut writer = RowWriter::new(Arc::new(layout), WriteOptions::default());
    let rows = RecordBatch::try_new(writer.schema(), columns);
    let mut written = WrittenFiles::new(&source);
    taken("far-vended");
    writer.write(&rows.unwrap(), &mut written).unwrap();
    writer.finish(&mut written).unwrap();
    let requests = taken("far-vended");
    assert_eq!(requests.len(), 4);
    assert_eq!(rounds(&requests), 1, "{requests:#?}");
}
