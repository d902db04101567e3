"""Our clones and delta-spark's are the same, and each reads the other's."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark.support.delta_spark_logs import properties
from spark.support.delta_tables import rows_by_delta_spark, rows_of
from support.writing import bodies

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def source(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with escaped characters in partitions, vectors, rewritten rows and row ids."""
    path = tmp_path_factory.mktemp("clone") / "from a%"
    name = f"delta.`{path}`"
    listed = properties(enableDeletionVectors="true", enableRowTracking="true")
    spark.sql(
        f"CREATE TABLE {name} (id LONG, p STRING) USING delta PARTITIONED BY (p) "
        f"COMMENT 'c' {listed}"
    )
    spark.sql(f"INSERT INTO {name} SELECT id, IF(id % 2 = 0, 'x y%', NULL) FROM range(20)")
    spark.sql(f"DELETE FROM {name} WHERE id = 3")
    spark.sql(f"UPDATE {name} SET id = id + 100 WHERE id = 4")
    return path


def _ours(path: Path, *roots: Path) -> list[dict[str, Any]]:
    table = dr.Table(path, allowed_roots=list(roots))
    return table.snapshot().scan().to_arrow().sort_by("id").to_pylist()


def test_the_log_equals_that_of_delta_spark(spark: Any, source: Path, tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    listed = "TBLPROPERTIES ('k' = 'v')"
    spark.sql(f"CREATE TABLE delta.`{theirs}` SHALLOW CLONE delta.`{source}` {listed}")
    created = dr_spark.clone(spark, source, ours, properties={"k": "v"})

    other = dr.Table(theirs, allowed_roots=[source])
    mine, expected = created.snapshot(), other.snapshot()
    fields = ("path", "partitionValues", "size", "modificationTime", "deletionVector")
    adds = [
        sorted(
            ({key: item.get(key) for key in fields} for item in bodies(table, 0, "add")), key=str
        )
        for table in (created, other)
    ]
    assert adds[0] == adds[1]
    assert any(add["deletionVector"] for add in adds[0])
    assert mine.schema_json == expected.schema_json
    assert mine.partition_columns == expected.partition_columns
    assert mine.metadata.created_time == expected.metadata.created_time
    assert mine.metadata.description == expected.metadata.description
    assert mine.properties.keys() == expected.properties.keys()
    assert set(mine.protocol.writer_features or ()) == set(expected.protocol.writer_features or ())
    infos = [bodies(table, 0, "commitInfo")[0] for table in (created, other)]
    for key in ("operation", "operationParameters", "operationMetrics", "isBlindAppend"):
        assert infos[0][key] == infos[1][key]


def test_each_engine_reads_and_changes_the_others_clone(
    spark: Any, source: Path, tmp_path: Path
) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    spark.sql(f"CREATE TABLE delta.`{theirs}` SHALLOW CLONE delta.`{source}`")
    dr.Table(source).clone(ours)
    expected = rows_by_delta_spark(spark, source)
    assert rows_by_delta_spark(spark, ours) == expected
    assert _ours(theirs, source) == _ours(source) == _ours(ours, source)
    frame = dr_spark.read(spark, dr.Table(theirs, allowed_roots=[source]))
    assert rows_of(frame) == expected

    # each engine changes the other's clone
    spark.sql(f"DELETE FROM delta.`{ours}` WHERE id = 5")
    spark.sql(f"INSERT INTO delta.`{ours}` VALUES (500, 'own')")
    other = dr.Table(theirs, allowed_roots=[source])
    other.delete("id = 5")
    other.append({"id": [500], "p": ["own"]})
    assert rows_by_delta_spark(spark, ours) == rows_by_delta_spark(spark, theirs)
    assert _ours(theirs, source) == _ours(ours, source)
    assert rows_by_delta_spark(spark, source) == expected


def test_a_clone_of_a_clone(spark: Any, source: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    spark.sql(f"CREATE TABLE delta.`{theirs}` SHALLOW CLONE delta.`{source}`")
    spark.sql(f"INSERT INTO delta.`{theirs}` VALUES (500, 'own')")
    clone = dr.Table(theirs, allowed_roots=[source]).clone(tmp_path / "again")
    assert rows_by_delta_spark(spark, tmp_path / "again") == rows_by_delta_spark(spark, theirs)
    deep = clone.clone(tmp_path / "deep", shallow=False)
    assert rows_by_delta_spark(spark, tmp_path / "deep") == rows_by_delta_spark(spark, theirs)
    assert deep.verify(rows=True).ok


def test_replacing_a_deep_clone_copies_no_existing_file(
    spark: Any, source: Path, tmp_path: Path
) -> None:
    deep = dr_spark.clone(spark, source, tmp_path / "deep", shallow=False)
    assert rows_by_delta_spark(spark, tmp_path / "deep") == rows_by_delta_spark(spark, source)
    spark.sql(f"DELETE FROM delta.`{tmp_path / 'deep'}` WHERE id = 7")
    again = dr_spark.clone(spark, source, tmp_path / "deep", shallow=False, or_replace=True)
    assert rows_by_delta_spark(spark, tmp_path / "deep") == rows_by_delta_spark(spark, source)
    assert again.uri == deep.uri
    assert again.snapshot().version == 2
    [info] = bodies(again, 2, "commitInfo")
    assert info["operationMetrics"]["numCopiedFiles"] == "0"


def test_errors_in_tasks_raise_our_exceptions(spark: Any, source: Path, tmp_path: Path) -> None:
    deep = dr.Table(source).clone(tmp_path / "from", shallow=False)
    path = next((tmp_path / "from").rglob("*.parquet"))
    path.unlink()
    with pytest.raises(dr.StorageError) as caught:
        dr_spark.clone(spark, deep, tmp_path / "to", shallow=False)
    assert caught.value.code == "storage.not_found"
    assert path.name in (caught.value.path or "")
    assert not dr.is_table(tmp_path / "to")


def _theirs_of(spark: Any, path: Path) -> dict[str, list[str]]:
    from delta.tables import DeltaTable

    DeltaTable.forPath(spark, str(path)).generate("symlink_format_manifest")
    return _manifests(path)


def _manifests(path: Path) -> dict[str, list[str]]:
    root = path / "_symlink_format_manifest"
    return {
        str(item.relative_to(root)): sorted(item.read_text().splitlines(keepends=True))
        for item in root.rglob("manifest")
    }


Write = Callable[[Any, str], object]

TABLES: dict[str, tuple[str, Write]] = {
    "plain": (
        "(id LONG) USING delta",
        lambda spark, name: spark.sql(f"INSERT INTO {name} SELECT id FROM range(4)"),
    ),
    "empty": ("(id LONG) USING delta", lambda _spark, _name: None),
    "partitioned": (
        "(id LONG, p STRING, q INT) USING delta PARTITIONED BY (p, q)",
        lambda spark, name: spark.sql(
            f"INSERT INTO {name} VALUES "
            "(1, 'x y%', 1), (2, NULL, 2), (3, 'a/b=c', 3), (4, 'é:ü', 4)"
        ),
    ),
    "moments": (
        "(id LONG, t TIMESTAMP, d DATE) USING delta PARTITIONED BY (t, d)",
        lambda spark, name: spark.sql(
            f"INSERT INTO {name} VALUES (1, TIMESTAMP'2020-01-02 03:04:05.5', DATE'2020-01-02'), "
            "(2, TIMESTAMP'2020-01-02 00:00:00', NULL)"
        ),
    ),
}


@pytest.mark.parametrize("case", TABLES)
def test_manifests_equal_those_of_delta_spark(spark: Any, tmp_path: Path, case: str) -> None:
    path = tmp_path / "t %"
    columns, write = TABLES[case]
    spark.sql(f"CREATE TABLE delta.`{path}` {columns}")
    write(spark, f"delta.`{path}`")
    expected = _theirs_of(spark, path)
    dr.Table(path).generate()
    assert _manifests(path) == expected
    # no checksum is stale: Hadoop reads the files that we wrote
    location = str(path / "_symlink_format_manifest")
    lines = spark.read.option("recursiveFileLookup", "true").text(location).collect()
    assert sorted(f"{line.value}\n" for line in lines) == sorted(chain(*expected.values()))
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 2")
    dr.Table(path).generate()
    ours = _manifests(path)
    assert ours == _theirs_of(spark, path)


def test_deep_clones_do_not_overwrite_files(spark: Any, tmp_path: Path) -> None:
    """Both tables have a file of the same name, with other rows."""
    tables = {}
    for name, ids in (("from", [1, 2, 3]), ("to", [7, 8, 9])):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"id": ids}), tmp_path / name / "data.parquet")
        tables[name] = dr.convert(tmp_path / name)
    to = tmp_path / "to"
    clone = dr_spark.clone(spark, tables["from"], to, shallow=False, or_replace=True)
    assert clone.snapshot().to_arrow()["id"].to_pylist() == [1, 2, 3]
    assert clone.snapshot(0).to_arrow()["id"].to_pylist() == [7, 8, 9]
