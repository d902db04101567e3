"""Arguments of wrong types or out of range: errors that name the argument."""

from __future__ import annotations

import datetime
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay._support import arguments

SCHEMA = pa.schema({"id": pa.int64(), "s": pa.string(), "part": pa.string()})
ROWS = pa.table({"id": [1, 2], "s": ["a", "b"], "part": ["x", "y"]})
Call = Callable[[dr.Table], object]


@pytest.fixture
def orders(tmp_path: Path) -> dr.Table:
    table = dr.create_table(
        tmp_path / "orders", SCHEMA, "part", {"delta.enableChangeDataFeed": "true"}
    )
    table.append(ROWS)
    return table


WRONG: dict[str, tuple[str, Call]] = {
    "a version as text": ("version", lambda table: table.snapshot("1")),
    "a version as a bool": ("version", lambda table: table.snapshot(True)),
    "a version as a numpy bool": ("version", lambda table: table.snapshot(np.True_)),
    "a version as a float": ("version", lambda table: table.snapshot(1.0)),
    "a timestamp as a number": ("timestamp", lambda table: table.snapshot(timestamp=5)),
    "a flag as a number": ("strict", lambda table: table.snapshot(strict=1)),
    "a flag as text": ("verify", lambda table: table.snapshot(verify="yes")),
    "a flag as None": ("durable", lambda table: table.append(ROWS, durable=None)),
    "a limit as text": ("limit", lambda table: table.history("3")),
    "a start as a bool": ("start", lambda table: table.changes(True)),
    "a start as a list": ("start", lambda table: table.changes([0])),
    "an end as a float": ("end", lambda table: table.actions(0, 1.5)),
    "a kind as a number": ("kind", lambda table: table.changes(0, kind=1)),
    "keys as a number": ("key", lambda table: table.changes(0, key=1)),
    "columns as numbers": ("columns", lambda table: table.snapshot().files(columns=[1])),
    "columns as bytes": ("columns", lambda table: table.snapshot().scan(columns=b"id")),
    "properties as a list": ("properties", lambda table: table.set_properties(["a"])),
    "a property as a number": ("properties", lambda table: table.set_properties({"a.b": 1})),
    "keys of properties as a mapping": ("keys", lambda table: table.unset_properties({"a": "b"})),
    "assignments as a list": ("set", lambda table: table.update(None, ["s"])),
    "a starting version as text": (
        "starting_version",
        lambda table: table.follow(starting_version="x"),
    ),
    "a transaction as text": ("txn", lambda table: table.append(ROWS, txn="app")),
    "the version of a transaction as text": (
        "txn",
        lambda table: table.append(ROWS, txn=("app", "1")),
    ),
    "a timeout as text": ("timeout", lambda table: table.append(ROWS, timeout="1")),
    "a retention as a number": ("retention", lambda table: table.vacuum(7)),
    "a new name as a number": ("new_name", lambda table: table.rename_column("s", 1)),
    "options as a list": ("storage_options", lambda table: dr.Table(table.uri, ["a"])),
    "an option as a number": ("storage_options", lambda table: dr.is_table(table.uri, {"a": 1})),
    "roots as a number": ("allowed_roots", lambda table: dr.Table(table.uri, allowed_roots=1)),
    "a URI as a number": ("uri", lambda _: dr.is_table(7)),
    "a URI as bytes": ("uri", lambda _: dr.Table(b"orders")),
    "a URI as None": ("uri", lambda _: dr.create_table(None, SCHEMA)),
    "partitions as a number": (
        "partition_columns",
        lambda table: dr.create_table(table.uri + "-new", SCHEMA, 3),
    ),
    "parameters as a list": ("parameters", lambda table: table.transaction(parameters=["a"])),
    "metrics as text": ("metrics", lambda table: table.transaction(metrics="a")),
    "a deletion vector as text": (
        "vectors",
        lambda table: table.transaction().update_vectors({"a.parquet": "x"}),
    ),
    "files as a number": ("files", lambda table: table.transaction().add_files(1)),
    "metadata as a mapping": ("metadata", lambda table: table.transaction().set_metadata({})),
    "a protocol as a tuple": ("protocol", lambda table: table.transaction().set_protocol((1, 2))),
    "deleted rows as a flag": ("deleted", lambda table: table.changes(0, deleted=True)),
    "deleted rows to follow as a flag": ("deleted", lambda table: table.follow(deleted=True)),
    "a layout as a number": ("layout", lambda table: table.checkpoint(layout=2)),
    "a schema mode as a flag": ("schema_mode", lambda table: table.append(ROWS, schema_mode=True)),
    "an overwrite of partitions as an array": (
        "partition_overwrite",
        lambda table: table.overwrite(ROWS, partition_overwrite=np.array(["dynamic", "static"])),
    ),
    "a snapshot as a version": ("snapshot", lambda table: table.transaction(snapshot=1)),
    "a snapshot as a table": ("snapshot", lambda table: table.transaction(snapshot=table)),
    "columns of a merge as numbers": ("on", lambda table: table.merge(ROWS, {"id": 1})),
    "files that were read as a number": (
        "paths",
        lambda table: table.transaction().read_files(1),
    ),
    "values of partitions as text": (
        "partition_values",
        lambda table: table.transaction().add("a", size=1, partition_values="part=x"),
    ),
    "values of partitions of changes as pairs": (
        "partition_values",
        lambda table: table.transaction().add_change_data(
            "a", size=1, partition_values=[("part", "x")]
        ),
    ),
    "statistics as bytes": (
        "stats",
        lambda table: table.transaction().add("a", size=1, stats=b"{}"),
    ),
    "a deletion vector as a list": ("data", lambda _: dr.DeletionVector.decode([1])),
    "deletion vectors as rows": ("vectors", lambda _: dr.DeletionVector.pack([1])),
    "deletion vectors as a number": ("vectors", lambda _: dr.DeletionVector.pack(1)),
    "the id of deletion vectors as text": (
        "name",
        lambda _: dr.DeletionVector.pack([], name="0-0"),
    ),
    "columns as an array without a dimension": (
        "columns",
        lambda table: table.snapshot().files(np.array(1)),
    ),
    "roots as an array without a dimension": (
        "allowed_roots",
        lambda table: dr.Table(table.uri, allowed_roots=np.array(1)),
    ),
    "versions of a protocol as text": (
        "min_reader_version",
        lambda _: dr.Protocol("1", 2).why_not_readable(),
    ),
    "a version of a protocol of 33 bits": (
        "min_writer_version",
        lambda _: dr.Protocol(1, 2**32).features,
    ),
    "features of a protocol as text": (
        "reader_features",
        lambda _: dr.Protocol(3, 7, "deletionVectors", []).why_not_writable(),
    ),
    "a schema as a number": (
        "schema_string",
        lambda _: dr.Protocol.for_new_table(dr.Metadata(schema_string=1)),
    ),
    "properties of metadata as numbers": (
        "configuration",
        lambda table: table.transaction().set_metadata(dr.Metadata(configuration={"a": 1})),
    ),
    "a type as its SQL name": ("data_type", lambda table: table.widen_column("id", "bigint")),
    "in Spark, a version as text": (
        "version",
        lambda table: dr_spark.read(None, table, version="1"),
    ),
    "in Spark, a flag as text": (
        "with_row_id",
        lambda table: dr_spark.read(None, table, with_row_id="no"),
    ),
    "in Spark, columns as numbers": (
        "columns",
        lambda table: dr_spark.files(None, table, columns=[1]),
    ),
    "in Spark, partitions as a number": (
        "partition_columns",
        lambda table: dr_spark.write(None, table, partition_columns=1),
    ),
    "in Spark, rows of pandas": ("df", lambda table: dr_spark.write(ROWS.to_pandas(), table)),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_type_names_the_argument(orders: dr.Table, case: str) -> None:
    argument, call = WRONG[case]
    with pytest.raises(dr.InvalidArgumentError) as caught:
        call(orders)
    assert caught.value.code == "argument.type"
    assert argument in str(caught.value).split(" needs to be ")[0]
    assert orders.snapshot().version == 1, "nothing was written"


@pytest.mark.parametrize(
    "number", [np.int64(0), np.uint8(0), np.int32(0)], ids=lambda n: n.dtype.name
)
def test_numbers_of_numpy_are_numbers(orders: dr.Table, number: Any) -> None:
    assert orders.snapshot(number).version == 0
    assert orders.changes(number, np.int64(1)).to_arrow().num_rows == 2
    assert orders.append(ROWS, txn=("app", number), durable=np.False_).version == 2


PERIODS: dict[str, Callable[[dr.Table, float], object]] = {
    "timeout": lambda table, seconds: table.append(ROWS, timeout=seconds),
    "poll_interval": lambda table, seconds: table.follow(poll_interval=seconds),
}


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1])
@pytest.mark.parametrize("call", PERIODS)
def test_a_period_is_a_number_of_seconds(orders: dr.Table, call: str, seconds: float) -> None:
    with pytest.raises(dr.InvalidArgumentError, match=f"{call} .* a finite number") as caught:
        PERIODS[call](orders, seconds)
    assert caught.value.code == "argument.range"
    assert orders.snapshot().version == 1


class Broken(datetime.tzinfo):
    """A time zone that has no offset."""

    def utcoffset(self, _: datetime.datetime | None) -> datetime.timedelta:
        raise RuntimeError("no offset")


CALLS_WITH_A_TIMESTAMP: dict[str, Callable[[dr.Table, Any], object]] = {
    "snapshot": lambda table, timestamp: table.snapshot(timestamp=timestamp),
    "changes": lambda table, timestamp: table.changes(timestamp),
    "changes to an end": lambda table, timestamp: table.changes(0, timestamp),
    "follow": lambda table, timestamp: table.follow(starting_timestamp=timestamp),
    "restore": lambda table, timestamp: table.restore(timestamp=timestamp),
    "clone": lambda table, timestamp: table.clone(table.uri + "-clone", timestamp=timestamp),
    "filter_at": lambda _, timestamp: dr.filter_at("id > 1", timestamp),
    "in Spark": lambda table, timestamp: dr_spark.read(None, table, timestamp=timestamp),
}


@pytest.mark.parametrize("timestamp", [pd.NaT, datetime.datetime(2026, 1, 1, tzinfo=Broken())])
@pytest.mark.parametrize("call", CALLS_WITH_A_TIMESTAMP)
def test_an_invalid_datetime_is_refused(orders: dr.Table, call: str, timestamp: Any) -> None:
    with pytest.raises(dr.InvalidArgumentError, match="without a time") as caught:
        CALLS_WITH_A_TIMESTAMP[call](orders, timestamp)
    assert caught.value.code == "argument.timestamp"
    assert orders.snapshot().version == 1


def test_a_timestamp_of_pandas_is_accepted(orders: dr.Table) -> None:
    committed = pd.Timestamp(orders.snapshot().timestamp).tz_convert("Asia/Tokyo")
    assert orders.snapshot(timestamp=committed).version == 1


@pytest.mark.parametrize("hours", [14, -14])
def test_timestamps_at_the_ends_of_the_calendar(orders: dr.Table, hours: int) -> None:
    zone = datetime.timezone(datetime.timedelta(hours=hours))
    for end in (datetime.datetime.min, datetime.datetime.max):
        # in UTC, one of them is out of range
        with pytest.raises(dr.VersionNotFoundError) as caught:
            orders.snapshot(timestamp=end.replace(tzinfo=zone))
        assert caught.value.code == "version.timestamp"


SURROGATES: dict[str, Call] = {
    "a filter": lambda table: table.snapshot().scan(filter="s = '\ud800'"),
    "a filter of tuples": lambda table: table.snapshot().scan(filter=[("\ud800", "=", 1)]),
    "a timestamp": lambda table: table.snapshot(timestamp="\ud800"),
    "a URI": lambda table: dr.Table(table.uri + "\ud800"),
    "a value of an option": lambda table: dr.Table(table.uri, {"a": "\udfff"}),
    "a name of a property": lambda table: table.set_properties({"\ud800": "x"}),
    "a condition": lambda table: table.delete("s = '\udc00'"),
    "a value": lambda table: table.update(None, {"s": "\udc00"}),
    "a new name": lambda table: table.rename_column("s", "\ud800"),
    "an application": lambda table: table.append(ROWS, txn=("\ud800", 1)),
    "a parameter": lambda table: table.transaction(parameters={"a": "\ud800"}),
    "a metric": lambda table: table.transaction(metrics={"a": "\ud800"}),
    "a metric that is set": lambda table: table.transaction().set_metrics({"a": "\ud800"}),
    "a tag": lambda table: table.transaction(tags={"\ud800": "a"}),
    "the engine": lambda table: table.transaction(engine_info="\ud800"),
    "a text about a commit": lambda table: table.transaction(user_metadata="\ud800"),
    "a path": lambda table: table.transaction().add("\ud800", size=1),
    "a predicate that is read": lambda table: table.transaction().read("s = '\ud800'"),
}


@pytest.mark.parametrize("case", SURROGATES)
def test_a_lone_surrogate_is_refused(orders: dr.Table, case: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        SURROGATES[case](orders)
    assert caught.value.code in ("argument.text", "filter.literal")
    assert str(caught.value).isprintable()
    assert orders.snapshot().version == 1


OUT_OF_RANGE: dict[str, Call] = {
    "a version": lambda table: table.snapshot(10**5000),
    "a start": lambda table: table.changes(-(10**5000)),
    "a limit": lambda table: table.history(2**200),
    "a version of an application": lambda table: table.transaction().set_transaction("a", 2**63),
    "a timeout below zero": lambda table: table.append(ROWS, timeout=-1),
    "a timeout of NaN": lambda table: table.append(ROWS, timeout=float("nan")),
}


@pytest.mark.parametrize("case", OUT_OF_RANGE)
def test_a_number_out_of_range(orders: dr.Table, case: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        OUT_OF_RANGE[case](orders)
    assert caught.value.code == "argument.range"
    assert orders.snapshot().version == 1


def test_a_number_of_five_thousand_digits_in_a_filter(orders: dr.Table) -> None:
    for call in (
        lambda: dr.lit(10**5000),
        lambda: orders.snapshot().scan(filter=[("id", "=", 10**5000)]),
        lambda: orders.update(None, {"id": 10**5000}),
    ):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            call()
        assert caught.value.code == "filter.literal"


def test_durations_of_thousands_of_years(orders: dr.Table) -> None:
    assert orders.append(ROWS, timeout=2.0**63).version == 2
    report = orders.vacuum(datetime.timedelta.max)
    assert report.files == ()
    assert report.cutoff == datetime.datetime.min.replace(tzinfo=datetime.timezone.utc)


WRONG_PARTS: dict[str, tuple[str, Call]] = {
    "an item": ("its item 1 is of type int", lambda table: table.snapshot().scan(["id", 1])),
    "a column": ("its key 1 is of type int", lambda table: table.update(None, {1: "x"})),
    "a property": ("its key 1 is of type int", lambda table: table.set_properties({1: "x"})),
    "the value of a property": (
        "its value of 'k' is of type int",
        lambda table: table.set_properties({"k": 1}),
    ),
    "a root": (
        "an item of allowed_roots needs to be a path or a URI but got int",
        lambda table: dr.Table(table.uri, allowed_roots=[1]),
    ),
    "an application": (
        "its first item 1 is of type int",
        lambda table: table.append(ROWS, txn=(1, 1)),
    ),
}


@pytest.mark.parametrize("case", WRONG_PARTS)
def test_the_part_of_a_wrong_type_is_named(orders: dr.Table, case: str) -> None:
    message, call = WRONG_PARTS[case]
    with pytest.raises(dr.InvalidArgumentError, match=message):
        call(orders)


def test_a_single_name_is_accepted_as_text(orders: dr.Table) -> None:
    assert orders.snapshot().partition_columns == ["part"]
    snapshot = orders.snapshot()
    assert snapshot.files("path").column_names == ["path"]
    assert snapshot.file_batches(columns="size").read_all().column_names == ["size"]
    assert snapshot.scan("id").to_arrow().column_names == ["id"]
    assert "s" in orders.changes(1, columns="s").to_arrow().column_names
    assert orders.changes(1, kind="upsert", key="id").to_arrow().num_rows == 2
    orders.set_properties({"my.key": "1"})
    orders.unset_properties("my.key")
    assert "my.key" not in orders.snapshot().properties
    clustered = dr.create_table(orders.uri + "-clustered", SCHEMA)
    clustered.cluster_by("id")
    [domain] = clustered.snapshot().domain_metadata.values()
    assert '"id"' in domain


def test_a_single_root_is_accepted(tmp_path: Path) -> None:
    for roots in (str(tmp_path), tmp_path, [tmp_path]):
        assert f"allowed_roots=[{str(tmp_path)!r}]" in repr(dr.Table("t", allowed_roots=roots))


def public() -> Iterator[tuple[str, Callable[..., object]]]:
    for module in (dr, dr_spark):
        for name in module.__all__:
            member = getattr(module, name)
            if inspect.isfunction(member):
                yield f"{module.__name__}.{name}", member
            elif inspect.isclass(member) and not issubclass(member, BaseException):
                for part, method in inspect.getmembers(member, inspect.isroutine):
                    internal = (inspect.getdoc(method) or "").startswith("Internal: ")
                    if not part.startswith("_") and hasattr(method, "__code__") and not internal:
                        yield f"{name}.{part}", method


#: These check their arguments like delta-spark's, as tests/spark/test_delta_table.py shows.
LIKE_DELTA_SPARK = ("DeltaTable", "DeltaMergeBuilder", "DeltaOptimizeBuilder", "DeltaTableBuilder")


def test_every_public_function_checks_its_arguments() -> None:
    result = {
        name: hasattr(function, "__wrapped__")
        for name, function in public()
        if name.split(".")[0] not in LIKE_DELTA_SPARK
        and any(
            arguments._rule(str(value.annotation))
            for value in inspect.signature(function).parameters.values()
        )
    }
    assert [name for name, is_checked in result.items() if not is_checked] == []
    assert len(result) > 60


def test_every_rule_has_its_annotation() -> None:
    annotations = {
        str(value.annotation).removesuffix(" | None")
        for _, function in public()
        for value in inspect.signature(function).parameters.values()
    }
    annotations |= {
        str(value.annotation).removesuffix(" | None")
        for value in inspect.signature(dr.Table.__init__).parameters.values()
    }
    assert set(arguments._RULES) - annotations == set()
