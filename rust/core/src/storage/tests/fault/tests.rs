use super::*;
use crate::storage;

fn store(name: &str) -> FaultStorage {
    let inner = storage::tests::open(&format!("memory://fault-{name}"), &[]).unwrap();
    for path in ["log/1.json", "log/2.json"] {
        assert!(inner.put_if_absent(path, b"0123456789").unwrap());
    }
    FaultStorage::new(inner)
}

#[test]
fn a_fault_affects_the_next_calls_on_one_file() {
    let store = store("times");
    store.fail(Some(Operation::Read), "1.json", 2, Fault::Error);
    assert_eq!(store.read("log/2.json").unwrap(), "0123456789");
    for _ in 0..2 {
        let error = store.read("log/1.json").unwrap_err();
        assert_eq!(
            (error.code(), error.path()),
            ("storage.fault", Some("log/1.json"))
        );
        assert!(store.head("log/1.json").is_ok());
    }
    assert_eq!(store.read("log/1.json").unwrap(), "0123456789");
}

#[test]
fn every_read_returns_the_changed_bytes() {
    let store = store("bytes");
    for (fault, bytes) in [
        (Fault::Truncated(3), &b"012"[..]),
        (Fault::Truncated(30), b"0123456789"),
        (Fault::Replaced(b"other".to_vec()), b"other"),
        (Fault::Flipped(1), b"0\xce23456789"),
        (Fault::Flipped(10), b"0123456789"),
    ] {
        store.fail(None, "1.json", usize::MAX, fault.clone());
        assert_eq!(store.read("log/1.json").unwrap(), bytes);
        assert_eq!(store.head("log/1.json").unwrap().size, bytes.len() as u64);
        let many = store.read_many(&["log/2.json", "log/1.json"]);
        let many: Vec<Bytes> = many.into_iter().map(Result::unwrap).collect();
        assert_eq!(many, [b"0123456789", bytes]);
        let ranges = store.read_ranges("log/1.json", &[0..1, 1..4]);
        match bytes.get(1..4).zip(bytes.get(0..1)) {
            Some((middle, first)) => assert_eq!(ranges.unwrap(), [first, middle]),
            None => assert_eq!(ranges.unwrap_err().code(), "storage.truncated"),
        }
        assert_eq!(store.list("log", "").unwrap().len(), 2);
        store.heal();
    }
}

#[test]
fn files_are_hidden_or_refused() {
    let store = store("hides");
    store.fail(Some(Operation::List), "2.json", 1, Fault::NotFound);
    assert_eq!(store.list("log", "").unwrap().len(), 1);
    assert_eq!(store.list("log", "").unwrap().len(), 2);
    store.fail(Some(Operation::List), "log", 1, Fault::Error);
    assert_eq!(store.list("log", "").unwrap_err().code(), "storage.fault");
    store.fail(None, "1.json", 2, Fault::Permission);
    assert_eq!(
        store.read("log/1.json").unwrap_err().code(),
        "storage.permission"
    );
    let error = store.read_ranges("log/1.json", &[]).unwrap_err();
    assert_eq!(error.code(), "storage.permission");
    store.fail(None, "1.json", 1, Fault::NotFound);
    assert_eq!(
        store.head("log/1.json").unwrap_err().code(),
        "storage.not_found"
    );
}

#[test]
fn a_file_exists_after_a_lost_response() {
    let store = store("lost");
    store.fail(
        Some(Operation::PutIfAbsent),
        "3.json",
        1,
        Fault::ResponseLost,
    );
    store.fail(Some(Operation::PutIfAbsent), "4.json", 1, Fault::Error);
    assert_eq!(
        store.put_if_absent("log/3.json", b"x").unwrap_err().code(),
        "storage.fault"
    );
    assert_eq!(
        store.put_if_absent("log/4.json", b"x").unwrap_err().code(),
        "storage.fault"
    );
    assert_eq!(store.read("log/3.json").unwrap(), "x");
    assert_eq!(
        store.read("log/4.json").unwrap_err().code(),
        "storage.not_found"
    );
}
