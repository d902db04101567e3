"""``Table``: its location, and its versions."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support import logs, samples

import deltareplay as dr

UTC = datetime.timezone.utc
LAST = 2


@pytest.mark.parametrize(
    "spelled",
    [
        pytest.param(lambda path: str(path), id="text"),
        pytest.param(lambda path: path, id="path"),
        pytest.param(lambda path: f"{path}/", id="slash-at-the-end"),
        pytest.param(lambda path: path.as_uri(), id="file-uri"),
        pytest.param(lambda path: f"{path.parent}/./{path.name}", id="dot"),
    ],
)
def test_opens_every_spelling_of_a_local_path(events: logs.LogBuilder, spelled: Any) -> None:
    table = dr.Table(spelled(events.table))

    assert table.snapshot().version == LAST
    assert table == dr.Table(events.uri)
    assert hash(table) == hash(dr.Table(events.uri))


def test_opens_a_relative_path(events: logs.LogBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(events.table.parent)
    table = dr.Table(events.table.name)
    monkeypatch.chdir("/")

    assert table.snapshot().version == LAST, "a table stays where it was"


def test_creating_a_table_object_reads_nothing(tmp_path: Path) -> None:
    path = tmp_path / "later"
    table = dr.Table(path)

    assert not path.exists()
    with pytest.raises(dr.TableNotFoundError) as caught:
        table.snapshot()
    assert caught.value.code == "table.not_found"
    samples.events(path)
    assert table.snapshot().version == LAST, "the missing table is not cached"


@pytest.mark.parametrize("name", ["white space", "percent %41", "plus+", "ünïcode", "a#b?c"])
def test_opens_paths_with_special_characters(tmp_path: Path, name: str) -> None:
    log = samples.events(tmp_path / name)

    assert dr.Table(log.table).snapshot().num_files == 2
    assert dr.Table(log.table.as_uri()).snapshot().num_files == 2


def test_tables_differ_by_uri_and_options(tmp_path: Path) -> None:
    table = dr.Table(tmp_path)

    assert table != dr.Table(tmp_path / "other")
    assert table != dr.Table(tmp_path, strict=True)
    assert table != dr.Table(tmp_path, allowed_roots=["/"])
    assert table != dr.Table(tmp_path, {"aws_region": "x"})
    assert table != str(tmp_path)


def test_repr_names_the_uri_and_keeps_secrets(tmp_path: Path) -> None:
    options = {"aws_secret_access_key": "hunter2", "aws_access_key_id": "AKIA"}
    table = dr.Table("s3://bucket/table", options, ["s3://other"], strict=True)

    assert repr(table) == (
        "Table('s3://bucket/table', storage_options=<aws_access_key_id, aws_secret_access_key>, "
        "allowed_roots=['s3://other'], strict=True)"
    )
    assert str(tmp_path) in repr(dr.Table(tmp_path))


def test_is_table(events: logs.LogBuilder, tmp_path: Path) -> None:
    (tmp_path / "empty" / "_delta_log").mkdir(parents=True)

    assert dr.is_table(events.uri)
    assert not dr.is_table(tmp_path / "empty")
    assert not dr.is_table(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("uri", "options", "code"),
    [
        ("ftp://host/table", None, "uri.scheme"),
        ("s3://bucket/table", {"no_such_option": "1"}, "options.unknown"),
        ("s3://bucket/table", {"aws_region": 1}, "argument.type"),
        ("s3://bucket/table", {1: "1"}, "argument.type"),
        (7, None, "argument.type"),
    ],
)
def test_refuses_invalid_uris_and_options(uri: Any, options: Any, code: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.Table(uri, options)
    assert caught.value.code == code


def test_a_type_error_keeps_the_secret() -> None:
    message = "'aws_secret_access_key' is of type bytes"
    with pytest.raises(dr.InvalidArgumentError, match=message) as caught:
        dr.Table("s3://b/t", {"aws_secret_access_key": b"hunter2"})  # type: ignore[dict-item]
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("roots", [b"/data", [1], 5])
def test_allowed_roots_are_a_sequence_of_text(tmp_path: Path, roots: Any) -> None:
    with pytest.raises(dr.InvalidArgumentError, match="allowed_roots needs to be a"):
        dr.Table(tmp_path, allowed_roots=roots)


@pytest.mark.parametrize("version", range(LAST + 1))
def test_travels_to_a_version(events: logs.LogBuilder, version: int) -> None:
    snapshot = dr.Table(events.uri).snapshot(version=version)

    assert snapshot.version == version
    paths = snapshot.files(columns=["path"])["path"].to_pylist()
    assert sorted(paths) == sorted(events.state(version).live_paths())


@pytest.mark.parametrize(
    ("timestamp", "version"),
    [
        (datetime.datetime(2026, 1, 1), 0),
        (datetime.datetime(2026, 1, 1, 23, 59, 59, 999_999), 0),
        (datetime.datetime(2026, 1, 2, tzinfo=UTC), 1),
        (
            datetime.datetime(2026, 1, 3, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
            1,
        ),
        ("2026-01-02", 1),
        ("2026-01-02 23:59:59", 1),
        ("2026-01-02T23:59:59.999Z", 1),
        ("2026-01-03T02:00:00+02:00", 2),
    ],
    ids=str,
)
def test_travels_to_a_timestamp(table: dr.Table, timestamp: Any, version: int) -> None:
    assert table.snapshot(timestamp=timestamp).version == version


@pytest.mark.parametrize("timestamp", ["2025-12-31T23:59:59Z", "2026-01-03T00:00:01Z"])
def test_a_timestamp_before_or_after_the_log_has_no_version(
    table: dr.Table, timestamp: str
) -> None:
    with pytest.raises(dr.VersionNotFoundError) as caught:
        table.snapshot(timestamp=timestamp)
    assert caught.value.code == "version.timestamp"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"version": -1}, "argument.range"),
        ({"version": 2**70}, "argument.range"),
        ({"version": 1, "timestamp": "2026-01-01"}, "argument.version_and_timestamp"),
        ({"timestamp": "yesterday"}, "argument.timestamp"),
    ],
    ids=str,
)
def test_refuses_invalid_versions_and_timestamps(
    table: dr.Table, arguments: Any, code: str
) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.snapshot(**arguments)
    assert caught.value.code == code


@pytest.mark.parametrize("arguments", [{"version": "1"}, {"timestamp": 5}, {"strict": 1}], ids=str)
def test_refuses_arguments_of_another_type(table: dr.Table, arguments: Any) -> None:
    with pytest.raises(dr.InvalidArgumentError, match=next(iter(arguments))):
        table.snapshot(**arguments)


def test_history_is_newest_first(table: dr.Table) -> None:
    history = table.history()

    assert history["version"].to_pylist() == [2, 1, 0]
    assert history["operation"].to_pylist() == ["WRITE", "WRITE", "CREATE TABLE"]
    timestamps = [timestamp.isoformat() for timestamp in history["timestamp"].to_pylist()]
    assert timestamps == [f"2026-01-0{day}T00:00:00+00:00" for day in (3, 2, 1)]
    assert table.history(1)["version"].to_pylist() == [2]
    assert table.history(0).num_rows == 0
    assert table.history(0).schema == history.schema
    with pytest.raises(dr.InvalidArgumentError, match="limit is -1"):
        table.history(-1)


def test_history_of_a_version(events: logs.LogBuilder) -> None:
    table = dr.Table(events.uri)
    for version in range(3):
        row = table.history().slice(2 - version, 1)
        assert table.history(version=version).to_pylist() == row.to_pylist()
    assert table.history(version=1).schema == table.history().schema
    with pytest.raises(dr.VersionNotFoundError) as caught:
        table.history(version=3)
    assert caught.value.code == "version.not_found"
    with pytest.raises(dr.InvalidArgumentError, match="cannot be combined"):
        table.history(1, version=1)
    with pytest.raises(dr.InvalidArgumentError, match="version is -1"):
        table.history(version=-1)
    # other versions are not read
    (events.table / "_delta_log" / f"{2:020}.json").write_text("{")
    assert table.history(version=1)["operation"].to_pylist() == ["WRITE"]


def test_history_of_a_version_with_only_a_checkpoint(events: logs.LogBuilder) -> None:
    events.checkpoint()
    events.delete_commits(3)
    with pytest.raises(dr.VersionNotFoundError, match="only its checkpoint") as caught:
        dr.Table(events.uri).history(version=2)
    assert caught.value.version == 2


def test_actions_return_the_log(events: logs.LogBuilder) -> None:
    reader = dr.Table(events.uri).actions(0)
    assert isinstance(reader, pa.RecordBatchReader)
    rows = reader.read_all().to_pylist()

    expected = [
        (version, kind, body.get("path"))
        for version, actions in enumerate(events.commits)
        for action in actions
        for kind, body in action.items()
    ]
    result = []
    for row in rows:
        version = row.pop("version")
        [(kind, body)] = [(kind, body) for kind, body in row.items() if body is not None]
        result.append((version, kind, body.get("path")))
    assert sorted(result, key=str) == sorted(expected, key=str)


def test_actions_of_a_range(table: dr.Table) -> None:
    versions = table.actions(1, 1).read_all()["version"].to_pylist()
    assert set(versions) == {1}
    with pytest.raises(dr.VersionNotFoundError) as caught:
        table.actions(3).read_all()
    assert caught.value.code == "version.range"
    with pytest.raises(dr.InvalidArgumentError, match="start is -1"):
        table.actions(-1)
    with pytest.raises(dr.InvalidArgumentError, match="end is before start"):
        table.actions(2, 1).read_all()
