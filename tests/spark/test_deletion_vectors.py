"""Deletion vectors between delta-spark and us: what either writes, the other reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import deltareplay as dr

pytestmark = pytest.mark.spark

#: Rows of the data file that our own vectors are for.
ROWS = 200_000

#: Vectors in every form of container, and one that deletes all but one row.
SETS: dict[str, Sequence[int]] = {
    "one": [0],
    "few": [3, 4, 7, 11, 18, 29],
    "array": range(0, ROWS, 97),
    "bitmap": range(0, ROWS, 3),
    "runs": [*range(10, 60_000), *range(65_530, 131_080)],
    "last": [ROWS - 1],
    "nearly_all": range(1, ROWS),
}


def deletion_vectors(path: Path, version: int | None = None) -> list[dict[str, Any]]:
    files = dr.Table(path).snapshot(version=version).files().to_pylist()
    return [file for file in files if file["deletionVector"]]


def decoded(path: Path, descriptor: dict[str, Any]) -> dr.DeletionVector:
    """By the file's own name, which a fresh pack of the same UUID has, too."""
    import uuid

    assert descriptor["storageType"] == "u"
    for file in path.rglob("deletion_vector_*.bin"):
        name = uuid.UUID(file.stem.removeprefix("deletion_vector_"))
        prefix = "" if file.parent == path else file.parent.name
        [same] = dr.DeletionVector.pack(
            [dr.DeletionVector.from_rows([])], name=name, prefix=prefix
        )[2]
        if same["pathOrInlineDv"] == descriptor["pathOrInlineDv"]:
            data = file.read_bytes()
            count = descriptor["cardinality"]
            return dr.DeletionVector.decode(data, offset=descriptor["offset"], cardinality=count)
    raise AssertionError(f"no file for {descriptor}")


@pytest.fixture(scope="module")
def ours(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose versions 1 and up each put one of our vectors onto the same file."""
    path = tmp_path_factory.mktemp("ours") / "t"
    spark.sql(
        f"CREATE TABLE delta.`{path}` (id LONG) USING delta "
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    spark.range(0, ROWS, 1, 1).write.format("delta").mode("append").save(str(path))
    [add] = dr.Table(path).snapshot().files().to_pylist()
    stats = json.loads(add["stats"]) | {"tightBounds": False}
    name, data, descriptors = dr.DeletionVector.pack(
        [dr.DeletionVector.from_rows(rows) for rows in SETS.values()], prefix="x9"
    )
    (path / "x9").mkdir()
    (path / name).write_bytes(data)
    before: dict[str, Any] = {}
    for version, descriptor in enumerate(descriptors, start=2):
        common = {"path": add["path"], "dataChange": True, "partitionValues": {}}
        remove = common | before | {"deletionTimestamp": 1, "extendedFileMetadata": True}
        before = {"deletionVector": descriptor}
        new = common | before
        new |= {"size": add["size"], "modificationTime": 1, "stats": json.dumps(stats)}
        info = {"timestamp": version, "operation": "DELETE", "operationParameters": {}}
        lines = [{"commitInfo": info}, {"remove": remove}, {"add": new}]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (path / "_delta_log" / f"{version:020}.json").write_text(text)
    return path


@pytest.mark.parametrize("name", SETS)
def test_delta_spark_reads_what_we_write(spark: Any, ours: Path, name: str) -> None:
    version = 2 + list(SETS).index(name)
    reader = spark.read.format("delta").option("versionAsOf", version)

    rows = {row.id for row in reader.load(str(ours)).collect()}

    assert rows == set(range(ROWS)) - set(SETS[name])


def test_delta_spark_deletes_on_top_of_ours(spark: Any, ours: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    import shutil

    shutil.copytree(ours, copy)
    latest = dr.Table(copy).snapshot().version
    spark.sql(f"RESTORE TABLE delta.`{copy}` TO VERSION AS OF {2 + list(SETS).index('runs')}")
    spark.sql(f"DELETE FROM delta.`{copy}` WHERE id % 1000 = 5")

    [file] = deletion_vectors(copy)
    vector = decoded(copy, file["deletionVector"])

    assert dr.Table(copy).snapshot().version == latest + 2
    assert vector == dr.DeletionVector.from_rows({*SETS["runs"], *range(5, ROWS, 1000)})


def test_inline_vectors_are_read_by_delta_spark(spark: Any, ours: Path) -> None:
    """Its own class for stored bitmaps takes what we encode into the log."""
    jvm = spark._jvm
    for rows in ([0], [3, 4, 7, 11, 18, 29], list(range(70_000)), [1 << 33]):
        inline = dr.DeletionVector.from_rows(rows).encode_inline()
        text = json.dumps(inline)
        codec = jvm.org.apache.spark.sql.delta.util.Codec.Base85Codec
        data = codec.decodeBytes(inline["pathOrInlineDv"], inline["sizeInBytes"])
        array = jvm.org.apache.spark.sql.delta.deletionvectors.RoaringBitmapArray.readFrom(data)
        assert array.cardinality() == len(rows), text
        assert array.contains(rows[0])
        assert array.contains(rows[-1])
        assert not array.contains(rows[-1] + 1)
    assert ours.exists()


def test_we_decode_what_delta_spark_wrote(spark: Any, tables: Any) -> None:
    """The rows that are missing are those of the vectors, by position in each file."""
    path = tables("vectors")
    checked = 0
    for version in range(dr.Table(path).snapshot().version + 1):
        expected = {
            (row.file, row.id)
            for row in spark.read.format("delta")
            .option("versionAsOf", version)
            .load(str(path))
            .selectExpr("_metadata.file_name AS file", "id")
            .collect()
        }
        found = set()
        for file in dr.Table(path).snapshot(version=version).files().to_pylist():
            table = pq.read_table(path / file["path"])
            if file["deletionVector"]:
                vector = decoded(path, file["deletionVector"])
                assert len(vector) > 0
                table = table.filter(vector.live_mask(table.num_rows))
                checked += 1
            found |= {(file["path"], row) for row in table["id"].to_pylist()}
        assert found == expected
    assert checked >= 6, "the table has vectors in several versions"
