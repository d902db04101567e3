"""Log cleanup: everything that a version within the retention period needs is kept."""

from __future__ import annotations

import os
import shutil
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from stores import fake_gcs, servers
from support import logs

import deltareplay as dr

DAY = 24 * 60 * 60 * 1000
NOW = int(time.time() * 1000)
#: A commit every fifth day; the last one is a day old.
VERSIONS = 13
AGES = [1 + 5 * (VERSIONS - 1 - version) for version in range(VERSIONS)]


def age(path: Path, days: float) -> None:
    seconds = (NOW - days * DAY) / 1000
    os.utime(path, (seconds, seconds))


def history(root: Path, **options: Any) -> logs.LogBuilder:
    """A table in which each version adds a file, and removes that of three versions before."""
    log = logs.LogBuilder(root)
    log.create(logs.schema(id="long"), **options)
    for version in range(1, VERSIONS):
        actions = [logs.add(f"f{version}")]
        if version > 3:
            actions.append(logs.remove(f"f{version - 3}"))
        log.commit(*actions)
    for version, days in enumerate(AGES):
        age(logs.log_dir(root) / logs.commit_name(version), days)
    return log


def kept_from(log: logs.LogBuilder, checkpoints: list[int], retention: int = 30) -> int:
    """As in the protocol: the newest checkpoint at or before the newest expired commit."""
    oldest = datetime.fromtimestamp((NOW - retention * DAY) / 1000, timezone.utc)
    midnight = oldest.replace(hour=0, minute=0, second=0, microsecond=0)
    cutoff = midnight.timestamp() * 1000
    expired = [v for v, days in enumerate(AGES) if NOW - days * DAY <= cutoff]
    return max(v for v in checkpoints if v <= max(expired))


def names(root: Path) -> set[str]:
    return {path.name for path in logs.log_dir(root).iterdir() if path.is_file()}


def assert_readable(log: logs.LogBuilder, first: int) -> None:
    table = dr.Table(log.uri)
    for version in range(first, log.version + 1):
        files = table.snapshot(version).files(columns=["path"])["path"].to_pylist()
        assert sorted(files) == sorted(log.state(version).live_paths()), version


@pytest.mark.parametrize("kind", ["classic", "multipart", "v2-json", "v2-parquet"])
def test_versions_within_the_retention_stay(kind: str, tmp_path: Path) -> None:
    options = {"protocol_action": logs.features("v2Checkpoint")} if "v2" in kind else {}
    log = history(tmp_path / "t", **options)
    checkpoints = [2, 4, 6, 9, 12]
    for version in checkpoints:
        log.checkpoint(version, kind=kind)
    for version in range(VERSIONS):
        log.checksum(version)
    log.compact(3, 4)
    log.compact(8, 9)
    first = kept_from(log, checkpoints)
    assert first == 6
    before = names(log.table)

    table = dr.Table(log.uri)
    plan = table.cleanup_log()
    assert plan.dry_run
    assert names(log.table) == before
    assert plan.earliest_version == first
    assert plan.cutoff.time() == datetime.min.time()
    assert plan.cutoff.tzinfo == timezone.utc

    done = table.cleanup_log(dry_run=False)
    assert done.files == plan.files
    deleted = before - names(log.table)
    assert {path.rsplit("/", 1)[-1] for path in plan.files if "_sidecars" not in path} == deleted
    assert {logs.commit_name(v) for v in range(first)} < deleted
    assert f"{3:020}.{4:020}.compacted.json" in deleted
    assert f"{8:020}.{9:020}.compacted.json" not in deleted
    assert not any(name.startswith(f"{first:020}") for name in deleted)
    assert {f"{v:020}.crc" for v in range(first)} < deleted
    assert_readable(log, first)
    with pytest.raises(dr.VersionNotFoundError) as caught:
        table.snapshot(first - 1)
    assert caught.value.code == "version.not_found"
    assert table.cleanup_log().files == ()


def test_sidecars_are_deleted_with_their_checkpoints(tmp_path: Path) -> None:
    log = history(tmp_path / "t", protocol_action=logs.features("v2Checkpoint"))
    log.checkpoint(3, kind="v2-json")
    side = logs.log_dir(log.table) / "_sidecars"
    old = {path.name for path in side.iterdir()}
    log.checkpoint(5, kind="v2-json")
    named = {path.name for path in side.iterdir()} - old
    shutil.copy(side / min(old), side / "young.parquet")
    for path in side.iterdir():
        if path.name != "young.parquet":
            age(path, 3)
    table = dr.Table(log.uri)

    done = table.cleanup_log(dry_run=False)

    assert {Path(path).name for path in done.files if "_sidecars" in path} == old
    assert {path.name for path in side.iterdir()} == {*named, "young.parquet"}
    assert_readable(log, 5)


def test_sidecars_stay_when_a_manifest_cannot_be_read(tmp_path: Path) -> None:
    log = history(tmp_path / "t", protocol_action=logs.features("v2Checkpoint"))
    for version in (3, 5, 9):
        (manifest,) = log.checkpoint(version, kind="v2-json")
    manifest.write_text("{")
    side = logs.log_dir(log.table) / "_sidecars"
    for path in side.iterdir():
        age(path, 3)
    before = sorted(side.iterdir())
    done = dr.Table(log.uri).cleanup_log(dry_run=False)
    assert done.earliest_version == 5
    assert any("sidecars stay" in note for note in done.notes)
    assert sorted(side.iterdir()) == before


def test_cleanup_without_a_checkpoint_deletes_nothing(tmp_path: Path) -> None:
    log = history(tmp_path / "t")
    plan = dr.Table(log.uri).cleanup_log()
    assert plan.files == ()
    assert plan.earliest_version is None
    assert "no checkpoint" in plan.notes[0]
    log.checkpoint(11)
    assert dr.Table(log.uri).cleanup_log().files == (), "the checkpoint is younger than the period"


def test_a_damaged_checkpoint_is_not_relied_on(tmp_path: Path) -> None:
    log = history(tmp_path / "t")
    log.checkpoint(3)
    (damaged,) = log.checkpoint(5)
    damaged.write_bytes(damaged.read_bytes()[:-20])
    plan = dr.Table(log.uri).cleanup_log(dry_run=False)
    assert plan.earliest_version == 3
    assert "version 5 cannot replace the log before it: it cannot be read" in plan.notes[0]
    damaged.unlink()
    assert_readable(log, 3)


def test_a_gap_after_a_checkpoint_prevents_cleanup(tmp_path: Path) -> None:
    log = history(tmp_path / "t")
    log.checkpoint(3)
    log.checkpoint(8)
    (logs.log_dir(log.table) / logs.commit_name(5)).unlink()
    plan = dr.Table(log.uri).cleanup_log()
    assert plan.files == ()
    assert "a commit of this or a later version is missing" in plan.notes[0]


def test_leftovers_of_writers_are_deleted(tmp_path: Path) -> None:
    log = history(tmp_path / "t")
    log.checkpoint(5)
    directory = logs.log_dir(log.table)
    staged = directory / "_staged_commits"
    staged.mkdir()
    left = [
        directory / f".{logs.commit_name(3)}.77.0.tmp",
        staged / f"{4:020}.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json",
    ]
    kept = [
        directory / f".{logs.commit_name(12)}.78.0.tmp",
        staged / f"{12:020}.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json",
    ]
    for path in left + kept:
        path.write_text("x")
    age(left[0], 3)
    done = dr.Table(log.uri).cleanup_log(dry_run=False)
    assert not any(path.exists() for path in left)
    assert all(path.exists() for path in kept)
    assert done.size_in_bytes > 0


def test_links_in_the_log_are_not_followed(tmp_path: Path) -> None:
    log = history(tmp_path / "t")
    log.checkpoint(5)
    files = [
        tmp_path / "_sidecars" / "a.parquet",
        tmp_path / "_staged_commits" / f"{0:020}.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json",
    ]
    for path in files:
        path.parent.mkdir()
        path.write_text("x")
        age(path, 90)
        (logs.log_dir(log.table) / path.parent.name).symlink_to(path.parent)
    assert dr.Table(log.uri).cleanup_log(dry_run=False).files
    assert all(path.exists() for path in files)


def test_descending_times_are_adjusted(tmp_path: Path) -> None:
    """Commit 6 has an old timestamp, but follows recent ones."""
    log = history(tmp_path / "t")
    for version in range(4, VERSIONS):
        age(logs.log_dir(log.table) / logs.commit_name(version), 2)
    age(logs.log_dir(log.table) / logs.commit_name(6), 59)
    log.checkpoint(6)
    log.checkpoint(2)
    assert dr.Table(log.uri).cleanup_log().earliest_version == 2


def test_the_retention_is_a_property(tmp_path: Path) -> None:
    properties = {
        "delta.logRetentionDuration": "interval 10 days",
        "delta.deletedFileRetentionDuration": "interval 7 days",
    }
    log = history(tmp_path / "t", configuration=properties)
    checkpoints = [4, 6, 9, 11]
    for version in checkpoints:
        log.checkpoint(version)
    plan = dr.Table(log.uri).cleanup_log()
    assert plan.earliest_version == kept_from(log, checkpoints, 10) == 9
    age_of_cutoff = datetime.now(timezone.utc) - plan.cutoff
    assert timedelta(days=10) <= age_of_cutoff < timedelta(days=11)


@pytest.mark.parametrize(
    ("old_feature", "before", "earliest"),
    [
        ("appendOnly", 20, 5),
        ("materializePartitionColumns", 20, None),
        ("materializePartitionColumns", 5, 5),
    ],
    ids=["known protocols", "an unknown protocol", "all protected versions"],
)
def test_protected_checkpoints_limit_the_cleanup(
    old_feature: str, before: int, earliest: int | None, tmp_path: Path
) -> None:
    protocol = logs.protocol(1, 7, writer_features=[old_feature, "checkpointProtection"])
    key = "delta.requireCheckpointProtectionBeforeVersion"
    log = logs.LogBuilder(tmp_path / "t")
    log.create(logs.schema(id="long"), protocol_action=protocol)
    log.commit(logs.protocol(1, 7, writer_features=["checkpointProtection"]))
    log.commit(logs.metadata(logs.schema(id="long"), configuration={key: str(before)}))
    for version in range(3, VERSIONS):
        log.commit(logs.add(f"f{version}"))
    for version, days in enumerate(AGES):
        age(logs.log_dir(log.table) / logs.commit_name(version), days)
    log.checkpoint(5)
    plan = dr.Table(log.uri).cleanup_log()
    assert plan.earliest_version == earliest
    assert bool(plan.files) == (earliest is not None)
    if earliest is None:
        assert "protects its checkpoints" in plan.notes[0]


def test_unsupported_writer_features_are_refused(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path / "t")
    protocol = logs.protocol(1, 7, writer_features=["materializePartitionColumns"])
    log.create(logs.schema(id="long"), protocol_action=protocol)
    table = dr.Table(log.uri)
    for service in (table.cleanup_log, table.vacuum, lambda: table.compact_log(0, 1)):
        with pytest.raises(dr.UnsupportedFeatureError, match="materializePartitionColumns"):
            service()


def appended(table: dr.Table, path: str) -> None:
    with table.transaction() as transaction:
        transaction.add(path, size=1, stats={"numRecords": 1})


@pytest.mark.parametrize("cleanup_property", ["true", "false", None])
def test_a_checkpoint_after_a_commit_cleans_up(
    cleanup_property: str | None, tmp_path: Path
) -> None:
    key = "delta.enableExpiredLogCleanup"
    configuration = {"delta.checkpointInterval": "2"} | (
        {key: cleanup_property} if cleanup_property else {}
    )
    log = history(tmp_path / "t", configuration=configuration)
    checkpoints = [2, 4, 6, 9]
    for version in checkpoints:
        log.checkpoint(version)
    first = kept_from(log, checkpoints) if cleanup_property != "false" else 0
    table = dr.Table(log.uri)
    before = names(log.table)
    appended(table, "no checkpoint")
    assert before <= names(log.table), "nothing goes without a checkpoint"

    appended(table, "a checkpoint")

    assert (logs.log_dir(log.table) / f"{VERSIONS + 1:020}.checkpoint.parquet").exists()
    commits = sorted(int(path.stem) for path in logs.log_dir(log.table).glob("*.json"))
    assert commits == list(range(first, VERSIONS + 2))
    assert not [name for name in names(log.table) if name.startswith(".")]
    assert_readable(log, first)
    # further calls find nothing to delete
    kept = names(log.table)
    appended(table, "one more")
    appended(table, "and another")
    assert kept <= names(log.table)


@pytest.mark.parametrize("cleanup", [True, False])
@pytest.mark.parametrize("cleanup_property", ["true", "false", None])
def test_a_requested_checkpoint_cleans_up(
    cleanup_property: str | None, cleanup: bool, tmp_path: Path
) -> None:
    configuration = {"delta.enableExpiredLogCleanup": cleanup_property} if cleanup_property else {}
    log = history(tmp_path / "t", configuration=configuration)
    checkpoints = [2, 4, 6, 9]
    for version in checkpoints:
        log.checkpoint(version)
    first = kept_from(log, checkpoints) if cleanup and cleanup_property != "false" else 0
    written = dr.Table(log.uri).checkpoint(**({} if cleanup else {"cleanup": False}))
    assert written.version == VERSIONS - 1
    commits = sorted(int(path.stem) for path in logs.log_dir(log.table).glob("*.json"))
    assert commits == list(range(first, VERSIONS))
    assert_readable(log, first)


@pytest.mark.parametrize("step", ["checkpoint", "commit"])
def test_a_failed_cleanup_is_a_warning(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = history(tmp_path / "t", configuration={"delta.checkpointInterval": "1"})
    log.checkpoint(4)
    monkeypatch.setattr(fake_gcs._Handler, "do_DELETE", lambda handler: handler._answer(403))
    with servers.gcs() as store:
        assert store.bucket is not None
        objects = store.bucket.objects
        for path in logs.log_dir(log.table).iterdir():
            changed = path.stat().st_mtime
            objects[f"t/_delta_log/{path.name}"] = (path.read_bytes(), 1, changed)
        before = set(objects)
        table = dr.Table(f"{store.root}/t", store.options)
        if step == "checkpoint":
            with pytest.warns(dr.DeltaReplayWarning, match="the log is not cleaned up"):
                assert table.checkpoint().version == VERSIONS - 1
        else:
            with pytest.warns(dr.DeltaReplayWarning, match="a step after it failed"):
                appended(table, "f")
            assert table.snapshot().version == VERSIONS
        assert before < set(objects)


def test_protected_checkpoints_stay_after_a_commit(tmp_path: Path) -> None:
    protocol = logs.protocol(1, 7, writer_features=["materializePartitionColumns"])
    kept = logs.protocol(1, 7, writer_features=["checkpointProtection"])
    configuration = {
        "delta.requireCheckpointProtectionBeforeVersion": "20",
        "delta.checkpointInterval": "1",
    }
    log = logs.LogBuilder(tmp_path / "t")
    log.create(logs.schema(id="long"), protocol_action=protocol)
    log.commit(kept, logs.metadata(logs.schema(id="long"), configuration=configuration))
    for version in range(2, VERSIONS):
        log.commit(logs.add(f"f{version}"))
    for version, days in enumerate(AGES):
        age(logs.log_dir(log.table) / logs.commit_name(version), days)
    log.checkpoint(5)
    before = names(log.table)
    appended(dr.Table(log.uri), "f")
    assert before <= names(log.table)
