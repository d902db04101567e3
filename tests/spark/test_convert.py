"""``convert`` and ``deltareplay.spark.convert``, compared with delta-spark's ``convertToDelta``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark.support.delta_tables import rows_by_delta_spark
from support.writing import bodies

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

#: By name: a query, partition columns, and the partition schema as DDL.
CASES = {
    "plain": ("SELECT id, CAST(id AS STRING) s FROM range(5)", [], None),
    "nested": (
        "SELECT id, named_struct('a', CAST(id AS INT), 'b', DATE'2020-01-01') st, array(1, 2) ar, "
        "map('a', 1) m, CAST(1.5 AS DECIMAL(10,2)) d, TIMESTAMP'2020-01-01 00:00:00.123456' ts, "
        "TIMESTAMP_NTZ'2020-01-01 00:00:00' ntz, X'00' bin, CAST(1 AS BYTE) t FROM range(3)",
        [],
        None,
    ),
    "partitioned": (
        "SELECT id, CASE WHEN id = 0 THEN NULL WHEN id = 1 THEN 'a b%c/d=e' ELSE 'x' END p, "
        "CAST(id AS INT) q FROM range(3)",
        ["p", "q"],
        "p STRING, q INT",
    ),
    "types": (
        "SELECT id, DATE'2020-01-01' d, TIMESTAMP'2020-01-01 01:02:03.5' t, "
        "CAST(1.50 AS DECIMAL(5,2)) c, true b, CAST('' AS STRING) e, 1.5D f FROM range(1)",
        ["d", "t", "c", "b", "e", "f"],
        "d DATE, t TIMESTAMP, c DECIMAL(5,2), b BOOLEAN, e STRING, f DOUBLE",
    ),
    "other case": ("SELECT id, CAST(id AS STRING) p FROM range(2)", ["p"], "P STRING"),
    "long": ("SELECT id, 'abcd' p FROM range(1)", ["p"], "p STRING"),
    "fractions": (
        "SELECT id, IF(id = 0, '1.0', '-1.9') p, '.5' q, '7.' r FROM range(2)",
        ["p", "q", "r"],
        "p INT, q BIGINT, r TINYINT",
    ),
}


@pytest.fixture(scope="module")
def files(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Write a directory of Parquet files for each case, and hidden files into it."""
    root = tmp_path_factory.mktemp("convert %")
    for name, (query, partitions, _) in CASES.items():
        writer = spark.sql(query).repartition(2).write
        (writer.partitionBy(*partitions) if partitions else writer).parquet(str(root / name))
        for hidden in (".x.parquet", "_y.parquet", "_z/a.parquet"):
            (root / name / hidden).parent.mkdir(exist_ok=True)
            (root / name / hidden).write_bytes(b"no Parquet")
    return {name: root / name for name in CASES}


def _theirs(spark: Any, path: Path, ddl: str | None) -> None:
    from delta.tables import DeltaTable

    arguments = [f"parquet.`{path}`", *([ddl] if ddl else [])]
    DeltaTable.convertToDelta(spark, *arguments)


def _adds(table: dr.Table) -> dict[str, dict[str, Any]]:
    adds = {add.pop("path"): add for add in bodies(table, 0, "add")}
    for add in adds.values():
        add["stats"] = json.loads(add["stats"])
    return adds


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", ["driver", "executors"])
def test_the_table_equals_that_of_delta_spark(
    spark: Any, files: dict[str, Path], tmp_path: Path, case: str, way: str
) -> None:
    ddl = CASES[case][2]
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    for path in (theirs, ours):
        shutil.copytree(files[case], path)
    _theirs(spark, theirs, ddl)
    if way == "executors":
        created = dr_spark.convert(spark, ours, partition_schema=ddl)
    else:
        arrow = _arrow(spark, ddl)
        created = dr.convert(ours, partition_schema=arrow)

    assert rows_by_delta_spark(spark, ours) == rows_by_delta_spark(spark, theirs)
    other = dr.Table(theirs)
    mine, target = created.snapshot(), other.snapshot()
    assert json.loads(mine.schema_json) == json.loads(target.schema_json)
    assert mine.partition_columns == target.partition_columns
    for name in ("min_reader_version", "min_writer_version"):
        assert getattr(mine.protocol, name) == getattr(target.protocol, name)
    assert set(mine.protocol.writer_features or ()) == set(target.protocol.writer_features or ())
    result, expected = _adds(created), _adds(other)
    assert result.keys() == expected.keys()
    for path, add in result.items():
        theirs_add = expected[path]
        if case != "fractions":  # theirs are as the directories have them
            assert add["partitionValues"] == theirs_add["partitionValues"]
        assert add["size"] == theirs_add["size"]
        assert add["stats"]["numRecords"] == theirs_add["stats"]["numRecords"]
    infos = [bodies(table, 0, "commitInfo")[0] for table in (created, other)]
    for key in ("operation", "operationParameters", "operationMetrics", "isBlindAppend"):
        assert infos[0][key] == infos[1][key]
    # a second conversion changes nothing
    dr_spark.convert(spark, ours)
    _theirs(spark, ours, None)
    assert created.snapshot().version == 0


def _arrow(spark: Any, ddl: str | None) -> pa.Schema | None:
    if ddl is None:
        return None
    return spark.createDataFrame([], ddl).toArrow().schema


def test_both_engines_filter_a_converted_table(
    spark: Any, files: dict[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "t"
    shutil.copytree(files["plain"], path)
    table = dr_spark.convert(spark, path)
    assert table.snapshot().scan(filter="id = 3").to_arrow()["id"].to_pylist() == [3]
    assert spark.sql(f"SELECT s FROM delta.`{path}` WHERE id = 3").collect()[0].s == "3"
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 3")
    assert table.snapshot().scan().count() == 4


def test_partition_columns_are_as_declared(
    spark: Any, files: dict[str, Path], tmp_path: Path
) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    for path in (theirs, ours):
        shutil.copytree(files["other case"], path)
    ddl = "p VARCHAR(3) NOT NULL"
    _theirs(spark, theirs, ddl)
    dr_spark.convert(spark, ours, partition_schema=ddl)
    schemas = [json.loads(dr.Table(path).snapshot().schema_json) for path in (ours, theirs)]
    assert schemas[0] == schemas[1]


#: By name: a directory, the partition schema as DDL, and the code of the error.
REFUSED: dict[str, tuple[str, str | None, str]] = {
    "no schema": ("partitioned", None, "convert.partition"),
    "too many columns": ("partitioned", "p STRING, q INT, r INT", "convert.partition"),
    "another type": ("partitioned", "p INT, q INT", "convert.partition"),
    "longer than VARCHAR": ("long", "p VARCHAR(3)", "convert.partition"),
    "longer than CHAR": ("long", "p CHAR(3)", "convert.partition"),
    "invalid DDL": ("plain", "nonsense(", "convert.partition_schema"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_partition_schemas_are_refused(
    spark: Any, files: dict[str, Path], tmp_path: Path, case: str
) -> None:
    name, ddl, code = REFUSED[case]
    path = tmp_path / "t"
    shutil.copytree(files[name], path)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.convert(spark, path, partition_schema=ddl)
    assert caught.value.code == code
    with pytest.raises(Exception) as theirs:
        _theirs(spark, path, ddl)
    assert type(theirs.value).__module__.startswith(("pyspark", "py4j"))
    assert not dr.is_table(path)


def test_the_error_of_a_task_names_the_file(
    spark: Any, files: dict[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "t"
    shutil.copytree(files["plain"], path)
    (path / "bad.parquet").write_bytes(b"nonsense that is long enough")
    with pytest.raises(dr.CorruptTableError) as caught:
        dr_spark.convert(spark, path)
    assert (caught.value.code, caught.value.path) == ("data.footer", "bad.parquet")
    assert not dr.is_table(path)
