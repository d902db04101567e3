"""Where a table may lie: an unknown scheme is refused, and ``~`` is the user's home, everywhere."""

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
#: Every way to say where a table lies.
ENTRANCES: dict[str, Callable[[str], object]] = {
    "Table": lambda place: dr.Table(place),
    "is_table": lambda place: dr.is_table(place),
    "create_table": lambda place: dr.create_table(place, SCHEMA),
    "allowed_roots": lambda place: dr.Table("t", allowed_roots=[place]),
    "the format's path, read": lambda place: ReadOptions({"path": place}).snapshot(None),
    "the format's path, written": lambda place: WriteOptions.of(
        parse({"path": place}, Use.WRITE), overwrite=False
    ),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home, in another directory than the one that one works in."""
    (tmp_path / "home").mkdir()
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "home"


@pytest.mark.parametrize("place", UNKNOWN)
@pytest.mark.parametrize("entrance", ENTRANCES)
def test_an_unknown_scheme_is_no_directory(home: Path, entrance: str, place: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        ENTRANCES[entrance](place)
    assert caught.value.code == "uri.scheme"
    for word in (f"`{place.split(':')[0]}:`", "local paths", "s3", "abfss", "gs", "./"):
        assert word in str(caught.value) or (word == "./" and place[0] in "dvw")
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("place", ["./a:b/c", "sub/a:b", "2026-01-01T10:00", "./~/t"])
def test_a_directory_with_such_a_name(home: Path, place: str) -> None:
    dr.create_table(place, SCHEMA)
    assert (Path.cwd() / place / "_delta_log").is_dir()
    assert dr.is_table(place)
    assert dr.Table(place).uri.startswith("file:///")


def test_a_tilde_is_the_home(home: Path) -> None:
    dr.create_table("~/t", SCHEMA)
    assert (home / "t" / "_delta_log").is_dir()
    assert dr.is_table("~/t")
    assert dr.is_table(Path("~/t"))
    assert dr.Table("~").uri == home.as_uri()
    assert ReadOptions({"path": "~/t"}).snapshot(None).version == 0
    written = WriteOptions.of(parse({"path": "~/t"}, Use.WRITE), overwrite=False)
    assert written.table.uri == (home / "t").as_uri()
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("entrance", ENTRANCES)
@pytest.mark.parametrize(
    ("place", "named"),
    [
        ("az://container/t?sv=2024-11-04&sig=s3cret", "azure_storage_sas_token"),
        ("abfss://c@account.dfs.core.windows.net/t?sig=s3cret", "azure_storage_sas_token"),
        ("s3://bucket/t?X-Amz-Date=1&X-Amz-Signature=s3cret", "credentials"),
        ("gs://bucket/t?X-Goog-Signature=s3cret", "credentials"),
    ],
)
def test_a_signature_is_no_part_of_the_path(entrance: str, place: str, named: str) -> None:
    with pytest.raises(dr.InvalidArgumentError, match="storage_options") as caught:
        ENTRANCES[entrance](place)
    assert caught.value.code == "uri.form"
    assert named in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("place", [r"C:\t\a?b", "c:/t#1", "/t/a?b"])
def test_a_local_path_is_printed_as_it_is(place: str) -> None:
    assert without_secrets(place) == place


@pytest.mark.parametrize("place", ["s3://bucket/a?b=c", "file:///a?sig=b", "s3://bucket/a%3Fsig=b"])
def test_any_other_question_mark_is(place: str) -> None:
    assert "/a%3F" in dr.Table(place).uri


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_the_home_of_others_is_not_known(home: Path, entrance: str) -> None:
    with pytest.raises(dr.InvalidArgumentError, match="~") as caught:
        ENTRANCES[entrance]("~nobody/t")
    assert caught.value.code == "uri.form"


def test_the_root_for_spark_knows_no_tilde() -> None:
    assert root_in_spark("file:///t", "dbfs:/t/") == "dbfs:/t"  # Hadoop may know it
    with pytest.raises(dr.InvalidArgumentError, match="~") as caught:
        root_in_spark("file:///t", "~/t")
    assert caught.value.code == "spark.root"
