use std::fs;

use super::*;
use crate::codec::deletion_vector::FileBuilder;
use crate::storage::tests::counting::{CountingStorage, Operation};
use crate::storage::{LocalStorage, Location};

struct Table {
    dir: tempfile::TempDir,
    storage: Arc<CountingStorage>,
    resolver: PathResolver,
}

impl Table {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let location = Location::parse(dir.path().to_str().unwrap()).unwrap();
        let local = LocalStorage::new(location.root(), location.path());
        Self {
            dir,
            storage: Arc::new(CountingStorage::new(Arc::new(local))),
            resolver: PathResolver::new(&location, &[]),
        }
    }

    /// Writes one file of vectors and returns their descriptors.
    fn write(&self, name: u8, prefix: &str, vectors: &[Vec<u64>]) -> Vec<DeletionVectorDescriptor> {
        let mut file = FileBuilder::new([name; 16], prefix);
        let descriptors = vectors
            .iter()
            .map(|rows| file.push(&vector(rows)).unwrap())
            .collect();
        let path = self.dir.path().join(file.relative_path().unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, file.finish()).unwrap();
        descriptors
    }

    fn load(&self, descriptors: &[DeletionVectorDescriptor]) -> Vec<Loaded> {
        let storage: Arc<dyn Storage> = self.storage.clone();
        load(&storage, &self.resolver, descriptors)
    }
}

fn vector(rows: &[u64]) -> DeletionVector {
    DeletionVector::from_rows(rows.iter().copied()).unwrap()
}

fn changed(
    descriptor: &DeletionVectorDescriptor,
    offset: i32,
    size: i32,
    cardinality: i64,
) -> DeletionVectorDescriptor {
    let path = descriptor.path_or_inline();
    DeletionVectorDescriptor::new("u", path, Some(offset), size, cardinality).unwrap()
}

#[test]
fn vectors_are_returned_in_order_and_each_file_is_read_once() {
    let table = Table::new();
    let rows = |file: u64| -> Vec<Vec<u64>> {
        (0..50)
            .map(|last| (0..=last).map(|row| row * 7 + file).collect())
            .collect()
    };
    let mut expected: Vec<(DeletionVectorDescriptor, Vec<u64>)> = Vec::new();
    let escaped = if cfg!(windows) { "a%b" } else { "a%:b" };
    for (file, prefix) in [(1, ""), (2, "ab"), (3, escaped)] {
        let vectors = rows(u64::from(file));
        expected.extend(table.write(file, prefix, &vectors).into_iter().zip(vectors));
    }
    expected.push((vector(&[5, 6]).encode_inline().unwrap(), vec![5, 6]));
    let empty = DeletionVectorDescriptor::new("i", "", None, 0, 0).unwrap();
    expected.push((empty, vec![]));
    // not in the order of the files, and one of them twice
    expected
        .sort_by_key(|(descriptor, _)| descriptor.unique_id().bytes().rev().collect::<Vec<_>>());
    expected.push(expected[0].clone());
    let descriptors: Vec<_> = expected
        .iter()
        .map(|(descriptor, _)| descriptor.clone())
        .collect();

    let loaded = table.load(&descriptors);

    assert_eq!(loaded.len(), 153);
    for (result, (_, rows)) in loaded.iter().zip(&expected) {
        assert_eq!(result.as_ref().unwrap().as_ref(), &vector(rows));
    }
    let calls = table.storage.calls();
    assert_eq!(calls.len(), 3);
    assert!(
        calls
            .iter()
            .all(|call| call.operation == Operation::ReadRanges && call.ranges.len() == 1)
    );
}

#[test]
fn distant_vectors_are_read_without_the_bytes_between_them() {
    let table = Table::new();
    let big: Vec<u64> = (0..40_000).map(|row| row * 40).collect();
    let descriptors = table.write(1, "", &[vec![1], big.clone(), vec![2], big, vec![3]]);
    let part = [4, 0].map(|index| descriptors[index].clone());

    let loaded = table.load(&part);

    assert_eq!(loaded[0].as_ref().unwrap().max(), Some(3));
    assert_eq!(loaded[1].as_ref().unwrap().max(), Some(1));
    assert!(
        loaded
            .iter()
            .all(|vector| vector.as_ref().unwrap().memory() < 200)
    );
    let [call] = &table.storage.calls()[..] else {
        panic!("one call");
    };
    assert_eq!(call.ranges.len(), 2);
    assert!(
        call.ranges
            .iter()
            .all(|range| range.end - range.start < 100)
    );
}

#[test]
fn absolute_paths_are_decoded_and_checked() {
    let table = Table::new();
    let descriptor = table.write(1, "a b", &[vec![4]]).remove(0);
    let root = table.resolver.root().path();
    let name = "deletion_vector_01010101-0101-0101-0101-010101010101.bin";
    let absolute = |path: String| {
        let size = i32::try_from(descriptor.size_in_bytes()).unwrap();
        DeletionVectorDescriptor::new("p", path, Some(1), size, 1).unwrap()
    };
    let loaded = table.load(&[
        absolute(format!("file:{root}/a%20b/{name}")),
        absolute(format!("file://{root}/../{name}")),
        absolute("s3://elsewhere/x.bin".into()),
        DeletionVectorDescriptor::new(
            "u",
            "../".to_owned() + descriptor.path_or_inline(),
            Some(1),
            1,
            1,
        )
        .unwrap(),
    ]);
    assert_eq!(loaded[0].as_ref().unwrap().max(), Some(4));
    for (index, code) in [
        (1, "path.escapes_root"),
        (2, "path.foreign"),
        (3, "path.escapes_root"),
    ] {
        assert_eq!(loaded[index].as_ref().unwrap_err().code(), code);
    }
}

#[test]
fn errors_have_file_and_offset_and_spare_other_vectors() {
    let table = Table::new();
    let good = table.write(1, "", &[vec![1, 2], vec![3], vec![4]]);
    let name = "deletion_vector_01010101-0101-0101-0101-010101010101.bin";
    let size = i32::try_from(good[0].size_in_bytes()).unwrap();
    let second = i32::try_from(good[1].position()).unwrap();
    let missing =
        DeletionVectorDescriptor::new("u", "00000000000000000000", Some(1), 9, 1).unwrap();
    let cases = [
        (changed(&good[0], 1, size, 3), "dv.cardinality", 1),
        (changed(&good[0], 1, size - 1, 2), "dv.size", 1),
        (
            changed(&good[0], second, size, 2),
            "dv.size",
            good[1].position(),
        ),
        (changed(&good[0], 5000, size, 2), "storage.truncated", 5000),
        (changed(&good[0], 1, i32::MAX, 2), "storage.truncated", 1),
        (changed(&good[0], 3, size, 2), "dv.size", 3),
    ];
    let mut descriptors: Vec<_> = cases
        .iter()
        .map(|(descriptor, ..)| descriptor.clone())
        .collect();
    descriptors.extend(good);
    descriptors.extend([missing.clone(), missing]);

    let loaded = table.load(&descriptors);

    for ((result, (_, code, offset)), index) in loaded.iter().zip(&cases).zip(0..) {
        let error = result.as_ref().unwrap_err();
        assert_eq!(error.code(), *code, "{index}");
        assert_eq!(error.path(), Some(name));
        assert_eq!(error.offset(), Some(*offset), "{index}");
    }
    let lasts: Vec<_> = loaded[6..9]
        .iter()
        .map(|vector| vector.as_ref().unwrap().max())
        .collect();
    assert_eq!(lasts, [Some(2), Some(3), Some(4)]);
    for result in &loaded[9..] {
        let error = result.as_ref().unwrap_err();
        assert_eq!(error.code(), "dv.missing");
        assert!(error.path().unwrap().ends_with(".bin"));
    }
}

#[test]
fn damage_is_reported_with_file_and_offset() {
    let table = Table::new();
    let descriptors = table.write(1, "", &[vec![1, 2], vec![3]]);
    let path = table
        .dir
        .path()
        .join("deletion_vector_01010101-0101-0101-0101-010101010101.bin");
    let good = fs::read(&path).unwrap();
    for (at, value, codes) in [
        (0, 7, ["dv.version", "dv.version"]),
        (12, 9, ["dv.checksum", "ok"]),
        (60, 9, ["ok", "dv.checksum"]),
    ] {
        let mut bad = good.clone();
        bad[at] = value;
        fs::write(&path, bad).unwrap();
        let loaded = table.load(&descriptors);
        let result = loaded
            .iter()
            .map(|vector| vector.as_ref().map_or_else(Error::code, |_| "ok"));
        assert!(result.eq(codes), "{at}: {loaded:?}");
        for error in loaded.iter().filter_map(|vector| vector.as_ref().err()) {
            assert!(
                error.path().is_some() && error.offset().is_some(),
                "{error}"
            );
        }
    }
}
