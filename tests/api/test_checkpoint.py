"""Checkpoints and checksums that are written here, judged by pyarrow, deltalake and our reader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs
from support.writing import partitioned, plain

import deltareplay as dr


def log_of(table: dr.Table) -> Path:
    return Path(table.uri.removeprefix("file://")) / "_delta_log"


def state(table: dr.Table) -> dict[str, Any]:
    """Everything that a snapshot says of the table."""
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


def busy(root: Path, **properties: str) -> dr.Table:
    """A table with something of everything."""
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
    table = busy(tmp_path / "t", **properties)
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
    table = busy(tmp_path / "t")
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


def test_files_fill_row_groups(tmp_path: Path) -> None:
    table = plain(tmp_path / "t")
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


def test_commits_write_checkpoints_by_the_interval(tmp_path: Path) -> None:
    table = plain(tmp_path / "t", configuration={"delta.checkpointInterval": "3"})
    for number in range(6):
        with table.transaction() as transaction:
            transaction.add(f"x{number}", size=1)
    found = sorted(path.name for path in log_of(table).glob("*.checkpoint.parquet"))
    assert found == [logs.classic_name(3), logs.classic_name(6)]
    assert json.loads((log_of(table) / "_last_checkpoint").read_text())["version"] == 6


def test_a_checkpoint_that_is_there_stays(tmp_path: Path) -> None:
    table = plain(tmp_path / "t")
    first = table.checkpoint()
    file = log_of(table) / logs.classic_name(1)
    before = file.stat().st_mtime_ns
    assert table.checkpoint() == first
    assert file.stat().st_mtime_ns == before


def test_deltalake_reads_what_is_left(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    table = plain(tmp_path / "t")
    with table.transaction() as transaction:
        transaction.add("c", size=1)
        transaction.remove("a")
    table.checkpoint()
    for version in range(2):
        (log_of(table) / logs.commit_name(version)).unlink()

    peer = deltalake.DeltaTable(table.uri)
    assert peer.version() == 2
    assert sorted(Path(uri).name for uri in peer.file_uris()) == ["b", "c"]


def test_the_checksum_counts_what_is_live(tmp_path: Path) -> None:
    table = busy(tmp_path / "t")
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
    table = plain(tmp_path / "t", configuration={"delta.checkpointInterval": "2"})
    (log_of(table) / logs.classic_name(2)).mkdir()
    transaction = table.transaction()
    transaction.add("c", size=1)
    with pytest.warns(dr.DeltaReplayWarning, match="version 2 is committed"):
        transaction.commit()
    assert table.snapshot().num_files == 3
