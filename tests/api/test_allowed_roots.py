"""``allowed_roots`` restricts: if set, links that lead elsewhere are refused."""

from __future__ import annotations

import datetime
import os
import pickle
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs, vectors

import deltareplay as dr

VECTOR = uuid.UUID("01020304-0506-0708-090a-0b0c0d0e0f10")
#: A file of each kind that reading the table needs, as in the log.
FILES = {
    "commit": f"_delta_log/{logs.commit_name(2)}",
    "checkpoint": f"_delta_log/{logs.v2_name(1)}",
    "sidecar": "_delta_log/_sidecars/s.parquet",
    "hint": "_delta_log/_last_checkpoint",
    "data": "p.parquet",
    "vector": f"deletion_vector_{VECTOR}.bin",
    "directory of the log": "_delta_log",
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two data files, one with a vector; a V2 checkpoint with a sidecar, and a later commit."""
    log = logs.LogBuilder(tmp_path / "t")
    for name in ("p.parquet", "q.parquet"):
        pq.write_table(pa.table({"id": pa.array([1, 2, 3], pa.int64())}), log.table / name)
    size = (log.table / "p.parquet").stat().st_size
    log.create(
        logs.schema(id="long"),
        protocol_action=logs.features("deletionVectors", "v2Checkpoint"),
    )
    log.commit(logs.add("p.parquet", size=size, stats=logs.stats(3)))
    side = logs.write_sidecar(
        log.table, "s.parquet", [action for action in log.state().actions() if "add" in action]
    )
    control = [action for action in log.state().actions() if "add" not in action]
    rows = [logs.checkpoint_metadata(1), side, *control]
    logs.write_file(log.table, logs.v2_name(1), logs.json_lines(rows))
    logs.write_hint(log.table, 1)
    content, [descriptor] = vectors.in_file([[1]], VECTOR)
    (log.table / FILES["vector"]).write_bytes(content)
    location = f"file://{log.table}/{FILES['vector']}"
    descriptor |= {"storageType": "p", "pathOrInlineDv": location}
    log.commit(
        logs.add("q.parquet", size=size, stats=logs.stats(3), deletion_vector=descriptor),
    )
    log.delete_commits(2)
    assert dr.Table(log.table).snapshot().version == 2
    return log.table


def rows(table: dr.Table) -> list[int]:
    return sorted(table.snapshot().scan().to_arrow()["id"].to_pylist())


def move_and_link(table: Path, name: str) -> Path:
    """Move a file out of the table and leave a link; return the new path."""
    target = table.parent / "away" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    os.replace(table / name, target)
    (table / name).symlink_to(target)
    return target


@pytest.mark.parametrize("kind", FILES)
def test_links_out_of_the_table_are_refused_with_allowed_roots(table: Path, kind: str) -> None:
    target = move_and_link(table, FILES[kind])
    expected = [1, 1, 2, 3, 3]
    assert rows(dr.Table(table)) == expected, "without allowed_roots, links are followed"
    for roots in ([], [str(table.parent / "other")], ["s3://bucket/away"]):
        confined = dr.Table(table, allowed_roots=roots)
        for item in (confined, pickle.loads(pickle.dumps(confined))):
            with pytest.raises(dr.CorruptTableError) as caught:
                rows(item)
            assert caught.value.code == "path.escapes_root"
            # for a directory, the error names it or a file in it
            assert FILES[kind] in (caught.value.path or "")
            assert str(target) in str(caught.value)
            assert "allowed_roots" in str(caught.value)
    assert rows(dr.Table(table, allowed_roots=[str(table.parent / "away")])) == expected
    assert rows(dr.Table(table, allowed_roots=[f"file://{table.parent}/away"])) == expected


def test_links_inside_and_to_the_table_are_followed(table: Path) -> None:
    os.replace(table / "p.parquet", table / "moved.parquet")
    (table / "p.parquet").symlink_to("moved.parquet")
    linked = table.parent / "linked"
    linked.symlink_to(table)
    expected = [1, 1, 2, 3, 3]
    assert rows(dr.Table(table, allowed_roots=[])) == expected
    # the log refers to the vector by the table's own location, where the link leads to
    assert rows(dr.Table(linked, allowed_roots=[str(table)])) == expected
    for roots in (None, []):
        assert rows(dr.Table(linked, allowed_roots=roots)) == expected
    aged = datetime.timedelta(0)
    assert dr.Table(linked).vacuum(aged, force=True, dry_run=True).files == ("moved.parquet",)


def test_append_does_not_write_through_a_link(table: Path) -> None:
    move_and_link(table, "_delta_log")
    confined = dr.Table(table, allowed_roots=[])
    before = sorted((table.parent / "away").rglob("*"))
    with pytest.raises(dr.CorruptTableError) as caught:
        confined.append({"id": [4]})
    assert caught.value.code == "path.escapes_root"
    assert sorted((table.parent / "away").rglob("*")) == before


def test_splits_check_links_when_they_are_read(table: Path) -> None:
    confined = dr.Table(table, allowed_roots=[])
    splits = pickle.loads(pickle.dumps(confined.snapshot().scan().splits()))
    move_and_link(table, "p.parquet")
    with pytest.raises(dr.CorruptTableError) as caught:
        for split in splits:
            for batch in split.to_batches():
                assert batch.num_rows
    assert caught.value.code == "path.escapes_root"
