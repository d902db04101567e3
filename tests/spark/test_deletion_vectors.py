"""Deletion vectors between delta-spark and us: each reads the other's."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import deltareplay as dr

pytestmark = pytest.mark.spark

#: The number of rows of each data file for our own vectors.
ROWS = 150_000

#: Deleted rows in every form of container, one set for each data file; the last is stored inline.
SETS: list[Sequence[int]] = [
    [0],
    range(0, ROWS, 97),
    range(0, ROWS, 3),
    [*range(10, 60_000), *range(65_530, 131_080)],
    [ROWS - 1],
    range(1, ROWS),
    [3, 4, 7, 11, 18, 29],
]


def decoded(path: Path, descriptor: dict[str, Any]) -> dr.DeletionVector:
    """Decode the vector of a descriptor of storage type ``u``."""
    assert descriptor["storageType"] == "u"
    for file in path.rglob("deletion_vector_*.bin"):
        name = uuid.UUID(file.stem.removeprefix("deletion_vector_"))
        prefix = "" if file.parent == path else file.parent.name
        if base85(name, prefix) == descriptor["pathOrInlineDv"]:
            count = descriptor["cardinality"]
            return dr.DeletionVector.decode(
                file.read_bytes(), offset=descriptor["offset"], cardinality=count
            )
    raise AssertionError(f"no file for {descriptor}")


def base85(name: uuid.UUID, prefix: str) -> str:
    """Encode the name of a file as in a descriptor."""
    empty = dr.DeletionVector.from_rows([])
    [descriptor] = dr.DeletionVector.pack([empty], name=name, prefix=prefix)[2]
    return str(descriptor["pathOrInlineDv"])


@pytest.fixture(scope="module")
def ours(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of one file for each of SETS, whose version 1 adds our vectors."""
    path = tmp_path_factory.mktemp("ours") / "t"
    frame = spark.range(0, ROWS * len(SETS), 1, len(SETS))
    frame.write.format("delta").option("delta.enableDeletionVectors", "true").save(str(path))
    adds = dr.Table(path).snapshot().files().to_pylist()
    adds.sort(key=lambda add: json.loads(add["stats"])["minValues"]["id"])
    assert [json.loads(add["stats"])["numRecords"] for add in adds] == [ROWS] * len(SETS)
    vectors = [dr.DeletionVector.from_rows(rows) for rows in SETS]
    name, data, descriptors = dr.DeletionVector.pack(vectors, prefix="x9")
    (path / "x9").mkdir()
    (path / name).write_bytes(data)
    descriptors[-1] = vectors[-1].encode_inline()
    lines: list[dict[str, Any]] = [
        {"commitInfo": {"timestamp": 1, "operation": "DELETE", "operationParameters": {}}}
    ]
    for add, descriptor in zip(adds, descriptors, strict=True):
        common = {"path": add["path"], "dataChange": True, "partitionValues": {}}
        common["size"] = add["size"]
        stats = json.dumps(json.loads(add["stats"]) | {"tightBounds": False})
        lines.append({"remove": common | {"deletionTimestamp": 1, "extendedFileMetadata": True}})
        new = {"modificationTime": 1, "stats": stats, "deletionVector": descriptor}
        lines.append({"add": common | new})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (path / "_delta_log" / f"{1:020}.json").write_text(text)
    return path


@pytest.mark.slow
def test_delta_spark_reads_and_extends_our_vectors(spark: Any, ours: Path) -> None:
    result = spark.read.format("delta").load(str(ours)).toArrow()["id"].to_pylist()

    expected = set(range(ROWS * len(SETS)))
    for index, rows in enumerate(SETS):
        expected -= {index * ROWS + row for row in rows}
    assert len(result) == len(expected)
    assert set(result) == expected

    spark.sql(f"DELETE FROM delta.`{ours}` WHERE id % 1000 = 5")

    files = dr.Table(ours).snapshot().files().to_pylist()
    changed = 0
    for file in files:
        first = json.loads(file["stats"])["minValues"]["id"]
        rows = set(SETS[first // ROWS])
        if not file["deletionVector"]["pathOrInlineDv"].startswith("x9"):
            rows.update(range(5, ROWS, 1000))
            changed += 1
        assert decoded(ours, file["deletionVector"]) == dr.DeletionVector.from_rows(rows)
    assert changed >= len(SETS) - 1


def test_we_decode_vectors_of_delta_spark(spark: Any, tables: Any) -> None:
    """The missing rows are those of the vectors, by position in each file."""
    path, version = tables("vectors"), 4
    frame = spark.read.format("delta").option("versionAsOf", version).load(str(path))
    rows = frame.selectExpr("_metadata.file_name AS file", "id").collect()

    result, checked = set(), 0
    for file in dr.Table(path).snapshot(version=version).files().to_pylist():
        table = pq.read_table(path / file["path"])
        if file["deletionVector"]:
            vector = decoded(path, file["deletionVector"])
            assert len(vector) > 0
            table = table.filter(vector.live_mask(table.num_rows))
            checked += 1
        result |= {(file["path"], row) for row in table["id"].to_pylist()}

    assert result == {(row.file, row.id) for row in rows}
    assert checked >= 3
