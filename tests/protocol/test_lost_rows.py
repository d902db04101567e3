"""Checkpoints with actions without a path or columns of other types are refused, for all kinds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from support import logs

import deltareplay as dr

KINDS = ("classic", "multipart", "v2-json", "v2-parquet", "v2-classic", "v2-inline-parquet")
Change = Callable[[pa.StructArray], pa.StructArray]


def with_field(
    rows: pa.StructArray, name: str, change: Callable[[pa.Array], pa.Array]
) -> pa.StructArray:
    names = [field.name for field in rows.type]
    fields = [change(rows.field(item)) if item == name else rows.field(item) for item in names]
    return pa.StructArray.from_arrays(fields, names, mask=rows.is_null())


def last_path_null(rows: pa.StructArray) -> pa.StructArray:
    paths = rows.field("path").to_pylist()
    last = max(row for row, path in enumerate(paths) if path is not None)
    paths[last] = None
    return with_field(rows, "path", lambda _: pa.array(paths, pa.string()))


def sizes_as_texts(rows: pa.StructArray) -> pa.StructArray:
    return with_field(rows, "size", lambda sizes: pc.cast(sizes, pa.string()))


def rewrite(log: logs.LogBuilder, column: str, change: Change) -> Path:
    """Change a column in the last Parquet file of the checkpoint that has values in it."""
    result = None
    for path in sorted((log.table / "_delta_log").rglob("*.parquet")):
        table = pq.read_table(path)
        if column in table.column_names and table[column].null_count < len(table):
            result = path
    assert result is not None
    table = pq.read_table(result)
    location = table.schema.get_field_index(column)
    rows = table.column(location).combine_chunks()
    pq.write_table(table.set_column(location, column, change(rows)), result)
    return result


def history(path: Path, kind: str) -> logs.LogBuilder:
    log = logs.LogBuilder(path)
    log.create(logs.schema(id="long"), protocol_action=logs.features("v2Checkpoint"))
    log.commit(*(logs.add(f"{number}.parquet", size=number) for number in range(6)))
    log.commit(logs.remove("0.parquet"))
    log.checkpoint(kind=kind)
    return log


def assert_refused(log: logs.LogBuilder, file: Path, *, code: str, words: tuple[str, ...]) -> None:
    """Check that the table is refused without its commits; ``verify`` reports it in any case."""
    name = file.relative_to(log.table).as_posix()
    result = [finding for finding in dr.Table(log.uri).verify().findings if finding.code == code]
    assert [item.path for item in result] == [name]
    # the commits exist: they are read instead
    assert dr.Table(log.uri).snapshot().files().num_rows == 5
    log.delete_commits(2)
    with pytest.raises(dr.CorruptTableError) as caught:
        dr.Table(log.uri).snapshot().files(["path"])
    assert (caught.value.code, caught.value.path) == (code, name)
    assert all(word in str(caught.value) for word in words), caught.value
    with pytest.raises(dr.CorruptTableError) as caught:
        list(dr.Table(log.uri).snapshot().file_batches(columns=["path"]))
    assert (caught.value.code, caught.value.path) == (code, name)


@pytest.mark.parametrize("kind", KINDS)
def test_an_add_without_a_path(tmp_path: Path, kind: str) -> None:
    log = history(tmp_path, kind)
    file = rewrite(log, "add", last_path_null)
    words = ("row group 0", "add without add.path")
    assert_refused(log, file, code="checkpoint.rows", words=words)


@pytest.mark.parametrize("kind", KINDS)
def test_a_size_that_is_text(tmp_path: Path, kind: str) -> None:
    log = history(tmp_path, kind)
    file = rewrite(log, "add", sizes_as_texts)
    words = ("add.size has the type Utf8 instead of Int64",)
    assert_refused(log, file, code="checkpoint.columns", words=words)


@pytest.mark.parametrize("kind", ["v2-parquet", "v2-classic"])
def test_a_sidecar_without_a_path(tmp_path: Path, kind: str) -> None:
    log = history(tmp_path, kind)
    file = rewrite(log, "sidecar", last_path_null)
    assert_refused(log, file, code="checkpoint.rows", words=("sidecar without sidecar.path",))


def test_the_error_names_the_row(tmp_path: Path) -> None:
    log = history(tmp_path, "classic")
    file = rewrite(log, "add", last_path_null)
    adds = pq.read_table(file)["add"].combine_chunks()
    paths = pc.struct_field(adds, "path")
    [row] = [n for n in range(len(adds)) if adds[n].is_valid and not paths[n].is_valid]
    assert_refused(log, file, code="checkpoint.rows", words=(f"row {row} of row group 0",))


@pytest.mark.parametrize("kind", ["v2-json", "v2-inline-json"])
def test_a_json_manifest_with_an_action_without_a_path(tmp_path: Path, kind: str) -> None:
    log = history(tmp_path, kind)
    name = logs.v2_name(2)
    file = tmp_path / "_delta_log" / name
    action = "add" if "inline" in kind else "sidecar"
    lost = {"add": {"path": None, "size": 1}, "sidecar": {"path": None, "sizeInBytes": 1}}[action]
    file.write_bytes(file.read_bytes() + logs.json_lines([{action: lost}]))
    assert_refused(log, file, code="commit.json", words=(name, "has no path"))


@pytest.mark.parametrize("action", ["add", "remove", "cdc"])
def test_a_commit_with_an_action_without_a_path(tmp_path: Path, action: str) -> None:
    log = history(tmp_path, "classic")
    log.commit({action: {"path": None, "size": 1, "dataChange": True}})
    table = dr.Table(log.uri)
    for read in (lambda: table.snapshot().files(), lambda: table.changes(3).to_arrow()):
        with pytest.raises(dr.CorruptTableError, match="the file action has no path") as caught:
            read()
        assert (caught.value.code, caught.value.line) == ("commit.json", 1)
