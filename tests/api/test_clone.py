"""``Table.clone``: shallow and deep clones, new and repeated."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs
from support.writing import bodies

import deltareplay as dr

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])


def _source(at: Path, **properties: str) -> dr.Table:
    configuration = {key.replace("__", "."): value for key, value in properties.items()}
    table = dr.create_table(at, SCHEMA, ["p"], configuration, name="n", description="d")
    table.append(pa.table({"id": [1, 2, 3, 4], "p": ["a b%", "a b%", None, "c/d"]}))
    return table


def _rows(table: dr.Table) -> list[dict[str, Any]]:
    return table.snapshot().scan().to_arrow().sort_by("id").to_pylist()


@pytest.mark.parametrize("shallow", [True, False], ids=["shallow", "deep"])
def test_a_clone_has_the_same_rows(tmp_path: Path, shallow: bool) -> None:
    source = _source(tmp_path / "from %", owner="me", delta__enableDeletionVectors="true")
    source.delete("id = 2")
    clone = source.clone(tmp_path / "to", shallow=shallow, properties={"more": "x"})

    assert _rows(clone) == _rows(source)
    before, after = source.snapshot(), clone.snapshot()
    assert after.version == 0
    assert after.schema == before.schema
    assert after.partition_columns == ["p"]
    assert after.properties == {**before.properties, "more": "x"}
    assert after.protocol == before.protocol
    assert after.metadata.id != before.metadata.id
    assert after.metadata.created_time == before.metadata.created_time
    assert (after.metadata.name, after.metadata.description) == (None, None)
    [info] = bodies(clone, 0, "commitInfo")
    size = before.size_in_bytes
    assert info["operation"] == "CLONE"
    assert info["operationParameters"] == {
        "source": f"delta.`file:{tmp_path / 'from %'}`",
        "sourceVersion": 2,
    }
    assert info["operationMetrics"] == {
        "sourceTableSize": str(size),
        "sourceNumOfFiles": "3",
        "numRemovedFiles": "0",
        "numCopiedFiles": "0" if shallow else "3",
        "removedFilesSize": "0",
        "copiedFilesSize": "0" if shallow else str(size),
    }
    assert clone.verify(rows=True).ok


def test_a_shallow_clone_points_to_the_source(tmp_path: Path) -> None:
    source = _source(tmp_path / "from %", delta__enableDeletionVectors="true")
    source.delete("id = 2")
    clone = source.clone(tmp_path / "to")
    root = f"file:{tmp_path}/from%20%25/"
    adds = bodies(clone, 0, "add")
    source_paths = {
        root + file for file in source.snapshot().files(columns=["path"])["path"].to_pylist()
    }
    assert {add["path"] for add in adds} == source_paths
    [vector] = [add["deletionVector"] for add in adds if "deletionVector" in add]
    assert vector["storageType"] == "p"
    assert vector["pathOrInlineDv"].startswith(f"{root}deletion_vector_")
    assert clone.allowed_roots == [source.uri]

    with pytest.raises(dr.CorruptTableError) as caught:
        dr.Table(tmp_path / "to").snapshot().scan().to_arrow()
    assert caught.value.code == "path.escapes_root"
    assert _rows(dr.Table(tmp_path / "to", allowed_roots=[tmp_path / "from %"])) == _rows(source)


def test_a_shallow_clone_is_independent(tmp_path: Path) -> None:
    source = _source(tmp_path / "from", delta__enableDeletionVectors="true")
    clone = source.clone(tmp_path / "to")
    clone.append(pa.table({"id": [9]}))
    clone.delete("id = 1")
    assert [row["id"] for row in _rows(clone)] == [2, 3, 4, 9]
    assert [row["id"] for row in _rows(source)] == [1, 2, 3, 4]
    second = clone.clone(tmp_path / "again")
    assert _rows(second) == _rows(clone)
    deep = second.clone(tmp_path / "deep", shallow=False)
    assert _rows(dr.Table(deep.uri)) == _rows(clone)
    assert deep.verify(rows=True).ok


def test_a_deep_clone_is_independent(tmp_path: Path) -> None:
    source = _source(tmp_path / "from", delta__enableDeletionVectors="true")
    source.delete("id = 2")
    expected = _rows(source)
    source.clone(tmp_path / "to", shallow=False)
    os.rename(tmp_path / "from", tmp_path / "gone")
    clone = dr.Table(tmp_path / "to")
    assert _rows(clone) == expected
    files = clone.snapshot().files(columns=["path"])["path"].to_pylist()
    assert all(not file.startswith(("/", "file:")) for file in files)


def test_older_versions_are_cloned(tmp_path: Path) -> None:
    source = _source(tmp_path / "from")
    first = _rows(source)
    source.delete("id > 1")
    assert _rows(source.clone(tmp_path / "by number", version=1)) == first
    timestamp = source.snapshot(1).timestamp
    assert _rows(source.clone(tmp_path / "by time", timestamp=timestamp, shallow=False)) == first


def test_a_repeated_deep_clone_copies_new_files_only(tmp_path: Path) -> None:
    source = _source(tmp_path / "from")
    clone = source.clone(tmp_path / "to", shallow=False)
    source.append(pa.table({"id": [5], "p": ["new"]}))
    source.delete("id = 3")
    source.clone(tmp_path / "to", shallow=False, or_replace=True, properties={"k": "v"})

    assert _rows(clone) == _rows(source)
    assert clone.snapshot().version == 1
    assert clone.snapshot().properties == {"k": "v"}
    [info] = bodies(clone, 1, "commitInfo")
    metrics = {key: int(value) for key, value in info["operationMetrics"].items()}
    assert metrics["sourceNumOfFiles"] == 3
    assert (metrics["numCopiedFiles"], metrics["numRemovedFiles"]) == (1, 1)
    assert len(bodies(clone, 1, "add")) == 1
    [remove] = bodies(clone, 1, "remove")
    assert remove["partitionValues"] == {"p": None}
    assert _rows(dr.Table(clone.uri)) == _rows(source)
    assert len(clone.snapshot(0).scan().to_arrow()) == 4


def test_vectors_that_changed_are_cloned_again(tmp_path: Path) -> None:
    source = _source(tmp_path / "from", delta__enableDeletionVectors="true")
    source.delete("id = 1")
    clone = source.clone(tmp_path / "to", shallow=False)
    source.delete("id = 2")
    source.clone(tmp_path / "to", shallow=False, or_replace=True)
    assert _rows(clone) == _rows(source)
    assert clone.verify(rows=True).ok


@pytest.mark.parametrize("shallow", [True, False], ids=["shallow", "deep"])
def test_another_table_is_replaced(tmp_path: Path, shallow: bool) -> None:
    source = _source(tmp_path / "from")
    other = dr.create_table(
        tmp_path / "to",
        pa.schema([("x", pa.int64())]),
        properties={"delta.enableDeletionVectors": "true", "old": "1"},
        name="mine",
    )
    other.append(pa.table({"x": [1]}))
    other.cluster_by(["x"])
    clone = source.clone(tmp_path / "to", shallow=shallow, or_replace=True)
    snapshot = clone.snapshot()
    assert _rows(clone) == _rows(source)
    assert snapshot.properties == {}
    assert snapshot.metadata.name == "mine"
    assert snapshot.metadata.id == other.snapshot(1).metadata.id
    assert "deletionVectors" in (snapshot.protocol.writer_features or ())
    assert json.loads(snapshot.domain_metadata["delta.clustering"]) == {"clusteringColumns": []}
    assert other.snapshot(1).scan().to_arrow().to_pylist() == [{"x": 1}]


def test_a_clone_keeps_the_clustering_and_assigns_row_ids(tmp_path: Path) -> None:
    properties = {"delta.enableRowTracking": "true", "delta.enableInCommitTimestamps": "true"}
    source = dr.create_table(tmp_path / "from", SCHEMA, properties=properties)
    source.append(pa.table({"id": [1]}))
    source.overwrite(pa.table({"id": [5, 6]}))
    source.cluster_by(["id"])
    clone = source.clone(tmp_path / "to")
    snapshot = clone.snapshot()
    assert json.loads(snapshot.domain_metadata["delta.clustering"]) == {
        "clusteringColumns": [["id"]]
    }
    rows = snapshot.scan(with_row_id=True).to_arrow().sort_by("id")
    assert rows["_row_id"].to_pylist() == [0, 1]  # its own, as in delta-spark
    assert rows["_row_commit_version"].to_pylist() == [0, 0]
    names = [key for key in snapshot.properties if key.startswith("delta.rowTracking.")]
    assert len(names) == 2
    for name in names:
        assert snapshot.properties[name] != source.snapshot().properties[name]
    assert snapshot.in_commit_timestamp is not None
    assert "delta.inCommitTimestampEnablementVersion" not in snapshot.properties


def test_a_repeated_clone_that_tracks_rows_gives_ids_to_all_files(tmp_path: Path) -> None:
    source = _source(tmp_path / "from")
    clone = source.clone(tmp_path / "to")
    properties = {"delta.enableRowTracking": "true", "delta.minWriterVersion": "7"}
    source.clone(tmp_path / "to", or_replace=True, properties=properties)
    snapshot = clone.snapshot()
    assert snapshot.properties["delta.enableRowTracking"] == "true"
    assert "delta.minWriterVersion" not in snapshot.properties
    rows = snapshot.scan(with_row_id=True).to_arrow()
    assert sorted(rows["_row_id"].to_pylist()) == [0, 1, 2, 3]
    assert set(rows["_row_commit_version"].to_pylist()) == {snapshot.version}
    assert clone.changes(snapshot.version).to_arrow().num_rows == 0


def test_deep_clones_go_to_other_stores(tmp_path: Path) -> None:
    source = _source(tmp_path / "from", delta__enableDeletionVectors="true")
    source.delete("id = 2")
    clone = source.clone("memory://clones/to", shallow=False)
    assert _rows(clone) == _rows(source)
    assert _rows(clone.clone("memory://clones/again", shallow=False)) == _rows(source)
    assert _rows(clone.clone(tmp_path / "back", shallow=False)) == _rows(source)
    assert _rows(clone.clone("memory://clones/shallow")) == _rows(source)


def _converted(at: Path, ids: list[int]) -> dr.Table:
    """A table whose file has a name that other tables have, too."""
    at.mkdir()
    pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), at / "data.parquet")
    return dr.convert(at)


@pytest.mark.parametrize("ids", [[1, 2, 3], list(range(100, 200))], ids=["same size", "longer"])
def test_files_of_the_same_name_are_not_overwritten(tmp_path: Path, ids: list[int]) -> None:
    source, target = _converted(tmp_path / "from", ids), _converted(tmp_path / "to", [7, 8, 9])
    before = (tmp_path / "to" / "data.parquet").read_bytes()
    for copied in ("1", "0"):  # a second clone reuses the copies of the first
        clone = source.clone(tmp_path / "to", shallow=False, or_replace=True)
        assert [row["id"] for row in clone.snapshot().to_arrow().to_pylist()] == ids
        [info] = bodies(clone, clone.snapshot().version, "commitInfo")
        assert info["operationMetrics"]["numCopiedFiles"] == copied
    assert (tmp_path / "to" / "data.parquet").read_bytes() == before
    assert target.snapshot(0).to_arrow()["id"].to_pylist() == [7, 8, 9]
    assert clone.verify(rows=True).ok


def test_data_files_in_the_log_directory_are_refused(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path / "from")
    log.create(logs.schema(id="long"))
    log.commit(logs.add("%5fdelta_log/%5flast_checkpoint"))
    (tmp_path / "from" / "_delta_log" / "_last_checkpoint").write_text('{"version":0,"size":1}')
    target = _converted(tmp_path / "to", [7])
    kept = {path: path.read_bytes() for path in (tmp_path / "to").rglob("*") if path.is_file()}
    for location, or_replace in ((tmp_path / "to", True), (tmp_path / "new", False)):
        for shallow in (False, True):
            with pytest.raises(dr.CorruptTableError) as caught:
                dr.Table(tmp_path / "from").clone(location, shallow=shallow, or_replace=or_replace)
            assert caught.value.code == "path.in_log"
    assert kept == {path: path.read_bytes() for path in kept}
    assert target.snapshot().version == 0
    assert not (tmp_path / "new").exists()


def test_files_are_not_copied_to_hidden_directories(tmp_path: Path) -> None:
    """A manifest of the source must not become one of the target: other engines follow it."""
    log = logs.LogBuilder(tmp_path / "from")
    log.create(logs.schema(id="long", _p="string"), partition_columns=["_p"])
    rows = pa.table({"id": [1]})
    names = ["_symlink_format_manifest/manifest", ".hidden/a.parquet", "_p=x/b.parquet"]
    for name in names:
        path = tmp_path / "from" / name
        path.parent.mkdir(exist_ok=True)
        pq.write_table(rows, path)
        log.commit(logs.add(name, size=path.stat().st_size, partition_values={"_p": "x"}))
    clone = dr.Table(tmp_path / "from").clone(tmp_path / "to", shallow=False)
    assert clone.snapshot().num_files == 3
    assert _rows(clone) == [{"id": 1, "_p": "x"}] * 3
    copies = [str(path.relative_to(tmp_path / "to")) for path in (tmp_path / "to").rglob("*")]
    hidden = {copy.split("/")[0] for copy in copies if copy.startswith(("_", "."))}
    assert hidden == {"_delta_log", "_p=x"}


def _exists(source: dr.Table, root: Path) -> None:
    dr.create_table(root / "to", SCHEMA)
    source.clone(root / "to")


REFUSED: dict[str, tuple[Callable[[dr.Table, Path], object], type[Exception], str]] = {
    "a table exists": (_exists, dr.InvalidArgumentError, "table.exists"),
    "itself": (
        lambda source, root: source.clone(root / "from", or_replace=True),
        dr.InvalidArgumentError,
        "clone.target",
    ),
    "inside": (
        lambda source, root: source.clone(root / "from" / "to"),
        dr.InvalidArgumentError,
        "clone.target",
    ),
    "around": (
        lambda source, root: source.clone(root, shallow=False),
        dr.InvalidArgumentError,
        "clone.target",
    ),
    "another store": (
        lambda source, _: source.clone("memory://clones/other"),
        dr.UnsupportedFeatureError,
        "clone.store",
    ),
    "no such version": (
        lambda source, root: source.clone(root / "to", version=9),
        dr.VersionNotFoundError,
        "version.not_found",
    ),
    "two versions": (
        lambda source, root: source.clone(root / "to", version=0, timestamp="2026-01-01"),
        dr.InvalidArgumentError,
        "argument.version_and_timestamp",
    ),
    "a bad property": (
        lambda source, root: source.clone(root / "to", properties={"delta.appendOnly": "x"}),
        dr.InvalidArgumentError,
        "properties.value",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_clones_are_refused(tmp_path: Path, case: str) -> None:
    clone, error, code = REFUSED[case]
    source = _source(tmp_path / "from")
    with pytest.raises(error) as caught:
        clone(source, tmp_path)
    assert isinstance(caught.value, dr.DeltaReplayError)
    assert caught.value.code == code
    assert source.snapshot().version == 1


@pytest.mark.parametrize("damage", ["missing", "longer"])
def test_damaged_files_are_not_copied(tmp_path: Path, damage: str) -> None:
    source = _source(tmp_path / "from")
    path = next((tmp_path / "from").rglob("*.parquet"))
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes() + b"!")
    with pytest.raises(dr.DeltaReplayError) as caught:
        source.clone(tmp_path / "to", shallow=False)
    expected = {"missing": "storage.not_found", "longer": "clone.size"}
    assert caught.value.code == expected[damage]
    assert path.name in (caught.value.path or "")
    assert not dr.is_table(tmp_path / "to")


def test_links_that_lead_out_are_not_copied(tmp_path: Path) -> None:
    _source(tmp_path / "from")
    path = next((tmp_path / "from").rglob("*.parquet"))
    os.rename(path, tmp_path / "secret")
    path.symlink_to(tmp_path / "secret")
    confined = dr.Table(tmp_path / "from", allowed_roots=[])
    with pytest.raises(dr.CorruptTableError) as caught:
        confined.clone(tmp_path / "to", shallow=False)
    assert caught.value.code == "path.escapes_root"


REPLACEMENTS: dict[str, Callable[[dr.Table, Path], object]] = {
    "a shallow clone": lambda other, path: other.clone(path, or_replace=True),
    "a deep clone": lambda other, path: other.clone(path, shallow=False, or_replace=True),
    "rows": lambda _, path: dr.write(path, {"id": [2]}, mode="overwrite"),
    "no rows": lambda _, path: dr.Table(path).delete(),
}


@pytest.mark.parametrize("name", REPLACEMENTS)
def test_a_shallow_clone_is_replaced_without_its_roots(tmp_path: Path, name: str) -> None:
    """As in delta-spark: removing the files of another table opens none of them."""
    dr.write(tmp_path / "source", {"id": [1]})
    dr.write(tmp_path / "other", {"id": [2]})
    path, other = tmp_path / "clone", dr.Table(tmp_path / "other")
    dr.Table(tmp_path / "source").clone(path)

    REPLACEMENTS[name](other, path)

    replaced = dr.Table(path, allowed_roots=[other.uri]).snapshot().scan().to_arrow()
    assert replaced["id"].to_pylist() == ([] if name == "no rows" else [2])
    assert dr.Table(tmp_path / "source").snapshot().scan().to_arrow()["id"].to_pylist() == [1]


def test_properties_of_the_source_log_are_left_out_in_any_case(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path / "source")
    own = {
        "delta.incommittimestampenablementversion": "3",
        "DELTA.inCommitTimestampEnablementTimestamp": "4",
        "delta.rowtracking.materializedRowIdColumnName": "a",
        "delta.rowTracking.MATERIALIZEDROWCOMMITVERSIONCOLUMNNAME": "b",
    }
    configuration = own | {"delta.appendonly": "false", "x": "y"}
    log.create('{"type":"struct","fields":[]}', configuration=configuration)
    copy = dr.Table(log.uri).clone(tmp_path / "copy")
    assert copy.snapshot().properties == {"delta.appendonly": "false", "x": "y"}


def test_the_start_of_in_commit_timestamps_is_removed_in_any_case(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path / "t")
    start = {
        "delta.incommittimestampenablementversion": "0",
        "delta.incommittimestampenablementtimestamp": "4",
    }
    log.create('{"type":"struct","fields":[]}', configuration=start)
    table = dr.Table(log.uri)
    table.set_properties({"x": "y"})
    assert table.snapshot().properties == {"x": "y"}
