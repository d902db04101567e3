"""Tables that deltareplay creates and commits to: delta-spark reads them, and commits to them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltareplay as dr

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("id", pa.int64()), ("day", pa.string()), ("note", pa.string())])

#: Properties of the table, by name.
TABLES: dict[str, dict[str, str]] = {
    "plain": {},
    "feed": {"delta.enableChangeDataFeed": "true"},
    "mapped": {"delta.columnMapping.mode": "name"},
    "ids": {"delta.columnMapping.mode": "id"},
    "vectors": {"delta.enableDeletionVectors": "true", "delta.checkpointPolicy": "v2"},
    "tracked": {"delta.enableRowTracking": "true", "delta.enableInCommitTimestamps": "true"},
    "v2": {"delta.checkpointPolicy": "v2", "delta.checkpoint.writeStatsAsStruct": "true"},
    "many": {
        "delta.enableDeletionVectors": "true",
        "delta.enableRowTracking": "true",
        "delta.enableInCommitTimestamps": "true",
        "delta.columnMapping.mode": "name",
        "delta.enableTypeWidening": "true",
        "delta.checkpointInterval": "2",
    },
}


def write(table: dr.Table, name: str, day: str, ids: list[int]) -> None:
    """Write one file of one day by pyarrow, with the names of the schema, and commit it."""
    root = Path(table.uri.removeprefix("file://"))
    fields = {field["name"]: field for field in json.loads(table.snapshot().schema_json)["fields"]}

    def names_of(column: str) -> tuple[str, dict[str, str]]:
        metadata = fields[column]["metadata"]
        ids = metadata.get("delta.columnMapping.id")
        result = {} if ids is None else {"PARQUET:field_id": str(ids)}
        return metadata.get("delta.columnMapping.physicalName", column), result

    (number, number_id), (note, note_id), (partition, _) = map(names_of, ("id", "note", "day"))
    schema = pa.schema(
        [
            pa.field(number, pa.int64(), metadata=number_id),
            pa.field(note, pa.string(), metadata=note_id),
        ]
    )
    rows = pa.table([ids, [f"n{number}" for number in ids]], schema=schema)
    pq.write_table(rows, root / name)
    stats = {
        "numRecords": len(ids),
        "minValues": {number: min(ids)},
        "maxValues": {number: max(ids)},
        "nullCount": {number: 0, note: 0},
    }
    with table.transaction(parameters={"mode": "Append", "partitionBy": '["day"]'}) as transaction:
        transaction.add(
            name,
            size=os.path.getsize(root / name),
            partition_values={partition: day},
            stats=stats,
        )


def ids_of(table: dr.Table) -> list[int]:
    rows = pa.table(table.snapshot(strict=True))
    return sorted(rows["id"].to_pylist())


@pytest.mark.parametrize("name", TABLES)
def test_delta_spark_takes_over(name: str, spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / name)
    table = dr.create_table(path, SCHEMA, ["day"], TABLES[name])
    write(table, "a.parquet", "x", [1, 2, 3])
    write(table, "b.parquet", "y", [4, 5])
    if name in ("vectors", "many"):
        vector = dr.DeletionVector.from_rows([1]).encode_inline()
        with table.transaction("DELETE", parameters={"predicate": "[]"}) as transaction:
            transaction.update_vectors({"a.parquet": vector})
    else:
        write(table, "c.parquet", "x", [6])
        with table.transaction("DELETE", parameters={"predicate": "[]"}) as transaction:
            transaction.remove("c.parquet")
    expected = [1, 3, 4, 5] if name in ("vectors", "many") else [1, 2, 3, 4, 5]
    version = table.snapshot().version

    frame = spark.read.format("delta").load(path)
    assert sorted(row.id for row in frame.collect()) == expected == ids_of(table)
    assert {row.day for row in frame.where("id < 4").collect()} == {"x"}
    history = spark.sql(f"DESCRIBE HISTORY delta.`{path}`").collect()
    assert [row.version for row in history] == list(range(version, -1, -1))
    assert history[0].operation == "DELETE"
    assert history[-1].operation == "CREATE TABLE"

    written = table.checkpoint(layout="v2-json" if name == "vectors" else None)
    assert (written.num_sidecars == 1) == ("delta.checkpointPolicy" in TABLES[name])
    for old in range(version):
        os.remove(tmp_path / name / "_delta_log" / f"{old:020}.json")
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    again = spark.read.format("delta").load(path)
    assert sorted(row.id for row in again.collect()) == expected
    if "delta.enableRowTracking" in TABLES[name]:
        tracked = again.selectExpr("id", "_metadata.row_id AS r").collect()
        first = {row.id: row.r for row in tracked}
        assert (first[1], first[4]) == (0, 3)

    spark.createDataFrame([(7, "x", "n7")], SCHEMA.names).coalesce(1).write.format("delta").mode(
        "append"
    ).save(path)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 4")
    after = [item for item in [*expected, 7] if item != 4]
    assert ids_of(table) == after
    write(table, "d.parquet", "z", [9])
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    assert sorted(r.id for r in spark.read.format("delta").load(path).collect()) == [*after, 9]


@pytest.mark.parametrize("mode", [None, "name"])
def test_delta_spark_sees_altered_tables(mode: str | None, spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    table = dr.create_table(path, SCHEMA, ["day"])
    write(table, "a.parquet", "x", [1, 2])
    table.add_columns(pa.schema([("extra", pa.float64())]))
    table.set_comment("a number", "id")
    if mode:
        table.set_properties({"delta.columnMapping.mode": mode})
        table.rename_column("note", "text")
        table.drop_column("extra")
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    frame = spark.read.format("delta").load(path)

    assert frame.columns == (["id", "day", "text"] if mode else ["id", "day", "note", "extra"])
    assert frame.schema["id"].metadata["comment"] == "a number"
    text = "text" if mode else "note"
    assert sorted(row[text] for row in frame.collect()) == ["n1", "n2"]
    assert sorted(pa.table(table.snapshot())[text].to_pylist()) == ["n1", "n2"]


def test_delta_spark_and_the_checksum_agree(spark: Any, tmp_path: Path) -> None:
    """The same table with the same counts: its checksum and ours."""
    path = tmp_path / "t"
    spark.range(10).repartition(3).write.format("delta").save(str(path))
    theirs = json.loads((path / "_delta_log" / f"{0:020}.crc").read_text())
    os.remove(path / "_delta_log" / f"{0:020}.crc")
    assert dr.Table(path).write_checksum()
    ours = json.loads((path / "_delta_log" / f"{0:020}.crc").read_text())

    same = ["tableSizeBytes", "numFiles", "numMetadata", "numProtocol", "setTransactions"]
    same += ["domainMetadata", "protocol"]
    assert {key: ours[key] for key in same} == {key: theirs[key] for key in same}
    histograms = [
        item.get("fileSizeHistogram", item.get("histogramOpt")) for item in (ours, theirs)
    ]
    assert histograms[0] == histograms[1]
    assert len(ours["allFiles"]) == len(theirs["allFiles"])


def test_altered_tables(spark: Any, tmp_path: Path) -> None:
    """Constraints, wider types and clustering have the same meaning in delta-spark."""
    path = tmp_path / "t"
    table = dr.create_table(
        path,
        pa.schema([("id", pa.int32()), ("note", pa.string())]),
        properties={"delta.enableTypeWidening": "true"},
    )
    table.append({"id": [1, 2], "note": ["a", "b"]})
    table.widen_column("id", pa.int64())
    table.append({"id": [2**40], "note": ["c"]})
    table.add_constraint("positive", "id > 0")
    table.cluster_by(["id"])

    frame = spark.read.format("delta").load(str(path))
    assert frame.schema["id"].dataType.simpleString() == "bigint"
    assert sorted(row.id for row in frame.collect()) == [1, 2, 2**40]
    with pytest.raises(Exception, match="positive"):
        spark.sql(f"INSERT INTO delta.`{path}` VALUES (-1, 'd')")
    detail = spark.sql(f"DESCRIBE DETAIL delta.`{path}`").first()
    assert detail.clusteringColumns == ["id"]
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (3, 'd')")
    spark.sql(f"ALTER TABLE delta.`{path}` DROP CONSTRAINT positive")
    assert table.drop_feature("checkConstraints") > 0
    assert spark.sql(f"SELECT count(*) AS n FROM delta.`{path}`").first().n == 4


def test_parts_of_columns_altered_by_either_engine(spark: Any, tmp_path: Path) -> None:
    """The same changes by delta-spark and here: the same rows, the same columns with statistics."""
    part = pa.struct([("a", pa.int32()), ("b", pa.string())])
    schema = pa.schema([("id", pa.int64()), ("s", part), ("items", pa.list_(part))])
    mapped = {"delta.columnMapping.mode": "name", "delta.dataSkippingStatsColumns": "id,s.a,s.b"}
    row = {"id": 1, "s": {"a": 2, "b": "two"}, "items": [{"a": 3, "b": "three"}]}
    ours, theirs = (
        dr.create_table(tmp_path / name, schema, properties=mapped) for name in ("ours", "theirs")
    )
    for table in (ours, theirs):
        table.append(pa.Table.from_pylist([row], schema))
    ours.rename_column("s.a", "z")
    ours.rename_column(["items", "element", "a"], "n")
    ours.drop_column("s.b")
    ours.add_columns(pa.schema([("c", pa.float64())]), parent="s")
    for change in (
        "RENAME COLUMN s.a TO z",
        "RENAME COLUMN items.element.a TO n",
        "DROP COLUMN s.b",
        "ADD COLUMNS (s.c DOUBLE)",
    ):
        spark.sql(f"ALTER TABLE delta.`{tmp_path / 'theirs'}` {change}")

    frames = [spark.read.format("delta").load(str(tmp_path / name)) for name in ("ours", "theirs")]
    assert frames[0].schema.simpleString() == frames[1].schema.simpleString()
    assert frames[0].collect() == frames[1].collect()
    assert ours.snapshot().scan().to_arrow().equals(theirs.snapshot().scan().to_arrow())
    chosen = "delta.dataSkippingStatsColumns"
    assert ours.snapshot().properties[chosen] == theirs.snapshot().properties[chosen] == "id,s.z"
    spark.sql(f"INSERT INTO delta.`{tmp_path / 'ours'}` VALUES (2, struct(5, 0.5), array())")
    assert ours.snapshot().min_max("s.z") == (2, 5)
