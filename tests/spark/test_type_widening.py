"""Rows of wider types widen the columns of tables with type widening.

As in delta-spark 4.4, by functions, SQL, the format and ``DeltaTable`` (its suites
``TypeWidening*``): all changes of the protocol are made (``allowAutomaticWidening`` is ALWAYS).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spark.support.comparison import compare, create_table, state_of
from spark.support.settings import conf
from spark.support.tiers import pairs

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

COLUMNS = (
    "k SMALLINT, v INT, f FLOAT, d DECIMAL(5,2), s STRUCT<a: INT, b: ARRAY<INT>>, m MAP<INT, FLOAT>"
)
FIRST = "1S, 1, 1.5F, 1.25, named_struct('a', 1, 'b', array(1)), map(1, 1.5F)"
WIDE = (
    "SELECT 70000 AS k, 3000000000 AS v, 1e300D AS f, CAST(12345678.123 AS DECIMAL(12,3)) AS d, "
    "named_struct('a', 3000000000, 'b', array(3000000000)) AS s, map(3000000000, 1e300D) AS m"
)
ENABLED = "TBLPROPERTIES ('delta.enableTypeWidening' = '{enabled}'{more})"


def table(spark: Any, path: Path, enabled: str = "true", more: str = "") -> Path:
    properties = ENABLED.format(enabled=enabled, more=more)
    create = f"CREATE TABLE {{t}} ({COLUMNS}) USING delta {properties}"
    return create_table(spark, path, create, f"INSERT INTO {{t}} VALUES ({FIRST})")


@pytest.fixture(scope="module")
def base(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return table(spark, tmp_path_factory.mktemp("widening") / "t")


def appending(spark: Any, rows: Any, how: str) -> Any:
    """Return a function that appends rows to a table, with schema evolution."""

    def write(path: Path) -> None:
        if how == "write":
            dr_spark.write(rows, path, schema_mode="merge")
        elif how == "autoMerge":
            with conf(spark, spark__databricks__delta__schema__autoMerge__enabled="true"):
                dr_spark.write(rows, path)
        else:
            name = "deltareplay" if how == "format" else "delta"
            if how == "format":
                dr_spark.register(spark)
            rows.write.format(name).mode("append").option("mergeSchema", "true").save(str(path))

    return write


@pytest.mark.parametrize("how", ["write", "autoMerge", "format"])
def test_appended_rows(spark: Any, tmp_path: Path, base: Path, how: str) -> None:
    rows = spark.sql(WIDE)
    fields, result, *_ = compare(
        spark, tmp_path, base, appending(spark, rows, "delta"), appending(spark, rows, how)
    )
    assert [field["type"] for field in fields[:4]] == ["integer", "long", "double", "decimal(12,3)"]
    assert fields[1]["metadata"]["delta.typeChanges"] == [{"fromType": "integer", "toType": "long"}]
    assert any("1e+300" in row for row in result)
    read = dr_spark.read(spark, tmp_path / "ours")
    assert sorted(map(str, read.collect())) == result


#: More changes: the type of a column, and a value of a wider type.
CHANGES = [
    ("TINYINT", "CAST(300 AS SMALLINT)"),
    ("INT", "1.5D"),
    ("INT", "CAST(5 AS DECIMAL(12,2))"),
    ("BIGINT", "CAST(5 AS DECIMAL(20,0))"),
    ("DATE", "TIMESTAMP_NTZ'2026-01-31 12:00:00'"),
]


@pytest.mark.parametrize(("type_", "value"), CHANGES)
def test_each_type_change(spark: Any, tmp_path: Path, type_: str, value: str) -> None:
    supported = ", 'delta.feature.timestampNtz' = 'supported'" * ("TIMESTAMP_NTZ" in value)
    properties = ENABLED.format(enabled="true", more=supported)
    base = create_table(
        spark, tmp_path / "t", f"CREATE TABLE {{t}} (c {type_}) USING delta {properties}"
    )
    rows = spark.sql(f"SELECT {value} AS c")
    compare(spark, tmp_path, base, appending(spark, rows, "delta"), appending(spark, rows, "write"))


@pytest.mark.parametrize(("enabled", "mode"), [("true", None), ("false", None), ("false", "merge")])
def test_requires_the_property_and_schema_evolution(
    spark: Any, tmp_path: Path, enabled: str, mode: Any
) -> None:
    path = table(spark, tmp_path / "t", enabled)
    before = state_of(spark, path)
    dr_spark.register(spark)
    for column in ("v", "f", "d", "s", "m"):
        rows = spark.sql(WIDE).select(column)
        with pytest.raises(dr.InvalidArgumentError, match="cast it") as caught:
            dr_spark.write(rows, path, schema_mode=mode)
        assert caught.value.code == "write.columns"
    writer = spark.sql(WIDE).write.format("deltareplay").mode("append")
    with pytest.raises(Exception, match="cast it"):
        writer.option("mergeSchema", str(mode is not None)).save(str(path))
    assert state_of(spark, path) == before


#: The text after ``INSERT WITH SCHEMA EVOLUTION``.
INSERTS = [
    f"INTO {{t}} {WIDE}",
    f"INTO {{t}} BY NAME {WIDE}",
    "INTO {t} VALUES (70000, 3000000000, 1e300D, 12345678.123, "
    "named_struct('a', 3000000000, 'b', array(1)), map(1, 1.5F))",
    "INTO {t} VALUES (1, 1, 1, 1, NULL, map(3000000000, 1.5F))",
    "INTO {t} (k, v) VALUES (70000, 3000000000)",
    "INTO {t} (v, k) SELECT 3000000000 AS x, 7S AS y",
    "INTO {t} (k, f) VALUES (1, 1e300D)",
    "INTO {t} (k, v) VALUES (1, 1.5D)",
    "INTO {t} (k, v) VALUES (1, '5')",
    "OVERWRITE {t} (k, v) VALUES (70000, 3000000000)",
    f"INTO {{t}} REPLACE WHERE k = 70000 {WIDE}",
]
#: The same, refused by delta-spark, too.
REFUSED_INSERTS = [
    "INTO {t} VALUES (1, 1, 1, 1, named_struct('a', 1, 'b', array(3000000000)), NULL)",
    "INTO {t} (k, d) VALUES (1, 1000000)",
]


@pytest.mark.parametrize("form", INSERTS + REFUSED_INSERTS)
def test_inserts(spark: Any, tmp_path: Path, base: Path, form: str) -> None:
    text = "INSERT WITH SCHEMA EVOLUTION " + form
    compare(
        spark,
        tmp_path,
        base,
        lambda path: spark.sql(text.format(t=f"delta.`{path}`")),
        lambda path: dr_spark.sql(spark, text.format(t=f"delta.`{path}`")),
        succeeds=form in INSERTS,
    )


#: Clauses of a merge with schema evolution.
CLAUSES = [
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "WHEN MATCHED THEN UPDATE SET v = s.v, f = s.f",
    "WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)",
    "WHEN MATCHED THEN UPDATE SET s.a = s.s.a",
    "WHEN MATCHED THEN DELETE",
    "WHEN MATCHED THEN UPDATE SET v = 7 WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 8",
]


FEED = ", 'delta.enableChangeDataFeed' = 'true'"


@pytest.fixture(scope="module")
def merged_into(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that returns the table of three rows with more properties: written once."""
    home = tmp_path_factory.mktemp("merged")
    tables: dict[str, Path] = {}

    def of(more: str) -> Path:
        if more not in tables:
            path = table(spark, home / str(len(tables)), more=more)
            create_table(spark, path, f"INSERT INTO {{t}} VALUES ({FIRST.replace('1S', '2S')})")
            create_table(spark, path, "INSERT INTO {t} SELECT 3S, 3, 3F, 3, NULL, NULL")
            tables[more] = create_table(spark, path, "OPTIMIZE {t}")
        return tables[more]

    return of


@pytest.mark.parametrize(
    ("clauses", "more"), pairs(CLAUSES, ["", ", 'delta.enableDeletionVectors' = 'true'", FEED])
)
def test_merges(
    spark: Any, tmp_path: Path, merged_into: Callable[[str], Path], clauses: str, more: str
) -> None:
    base = merged_into(more)
    rows = spark.sql(f"{WIDE} UNION ALL {WIDE.replace('70000', '1')}")
    rows.createOrReplaceTempView("widening_source")
    text = (
        f"MERGE WITH SCHEMA EVOLUTION INTO {{t}} AS t USING widening_source AS s ON t.k = s.k "
        f"{clauses}"
    )
    compare(
        spark,
        tmp_path,
        base,
        lambda path: spark.sql(text.format(t=f"delta.`{path}`")),
        lambda path: dr_spark.sql(spark, text.format(t=f"delta.`{path}`")),
    )
    if more == FEED and "DELETE" not in clauses:
        reader = spark.read.format("delta").options(readChangeFeed="true", startingVersion="5")
        ours, theirs = (
            reader.load(str(tmp_path / name)).select("k", "v", "f", "d", "s", "_change_type")
            for name in ("ours", "theirs")
        )
        assert sorted(map(str, ours.collect())) == sorted(map(str, theirs.collect()))


def test_delta_table_merges(spark: Any, tmp_path: Path, base: Path) -> None:
    import delta.tables

    def merge(kind: Any) -> Any:
        def act(path: Path) -> None:
            merge = kind.forPath(spark, str(path)).alias("t")
            merge = merge.merge(spark.sql(WIDE).alias("s"), "t.k = s.k").withSchemaEvolution()
            merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()

        return act

    compare(spark, tmp_path, base, merge(delta.tables.DeltaTable), merge(dr_spark.DeltaTable))


def test_a_constraint_refers_to_the_column(spark: Any, tmp_path: Path) -> None:
    base = table(spark, tmp_path / "base")
    create_table(spark, base, "ALTER TABLE {t} ADD CONSTRAINT positive CHECK (v > 0)")
    rows = spark.sql("SELECT 3000000000 AS v")
    ours, theirs = (appending(spark, rows, how) for how in ("write", "delta"))
    compare(spark, tmp_path, base, theirs, ours, succeeds=False)


def test_partitions_and_mapped_columns(spark: Any, tmp_path: Path) -> None:
    properties = ENABLED.format(enabled="true", more=", 'delta.columnMapping.mode' = 'name'")
    base = create_table(
        spark,
        tmp_path / "base",
        f"CREATE TABLE {{t}} (p INT, v INT) USING delta PARTITIONED BY (p) {properties}",
        "INSERT INTO {t} VALUES (1, 1)",
    )
    rows = spark.sql("SELECT 3000000000 AS p, 3000000000 AS v")
    fields, *_ = compare(
        spark, tmp_path, base, appending(spark, rows, "delta"), appending(spark, rows, "write")
    )
    assert "delta.columnMapping.id" in json.dumps(fields)
    read = dr_spark.read(spark, tmp_path / "ours", filter="p > 2")
    assert read.collect() == [(3000000000, 3000000000)]


def test_a_stream_widens_columns(spark: Any, tmp_path: Path, base: Path) -> None:
    spark.sql(WIDE).write.parquet(str(tmp_path / "rows"))
    rows = spark.readStream.schema(spark.sql(WIDE).schema).parquet(str(tmp_path / "rows"))
    dr_spark.register(spark)

    def stream(name: str) -> Any:
        def act(path: Path) -> None:
            query = rows.writeStream.format(name).option("mergeSchema", "true")
            query = query.option("checkpointLocation", str(tmp_path / f"{name}-checkpoint"))
            query = query.trigger(availableNow=True).start(str(path))
            query.awaitTermination()

        return act

    compare(spark, tmp_path, base, stream("delta"), stream("deltareplay"))
