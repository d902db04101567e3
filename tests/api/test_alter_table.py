"""Constraints, wider types, clustering, and dropped features."""

from __future__ import annotations

import datetime
import decimal
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.writing import bodies, partitioned

import deltareplay as dr


def create(root: Path, schema: pa.Schema, **properties: str) -> dr.Table:
    return dr.create_table(root / "t", schema, properties=properties)


def field(table: dr.Table, *path: int) -> Any:
    result = json.loads(table.snapshot().schema_json)
    for index in path:
        result = result["fields"][index]
    return result


def refused(code: str, call: Any) -> dr.DeltaReplayError:
    with pytest.raises(dr.DeltaReplayError) as caught:
        call()
    assert caught.value.code == code
    return caught.value


# --- properties


def test_only_the_properties_of_delta_lake_ignore_case(tmp_path: Path) -> None:
    table = create(tmp_path, pa.schema([("id", pa.int64())]), owner="a")
    table.set_properties({"Owner": "b", "DELTA.appendonly": "true"})
    table.set_properties({"delta.AppendOnly": "false"})
    properties = {"owner": "a", "Owner": "b", "delta.appendOnly": "false"}
    assert table.snapshot().properties == properties
    refused("alter.property_absent", lambda: table.unset_properties(["OWNER"]))
    table.unset_properties(["Owner", "delta.APPENDONLY"])
    assert table.snapshot().properties == {"owner": "a"}


# --- constraints


def test_a_constraint_is_added_and_dropped(tmp_path: Path) -> None:
    table = create(tmp_path, pa.schema([("id", pa.int64())]))
    table.append({"id": [1, 2, None]})
    assert table.add_constraint("Positive", "id > 0 OR id IS NULL") == 2
    snapshot = table.snapshot()
    assert snapshot.properties["delta.constraints.positive"] == "id > 0 OR id IS NULL"
    assert snapshot.protocol.min_writer_version == 3
    [info] = bodies(table, 2, "commitInfo")
    assert info["operation"] == "ADD CONSTRAINT"
    assert info["operationParameters"] == {"name": "Positive", "expr": "id > 0 OR id IS NULL"}
    refused("rows.constraint", lambda: table.append({"id": [-1]}))
    refused("alter.constraint", lambda: table.add_constraint("POSITIVE", "id > 1"))
    assert table.drop_constraint("positive") == 3
    assert "delta.constraints.positive" not in table.snapshot().properties
    table.append({"id": [-1]})
    error = refused("alter.constraint", lambda: table.drop_constraint("positive"))
    assert "it has none" in str(error)
    assert table.drop_constraint("positive", if_exists=True) == 4


def test_names_of_constraints_ignore_case_beyond_ascii(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([("x", pa.int64())]))
    table.add_constraint("É", "x > 0")
    table.drop_constraint("É")
    assert table.snapshot().properties == {}
    rule = {"delta.constraints.É": "x > 0"}  # other writers keep the case
    other = dr.create_table(tmp_path / "o", pa.schema([("x", pa.int64())]), properties=rule)
    refused("alter.constraint", lambda: other.add_constraint("é", "x > 1"))


def test_constraints_are_not_accepted_as_properties(tmp_path: Path) -> None:
    """As delta-spark: its ALTER refuses them (DELTA_ADD_CONSTRAINTS), its CREATE checks them."""
    table = create(tmp_path, pa.schema([("id", pa.int64())]))
    table.append({"id": [-1]})
    rule = {"Delta.Constraints.c": "id > 0"}
    error = refused("alter.constraint", lambda: table.set_properties(rule))
    assert "ADD CONSTRAINT" in str(error)
    refused("alter.constraint", lambda: table.clone(tmp_path / "clone", properties=rule))
    pq.write_table(pa.table({"id": [-1]}), tmp_path / "part-0.parquet")
    refused("alter.constraint", lambda: dr.convert(tmp_path, properties=rule))
    assert table.snapshot().version == 1


@pytest.mark.parametrize("rule", ["id >", "nope > 1", "id + 1", "", "id > 'x'"])
def test_create_table_refuses_an_invalid_constraint(tmp_path: Path, rule: str) -> None:
    properties = {"delta.constraints.c": rule}
    error = refused(
        "alter.constraint",
        lambda: dr.create_table(tmp_path, pa.schema([("id", pa.int64())]), properties=properties),
    )
    assert "delta.constraints.c" in str(error)
    assert list(tmp_path.iterdir()) == []


def test_or_replace_refuses_an_invalid_constraint(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64())])
    table = dr.create_table(tmp_path, schema)

    def replace(rule: str) -> None:
        properties = {"delta.constraints.c": rule}
        dr.create_table(tmp_path, schema, or_replace=True, properties=properties)

    refused("alter.constraint", lambda: replace("nope > 1"))
    assert table.snapshot().version == 0
    replace("id > 1")
    refused("rows.constraint", lambda: table.append({"id": [1]}))


@pytest.mark.parametrize(
    ("value", "displayed"), [(-5, "id: -5"), (None, "id: null")], ids=["false", "unknown"]
)
def test_rows_that_break_a_constraint_are_shown(
    tmp_path: Path, value: int | None, displayed: str
) -> None:
    table = create(tmp_path, pa.schema([("id", pa.int64())]))
    table.append({"id": [1, 2]})
    table.append({"id": [3, value]})
    error = refused("alter.constraint_broken", lambda: table.add_constraint("p", "id > 0"))
    assert displayed in str(error)
    assert "_row_index: 1" in str(error)
    assert table.snapshot().version == 2


def test_a_constraint_with_arithmetic(tmp_path: Path) -> None:
    table = create(tmp_path, pa.schema([("price", pa.float64()), ("quantity", pa.int64())]))
    table.append({"price": [2.5, None], "quantity": [2, 7]})
    refused("alter.constraint_broken", lambda: table.add_constraint("c", "price * quantity < 5"))
    table.add_constraint("c", "price * quantity < 100 OR price IS NULL")
    error = refused("rows.constraint", lambda: table.append({"price": [50.0], "quantity": [2]}))
    assert "price: 50" in str(error)
    table.append({"price": [49.5, None], "quantity": [2, 1_000]})
    assert table.snapshot().num_rows == 4


def test_a_constraint_that_cannot_be_evaluated(tmp_path: Path) -> None:
    table = create(tmp_path, pa.schema([("id", pa.int64())]))
    refused("filter.syntax", lambda: table.add_constraint("c", "id >"))
    refused("filter.column", lambda: table.add_constraint("c", "unknown = 1"))
    refused("alter.constraint", lambda: table.add_constraint(" ", "id > 0"))
    assert table.snapshot().version == 0


# --- wider types

WIDER = [
    (pa.int8(), pa.int16()),
    (pa.int8(), pa.float64()),
    (pa.int16(), pa.int32()),
    (pa.int32(), pa.int64()),
    (pa.int32(), pa.decimal128(12, 2)),
    (pa.int64(), pa.decimal128(20, 0)),
    (pa.float32(), pa.float64()),
    (pa.date32(), pa.timestamp("us")),
    (pa.decimal128(10, 2), pa.decimal128(13, 4)),
]


@pytest.mark.parametrize(("before", "after"), WIDER, ids=str)
def test_types_that_can_be_widened(tmp_path: Path, before: pa.DataType, after: pa.DataType) -> None:
    table = create(
        tmp_path,
        pa.schema([("a", before)]),
        **{
            "delta.enableTypeWidening": "true",
            "delta.feature.timestampNtz": "supported",
        },
    )
    small = pa.array([1, 7, None], pa.int32() if before == pa.date32() else pa.int8())
    values = small.cast(before)
    table.append(pa.table([values], names=["a"]))
    table.widen_column("a", after)
    assert table.snapshot().schema.field("a").type == after
    result = table.snapshot().scan().to_arrow()["a"].to_pylist()
    if pa.types.is_decimal(after):
        assert result == [1, 7, None]  # equal at any scale
    else:
        assert result == values.cast(after).to_pylist()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (pa.int64(), pa.int32()),
        (pa.int64(), pa.float64()),
        (pa.int64(), pa.decimal128(19, 0)),
        (pa.int32(), pa.decimal128(10, 1)),
        (pa.int32(), pa.float32()),
        (pa.decimal128(10, 2), pa.decimal128(10, 2)),
        (pa.decimal128(10, 2), pa.decimal128(11, 4)),
        (pa.string(), pa.int64()),
        (pa.int32(), pa.list_(pa.int32())),
    ],
    ids=str,
)
def test_types_that_cannot_be_widened(
    tmp_path: Path, before: pa.DataType, after: pa.DataType
) -> None:
    table = create(tmp_path, pa.schema([("a", before)]), **{"delta.enableTypeWidening": "true"})
    refused("alter.type_widening", lambda: table.widen_column("a", after))


def test_nested_fields_are_widened(tmp_path: Path) -> None:
    inner = pa.struct([("x", pa.int32()), ("m", pa.map_(pa.int8(), pa.list_(pa.float32())))])
    table = create(tmp_path, pa.schema([("s", inner)]), **{"delta.enableTypeWidening": "true"})
    table.widen_column(["s", "x"], pa.int64())
    table.widen_column(["s", "m", "key"], pa.int16())
    table.widen_column(["s", "m", "value", "element"], pa.float64())
    fields = field(table, 0)["type"]["fields"]
    assert fields[0]["metadata"]["delta.typeChanges"] == [{"fromType": "integer", "toType": "long"}]
    assert fields[1]["metadata"]["delta.typeChanges"] == [
        {"fromType": "byte", "toType": "short", "fieldPath": "key"},
        {"fromType": "float", "toType": "double", "fieldPath": "value.element"},
    ]
    assert table.snapshot().schema.field("s").type == pa.struct(
        [("x", pa.int64()), ("m", pa.map_(pa.int16(), pa.list_(pa.float64())))]
    )
    for path in (["s", "y"], ["s", "m", "element"], ["t"], []):
        refused("alter.column", lambda path=path: table.widen_column(path, pa.int64()))


def test_a_similar_column_is_suggested(tmp_path: Path) -> None:
    table = create(tmp_path, pa.schema([("identity", pa.int32()), ("value", pa.int32())]))
    error = refused("alter.column", lambda: table.set_comment("x", "valeu"))
    assert "did you mean value" in str(error)


def test_widening_requires_the_property_and_refuses_columns_of_constraints(tmp_path: Path) -> None:
    table = create(tmp_path, pa.schema([("a", pa.int32())]))
    error = refused("alter.type_widening", lambda: table.widen_column("a", pa.int64()))
    assert "delta.enableTypeWidening" in str(error)
    error = refused("alter.type_widening", lambda: table.widen_column("a", pa.string()))
    assert "integer cannot be widened to string" in str(error)
    table.set_properties({"delta.enableTypeWidening": "true"})
    table.add_constraint("c", "a > 0")
    refused("alter.column", lambda: table.widen_column("a", pa.int64()))


def test_a_void_column_takes_a_type(tmp_path: Path) -> None:
    """As in delta-spark 4.4: without type widening, since no file has the column."""
    inner = pa.struct([("x", pa.int32()), ("y", pa.null())])
    table = create(tmp_path, pa.schema([("a", pa.int32()), ("n", pa.null()), ("s", inner)]))
    table.append([{"a": 1}])
    for type_ in (pa.list_(pa.int32()), pa.struct([("b", pa.int32())])):
        refused("alter.type_widening", lambda type_=type_: table.widen_column("n", type_))
    table.widen_column("n", pa.date32())
    table.widen_column(["s", "y"], pa.decimal128(10, 2))
    refused("alter.type_widening", lambda: table.widen_column("n", pa.string()))
    table.append([{"a": 2, "n": datetime.date(2026, 1, 31), "s": {"x": 1, "y": 2}}])
    snapshot = table.snapshot()
    assert "delta.typeChanges" not in snapshot.schema_json
    assert "typeWidening" not in (snapshot.protocol.writer_features or ())
    rows = snapshot.scan().to_arrow().sort_by("a").to_pylist()
    second = {"a": 2, "n": datetime.date(2026, 1, 31), "s": {"x": 1, "y": decimal.Decimal("2.00")}}
    assert rows == [{"a": 1, "n": None, "s": None}, second]


# --- clustering


def test_cluster_by_writes_physical_names_and_checks_columns(tmp_path: Path) -> None:
    schema = pa.schema(
        [("id", pa.int64()), ("s", pa.struct([("x", pa.string())])), ("ok", pa.bool_())]
    )
    table = create(tmp_path, schema, **{"delta.columnMapping.mode": "name"})
    table.cluster_by(["s.X", "id"])
    snapshot = table.snapshot()
    assert snapshot.protocol.writer_features is not None
    assert {"clustering", "domainMetadata"} <= set(snapshot.protocol.writer_features)
    fields = json.loads(snapshot.schema_json)["fields"]
    named = [field["metadata"]["delta.columnMapping.physicalName"] for field in fields]
    inner = fields[1]["type"]["fields"][0]["metadata"]["delta.columnMapping.physicalName"]
    assert json.loads(snapshot.domain_metadata["delta.clustering"]) == {
        "clusteringColumns": [[named[1], inner], [named[0]]]
    }
    table.cluster_by([])
    assert table.snapshot().domain_metadata["delta.clustering"] == '{"clusteringColumns":[]}'
    for columns in (["ok"], ["s"], ["id", "id"]):
        refused("alter.clustering", lambda columns=columns: table.cluster_by(columns))
    refused("alter.column", lambda: table.cluster_by(["s.x.y"]))
    refused("alter.column", lambda: table.cluster_by(["z"]))
    table.set_properties({"delta.dataSkippingNumIndexedCols": "1"})
    error = refused("alter.clustering", lambda: table.cluster_by(["s.x"]))
    assert "delta.dataSkippingNumIndexedCols" in str(error)
    table.set_properties({"delta.dataSkippingStatsColumns": "s"})
    table.cluster_by(["s.x"])


def test_cluster_by_takes_four_columns(tmp_path: Path) -> None:
    """As in delta-spark."""
    table = create(tmp_path, pa.schema([(name, pa.int64()) for name in "abcde"]))
    error = refused("alter.clustering", lambda: table.cluster_by(list("abcde")))
    assert "at most 4 columns, not by 5" in str(error)
    table.cluster_by(list("abcd"))
    [columns] = json.loads(table.snapshot().domain_metadata["delta.clustering"]).values()
    assert columns == [["a"], ["b"], ["c"], ["d"]]


def test_cluster_by_without_columns_adds_no_feature(tmp_path: Path) -> None:
    """As delta-spark's ``ALTER TABLE ... CLUSTER BY NONE``."""
    table = dr.create_table(tmp_path, pa.schema({"id": pa.int64()}))
    before = table.snapshot()
    table.cluster_by([])
    after = table.snapshot()
    assert after.version == before.version
    assert after.protocol == before.protocol
    assert after.domain_metadata == {}


def test_the_history_has_the_clustering_columns_before(tmp_path: Path) -> None:
    """As delta-spark's operation ``CLUSTER BY``."""
    table = dr.create_table(tmp_path, pa.schema({"id": pa.int64(), "k": pa.int64()}))
    for columns in (["id"], ["k", "id"], []):
        table.cluster_by(columns)
    parameters = [dict(row["operationParameters"]) for row in table.history(3).to_pylist()]
    assert parameters == [
        {"oldClusteringColumns": "k,id", "newClusteringColumns": ""},
        {"oldClusteringColumns": "id", "newClusteringColumns": "k,id"},
        {"oldClusteringColumns": "", "newClusteringColumns": "id"},
    ]


def test_partitioned_tables_are_not_clustered(tmp_path: Path) -> None:
    table = partitioned(tmp_path)
    refused("alter.clustering", lambda: table.cluster_by(["id"]))


# --- features


def test_features_are_dropped(tmp_path: Path) -> None:
    table = create(
        tmp_path,
        pa.schema([("id", pa.int64())]),
        **{
            "delta.enableInCommitTimestamps": "true",
            "delta.feature.domainMetadata": "supported",
        },
    )
    table.add_constraint("c", "id > 0")
    error = refused("alter.feature_in_use", lambda: table.drop_feature("checkConstraints"))
    assert "drop them first: c" in str(error)
    table.drop_constraint("c")
    with table.transaction() as transaction:
        transaction.set_domain_metadata("mine", "x")
    refused("alter.feature_in_use", lambda: table.drop_feature("domainMetadata"))
    with table.transaction() as transaction:
        transaction.set_domain_metadata("mine", None)
    for name in ("inCommitTimestamp", "checkConstraints", "domainMetadata"):
        version = table.drop_feature(name)
        [info] = bodies(table, version, "commitInfo")
        assert info["operation"] == "DROP FEATURE"
        parameters = {"featureName": name, "truncateHistory": False}
        assert info["operationParameters"] == parameters
    snapshot = table.snapshot()
    assert snapshot.protocol == dr.Protocol(1, 2, None, None)
    assert not [key for key in snapshot.properties if "committimestamp" in key.lower()]
    refused("protocol.feature_absent", lambda: table.drop_feature("checkConstraints"))
    refused("protocol.not_removable", lambda: table.drop_feature("appendOnly"))
