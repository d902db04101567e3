"""Features x operations: after each operation here, delta-spark reads the same rows."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark.support.delta_spark_logs import properties

import deltareplay as dr

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Feature:
    """A table with a feature, as created by delta-spark.

    Attributes:
        properties: Table properties.
        columns: Columns in addition to ``id``, ``v`` and ``p``, as SQL.
        tail: The clause after the columns; partitions by default.
        generated: Expressions of generated columns of type LONG, by name.
        alter: Statements after the first insert, with ``{t}`` for the table.
        append_only: Whether rows must not be deleted or replaced.
    """

    properties: dict[str, str] = field(default_factory=dict)
    columns: str = ""
    tail: str = "PARTITIONED BY (p)"
    generated: dict[str, str] = field(default_factory=dict)
    alter: tuple[str, ...] = ()
    append_only: bool = False


FEATURES: dict[str, Feature] = {
    "deletionVectors": Feature({"enableDeletionVectors": "true"}),
    "mapped by name": Feature(
        {"columnMapping__mode": "name"},
        alter=("ALTER TABLE {t} ADD COLUMN w STRING", "ALTER TABLE {t} RENAME COLUMN w TO x"),
    ),
    "mapped by id": Feature({"columnMapping__mode": "id"}),
    "rowTracking": Feature({"enableRowTracking": "true"}),
    "inCommitTimestamp": Feature({"enableInCommitTimestamps": "true"}),
    "v2Checkpoint": Feature({"checkpointPolicy": "v2", "enableDeletionVectors": "true"}),
    "typeWidening": Feature(
        {"enableTypeWidening": "true"},
        columns=", n INT",
        alter=("ALTER TABLE {t} ALTER COLUMN n TYPE BIGINT",),
    ),
    "defaults": Feature(
        {"feature__allowColumnDefaults": "supported"}, columns=", s STRING DEFAULT 'some'"
    ),
    "checkConstraints": Feature(alter=("ALTER TABLE {t} ADD CONSTRAINT c CHECK (id >= 0)",)),
    "invariants": Feature(
        {"feature__allowColumnDefaults": "supported"}, columns=", k LONG NOT NULL DEFAULT 1"
    ),
    "generatedColumns": Feature(generated={"g": "v * 2", "h": "id % 3"}),
    "generatedColumns and vectors": Feature(
        {"enableDeletionVectors": "true", "enableChangeDataFeed": "true"}, generated={"g": "v + id"}
    ),
    "clustering": Feature(tail="CLUSTER BY (id)"),
    "timestampNtz": Feature(columns=", at TIMESTAMP_NTZ"),
    "changeDataFeed": Feature({"enableChangeDataFeed": "true"}),
    "appendOnly": Feature({"appendOnly": "true"}, append_only=True),
    "vacuumProtocolCheck": Feature({"feature__vacuumProtocolCheck": "supported"}),
    "domainMetadata": Feature({"feature__domainMetadata": "supported"}),
    "many": Feature(
        {
            "enableDeletionVectors": "true",
            "enableRowTracking": "true",
            "enableInCommitTimestamps": "true",
            "enableChangeDataFeed": "true",
            "enableTypeWidening": "true",
            "columnMapping__mode": "name",
            "checkpointPolicy": "v2",
        },
        columns=", at TIMESTAMP_NTZ",
        alter=("ALTER TABLE {t} ADD CONSTRAINT c CHECK (id >= 0)",),
    ),
}
NAMES = list(FEATURES) if os.environ.get("DELTAREPLAY_SLOW") else ["many", "generatedColumns"]


def rows(*ids: int) -> pa.Table:
    values = [{"id": number, "v": number * 10, "p": "ab"[number % 2]} for number in ids]
    return pa.Table.from_pylist(values)


def operations(table: dr.Table, append_only: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "append", lambda: table.append(rows(20, 21))
    if not append_only:
        yield "delete", lambda: table.delete("id = 3 OR id = 20")
        yield "update", lambda: table.update("id < 3", {"v": "v + 1"})
        yield (
            "merge",
            lambda: (
                table.merge(rows(4, 30), "id")
                .when_matched_update({"v": "source.v + 1"})
                .when_not_matched_insert({"id": "source.id", "v": "source.v", "p": "source.p"})
                .execute()
            ),
        )
        yield "overwrite", lambda: table.overwrite(rows(40, 42), "p = 'a'")
    yield "checkpoint", table.checkpoint
    yield "compact_log", table.compact_log
    if not append_only:
        yield "delete all of a file", lambda: table.delete("p = 'b'")
        yield "restore", lambda: table.restore(table.snapshot().version - 1)
    week = datetime.timedelta(days=7)
    yield "vacuum", lambda: table.vacuum(week, dry_run=False)


def create(spark: Any, path: Path, feature: Feature) -> None:
    named = {"checkpointInterval": "10", **feature.properties}
    if not feature.generated:
        spark.sql(
            f"CREATE TABLE delta.`{path}` (id LONG, v LONG, p STRING{feature.columns}) USING delta "
            f"{feature.tail} {properties(**named)}"
        )
        return
    from delta.tables import DeltaTable

    new = DeltaTable.create(spark).location(str(path)).partitionedBy("p")
    for column, kind in {"id": "LONG", "v": "LONG", "p": "STRING"}.items():
        new = new.addColumn(column, kind)
    for column, expression in feature.generated.items():
        new = new.addColumn(column, "LONG", generatedAlwaysAs=expression)
    for key, value in named.items():
        new = new.property(f"delta.{key.replace('__', '.')}", value)
    new.execute()


@pytest.mark.slow  # a dozen statements
@pytest.mark.parametrize("name", NAMES)
def test_each_engine_continues_after_the_other(spark: Any, tmp_path: Path, name: str) -> None:
    feature = FEATURES[name]
    path = tmp_path / "t"
    target = f"delta.`{path}`"
    create(spark, path, feature)
    insert = f"INSERT INTO {target} (id, v, p) SELECT id, id * 10, IF(id % 2 = 0, 'a', 'b')"
    spark.sql(f"{insert} FROM range(8)")
    for statement in feature.alter:
        spark.sql(statement.replace("{t}", target))
    table = dr.Table(path)

    def same(operation: str) -> list[str]:
        frame = spark.read.format("delta").load(str(path))
        holds = [f"{column} <=> {text}" for column, text in feature.generated.items()]
        read = frame.selectExpr("*", f"{' AND '.join(holds) or 'true'} AS holds").toArrow()
        assert all(read["holds"].to_pylist()), operation
        theirs = sorted(map(repr, read.drop_columns("holds").to_pylist()))
        snapshot = table.snapshot(strict=True)
        ours = sorted(map(repr, snapshot.scan(frame.columns).to_arrow().to_pylist()))
        assert ours == theirs, operation
        return ours

    before = same("what delta-spark wrote")
    for operation, run in operations(table, feature.append_only):
        run()
        before = same(operation)
    assert table.verify().findings == ()

    spark.sql(f"{insert} FROM range(50, 54)")
    assert len(same("INSERT")) == len(before) + 4
    if not feature.append_only:
        spark.sql(f"DELETE FROM {target} WHERE id = 51")
        same("DELETE")
    spark.sql(f"OPTIMIZE {target}")
    same("OPTIMIZE")
    log = spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, str(path))
    log.checkpoint()
    same("a checkpoint")
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    assert same("a new reader") == same("a checkpoint")
