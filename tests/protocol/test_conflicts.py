"""Conflicts of commits: Delta's rules, pair by pair, in every isolation level.

Expected names are those of delta-spark's ``ConflictChecker``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from support import logs, vectors
from support.writing import DAYS, bodies, partitioned, unpartitioned

import deltareplay as dr

Step = Callable[[dr.Transaction], object]

FIRST, SECOND = ({"day": day} for day in DAYS)
APPEND, DELETE_READ, DELETE_DELETE = (
    "ConcurrentAppendException",
    "ConcurrentDeleteReadException",
    "ConcurrentDeleteDeleteException",
)


def append(name: str, values: dict[str, str] = FIRST, *, data_change: bool = True) -> Step:
    return lambda txn: txn.add(name, size=1, partition_values=values, data_change=data_change)


def several(*steps: Step) -> Step:
    def run_all(txn: dr.Transaction) -> None:
        for step in steps:
            step(txn)

    return run_all


def delete(day: str, path: str) -> Step:
    """Read a day, remove a file of it."""
    return lambda txn: (txn.read(f"day = DATE '{day}'"), txn.remove(path))


def rewrite(day: str, path: str, values: dict[str, str], name: str) -> Step:
    return several(delete(day, path), append(name, values))


def compact(paths: list[str], name: str, values: dict[str, str] = FIRST) -> Step:
    """Read files and rewrite their rows, as OPTIMIZE does."""
    return several(
        lambda txn: txn.read_files(paths),
        lambda txn: txn.remove(paths, data_change=False),
        append(name, values, data_change=False),
    )


LEVELS = ("Serializable", "WriteSerializable", "SnapshotIsolation")

#: name: (current, winner, result in each level)
PAIRS: dict[str, tuple[Step, Step, tuple[str | None, str | None, str | None]]] = {
    "append after append": (append("x"), append("y"), (None, None, None)),
    "append after delete": (append("x"), delete(DAYS[0], "1a"), (None, None, None)),
    "append after rewrite": (append("x"), rewrite(DAYS[0], "1a", FIRST, "y"), (None, None, None)),
    "append after compaction": (append("x"), compact(["1a", "1b"], "y"), (None, None, None)),
    "delete after append to its day": (delete(DAYS[0], "1a"), append("y"), (APPEND, None, None)),
    "delete after append to another day": (
        delete(DAYS[0], "1a"),
        append("y", SECOND),
        (None, None, None),
    ),
    "delete after delete of another day": (
        delete(DAYS[0], "1a"),
        delete(DAYS[1], "2a"),
        (None, None, None),
    ),
    "delete after delete of its day": (
        delete(DAYS[0], "1a"),
        delete(DAYS[0], "1b"),
        (DELETE_READ, DELETE_READ, DELETE_READ),
    ),
    "delete after rewrite of its day": (
        delete(DAYS[0], "1a"),
        rewrite(DAYS[0], "1b", FIRST, "y"),
        (APPEND, APPEND, DELETE_READ),
    ),
    "delete after compaction of its day": (
        delete(DAYS[0], "1a"),
        compact(["1a", "1b"], "y"),
        (APPEND, APPEND, DELETE_READ),
    ),
    "compaction after append": (compact(["1a", "1b"], "x"), append("y"), (None, None, None)),
    "compaction after compaction of the same": (
        compact(["1a", "1b"], "x"),
        compact(["1a", "1b"], "y"),
        (DELETE_READ, DELETE_READ, DELETE_READ),
    ),
    "compaction after compaction of others": (
        compact(["1a", "1b"], "x"),
        compact(["2a", "2b"], "y", SECOND),
        (None, None, None),
    ),
    "remove unread after remove of the same": (
        lambda txn: txn.remove("1a"),
        lambda txn: txn.remove("1a"),
        (DELETE_DELETE, DELETE_DELETE, DELETE_DELETE),
    ),
    "remove unread after remove of another": (
        lambda txn: txn.remove("1a"),
        lambda txn: txn.remove("1b"),
        (None, None, None),
    ),
    "whole table read, after append": (
        several(lambda txn: txn.read(), append("x")),
        append("y"),
        (APPEND, None, None),
    ),
    "whole table read, after rewrite": (
        several(lambda txn: txn.read(), append("x")),
        rewrite(DAYS[0], "1a", FIRST, "y"),
        (APPEND, APPEND, DELETE_READ),
    ),
    "a filter on data does not narrow": (
        several(lambda txn: txn.read("id = 99"), append("x")),
        append("y", SECOND),
        (APPEND, None, None),
    ),
    "half of a filter is on a partition": (
        several(lambda txn: txn.read(f"id = 99 AND day = DATE '{DAYS[0]}'"), append("x")),
        append("y", SECOND),
        (None, None, None),
    ),
    "file read, after its removal": (
        several(lambda txn: txn.read_files(["1a"]), append("x")),
        lambda txn: txn.remove("1a"),
        (DELETE_READ, DELETE_READ, DELETE_READ),
    ),
    "file read, after removal of another": (
        several(lambda txn: txn.read_files(["1a"]), append("x")),
        lambda txn: txn.remove("2a"),
        (None, None, None),
    ),
    "same domain": (
        lambda txn: txn.set_domain_metadata("d", "mine"),
        lambda txn: txn.set_domain_metadata("d", "theirs"),
        ("ConcurrentTransactionException",) * 3,
    ),
    "other domain": (
        lambda txn: txn.set_domain_metadata("d", "mine"),
        lambda txn: txn.set_domain_metadata("e", "theirs"),
        (None, None, None),
    ),
    "later batch of the same application": (
        several(lambda txn: txn.set_transaction("app", 2), append("x")),
        lambda txn: txn.set_transaction("app", 1),
        ("ConcurrentTransactionException",) * 3,
    ),
    "other application": (
        several(lambda txn: txn.set_transaction("app", 2), append("x")),
        lambda txn: txn.set_transaction("other", 1),
        (None, None, None),
    ),
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("pair", PAIRS)
def test_a_commit_after_a_winner_is_rebased_or_refused(
    pair: str, level: str, tmp_path: Path
) -> None:
    current, winner, outcomes = PAIRS[pair]
    expected = outcomes[LEVELS.index(level)]
    table = partitioned(tmp_path / "t")
    version = table.add_feature("domainMetadata")
    mine = table.transaction("MINE", isolation_level=level)
    current(mine)
    with table.transaction("THEIRS") as theirs:
        winner(theirs)
    assert theirs.version == version + 1

    if expected is None:
        assert mine.commit() == version + 2
        assert mine.attempts == 2
        [info] = bodies(table, version + 2, "commitInfo")
        assert info["readVersion"] == version
        return
    with pytest.raises(dr.CommitConflictError) as caught:
        mine.commit()
    assert caught.value.conflict == expected
    assert caught.value.version == version + 1
    assert caught.value.operation == "THEIRS"
    assert table.snapshot().version == version + 1


def test_a_removal_from_an_unpartitioned_table_conflicts_with_an_append(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path / "t")
    mine = table.transaction("DELETE")
    mine.remove("a")
    with table.transaction() as theirs:
        theirs.add("c", size=1)

    with pytest.raises(dr.CommitConflictError) as caught:
        mine.commit()
    assert caught.value.code == "conflict.append"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda table: table.set_properties({"owner": "me"}), "conflict.metadata_changed"),
        (lambda table: table.set_comment("a comment"), "conflict.metadata_changed"),
        (lambda table: table.set_properties({"delta.enableDeletionVectors": "true"}), None),
        (lambda table: table.set_properties({"delta.enableInCommitTimestamps": "true"}), None),
        (lambda table: table.set_properties({"delta.columnMapping.mode": "name"}), None),
        (lambda table: table.set_properties({"delta.enableRowTracking": "true"}), None),
        (lambda table: table.add_feature("domainMetadata"), None),
        (lambda table: table.add_feature("checkConstraints"), "conflict.protocol_changed"),
    ],
    ids=[
        "property",
        "comment",
        "vectors",
        "timestamps",
        "mapping",
        "row tracking",
        "feature",
        "constraints",
    ],
)
def test_an_append_after_a_change_of_the_table(
    change: Callable[[dr.Table], int], code: str | None, tmp_path: Path
) -> None:
    table = unpartitioned(tmp_path / "t")
    mine = table.transaction()
    mine.add("x", size=1, stats={"numRecords": 3})
    version = change(table)

    if code is None:
        assert mine.commit() == version + 1
        assert table.snapshot().num_files == 3
        return
    with pytest.raises(dr.CommitConflictError) as caught:
        mine.commit()
    assert caught.value.code == code
    assert caught.value.conflict in ("MetadataChangedException", "ProtocolChangedException")


@pytest.mark.parametrize("rewrites", [False, True], ids=["reads", "identity values"])
def test_a_commit_after_one_that_generates_identity_values(rewrites: bool, tmp_path: Path) -> None:
    """Only the mark of the column changes; it conflicts with other changes of the metadata."""
    metadata = {"delta.identity.start": "1", "delta.identity.step": "1"}
    schema = pa.schema([pa.field("id", pa.int64(), metadata=metadata), ("v", pa.int64())])
    table = dr.create_table(tmp_path / "t", schema)
    table.append([{"v": 7}])
    mine = table.transaction("DELETE", isolation_level="WriteSerializable")
    mine.read("v = 7")
    mine.remove(table.snapshot().files(columns=["path"]).column("path").to_pylist())
    if rewrites:
        mine.set_metadata(table.snapshot().metadata)
    table.append([{"v": 8}])

    if rewrites:
        with pytest.raises(dr.CommitConflictError) as caught:
            mine.commit()
        assert caught.value.code == "conflict.metadata_changed"
        return
    mine.commit()
    assert table.snapshot().scan().to_arrow().to_pylist() == [{"id": 2, "v": 8}]
    table.append([{"v": 9}])
    assert sorted(table.snapshot().scan().to_arrow()["id"].to_pylist()) == [2, 3]


def test_two_changes_of_the_table(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path / "t")
    protocol = table.transaction()
    protocol.set_protocol(table.snapshot().protocol.with_feature("domainMetadata"))
    metadata = table.transaction()
    metadata.set_metadata(table.snapshot().metadata)
    table.set_properties({"delta.enableDeletionVectors": "true"})

    for transaction, code in (
        (protocol, "conflict.protocol_changed"),
        (metadata, "conflict.metadata_changed"),
    ):
        with pytest.raises(dr.CommitConflictError) as caught:
            transaction.commit()
        assert caught.value.code == code


def test_the_codes_of_conflicts(tmp_path: Path) -> None:
    codes = {
        "delete after delete of its day": "conflict.delete_read",
        "remove unread after remove of the same": "conflict.delete_delete",
        "same domain": "conflict.domain_metadata",
        "later batch of the same application": "conflict.transaction",
    }
    for number, (pair, code) in enumerate(codes.items()):
        current, winner, _ = PAIRS[pair]
        table = partitioned(tmp_path / str(number))
        table.add_feature("domainMetadata")
        mine = table.transaction()
        current(mine)
        with table.transaction() as theirs:
            winner(theirs)
        with pytest.raises(dr.CommitConflictError) as caught:
            mine.commit()
        assert caught.value.code == code


def test_a_conflict_after_the_timeout(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path / "t")
    mine = table.transaction(timeout=0)
    mine.add("x", size=1)
    with table.transaction() as theirs:
        theirs.add("y", size=1)

    with pytest.raises(dr.CommitConflictError) as caught:
        mine.commit()
    assert caught.value.code == "conflict.deadline"
    assert caught.value.conflict == "ConcurrentWriteException"


@pytest.mark.parametrize("with_vector", [True, False])
def test_commits_during_a_backfill_keep_its_row_ids(tmp_path: Path, with_vector: bool) -> None:
    """Two backfills assign the same ids; a delete that began before them keeps those too."""
    table = unpartitioned(tmp_path / "t", protocol_action=logs.features("deletionVectors"))
    table.add_feature("rowTracking")
    files = table.snapshot().files()
    late = table.transaction("ROW TRACKING BACKFILL")
    late.read_files(["a", "b"])
    late.add_files(files)
    delete = table.transaction("DELETE")
    if with_vector:
        delete.update_vectors({"a": vectors.inline([1])})
    else:
        delete.remove("b")
    version = table.set_properties({"delta.enableRowTracking": "true"})
    backfilled = {add["path"]: add["baseRowId"] for add in bodies(table, version - 1, "add")}
    assert backfilled == {"a": 0, "b": 3}

    for transaction in (late, delete):
        transaction.commit()

    for number in (version + 1, version + 2):
        for kind in ("add", "remove"):
            for file in bodies(table, number, kind):
                assert file["baseRowId"] == backfilled[file["path"]]
                assert file["defaultRowCommitVersion"] == version - 1
        assert bodies(table, number, "domainMetadata") == []
    assert table.snapshot().num_files == (2 if with_vector else 1)


def test_a_commit_of_new_rows_is_no_backfill(tmp_path: Path) -> None:
    """Another writer may give its commit any name."""
    table = unpartitioned(tmp_path / "t")
    mine, theirs = table.transaction("DELETE"), table.transaction("ROW TRACKING BACKFILL")
    mine.read("id > 0")
    mine.remove("a")
    theirs.read("id > 5")
    theirs.add("c", size=1)
    theirs.commit()
    with pytest.raises(dr.exceptions.ConcurrentAppendException):
        mine.commit()


def test_row_ids_are_reassigned_after_another_commit(tmp_path: Path) -> None:
    """Ids, versions, timestamps and the high-water mark match the committed version."""
    table = _tracked(tmp_path / "t")
    mine, theirs = table.transaction(), table.transaction()
    mine.add("x", size=1, stats={"numRecords": 5})
    theirs.add("y", size=1, stats={"numRecords": 7})

    assert (theirs.commit(), mine.commit()) == (1, 2)

    [first], [second] = bodies(table, 1, "add"), bodies(table, 2, "add")
    assert (first["baseRowId"], first["defaultRowCommitVersion"]) == (0, 1)
    assert (second["baseRowId"], second["defaultRowCommitVersion"]) == (7, 2)
    marks = [bodies(table, version, "domainMetadata")[0] for version in (1, 2)]
    assert [mark["configuration"] for mark in marks] == [
        '{"rowIdHighWaterMark":6}',
        '{"rowIdHighWaterMark":11}',
    ]
    times = [bodies(table, v, "commitInfo")[0]["inCommitTimestamp"] for v in (0, 1, 2)]
    assert times == sorted(set(times))


def _tracked(root: Path) -> dr.Table:
    return dr.create_table(
        root,
        pa.schema([("id", pa.int64())]),
        properties={
            "delta.enableRowTracking": "true",
            "delta.enableInCommitTimestamps": "true",
        },
    )
