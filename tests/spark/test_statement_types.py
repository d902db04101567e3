"""Statements on columns of every type: ours and delta-spark's leave the same rows.

After each statement the core reads both tables; at the end delta-spark reads both, at more cost.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spark.support.tiers import NIGHTLY
from spark.test_rows import lines

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

#: A value of each type, with ``{i}``.
COLUMNS = {
    "tiny": "CAST({i} AS TINYINT)",
    "small": "CAST({i} AS SMALLINT)",
    "whole": "CAST({i} AS INT)",
    "float": "CAST({i} AS FLOAT)",
    "double": "{i} / 3D",
    "money": "CAST({i} AS DECIMAL(30, 5))",
    "flag": "{i} % 2 = 0",
    "text": "concat('row ', {i})",
    "bytes": "CAST(CAST({i} AS STRING) AS BINARY)",
    "day": "DATE'2026-01-01' + CAST({i} AS INT)",
    "at": "TIMESTAMP'2026-01-01 10:00:00.123456' + make_interval(0, 0, 0, CAST({i} AS INT))",
    "clock": "TIMESTAMP_NTZ'2026-01-01 10:00:00.123456' + make_dt_interval(CAST({i} AS INT))",
    "list": "array({i}, NULL)",
    "lists": "array(array({i}))",
    "map": "map('k', {i})",
    "structs": "map('k', named_struct('a', array({i})))",
    "deep": "named_struct('a', named_struct('b', array(named_struct('c', {i}))))",
    "json": """parse_json(concat('{{"a":', {i}, '}}'))""",
}
SET = ", ".join(f"{name} = s.{name}" for name in COLUMNS)
VALUES = ", ".join(f"s.{name}" for name in COLUMNS)
STATEMENTS = [
    "MERGE INTO {t} t USING types_source s ON t.id = s.id "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "MERGE INTO {t} t USING types_source s ON t.id = s.id - 1 "
    f"WHEN MATCHED AND t.id = 1 THEN UPDATE SET {SET} "
    f"WHEN NOT MATCHED THEN INSERT (id, {', '.join(COLUMNS)}) VALUES (s.id + 50, {VALUES})",
    "UPDATE {t} SET list = array(7L), lists = array(array(8)), map = map('z', 1), "
    "structs = map('z', named_struct('a', array(1L))), "
    "deep = named_struct('a', named_struct('b', array(named_struct('c', 5)))) WHERE id < 3",
    "UPDATE {t} SET deep.a.b = array(named_struct('c', 9L)), tiny = 100, money = 7, "
    "day = '2026-02-02', at = '2026-02-02 01:02:03', json = parse_json('[1]') WHERE id = 3",
    "UPDATE {t} SET list = NULL, deep = NULL, map = NULL, json = NULL WHERE id = 0",
    "DELETE FROM {t} WHERE list[0] = 7 OR map['k'] = 104",
]

PROPERTIES = {
    "plain": {},
    "vectors": {"delta.enableDeletionVectors": "true"},
    "feed": {"delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true"},
}


def rows(spark: Any, start: int, end: int, more: int) -> Any:
    values = [f"{value.format(i=f'(id + {more})')} AS {name}" for name, value in COLUMNS.items()]
    return spark.range(start, end, 1, 1).selectExpr("id", *values)


def by_core(path: Path) -> list[str]:
    return lines(dr.Table(path).snapshot().scan().to_arrow())


def by_delta_spark(spark: Any, path: Path) -> list[str]:
    columns = ["to_json(json) AS json" if name == "json" else name for name in COLUMNS]
    frame = spark.read.format("delta").load(str(path)).selectExpr("id", *columns)
    return sorted(map(str, frame.collect()))


@pytest.mark.slow  # statements on every type, twice
@pytest.mark.parametrize("table", PROPERTIES if NIGHTLY else ["feed"])
def test_every_type(spark: Any, tmp_path: Path, table: str) -> None:
    properties = PROPERTIES[table]
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    rows(spark, 0, 4, 0).write.format("delta").options(**properties).save(str(ours))
    shutil.copytree(ours, theirs)
    rows(spark, 2, 6, 100).createOrReplaceTempView("types_source")
    runs: dict[Path, Callable[[str], Any]] = {
        ours: lambda text: dr_spark.sql(spark, text),
        theirs: spark.sql,
    }
    before = by_core(theirs)
    for statement in STATEMENTS:
        for path, run in runs.items():
            run(statement.format(t=f"delta.`{path}`")).collect()
        after = by_core(theirs)
        assert by_core(ours) == after != before, statement
        before = after
    assert by_delta_spark(spark, ours) == by_delta_spark(spark, theirs)
