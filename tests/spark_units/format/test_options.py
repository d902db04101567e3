"""Typed values of the options of the format, and the errors for invalid ones."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltareplay as dr
from deltareplay.spark.catalog.lookup import roots_option
from deltareplay.spark.format.options import (
    OPTIONS,
    ReadOptions,
    Use,
    WriteOptions,
    parse,
    table,
)

BOOLEANS = [option.name for option in OPTIONS if option.kind == "boolean"]


def read(**options: str) -> ReadOptions:
    return ReadOptions({"path": "t", **options})


def write(options: dict[str, str], *, overwrite: bool = False) -> WriteOptions:
    return WriteOptions.of(parse({"path": "t", **options}, Use.WRITE), overwrite=overwrite)


def code_of(call: Any) -> str:
    with pytest.raises(dr.DeltaReplayError) as caught:
        call()
    return caught.value.code


def test_the_last_spelling_applies() -> None:
    """As in Spark, whose options are case-insensitive."""
    options = {"path": "t", "mergeSchema": "true", "MERGESCHEMA": "false", "PATH": "u"}
    assert parse(options, Use.WRITE) == {"path": "u", "mergeSchema": False}


def test_the_error_for_an_unknown_option_lists_those_that_replace_rows() -> None:
    options = {"path": "t", "replaceUsing": "id", "some": "x"}
    with pytest.raises(dr.InvalidArgumentError) as caught:
        parse(options, Use.WRITE | Use.REPLACE)
    assert caught.value.code == "option.unknown"
    assert (
        str(caught.value)
        .split(", delta.<property>")[1]
        .startswith(", replaceUsing, replaceOn, targetAlias")
    )


def test_rows_of_a_stream() -> None:
    options = {"readChangeData": "TRUE", "ignoreChanges": "false", "skipChangeCommits": "true"}
    assert read(**options).rows == {
        "kind": "full-delta",
        "ignore_changes": False,
        "skip_change_commits": True,
    }
    assert read(FAILONDATALOSS="FALSE").rows == {"fail_on_data_loss": False}
    assert read(ignoreFileDeletion="true").rows == {"ignore_changes": True, "ignore_deletes": True}
    options = {"changeKind": "upsert", "changeDeleted": "include", "changeKey": "a, b"}
    assert read(**options, filter="a > 1").rows == {
        "kind": "upsert",
        "deleted": "include",
        "key": ("a", "b"),
        "filter": "a > 1",
    }


@pytest.mark.parametrize(("feed", "data"), [("true", "false"), ("false", "true")])
def test_either_name_turns_on_changes(feed: str, data: str) -> None:
    """As delta-spark 4.4, which reads changes if one of both options is true."""
    assert read(readChangeFeed=feed, readChangeData=data).gives_changes
    assert read(readChangeData=data, readChangeFeed=feed).gives_changes
    assert not read(readChangeFeed="false", readChangeData="false").gives_changes


@pytest.mark.parametrize(
    ("text", "size"),
    {
        "10": 10,
        "7b": 7,
        "2k": 2048,
        "2KB": 2048,
        "3m": 3 << 20,
        "1g": 1 << 30,
        "1tb": 1 << 40,
        "1p": 1 << 50,
    }.items(),
)
def test_sizes(text: str, size: int) -> None:
    assert read(maxBytesPerTrigger=text).limits == {"max_bytes_per_batch": size}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("maxFilesPerTrigger", text) for text in ("", "x", "0", "-1", "1.5g", "m", "1_0k")),
        *(("startingVersion", text) for text in ("first", "-1")),
        ("endingVersion", ""),
        ("versionAsOf", "latest"),
        *(("splitSize", text) for text in ("large", "0", "-1")),
    ],
)
def test_invalid_numbers_are_refused(name: str, text: str) -> None:
    with pytest.raises(dr.InvalidArgumentError, match=f"{name} takes .*, not {text!r}") as caught:
        read(**{name: text})
    assert caught.value.code == "option.number"


@pytest.mark.parametrize("text", ["a{99999999999}", "(" * 5000 + ")" * 5000, "[[a]]"])
def test_invalid_regular_expressions_are_refused(text: str) -> None:
    assert code_of(lambda: read(excludeRegex=text).excluded()) == "option.regex"


@pytest.mark.parametrize("name", BOOLEANS)
@pytest.mark.parametrize("text", ["", "yes", "1", "on", " true", "truee", "null"])
def test_a_boolean_is_true_or_false(tmp_path: Path, name: str, text: str) -> None:
    """As ``toBoolean`` of delta-spark's ``DeltaOptions``: "must be 'true' or 'false'"."""
    [option] = [option for option in OPTIONS if option.name == name]
    use = Use.READ if option.uses & Use.READ else Use.WRITE
    with pytest.raises(dr.InvalidArgumentError) as caught:
        parse({"path": str(tmp_path), name.upper(): text}, use)
    assert caught.value.code == "option.boolean"
    assert f"the option {name} takes true or false, not {text!r}" in str(caught.value)


@pytest.mark.parametrize("name", BOOLEANS)
@pytest.mark.parametrize("text", ["true", "TRUE", "True", "false", "FALSE"])
def test_a_boolean_in_any_case(name: str, text: str) -> None:
    [option] = [option for option in OPTIONS if option.name == name]
    values = parse({"path": "t", name.lower(): text}, option.uses)
    assert values[option.alias_of or name] is (text.lower() == "true")


def test_booleans_that_are_delta_options() -> None:
    """The booleans of delta-spark 4.4's ``DeltaOptions`` that the format takes."""
    assert set(BOOLEANS) == {
        *("mergeSchema", "overwriteSchema", "readChangeFeed", "readChangeData"),
        *("ignoreDeletes", "ignoreChanges", "ignoreFileDeletion", "skipChangeCommits"),
        "failOnDataLoss",
        *("withRowId", "withFilePath", "withRowIndex"),  # the format's own
    }


@pytest.mark.parametrize(
    ("options", "stream", "code"),
    [
        ({"maxFilesPerTrigger": "1"}, False, "option.stream"),
        ({"startingVersion": "1"}, False, "option.stream"),
        (
            {"readChangeFeed": "true", "startingVersion": "1", "ignoreDeletes": "true"},
            False,
            "option.stream",
        ),
        (
            {"readChangeFeed": "true", "startingVersion": "1", "withRowId": "true"},
            False,
            "option.stream",
        ),
        ({"readChangeFeed": "true"}, False, "option.start"),
        (
            {"readChangeFeed": "true", "startingVersion": "1", "startingTimestamp": "x"},
            False,
            "option.start",
        ),
        (
            {
                "changeKind": "upsert",
                "startingVersion": "1",
                "endingVersion": "2",
                "endingTimestamp": "x",
            },
            False,
            "option.start",
        ),
        ({"versionAsOf": "1"}, True, "option.batch"),
        ({"endingVersion": "1"}, True, "option.batch"),
        ({"startingVersion": "1", "startingTimestamp": "x"}, True, "option.start"),
    ],
)
def test_options_that_do_not_fit_the_read(options: dict[str, str], stream: bool, code: str) -> None:
    assert code_of(lambda: read(**options).check(stream=stream)) == code


def test_options_that_fit_the_read() -> None:
    read(readChangeFeed="false", versionAsOf="1", withRowId="true").check(stream=False)
    read(readChangeFeed="true", startingVersion="LATEST", endingTimestamp="x").check(stream=False)
    read(readChangeFeed="true", startingVersion="1", schemaLocation="x").check(stream=True)
    tracking = {f"allowSourceColumn{name}": "always" for name in ("Drop", "Rename", "TypeChange")}
    read(**tracking, streamingSourceTrackingId="a", schemaTrackingLocation="x").check(stream=True)


def test_a_range_of_changes() -> None:
    assert read(startingVersion="2").change_range(7) == (2, 7)
    assert read(startingVersion="9").change_range(7) == (9, 9)
    assert read(startingVersion="latest", endingVersion="Latest").change_range(7) == (7, 7)
    times = {"startingTimestamp": "2026-01-01", "endingTimestamp": "2026-01-02"}
    assert read(**times).change_range(7) == ("2026-01-01", "2026-01-02")
    assert read(startingVersion="LATEST").start == {"starting_version": "latest"}


def test_options_precede_settings_of_the_session() -> None:
    """The names of properties keep their case."""
    session = '{"mergeSchema": true, "userMetadata": "s", "txn": ["s", 1], "partitionBy": ["p"]}'
    from_session = write({"deltareplay.session": session})
    assert (from_session.merge_schema, from_session.user_metadata) == (True, "s")
    assert (from_session.txn, from_session.partition_by) == (("s", 1), ("p",))
    options = {"MERGESCHEMA": "false", "userMetadata": "o", "partitionBy": "a, b"}
    txn = {"txnAppId": "o", "txnVersion": "2"}
    own = write({"deltareplay.session": session, **options, **txn, "Delta.enableX": "1"})
    assert (own.merge_schema, own.user_metadata, own.txn_app_id) == (False, "o", "o")
    assert (own.txn, own.partition_by) == (("o", 2), ("a", "b"))
    assert own.properties == {"Delta.enableX": "1"}


def test_write_options_hide_credentials_and_pickle(tmp_path: Path) -> None:
    dr.create_table(tmp_path / "t", pa.schema({"id": pa.int64()}))
    options = {
        "path": str(tmp_path / "t"),
        "allowedRoots": str(tmp_path),
        "storage.aws_secret": "hush",
    }
    parsed = write(options)
    assert "hush" not in repr(parsed)
    copy = pickle.loads(pickle.dumps(parsed))
    assert copy.table.snapshot().version == 0
    assert copy.table.uri == (tmp_path / "t").as_uri()


@pytest.mark.parametrize("option", ["/a,/b", roots_option(["/a", "/b"])])
def test_allowed_roots_are_a_list_or_that_of_the_catalog(option: str) -> None:
    values = parse({"path": "/t", "allowedRoots": option}, Use.READ)
    assert table(values).allowed_roots == ["/a", "/b"]


@pytest.mark.parametrize(
    ("options", "overwrite", "code"),
    [
        ({"replaceWhere": "a = 1"}, False, "option.write"),
        ({"overwriteSchema": "true"}, False, "option.write"),
        ({"replaceWhere": "a = 1", "partitionOverwriteMode": "DYNAMIC"}, True, "option.write"),
        ({"partitionOverwriteMode": "some"}, True, "option.write"),
        ({"txnVersion": "1"}, False, "option.write"),
        ({"txnAppId": "a", "txnVersion": "x"}, False, "option.number"),
        ({"REPLACEUSING": "a"}, True, "option.replace"),
        ({"replaceOn": "true", "some": "x"}, True, "option.replace"),
        ({"targetAlias": "t"}, True, "option.unknown"),
        ({"provider": "delta"}, True, "option.path"),
    ],
)
def test_options_that_do_not_fit_the_write(
    options: dict[str, str], overwrite: bool, code: str
) -> None:
    assert code_of(lambda: write(options, overwrite=overwrite)) == code


def test_a_table_of_the_catalog_has_properties() -> None:
    """Spark passes all properties of a table that ``CREATE TABLE ... USING delta`` created."""
    options = read(provider="delta", owner="me", **{"delta.appendOnly": "true", "storage.Key": "x"})
    assert options.values == {"path": "t", "storage.<key>": {"key": "x"}}
    assert code_of(lambda: read(provider="deltareplay")) == "option.path"


def test_a_path_of_the_catalog_is_not_encoded() -> None:
    """For ``LOCATION '/t/a%2Fb'`` Spark passes Hadoop's form of the path."""
    assert read(provider="delta", path="file:/t/a%2Fb").values["path"] == "file:/t/a%252Fb"
    assert read(provider="delta", path="/t/a%2Fb").values["path"] == "/t/a%2Fb"
    assert read(path="file:/t/a%20b").values["path"] == "file:/t/a%20b"
