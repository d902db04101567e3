"""Locations of tables: unknown schemes are refused, and ``~`` is the user's home, everywhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import deltareplay as dr
from deltareplay._support.uris import without_secrets
from deltareplay.spark.format.options import ReadOptions, Use, WriteOptions, parse
from deltareplay.spark.storage.hadoop_path import root_in_spark

SCHEMA = pa.schema({"id": pa.int64()})
UNKNOWN = ("dbfs:/x", "viewfs://host/t", "wasb://c@a.blob.core.windows.net/t", "foo:bar", "a:b/c")
#: Calls that take a location.
CALLS: dict[str, Callable[[str], object]] = {
    "Table": lambda location: dr.Table(location),
    "is_table": lambda location: dr.is_table(location),
    "create_table": lambda location: dr.create_table(location, SCHEMA),
    "allowed_roots": lambda location: dr.Table("t", allowed_roots=[location]),
    "the format's path, read": lambda location: ReadOptions({"path": location}).snapshot(None),
    "the format's path, written": lambda location: WriteOptions.of(
        parse({"path": location}, Use.WRITE), overwrite=False
    ),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory other than the current directory."""
    (tmp_path / "home").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "home"


@pytest.mark.parametrize("location", UNKNOWN)
@pytest.mark.parametrize("call", CALLS)
def test_unknown_schemes_are_refused(home: Path, call: str, location: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        CALLS[call](location)
    assert caught.value.code == "uri.scheme"
    for word in (f"`{location.split(':')[0]}:`", "local paths", "s3", "abfss", "gs"):
        assert word in str(caught.value)
    if ":/" not in location:
        assert "./" in str(caught.value), "how to name a local directory"
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("location", ["./a:b/c", "sub/a:b", "2026-01-01T10:00", "./~/t"])
def test_directories_with_a_colon_or_a_tilde_in_their_name(home: Path, location: str) -> None:
    dr.create_table(location, SCHEMA)
    assert (Path.cwd() / location / "_delta_log").is_dir()
    assert dr.is_table(location)
    assert dr.Table(location).uri.startswith("file:///")


def test_a_tilde_is_the_home_directory(home: Path) -> None:
    dr.create_table("~/t", SCHEMA)
    assert (home / "t" / "_delta_log").is_dir()
    assert dr.is_table("~/t")
    assert dr.is_table(Path("~/t"))
    assert dr.Table("~").uri == home.as_uri()
    assert ReadOptions({"path": "~/t"}).snapshot(None).version == 0
    written = WriteOptions.of(parse({"path": "~/t"}, Use.WRITE), overwrite=False)
    assert written.table.uri == (home / "t").as_uri()
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("location", "named"),
    [
        ("az://container/t?sv=2024-11-04&sig=s3cret", "azure_storage_sas_token"),
        ("abfss://c@account.dfs.core.windows.net/t?sig=s3cret", "azure_storage_sas_token"),
        ("s3://bucket/t?X-Amz-Date=1&X-Amz-Signature=s3cret", "credentials"),
        ("gs://bucket/t?X-Goog-Signature=s3cret", "credentials"),
    ],
)
def test_signed_urls_are_refused(call: str, location: str, named: str) -> None:
    with pytest.raises(dr.InvalidArgumentError, match="storage_options") as caught:
        CALLS[call](location)
    assert caught.value.code == "uri.form"
    assert named in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("location", [r"C:\t\a?b", "c:/t#1", "/t/a?b"])
def test_local_paths_are_printed_unchanged(location: str) -> None:
    assert without_secrets(location) == location


@pytest.mark.parametrize(
    "location", ["s3://bucket/a?b=c", "file:///a?sig=b", "s3://bucket/a%3Fsig=b"]
)
def test_other_question_marks_are_part_of_the_path(location: str) -> None:
    assert "/a%3F" in dr.Table(location).uri


@pytest.mark.parametrize("call", CALLS)
def test_home_directories_of_other_users_are_refused(home: Path, call: str) -> None:
    with pytest.raises(dr.InvalidArgumentError, match="~") as caught:
        CALLS[call]("~nobody/t")
    assert caught.value.code == "uri.form"


def test_the_root_in_spark_refuses_a_tilde() -> None:
    assert root_in_spark("file:///t", "dbfs:/t/") == "dbfs:/t"  # Hadoop may support it
    with pytest.raises(dr.InvalidArgumentError, match="~") as caught:
        root_in_spark("file:///t", "~/t")
    assert caught.value.code == "spark.root"
