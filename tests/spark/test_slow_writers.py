"""A write on Spark that takes longer than the retention, with a concurrent vacuum."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark.conftest import SESSION
from spark.support.statements import run_statement

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay._transaction.transaction import Transaction
from deltareplay.spark.writing import compaction

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64()), ("n", pa.int64())])
#: A vacuum deletes uncommitted files of any age.
RETENTION = {"delta.deletedFileRetentionDuration": "interval 0 seconds"}
VECTORS = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}

MERGE = """MERGE INTO {} t USING (SELECT 2L AS id, 9L AS n UNION ALL SELECT 7L, 7L) s ON t.id = s.id
    WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"""
WRITES: dict[str, Callable[[Any, str], object]] = {
    "append": lambda spark, path: dr_spark.write(spark.range(3).selectExpr("id", "id AS n"), path),
    "overwrite": lambda spark, path: dr_spark.write(
        spark.range(3).selectExpr("id", "id AS n"), path, mode="overwrite"
    ),
    "merge": lambda spark, path: run_statement(spark, MERGE.format(f"delta.`{path}`")),
    "update": lambda spark, path: run_statement(
        spark, f"UPDATE delta.`{path}` SET n = 5 WHERE id = 1"
    ),
    "delete": lambda spark, path: run_statement(spark, f"DELETE FROM delta.`{path}` WHERE id = 1"),
    "optimize": lambda spark, path: run_statement(spark, f"OPTIMIZE delta.`{path}`"),
}


def table(path: Path, properties: dict[str, str]) -> dr.Table:
    table = dr.create_table(path, SCHEMA, properties=RETENTION | properties)
    for ids in ([1, 2], [3, 4]):
        table.append({"id": ids, "n": ids})
    return table


def unchanged(table: dr.Table) -> bool:
    rows = table.snapshot().to_arrow().sort_by("id").to_pylist()
    return table.snapshot().version == 2 and [row["n"] for row in rows] == [1, 2, 3, 4]


@pytest.mark.parametrize("properties", [{}, VECTORS], ids=["plain", "vectors"])
@pytest.mark.parametrize("write", WRITES)
def test_vacuumed_files_are_not_committed(
    spark: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write: str,
    properties: dict[str, str],
) -> None:
    target = table(tmp_path / "t", properties)
    taken: list[str] = []

    def late(last: Callable[..., Any]) -> Callable[..., Any]:
        def vacuuming(*args: Any) -> Any:
            taken.extend(dr.Table(target.uri).vacuum(dry_run=False, log=False).files)
            return last(*args)

        return vacuuming

    monkeypatch.setattr(Transaction, "commit", late(Transaction.commit))
    monkeypatch.setattr(compaction, "options", late(compaction.options))  # before its commit
    with pytest.raises(dr.StorageError) as caught:
        WRITES[write](spark, str(tmp_path / "t"))
    assert caught.value.code == "rows.vacuumed"
    assert taken
    assert unchanged(target)


@pytest.mark.skipif(SESSION == "connect", reason="the worker is the same as in a classic session")
def test_the_format_does_not_commit_vacuumed_files(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import functions as sf

    target = table(tmp_path / "t", {})
    path = target.uri
    own = len(list((tmp_path / "t").glob("*.parquet")))

    def vacuuming(number: int) -> int:
        if number == 1:
            until = time.monotonic() + 120
            files = Path(path.removeprefix("file://"))
            while len(list(files.glob("*.parquet"))) == own and time.monotonic() < until:
                time.sleep(0.05)
            time.sleep(0.2)
            dr.Table(path).vacuum(dry_run=False, log=False)
        return number

    dr_spark.register(spark)
    late = sf.udf(lambda number: vacuuming(number), "long")  # its type hints are strings
    rows = spark.range(0, 2, 1, 2).select(late("id").alias("id"), sf.col("id").alias("n"))
    with pytest.raises(Exception, match=r"rows\.vacuumed|this file was written for the commit"):
        rows.write.format("deltareplay").mode("append").save(str(tmp_path / "t"))
    assert unchanged(target)
