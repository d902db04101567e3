"""Checkpoints and checksums written here, checked by pyarrow, deltalake and our reader."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs
from support.writing import partitioned, unpartitioned

import deltareplay as dr


def log_of(table: dr.Table) -> Path:
    return logs.local_path(table.uri) / "_delta_log"


def state(table: dr.Table) -> dict[str, Any]:
    """Return the state of the newest snapshot."""
    snapshot = table.snapshot()
    return {
        "version": snapshot.version,
        "protocol": snapshot.protocol,
        "metadata": snapshot.metadata,
        "files": snapshot.files().sort_by("path").to_pylist(),
        "tombstones": sorted(
            (row["path"], row["deletionTimestamp"]) for row in snapshot.tombstones().to_pylist()
        ),
        "transactions": snapshot.transactions,
        "domains": snapshot.domain_metadata,
    }


def table_with_every_action(root: Path, **properties: str) -> dr.Table:
    """A table with actions of every kind."""
    table = partitioned(root)
    table.set_properties(
        {
            "delta.enableDeletionVectors": "true",
            "delta.feature.domainMetadata": "supported",
            **properties,
        }
    )
    with table.transaction(txn=("app", 3)) as transaction:
        transaction.add(
            "3%20c",
            size=5,
            partition_values={"day": None},
            stats={
                "numRecords": 2,
                "minValues": {"id": 1},
                "maxValues": {"id": 2},
                "nullCount": {"id": 0},
            },
            tags={"T": "1"},
        )
        transaction.remove("1a")
        transaction.set_domain_metadata("owner", "{}")
    return table


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"delta.checkpoint.writeStatsAsStruct": "true"},
        {
            "delta.checkpoint.writeStatsAsStruct": "true",
            "delta.checkpoint.writeStatsAsJson": "false",
            "delta.parquet.compression.codec": "snappy",
        },
    ],
    ids=["json", "both", "struct"],
)
def test_a_checkpoint_holds_the_table(properties: dict[str, str], tmp_path: Path) -> None:
    table = table_with_every_action(tmp_path / "t", **properties)
    before = state(table)
    written = table.checkpoint()

    assert written.num_files == len(before["files"]) == 4
    file = log_of(table) / logs.classic_name(before["version"])
    raw = pq.read_table(file)
    assert raw.num_rows == written.num_actions
    assert file.stat().st_size == written.size_in_bytes
    kinds = ["txn", "add", "remove", "metaData", "protocol", "domainMetadata"]
    assert raw.column_names == kinds
    counts = [raw.num_rows - raw[kind].null_count for kind in kinds]
    assert counts == [1, 4, 1, 1, 1, 1]
    names = {field.name for field in raw.schema.field("add").type}
    assert ("stats_parsed" in names) == bool(properties)
    assert ("partitionValues_parsed" in names) == bool(properties)
    assert ("stats" in names) == ("delta.checkpoint.writeStatsAsJson" not in properties)

    for version in range(before["version"]):
        (log_of(table) / logs.commit_name(version)).unlink()
    after = state(dr.Table(table.uri, strict=True))
    if "delta.checkpoint.writeStatsAsJson" in properties:
        for files in (before["files"], after["files"]):
            for row in files:
                row["stats"] = None if row["stats"] is None else json.loads(row["stats"])
    assert after == before


def test_the_hint_names_the_checkpoint(tmp_path: Path) -> None:
    table = table_with_every_action(tmp_path / "t")
    written = table.checkpoint()
    hint = json.loads((log_of(table) / "_last_checkpoint").read_text())

    assert hint.pop("checksum")
    assert hint == {
        "version": written.version,
        "size": written.num_actions,
        "sizeInBytes": written.size_in_bytes,
        "numOfAddFiles": written.num_files,
    }
    assert table.snapshot(strict=True).warnings == []


@pytest.mark.slow
def test_files_fill_row_groups(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path / "t")
    paths = [f"part-{number:06}" for number in range(120_000)]
    files = pa.table({"path": paths, "size": pa.array([1] * len(paths), pa.int64())})
    with table.transaction() as transaction:
        transaction.add_files(files)
    written = table.checkpoint()

    assert written.num_files == 120_002
    meta = pq.ParquetFile(log_of(table) / logs.classic_name(2)).metadata
    rows = [meta.row_group(number).num_rows for number in range(meta.num_row_groups)]
    assert rows[0] == 2, "protocol and metadata"
    assert max(rows) == 50_000
    assert sum(rows) == written.num_actions == 120_004
    assert table.snapshot().num_files == 120_002


V2 = {"delta.checkpointPolicy": "v2"}


@pytest.mark.parametrize("layout", [None, "v2-json"])
@pytest.mark.parametrize(
    "properties",
    [{}, {"delta.checkpoint.writeStatsAsStruct": "true"}],
    ids=["json", "both"],
)
def test_a_v2_checkpoint_holds_the_table(
    layout: Any, properties: dict[str, str], tmp_path: Path
) -> None:
    table = table_with_every_action(tmp_path / "t", **V2, **properties)
    before = state(table)
    written = table.checkpoint(layout=layout)

    assert (written.num_files, written.num_sidecars) == (4, 1)
    manifest = log_of(table).parent / written.path
    suffix = ".json" if layout else ".parquet"
    assert manifest.name.startswith(f"{before['version']:020}.checkpoint.")
    assert manifest.suffix == suffix
    if layout:
        rows = [json.loads(line) for line in manifest.read_text().splitlines()]
    else:
        rows = [
            {kind: body for kind, body in row.items() if body is not None}
            for row in pq.read_table(manifest).to_pylist()
        ]
    kinds = sorted(next(iter(row)) for row in rows)
    assert kinds == [
        "checkpointMetadata",
        "domainMetadata",
        "metaData",
        "protocol",
        "sidecar",
        "txn",
    ]
    (named,) = [row["sidecar"] for row in rows if "sidecar" in row]
    sidecar = log_of(table) / "_sidecars" / named["path"]
    assert sidecar.stat().st_size == named["sizeInBytes"]
    side = pq.read_table(sidecar)
    assert side.column_names == ["add", "remove"]
    assert [side.num_rows - side[kind].null_count for kind in side.column_names] == [4, 1]
    assert ("stats_parsed" in {f.name for f in side.schema.field("add").type}) == bool(properties)
    assert written.num_actions == len(rows) + side.num_rows
    assert written.size_in_bytes == manifest.stat().st_size + named["sizeInBytes"]
    (about,) = [row["checkpointMetadata"] for row in rows if "checkpointMetadata" in row]
    assert about["version"] == before["version"]
    assert dict(about["tags"])["sidecarNumActions"] == "5"

    hint = json.loads((log_of(table) / "_last_checkpoint").read_text())
    assert hint["v2Checkpoint"]["path"] == manifest.name
    assert [item["path"] for item in hint["v2Checkpoint"]["sidecarFiles"]] == [named["path"]]
    assert len(hint["v2Checkpoint"]["nonFileActions"]) == 5
    assert table.checkpoint(layout=layout) == written, "an existing file stays"

    for version in range(before["version"]):
        (log_of(table) / logs.commit_name(version)).unlink()
    after = state(dr.Table(table.uri, strict=True))
    assert after == before


@pytest.mark.slow
def test_sidecars_hold_fifty_thousand_files_each(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path / "t")
    table.set_properties(V2)
    paths = [f"part-{number:06}" for number in range(120_000)]
    files = pa.table({"path": paths, "size": pa.array([1] * len(paths), pa.int64())})
    with table.transaction() as transaction:
        transaction.add_files(files)
    written = table.checkpoint()

    sides = sorted((log_of(table) / "_sidecars").iterdir())
    assert written.num_sidecars == len(sides) == 3
    counts = sorted(pq.ParquetFile(side).metadata.num_rows for side in sides)
    assert counts == [20_002, 50_000, 50_000]
    snapshot = dr.Table(table.uri, strict=True).snapshot()
    assert set(snapshot.files(columns=["path"])["path"].to_pylist()) == {*paths, "a", "b"}


def test_the_layout_follows_the_policy(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path / "t", configuration={"delta.checkpointInterval": "2"})
    with pytest.raises(dr.InvalidArgumentError, match="v2Checkpoint") as caught:
        table.checkpoint(layout="v2")
    assert caught.value.code == "checkpoint.layout"
    with pytest.raises(dr.InvalidArgumentError, match="no checkpoint layout"):
        table.checkpoint(layout="v3")  # type: ignore[arg-type]
    table.set_properties(V2)
    (manifest,) = log_of(table).glob("*.checkpoint.*.parquet")
    assert manifest.name.startswith(f"{2:020}")
    assert table.checkpoint(layout="classic").path.endswith(".checkpoint.parquet")
    assert table.snapshot(strict=True).num_files == 2


def test_an_existing_checkpoint_fulfils_the_interval(tmp_path: Path) -> None:
    """Another writer wrote the checkpoint of the committed version first."""
    table = unpartitioned(tmp_path / "t", configuration={"delta.checkpointInterval": "2"})
    other = log_of(table) / logs.classic_name(2)
    with table.transaction() as transaction:
        transaction.add("c", size=1)
        other.write_bytes(b"theirs")
    assert list(log_of(table).glob("*.checkpoint*")) == [other]
    assert other.read_bytes() == b"theirs"


def test_commits_write_checkpoints_by_the_interval(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path / "t", configuration={"delta.checkpointInterval": "3"})
    for number in range(6):
        with table.transaction() as transaction:
            transaction.add(f"x{number}", size=1)
    result = sorted(path.name for path in log_of(table).glob("*.checkpoint.parquet"))
    assert result == [logs.classic_name(3), logs.classic_name(6)]
    assert json.loads((log_of(table) / "_last_checkpoint").read_text())["version"] == 6


def test_an_existing_checkpoint_is_kept(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path / "t")
    first = table.checkpoint()
    file = log_of(table) / logs.classic_name(1)
    before = file.stat().st_mtime_ns
    assert table.checkpoint() == first
    assert first.num_sidecars == 0
    assert file.stat().st_mtime_ns == before


def test_an_existing_v2_checkpoint_may_have_a_classic_name(tmp_path: Path) -> None:
    table = table_with_every_action(tmp_path / "t", **V2)
    written = table.checkpoint(layout="v2")
    classic = log_of(table) / logs.classic_name(written.version)
    (log_of(table).parent / written.path).rename(classic)
    kept = table.checkpoint(layout="classic")
    assert kept == dataclasses.replace(written, path=f"_delta_log/{classic.name}")


def test_deltalake_reads_the_checkpoint(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    table = unpartitioned(tmp_path / "t")
    with table.transaction() as transaction:
        transaction.add("c", size=1)
        transaction.remove("a")
    table.checkpoint()
    for version in range(2):
        (log_of(table) / logs.commit_name(version)).unlink()

    peer = deltalake.DeltaTable(table.uri)
    assert peer.version() == 2
    assert sorted(Path(uri).name for uri in peer.file_uris()) == ["b", "c"]


def test_the_checksum_counts_live_files(tmp_path: Path) -> None:
    table = table_with_every_action(tmp_path / "t")
    version = table.snapshot().version
    path = log_of(table) / f"{version:020}.crc"
    path.unlink(missing_ok=True)
    assert table.write_checksum() is True
    assert table.write_checksum() is False
    checksum = json.loads(path.read_text())
    snapshot = table.snapshot(strict=True)
    files = snapshot.files().to_pylist()

    assert checksum["numFiles"] == 4
    assert checksum["tableSizeBytes"] == sum(row["size"] for row in files)
    assert checksum["setTransactions"][0]["appId"] == "app"
    assert checksum["domainMetadata"] == [
        {"domain": "owner", "configuration": "{}", "removed": False}
    ]
    assert checksum["metadata"]["id"] == snapshot.metadata.id
    assert sorted(row["path"] for row in checksum["allFiles"]) == sorted(
        row["path"] for row in files
    )
    histogram = checksum["fileSizeHistogram"]
    assert len(histogram["sortedBinBoundaries"]) == 95
    assert histogram["fileCounts"][0] == 4
    assert sum(histogram["totalBytes"]) == checksum["tableSizeBytes"]
    assert checksum["deletedRecordCountsHistogramOpt"]["deletedRecordCounts"][0] == 4
    assert (checksum["numDeletedRecordsOpt"], checksum["numDeletionVectorsOpt"]) == (0, 0)


def test_commits_of_a_new_table_write_checksums(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]))
    for number in range(3):
        with table.transaction() as transaction:
            transaction.add(f"x{number}", size=1)
    ids = []
    for version in range(4):
        checksum = json.loads((log_of(table) / f"{version:020}.crc").read_text())
        assert checksum["numFiles"] == version
        ids.append(checksum["txnId"])
    assert len(set(ids)) == 4
    assert table.snapshot(strict=True).num_files == 3


def test_a_checkpoint_that_fails_is_a_warning(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path / "t", configuration={"delta.checkpointInterval": "2"})
    (log_of(table) / logs.classic_name(2)).mkdir()
    transaction = table.transaction()
    transaction.add("c", size=1)
    with pytest.warns(dr.DeltaReplayWarning, match="version 2 is committed"):
        transaction.commit()
    assert table.snapshot().num_files == 3
