"""``deltareplay.spark.write_checkpoint``: the same state as one written by a single process."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import time
import types
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs

import deltareplay as dr
from deltareplay import _native
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

KINDS = [None, "classic", "multipart", "v2-json", "v2-parquet", "v2-inline-json"]
NOW = int(time.time() * 1000)
STALE = NOW - 40 * 86_400_000


def table_with(root: Path, kind: str | None, *, files: int = 400, **properties: str) -> Any:
    """A table with live files, recent and old tombstones, before a checkpoint and after it."""
    log = logs.LogBuilder(root)
    log.create(
        logs.schema(id="long", day="date"),
        protocol_action=logs.features("v2Checkpoint", writer_only=["domainMetadata"]),
        partition_columns=["day"],
        configuration={"delta.checkpointPolicy": "v2", **properties},
    )
    day = {"day": "2026-01-02"}
    add = [
        logs.add(
            f"day=2026-01-02/{number}.parquet",
            partition_values=day,
            size=number,
            stats=logs.stats(3, id=(number, number + 9, 0)),
        )
        for number in range(files)
    ]

    def removal(number: int, when: int) -> logs.Action:
        path = f"day=2026-01-02/{number}.parquet"
        return logs.remove(path, deletion_timestamp=when, partition_values=day, size=number)

    log.commit(logs.txn("stream", 7), logs.domain("owner", "me"), *add)
    log.commit(*(removal(number, NOW) for number in range(10)))
    log.commit(*(removal(number, STALE) for number in range(10, 20)))
    if kind is not None:
        log.checkpoint(kind=kind)
    # after it: one is restored, one removed, one added; so that each kind of row is hidden below
    log.commit(add[0], removal(30, NOW), removal(31, STALE))
    log.commit(logs.add("day=2026-01-02/new.parquet", partition_values=day, size=1))
    return log


def state(uri: Any) -> dict[str, Any]:
    """Return the state of the newest version, in a form that can be compared."""
    snapshot = dr.Table(uri).snapshot()
    rows = {
        "files": snapshot.files().to_pylist(),
        "tombstones": snapshot.tombstones().to_pylist(),
    }
    reported = {name: sorted(json.dumps(row, default=str) for row in rows[name]) for name in rows}
    return {
        **reported,
        "protocol": snapshot.protocol,
        "metadata": snapshot.metadata,
        "transactions": snapshot.transactions,
        "domains": snapshot.domain_metadata,
        "version": snapshot.version,
    }


def alone(log: Any, path: str) -> Any:
    """Remove everything from the log except a checkpoint, its hint and the newest commit."""
    directory = logs.log_dir(log.table)
    kept = (Path(path).name, "_last_checkpoint", logs.commit_name(log.version))
    for item in directory.iterdir():
        if item.is_file() and item.name not in kept:
            item.unlink()
    return log.uri


class LocalExecutors:
    """Runs the tasks of executors in this process."""

    version = "4.1.0"
    createDataFrame = None

    @staticmethod
    def rows(_: Any, task: Any, parts: int, schema: str) -> Any:
        result = []
        for number in range(parts):
            batch = pa.RecordBatch.from_pydict({"id": [number]})
            for rows in pickle.loads(pickle.dumps(task))([batch]):
                assert rows.schema.names == [item.split()[0] for item in schema.split(", ")]
                result += [tuple(row.values()) for row in rows.to_pylist()]
        return types.SimpleNamespace(collect=lambda: result)


@pytest.fixture
def local_executors(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("deltareplay.spark.executors.run.rows", LocalExecutors.rows)
    return LocalExecutors()


@pytest.mark.parametrize("kind", KINDS)
def test_equals_a_checkpoint_of_one_process(
    local_executors: Any, tmp_path: Path, kind: str | None
) -> None:
    check_same_checkpoint(local_executors, tmp_path, kind)


def test_executors_write_the_same_checkpoint(spark: Any, tmp_path: Path) -> None:
    check_same_checkpoint(spark, tmp_path, "v2-parquet")


def check_same_checkpoint(spark: Any, tmp_path: Path, kind: str | None) -> None:
    log = table_with(tmp_path / "t", kind)
    shutil.copytree(tmp_path / "t", tmp_path / "alone")
    theirs = dr.Table(tmp_path / "alone").checkpoint(layout="v2")

    created = dr_spark.write_checkpoint(spark, log.uri, piece_size=4000)

    assert (created.version, created.num_files) == (theirs.version, theirs.num_files) == (5, 380)
    assert created.num_actions - created.num_sidecars == theirs.num_actions - theirs.num_sidecars
    result = list((tmp_path / "t/_delta_log/_sidecars").glob("*.parquet"))
    named = {Path(path).name for path in sidecars(log, created.path)}
    assert named <= {item.name for item in result}
    assert len(named) == created.num_sidecars >= 1
    other = logs.LogBuilder(tmp_path / "alone")
    other.commits = log.commits
    both = state(alone(log, created.path)), state(alone(other, theirs.path))
    assert both[0] == both[1]
    assert (len(both[0]["files"]), len(both[0]["tombstones"])) == (380, 10)


def sidecars(log: Any, manifest: str) -> list[str]:
    rows = pq.read_table(Path(log.uri) / manifest, columns=["sidecar"])["sidecar"].to_pylist()
    return [row["path"] for row in rows if row is not None]


@pytest.mark.parametrize("struct", [False, True])
def test_statistics_follow_the_table_properties(
    local_executors: Any, tmp_path: Path, struct: bool
) -> None:
    properties = {"delta.checkpoint.writeStatsAsStruct": "true"} if struct else {}
    if struct:
        properties["delta.checkpoint.writeStatsAsJson"] = "false"
    log = table_with(tmp_path, "classic", **properties)
    created = dr_spark.write_checkpoint(local_executors, log.uri)
    for item in sidecars(log, created.path):
        add = pq.read_schema(tmp_path / "_delta_log/_sidecars" / item).field("add").type
        names = {add.field(number).name for number in range(add.num_fields)}
        assert ("stats_parsed" in names, "stats" in names) == (struct, not struct)
    stats = dr.Table(log.uri).snapshot().files(columns=["stats_parsed"])["stats_parsed"]
    assert stats.drop_null()[0].as_py()["numRecords"] == 3


def test_an_existing_checkpoint_is_kept(local_executors: Any, tmp_path: Path) -> None:
    log = table_with(tmp_path, None, files=40)
    first = dr_spark.write_checkpoint(local_executors, log.uri)
    before = sorted(path for path in tmp_path.rglob("*"))
    assert dr_spark.write_checkpoint(local_executors, log.uri) == first
    assert sorted(path for path in tmp_path.rglob("*")) == before


def test_the_log_is_cleaned_after_an_existing_checkpoint(
    local_executors: Any, tmp_path: Path
) -> None:
    log = table_with(tmp_path, None, files=40)
    first = dr_spark.write_checkpoint(local_executors, log.uri, cleanup=False)
    commits = [
        logs.log_dir(tmp_path) / logs.commit_name(version) for version in range(first.version + 1)
    ]
    for commit in commits:
        os.utime(commit, (STALE / 1000, STALE / 1000))
    assert dr_spark.write_checkpoint(local_executors, log.uri) == first
    assert not any(commit.exists() for commit in commits[:-1])


def test_requires_the_v2_checkpoint_feature(local_executors: Any, tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(id="long"))
    with pytest.raises(
        dr.InvalidArgumentError, match=r"set delta.checkpointPolicy to v2"
    ) as caught:
        dr_spark.write_checkpoint(local_executors, log.uri)
    assert caught.value.code == "checkpoint.layout"


def test_an_empty_table(local_executors: Any, tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(id="long"), protocol_action=logs.features("v2Checkpoint"))
    created = dr_spark.write_checkpoint(local_executors, log.uri)
    assert (created.num_files, created.num_sidecars) == (0, 0)
    assert dr.Table(alone(log, created.path)).snapshot().files().num_rows == 0


def test_a_failed_job_leaves_sidecars_that_cleanup_removes(
    local_executors: Any, tmp_path: Path
) -> None:
    log = table_with(tmp_path, "v2-parquet")
    before = dr.Table(log.uri).snapshot().files(columns=["path"]).num_rows
    # one of two sidecars is damaged in its pages: its footer still has the number of rows
    manifest = next((tmp_path / "_delta_log").glob("*.checkpoint.*"))
    names = sidecars(log, f"_delta_log/{manifest.name}")
    named = [tmp_path / "_delta_log/_sidecars" / name for name in names]
    whole = named[1].read_bytes()
    named[1].write_bytes(whole[:4] + bytes(len(whole) // 2) + whole[4 + len(whole) // 2 :])
    with pytest.raises(dr.CorruptTableError, match=named[1].name):
        dr_spark.write_checkpoint(local_executors, log.uri, piece_size=4000)
    manifests = list((tmp_path / "_delta_log").glob("*.checkpoint.*"))
    assert len(manifests) == 1, "the old one"
    named[1].write_bytes(whole)

    orphans = set((tmp_path / "_delta_log/_sidecars").iterdir()) - set(named)
    assert orphans, "a task that was done before another failed has written its sidecar"
    commits = [logs.log_dir(tmp_path) / logs.commit_name(version) for version in range(4)]
    for commit in (*orphans, *commits):
        os.utime(commit, (STALE / 1000, STALE / 1000))
    removed = dr.Table(log.uri).cleanup_log(dry_run=False).files
    assert {Path(path).name for path in removed} >= {path.name for path in orphans}
    assert dr.Table(log.uri).snapshot().files(columns=["path"]).num_rows == before


def test_delta_spark_reads_the_checkpoint_and_continues(spark: Any, tmp_path: Path) -> None:
    name = f"delta.`{tmp_path / 't'}`"
    spark.sql(
        f"CREATE TABLE {name} (id LONG, day STRING) USING delta PARTITIONED BY (day) TBLPROPERTIES "
        "('delta.checkpointPolicy' = 'v2', 'delta.enableDeletionVectors' = 'true')"
    )
    spark.sql(f"INSERT INTO {name} SELECT id, CAST(id % 3 AS STRING) FROM range(60)")
    dr_spark.write_checkpoint(spark, tmp_path / "t")
    spark.sql(f"DELETE FROM {name} WHERE id % 7 = 0")
    created = dr_spark.write_checkpoint(spark, tmp_path / "t", piece_size=1000)
    expected = {row[0] for row in spark.range(60).where("id % 7 <> 0").collect()}
    for item in (tmp_path / "t/_delta_log").glob("*.json"):
        if int(item.name[:20]) < created.version and "checkpoint" not in item.name:
            item.unlink()
    jvm = spark._jvm.org.apache.spark.sql.delta.DeltaLog
    jvm.clearCache()

    assert {row[0] for row in spark.sql(f"SELECT id FROM {name}").collect()} == expected
    spark.sql(f"INSERT INTO {name} VALUES (100, 'x')")
    snapshot = dr.Table(tmp_path / "t").snapshot()
    assert set(snapshot.scan(["id"]).to_arrow()["id"].to_pylist()) == {*expected, 100}


def test_a_sidecar_that_is_missing_is_noticed(tmp_path: Path) -> None:
    """The results of tasks are compared with the checksum, and the driver's files are deleted."""
    log = table_with(tmp_path, "v2-parquet")
    log.checksum()
    table = dr.Table(log.uri)
    plan = _native.CheckpointPlan(table.native, table.snapshot().native, 64 << 20)
    pieces, tail, codec = plan.work() or ([], None, None)
    written = [
        row for piece in pieces for row in piece.write_sidecars(table.native, tail, codec, 1)
    ]
    before = set(tmp_path.rglob("*"))
    with pytest.raises(dr.CorruptTableError) as caught:
        plan.finish(table.native, [])
    assert caught.value.code == "checkpoint.count"
    assert set(tmp_path.rglob("*")) == before
    assert plan.finish(table.native, written)[2] == 380


def test_a_missing_result_of_a_task_is_noticed_without_a_checksum(
    local_executors: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = table_with(tmp_path, "v2-parquet")
    assert dr.Table(log.uri).snapshot().replay_plan(piece_size=4000).pieces[1:]
    monkeypatch.setattr(
        "deltareplay.spark.executors.run.rows",
        lambda spark, task, parts, schema: LocalExecutors.rows(spark, task, parts - 1, schema),
    )
    before = set(logs.log_dir(tmp_path).iterdir())
    with pytest.raises(dr.StorageError) as caught:
        dr_spark.write_checkpoint(local_executors, log.uri, piece_size=4000)
    assert caught.value.code == "spark.results"
    assert set(logs.log_dir(tmp_path).iterdir()) == before


def test_pieces_of_live_files_have_no_tombstones(tmp_path: Path) -> None:
    log = table_with(tmp_path, "classic")
    table = dr.Table(log.uri)
    plan = table.snapshot().replay_plan(["path"])
    with pytest.raises(dr.InvalidArgumentError) as caught:
        plan.pieces[0]._native.write_sidecars(table.native, plan.tail.native)
    assert caught.value.code == "replay.plan"
