"""Each row of the page for users of delta-spark: both calls have the same effect on one table."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spark.support.delta_tables import rows_of
from support.calls import Row, rows, run

import deltareplay as dr

pytestmark = pytest.mark.spark
ROWS = rows("delta-spark")
#: Calls that return different values and change the table, which is compared.
STATEMENTS = {row.title for row in ROWS if row.ours.startswith(("dr.", "dr_spark.write"))} | {
    "delete",
    "update",
    "upsert",
    "add a column in SQL",
    "insert in SQL",
}
#: Evidence that a call did its work, if rows, columns and properties are unchanged.
TRACE: dict[str, Callable[[Path], Any]] = {
    "a new table": lambda path: state(path.parent / "t-new"),
    "create": lambda path: state(path.parent / "t-new"),
    "create in SQL": lambda path: state(path.parent / "t-new"),
    "convert Parquet files": lambda path: state(path.parent / "parquet"),
    "pack small files": lambda path: dr.Table(path).snapshot().num_files,
    "order rows": lambda path: dr.Table(path).history(1)["operation"].to_pylist(),
    "vacuum": lambda path: dr.Table(path).history(2)["operation"].to_pylist(),
    "manifests": lambda path: sorted(
        str(item.relative_to(path)) for item in path.glob("_symlink_format_manifest/**/manifest")
    ),
}

#: Rows that take delta-spark seconds each, and whose calls other tests compare with it: they run
#: with DELTAREPLAY_SLOW=1.
HEAVY = {
    "upsert with the old names",
    "a statement in SQL",
    "convert Parquet files",
    "pack small files",
    "order rows",
    "restore",
    "vacuum",
}


@pytest.fixture(scope="module")
def written(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three versions with a change data feed, and Parquet files next to it that are not a table."""
    root = tmp_path_factory.mktemp("written")
    first = spark.createDataFrame(
        [(1, "DE", 10.0), (2, "FR", 20.0)], "id long, country string, amount double"
    )
    writer = first.write.format("delta").option("delta.enableChangeDataFeed", True)
    writer.partitionBy("country").save(str(root / "t"))
    second = spark.createDataFrame([(3, "DE", 30.0), (4, "DE", 40.0)], first.schema)
    second.coalesce(1).write.format("delta").mode("append").save(str(root / "t"))
    spark.sql(f"DELETE FROM delta.`{root}/t` WHERE id = 4")
    first.write.parquet(str(root / "parquet"))
    return root


def names(spark: Any, path: Path, module: Any) -> dict[str, Any]:
    """Return the values of the names on the page, with the ``DeltaTable`` of one package."""
    from deltareplay import spark as dr_spark

    new = spark.createDataFrame(
        [(1, "FR", 99.0), (9, "FR", 9.0)], "id long, country string, amount double"
    )
    return {
        "spark": spark,
        "dr": dr,
        "dr_spark": dr_spark,
        "DeltaTable": module.DeltaTable,
        "table": module.DeltaTable.forPath(spark, str(path)),
        "new": new,
        "wider": new.selectExpr("*", "'a' AS note"),
        "parquet": str(path.parent / "parquet"),
    }


def state(path: Path) -> dict[str, Any]:
    """Return the state of a table, read by deltareplay without a Spark job."""
    snapshot = dr.Table(path).snapshot()
    return {
        "rows": sorted(snapshot.scan().to_arrow().to_pylist(), key=str),
        "columns": [(field.name, field.type) for field in snapshot.schema],
        "partition columns": snapshot.partition_columns,
        "properties": snapshot.properties,
        "transactions": snapshot.transactions,
    }


def value(result: Any) -> Any:
    """Return rows without the timestamps of commits, or a plain value."""
    if not hasattr(result, "collect"):
        return result
    return rows_of(result.drop("_commit_timestamp"))


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_both_calls_do_the_same(spark: Any, row: Row, written: Path, tmp_path: Path) -> None:
    if row.title in HEAVY and not os.environ.get("DELTAREPLAY_SLOW"):
        pytest.skip("takes seconds in delta-spark: set DELTAREPLAY_SLOW=1")
    import delta.tables

    import deltareplay.spark

    theirs, ours = tmp_path / "theirs" / "t", tmp_path / "ours" / "t"
    for path in (theirs, ours):
        shutil.copytree(written, path.parent)
    before = state(ours)
    expected = run(row.theirs, names(spark, theirs, delta.tables), theirs)
    result = run(row.ours, names(spark, ours, deltareplay.spark), ours)
    assert state(ours) == state(theirs)
    if row.title in TRACE:
        assert TRACE[row.title](ours) == TRACE[row.title](theirs)
        assert TRACE[row.title](ours)
    elif row.title in STATEMENTS:
        assert state(ours) != before
    else:
        returned = value(result)
        assert returned
        assert returned == value(expected)


def test_compared_calls_are_on_the_page() -> None:
    assert {*STATEMENTS, *TRACE, *HEAVY} <= {row.title for row in ROWS}
    assert len(ROWS) > 25
