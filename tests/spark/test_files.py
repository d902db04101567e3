"""``deltareplay.spark.files``: executors replay the same files as the driver."""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conformance import suite
from support import logs, samples

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

KINDS = [
    None,
    "classic",
    "multipart",
    "v2-json",
    "v2-parquet",
    "v2-classic",
    "v2-inline-json",
    "v2-inline-parquet",
]
CASES = [case for case in suite.cases() if case.expected["expect"] == "ok"]
SOME = CASES if os.environ.get("DELTAREPLAY_SLOW") else CASES[::9]


def texts(table: pa.Table) -> list[str]:
    """Return the rows as text, sorted."""
    return sorted(json.dumps(row, default=str) for row in table.to_pylist())


def assert_same(spark: Any, snapshot: dr.Snapshot, **options: Any) -> Any:
    """Compare the files that Spark returns for each ``reconcile`` with the snapshot's own."""
    chosen = {name: options[name] for name in ("columns", "filter") if name in options}
    expected = snapshot.files(**chosen)
    for reconcile in ("auto", "driver", "executors"):
        frame = dr_spark.files(spark, snapshot, reconcile=reconcile, **options)
        result = frame.toArrow()
        assert result.column_names == expected.column_names
        assert texts(result) == texts(expected), reconcile
    return expected


@pytest.mark.parametrize("case", SOME, ids=str)
def test_conformance_suite(spark: Any, case: suite.Case) -> None:
    with suite.table_of(case) as path, warnings.catch_warnings():
        warnings.simplefilter("ignore", dr.DeltaReplayWarning)
        snapshot = dr.Table(path).snapshot()
        frame = dr_spark.files(spark, snapshot, piece_size=4000)
        assert texts(frame.toArrow()) == texts(snapshot.files())


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_checkpoint(spark: Any, tmp_path: Path, kind: str | None) -> None:
    log = samples.events(tmp_path)
    if kind is not None:
        log.checkpoint(1, kind=kind)
    snapshot = dr.Table(log.uri).snapshot()

    assert assert_same(spark, snapshot).num_rows == 2
    assert assert_same(spark, snapshot, filter="day = '2026-01-03'").num_rows == 1
    assert_same(spark, snapshot, columns=["numRecords", "path"], piece_size=4000)


def test_typed_columns_have_sparks_types(spark: Any, tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path)
    log.create(
        logs.schema(
            id="long", at="timestamp", local="timestamp_ntz", cost="decimal(9,2)", d="date"
        ),
        protocol_action=logs.features("timestampNtz"),
        partition_columns=["d"],
    )
    stats = {
        "numRecords": 3,
        "minValues": {
            "id": 1,
            "at": "2026-01-01T00:00:00.000Z",
            "local": "2026-01-01T00:00:00.000",
            "cost": 1.25,
        },
        "maxValues": {"id": 9},
        "nullCount": {"id": 0},
    }
    log.commit(
        logs.add("d=1/a", stats=json.dumps(stats), partition_values={"d": "2026-01-31"}),
        logs.add("d=1/b", partition_values={"d": None}, tags={"k": "v"}),
    )
    log.checkpoint()
    log.commit(logs.add("c", stats=json.dumps(stats), partition_values={"d": "2026-02-01"}))
    snapshot = dr.Table(log.uri).snapshot()

    columns = ["path", "stats_parsed", "partitionValues_parsed", "tags"]
    assert assert_same(spark, snapshot, columns=columns).num_rows == 3
    frame = dr_spark.files(spark, snapshot, columns=columns)
    kinds = {
        field.name: field.dataType.typeName()
        for field in frame.schema["stats_parsed"].dataType["minValues"].dataType
    }
    assert kinds == {"id": "long", "at": "timestamp", "local": "timestamp_ntz", "cost": "decimal"}
    row = frame.where("path = 'd=1/a'").selectExpr("stats_parsed.minValues.*").first()
    assert (row["id"], str(row["cost"]), str(row["local"])) == (1, "1.25", "2026-01-01 00:00:00")
    assert frame.where("partitionValues_parsed.d > '2026-01-31'").count() == 1


def test_rows_without_columns_are_counted(spark: Any, tmp_path: Path) -> None:
    log = samples.events(tmp_path)
    log.checkpoint(1)
    for reconcile in ("driver", "executors"):
        frame = dr_spark.files(spark, log.uri, columns=[], reconcile=reconcile)
        assert (frame.columns, frame.count()) == ([], 2)


def test_an_empty_table_has_no_files(spark: Any, tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(id="long"))
    assert assert_same(spark, dr.Table(log.uri).snapshot()).num_rows == 0
    log.checkpoint()
    assert assert_same(spark, dr.Table(log.uri).snapshot()).num_rows == 0


def test_a_version_does_not_change(spark: Any, tmp_path: Path) -> None:
    log = samples.events(tmp_path)
    frame = dr_spark.files(spark, log.uri, columns=["path"])
    old = dr_spark.files(spark, log.uri, version=1, columns=["path"])
    log.commit(logs.add("later.parquet"))

    assert texts(frame.toArrow()) == texts(dr.Table(log.uri).snapshot(version=2).files(["path"]))
    assert texts(old.toArrow()) == texts(dr.Table(log.uri).snapshot(version=1).files(["path"]))


def test_a_long_tail_is_replayed_by_executors(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = samples.events(tmp_path)
    for bytes_, shuffled in [(256 << 20, False), (10, True)]:
        monkeypatch.setattr("deltareplay.spark.executors.replay.DRIVER_BYTES", bytes_)
        frame = dr_spark.files(spark, log.uri)
        assert ("max_by" in frame._jdf.queryExecution().toString()) == shuffled
        assert frame.count() == 2


def test_a_log_of_one_piece_is_replayed_on_the_driver(spark: Any, tmp_path: Path) -> None:
    log = samples.events(tmp_path)
    log.checkpoint(1)
    log.commit(logs.add("later.parquet"))
    plan = dr_spark.files(spark, log.uri)._jdf.queryExecution().toString()
    assert "MapInArrow" not in plan
    assert "Exchange" not in plan


def test_a_checkpoint_is_not_shuffled(spark: Any, tmp_path: Path) -> None:
    log = samples.events(tmp_path)
    log.checkpoint(1)
    plan = dr_spark.files(spark, log.uri, reconcile="driver")._jdf.queryExecution().toString()
    assert "MapInArrow" in plan
    assert "Exchange" not in plan


def test_options_do_not_show_in_a_plan(spark: Any, tmp_path: Path) -> None:
    log = samples.events(tmp_path)
    log.checkpoint(1)
    table = dr.Table(log.uri, {"aws_secret_access_key": "s3cr3t"})
    frame = dr_spark.files(spark, table, reconcile="driver")
    assert frame.count() == 2
    assert "s3cr3t" not in frame._jdf.queryExecution().toString() + repr(frame)


def test_an_error_comes_back_from_an_executor(spark: Any, tmp_path: Path) -> None:
    log = samples.events(tmp_path)
    log.checkpoint(1, kind="v2-json")
    log.checksum()
    sidecars = list(logs.log_dir(log.table).glob("_sidecars/*"))
    for sidecar in sidecars:
        sidecar.write_bytes(b"PAR1 not a footer PAR1")
    frame = dr_spark.files(spark, log.uri, reconcile="driver")
    with pytest.raises(dr.CorruptTableError) as caught:
        dr_spark.files(spark, log.uri)
    assert caught.value.code == "checkpoint.parquet"
    with pytest.raises(Exception, match=r"CorruptTableError.*Parquet") as caught:
        frame.collect()
    assert any(sidecar.name in str(caught.value) for sidecar in sidecars)
    for sidecar in sidecars:
        sidecar.unlink()
    with pytest.raises(Exception, match="restore it, or delete the checkpoint"):
        dr_spark.files(spark, dr.Table(log.uri).snapshot(), reconcile="driver").collect()


def test_an_executor_without_the_package_is_reported(spark: Any, tmp_path: Path) -> None:
    from deltareplay.spark.executors.run import task_function

    task = task_function(None, b"")

    def without_package(batches: Any) -> Any:
        # an import of it raises ImportError
        sys.modules["deltareplay.spark.executors.worker"] = None
        try:
            yield from task(batches)
        finally:
            del sys.modules["deltareplay.spark.executors.worker"]

    with pytest.raises(Exception, match="install the same release on every executor"):
        spark.range(1).mapInArrow(without_package, "id long").collect()


def test_arguments_are_checked_on_the_driver(spark: Any, tmp_path: Path) -> None:
    log = samples.events(tmp_path)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.files(spark, log.uri, reconcile="here")  # type: ignore[arg-type]
    assert caught.value.code == "argument.reconcile"
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.files(spark, log.uri, columns=["nothing"])
    assert caught.value.code == "columns.unknown"
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.files(spark, log.uri, filter="nothing > 1")
    assert caught.value.code == "filter.column"
    with pytest.raises(dr.TableNotFoundError) as caught:
        dr_spark.files(spark, tmp_path / "nowhere")
    assert caught.value.code == "table.not_found"
