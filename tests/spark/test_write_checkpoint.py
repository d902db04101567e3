"""``deltareplay.spark.write_checkpoint``: the state of one that a single process writes."""

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
    """A table with live files, young and old tombstones, before a checkpoint and after it."""
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
    # after it: one comes back, one goes, one comes; so that each kind of row is hidden below
    log.commit(add[0], removal(30, NOW), removal(31, STALE))
    log.commit(logs.add("day=2026-01-02/new.parquet", partition_values=day, size=1))
    return log


def state(uri: Any) -> dict[str, Any]:
    """All that a checkpoint keeps, out of a log that has only its checkpoint."""
    snapshot = dr.Table(uri).snapshot()
    rows = {
        "files": snapshot.files().to_pylist(),
        "tombstones": snapshot.tombstones().to_pylist(),
    }
    told = {name: sorted(json.dumps(row, default=str) for row in rows[name]) for name in rows}
    return {
        **told,
        "protocol": snapshot.protocol,
        "metadata": snapshot.metadata,
        "transactions": snapshot.transactions,
        "domains": snapshot.domain_metadata,
        "version": snapshot.version,
    }


def alone(log: Any, path: str) -> Any:
    """Leaves nothing in the log but one checkpoint."""
    directory = logs.log_dir(log.table)
    kept = (Path(path).name, "_last_checkpoint", logs.commit_name(log.version))
    for one in directory.iterdir():
        if one.is_file() and one.name not in kept:
            one.unlink()
    return log.uri


class Here:
    """Does in this process what executors do, with what they would get."""

    version = "4.1.0"
    createDataFrame = None

    @staticmethod
    def rows(_: Any, task: Any, parts: int, schema: str) -> Any:
        found = []
        for number in range(parts):
            batch = pa.RecordBatch.from_pydict({"id": [number]})
            for rows in pickle.loads(pickle.dumps(task))([batch]):
                assert rows.schema.names == [one.split()[0] for one in schema.split(", ")]
                found += [tuple(row.values()) for row in rows.to_pylist()]
        return types.SimpleNamespace(collect=lambda: found)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("deltareplay.spark.executors.run.rows", Here.rows)
    return Here()


@pytest.mark.parametrize("kind", KINDS)
def test_it_holds_what_a_checkpoint_of_one_process_holds(
    here: Any, tmp_path: Path, kind: str | None
) -> None:
    holds_the_same(here, tmp_path, kind)


def test_executors_write_the_same(spark: Any, tmp_path: Path) -> None:
    holds_the_same(spark, tmp_path, "v2-parquet")


def holds_the_same(spark: Any, tmp_path: Path, kind: str | None) -> None:
    log = table_with(tmp_path / "t", kind)
    shutil.copytree(tmp_path / "t", tmp_path / "alone")
    theirs = dr.Table(tmp_path / "alone").checkpoint(layout="v2")

    made = dr_spark.write_checkpoint(spark, log.uri, piece_size=4000)

    assert (made.version, made.num_files) == (theirs.version, theirs.num_files) == (5, 380)
    assert made.num_actions - made.num_sidecars == theirs.num_actions - theirs.num_sidecars
    found = list((tmp_path / "t/_delta_log/_sidecars").glob("*.parquet"))
    named = {Path(path).name for path in sidecars(log, made.path)}
    assert named <= {one.name for one in found}
    assert len(named) == made.num_sidecars >= 1
    other = logs.LogBuilder(tmp_path / "alone")
    other.commits = log.commits
    both = state(alone(log, made.path)), state(alone(other, theirs.path))
    assert both[0] == both[1]
    assert (len(both[0]["files"]), len(both[0]["tombstones"])) == (380, 10)


def sidecars(log: Any, manifest: str) -> list[str]:
    rows = pq.read_table(Path(log.uri) / manifest, columns=["sidecar"])["sidecar"].to_pylist()
    return [row["path"] for row in rows if row is not None]


@pytest.mark.parametrize("struct", [False, True])
def test_statistics_are_kept_as_the_table_asks(here: Any, tmp_path: Path, struct: bool) -> None:
    properties = {"delta.checkpoint.writeStatsAsStruct": "true"} if struct else {}
    if struct:
        properties["delta.checkpoint.writeStatsAsJson"] = "false"
    log = table_with(tmp_path, "classic", **properties)
    made = dr_spark.write_checkpoint(here, log.uri)
    for one in sidecars(log, made.path):
        add = pq.read_schema(tmp_path / "_delta_log/_sidecars" / one).field("add").type
        names = {add.field(number).name for number in range(add.num_fields)}
        assert ("stats_parsed" in names, "stats" in names) == (struct, not struct)
    stats = dr.Table(log.uri).snapshot().files(columns=["stats_parsed"])["stats_parsed"]
    assert stats.drop_null()[0].as_py()["numRecords"] == 3


def test_one_that_is_there_stays(here: Any, tmp_path: Path) -> None:
    log = table_with(tmp_path, None, files=40)
    first = dr_spark.write_checkpoint(here, log.uri)
    before = sorted(one for one in tmp_path.rglob("*"))
    assert dr_spark.write_checkpoint(here, log.uri) == first
    assert sorted(one for one in tmp_path.rglob("*")) == before


def test_a_table_without_the_feature_is_told_what_to_do(here: Any, tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(id="long"))
    with pytest.raises(
        dr.InvalidArgumentError, match=r"set delta.checkpointPolicy to v2"
    ) as caught:
        dr_spark.write_checkpoint(here, log.uri)
    assert caught.value.code == "checkpoint.layout"


def test_an_empty_table(here: Any, tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(id="long"), protocol_action=logs.features("v2Checkpoint"))
    made = dr_spark.write_checkpoint(here, log.uri)
    assert (made.num_files, made.num_sidecars) == (0, 0)
    assert dr.Table(alone(log, made.path)).snapshot().files().num_rows == 0


def test_a_failed_job_leaves_sidecars_that_cleanup_removes(spark: Any, tmp_path: Path) -> None:
    log = table_with(tmp_path, "v2-parquet")
    before = dr.Table(log.uri).snapshot().files(columns=["path"]).num_rows
    # one of two sidecars is damaged in its pages: its footer still tells of all rows
    manifest = next((tmp_path / "_delta_log").glob("*.checkpoint.*"))
    names = sidecars(log, f"_delta_log/{manifest.name}")
    named = [tmp_path / "_delta_log/_sidecars" / name for name in names]
    whole = named[1].read_bytes()
    named[1].write_bytes(whole[:4] + bytes(len(whole) // 2) + whole[4 + len(whole) // 2 :])
    with pytest.raises(Exception, match="CorruptTableError"):
        dr_spark.write_checkpoint(spark, log.uri, piece_size=4000)
    manifests = list((tmp_path / "_delta_log").glob("*.checkpoint.*"))
    assert len(manifests) == 1, "the old one"
    named[1].write_bytes(whole)

    orphans = set((tmp_path / "_delta_log/_sidecars").iterdir()) - set(named)
    assert orphans, "a task that was done before another failed has written its sidecar"
    commits = [logs.log_dir(tmp_path) / logs.commit_name(version) for version in range(4)]
    for one in (*orphans, *commits):
        os.utime(one, (STALE / 1000, STALE / 1000))
    removed = dr.Table(log.uri).cleanup_log(dry_run=False).files
    assert {Path(one).name for one in removed} >= {one.name for one in orphans}
    assert dr.Table(log.uri).snapshot().files(columns=["path"]).num_rows == before


def test_delta_spark_reads_it_and_goes_on(spark: Any, tmp_path: Path) -> None:
    name = f"delta.`{tmp_path / 't'}`"
    spark.sql(
        f"CREATE TABLE {name} (id LONG, day STRING) USING delta PARTITIONED BY (day) TBLPROPERTIES "
        "('delta.checkpointPolicy' = 'v2', 'delta.enableDeletionVectors' = 'true')"
    )
    spark.sql(f"INSERT INTO {name} SELECT id, CAST(id % 3 AS STRING) FROM range(60)")
    dr_spark.write_checkpoint(spark, tmp_path / "t")
    spark.sql(f"DELETE FROM {name} WHERE id % 7 = 0")
    made = dr_spark.write_checkpoint(spark, tmp_path / "t", piece_size=1000)
    log = logs.LogBuilder(tmp_path / "t")
    expected = {row[0] for row in spark.range(60).where("id % 7 <> 0").collect()}
    for one in (tmp_path / "t/_delta_log").glob("*.json"):
        if int(one.name[:20]) < made.version and "checkpoint" not in one.name:
            one.unlink()
    jvm = spark._jvm.org.apache.spark.sql.delta.DeltaLog
    jvm.clearCache()

    assert {row[0] for row in spark.sql(f"SELECT id FROM {name}").collect()} == expected
    spark.sql(f"INSERT INTO {name} VALUES (100, 'x')")
    snapshot = dr.Table(tmp_path / "t").snapshot()
    assert set(snapshot.scan(["id"]).to_arrow()["id"].to_pylist()) == {*expected, 100}
    assert dr.Table(log.uri).snapshot().files().num_rows > 0


def test_a_sidecar_that_is_missing_is_noticed(tmp_path: Path) -> None:
    """What tasks tell is held against the checksum, and what the driver wrote goes away again."""
    log = table_with(tmp_path, "v2-parquet")
    log.checksum()
    table = dr.Table(log.uri)
    plan = _native.CheckpointPlan(table.native, table.snapshot().native, 64 << 20)
    pieces, tail, codec = plan.work() or ([], None, None)
    written = [row for one in pieces for row in one.write_sidecars(table.native, tail, codec, 1)]
    before = set(tmp_path.rglob("*"))
    with pytest.raises(dr.CorruptTableError) as caught:
        plan.finish(table.native, [])
    assert caught.value.code == "checkpoint.count"
    assert set(tmp_path.rglob("*")) == before
    assert plan.finish(table.native, written)[2] == 380


def test_pieces_of_live_files_tell_no_tombstones(tmp_path: Path) -> None:
    log = table_with(tmp_path, "classic")
    table = dr.Table(log.uri)
    plan = table.snapshot().replay_plan(["path"])
    with pytest.raises(dr.InvalidArgumentError) as caught:
        plan.pieces[0]._native.write_sidecars(table.native, plan.tail.native)
    assert caught.value.code == "replay.plan"
