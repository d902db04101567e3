"""The errors of the format for unknown options and without a path; they need no session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltareplay as dr
from deltareplay.spark.format.options import Use, parse

pytestmark = pytest.mark.spark

READ_OPTIONS = [
    "path",
    "allowedRoots",
    "storage.<key>",
    "filter",
    "splitSize",
    "readChangeFeed",
    "versionAsOf",
    "timestampAsOf",
    "withRowId",
    "withFilePath",
    "withRowIndex",
    "startingVersion",
    "startingTimestamp",
    "changeKind",
    "changeKey",
    "changeDeleted",
    "endingVersion",
    "endingTimestamp",
    "maxFilesPerTrigger",
    "maxBytesPerTrigger",
    "ignoreDeletes",
    "ignoreChanges",
    "ignoreFileDeletion",
    "skipChangeCommits",
    "failOnDataLoss",
    "excludeRegex",
    "schemaTrackingLocation",
]
WRITE_OPTIONS = [
    "path",
    "allowedRoots",
    "storage.<key>",
    "mergeSchema",
    "overwriteSchema",
    "replaceWhere",
    "partitionOverwriteMode",
    "partitionBy",
    "txnAppId",
    "txnVersion",
    "userMetadata",
    "delta.<property>",
]

#: The options that Spark 4.1 passes for ``CREATE TABLE ... LOCATION`` and ``catalog.createTable``.
CATALOG_OPTIONS = (
    {"location": "t", "owner": "me", "provider": "deltareplay"},
    {"external": "true", "location": "t", "option.path": "t", "owner": "me", "provider": "x"},
    {"path": "t", "location": "t", "owner": "me", "provider": "deltareplay"},
)


@pytest.fixture
def table_path(tmp_path: Path) -> str:
    dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]))
    return str(tmp_path / "t")


def calls(options: dict[str, str]) -> dict[str, Any]:
    """Return the calls of Spark's worker to the data source, by what the user does."""
    types = pytest.importorskip("pyspark.sql.types")
    schema = types.StructType([types.StructField("id", types.LongType())])
    from deltareplay.spark.format.data_source import DeltaReplayDataSource

    data_source = DeltaReplayDataSource(options)
    return {
        "reading": data_source.schema,
        "reading with a schema": lambda: data_source.reader(schema).partitions(),
        "writing": lambda: data_source.writer(schema, False),
        "writing a stream": lambda: data_source.streamWriter(schema, False),
    }


def refused(call: Any) -> dr.InvalidArgumentError:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        call()
    return caught.value


def listed(error: dr.InvalidArgumentError) -> list[str]:
    """Return the options that the error lists."""
    text = str(error).split(": it takes ")[1].replace(";", ",")
    return [name.strip().split(" also ")[-1] for name in text.split(",")]


@pytest.mark.parametrize("where", ["a table", "no table"])
@pytest.mark.parametrize("name", ["some", "versionAsOf", "withRowId", "maxFilesPerTrigger"])
def test_an_unknown_write_option_lists_the_valid_ones(
    table_path: str, name: str, where: str
) -> None:
    path = table_path if where == "a table" else f"{table_path}/none"
    for call, run in calls({"path": path, name: "x"}).items():
        if call.startswith("writing"):
            error = refused(run)
            assert error.code == "option.unknown"
            assert f"writing takes no option {name.lower()}:" in str(error)
            assert listed(error) == WRITE_OPTIONS
    assert not Path(table_path, "none").exists()


@pytest.mark.parametrize("name", ["some", "mergeSchema", "replaceWhere"])
def test_an_unknown_read_option_lists_the_valid_ones(table_path: str, name: str) -> None:
    for call, run in calls({"path": table_path, name: "x"}).items():
        if call.startswith("reading"):
            error = refused(run)
            assert error.code == "option.unknown"
            assert f"reading takes no option {name.lower()}:" in str(error)
            assert listed(error) == READ_OPTIONS


@pytest.mark.parametrize("options", [{}, *CATALOG_OPTIONS], ids=["no path", "sql", "api", "path"])
def test_the_error_without_a_path_names_the_remedy(options: dict[str, str]) -> None:
    for call, run in calls(options).items():
        error = refused(run)
        assert error.code == "option.path", call
        assert "Spark's catalog does not pass the path" in str(error)
        assert "CREATE TEMPORARY VIEW" in str(error)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        *(("reading", name) for name in READ_OPTIONS),
        *(("writing", name) for name in WRITE_OPTIONS),
    ],
)
def test_listed_options_are_known(call: str, name: str) -> None:
    use = Use.READ if call == "reading" else Use.WRITE
    with pytest.raises(dr.InvalidArgumentError) as caught:
        parse({"path": "t", name: "1", "some": "x"}, use)
    assert f"{call} takes no option some:" in str(caught.value)
