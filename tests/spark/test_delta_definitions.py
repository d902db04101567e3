"""``DeltaTable.create`` and similar methods: behaviours of delta-spark's own tests.

``test_without_jar.py`` runs this file again in sessions without delta-spark's jar.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spark.support.delta_tables import rows_of

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark import DeltaTable, DeltaTableBuilder, IdentityGenerator

pytestmark = pytest.mark.spark


def defined(builder: DeltaTableBuilder) -> DeltaTable:
    """Define a table with a generated column, comments and a property."""
    builder = builder.addColumn("col1", "int", comment="foo", nullable=False)
    builder = builder.addColumn("col2", "INT", generatedAlwaysAs="col1 + 10")
    return builder.property("foo", "bar").comment("comment").partitionedBy("col1").execute()


def check_defined(table: DeltaTable) -> None:
    snapshot = table._table.snapshot()
    assert snapshot.schema.names == ["col1", "col2"]
    assert [item.nullable for item in snapshot.schema] == [False, True]
    assert [field["metadata"] for field in fields_of(table)] == [
        {"comment": "foo"},
        {"delta.generationExpression": "col1 + 10"},
    ]
    assert snapshot.properties == {"foo": "bar"}
    assert snapshot.metadata.description == "comment"
    assert snapshot.partition_columns == ["col1"]
    dr_spark.write(table.toDF().sparkSession.sql("SELECT 1 AS col1"), table._table)
    assert rows_of(table.toDF()) == [(1, 11)]


def fields_of(table: DeltaTable) -> list[dict[str, Any]]:
    result: list[dict[str, Any]] = json.loads(table._table.snapshot().schema_json)["fields"]
    return result


BUILDERS: dict[str, Callable[[Any], DeltaTableBuilder]] = {
    "create": DeltaTable.create,
    "createIfNotExists": DeltaTable.createIfNotExists,
    "replace": DeltaTable.replace,
    "createOrReplace": DeltaTable.createOrReplace,
}


@pytest.mark.parametrize("by", ["name", "location", "both"])
@pytest.mark.parametrize("how", BUILDERS)
def test_creates_or_replaces_a_table(
    spark: Any, tmp_path: Path, name: str, how: str, by: str
) -> None:
    def builder(how: str) -> DeltaTableBuilder:
        builder = BUILDERS[how](spark)
        if by != "location":
            builder = builder.tableName(name)
        return builder if by == "name" else builder.location(str(tmp_path / "t"))

    if how == "replace":
        builder("create").addColumn("old", "string").execute()
    table = defined(builder(how))
    check_defined(table)
    if by != "location":
        assert DeltaTable.forName(spark, name)._table == table._table
        assert table.detail().first()["name"] == f"spark_catalog.default.{name}"
    if by != "name":
        assert table._table == dr.Table(tmp_path / "t")
    operation = {"replace": "REPLACE TABLE", "createOrReplace": "CREATE OR REPLACE TABLE"}
    [_, *older] = table.history().select("operation").collect()
    assert older[0]["operation"] == operation.get(how, "CREATE TABLE")


def test_columns_of_a_schema(spark: Any, tmp_path: Path) -> None:
    schema = spark.createDataFrame([("a", 1)], ["key", "value"]).schema
    for number, columns in enumerate((schema, schema.fields)):
        builder = DeltaTable.create(spark).location(str(tmp_path / str(number)))
        builder = builder.addColumns(columns).addColumn("value2", dataType="int")
        table = builder.partitionedBy(["value2", "value"]).execute()
        assert table.toDF().dtypes == [("key", "string"), ("value", "bigint"), ("value2", "int")]
        assert table._table.snapshot().partition_columns == ["value2", "value"]


def test_types_may_be_ddl_or_of_pyspark(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import types

    builder = DeltaTable.create(spark).location(str(tmp_path / "t"))
    builder = builder.addColumn("a", "struct<x: array<int>, y: map<string, decimal(5, 2)>>")
    builder = builder.addColumn("b", types.ArrayType(types.DoubleType()))
    builder = builder.addColumn("c", "varchar(3)").addColumn("d", "array<varchar(4)>")
    fields = fields_of(builder.execute())
    assert [field["name"] for field in fields] == ["a", "b", "c", "d"]
    assert fields[2] == {
        "name": "c",
        "type": "string",
        "nullable": True,
        "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"},
    }
    assert fields[3]["type"]["elementType"] == "string"
    assert fields[3]["metadata"] == {"__CHAR_VARCHAR_TYPE_STRING": "array<varchar(4)>"}
    long = spark.sql("SELECT 'long' AS c")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.write(long, tmp_path / "t")
    assert caught.value.code == "write.constraint"


@pytest.mark.parametrize("columns", [("value2", "value"), (["value2", "value"],)])
def test_clusters_by_columns(spark: Any, tmp_path: Path, columns: Any) -> None:
    for begin in (DeltaTable.create, DeltaTable.replace):
        builder = begin(spark).location(str(tmp_path / "t"))
        builder = builder.addColumn("value", "bigint").addColumn("value2", "int")
        table = builder.clusterBy(*columns).execute()
        detail = table.detail().first()
        assert detail["clusteringColumns"] == ["value2", "value"]
        assert detail["partitionColumns"] == []


def test_uses_the_active_session(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    steps = [
        (DeltaTable.create, "value", ["value"]),
        (DeltaTable.createIfNotExists, "value2", ["value"]),
        (DeltaTable.replace, "key", ["key"]),
        (DeltaTable.createOrReplace, "col1", ["col1"]),
    ]
    for begin, column, expected in steps:
        table = begin().location(path).addColumn(column, dataType="int").execute()
        assert table.toDF().columns == expected


def test_definitions_depend_on_whether_the_table_exists(
    spark: Any, tmp_path: Path, name: str
) -> None:
    with pytest.raises(dr.TableNotFoundError) as missing:
        DeltaTable.replace(spark).tableName(name).addColumn("id", "int").execute()
    assert missing.value.code == "name.not_delta"
    with pytest.raises(dr.TableNotFoundError) as missing:
        DeltaTable.replace(spark).location(str(tmp_path / "t")).addColumn("id", "int").execute()
    assert missing.value.code == "table.not_found"
    DeltaTable.create(spark).tableName(name).addColumn("id", "int").execute()
    with pytest.raises(dr.InvalidArgumentError) as exists:
        DeltaTable.create(spark).tableName(name).addColumn("id", "int").execute()
    assert exists.value.code == "table.exists"
    assert name in str(exists.value)
    elsewhere = DeltaTable.createIfNotExists(spark).tableName(name).location(str(tmp_path / "u"))
    with pytest.raises(dr.InvalidArgumentError) as moved:
        elsewhere.execute()
    assert moved.value.code == "definition.place"


@pytest.mark.parametrize("replace", [DeltaTable.replace, DeltaTable.createOrReplace])
def test_a_replaced_table_needs_columns(spark: Any, tmp_path: Path, replace: Any) -> None:
    path = str(tmp_path / "t")
    DeltaTable.create(spark).location(path).addColumn("id", "int").execute()
    with pytest.raises(dr.InvalidArgumentError) as caught:
        replace(spark).location(path).execute()
    assert caught.value.code == "definition.columns"
    assert dr.Table(path).snapshot().version == 0


@pytest.mark.parametrize("mode", ["none", "name"])
def test_columns_of_a_schema_are_mapped_anew(spark: Any, tmp_path: Path, mode: str) -> None:
    """Both columns have the id and the name in files that columns of other tables have."""
    from pyspark.sql import types

    key = "delta.columnMapping."
    theirs = {f"{key}id": 2, f"{key}physicalName": "z"}
    schema = types.StructType(
        [types.StructField(name, types.LongType(), metadata=theirs) for name in ("a", "b")]
    )
    builder = DeltaTable.create(spark).location(str(tmp_path / "t")).addColumns(schema)
    fields = fields_of(builder.property("delta.columnMapping.mode", mode).execute())
    names = {field["metadata"].get(f"{key}physicalName") for field in fields}
    assert len(names) == (2 if mode == "name" else 1)
    assert "z" not in names


def test_a_table_needs_a_name_or_a_location(spark: Any, name: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        DeltaTable.create(spark).addColumn("id", "int").execute()
    assert caught.value.code == "definition.place"
    with pytest.raises(dr.TableNotFoundError) as missing:
        DeltaTable.create(spark).tableName(f"no_such_schema.{name}").addColumn(
            "id", "int"
        ).execute()
    assert missing.value.code == "name.schema"


def test_identity_columns(spark: Any, tmp_path: Path) -> None:
    builder = DeltaTable.create(spark).location(str(tmp_path / "t"))
    builder = builder.addColumn("id1", "bigint", generatedAlwaysAs=IdentityGenerator())
    two = IdentityGenerator(start=2, step=2)
    builder = builder.addColumn("id2", "BIGINT", generatedByDefaultAs=two)
    table = builder.addColumn("val", "bigint", nullable=False).execute()
    for rows in ({"val": [0]}, {"val": [1]}, {"id2": [8], "val": [2]}):
        table._table.append(rows)
    assert rows_of(table.toDF()) == [(1, 2, 0), (2, 4, 1), (3, 8, 2)]


INVALID_DEFINITIONS: dict[str, tuple[type[Exception], Callable[[DeltaTableBuilder], Any]]] = {
    "name": (TypeError, lambda b: b.tableName(1)),
    "location": (TypeError, lambda b: b.location(1)),
    "comment": (TypeError, lambda b: b.comment(1)),
    "name of a column": (TypeError, lambda b: b.addColumn(1, "int")),
    "type": (TypeError, lambda b: b.addColumn("a", 1)),
    "unknown type": (Exception, lambda b: b.addColumn("a", "1")),
    "comment of a column": (TypeError, lambda b: b.addColumn("a", "int", comment=1)),
    "generated": (TypeError, lambda b: b.addColumn("a", "int", generatedAlwaysAs=1)),
    "identity of int": (
        dr.InvalidArgumentError,
        lambda b: b.addColumn("a", "int", generatedAlwaysAs=IdentityGenerator()),
    ),
    "step of 0": (
        ValueError,
        lambda b: b.addColumn("a", "bigint", generatedAlwaysAs=IdentityGenerator(step=0)),
    ),
    "start that is text": (
        TypeError,
        lambda b: b.addColumn("a", "bigint", generatedAlwaysAs=IdentityGenerator("1")),
    ),
    "fractional step": (
        TypeError,
        lambda b: b.addColumn("a", "bigint", generatedByDefaultAs=IdentityGenerator(1, 1.5)),
    ),
    "both": (
        ValueError,
        lambda b: b.addColumn(
            "a", "bigint", generatedAlwaysAs="", generatedByDefaultAs=IdentityGenerator()
        ),
    ),
    "generated by default": (
        TypeError,
        lambda b: b.addColumn("a", "bigint", generatedByDefaultAs=""),
    ),
    "default identity of int": (
        ValueError,
        lambda b: b.addColumn("a", "int", generatedByDefaultAs=IdentityGenerator()),
    ),
    "nullable": (TypeError, lambda b: b.addColumn("a", "int", nullable=1)),
    "schema": (TypeError, lambda b: b.addColumns(1)),
    "field": (TypeError, lambda b: b.addColumns([1])),
    "partition": (TypeError, lambda b: b.partitionedBy(1)),
    "partitions": (TypeError, lambda b: b.partitionedBy(1, "1")),
    "list of partitions": (TypeError, lambda b: b.partitionedBy([1])),
    "cluster": (TypeError, lambda b: b.clusterBy(1)),
    "clusters": (TypeError, lambda b: b.clusterBy(1, "1")),
    "list of clusters": (TypeError, lambda b: b.clusterBy([1])),
    "property": (TypeError, lambda b: b.property(1, "1")),
    "value of a property": (TypeError, lambda b: b.property("1", 1)),
}


#: The codes of the errors that have one.
CODES = {
    "identity of int": "column.identity",
    "step of 0": "column.generated",
    "both": "column.generated",
    "default identity of int": "column.identity",
}


@pytest.mark.parametrize("case", INVALID_DEFINITIONS)
def test_refuses_invalid_definitions(spark: Any, case: str) -> None:
    error, call = INVALID_DEFINITIONS[case]
    with pytest.raises(error) as caught:
        call(DeltaTable.create(spark))
    if case in CODES:
        assert caught.value.code == CODES[case]  # type: ignore[attr-defined]
    if case == "unknown type":
        assert type(caught.value).__name__ == "ParseException"


@pytest.mark.parametrize("value", ["nope + 1", "1L", "g2", "CAST(rand() AS INT)", "max(a)"])
def test_refuses_invalid_generated_columns(spark: Any, tmp_path: Path, value: str) -> None:
    """As in ``CREATE TABLE``, and by delta-spark 4.4."""
    builder = DeltaTable.create(spark).location(str(tmp_path / "t")).addColumn("a", "int")
    builder = builder.addColumn("g2", "int", generatedAlwaysAs="a + 1")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        builder.addColumn("g", "int", generatedAlwaysAs=value).execute()
    assert caught.value.code == "definition.generated"
    assert not dr.is_table(tmp_path / "t")


def test_geospatial_types_are_refused(spark: Any, tmp_path: Path) -> None:
    builder = DeltaTable.create(spark).location(str(tmp_path / "t"))
    with pytest.raises(dr.UnsupportedFeatureError, match="geospatial"):
        builder.addColumn("geom", dataType="geometry(4326)").execute()


def test_a_name_needs_the_format(spark: Any, name: str) -> None:
    """A session without the jar in which ``register(spark, "delta")`` was not called."""
    from deltareplay.spark.catalog import registration

    class Reader:
        def format(self, _: str) -> Reader:
            return self

        schema = format

        def load(self, _: str) -> Any:
            return spark.read.format("no_such_format").load("/").schema

    class Session:
        read = Reader()

    with pytest.raises(Exception, match=r"\S") as theirs:
        Reader().load("/")
    assert "DATA_SOURCE_NOT_FOUND" in str(theirs.value)
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        registration.check_takes_delta(Session())  # type: ignore[arg-type]
    assert caught.value.code == "spark.no_delta"
    registration.check_takes_delta(spark)
