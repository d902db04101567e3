"""``DeltaTable``: a test for each behaviour in delta-spark's own tests of its class.

``test_without_jar.py`` runs this file again in sessions without delta-spark's jar.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from spark.support.delta_tables import ROWS, rows_of, write_table
from spark.support.settings import conf

import deltareplay as dr
from deltareplay import exceptions
from deltareplay import spark as dr_spark
from deltareplay.spark import (
    DeltaMergeBuilder,
    DeltaOptimizeBuilder,
    DeltaTable,
    DeltaTableBuilder,
    IdentityGenerator,
)
from deltareplay.spark.session import capabilities

pytestmark = pytest.mark.spark

CLASSES = [
    DeltaTable,
    DeltaMergeBuilder,
    DeltaTableBuilder,
    DeltaOptimizeBuilder,
    IdentityGenerator,
]


# the classes


def members(cls: type) -> dict[str, Any]:
    return {
        name: value for name, value in inspect.getmembers(cls, callable) if not name.startswith("_")
    }


def shape(function: Any) -> list[tuple[str, Any, Any]]:
    """Return names, kinds and defaults of the arguments."""
    parameters = inspect.signature(function).parameters.values()
    return [(parameter.name, parameter.kind, parameter.default) for parameter in parameters]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_names_arguments_and_defaults_are_those_of_delta_spark(cls: type) -> None:
    theirs = getattr(pytest.importorskip("delta.tables"), cls.__name__)
    expected = {name: shape(value) for name, value in members(theirs).items()}
    assert expected or cls is IdentityGenerator
    assert {name: shape(value) for name, value in members(cls).items()} == expected


def test_every_class_of_delta_spark_exists() -> None:
    module = pytest.importorskip("delta.tables")
    theirs = {
        name
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__
    }
    assert theirs == {cls.__name__ for cls in CLASSES}
    assert shape(IdentityGenerator) == shape(module.IdentityGenerator)


def test_exceptions_have_the_names_of_delta_spark() -> None:
    base = pytest.importorskip("delta.exceptions.base")
    theirs = {
        name
        for name, value in vars(base).items()
        if inspect.isclass(value) and value.__module__ == base.__name__
    }
    assert len(theirs) == 8
    for name in theirs:
        assert issubclass(getattr(exceptions, name), dr.CommitConflictError)


# opening


def test_for_path_reads_the_rows(table: DeltaTable) -> None:
    assert rows_of(table.toDF()) == ROWS


def test_for_path_accepts_a_table(spark: Any, table: DeltaTable) -> None:
    again = DeltaTable.forPath(spark, table._table)
    assert rows_of(again.toDF()) == ROWS


def test_for_path_accepts_settings_of_file_systems(spark: Any, tmp_path: Path) -> None:
    write_table(spark, tmp_path / "t")
    settings = {"fs.fake.impl": "some.FileSystem", "fs.fake.impl.disable.cache": "true"}
    again = DeltaTable.forPath(spark, str(tmp_path / "t"), settings)
    assert rows_of(again.toDF()) == ROWS
    with pytest.raises(dr.InvalidArgumentError) as caught:
        DeltaTable.forPath(spark, str(tmp_path / "t"), {"spark.some": "1"})
    assert caught.value.code == "argument.hadoop"


def test_for_path_refuses_other_directories(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(dr.TableNotFoundError) as caught:
        DeltaTable.forPath(spark, str(tmp_path))
    assert caught.value.code == "table.not_found"


def test_errors_are_analysis_exceptions_too(spark: Any, tmp_path: Path, name: str) -> None:
    """As in delta-spark: pipelines catch them, for example to create a table that is missing."""
    from pyspark.errors import AnalysisException

    table = write_table(spark, tmp_path / "t")
    missing = f"delta.`{tmp_path / 'missing'}`"
    cases: dict[type[dr.DeltaReplayError], list[Callable[[], Any]]] = {
        dr.TableNotFoundError: [
            lambda: DeltaTable.forPath(spark, str(tmp_path)),
            lambda: DeltaTable.forName(spark, name),
            lambda: dr_spark.sql(spark, f"DESCRIBE HISTORY {missing}"),
        ],
        dr.VersionNotFoundError: [lambda: table.restoreToVersion(9)],
        dr.InvalidArgumentError: [
            lambda: table.update(set={"no_such": "1"}),
            lambda: DeltaTable.create(spark).location(str(tmp_path / "t")).execute(),
        ],
    }
    for kind, runs in cases.items():
        for run in runs:
            with pytest.raises(AnalysisException) as caught:
                run()
            error = caught.value
            assert isinstance(error, kind)
            again = pickle.loads(pickle.dumps(error))
            assert (type(again), str(again)) == (type(error), error.args[0])
            assert (again.code, again.__notes__) == (error.code, error.__notes__)


def test_for_path_accepts_paths_as_hadoop_writes_them(spark: Any, tmp_path: Path) -> None:
    location = tmp_path / "100% of it"
    write_table(spark, location)
    for path in (str(location), f"file:{location}", f"file://{location}"):
        assert DeltaTable.isDeltaTable(spark, path)
        assert rows_of(DeltaTable.forPath(spark, path).toDF()) == ROWS
    assert rows_of(DeltaTable.forName(spark, f"delta.`{location}`").toDF()) == ROWS


def test_for_name(spark: Any, tmp_path: Path, name: str) -> None:
    write_table(spark, tmp_path / "t")
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{tmp_path / 't'}'")
    opened = DeltaTable.forName(spark, name)
    assert rows_of(opened.toDF()) == ROWS
    assert rows_of(DeltaTable.forName(spark, f"default.`{name}`").toDF()) == ROWS
    assert rows_of(DeltaTable.forName(spark, f"spark_catalog.default.{name}").toDF()) == ROWS
    assert opened.detail().first()["name"] == f"spark_catalog.default.{name}"


def test_for_name_is_not_misled_by_a_comment(spark: Any, tmp_path: Path, name: str) -> None:
    write_table(spark, tmp_path / "t")
    comment = "a comment\\nLocation: /nowhere\\nProvider: parquet\\nSchema: root"
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{tmp_path / 't'}' COMMENT '{comment}'")
    assert rows_of(DeltaTable.forName(spark, name).toDF()) == ROWS


@pytest.mark.parametrize("kind", ["nothing", "a view", "another format", "no schema"])
def test_for_name_refuses_other_objects(spark: Any, name: str, kind: str) -> None:
    if kind == "a view":
        spark.range(3).createOrReplaceTempView(name)
    if kind == "another format":
        spark.sql(f"CREATE TABLE {name} (id INT) USING parquet")
    requested = f"no_such_schema.{name}" if kind == "no schema" else name
    with pytest.raises(dr.TableNotFoundError) as caught:
        DeltaTable.forName(spark, requested)
    assert caught.value.code == "name.not_delta"
    if kind == "a view":
        spark.catalog.dropTempView(name)


@pytest.mark.parametrize("text", ["", "a b", "a.", "delta./tmp", "a;"])
def test_for_name_refuses_invalid_names(spark: Any, text: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        DeltaTable.forName(spark, text)
    assert caught.value.code == "name.syntax"


def test_paths_and_names_must_be_strings(spark: Any) -> None:
    methods = (
        DeltaTable.forPath,
        DeltaTable.forName,
        DeltaTable.isDeltaTable,
        DeltaTable.convertToDelta,
    )
    for method in methods:
        with pytest.raises(ValueError, match="needs to be a string but got int"):
            method(spark, 1)  # type: ignore[arg-type]


def test_is_delta_table(spark: Any, tmp_path: Path) -> None:
    spark.range(3).write.parquet(str(tmp_path / "parquet"))
    write_table(spark, tmp_path / "t")
    assert DeltaTable.isDeltaTable(spark, str(tmp_path / "parquet")) is False
    assert DeltaTable.isDeltaTable(spark, str(tmp_path / "t")) is True


def test_alias_names_the_columns(table: DeltaTable) -> None:
    frame = table.alias("mine").toDF()
    assert rows_of(frame.select("mine.key", "mine.value")) == ROWS


# reading


@pytest.mark.parametrize("package", ["deltareplay.spark", "delta.tables"])
def test_a_name_qualifies_the_columns(spark: Any, tmp_path: Path, name: str, package: str) -> None:
    if package == "delta.tables" and not capabilities.has_delta(spark):
        pytest.skip("needs delta-spark's jar")
    write_table(spark, tmp_path / "t")
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{tmp_path / 't'}'")
    full = f"spark_catalog.default.{name}"
    table = pytest.importorskip(package).DeltaTable.forName(spark, name)
    assert rows_of(table.toDF().where(f"{name}.key > 'c'").select(f"{name}.value")) == [(4,)]
    table.delete(f"{name}.key = 'd'")
    table.update(f"default.{name}.key = 'a'", {f"{full}.value": f"{name}.value + 10"})
    source = spark.createDataFrame([("a", 5), ("e", 6)], ["key", "value"]).alias("s")
    merge = table.merge(source, f"{full}.key = s.key").whenNotMatchedInsertAll()
    merge = merge.whenMatchedUpdate(f"{full}.value > 1", {"value": f"{full}.value + s.value"})
    merge.whenNotMatchedBySourceDelete(f"default.{name}.value = 3").execute()
    assert rows_of(table.toDF()) == [("a", 16), ("b", 2), ("e", 6)]


@pytest.mark.parametrize("package", ["deltareplay.spark", "delta.tables"])
def test_a_full_name_qualifies_columns_of_python(
    spark: Any, tmp_path: Path, name: str, package: str
) -> None:
    from pyspark.sql.functions import col

    if package == "delta.tables" and not capabilities.has_delta(spark):
        pytest.skip("needs delta-spark's jar")
    write_table(spark, tmp_path / "t")
    spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{tmp_path / 't'}'")
    full, short = f"spark_catalog.default.{name}", f"default.{name}"
    table = pytest.importorskip(package).DeltaTable.forName(spark, name)
    rows = table.toDF()
    for qualifier in (full, short, name):
        assert rows_of(rows.where(col(f"{qualifier}.key") > "c").select(f"{qualifier}.value")) == [
            (4,)
        ]
    table.delete(col(f"{short}.key") == "d")
    table.update(col(f"{full}.key") == "a", {"value": col(f"{full}.value") + 10})
    source = spark.createDataFrame([("a", 5), ("e", 6)], ["key", "value"]).alias("s")
    merge = table.merge(source, col(f"{full}.key") == col("s.key")).whenNotMatchedInsertAll()
    value = col(f"{short}.value") + col("s.value")
    merge = merge.whenMatchedUpdate(col(f"{full}.value") > 1, {"value": value})
    merge.whenNotMatchedBySourceDelete(col(f"{short}.value") == 3).execute()
    assert rows_of(table.toDF()) == [("a", 16), ("b", 2), ("e", 6)]


def test_history(spark: Any, tmp_path: Path) -> None:
    write_table(spark, tmp_path / "t")
    table = write_table(spark, tmp_path / "t", [("a", 3)])
    assert rows_of(table.history().select("operation")) == [("WRITE",), ("WRITE",)]
    assert rows_of(table.history(1).select("operationParameters.mode")) == [("Overwrite",)]


def test_detail(table: DeltaTable) -> None:
    [row] = table.detail().collect()
    assert (row["format"], row["name"]) == ("delta", None)


# the protocol


def test_upgrades_the_protocol(table: DeltaTable) -> None:
    table.upgradeTableProtocol(1, 3)
    table.upgradeTableProtocol(1, 2)  # changes nothing
    detail = table.detail().first()
    assert (detail["minReaderVersion"], detail["minWriterVersion"]) == (1, 3)
    for versions in (("abc", 3), ([], 3), (1, "abc"), (1, {}), (True, 3)):
        with pytest.raises(ValueError, match="Version") as caught:
            table.upgradeTableProtocol(*versions)  # type: ignore[arg-type]
        assert caught.value.code == "argument.type"  # type: ignore[attr-defined]
    with pytest.raises(dr.InvalidArgumentError) as unknown:
        table.upgradeTableProtocol(4, 7)
    assert unknown.value.code == "protocol.version"


def test_adds_and_drops_features(table: DeltaTable) -> None:
    def protocol() -> tuple[int, int, list[str]]:
        detail = table.detail().first()
        versions = detail["minReaderVersion"], detail["minWriterVersion"]
        return (*versions, detail["tableFeatures"])

    before = (1, 2, ["appendOnly", "invariants"])
    table.addFeatureSupport("appendOnly")
    assert protocol() == before
    table.addFeatureSupport("deletionVectors")
    assert protocol() == (3, 7, ["appendOnly", "deletionVectors", "invariants"])
    table.addFeatureSupport("domainMetadata")
    table.dropFeatureSupport("domainMetadata")
    assert protocol() == (3, 7, ["appendOnly", "deletionVectors", "invariants"])
    table.dropFeatureSupport("deletionVectors", False)
    assert "deletionVectors" not in protocol()[2]
    for call in (table.addFeatureSupport, table.dropFeatureSupport):
        for wrong in (12345, [12345], {}, []):
            with pytest.raises(ValueError, match="featureName needs to be a string"):
                call(wrong)  # type: ignore[arg-type]
        with pytest.raises(dr.InvalidArgumentError) as caught:
            call("no_such_feature")
        assert caught.value.code == "protocol.unknown_feature"
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.dropFeatureSupport("deletionVectors")
    assert caught.value.code == "protocol.feature_absent"
    for wrong in (12345, [12345], {}, []):
        with pytest.raises(ValueError, match="truncateHistory needs to be a boolean"):
            table.dropFeatureSupport("deletionVectors", wrong)  # type: ignore[arg-type]


# restoring


@pytest.fixture
def overwritten(spark: Any, tmp_path: Path) -> tuple[DeltaTable, datetime]:
    """Create a table with different columns than before; return the timestamp of version 0."""
    table = write_table(spark, tmp_path / "t", [("a", 1), ("b", 2)])
    [first] = dr.Table(tmp_path / "t").history().to_pylist()
    other = spark.createDataFrame([("a", 3)], ["key_new", "value_new"])
    dr_spark.write(other, tmp_path / "t", mode="overwrite", schema_mode="overwrite")
    assert rows_of(table.toDF()) == [("a", 3)]
    return table, first["timestamp"]


def test_restores_a_version(overwritten: tuple[DeltaTable, datetime]) -> None:
    table, _ = overwritten
    [metrics] = table.restoreToVersion(0).collect()
    assert rows_of(table.toDF()) == [("a", 1), ("b", 2)]
    snapshot = table._table.snapshot()
    old = table._table.snapshot(1).files()["size"].to_pylist()
    assert metrics.asDict() == {
        "table_size_after_restore": snapshot.size_in_bytes,
        "num_of_files_after_restore": snapshot.num_files,
        "num_removed_files": len(old),
        "num_restored_files": snapshot.num_files,
        "removed_files_size": sum(old),
        "restored_files_size": snapshot.size_in_bytes,
    }


def test_restores_a_timestamp(overwritten: tuple[DeltaTable, datetime]) -> None:
    table, at = overwritten
    table.restoreToTimestamp(at.strftime("%Y-%m-%d %H:%M:%S.%f"))
    assert rows_of(table.toDF()) == [("a", 1), ("b", 2)]
    with pytest.raises(dr.InvalidArgumentError, match="05/04/1999") as caught:
        table.restoreToTimestamp("05/04/1999")
    assert caught.value.code == "argument.moment"


def test_a_timestamp_is_in_the_time_zone_of_the_session(
    overwritten: tuple[DeltaTable, datetime],
) -> None:
    table, at = overwritten
    with conf(table.toDF().sparkSession, spark__sql__session__timeZone="Asia/Tokyo"):
        with pytest.raises(dr.VersionNotFoundError) as caught:
            table.restoreToTimestamp(at.strftime("%Y-%m-%d %H:%M:%S.%f"))
        assert caught.value.code == "version.timestamp"
        in_tokyo = at.astimezone(ZoneInfo("Asia/Tokyo"))
        table.restoreToTimestamp(in_tokyo.strftime("%Y-%m-%d %H:%M:%S.%f"))
    assert rows_of(table.toDF()) == [("a", 1), ("b", 2)]


def test_aliases_and_modes_must_be_strings(table: DeltaTable) -> None:
    with pytest.raises(ValueError, match="aliasName needs to be a string but got int"):
        table.alias(5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="mode needs to be a string but got int"):
        table.generate(5)  # type: ignore[arg-type]


def test_restoring_checks_types(table: DeltaTable) -> None:
    with pytest.raises(ValueError, match="timestamp needs to be a string but got int"):
        table.restoreToTimestamp(12342323232)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="version needs to be an int but got str"):
        table.restoreToVersion("0")  # type: ignore[arg-type]
