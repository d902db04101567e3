"""The empty string as the value of a partition column of strings.

delta-spark 4.4, deltalake 1.6 and delta-kernel-rs (since its pull request 2859) read it as the
empty string, and deltalake writes it so; the protocol says null, as for every other type.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import actions, logs

import deltareplay as dr

COLUMNS = [("v", "integer"), ("s", "string"), ("n", "integer")]


@pytest.fixture(params=[True, False], ids=["nullable", "not null"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A table with files of the partitions '', 'x' and, optionally, null."""
    log = logs.LogBuilder(tmp_path)
    fields = [logs.field_json(*column) for column in COLUMNS]
    fields[1]["nullable"] = request.param
    log.create(
        logs.dumps({"type": "struct", "fields": fields}),
        partition_columns=["s", "n"],
        configuration={"delta.enableChangeDataFeed": "true"},
        protocol_action=logs.protocol(1, 4),
    )
    adds = []
    for number, text in enumerate(["", "x", None][: 3 if request.param else 2]):
        path = tmp_path / f"p{number}.parquet"
        pq.write_table(pa.table({"v": pa.array([number], pa.int32())}), path)
        values = {"s": text, "n": "" if text == "" else "7"}
        size = path.stat().st_size
        stats = actions.dumps({"numRecords": 1})
        adds.append(actions.add(path.name, partition_values=values, size=size, stats=stats))
    log.commit(*adds)
    return tmp_path


def added(root: Path, version: int) -> list[dict[str, Any]]:
    lines = (root / "_delta_log" / f"{version:020}.json").read_text().splitlines()
    result = [json.loads(line) for line in lines]
    return [line["add"]["partitionValues"] for line in result if "add" in line]


def is_nullable(root: Path) -> bool:
    return dr.Table(root).snapshot().schema.field("s").nullable


def test_rows_and_filters(root: Path) -> None:
    snapshot = dr.Table(root).snapshot()
    rows = {row["v"]: (row["s"], row["n"]) for row in snapshot.scan().to_arrow().to_pylist()}
    assert rows[0] == ("", None)  # the empty string of another type is null
    nulls = int(is_nullable(root))
    for condition, count in {
        "s = ''": 1,
        "s <> 'x'": 1,
        "s IS NULL": nulls,
        "s IS NOT NULL": 2,
        "n IS NULL": 1,
        "length(s) = 0": 1,
        "s >= ''": 2,
    }.items():
        assert snapshot.scan(filter=condition).count() == count, condition
        assert snapshot.scan(filter=condition).to_arrow().num_rows == count, condition
    parsed = snapshot.files(["partitionValues_parsed"])["partitionValues_parsed"].to_pylist()
    assert {"s": "", "n": None} in parsed
    assert snapshot.min_max("s") == ("", "x")
    [split] = snapshot.scan(filter="s = ''").splits()
    assert pa.Table.from_batches(split.to_batches()).to_pylist() == [{"v": 0, "s": "", "n": None}]


def test_statements_keep_the_empty_string(root: Path) -> None:
    table = dr.Table(root)
    table.update("v = 0", {"v": "v + 10"})
    assert added(root, 2) == [{"s": "", "n": None}]
    changed = table.changes(2).to_arrow().to_pylist()
    assert {row["s"] for row in changed} == {""}
    table.append([{"v": 20, "s": "", "n": None}])
    assert added(root, 3) == [{"s": "", "n": None}]
    table.optimize("s = ''")
    assert table.snapshot().scan(filter="s = ''").files().num_rows == 1
    merge = table.merge([{"v": 30, "s": ""}], "target.s = source.s AND target.v = 10")
    merge.when_matched_update({"v": "source.v"}).execute()
    table.overwrite([{"v": 40, "s": "", "n": None}], partition_overwrite="dynamic")
    rows = table.snapshot().scan().to_arrow().to_pylist()
    others = 2 if is_nullable(root) else 1
    assert [row["v"] for row in rows if row["s"] == ""] == [40]
    assert len(rows) == 1 + others
    table.delete("s = ''")
    assert table.snapshot().scan().count() == others


def test_checkpoints_keep_the_empty_string(root: Path) -> None:
    table = dr.Table(root)
    table.set_properties({"delta.checkpoint.writeStatsAsStruct": "true"})
    table.checkpoint()
    [path] = (root / "_delta_log").glob("*.checkpoint.parquet")
    adds = [row["add"] for row in pq.read_table(path).to_pylist() if row["add"]]
    parsed = [add["partitionValues_parsed"] for add in adds]
    assert {"s": "", "n": None} in parsed
    assert dr.Table(root).snapshot().scan(filter="s = ''").count() == 1


def test_null_stays_null(tmp_path: Path) -> None:
    """Its directory is that of the empty string; the name of a directory does not matter."""
    schema = pa.schema([("v", pa.int32()), ("s", pa.string())])
    table = dr.create_table(tmp_path / "t", schema, ["s"])
    table.append([{"v": 1, "s": None}, {"v": 2, "s": ""}])
    assert sorted(map(str, added(tmp_path / "t", 1))) == ["{'s': ''}", "{'s': None}"]
    assert {path.name for path in (tmp_path / "t").glob("s=*")} == {"s=__HIVE_DEFAULT_PARTITION__"}
