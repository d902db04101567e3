"""Compacted files written here: reconciled as in the protocol, and read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import logs
from support.writing import unpartitioned

import deltareplay as dr


def lines(log: logs.LogBuilder, start: int, end: int) -> list[dict[str, Any]]:
    name = f"{start:020}.{end:020}.compacted.json"
    text = (logs.log_dir(log.table) / name).read_text()
    return [json.loads(line) for line in text.splitlines()]


def long_log(root: Path) -> logs.LogBuilder:
    """Add and remove files from before and within the range, change a vector, and so on."""
    protocol = logs.features("deletionVectors", writer_only=["domainMetadata"])
    log = logs.LogBuilder(root)
    log.create(logs.schema(id="long"), protocol_action=protocol)
    log.commit(logs.add("f1", stats=logs.stats(3)), logs.domain("gone", "1"))
    log.commit(logs.remove("f0", deletion_timestamp=1), logs.add("f2", tags={"k": None}))
    log.commit(logs.add("f3"), logs.add("f4"), logs.txn("a", 1), logs.domain("d", "x"))
    log.commit(logs.remove("f3"), logs.txn("a", 2), logs.domain("gone", "1", removed=True))
    vector = logs.deletion_vector()
    log.commit(logs.remove("f1"), logs.add("f1", stats=logs.stats(3), deletion_vector=vector))
    log.commit(logs.metadata(logs.schema(id="long"), configuration={"k": "v"}))
    return log


def test_the_example_of_the_protocol(tmp_path: Path) -> None:
    """Commits 4 to 6 of the section "Log Compaction Files"."""
    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(id="long"))
    for _ in range(2):
        log.commit()
    log.commit(logs.add("f1"))
    log.commit(logs.add("f2"), logs.remove("f1"))
    log.commit(logs.add("f3"), logs.add("f4"), logs.txn("A", 1))
    log.commit(logs.remove("f3"), logs.txn("A", 2))

    written = dr.Table(tmp_path).compact_log(4, 6)

    result = lines(log, 4, 6)
    pairs = [pair for row in result for pair in row.items()]
    reported = {(kind, body.get("path", body.get("version"))) for kind, body in pairs}
    assert reported == {
        ("add", "f2"),
        ("add", "f4"),
        ("remove", "f1"),
        ("remove", "f3"),
        ("txn", 2),
    }
    assert (written.num_actions, written.num_actions_before) == (5, 7)
    before = sum((logs.log_dir(tmp_path) / logs.commit_name(v)).stat().st_size for v in (4, 5, 6))
    assert written.size_in_bytes_before == before
    assert written.size_in_bytes == (tmp_path / written.path).stat().st_size


@pytest.mark.parametrize(("start", "end"), [(0, None), (1, 3), (2, 5), (1, None)])
def test_actions_are_read_back_unchanged(start: int, end: int | None, tmp_path: Path) -> None:
    log = long_log(tmp_path)
    end = log.version if end is None else end
    expected = log.compacted_actions(start, end)

    dr.Table(tmp_path).compact_log(start, end)

    def normal(actions: list[dict[str, Any]]) -> list[str]:
        rows = [json.loads(json.dumps(action)) for action in actions]
        for row in rows:
            for body in row.values():
                body.pop("dataChange", None)
                body.setdefault("tags", None)
        return sorted(json.dumps(row, sort_keys=True) for row in rows)

    assert normal(lines(log, start, end)) == normal(expected)
    table = dr.Table(tmp_path, strict=True)
    for version in range(log.version + 1):
        snapshot = table.snapshot(version)
        state = log.state(version)
        paths = snapshot.files(columns=["path"])["path"].to_pylist()
        assert sorted(paths) == sorted(state.live_paths())
        assert dict(snapshot.transactions) == {k: v["version"] for k, v in state.txns.items()}
        assert set(snapshot.domain_metadata) == set(state.domains)


def test_the_default_range_starts_after_the_checkpoint(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path)
    table.checkpoint()
    for number in range(3):
        with table.transaction() as transaction:
            transaction.add(f"x{number}", size=1)
    written = table.compact_log()
    assert (written.start, written.end) == (2, 4)
    stamp = (tmp_path / written.path).stat().st_mtime_ns
    assert table.compact_log(2, 4) == written
    assert (tmp_path / written.path).stat().st_mtime_ns == stamp, "an existing file stays"
    assert table.snapshot(strict=True).num_files == 5


def test_invalid_ranges_are_refused(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path)
    for arguments in [(1, 1), (2, 1), (1, None)]:
        with pytest.raises(dr.InvalidArgumentError, match="nothing to compact") as caught:
            table.compact_log(*arguments)
        assert caught.value.code == "compaction.range"
    with pytest.raises(dr.VersionNotFoundError, match="version 2 is missing") as missing:
        table.compact_log(0, 9)
    assert missing.value.code == "version.range"


def test_commits_without_actions_are_not_compacted(tmp_path: Path) -> None:
    """An empty file would be taken for an interrupted write."""
    table = unpartitioned(tmp_path)
    table.checkpoint()
    for _ in range(2):
        with table.transaction():
            pass
    with pytest.raises(dr.InvalidArgumentError, match="have no actions") as caught:
        table.compact_log()
    assert caught.value.code == "compaction.range"
    assert table.optimize_log().with_compaction is None
    assert table.snapshot(strict=True).version == 3


def test_deltalake_reads_a_compacted_file(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    table = unpartitioned(tmp_path)
    for number in range(3):
        with table.transaction() as transaction:
            transaction.add(f"x{number}", size=1)
            if number == 2:
                transaction.remove("a")
    table.compact_log(1, 3)
    peer = deltalake.DeltaTable(table.uri)
    assert sorted(Path(uri).name for uri in peer.file_uris()) == ["b", "x0", "x1", "x2"]
