"""``Snapshot.replay_plan``: pieces that are sent to other processes, and errors."""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs

import deltareplay as dr
from deltareplay import _native

FILES = 60_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A classic checkpoint of about 15 MB, in one row group, with a later commit."""
    log = logs.LogBuilder(tmp_path_factory.mktemp("large"))
    log.create(logs.schema(id="long"))
    log.checkpoint(0)
    (written,) = logs.log_dir(log.table).glob("*.parquet")
    schema = pq.read_schema(written)
    expected = schema.field("add").type
    text = random.Random(7)
    adds = [
        {
            "path": f"part-{number:05}.parquet",
            "partitionValues": [],
            "size": number,
            "modificationTime": 0,
            "dataChange": False,
            "stats": f'{{"numRecords":{number},"x":"{text.randbytes(90).hex()}"}}',
        }
        for number in range(FILES)
    ]
    before = pq.read_table(written)
    column = pa.array([None] * before.num_rows + adds, expected)
    grown = {
        field.name: column
        if field.name == "add"
        else pa.concat_arrays(
            [
                before.column(field.name).combine_chunks(),
                pa.nulls(len(adds), field.type),
            ]
        )
        for field in schema
    }
    pq.write_table(
        pa.table(grown),
        written,
        row_group_size=10**6,
        compression="none",
        write_page_index=True,
        data_page_size=100_000,
    )
    assert pq.ParquetFile(written).metadata.num_row_groups == 1
    log.commit(logs.remove("part-00007.parquet"), logs.add("new.parquet", size=1))
    return log.uri


def paths(plan: dr.ReplayPlan) -> list[str]:
    result = plan.files.column("path").to_pylist()
    for piece in plan.pieces:
        result += piece.to_arrow(plan.tail).column("path").to_pylist()
    return sorted(result)


@pytest.mark.parametrize("size", [100_000, 1_000_000, 7_000_000, 1 << 40])
def test_a_row_group_is_split_and_each_row_read_once(large: str, size: int) -> None:
    snapshot = dr.Table(large).snapshot()
    plan = snapshot.replay_plan(piece_size=size)

    assert (len(plan.pieces) > 1) == (size < 10_000_000)
    assert sum(piece.size_in_bytes for piece in plan.pieces) > 10_000_000
    expected = sorted([f"part-{n:05}.parquet" for n in range(FILES) if n != 7] + ["new.parquet"])
    assert paths(plan) == expected
    if size == 1_000_000:
        counts = [piece.to_arrow(plan.tail, threads=1).num_rows for piece in plan.pieces]
        assert sum(count > 0 for count in counts) > 1, "the row group is read in several pieces"


def test_columns_are_pickled_with_the_tail(large: str) -> None:
    plan = dr.Table(large).snapshot().replay_plan(["size", "numRecords"], piece_size=1 << 20)
    tail = pickle.loads(pickle.dumps(plan.tail))

    assert tail.schema.names == ["size", "numRecords"]
    assert (tail.version, tail.num_hidden) == (1, 2)
    rows = [row for piece in plan.pieces for row in piece.to_arrow(tail).to_pylist()]
    assert sorted(row["size"] for row in rows) == [n for n in range(FILES) if n != 7]
    assert all(row["size"] == row["numRecords"] for row in rows)


@pytest.mark.parametrize("kind", ["v2-json", "v2-parquet", "v2-classic", "multipart"])
def test_the_plan_only_opens_manifests(events: logs.LogBuilder, kind: str) -> None:
    events.checkpoint(1, kind=kind)
    events.checksum()  # has protocol and metadata
    before = sorted(dr.Table(events.uri).snapshot().files(["path"]).column("path").to_pylist())
    folder = logs.log_dir(events.table)
    broken = [*folder.glob("_sidecars/*"), *folder.glob("*.checkpoint.*.*.parquet")]
    assert len(broken) == 2
    whole = [file.read_bytes() for file in broken]
    for file in broken:
        file.write_bytes(b"PAR1 nothing of the kind PAR1")
    plan = dr.Table(events.uri).snapshot().replay_plan()
    assert plan.pieces

    with pytest.raises(dr.CorruptTableError) as caught:
        paths(plan)
    assert caught.value.path in {str(file.relative_to(events.table)) for file in broken}
    assert caught.value.version == 1

    for file, content in zip(broken, whole, strict=True):
        file.write_bytes(content)
    assert paths(plan) == before, "lengths may differ from those at the time of the plan"


@pytest.mark.parametrize("kind", ["classic", "multipart", "v2-json", "v2-inline-json"])
def test_files_deleted_after_planning_are_reported(events: logs.LogBuilder, kind: str) -> None:
    (first, *_) = events.checkpoint(1, kind=kind)
    plan = dr.Table(events.uri).snapshot().replay_plan()
    keyed = dr.Table(events.uri).snapshot().replay_plan(keyed=True)
    folder = logs.log_dir(events.table)
    for file in [first, *folder.glob("_sidecars/*"), *folder.glob("*.json")]:
        file.unlink(missing_ok=True)

    for piece, tail in [
        *((piece, plan.tail) for piece in plan.pieces[:1]),
        (keyed.pieces[-1], keyed.tail),
    ]:
        with pytest.raises(dr.CorruptTableError, match=r"plan again|restore") as caught:
            piece.to_arrow(tail)
        sidecar = "_sidecars" in piece.paths[0]
        expected = "checkpoint.sidecar_missing" if sidecar else "replay.vanished"
        assert (caught.value.code, caught.value.path) == (expected, piece.paths[0])


def test_a_piece_requires_the_tail_of_its_plan(events: logs.LogBuilder) -> None:
    events.checkpoint(1)
    snapshot = dr.Table(events.uri).snapshot()
    first, other = snapshot.replay_plan(), snapshot.replay_plan()

    with pytest.raises(dr.InvalidArgumentError) as caught:
        first.pieces[0].to_arrow(other.tail)
    assert caught.value.code == "replay.plan"


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"plan":1,"work":{"rows":[]}}'])
def test_invalid_pieces_are_refused(text: str) -> None:
    for create in (lambda: _native.ReplayPiece(text), lambda: _native.ReplayTail(text, b"")):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            create()
        assert caught.value.code == "replay.json"


def test_another_release_does_not_read_our_pieces(table: dr.Table) -> None:
    _, (_, text, hidden) = table.snapshot().replay_plan().tail.__reduce__()
    other = json.dumps(json.loads(text) | {"library": "0.0.1"})
    with pytest.raises(dr.InvalidArgumentError, match=r"0\.0\.1.*same release") as caught:
        _native.ReplayTail(other, hidden)
    assert caught.value.code == "replay.json"
    with pytest.raises(dr.InvalidArgumentError, match="16 bytes each"):
        _native.ReplayTail(text, hidden[:-1])


def test_storage_options_are_pickled_but_not_printed(events: logs.LogBuilder) -> None:
    table = dr.Table(events.uri, {"aws_secret_access_key": "s3cr3t"})
    plan = table.snapshot().replay_plan(keyed=True)
    unpickled = pickle.loads(pickle.dumps(plan))

    assert b"s3cr3t" in pickle.dumps(plan.tail)
    assert "s3cr3t" not in repr(plan) + repr(unpickled.tail) + repr(unpickled.pieces)
    assert unpickled.pieces[0].to_arrow(unpickled.tail).num_rows == 3
    assert unpickled.files.equals(plan.files)


@pytest.mark.parametrize("cls", [dr.ReplayPiece, dr.ReplayTail])
def test_pieces_and_tails_are_created_by_a_plan_only(cls: Any) -> None:
    with pytest.raises(TypeError, match="replay_plan"):
        cls()


def test_planning_needs_the_memory_of_the_tail(large: str) -> None:
    """Listing the same files takes about 20 MB more, and planning almost nothing."""

    def peak(work: str) -> int:
        code = f"""
            from pathlib import Path
            import deltareplay as dr
            def peak():
                lines = Path("/proc/self/status").read_text().splitlines()
                return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
            snapshot = dr.Table({large!r}).snapshot()
            before = peak()
            result = {work}
            print(peak() - before)
        """
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            capture_output=True,
            text=True,
            check=True,
        )
        return int(done.stdout) << 10

    size = sum(file.stat().st_size for file in Path(large).rglob("*.parquet"))
    assert peak("snapshot.files()") > size / 2
    assert peak("snapshot.replay_plan()") < size / 4


def test_repr_of_a_plan(large: str) -> None:
    plan = dr.Table(large).snapshot().replay_plan(["path"], piece_size=7_000_000)
    assert plan.files.num_rows == 1
    assert repr(plan) == f"<ReplayPlan of {len(plan.pieces)} pieces, 1 file, {plan.tail!r}>"
