"""Tables whose paths Spark or a URI could take for those of other tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

#: The name of a directory, and the name that it could be taken for.
PATHS = {
    "[a]": "a",
    "{a,b}": "b",
    "a?b": "axb",
    "a*": "ab",
    "a\\b": "ab",
    "a%20b": "a b",
    "a#b": "a",
    "a@v0": "a",
}


def rows_of(path: Path) -> list[int]:
    return sorted(dr.Table(path).snapshot().to_arrow()["id"].to_pylist())


@pytest.mark.slow
@pytest.mark.parametrize("name", PATHS)
def test_a_path_is_taken_literally(spark: Any, tmp_path: Path, name: str) -> None:
    other = tmp_path / PATHS[name]
    dr.write(other, {"id": [100]})
    before = {file: file.stat().st_mtime_ns for file in other.rglob("*")}
    path, copy = tmp_path / name, tmp_path / f"{name} copy"
    named = f"delta.`{path}`"
    dr_spark.write(spark.range(2), path)
    dr_spark.write(spark.range(2, 3), str(path))
    assert sorted(row.id for row in dr_spark.read(spark, str(path)).collect()) == [0, 1, 2]
    dr_spark.sql(spark, f"UPDATE {named} SET id = 5 WHERE id = 2")
    result = dr_spark.sql(spark, f"SELECT * FROM {named}").collect()
    assert sorted(row.id for row in result) == [0, 1, 5]
    dr_spark.optimize(spark, path)
    assert rows_of(path) == [0, 1, 5]
    dr_spark.sql(spark, f"RESTORE TABLE {named} TO VERSION AS OF 0")
    dr_spark.DeltaTable.forPath(spark, str(path)).clone(str(copy), isShallow=False)
    assert rows_of(path) == rows_of(copy) == [0, 1]
    assert {file: file.stat().st_mtime_ns for file in other.rglob("*")} == before
