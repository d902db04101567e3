"""``Table.optimize``: files are compacted or ordered, and no row changes."""

from __future__ import annotations

import datetime
import itertools
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs
from support.writing import MODES, bodies

import deltareplay as dr
from deltareplay import _native
from deltareplay._transaction.written import options

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", pa.float64())])
METRICS = {
    "maxFileSize",
    "minFileSize",
    "numAddedBytes",
    "numAddedFiles",
    "numDeletionVectorsRemoved",
    "numRemovedBytes",
    "numRemovedFiles",
    "p25FileSize",
    "p50FileSize",
    "p75FileSize",
}


def filled(
    path: Path, files: int = 4, partitions: list[str] | None = None, **properties: str
) -> dr.Table:
    """Create a table of ten rows in each of this many files."""
    named = {f"delta.{name}": value for name, value in properties.items()}
    table = dr.create_table(path, SCHEMA, partitions or [], named)
    for file in range(files):
        ids = range(file * 10, file * 10 + 10)
        rows = [{"id": number, "p": "ab"[file % 2], "v": number / 2} for number in ids]
        table.append(rows, durable=False)
    return table


def rows_of(table: dr.Table, **extra: Any) -> list[dict[str, Any]]:
    rows = table.snapshot(strict=True).scan(**extra).to_arrow().to_pylist()
    return sorted(rows, key=lambda row: (row["id"] is not None, row["id"], str(row)))


def parquet_files(path: Path) -> set[Path]:
    return set(path.rglob("*.parquet"))


def raises(code: str, call: Any) -> dr.DeltaReplayError:
    with pytest.raises(dr.DeltaReplayError) as caught:
        call()
    assert caught.value.code == code
    return caught.value


@pytest.mark.parametrize("mode", MODES)
def test_small_files_are_compacted(mode: str, tmp_path: Path) -> None:
    table = dr.create_table(tmp_path, SCHEMA, (), MODES[mode])
    for start in (0, 10, 20):
        table.append([{"id": number, "p": None, "v": 1.5} for number in range(start, start + 10)])
    table.delete("id IN (3, 14)")
    tracked = "ids" in mode
    before, old = rows_of(table, with_row_id=tracked), table.snapshot().files().to_pylist()

    done = table.optimize(user_metadata="nightly")
    assert rows_of(table, with_row_id=tracked) == before
    [new] = table.snapshot().files().to_pylist()
    assert set(done.metrics) == METRICS
    assert done.metrics["numRemovedFiles"] == len(old) > 1
    assert done.metrics["numRemovedBytes"] == sum(file["size"] for file in old)
    assert done.metrics["numAddedFiles"] == 1
    sizes = ("minFileSize", "p25FileSize", "p50FileSize", "p75FileSize", "maxFileSize")
    assert {done.metrics[name] for name in (*sizes, "numAddedBytes")} == {new["size"]}
    marked = sum(file["deletionVector"] is not None for file in old)
    assert done.metrics["numDeletionVectorsRemoved"] == marked
    assert json.loads(new["stats"])["numRecords"] == 28
    assert json.loads(new["stats"])["minValues"]["id"] == 0

    assert done.version == table.snapshot().version
    [info] = bodies(table, done.version, "commitInfo")
    assert info["operation"] == "OPTIMIZE"
    assert info["userMetadata"] == "nightly"
    assert info["isolationLevel"] == "SnapshotIsolation"
    assert info["isBlindAppend"] is False
    assert info["operationParameters"] == {
        "predicate": "[]",
        "zOrderBy": "[]",
        "clusterBy": "[]",
        "auto": False,
    }
    reported = bodies(table, done.version, "add") + bodies(table, done.version, "remove")
    assert [action["dataChange"] for action in reported] == [False] * (1 + len(old))
    assert table.optimize().version is None
    assert table.snapshot().version == done.version
    assert table.verify().findings == ()


def test_partitions_are_compacted_separately(tmp_path: Path) -> None:
    table = filled(tmp_path, 6, ["p"])
    before = rows_of(table)
    done = table.optimize("p = 'a'")
    assert (done.metrics["numRemovedFiles"], done.metrics["numAddedFiles"]) == (3, 1)
    [info] = bodies(table, table.snapshot().version, "commitInfo")
    assert json.loads(info["operationParameters"]["predicate"]) == ["p = 'a'"]
    files = table.snapshot().files().to_pylist()
    assert sorted(dict(file["partitionValues"])["p"] for file in files) == ["a", "b", "b", "b"]
    assert table.optimize([("p", "=", "a")]).version is None
    assert table.optimize().metrics["numRemovedFiles"] == 3
    assert rows_of(table) == before


def test_the_target_size_is_an_argument_or_a_property(tmp_path: Path) -> None:
    table = filled(tmp_path)
    size = max(table.snapshot().files()["size"].to_pylist())
    assert table.optimize(target_file_size=size // 2).version is None  # none is smaller
    assert table.optimize(target_file_size=size + 1).version is None  # no two fit
    done = table.optimize(target_file_size=2 * size + 10)
    assert (done.metrics["numRemovedFiles"], done.metrics["numAddedFiles"]) == (4, 2)
    table.set_properties({"delta.targetFileSize": "1kb"})
    assert table.optimize().version is None
    table.set_properties({"delta.targetFileSize": "16 MB"})
    assert table.optimize().metrics["numAddedFiles"] == 1
    raises("properties.value", lambda: table.set_properties({"delta.targetFileSize": "large"}))
    raises("argument.range", lambda: table.optimize(target_file_size=0))


def test_files_with_many_deleted_rows_are_rewritten_at_any_size(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path, SCHEMA, (), {"delta.enableDeletionVectors": "true"})
    table.append([{"id": number, "p": "x", "v": 0.5} for number in range(100)])
    table.delete("id < 5")
    assert table.optimize().version is None  # exactly 5 % of the rows are deleted
    table.delete("id < 6")
    done = table.optimize(target_file_size=1)
    assert done.metrics["numDeletionVectorsRemoved"] == 1
    [file] = table.snapshot().files().to_pylist()
    assert file["deletionVector"] is None
    assert [row["id"] for row in rows_of(table)] == list(range(6, 100))


@pytest.mark.parametrize("tracked", ["true", "false"])
def test_purge_rewrites_files_with_deleted_rows_or_dropped_columns(
    tracked: str, tmp_path: Path
) -> None:
    properties = {"enableDeletionVectors": "true", "columnMapping.mode": "name"}
    table = filled(tmp_path, 3, enableRowTracking=tracked, **properties)
    table.delete("id = 0")
    ids = tracked == "true"
    before = rows_of(table, with_row_id=ids)
    done = table.optimize(purge=True)
    assert (done.metrics["numRemovedFiles"], done.metrics["numAddedFiles"]) == (1, 1)
    assert done.metrics["numDeletionVectorsRemoved"] == 1
    [info] = bodies(table, table.snapshot().version, "commitInfo")
    assert info["operation"] == "REORG"
    assert info["operationParameters"] == {"predicate": "[]", "applyPurge": True}
    assert rows_of(table, with_row_id=ids) == before
    assert table.optimize(purge=True).version is None
    table.drop_column("v")
    done = table.optimize(purge=True, target_file_size=1)
    assert (done.metrics["numRemovedFiles"], done.metrics["numAddedFiles"]) == (3, 3)
    assert table.optimize(purge=True).version is None
    kept = [{key: value for key, value in row.items() if key != "v"} for row in before]
    assert rows_of(table, with_row_id=ids) == kept
    raises("optimize.purge", lambda: table.optimize(purge=True, z_order_by=["id"]))
    raises("optimize.full", lambda: table.optimize(full=True))


def test_streams_and_changes_do_not_see_an_optimize(tmp_path: Path) -> None:
    table = filled(tmp_path, 3, appendOnly="true", enableChangeDataFeed="true")
    stream = table.follow(starting_version="latest", available_now=False)
    done = table.optimize(z_order_by=["v"])
    assert done.version is not None
    assert table.changes(done.version).to_arrow().num_rows == 0
    assert table.changes(0, kind="min-delta", key=["id"]).to_arrow().num_rows == 30
    table.append([{"id": 99, "p": "a", "v": 0.0}])
    assert next(iter(stream)).data["id"].to_pylist() == [99]


def ranges(table: dr.Table, column: str) -> list[tuple[Any, Any]]:
    stats = [json.loads(text) for text in table.snapshot().files()["stats"].to_pylist()]
    return [(entry["minValues"][column], entry["maxValues"][column]) for entry in stats]


def grid(path: Path, side: int, files: int, **properties: str) -> dr.Table:
    """Create a table of ``side * side`` rows, spread over its files without any order."""
    rows = side * side
    numbers = [row * 7919 % rows for row in range(rows)]
    data = pa.table(
        {
            "id": numbers,
            "x": [number % side for number in numbers],
            "y": [f"{number // side:04}" for number in numbers],
            "filler": [f"{number * 2654435761 % 4294967296:x}" * 4 for number in numbers],
        }
    )
    named = {f"delta.{name}": value for name, value in properties.items()}
    table = dr.create_table(path, data.schema, (), named)
    for start in range(0, rows, rows // files):
        table.append(data.slice(start, rows // files), durable=False)
    return table


@pytest.mark.parametrize("tracked", ["true", "false"])
def test_z_order_gives_files_narrow_ranges_of_both_columns(tracked: str, tmp_path: Path) -> None:
    table = grid(tmp_path, 128, 8, enableRowTracking=tracked)
    ids = tracked == "true"
    before, size = rows_of(table, with_row_id=ids), table.snapshot().size_in_bytes
    done = table.optimize(z_order_by=["x", "y"], target_file_size=size // 16)
    assert rows_of(table, with_row_id=ids) == before
    assert done.metrics["numRemovedFiles"] == 8
    assert 15 <= done.metrics["numAddedFiles"] <= 17
    [info] = bodies(table, table.snapshot().version, "commitInfo")
    assert json.loads(info["operationParameters"]["zOrderBy"]) == ["x", "y"]
    assert json.loads(info["operationParameters"]["clusterBy"]) == []
    for action in bodies(table, table.snapshot().version, "add"):
        assert action["dataChange"] is False
    # a file covers less than half of the range of each column; before, it covered all of it
    assert sum(most - least for least, most in ranges(table, "x")) < 16 * 64
    assert sum(int(most) - int(least) for least, most in ranges(table, "y")) < 16 * 64
    left = table.snapshot().scan(filter="x = 5 AND y = '0007'").files().num_rows
    assert left <= 2


def test_one_z_order_column_sorts_the_rows(tmp_path: Path) -> None:
    table = grid(tmp_path, 64, 4)
    size = table.snapshot().size_in_bytes
    table.optimize(z_order_by=["id"], target_file_size=size // 4)
    result = sorted(ranges(table, "id"))
    assert len(result) == 4
    assert all(most < least for (_, most), (least, _) in itertools.pairwise(result))
    for path in table.snapshot().files()["path"].to_pylist():
        read = pq.read_table(tmp_path / path)["id"].to_pylist()
        assert read == sorted(read)


VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "string": (pa.string(), ["b", "", "ä", "a", "zz"]),
    "byte": (pa.int8(), [3, -128, 127, 0, 5]),
    "double": (pa.float64(), [0.5, -1.0, float("inf"), 3.0, -0.0]),
    "decimal": (pa.decimal128(20, 3), [Decimal(item) for item in ("1.500", "-2", "0", "9", "3")]),
    "date": (pa.date32(), [datetime.date(2000 + item, 1, 1) for item in (5, 1, 3, 2, 4)]),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [
            datetime.datetime(2000, 1, 1, number, tzinfo=datetime.timezone.utc)
            for number in range(5)
        ],
    ),
    "boolean": (pa.bool_(), [True, False, True, False, True]),
}


@pytest.mark.parametrize("name", VALUES)
def test_every_type_is_ordered_with_nulls_first(name: str, tmp_path: Path) -> None:
    kind, values = VALUES[name]
    rows = [*values, None, *values, None]
    struct = pa.struct([("part", kind)])
    data = pa.table(
        {
            "id": pa.array(range(len(rows)), pa.int64()),
            "c": pa.array(rows, kind),
            "s": pa.array([None if item is None else {"part": item} for item in rows], struct),
        }
    )
    table = dr.create_table(tmp_path, data.schema)
    table.append(data.slice(0, 5))
    table.append(data.slice(5))
    before = rows_of(table)
    table.optimize(z_order_by=["c"])
    read = table.snapshot().scan().to_arrow()["c"].to_pylist()
    assert read[:2] == [None, None]
    assert read[2:] == sorted(read[2:])
    table.optimize(z_order_by=["s.part", "id", "c"])
    assert rows_of(table) == before
    table.optimize(z_order_by=["s.part"])
    parts = table.snapshot().scan().to_arrow()["s"].to_pylist()
    assert [part and part["part"] for part in parts] == read


def test_z_order_within_partitions(tmp_path: Path) -> None:
    table = filled(tmp_path, 6, ["p"])
    before = rows_of(table)
    done = table.optimize("p = 'b'", z_order_by="id")
    assert (done.metrics["numRemovedFiles"], done.metrics["numAddedFiles"]) == (3, 1)
    assert rows_of(table) == before


def test_z_order_by_the_last_column_with_statistics(tmp_path: Path) -> None:
    columns = {"p": ["a", "b"]} | {f"c{number}": [2, 1] for number in range(33)}
    dr.write(tmp_path, columns, partition_columns=["p"])
    table = dr.Table(tmp_path)
    assert ranges(table, "c31") == [(2, 2), (1, 1)]
    assert table.optimize(z_order_by=["c31"]).version == 1
    raises("optimize.z_order", lambda: table.optimize(z_order_by=["c32"]))


def test_z_order_by_a_partition_column(tmp_path: Path) -> None:
    rows = pa.table({"id": [1], "a-b": ["x"]})
    dr.write(tmp_path, rows, partition_columns=["a-b"])
    raises("optimize.z_order", lambda: dr.Table(tmp_path).optimize(z_order_by=["A-b"]))


def test_a_clustered_table_is_clustered(tmp_path: Path) -> None:
    table = grid(tmp_path, 64, 4, **{"feature.clustering": "supported"})
    table.cluster_by(["x", "y"])
    domains = table.snapshot().domain_metadata
    before, size = rows_of(table), table.snapshot().size_in_bytes
    done = table.optimize(target_file_size=size // 8)
    assert done.version is not None
    assert rows_of(table) == before
    assert table.snapshot().domain_metadata == domains
    [info] = bodies(table, done.version, "commitInfo")
    parameters = info["operationParameters"]
    assert json.loads(parameters["clusterBy"]) == ["x", "y"]
    assert json.loads(parameters["zOrderBy"]) == []
    added = bodies(table, done.version, "add")
    assert {action["clusteringProvider"] for action in added} == {"liquid"}
    [cube] = {action["tags"]["ZCUBE_ID"] for action in added}
    assert sum(most - least for least, most in ranges(table, "x")) < len(added) * 40
    assert table.optimize(target_file_size=size // 8).version is None  # ordered already
    table.append(pa.table({"id": [-1], "x": [1], "y": ["0001"], "filler": [""]}))
    done = table.optimize(target_file_size=size // 8)
    assert done.metrics["numRemovedFiles"] == len(added) + 1
    assert done.version is not None
    tags = [action["tags"] for action in bodies(table, done.version, "add")]
    assert {tuple(json.loads(tag["ZCUBE_ZORDER_BY"])) for tag in tags} == {("x", "y")}
    assert cube not in {tag["ZCUBE_ID"] for tag in tags}
    assert len(rows_of(table)) == len(before) + 1
    raises("optimize.clustered", lambda: table.optimize(z_order_by=["id"]))
    raises("optimize.clustered", lambda: table.optimize("x = 1"))
    error = raises("optimize.full", lambda: table.optimize(purge=True, full=True))
    assert "omit full" in str(error)
    table.cluster_by([])  # the feature stays
    raises("optimize.clustered", lambda: table.optimize(z_order_by=["id"]))
    raises("optimize.full", lambda: table.optimize(full=True))


def test_arguments_are_checked_before_anything_is_written(tmp_path: Path) -> None:
    table = filled(tmp_path, 2, ["p"], dataSkippingNumIndexedCols="1")
    before = parquet_files(tmp_path)
    error = raises("optimize.where", lambda: table.optimize("p = 'a' AND id = 3"))
    assert "[p], not id" in str(error)
    raises("optimize.z_order", lambda: table.optimize(z_order_by=["p"]))
    raises("optimize.z_order", lambda: table.optimize(z_order_by=["id", "id"]))
    raises("optimize.z_order", lambda: table.optimize(z_order_by=["v"]))  # without statistics
    raises("alter.column", lambda: table.optimize(z_order_by=["nothing"]))
    assert parquet_files(tmp_path) == before
    assert table.snapshot().version == 2


def test_a_clustering_that_names_no_column_is_refused(tmp_path: Path) -> None:
    table = filled(tmp_path, 2, **{"feature.clustering": "supported"})
    table.cluster_by(["id"])
    with logs.edited_commit(tmp_path, table.snapshot().version) as actions:
        [domain] = [action["domainMetadata"] for action in actions if "domainMetadata" in action]
        domain["configuration"] = domain["configuration"].replace('["id"]', '["gone"]')
    raises("optimize.clustering", lambda: dr.Table(tmp_path).optimize())


def planned(table: dr.Table, **options: Any) -> _native.OptimizePlan:
    arguments = {
        "z_order_by": [],
        "purge": False,
        "full": False,
        "target_file_size": None,
        **options,
    }
    return _native.OptimizePlan(table.native, table.snapshot().native, None, **arguments)


def definition_of(table: dr.Table) -> Any:
    snapshot = table.snapshot()
    return snapshot.metadata, snapshot.protocol


COMMIT_OPTIONS = options(None, None, None, None, True, 60.0)


def packed(table: dr.Table, plan: _native.OptimizePlan) -> list[tuple[int, str]]:
    definition = definition_of(table)
    return [
        (number, _native.pack_files(table.native, definition, split, 1))
        for number, split in enumerate(plan.bins())
    ]


def test_concurrent_appends_do_not_conflict(tmp_path: Path) -> None:
    table = filled(tmp_path)
    plan = planned(table)
    table.append([{"id": 99, "p": "a", "v": 0.0}])
    version, metrics, _ = plan.commit(packed(table, plan), COMMIT_OPTIONS)
    assert (version, metrics["numRemovedFiles"]) == (6, "4")
    assert len(rows_of(table)) == 41
    assert table.snapshot().num_files == 2


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_a_concurrent_delete_conflicts(vectors: str, tmp_path: Path) -> None:
    table = filled(tmp_path, enableDeletionVectors=vectors)
    plan = planned(table)
    added = packed(table, plan)
    table.delete("id = 5")
    before = parquet_files(tmp_path)
    with pytest.raises(dr.CommitConflictError) as caught:
        plan.commit(added, COMMIT_OPTIONS)
    assert caught.value.code == "conflict.delete_read"
    assert len(before - parquet_files(tmp_path)) == len(added)  # the written files are deleted
    assert [row["id"] for row in rows_of(table)] == [number for number in range(40) if number != 5]


@pytest.mark.parametrize("z_order_by", [[], ["id"]], ids=["packed", "ordered"])
def test_a_failure_leaves_no_files(
    z_order_by: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    root = tmp_path / "t"
    table = filled(root, 4, ["p"])
    broken = root / table.snapshot().files()["path"].to_pylist()[-1]
    broken.write_bytes(broken.read_bytes()[:-9])
    before = parquet_files(root)
    with pytest.raises(dr.CorruptTableError) as caught:
        table.optimize(z_order_by=z_order_by)
    assert caught.value.code == "data.truncated"
    assert parquet_files(root) == before
    assert list(scratch.iterdir()) == []
    assert table.snapshot().version == 4


def test_rows_are_ordered_in_separate_tasks(tmp_path: Path) -> None:
    table = grid(tmp_path, 32, 4)
    before = rows_of(table)
    plan = planned(table, z_order_by=["x", "y"], target_file_size=10_000)
    assert plan.is_ordered
    [(order, pieces, files)] = plan.orders(1)
    assert len(pieces) == 4
    spilled = [
        _native.spill_piece(table.native, order, piece, f"spilled/{number}")
        for number, piece in enumerate(pieces)
    ]
    definition = definition_of(table)

    def added() -> list[tuple[int, str]]:
        return [
            (0, _native.write_ordered(table.native, definition, order, file, spilled))
            for file in range(files)
        ]

    version, _, _ = plan.commit(added(), COMMIT_OPTIONS)
    assert version == 5
    assert rows_of(table) == before
    raises("split.json", lambda: _native.pack_files(table.native, definition, "{}", 1))
    raises("optimize.task", lambda: _native.spill_piece(table.native, "{}", pieces[0], "x"))
    for path in (tmp_path / "spilled").iterdir():
        path.write_bytes(bytes(path.stat().st_size))
    raises("optimize.spilled", added)
    _native.discard_spilled(table.native, "spilled")
    assert not (tmp_path / "spilled").exists()


def test_fifty_small_files_are_compacted_after_a_write(tmp_path: Path) -> None:
    table = filled(tmp_path, 49, **{"autoOptimize.autoCompact": "true"})
    assert table.snapshot().num_files == 49
    done = table.append([{"id": 490, "p": "a", "v": 0.0}])
    assert done.version == 50
    snapshot = table.snapshot()
    assert (snapshot.version, snapshot.num_files) == (51, 1)
    [info] = bodies(table, 51, "commitInfo")
    assert info["operation"] == "OPTIMIZE"
    assert info["operationParameters"]["auto"] is True
    assert [row["id"] for row in rows_of(table)] == list(range(491))
    raises(
        "properties.value", lambda: table.set_properties({"delta.autoOptimize.autoCompact": "x"})
    )


def test_only_partitions_that_were_written_to_are_compacted(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path, SCHEMA, ["p"])
    for number in range(110):
        rows = [{"id": number, "p": "ab"[number % 2], "v": 0.5}]
        table.append(rows, durable=False)
    table.set_properties({"delta.autoOptimize.autoCompact": "auto"})
    table.update("id = 4", {"v": "v + 1"})
    files = table.snapshot().files().to_pylist()
    assert sorted({dict(file["partitionValues"])["p"] for file in files}) == ["a", "b"]
    assert sum(dict(file["partitionValues"])["p"] == "a" for file in files) == 1
    assert len(files) == 56


def test_a_compaction_that_fails_is_a_warning(tmp_path: Path) -> None:
    table = filled(tmp_path, 49, **{"autoOptimize.autoCompact": "true"})
    broken = tmp_path / table.snapshot().files()["path"].to_pylist()[0]
    broken.write_bytes(b"PAR1")
    with pytest.warns(dr.exceptions.DeltaReplayWarning, match="a step after it failed"):
        assert table.append([{"id": 490, "p": "a", "v": 0.0}]).version == 50
    assert table.snapshot().version == 50
