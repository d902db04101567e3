"""``Table.generate``: symlink manifests."""

from __future__ import annotations

import datetime
from pathlib import Path

import pyarrow as pa
import pytest
from support import logs

import deltareplay as dr

FOLDER = "_symlink_format_manifest"


def _manifests(root: Path) -> dict[str, list[str]]:
    return {
        str(path.relative_to(root / FOLDER)): path.read_text().splitlines(keepends=True)
        for path in sorted((root / FOLDER).rglob("*"))
        if path.is_file()
    }


def _lines(table: dr.Table, root: Path) -> list[str]:
    files = sorted(table.snapshot().scan().files()["path"].to_pylist())
    assert all("%" not in file for file in files)
    return [f"file:{root}/{file}\n" for file in files]


def test_a_table_without_partitions_has_one_manifest(tmp_path: Path) -> None:
    root = tmp_path / "a b%"
    table = dr.create_table(root, pa.schema([("id", pa.int64())]))
    assert table.generate() == 1
    assert _manifests(root) == {"manifest": []}
    table.append(pa.table({"id": [1]}))
    table.append(pa.table({"id": [2]}))
    assert table.generate("symlink_format_manifest") == 1
    assert _manifests(root) == {"manifest": _lines(table, root)}
    table.delete()
    table.generate()
    assert _manifests(root) == {"manifest": []}
    assert table.snapshot().version == 3


def test_a_property_keeps_the_manifests_up_to_date(tmp_path: Path) -> None:
    """As in delta-spark."""
    schema = pa.schema([("p", pa.string()), ("id", pa.int64())])
    table = dr.create_table(tmp_path, schema, partition_columns=["p"])
    table.append(pa.table({"p": ["a", "b c"], "id": [1, 2]}))
    assert _manifests(tmp_path) == {}
    enabled = {"delta.compatibility.symlinkFormatManifest.enabled": "true"}
    table.set_properties(enabled)
    assert set(_manifests(tmp_path)) == {"p=a/manifest", "p=b c/manifest"}
    table.delete("p = 'b c'")
    table.append(pa.table({"p": ["a"], "id": [3]}))
    assert {name: len(lines) for name, lines in _manifests(tmp_path).items()} == {"p=a/manifest": 2}
    vectors = {"delta.enableDeletionVectors": "true"}
    for add in (
        lambda: table.set_properties(vectors),
        lambda: dr.create_table(tmp_path / "o", schema, properties=vectors | enabled),
    ):
        with pytest.raises(dr.InvalidArgumentError, match="cannot both be true") as caught:
            add()
        assert caught.value.code == "properties.value"
    table.set_properties(vectors | dict.fromkeys(enabled, "false"))
    table.append(pa.table({"p": ["d"], "id": [4]}))
    assert set(_manifests(tmp_path)) == {"p=a/manifest"}


@pytest.mark.parametrize("letter", ["%0A", "%0D", "%C2%85", "%E2%80%A8", "%1B"])
def test_a_path_of_several_lines_is_refused(tmp_path: Path, letter: str) -> None:
    """Readers of manifests would take the second line for a file of another directory."""
    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(id="long"))
    log.commit(logs.add(f"a{letter}file:/elsewhere/b.parquet"))
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr.Table(tmp_path).generate()
    assert caught.value.code == "generate.path"
    assert not (tmp_path / FOLDER).exists()


def test_each_partition_has_a_manifest(tmp_path: Path) -> None:
    timestamp = datetime.datetime(2026, 1, 2, 3, 4, 5, 500_000, tzinfo=datetime.timezone.utc)
    schema = pa.schema([("p", pa.string()), ("t", pa.timestamp("us", "UTC")), ("id", pa.int64())])
    table = dr.create_table(tmp_path, schema, ["p", "t"])
    table.append(pa.table({"p": ["a b/%=c", None], "t": [timestamp, None], "id": [1, 2]}, schema))
    assert table.generate() == 2
    result = _manifests(tmp_path)
    null = "__HIVE_DEFAULT_PARTITION__"
    full = "p=a b%2F%25%3Dc/t=2026-01-02T03%3A04%3A05.500000Z/manifest"
    assert set(result) == {full, f"p={null}/t={null}/manifest"}
    [line] = result[full]
    assert Path(line.removeprefix("file:").removesuffix("\n")).is_file()

    table.delete("p IS NULL")
    table.generate()
    assert set(_manifests(tmp_path)) == {full}
    assert not (tmp_path / FOLDER / f"p={null}").exists()


def test_stale_checksums_of_hadoop_are_deleted(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path, pa.schema([("id", pa.int64())]))
    table.generate()
    (tmp_path / FOLDER / ".manifest.crc").write_bytes(b"of another file")
    (tmp_path / FOLDER / "notes").write_bytes(b"of somebody")
    table.generate()
    assert set(_manifests(tmp_path)) == {"manifest", "notes"}


def test_tables_that_parquet_readers_misread_are_refused(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64())])
    vectors = {"delta.enableDeletionVectors": "true"}
    table = dr.create_table(tmp_path / "vectors", schema, properties=vectors)
    table.append(pa.table({"id": [1, 2]}))
    assert table.generate() == 1  # no file has a deletion vector yet
    table.delete("id = 1")
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        table.generate()
    assert caught.value.code == "generate.deletion_vectors"

    mapped = {"delta.columnMapping.mode": "name"}
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr.create_table(tmp_path / "mapped", schema, properties=mapped).generate()
    assert caught.value.code == "generate.column_mapping"


def test_unknown_modes_are_refused(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path, pa.schema([("id", pa.int64())]))
    assert table.generate("SYMLINK_FORMAT_manifest") == 1
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.generate("x")
    assert caught.value.code == "generate.mode"


def test_in_memory() -> None:
    table = dr.create_table("memory://symlinks/t", pa.schema([("id", pa.int64())]))
    table.append(pa.table({"id": [1]}))
    assert table.generate() == 1
    assert table.verify().ok
