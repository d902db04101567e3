use super::*;
use crate::storage;

#[test]
fn records_every_call() {
    let counting = CountingStorage::new(storage::tests::open("memory://counting", &[]).unwrap());
    let clone = counting.clone();
    assert!(clone.put_if_absent("log/1", b"12345").unwrap());
    assert_eq!(counting.list("log", "0").unwrap().len(), 1);
    assert_eq!(counting.read("log/1").unwrap(), "12345");
    assert!(counting.read("log/2").is_err());
    assert_eq!(
        counting.read_ranges("log/1", &[1..2, 3..5]).unwrap(),
        ["2", "45"]
    );
    assert_eq!(counting.read_many(&["log/1", "log/2"]).len(), 2);
    assert_eq!(counting.head("log/1").unwrap().size, 5);

    let pair = |operation, path: &str| (operation, path.to_owned());
    let expected = [
        pair(Operation::PutIfAbsent, "log/1"),
        pair(Operation::List, "log/0"),
        pair(Operation::Read, "log/1"),
        pair(Operation::Read, "log/2"),
        pair(Operation::ReadRanges, "log/1"),
        pair(Operation::ReadMany, "log/1"),
        pair(Operation::ReadMany, "log/2"),
        pair(Operation::Head, "log/1"),
    ];
    assert_eq!(counting.pairs(), expected);
    assert_eq!(counting.count(Operation::Read), 2);
    assert_eq!(counting.count(Operation::ReadMany), 1);
    let calls = counting.take();
    assert_eq!(calls[4].ranges, [1..2, 3..5]);
    assert!(counting.calls().is_empty() && clone.calls().is_empty());
}
