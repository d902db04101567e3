"""Vacuum keeps files that are live, young or hidden, and those that were removed recently."""

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

#: Times and durations in milliseconds.
NOW = int(time.time() * 1000)
HOUR = 60 * 60 * 1000
DAY = 24 * HOUR
OLD = NOW - 20 * DAY


def write_files(root: Path, *names: str, modified: int = OLD) -> None:
    """Write files of five bytes."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345")
        os.utime(path, (modified / 1000, modified / 1000))


def files_on_disk(root: Path) -> set[str]:
    """Return the files outside the log."""
    result = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    return {name for name in result if not name.startswith("_delta_log/")}


#: The partition of files that are not in a directory of a partition.
NO_DAY: dict[str, Any] = {"partition_values": {"_day": None}}

#: The file name of both deletion vectors; the file of the live one is in the directory ``ab``.
VECTOR_FILE = "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"


def files_of_every_kind(root: Path) -> logs.LogBuilder:
    """Write live, removed, unknown and hidden files, deletion vectors and change files."""
    log = logs.LogBuilder(root)
    protocol = logs.features("deletionVectors", "columnMapping")
    log.create(
        logs.schema(id="long", _day="string"),
        partition_columns=["_day"],
        protocol_action=protocol,
        modified=OLD - HOUR,
    )
    live_vector = logs.deletion_vector("ab^-aqEH.-t@S}K{vb[*k^")
    removed_vector = logs.deletion_vector("^-aqEH.-t@S}K{vb[*k^")
    log.commit(
        logs.add("live%20one", **NO_DAY),
        logs.add("_day=x%2520y/live", partition_values={"_day": "x y"}),
        logs.add("vector", deletion_vector=live_vector, stats=logs.stats(9), **NO_DAY),
        logs.add(f"file://{root}/inside", **NO_DAY),
        modified=OLD,
    )
    recently = NOW - HOUR
    log.commit(
        logs.remove("young", deletion_timestamp=recently, **NO_DAY),
        logs.remove("old", deletion_timestamp=OLD, **NO_DAY),
        logs.remove(
            "young-vector", deletion_timestamp=recently, deletion_vector=removed_vector, **NO_DAY
        ),
        logs.cdc("_change_data/old.parquet", **NO_DAY),
        modified=OLD,
    )
    write_files(root, "live one", "_day=x%20y/live", "vector", "inside")
    write_files(root, "young", "old", "young-vector")
    write_files(root, f"ab/{VECTOR_FILE}", VECTOR_FILE)
    write_files(root, "_change_data/old.parquet", "_change_data/_day=1/old.parquet")
    write_files(root, "_hidden/x", ".hidden", "_day=x%20y/_hidden")
    write_files(root, "_day=x%20y/orphan", "deep/er/orphan")
    write_files(root, "just-written", "_change_data/new.parquet", modified=NOW)
    return log


#: The files of ``files_of_every_kind`` that a retention of a week deletes.
EXPIRED = {
    "old",
    "_change_data/old.parquet",
    "_change_data/_day=1/old.parquet",
    "_day=x%20y/orphan",
    "deep/er/orphan",
}


def test_a_full_vacuum(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = dr.Table(files_of_every_kind(root).uri)
    before = files_on_disk(root)

    plan = table.vacuum()
    assert set(plan.files) == EXPIRED
    assert (plan.dry_run, plan.lite) == (True, False)
    assert plan.size_in_bytes == 5 * len(EXPIRED)
    assert plan.retention == timedelta(days=7)
    assert files_on_disk(root) == before
    assert table.snapshot().version == 2, "a dry run commits nothing"

    done = table.vacuum(dry_run=False)
    assert done.files == plan.files
    assert before - files_on_disk(root) == EXPIRED
    assert table.vacuum().files == ()


def test_vacuum_commits_its_start_and_end(tmp_path: Path) -> None:
    table = dr.Table(files_of_every_kind(tmp_path / "t").uri)
    table.vacuum(timedelta(days=10), dry_run=False)
    start, end = (actions(table, version) for version in (3, 4))
    assert [len(start), len(end)] == [1, 1]
    info = start[0]["commitInfo"]
    assert info["operation"] == "VACUUM START"
    assert info["operationParameters"] == {
        "retentionCheckEnabled": True,
        "defaultRetentionMillis": 7 * DAY,
        "specifiedRetentionMillis": 10 * DAY,
    }
    assert info["operationMetrics"] == {"numFilesToDelete": "5", "sizeOfDataToDelete": "25"}
    info = end[0]["commitInfo"]
    assert info["operation"] == "VACUUM END"
    assert info["operationParameters"] == {"status": "COMPLETED"}
    # as in delta-spark, all directories that are listed count, with the root
    assert info["operationMetrics"] == {"numDeletedFiles": "5", "numVacuumedDirectories": "7"}
    assert table.snapshot(strict=True).num_files == 4
    table.vacuum(dry_run=False, log=False)
    assert table.snapshot().version == 4, "without log, nothing is committed"


def test_a_short_retention_requires_force(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = dr.Table(files_of_every_kind(root).uri)
    for hours in (0, 167):
        with pytest.raises(dr.InvalidArgumentError, match="168 hours") as caught:
            table.vacuum(timedelta(hours=hours))
        assert caught.value.code == "vacuum.retention"
    with pytest.raises(dr.InvalidArgumentError, match="negative") as caught:
        table.vacuum(timedelta(hours=-1), force=True)
    assert caught.value.code == "vacuum.retention"
    half_an_hour = table.vacuum(timedelta(minutes=30), force=True)
    young = {"young", "young-vector", VECTOR_FILE}
    assert set(half_an_hour.files) == EXPIRED | young
    zero = table.vacuum(timedelta(0), force=True)
    assert set(zero.files) == EXPIRED | young | {"just-written", "_change_data/new.parquet"}


def test_a_file_removed_within_the_retention_stays(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = dr.Table(files_of_every_kind(root).uri)
    assert table.vacuum(timedelta(days=30)).files == ()
    # the log removed the file `old` 20 days ago; it does not have `ancient`
    write_files(root, "old", "ancient", modified=NOW - 100 * DAY)
    assert table.vacuum(timedelta(days=30)).files == ("ancient",)


def test_a_lite_vacuum(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = dr.Table(files_of_every_kind(root).uri)
    before = files_on_disk(root)
    plan = table.vacuum(lite=True)
    assert set(plan.files) == {"old", "_change_data/old.parquet"}, "only files that the log removed"
    done = table.vacuum(lite=True, dry_run=False)
    assert before - files_on_disk(root) == set(done.files) == set(plan.files)
    info = root / "_delta_log" / "_last_vacuum_info"
    assert info.read_text() == '{"latestCommitVersionOutsideOfRetentionWindow":2}'
    assert table.vacuum(lite=True).files == (), "it continues after the last vacuum"


@pytest.mark.parametrize("lite", [True, False])
def test_a_lite_vacuum_deletes_files_that_a_fast_clock_removed_late(
    tmp_path: Path, lite: bool
) -> None:
    """The deletion timestamp is of the writer's clock, the time of the commit of the store's."""
    root = tmp_path / "t"
    log = files_of_every_kind(root)
    write_files(root, "late")
    log.commit(
        logs.remove("late", deletion_timestamp=OLD + HOUR * 5 // 6, **NO_DAY), modified=OLD + 1
    )
    table = dr.Table(log.uri)
    before_the_deletion = timedelta(days=20, minutes=-10)
    table.vacuum(before_the_deletion, lite=lite, dry_run=False)
    assert (root / "late").exists()
    assert table.vacuum(timedelta(days=19), lite=True).files == ("late",)


def test_a_lite_vacuum_needs_the_log(tmp_path: Path) -> None:
    root = tmp_path / "t"
    log = files_of_every_kind(root)
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
    log = files_of_every_kind(root)
    log.commit(logs.add("old", **NO_DAY))
    table = dr.Table(log.uri)
    assert "old" not in table.vacuum().files
    assert "old" not in table.vacuum(lite=True).files


def test_files_outside_the_table_stay(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write_files(tmp_path, "outside")
    log = files_of_every_kind(tmp_path / "t")
    log.commit(
        logs.remove(f"file://{outside}", deletion_timestamp=OLD, **NO_DAY),
        logs.remove("s3://b/k", deletion_timestamp=OLD, **NO_DAY),
    )
    table = dr.Table(log.uri)
    for lite in (False, True):
        table.vacuum(lite=lite, dry_run=False)
    assert outside.exists()


@pytest.mark.parametrize("lite", [False, True])
def test_files_that_the_log_names_by_another_uri_of_the_table_stay(
    tmp_path: Path, lite: bool
) -> None:
    """A link or a mount gives a directory two names, of which a table knows one."""
    root, link = tmp_path / "t", tmp_path / "link"
    link.symlink_to(root)
    vector = logs.deletion_vector(f"{link}/d/a.bin", storage_type="p")
    uris = {
        "a b": f"{link}/a%20b",
        "d/c": link.as_uri() + "/d/c",
        "e": "s3://bucket/mounted/e",
        "removed": f"{link}/removed",
    }
    log = logs.LogBuilder(root)
    log.create(
        logs.schema(id="long"),
        *(logs.add(name.replace(" ", "%20")) for name in (*uris, "old")),
        protocol_action=logs.features("deletionVectors"),
        modified=OLD - HOUR,
    )
    by_name = (name.replace(" ", "%20") for name in (*uris, "old"))
    log.commit(
        *(logs.remove(name, deletion_timestamp=OLD) for name in by_name),
        *(logs.add(uri) for name, uri in uris.items() if name != "removed"),
        logs.remove(uris["removed"], deletion_timestamp=NOW),
        logs.add("with-vector", deletion_vector=vector, stats=logs.stats(9)),
        modified=OLD,
    )
    write_files(root, *uris, "d/a.bin", "with-vector", "old")

    deleted = dr.Table(root).vacuum(lite=lite, dry_run=False)

    assert deleted.files == ("old",)
    assert files_on_disk(root) == {*uris, "d/a.bin", "with-vector"}


def test_a_path_that_does_not_decode_is_an_error(tmp_path: Path) -> None:
    log = files_of_every_kind(tmp_path / "t")
    log.commit(logs.add("%ff%fe", **NO_DAY))
    with pytest.raises(dr.CorruptTableError) as caught:
        dr.Table(log.uri).vacuum()
    assert caught.value.code == "path.encoding"


def make_old(*directories: Path) -> None:
    """Set the modification times of directories."""
    for directory in directories:
        os.utime(directory, (OLD / 1000, OLD / 1000))


def test_empty_directories_are_deleted(tmp_path: Path) -> None:
    root = tmp_path / "t"
    table = dr.Table(files_of_every_kind(root).uri)
    (root / "bare" / "inside").mkdir(parents=True)
    (root / "just-made").mkdir()
    (root / "_hidden-and-empty").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (root / "linked").symlink_to(tmp_path / "elsewhere")
    old = [path for path in root.rglob("*") if path.is_dir() and path.name != "just-made"]
    make_old(root, *old, tmp_path / "elsewhere")
    table.vacuum(lite=True, dry_run=False, log=False)
    assert (root / "bare" / "inside").is_dir(), "only a full vacuum deletes directories"
    make_old(root, *old)  # deletions of files have changed the times

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
    assert info["operationMetrics"]["numVacuumedDirectories"] == "10"
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
    table = dr.Table(files_of_every_kind(root).uri)
    staged = f"{'0af3' * 8}/_temporary/0/_temporary/attempt_1/part-0.parquet"
    hidden = ["_temporary/0/x.parquet", "deep/_temporary/x.parquet", f"{'0af3' * 8}/_hidden/x"]
    write_files(root, staged, *hidden)
    assert set(table.vacuum().files) == EXPIRED | {staged}
    make_old(root, *(path for path in root.rglob("*") if path.is_dir()))
    table.vacuum(dry_run=False)
    assert not (root / staged).exists()
    assert all((root / path).exists() for path in hidden)


@pytest.mark.parametrize("allowed_roots", [None, []], ids=["links-followed", "links-checked"])
def test_a_lite_vacuum_only_deletes_files_that_a_full_one_would_list(
    tmp_path: Path, allowed_roots: list[str] | None
) -> None:
    root = tmp_path / "t"
    log = files_of_every_kind(root)
    hidden = ["_delta_log/keep.txt", "_spark_metadata/0", "_hidden/x", ".hidden", "deep/.x/y"]
    write_files(root, *hidden)
    write_files(tmp_path, "elsewhere/v", "elsewhere/w")
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
        "x" * 300,  # longer than a name may be
        "just-written",  # younger than the retention
        "deep/er/orphan",  # the only one that is deleted
    ]
    removes = (logs.remove(name, deletion_timestamp=OLD, **NO_DAY) for name in names)
    log.commit(*removes, modified=OLD + 1)
    table = dr.Table(log.uri, allowed_roots=allowed_roots)
    before, num_live = files_on_disk(root), table.snapshot().num_files
    lite = table.vacuum(lite=True)
    assert set(lite.files) == {"old", "_change_data/old.parquet", "deep/er/orphan"}
    assert lite.size_in_bytes == 15
    table.vacuum(lite=True, dry_run=False)
    assert before - files_on_disk(root) == set(lite.files)
    assert (tmp_path / "elsewhere" / "v").exists()
    assert table.snapshot().num_files == num_live
