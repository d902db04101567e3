"""Exceptions: their classes, codes and attributes, and pickling."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from support import logs

import deltareplay as dr
from deltareplay import exceptions

SCHEMA = logs.schema(id="long")
SECOND = f"_delta_log/{logs.commit_name(1)}"

CLASSES = [
    dr.TableNotFoundError,
    dr.VersionNotFoundError,
    dr.UnsupportedFeatureError,
    dr.CorruptTableError,
    dr.CommitStateUnknownError,
    dr.InvalidArgumentError,
    dr.StorageError,
]

#: The names of ``delta.exceptions``, each with one of our codes.
CONFLICTS = {
    exceptions.ConcurrentAppendException: "conflict.append",
    exceptions.ConcurrentDeleteDeleteException: "conflict.delete_delete",
    exceptions.ConcurrentDeleteReadException: "conflict.delete_read",
    exceptions.ConcurrentTransactionException: "conflict.transaction",
    exceptions.ConcurrentWriteException: "conflict.deadline",
    exceptions.MetadataChangedException: "conflict.metadata_changed",
    exceptions.ProtocolChangedException: "conflict.protocol_changed",
}


def test_every_exception_class_is_listed() -> None:
    result = {
        value
        for value in vars(exceptions).values()
        if isinstance(value, type) and issubclass(value, Exception)
    }
    delta = {exceptions.DeltaConcurrentModificationException, *CONFLICTS}
    ours = {*CLASSES, dr.DeltaReplayError, dr.DeltaReplayWarning, dr.CommitConflictError}
    assert result == ours | delta
    assert all(issubclass(cls, dr.CommitConflictError) for cls in delta)
    assert all(dr.DeltaReplayError in cls.__mro__ for cls in CLASSES)
    assert issubclass(dr.DeltaReplayWarning, UserWarning)
    assert issubclass(dr.CommitStateUnknownError, dr.StorageError)


@pytest.mark.parametrize("cls", [dr.DeltaReplayError, *CLASSES, *CONFLICTS])
@pytest.mark.parametrize("duplicate", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy])
def test_pickling_and_copying_keep_every_attribute(
    cls: type[dr.DeltaReplayError], duplicate: Callable[[Exception], dr.DeltaReplayError]
) -> None:
    error = cls("what happened", code="a.b", path="p", version=3, line=4, offset=5)
    copied = duplicate(error)

    assert type(copied) is cls
    assert str(copied) == "what happened"
    attributes: dict[str, object] = {
        "code": "a.b",
        "path": "p",
        "version": 3,
        "line": 4,
        "offset": 5,
    }
    if issubclass(cls, dr.CommitConflictError):
        attributes["operation"] = None
    assert vars(copied) == attributes


@pytest.mark.parametrize(("cls", "code"), CONFLICTS.items())
def test_a_conflict_has_the_class_of_delta_exceptions(cls: type[Exception], code: str) -> None:
    base = exceptions.DeltaConcurrentModificationException
    for requested in (dr.CommitConflictError, base):
        error = requested("in the way", code=code, version=7)
        assert type(error) is cls
        assert error.conflict == cls.__name__
        assert vars(pickle.loads(pickle.dumps(error))) == vars(error)
    assert issubclass(cls, base)


@pytest.mark.parametrize(
    "call",
    [
        lambda table: table.snapshot(),
        lambda table: table.snapshot(0),
        lambda table: table.snapshot(7, verify=True),
        lambda table: table.actions(0),
        lambda table: table.actions(2, 7),
        lambda table: table.clone(table.uri + "-clone", version=3),
    ],
    ids=["snapshot", "version 0", "verified", "actions", "actions of a range", "clone"],
)
def test_a_missing_table(tmp_path: Path, call: Callable[[dr.Table], object]) -> None:
    with pytest.raises(dr.TableNotFoundError) as caught:
        call(dr.Table(tmp_path / "nothing"))
    assert str(tmp_path / "nothing") in str(caught.value)
    assert caught.value.code == "table.not_found"


@pytest.mark.parametrize(
    "option", ["google_service_account", "service_account_path", "google_service_account_key"]
)
def test_a_key_is_not_repeated_where_its_path_is_expected(option: str) -> None:
    table = dr.Table("gs://bucket/t", {option: '{"private_key": "s3cret"}'})
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.snapshot()
    assert "s3cret" not in f"{caught.value} {caught.value.__cause__}"


def test_a_missing_version_names_the_range(table: dr.Table) -> None:
    with pytest.raises(dr.VersionNotFoundError) as caught:
        table.snapshot(version=7)
    assert caught.value.version == 7
    assert "versions 0 to 2" in str(caught.value)


def test_an_unsupported_table_names_every_feature(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, protocol_action=logs.features("fancyOne", "fancyTwo", "deletionVectors"))
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr.Table(log.uri).snapshot()
    assert "fancyOne" in str(caught.value)
    assert "fancyTwo" in str(caught.value)
    assert "deletionVectors" not in str(caught.value)


def test_a_corrupt_commit_names_file_and_line(log: logs.LogBuilder) -> None:
    log.create(SCHEMA)
    good = logs.json_lines([logs.commit_info(), logs.add("a")])
    logs.write_file(log.table, logs.commit_name(1), good + b'{"add":{"path":"b",}}\n')
    with pytest.raises(dr.CorruptTableError) as caught:
        dr.Table(log.uri).snapshot().files()
    error = caught.value
    assert error.path == SECOND
    assert error.line == 3
    assert SECOND in str(error)
    assert "line 3" in str(error)
    assert vars(pickle.loads(pickle.dumps(error))) == vars(error)


@pytest.mark.parametrize("read", ["read_all", "read_next_batch", "iterate", "read_pandas"])
def test_readers_raise_our_exceptions(log: logs.LogBuilder, read: str) -> None:
    log.create(SCHEMA)
    logs.write_file(log.table, logs.commit_name(1), b'{"add":{"path":5}}\n')
    with pytest.raises(dr.CorruptTableError) as caught:
        reader = dr.Table(log.uri).actions(1)
        if read == "iterate":
            list(reader)
        else:
            getattr(reader, read)()
    assert caught.value.path == SECOND
    assert caught.value.line == 1


def test_an_invalid_argument_is_a_value_error(table: dr.Table) -> None:
    with pytest.raises(ValueError, match="version is -1"):
        table.snapshot(version=-1)


OUT_OF_RANGE: dict[str, Callable[[dr.Table, int], object]] = {
    "look_ahead": lambda table, number: table.snapshot().scan(look_ahead=number),
    "target_size": lambda table, number: table.snapshot().scan().splits(target_size=number - 1),
    "limit": lambda table, number: table.history(limit=number),
    "actions": lambda table, number: table.actions(number),
    "changes": lambda table, number: table.changes(0, number),
    "max_files_per_batch": lambda table, number: table.follow(max_files_per_batch=number),
    "offset": lambda _, number: dr.DeletionVector.decode(b"\1", offset=number),
    "cardinality": lambda _, number: dr.DeletionVector.decode(b"", cardinality=number),
    "rows": lambda _, number: dr.DeletionVector.from_rows([number]),
    "mask": lambda _, number: dr.DeletionVector.from_rows([1]).mask(number),
}


@pytest.mark.parametrize("number", [-1, 2**70])
@pytest.mark.parametrize("call", OUT_OF_RANGE.values(), ids=OUT_OF_RANGE.keys())
def test_numbers_out_of_range(
    call: Callable[[dr.Table, int], object], number: int, table: dr.Table
) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        call(table, number)
    assert caught.value.code in {"argument.range", "dv.row_range"}


def test_arguments_of_other_types(table: dr.Table) -> None:
    with pytest.raises(dr.InvalidArgumentError, match="a snapshot but got int"):
        table.snapshot().diff(1)  # type: ignore[arg-type]
    with pytest.raises(dr.InvalidArgumentError, match="a snapshot but got int"):
        table.transaction(snapshot=1)  # type: ignore[arg-type]
    (piece,) = table.snapshot().replay_plan(keyed=True).pieces
    with pytest.raises(dr.InvalidArgumentError, match="replay plan but got int"):
        piece.to_arrow(1)  # type: ignore[arg-type]
    with pytest.raises(dr.InvalidArgumentError, match="a deletion vector but got list"):
        dr.DeletionVector.from_rows([1]).union([2])  # type: ignore[arg-type]
    with pytest.raises(dr.InvalidArgumentError, match="timedelta but got int"):
        table.vacuum(7)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'str' object"):
        _ = "1" in dr.DeletionVector.from_rows([1])  # type: ignore[operator]
    with pytest.raises(dr.InvalidArgumentError, match="64-bit"):
        table.append([], txn=("a", 2**70))


def test_a_snapshot_is_usable_after_an_error(events: logs.LogBuilder) -> None:
    table = dr.Table(events.uri)
    snapshot = table.snapshot()
    logs.write_file(events.table, logs.commit_name(3), b"garbage\n")
    with pytest.raises(dr.CorruptTableError) as caught:
        snapshot.update()
    assert caught.value.code == "commit.json"
    assert snapshot.files().num_rows == 2

    logs.write_commit(events.table, 3, [logs.add("e")])
    assert snapshot.update().files().num_rows == 3
