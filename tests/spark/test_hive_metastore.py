"""Tables by name from a real Hive Metastore, the one in PySpark's jars."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from stores.servers import hive_metastore

import deltareplay as dr
from deltareplay.catalogs import HiveMetastore

pyspark = pytest.importorskip("pyspark", reason="pip install --group spark-tests")
pytest.importorskip("delta", reason="pip install --group spark-tests")
pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A metastore with the tables of ``hive_tables``."""
    directory = tmp_path_factory.mktemp("hive")
    with hive_metastore(directory / "metastore") as address:
        script = Path(__file__).parent / "support" / "hive_tables.py"
        command = [sys.executable, str(script), address, str(directory / "tables")]
        done = subprocess.run(
            command,
            cwd=directory,
            env=os.environ | {"PYSPARK_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        yield address


@pytest.mark.parametrize(
    ("name", "ids"),
    {
        "managed": [1],
        "external": [2],
        "partitioned": [3, 4],
        "RENAMED": [5],
        "athena": [2],
        "trino": [2],
    }.items(),
)
def test_a_delta_table_opens_by_its_name(uri: str, name: str, ids: list[int]) -> None:
    opened = dr.Table.from_name(f"sales.{name}", HiveMetastore(uri))

    assert sorted(opened.snapshot().scan().to_arrow()["id"].to_pylist()) == ids


def test_a_name_is_accepted_instead_of_a_uri(uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIVE_METASTORE_URI", uri)

    assert dr.Table("hive://sales.managed").snapshot().version == 0
    assert dr.Table("hive://sales.`external`").uri.endswith("/a%20b%2520c")


@pytest.mark.parametrize(
    ("name", "reason"),
    {
        "parquet": "the format parquet",
        "orc": "the format OrcInputFormat",
        "seen": "a view",
        "symlinks": "Open the table itself: .*/big$",
    }.items(),
)
def test_tables_of_other_formats_are_refused(uri: str, name: str, reason: str) -> None:
    with pytest.raises(dr.TableNotFoundError) as caught:
        HiveMetastore(uri).locate(f"sales.{name}")
    assert caught.value.code == "catalog.not_delta"
    assert caught.match(rf"(?m)^sales.{name} .*{reason}")


@pytest.mark.parametrize("name", ["sales.nothing", "nothing.orders", "spark.sales.managed"])
def test_missing_tables_are_not_found(uri: str, name: str) -> None:
    with pytest.raises(dr.TableNotFoundError) as caught:
        HiveMetastore(uri).locate(name)
    assert caught.value.code == "catalog.no_table"
