"""Possible forms of checkpoints, and the resulting state."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from protocol.reading import SCHEMA, commits, names, one_file, opened, paths, stats_of
from support import logs

import deltareplay as dr

STATS = logs.stats(3, id=(1, 9, 0))


def rewrite(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    """Read a Parquet file, change its table, write it again."""
    pq.write_table(change(pq.read_table(path)), path)


# -- statistics: as JSON, as a struct, both, neither


@pytest.mark.parametrize("kind", ["classic", "multipart", "v2-parquet", "v2-inline-parquet"])
def test_the_json_is_returned_of_statistics_in_both_forms(log: logs.LogBuilder, kind: str) -> None:
    log.create(SCHEMA, logs.add("f", stats=STATS))
    log.checkpoint(kind=kind, stats_type=log.stats_type())

    assert one_file(opened(log))["stats"] == STATS


@pytest.mark.parametrize("kind", ["classic", "multipart"])
def test_statistics_of_a_struct_are_returned_as_json(log: logs.LogBuilder, kind: str) -> None:
    log.create(
        logs.schema(
            id="long",
            name="string",
            day="date",
            at="timestamp",
            local="timestamp_ntz",
            price="decimal(10,2)",
            ratio="double",
            flag="boolean",
        ),
        logs.add(
            "f",
            stats=json.dumps(
                {
                    "numRecords": 3,
                    "minValues": {
                        "id": 1,
                        "name": 'a"b',
                        "day": "2024-02-29",
                        "at": "2024-01-02T03:04:05.678Z",
                        "local": "2024-01-02T03:04:05.678",
                        "price": 1.50,
                        "ratio": -0.25,
                    },
                    "maxValues": {
                        "id": 2**53 + 1,
                        "name": "猫",
                        "day": "9999-12-31",
                        "at": "2024-01-02T03:04:05.679Z",
                        "local": "2024-01-02T03:04:05.679",
                        "price": 99.99,
                        "ratio": 1e300,
                    },
                    "nullCount": {
                        "id": 0,
                        "name": 1,
                        "day": 0,
                        "at": 0,
                        "local": 0,
                        "price": 3,
                        "ratio": 0,
                        "flag": 2,
                    },
                }
            ),
        ),
        logs.add("without"),
    )
    expected = json.loads(log.commits[0][3]["add"]["stats"])
    log.checkpoint(kind=kind, stats_type=log.stats_type(), drop=["add.stats"])
    log.delete_commits(1)

    rows = {row["path"]: row for row in opened(log).files().to_pylist()}

    assert stats_of(rows["f"]) == expected
    assert rows["without"]["stats"] is None


def test_num_records_come_from_either_form(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, logs.add("f", stats=STATS), logs.add("g"))
    for drop in ([], ["add.stats"]):
        log.checkpoint(stats_type=log.stats_type(), drop=drop)
        result = opened(log).files(columns=["path", "numRecords"]).to_pylist()
        assert {row["path"]: row["numRecords"] for row in result} == {"f": 3, "g": None}


def without_count(table: pa.Table) -> pa.Table:
    """Remove the row counts from the typed statistics."""
    rows = table["add"].to_pylist()
    for row in filter(None, rows):
        row["stats_parsed"]["numRecords"] = None
    position = table.column_names.index("add")
    return table.set_column(position, "add", pa.array(rows, table["add"].type))


def test_row_counts_that_the_struct_lacks_come_from_the_json(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, logs.add("f", stats=STATS))
    (path,) = log.checkpoint(stats_type=log.stats_type())
    log.delete_commits(1)
    rewrite(path, without_count)

    snapshot = opened(log)

    assert snapshot.num_rows == 3
    (row,) = snapshot.files(columns=["numRecords", "stats_parsed"]).to_pylist()
    assert row["numRecords"] == row["stats_parsed"]["numRecords"] == 3


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("drop", [[], ["add.stats"]])
def test_typed_statistics_are_the_same_from_either_form(
    log: logs.LogBuilder, drop: list[str], batched: bool
) -> None:
    log.create(SCHEMA, logs.add("f", stats=STATS), logs.add("g"))
    log.checkpoint(stats_type=log.stats_type(), drop=drop)
    snapshot = opened(log)
    columns = ["path", "stats_parsed"]

    result = (
        pa.Table.from_batches(snapshot.file_batches(columns=columns))
        if batched
        else snapshot.files(columns=columns)
    )

    rows = {row["path"]: row["stats_parsed"] for row in result.to_pylist()}
    assert rows["g"] is None
    assert rows["f"]["numRecords"] == 3
    assert rows["f"]["minValues"]["id"] == 1
    assert rows["f"]["maxValues"]["id"] == 9
    assert rows["f"]["nullCount"]["id"] == 0


def test_typed_statistics_of_narrower_types_are_cast_to_the_type_of_the_column(
    log: logs.LogBuilder,
) -> None:
    log.create(logs.schema(id="double"), logs.add("f", stats=STATS))
    bounds = pa.struct([("id", pa.int32())])
    counts = pa.struct([("id", pa.int64())])
    parts = [("minValues", bounds), ("maxValues", bounds), ("nullCount", counts)]
    log.checkpoint(stats_type=pa.struct([("numRecords", pa.int64()), *parts]), drop=["add.stats"])

    (row,) = opened(log).files(columns=["stats_parsed"]).to_pylist()

    assert row["stats_parsed"]["minValues"] == {"id": 1.0}
    assert row["stats_parsed"]["maxValues"] == {"id": 9.0}


def test_only_requested_columns_are_returned(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, logs.add("f", stats=STATS))

    assert opened(log).files(columns=["size", "path"]).column_names == ["size", "path"]
    assert opened(log).files().column_names == [
        "path",
        "partitionValues",
        "size",
        "modificationTime",
        "dataChange",
        "stats",
        "tags",
        "deletionVector",
        "baseRowId",
        "defaultRowCommitVersion",
        "clusteringProvider",
    ]
    with pytest.raises(dr.InvalidArgumentError) as caught:
        opened(log).files(columns=["path", "nonsense"])
    assert "nonsense" in str(caught.value)


# -- columns that old writers do not write, and unknown ones

DROPPED = [
    ["add.tags"],
    ["add.deletionVector", "remove.deletionVector"],
    ["add.baseRowId", "add.defaultRowCommitVersion", "add.clusteringProvider"],
    ["add.stats"],
    ["remove.size", "remove.partitionValues", "remove.extendedFileMetadata"],
    ["txn.lastUpdated"],
    ["metaData.name", "metaData.description", "metaData.createdTime", "metaData.configuration"],
    ["protocol.readerFeatures", "protocol.writerFeatures"],
]


@pytest.mark.parametrize("kind", ["classic", "multipart"])
@pytest.mark.parametrize("dropped", DROPPED, ids=",".join)
def test_fields_that_old_writers_omit_may_be_absent(
    log: logs.LogBuilder, kind: str, dropped: list[str]
) -> None:
    log.create(SCHEMA, logs.add("f"), logs.add("g"), logs.txn("a", 1))
    log.commit(logs.remove("g"))
    log.checkpoint(kind=kind, drop=dropped)
    log.delete_commits(1)
    log.commit(logs.add("h"))

    snapshot = opened(log, strict=True)

    assert paths(snapshot) == ["f", "h"]
    assert snapshot.tombstones()["path"].to_pylist() == ["g"]
    assert snapshot.files().num_rows == 2
    assert dict(snapshot.transactions) == {"a": 1}


@pytest.mark.parametrize("absent", ["txn", "remove", "domainMetadata"])
def test_whole_columns_may_be_absent(log: logs.LogBuilder, absent: str) -> None:
    log.create(SCHEMA, logs.add("f"))
    (path,) = log.checkpoint()
    rewrite(path, lambda table: table.drop_columns([absent]))

    snapshot = opened(log, strict=True)

    assert paths(snapshot) == ["f"]
    assert dict(snapshot.transactions) == {}
    assert snapshot.tombstones().num_rows == 0


def test_columns_are_found_by_name_in_any_order(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, logs.add("f", size=7, stats=STATS, deletion_vector=logs.deletion_vector()))

    def shuffle(table: pa.Table) -> pa.Table:
        columns = {}
        for name in reversed(table.column_names):
            column = table[name].combine_chunks()
            fields = list(reversed(column.type))
            columns[name] = pa.StructArray.from_arrays(
                [column.field(f.name) for f in fields], fields=fields, mask=column.is_null()
            )
        return pa.table(columns)

    (path,) = log.checkpoint()
    rewrite(path, shuffle)

    row = one_file(opened(log, strict=True))

    assert (row["path"], row["size"], row["stats"]) == ("f", 7, STATS)
    assert row["deletionVector"]["cardinality"] == 2


def test_unknown_columns_and_fields_are_ignored(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, logs.add("f"))

    def widen(table: pa.Table) -> pa.Table:
        count = table.num_rows
        table = table.append_column("future", pa.array([{"x": [1, 2]}] * count))
        add = table["add"].combine_chunks()
        fields = [*add.type, pa.field("rank", pa.int64()), pa.field("deep", pa.list_(pa.string()))]
        arrays = [
            *(add.field(f.name) for f in add.type),
            pa.array([1] * count),
            pa.array([["a"]] * count),
        ]
        wide = pa.StructArray.from_arrays(arrays, fields=fields, mask=add.is_null())
        return table.set_column(table.column_names.index("add"), "add", wide)

    (path,) = log.checkpoint()
    rewrite(path, widen)

    assert paths(opened(log, strict=True)) == ["f"]


@pytest.mark.parametrize(
    "options",
    [
        {"row_group_size": 1},
        {"compression": "zstd"},
        {"compression": "gzip"},
        {"compression": "none"},
        {"use_dictionary": False},
        {"data_page_version": "2.0"},
        {"write_statistics": False},
        {"write_page_index": True},
        {"data_page_size": 64},
        {"store_schema": False},
    ],
    ids=str,
)
def test_checkpoints_with_various_parquet_options(
    log: logs.LogBuilder, options: dict[str, object]
) -> None:
    log.create(SCHEMA, *(logs.add(f"f{i}", tags={"k": str(i)}, stats=STATS) for i in range(40)))
    log.commit(*(logs.remove(f"f{i}") for i in range(0, 40, 2)))
    log.checkpoint(**options)
    log.delete_commits(1)

    snapshot = opened(log, strict=True)

    assert paths(snapshot) == sorted(f"f{i}" for i in range(1, 40, 2))
    assert snapshot.tombstones().num_rows == 20
    assert snapshot.files()["stats"].to_pylist() == [STATS] * 20


def test_old_spelling_of_maps(log: logs.LogBuilder) -> None:
    """Parquet writers before the final spelling named the repeated group ``map``."""
    log.create(SCHEMA, logs.add("f", partition_values={"p": "1"}, tags={"a": "b"}))
    log.checkpoint(use_compliant_nested_type=False)

    row = one_file(opened(log, strict=True))

    assert (dict(row["partitionValues"]), dict(row["tags"])) == ({"p": "1"}, {"a": "b"})


def retype(path: Path, action: str, types: dict[pa.DataType, pa.DataType]) -> None:
    """Replace types of the fields of an action, also in lists, maps and structs."""

    def other(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_struct(kind):
            return pa.struct([field.with_type(other(field.type)) for field in kind])
        if pa.types.is_map(kind):
            return pa.map_(other(kind.key_type), other(kind.item_type))
        if pa.types.is_list(kind):
            return pa.list_(other(kind.value_type))
        return types.get(kind, kind)

    def change(table: pa.Table) -> pa.Table:
        column = table[action].combine_chunks()
        index = table.column_names.index(action)
        return table.set_column(index, action, column.cast(other(column.type)))

    rewrite(path, change)


@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.int16(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()],
    ids=str,
)
def test_integers_of_another_width_are_read(log: logs.LogBuilder, kind: pa.DataType) -> None:
    """Some writers store the versions of the protocol as 64-bit integers, others as 16-bit ones."""
    log.create(SCHEMA, logs.add("f"), logs.txn("a", 3, last_updated=None))
    (path,) = log.checkpoint()
    for action in ("protocol", "txn"):
        retype(path, action, dict.fromkeys((pa.int32(), pa.int64()), kind))
    log.delete_commits(1)

    snapshot = opened(log)

    assert snapshot.protocol.min_reader_version == 1
    assert dict(snapshot.transactions) == {"a": 3}
    assert paths(snapshot) == ["f"]


def test_control_columns_without_values_may_be_untyped(log: logs.LogBuilder) -> None:
    """Writers that infer types from rows do not know those of such columns."""

    def untyped(part: pa.Array) -> pa.Array:
        if part.null_count == len(part):
            return pa.nulls(len(part))
        if pa.types.is_list(part.type) and not any(part.to_pylist()):
            return pa.array(part.to_pylist(), pa.list_(pa.null()))
        return part

    def change(table: pa.Table) -> pa.Table:
        for name in ("protocol", "metaData", "txn"):
            column = table[name].combine_chunks()
            fields = [field.name for field in column.type]
            arrays = [untyped(column.field(field)) for field in fields]
            retyped = pa.StructArray.from_arrays(arrays, fields, mask=column.is_null())
            table = table.set_column(table.column_names.index(name), name, retyped)
        return table

    log.create(SCHEMA, logs.add("f"), logs.txn("a", 3, last_updated=None))
    (path,) = log.checkpoint()
    before = opened(log)
    rewrite(path, change)
    log.delete_commits(1)

    snapshot = opened(log)

    assert snapshot.metadata == before.metadata
    assert snapshot.protocol == before.protocol
    assert snapshot.transactions == before.transactions
    assert paths(snapshot) == ["f"]


def test_unsigned_statistics_are_read(log: logs.LogBuilder) -> None:
    stats = logs.stats(3, id=(1, 5, 0))
    log.create(SCHEMA, logs.add("f", stats=stats))
    (path,) = log.checkpoint(stats_type=log.stats_type(), drop=["add.stats"])
    retype(path, "add", {pa.int64(): pa.uint64()})
    log.delete_commits(1)

    snapshot = opened(log)

    [row] = snapshot.files(columns=["stats", "numRecords"]).to_pylist()
    assert json.loads(row["stats"]) == json.loads(stats)
    assert row["numRecords"] == snapshot.num_rows == 3
    assert snapshot.min_max("id") == (1, 5)


@pytest.mark.parametrize("action", ["protocol", "metaData", "txn", "domainMetadata", "add"])
def test_strings_without_the_annotation_are_read(log: logs.LogBuilder, action: str) -> None:
    """Parquet's older writers store strings as plain bytes."""
    features = logs.features("deletionVectors")
    vector = logs.deletion_vector()
    file = logs.add("f", stats=STATS, tags={"k": "v"}, deletion_vector=vector)
    domain = logs.domain("d", "{}")
    log.create(SCHEMA, file, logs.txn("a", 3), domain, protocol_action=features)
    (path,) = log.checkpoint()
    before = opened(log)
    files = before.files().to_pylist()
    retype(path, action, {pa.string(): pa.binary()})
    log.delete_commits(1)

    snapshot = opened(log)

    assert snapshot.files().to_pylist() == files
    assert snapshot.metadata == before.metadata
    assert snapshot.protocol == before.protocol
    assert snapshot.transactions == before.transactions
    assert snapshot.domain_metadata == before.domain_metadata


@pytest.mark.parametrize("drop", [[], ["add.stats"]])
def test_bounds_of_strings_without_the_annotation_skip_the_right_files(
    log: logs.LogBuilder, drop: list[str]
) -> None:
    stats = logs.stats(3, name=("b", "d", 0))
    log.create(logs.schema(name="string"), logs.add("f", stats=stats))
    (path,) = log.checkpoint(stats_type=log.stats_type(), drop=drop)
    retype(path, "add", {pa.string(): pa.binary()})
    log.delete_commits(1)

    for text, matching in {"a": [], "c": ["f"], "e": []}.items():
        files = opened(log).files(filter=f"name = '{text}'")
        assert files["path"].to_pylist() == matching
    (row,) = opened(log).files(columns=["stats", "stats_parsed"]).to_pylist()
    assert row["stats"] == stats
    assert row["stats_parsed"]["maxValues"] == {"name": "d"}


def test_partition_values_only_as_a_struct_are_refused(log: logs.LogBuilder) -> None:
    """The protocol requires the map; without it every value would be null."""
    log.create(SCHEMA, logs.add("f"))

    def rename(table: pa.Table) -> pa.Table:
        add = table["add"].combine_chunks()
        names = [
            "partitionValues_parsed" if field.name == "partitionValues" else field.name
            for field in add.type
        ]
        arrays = [add.field(field.name) for field in add.type]
        parsed = pa.StructArray.from_arrays(arrays, names, mask=add.is_null())
        return table.set_column(table.column_names.index("add"), "add", parsed)

    (path,) = log.checkpoint()
    rewrite(path, rename)
    log.delete_commits(1)

    with pytest.raises(dr.CorruptTableError, match="no column partitionValues") as caught:
        opened(log).files()
    assert caught.value.code == "checkpoint.columns"


# -- sidecars


def sidecars(log: logs.LogBuilder) -> list[Path]:
    return sorted((logs.log_dir(log.table) / "_sidecars").iterdir())


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("kind", ["v2-json", "v2-parquet", "v2-classic"])
def test_file_actions_may_be_in_any_number_of_sidecars(
    log: logs.LogBuilder, kind: str, count: int
) -> None:
    commits(log, 9)
    log.commit(logs.remove("f3"))
    log.checkpoint(kind=kind, parts=count)
    log.delete_commits(10)

    snapshot = opened(log, strict=True)

    assert len(sidecars(log)) == count
    assert paths(snapshot) == [name for name in names(9) if name != "f3"]
    assert snapshot.tombstones()["path"].to_pylist() == ["f3"]


@pytest.mark.parametrize("spelling", ["name", "file:///", "/", "encoded"])
def test_a_sidecar_may_be_named_in_several_ways(log: logs.LogBuilder, spelling: str) -> None:
    commits(log, 2)
    rows = log.state().actions()
    name = "ab.parquet" if spelling == "name" else "a b.parquet"
    sidecar = logs.write_sidecar(log.table, name, [row for row in rows if "add" in row])
    folder = (logs.log_dir(log.table) / "_sidecars").as_uri()
    sidecar["sidecar"]["path"] = {
        "name": name,
        "encoded": "a%20b.parquet",
        "file:///": f"{folder}/a%20b.parquet",
        "/": f"{folder.removeprefix('file://')}/a%20b.parquet",
    }[spelling]
    manifest = [
        logs.checkpoint_metadata(2),
        sidecar,
        *(r for r in rows if "add" not in r),
    ]
    logs.write_file(log.table, logs.v2_name(2), logs.json_lines(manifest))
    log.delete_commits(2)

    assert paths(opened(log)) == names(2)


def test_a_sidecar_that_is_listed_twice_is_read_once(log: logs.LogBuilder) -> None:
    commits(log, 3)
    (path,) = log.checkpoint(kind="v2-json", parts=1)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(
        b"".join([*lines, *(line for line in lines if line.startswith(b'{"sidecar"'))])
    )
    log.delete_commits(3)

    snapshot = opened(log)

    assert (paths(snapshot), snapshot.num_files) == (names(3), 3)


@pytest.mark.parametrize("kind", ["v2-json", "v2-parquet", "v2-inline-json", "v2-inline-parquet"])
def test_a_v2_checkpoint_without_any_file_is_an_empty_table(
    log: logs.LogBuilder, kind: str
) -> None:
    log.create(SCHEMA)
    log.commit(logs.commit_info())
    log.checkpoint(kind=kind)
    log.delete_commits(1)

    snapshot = opened(log, strict=True)

    assert (snapshot.files().num_rows, snapshot.num_files) == (0, 0)


def test_files_of_a_snapshot_do_not_change_with_new_commits(log: logs.LogBuilder) -> None:
    commits(log, 3)
    before = opened(log)
    log.commit(logs.remove("f1"), logs.add("f4"))
    after = before.update()

    assert paths(before) == names(3)
    assert paths(after) == ["f2", "f3", "f4"]
    assert (before.version, after.version) == (3, 4)


@pytest.mark.parametrize("kind", ["classic", "multipart", "v2-json", "v2-parquet"])
def test_file_batches_have_the_live_files(log: logs.LogBuilder, kind: str) -> None:
    log.create(SCHEMA, *(logs.add(f"f{i}") for i in range(100)))
    options: dict[str, Any] = {} if kind == "v2-json" else {"row_group_size": 10}
    log.checkpoint(kind=kind, **options)
    log.commit(*(logs.remove(f"f{i}") for i in range(0, 100, 3)), logs.add("new"))
    snapshot = opened(log)

    batches = list(snapshot.file_batches(columns=["path", "size"]))

    assert sum(batch.num_rows for batch in batches) == snapshot.num_files == 67
    result = [path for batch in batches for path in batch["path"].to_pylist()]
    assert sorted(result) == paths(snapshot)


def test_a_broken_sidecar_of_the_only_checkpoint_is_an_error(log: logs.LogBuilder) -> None:
    commits(log, 3)
    log.checkpoint(kind="v2-json")
    for sidecar in sidecars(log):
        sidecar.write_bytes(b"not parquet")
    log.delete_commits(3)

    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log).files()
    assert "_sidecars" in str(caught.value)
