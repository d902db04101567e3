"""Broken optional files are skipped with a warning; others are an error with the location."""

# ruff: noqa: PT017  an error and a result may both be valid
from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import pytest
from protocol.reading import SCHEMA, codes, commits, file, names, opened, paths
from support import logs

import deltareplay as dr

KINDS = [
    "classic",
    "multipart",
    "v2-json",
    "v2-parquet",
    "v2-classic",
    "v2-inline-json",
    "v2-inline-parquet",
]
DAMAGE = {
    "empty": lambda content: b"",
    "one byte": lambda content: content[:1],
    "half": lambda content: content[: len(content) // 2],
    "no end": lambda content: content[:-9],
    "zeros": lambda content: bytes(len(content)),
    "text": lambda content: b"this is not a checkpoint\n" * 20,
    "html": lambda content: b"<html><body>503 Slow Down</body></html>",
}


def damage(path: Path, how: str) -> None:
    path.write_bytes(DAMAGE[how](path.read_bytes()))


def has_warning(snapshot: dr.Snapshot, name: str) -> bool:
    return any(name in (w.path or "") + w.message for w in snapshot.warnings)


# -- checkpoints


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("kind", KINDS)
def test_a_broken_checkpoint_is_skipped_for_its_commits(
    log: logs.LogBuilder, kind: str, how: str
) -> None:
    commits(log, 5)
    (path, *_) = log.checkpoint(3, kind=kind)
    damage(path, how)

    snapshot = opened(log)

    assert (snapshot.version, paths(snapshot)) == (5, names(5))
    assert has_warning(snapshot, path.name)


@pytest.mark.parametrize("how", ["half", "zeros", "text"])
@pytest.mark.parametrize("kind", KINDS)
def test_strict_mode_refuses_a_broken_checkpoint(log: logs.LogBuilder, kind: str, how: str) -> None:
    commits(log, 5)
    (path, *_) = log.checkpoint(3, kind=kind)
    damage(path, how)

    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log, strict=True).files()
    assert path.name in (caught.value.path or "")


@pytest.mark.parametrize("kind", KINDS)
def test_a_broken_checkpoint_is_skipped_for_an_older_one(log: logs.LogBuilder, kind: str) -> None:
    commits(log, 8)
    log.checkpoint(3)
    log.delete_commits(3)
    (path, *_) = log.checkpoint(6, kind=kind)
    damage(path, "half")

    snapshot = opened(log)

    assert paths(snapshot) == names(8)
    assert has_warning(snapshot, path.name)


@pytest.mark.parametrize("kind", KINDS)
def test_a_broken_checkpoint_without_its_commits_is_an_error(
    log: logs.LogBuilder, kind: str
) -> None:
    commits(log, 8)
    (path, *_) = log.checkpoint(6, kind=kind)
    log.delete_commits(6)
    damage(path, "half")

    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log).files()
    assert path.name in str(caught.value)


@pytest.mark.parametrize("how", [*DAMAGE, "missing"])
@pytest.mark.parametrize("kind", ["v2-json", "v2-parquet", "v2-classic"])
def test_a_checkpoint_with_a_broken_sidecar_is_skipped(
    log: logs.LogBuilder, kind: str, how: str
) -> None:
    commits(log, 5)
    log.checkpoint(3, kind=kind)
    sidecar = sorted(file(log, "_sidecars").iterdir())[0]
    if how == "missing":
        sidecar.unlink()
    else:
        damage(sidecar, how)

    snapshot = opened(log)

    assert paths(snapshot) == names(5)
    assert snapshot.num_files == 5
    assert has_warning(snapshot, sidecar.name)
    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log, strict=True).files()
    assert sidecar.name in str(caught.value)


def test_a_missing_sidecar_of_the_only_checkpoint_is_an_error(log: logs.LogBuilder) -> None:
    commits(log, 5)
    log.checkpoint(5, kind="v2-json")
    log.delete_commits(5)
    sidecar = sorted(file(log, "_sidecars").iterdir())[0]
    sidecar.unlink()

    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log).files()
    assert sidecar.name in str(caught.value)


@pytest.mark.parametrize("kind", ["v2-json", "v2-inline-json"])
@pytest.mark.parametrize("line", [0, 1, -1])
def test_a_manifest_with_a_torn_line_is_skipped(log: logs.LogBuilder, kind: str, line: int) -> None:
    commits(log, 5)
    (path,) = log.checkpoint(3, kind=kind)
    lines = path.read_bytes().splitlines()
    lines[line] = lines[line][: len(lines[line]) // 2]
    path.write_bytes(b"\n".join(lines) + b"\n")

    snapshot = opened(log)

    assert paths(snapshot) == names(5)
    assert has_warning(snapshot, path.name)


def test_several_broken_checkpoints_are_each_a_warning(log: logs.LogBuilder) -> None:
    commits(log, 9)
    broken = [log.checkpoint(version)[0] for version in (3, 5, 7)]
    for path in broken:
        damage(path, "text")

    snapshot = opened(log)

    assert paths(snapshot) == names(9)
    assert all(has_warning(snapshot, path.name) for path in broken)


@pytest.mark.parametrize("absent", ["protocol", "metaData"])
def test_a_checkpoint_without_protocol_or_metadata_is_an_error(
    log: logs.LogBuilder, absent: str
) -> None:
    """As in delta-spark: a checkpoint that decodes is not skipped."""
    commits(log, 4)
    rows = [row for row in log.state(3).actions() if absent not in row]
    path = logs.write_checkpoint(log.table, 3, rows)

    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log)
    assert path.name in str(caught.value)


def test_actions_of_a_skipped_file_are_discarded(log: logs.LogBuilder) -> None:
    """The lines before the broken one were parsed and used until then."""
    log.create(SCHEMA, logs.add("f"))
    log.commit(logs.domain("d", "right"), logs.txn("a", 1))
    log.commit(logs.add("g"))
    wrong = [logs.domain("d", "wrong"), logs.domain("e", "wrong"), logs.txn("a", 9)]
    content = logs.json_lines(wrong) + b'{"add":{"path":"h","size":}}\n'
    logs.write_file(log.table, logs.compacted_name(1, 2), content)

    snapshot = opened(log)

    assert paths(snapshot) == ["f", "g"]
    assert dict(snapshot.domain_metadata) == {"d": "right"}
    assert dict(snapshot.transactions) == {"a": 1}
    assert has_warning(snapshot, logs.compacted_name(1, 2))


def test_metadata_of_a_broken_file_is_not_used(log: logs.LogBuilder) -> None:
    commits(log, 3)
    wrong = [logs.metadata(logs.schema(other="string"))]
    content = logs.json_lines(wrong) + b'{"add":{"path":"h","size":}}\n'
    logs.write_file(log.table, logs.compacted_name(1, 2), content)

    snapshot = opened(log)

    assert paths(snapshot) == names(3)
    assert snapshot.schema.names == ["id"]
    assert has_warning(snapshot, logs.compacted_name(1, 2))


def test_a_checkpoint_that_disappears_while_it_is_used(log: logs.LogBuilder) -> None:
    commits(log, 5)
    snapshot = opened(log)
    (path,) = log.checkpoint(3)
    late = opened(log)
    path.unlink()

    assert paths(snapshot) == names(5)
    assert paths(late) == names(5)


def test_updates_skip_broken_checkpoints(log: logs.LogBuilder) -> None:
    commits(log, 3)
    before = opened(log)
    log.commit(logs.add("f4"))
    (path,) = log.checkpoint(4)
    damage(path, "half")
    log.commit(logs.add("f5"))

    assert paths(before.update()) == names(5)


# -- warnings


def test_a_warning_is_a_value_and_is_issued_once(log: logs.LogBuilder) -> None:
    commits(log, 5)
    (path,) = log.checkpoint(3)
    damage(path, "text")

    with pytest.warns(dr.DeltaReplayWarning) as caught:
        snapshot = opened(log)
        for _ in range(3):
            snapshot.files()
    result = list(snapshot.warnings)

    assert len([w for w in caught if w.category is dr.DeltaReplayWarning]) == len(result)
    assert result == list(snapshot.warnings)
    warning = result[0]
    assert warning.code
    assert warning.message
    assert path.name in (warning.path or "")
    assert pickle.loads(pickle.dumps(warning)) == warning
    with pytest.raises(AttributeError, match="cannot assign"):
        warning.code = "other"


def test_a_valid_table_causes_no_warning(log: logs.LogBuilder) -> None:
    commits(log, 5)
    log.checkpoint(3, kind="v2-json")
    log.checksum(5)
    log.compact(4, 5)

    snapshot = opened(log, strict=True)
    snapshot.files()
    snapshot.tombstones()

    assert codes(snapshot) == []


def test_strict_may_be_set_on_the_table_and_overridden(log: logs.LogBuilder) -> None:
    commits(log, 5)
    (path,) = log.checkpoint(3)
    damage(path, "text")
    strict = dr.Table(log.uri, strict=True)

    with pytest.raises(dr.CorruptTableError) as caught:
        strict.snapshot().files()
    assert caught.value.code == "checkpoint.parquet"
    assert paths(strict.snapshot(strict=False)) == names(5)


# -- empty commits


def empty_commit(log: logs.LogBuilder, version: int) -> str:
    name = logs.commit_name(version)
    file(log, name).write_bytes(b"")
    return name


@pytest.mark.parametrize("version", [2, 5])
def test_an_empty_commit_is_an_empty_version_with_a_warning(
    log: logs.LogBuilder, version: int
) -> None:
    commits(log, 5)
    name = empty_commit(log, version)

    snapshot = opened(log)

    assert snapshot.version == 5
    assert paths(snapshot) == [f for f in names(5) if f != f"f{version}"]
    assert has_warning(snapshot, name)
    (warning,) = snapshot.warnings
    assert warning.version == version


def test_strict_mode_refuses_an_empty_commit(log: logs.LogBuilder) -> None:
    commits(log, 5)
    name = empty_commit(log, 4)

    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log, strict=True).files()
    assert name in (caught.value.path or "")
    assert caught.value.version == 4


def test_an_empty_first_commit_has_no_protocol(log: logs.LogBuilder) -> None:
    commits(log, 2)
    empty_commit(log, 0)

    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log)
    assert caught.value.code == "log.no_protocol"


def test_an_empty_commit_before_a_checkpoint_does_not_matter(log: logs.LogBuilder) -> None:
    commits(log, 5)
    log.checkpoint(4)
    empty_commit(log, 2)

    assert paths(opened(log, strict=True)) == names(5)


def test_an_empty_commit_in_an_update_is_a_warning(log: logs.LogBuilder) -> None:
    commits(log, 2)
    before = opened(log)
    log.commit()

    after = before.update()

    assert (after.version, paths(after)) == (3, names(2))
    assert has_warning(after, logs.commit_name(3))


# -- torn commits


@pytest.mark.parametrize("version", [3, 5])
@pytest.mark.parametrize("cut", [1, 10, 60])
def test_a_torn_commit_is_an_error_with_its_line_and_byte(
    log: logs.LogBuilder, version: int, cut: int
) -> None:
    commits(log, 5)
    path = file(log, logs.commit_name(version))
    content = path.read_bytes().rstrip(b"\n")
    path.write_bytes(content[:-cut])

    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log).files()
    error = caught.value
    assert path.name in (error.path or "")
    assert error.line == 2
    assert error.offset is not None
    start = content.index(b"\n") + 1
    assert start <= error.offset <= len(content)
    assert paths(opened(log, version - 1)) == names(version - 1), "older versions can be read"


@pytest.mark.parametrize(
    "line",
    [
        b'{"add":',
        b"}",
        b"[]",
        b"5",
        b'"add"',
        b"null",
        b'{"add":{"path":"x"',
        b"\xff\xfe\x00",
        b'{"add":{"path":"\xff"}}',
        b'{"add":{"path":"x","size":1e}}',
        b'{"remove":{"path":"f1",}}',
        b"\x00" * 50,
    ],
    ids=repr,
)
@pytest.mark.parametrize("offset", [0, 1, 2])
def test_an_invalid_line_is_an_error_with_its_number(
    log: logs.LogBuilder, line: bytes, offset: int
) -> None:
    commits(log, 2)
    lines = [logs.json_lines([logs.add(f"g{i}")]).strip() for i in range(2)]
    lines.insert(offset, line)
    logs.write_file(log.table, logs.commit_name(3), b"\n".join(lines) + b"\n")

    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log).files()
    assert logs.commit_name(3) in (caught.value.path or "")
    assert caught.value.line == offset + 1


@pytest.mark.parametrize(
    "action",
    [
        {"add": {"partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}},
        {"add": {"path": 5, "partitionValues": {}, "size": 1}},
        {"add": {"path": None}},
        {"add": []},
        {"add": "f"},
        {"remove": {"deletionTimestamp": 5}},
        {"remove": {"path": {"a": 1}}},
        {"txn": {"version": 5}},
        {"txn": {"appId": "a"}},
        {"domainMetadata": {"configuration": "x", "removed": False}},
        {"metaData": {"schemaString": 5}},
        {"protocol": {"minReaderVersion": {}}},
        {"add": {"path": "x", "deletionVector": {"storageType": "u"}}},
        {"add": {"path": "x", "deletionVector": "u"}},
        {"add": {"path": "x", "size": "large"}},
        {"add": {"path": "x", "size": 10**30}},
        {"add": {"path": "x", "partitionValues": [1]}},
    ],
    ids=str,
)
def test_malformed_actions_are_errors_unless_they_have_a_path(
    log: logs.LogBuilder, action: logs.Action
) -> None:
    """An action without its key cannot be replayed."""
    commits(log, 2)
    log.commit(action)

    try:
        snapshot = opened(log)
        snapshot.files()
        snapshot.tombstones()
        assert snapshot.transactions is not None
        assert snapshot.domain_metadata is not None
    except dr.CorruptTableError as error:
        assert logs.commit_name(3) in (error.path or "")
        assert error.line == 1
    else:
        (body,) = action.values()
        assert isinstance(body, dict)
        assert isinstance(body.get("path"), str), "it was read without its key"


def test_statistics_may_be_an_object_instead_of_its_text(log: logs.LogBuilder) -> None:
    """delta-spark reads both."""
    commits(log, 1)
    for value in (5, 50):
        bounds = {"minValues": {"id": value}, "maxValues": {"id": value}, "nullCount": {"id": 0}}
        added = logs.add(f"f{value}", size=value)
        added["add"]["stats"] = {"numRecords": 3, **bounds, "note": 'a "b" \\'}
        log.commit(added)
    for _ in range(2):  # from the commits, then from a checkpoint
        files = dr.Table(log.uri).snapshot().files(["path", "stats"], filter="id = 50")
        texts = dict(zip(*(files[name].to_pylist() for name in ("path", "stats")), strict=True))
        assert "f5" not in texts
        stats = json.loads(texts["f50"])
        assert (stats["minValues"], stats["note"]) == ({"id": 50}, 'a "b" \\')
        dr.Table(log.uri).checkpoint()


def test_a_missing_commit_between_listing_and_reading_is_an_error(log: logs.LogBuilder) -> None:
    commits(log, 3)
    path = file(log, logs.commit_name(2))
    path.unlink()
    path.symlink_to("nowhere")  # it is listed, but cannot be opened

    with pytest.raises(dr.DeltaReplayError) as caught:
        opened(log).files()
    assert logs.commit_name(2) in str(caught.value)


def test_an_update_after_the_log_was_deleted(log: logs.LogBuilder) -> None:
    commits(log, 3)
    snapshot = opened(log)
    shutil.rmtree(logs.log_dir(log.table))

    with pytest.raises(dr.TableNotFoundError) as caught:
        snapshot.update()
    assert caught.value.code == "table.not_found"


def test_an_update_after_the_table_was_recreated(log: logs.LogBuilder) -> None:
    """The new table has fewer versions."""
    commits(log, 5)
    snapshot = opened(log)
    shutil.rmtree(log.table)
    again = logs.LogBuilder(log.table)
    again.create(SCHEMA, logs.add("other"), id="11111111-0000-4000-8000-000000000001")

    after = snapshot.update()

    assert (after.version, paths(after)) == (0, ["other"])
