"""``deltareplay.spark.verify`` has the same findings as ``Table.verify``."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from spark.support.delta_spark_logs import properties

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

OLD = time.time() - 86_400


@pytest.fixture(scope="module")
def sound(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Partitions, vectors in files, change files, removed files."""
    path = tmp_path_factory.mktemp("verify") / "t %"
    name = f"delta.`{path}`"
    listed = properties(enableDeletionVectors="true", enableChangeDataFeed="true")
    spark.sql(f"CREATE TABLE {name} (id LONG, p STRING) USING delta PARTITIONED BY (p) {listed}")
    spark.sql(f"INSERT INTO {name} SELECT id, IF(id % 2 = 0, 'a b', 'c/d') FROM range(0, 40, 1, 1)")
    spark.sql(f"DELETE FROM {name} WHERE id % 5 = 0")
    spark.sql(f"UPDATE {name} SET id = id + 100 WHERE id = 11")
    spark.sql(f"INSERT INTO {name} VALUES (7, NULL)")
    spark.sql(f"DELETE FROM {name} WHERE p IS NULL")
    return path


def _first(path: Path) -> Path:
    """Return the first of the live files."""
    live = dr.Table(path).snapshot().scan().files()["path"].to_pylist()
    return path / unquote(sorted(live)[0])


def _missing(path: Path) -> None:
    _first(path).unlink()


def _longer(path: Path) -> None:
    file = _first(path)
    file.write_bytes(file.read_bytes() + b"!")


def _no_vector(path: Path) -> None:
    for vector in path.glob("deletion_vector_*.bin"):
        vector.unlink()


def _bad_vector(path: Path) -> None:
    for vector in path.glob("deletion_vector_*.bin"):
        content = vector.read_bytes()
        vector.write_bytes(content[:8] + bytes(len(content) - 8))


def _bad_rows(path: Path) -> None:
    file = _first(path)
    content = file.read_bytes()
    file.write_bytes(content[:4] + bytes(56) + content[60:])


def _orphans(path: Path) -> None:
    for name in ("p=z/orphan.parquet", "loose.parquet", "_hidden/x", "sub/deep/y.bin"):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(b"nobody knows it")
        os.utime(path / name, (OLD, OLD))
    (path / "young.parquet").write_bytes(b"somebody still writes it")


def _gap(path: Path) -> None:
    (path / "_delta_log" / f"{2:020}.json").unlink()


DAMAGE: dict[str, tuple[Callable[[Path], None], set[str]]] = {
    "none": (lambda _path: None, set()),
    "a missing file": (_missing, {"file.missing"}),
    "a longer file": (_longer, {"file.size"}),
    "missing vectors": (_no_vector, {"dv.missing"}),
    "bad vectors": (_bad_vector, {"dv.checksum"}),
    "bad rows": (_bad_rows, {"data.pages"}),
    "orphans": (_orphans, {"file.orphan"}),
    "a gap": (_gap, {"log.gap"}),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_has_the_findings_of_table_verify(
    spark: Any, sound: Path, tmp_path: Path, case: str
) -> None:
    damage, codes = DAMAGE[case]
    path = tmp_path / "t %"
    shutil.copytree(sound, path)
    damage(path)
    rows = case in ("none", "bad rows")
    expected = dr.Table(path).verify(rows=rows)
    result = dr_spark.verify(spark, path, rows=rows)
    assert set(result.findings) == set(expected.findings)
    assert [finding.severity for finding in result.findings] == [
        finding.severity for finding in expected.findings
    ]
    assert codes <= {finding.code for finding in result.findings}
    assert case != "none" or result.findings == ()
    for name in ("version", "num_commits", "num_checkpoints", "num_checksums", "num_files"):
        assert getattr(result, name) == getattr(expected, name)
    assert (result.omitted, result.ok) == (expected.omitted, expected.ok)


def test_rejects_a_directory_without_a_table(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(dr.TableNotFoundError) as caught:
        dr_spark.verify(spark, tmp_path)
    assert caught.value.code == "table.not_found"
