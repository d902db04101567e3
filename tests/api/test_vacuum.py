"""Vacuum: files that are live, recent, protected by a tombstone or hidden are kept."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support import logs
from support.writing import actions

import deltareplay as dr

NOW = int(time.time() * 1000)
HOUR = 60 * 60 * 1000
OLD = NOW - 20 * 24 * HOUR
WEEK = timedelta(days=7)


def put(root: Path, *names: str, modified: int = OLD) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345")
        os.utime(path, (modified / 1000, modified / 1000))


def on_disk(root: Path) -> set[str]:
    result = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    return {name for name in result if not name.startswith("_delta_log/")}


def busy(root: Path) -> logs.LogBuilder:
    """Create live, removed and unknown files, vectors, change files, hidden files."""
    log = logs.LogBuilder(root)
    protocol = logs.features("deletionVectors", "columnMapping")
    log.create(
        logs.schema(id="long", _day="string"),
        partition_columns=["_day"],
        protocol_action=protocol,
        modified=OLD - HOUR,
    )
    partition = {"partition_values": {"_day": "x y"}}
    first = logs.deletion_vector("ab^-aqEH.-t@S}K{vb[*k^")
    other = logs.deletion_vector("^-aqEH.-t@S}K{vb[*k^")
    stats = logs.stats(9)
    log.commit(
        logs.add("live%20one", partition_values={"_day": None}),
        logs.add("_day=x%2520y/live", **partition),
        logs.add("vector", partition_values={"_day": None}, deletion_vector=first, stats=stats),
        logs.add(f"file://{root}/inside", partition_values={"_day": None}),
        modified=OLD,
    )
    fields = {"partition_values": {"_day": None}}
    log.commit(
        logs.remove("young", deletion_timestamp=NOW - HOUR, **fields),
        logs.remove("old", deletion_timestamp=OLD, **fields),
        logs.remove("marked", deletion_timestamp=NOW - HOUR, deletion_vector=other, **fields),
        logs.cdc("_change_data/old.parquet", partition_values={"_day": None}),
        modified=OLD,
    )
    put(root, "live one", "_day=x%20y/live", "vector", "inside", "young", "old", "marked")
    names = ["ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"]
    names.append(names[0].removeprefix("ab/"))
    put(root, *names)
    put(root, "_change_data/old.parquet", "_change_data/_day=1/old.parquet")
    put(root, "_hidden/x", ".hidden", "_day=x%20y/orphan", "_day=x%20y/_hidden", "deep/er/orphan")
    put(root, "just-written", "_change_data/new.parquet", modified=NOW)
    return log


#: The files of ``busy`` that a retention of a week deletes.
EXPIRED = {
    "old",
    "_change_data/old.parquet",
    "_change_data/_day=1/old.parquet",
    "_day=x%20y/orphan",
    "deep/er/orphan",
}


def test_a_full_vacuum(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = dr.Table(busy(root).uri)
    before = on_disk(root)

    plan = table.vacuum()
    assert set(plan.files) == EXPIRED
    assert (plan.dry_run, plan.lite) == (True, False)
    assert plan.size_in_bytes == 5 * len(EXPIRED)
    assert plan.retention == WEEK
    assert on_disk(root) == before
    assert table.snapshot().version == 2, "a dry run commits nothing"

    done = table.vacuum(dry_run=False)
    assert done.files == plan.files
    assert before - on_disk(root) == EXPIRED
    assert table.vacuum().files == ()


def test_vacuum_commits_its_start_and_end(tmp_path: Path) -> None:
    table = dr.Table(busy(tmp_path / "t").uri)
    table.vacuum(timedelta(days=10), dry_run=False)
    start, end = (actions(table, version) for version in (3, 4))
    assert [len(start), len(end)] == [1, 1]
    info = start[0]["commitInfo"]
    assert info["operation"] == "VACUUM START"
    assert info["operationParameters"] == {
        "retentionCheckEnabled": True,
        "defaultRetentionMillis": 7 * 24 * HOUR,
        "specifiedRetentionMillis": 10 * 24 * HOUR,
    }
    metrics = {"numFilesToDelete": "5", "sizeOfDataToDelete": "25"}
    assert info["operationMetrics"] == metrics
    info = end[0]["commitInfo"]
    assert info["operation"] == "VACUUM END"
    assert info["operationParameters"] == {"status": "COMPLETED"}
    assert info["operationMetrics"] == {"numDeletedFiles": "5", "numVacuumedDirectories": "0"}
    assert table.snapshot(strict=True).num_files == 4
    table.vacuum(dry_run=False, log=False)
    assert table.snapshot().version == 4


def test_a_short_retention_requires_force(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = dr.Table(busy(root).uri)
    for hours in (0, 167):
        with pytest.raises(dr.InvalidArgumentError, match="168 hours") as caught:
            table.vacuum(timedelta(hours=hours))
        assert caught.value.code == "vacuum.retention"
    with pytest.raises(dr.InvalidArgumentError, match="negative") as caught:
        table.vacuum(timedelta(hours=-1), force=True)
    assert caught.value.code == "vacuum.retention"
    young = table.vacuum(timedelta(minutes=30), force=True)
    marked = "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    assert set(young.files) == EXPIRED | {"young", "marked", marked}
    everything = table.vacuum(timedelta(0), force=True)
    assert set(everything.files) == set(young.files) | {"just-written", "_change_data/new.parquet"}


def test_a_long_retention_keeps_files_in_the_log(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = dr.Table(busy(root).uri)
    assert table.vacuum(timedelta(days=30)).files == ()
    put(root, "old", "ancient", modified=NOW - 100 * 24 * HOUR)
    assert table.vacuum(timedelta(days=30)).files == ("ancient",)


def test_a_lite_vacuum(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = dr.Table(busy(root).uri)
    before = on_disk(root)
    plan = table.vacuum(lite=True)
    assert set(plan.files) == {"old", "_change_data/old.parquet"}, "only files that the log removed"
    done = table.vacuum(lite=True, dry_run=False)
    assert before - on_disk(root) == set(done.files) == set(plan.files)
    info = root / "_delta_log" / "_last_vacuum_info"
    assert info.read_text() == '{"latestCommitVersionOutsideOfRetentionWindow":2}'
    assert table.vacuum(lite=True).files == (), "it continues after the last vacuum"


def test_a_lite_vacuum_needs_the_log(tmp_path: Path) -> None:
    root = tmp_path / "t"
    log = busy(root)
    log.checkpoint(1)
    log.delete_commits(1)
    table = dr.Table(log.uri)
    with pytest.raises(dr.InvalidArgumentError, match="starts at version 1") as caught:
        table.vacuum(lite=True)
    assert caught.value.code == "vacuum.lite"
    info = root / "_delta_log" / "_last_vacuum_info"
    info.write_text('{"latestCommitVersionOutsideOfRetentionWindow":0}')
    assert set(table.vacuum(lite=True).files) == {"old", "_change_data/old.parquet"}
    info.write_text("{}")
    with pytest.raises(dr.InvalidArgumentError, match="full vacuum"):
        table.vacuum(lite=True)
    table.vacuum(dry_run=False)
    # after a full vacuum, a lite one does not need the older commits
    assert info.read_text() == '{"latestCommitVersionOutsideOfRetentionWindow":2}'
    assert table.vacuum(lite=True).files == ()


def test_a_file_that_is_added_again_stays(tmp_path: Path) -> None:
    root = tmp_path / "t"
    log = busy(root)
    log.commit(logs.add("old", partition_values={"_day": None}))
    table = dr.Table(log.uri)
    assert "old" not in table.vacuum().files
    assert "old" not in table.vacuum(lite=True).files


def test_files_outside_the_table_stay(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    put(tmp_path, "outside")
    log = busy(tmp_path / "t")
    fields: dict[str, Any] = {"partition_values": {"_day": None}, "deletion_timestamp": OLD}
    log.commit(logs.remove(f"file://{outside}", **fields), logs.remove("s3://b/k", **fields))
    table = dr.Table(log.uri)
    for lite in (False, True):
        table.vacuum(lite=lite, dry_run=False)
    assert outside.exists()


def test_a_path_that_does_not_decode_is_an_error(tmp_path: Path) -> None:
    log = busy(tmp_path / "t")
    log.commit(logs.add("%ff%fe", partition_values={"_day": None}))
    with pytest.raises(dr.CorruptTableError) as caught:
        dr.Table(log.uri).vacuum()
    assert caught.value.code == "path.encoding"


def age(*directories: Path) -> None:
    for directory in directories:
        os.utime(directory, (OLD / 1000, OLD / 1000))


def test_empty_directories_are_deleted(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = dr.Table(busy(root).uri)
    (root / "bare" / "inside").mkdir(parents=True)
    (root / "just-made").mkdir()
    (root / "_hidden-and-empty").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (root / "linked").symlink_to(tmp_path / "elsewhere")
    every = [path for path in root.rglob("*") if path.is_dir() and path.name != "just-made"]
    age(root, *every)
    age(tmp_path / "elsewhere")
    assert "deep/er/orphan" in table.vacuum().files
    table.vacuum(lite=True, dry_run=False, log=False)
    assert (root / "bare" / "inside").is_dir(), "only a full vacuum looks at directories"
    age(root, *every)

    table.vacuum(dry_run=False)

    deleted = {"deep", "deep/er", "bare", "bare/inside", "_change_data/_day=1"}
    remaining = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_dir()}
    assert not remaining & deleted
    assert {
        "just-made",
        "_hidden-and-empty",
        "_delta_log",
        "linked",
        "ab",
        "_day=x%20y",
    } <= remaining
    assert (tmp_path / "elsewhere").is_dir()
    info = actions(table, 4)[0]["commitInfo"]
    assert info["operationMetrics"]["numVacuumedDirectories"] == str(len(deleted))
    assert root.is_dir()


def test_a_writer_creates_a_deleted_directory_again(tmp_path: Path) -> None:
    schema = pa.schema([("p", pa.string()), ("id", pa.int64())])
    table = dr.create_table(tmp_path / "t", schema, ["p"])
    table.append({"p": ["a"], "id": [1]})
    table.overwrite({"p": ["b"], "id": [2]})
    time.sleep(0.05)
    table.vacuum(timedelta(0), force=True, dry_run=False)
    assert not (tmp_path / "t" / "p=a").exists()
    table.append({"p": ["a"], "id": [3]})
    assert sorted(table.snapshot().scan().to_arrow()["id"].to_pylist()) == [2, 3]


def test_leftovers_of_spark_tasks_are_deleted(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = dr.Table(busy(root).uri)
    staged = f"{'0af3' * 8}/_temporary/0/_temporary/attempt_1/part-0.parquet"
    others = ["_temporary/0/x.parquet", "deep/_temporary/x.parquet", f"{'0af3' * 8}/_hidden/x"]
    put(root, staged, *others)
    assert set(table.vacuum().files) == EXPIRED | {staged}
    age(root, *(path for path in root.rglob("*") if path.is_dir()))
    table.vacuum(dry_run=False)
    assert not (root / staged).exists()
    assert all((root / path).exists() for path in others)


@pytest.mark.parametrize("roots", [None, []])
def test_a_lite_vacuum_deletes_no_hidden_or_linked_files(
    tmp_path: Path, roots: list[str] | None
) -> None:
    root = tmp_path / "t"
    log = busy(root)
    hidden = ["_delta_log/keep.txt", "_spark_metadata/0", "_hidden/x", ".hidden", "deep/.x/y"]
    put(root, *hidden)
    put(tmp_path, "elsewhere/v", "elsewhere/w")
    (root / "link").symlink_to(tmp_path / "elsewhere")
    (root / "inner").symlink_to(root / "_day=x%20y")
    (root / "single").symlink_to(tmp_path / "elsewhere" / "w")
    os.utime(root / "_delta_log" / f"{0:020d}.json", (OLD / 1000, OLD / 1000))
    names = [
        *hidden,
        f"_delta_log/{0:020d}.json",
        "link/v",
        "inner/live",
        "./vector",
        "live%20one/",
        "deep",  # a directory
        "deep/er/orphan/x",  # in a file
        "x" * 300,
        "just-written",  # younger than the retention
        "deep/er/orphan",
    ]
    fields: dict[str, Any] = {"partition_values": {"_day": None}, "deletion_timestamp": OLD}
    log.commit(*(logs.remove(name, **fields) for name in names), modified=OLD + 1)
    table = dr.Table(log.uri, allowed_roots=roots)
    before, live = on_disk(root), table.snapshot().num_files
    lite = table.vacuum(lite=True)
    assert set(lite.files) == {"old", "_change_data/old.parquet", "deep/er/orphan"}
    assert lite.size_in_bytes == 15
    table.vacuum(lite=True, dry_run=False)
    assert before - on_disk(root) == set(lite.files)
    assert (tmp_path / "elsewhere" / "v").exists()
    assert table.snapshot().num_files == live


def test_cleanup_does_not_follow_links(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path / "t")
    retention = {"delta.logRetentionDuration": "interval 1 days"}
    log.create(logs.schema(id="long"), configuration=retention, modified=OLD)
    for number in range(3):
        log.commit(logs.add(f"f{number}"), modified=OLD + number + 1)
    log.checkpoint(2)
    log.commit(logs.add("young"), modified=NOW)
    put(tmp_path, "elsewhere/mine.parquet", f"others/{0:020d}.aa.json")
    (log.table / "_delta_log" / "_sidecars").symlink_to(tmp_path / "elsewhere")
    (log.table / "_delta_log" / "_staged_commits").symlink_to(tmp_path / "others")
    assert dr.Table(log.uri).cleanup_log(dry_run=False).files
    assert (tmp_path / "elsewhere" / "mine.parquet").exists()
    assert (tmp_path / "others" / f"{0:020d}.aa.json").exists()
