"""Checksums that are updated from commit to commit, compared with the commits."""

from __future__ import annotations

import json
import tempfile
from bisect import bisect_right
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from property.test_replay import thorough
from support import logs
from support.writing import actions

import deltareplay as dr

#: The effect of one commit: a kind, and a number for choosing files.
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "append",
                "delete",
                "vector",
                "again",
                "annotate",
                "txn",
                "domain",
                "property",
                "rewrite",
            ]
        ),
        st.integers(0, 10**6),
    ),
    min_size=1,
    max_size=8,
)
SIZES = (0, 1, 8191, 8192, 5 << 20, 1 << 40)


def create(root: Path, files: int) -> dr.Table:
    table = dr.create_table(
        root,
        pa.schema([("id", pa.int64())]),
        properties={
            "delta.enableDeletionVectors": "true",
            "delta.feature.domainMetadata": "supported",
            "delta.checkpointInterval": "1000",
        },
    )
    with table.transaction() as transaction:
        for number in range(files):
            transaction.add(
                f"f{number}", size=SIZES[number % len(SIZES)], stats={"numRecords": 1000}
            )
    return table


def step(table: dr.Table, kind: str, number: int) -> None:
    """Make one commit; a kind that finds no suitable file appends."""
    live = table.snapshot().files().sort_by("path").to_pylist()
    plain = [row for row in live if row["deletionVector"] is None]
    name = f"n{table.snapshot().version}-{number}"
    size = SIZES[number % len(SIZES)]
    if kind == "property":
        table.set_properties({"k": str(number)})
        return
    operation = "COMPUTE STATS" if kind == "annotate" else "WRITE"
    with table.transaction(operation) as transaction:
        if kind == "delete" and live:
            transaction.remove(live[number % len(live)]["path"])
        elif kind == "vector" and plain:
            rows = range(number % 900 + 1)
            vector = dr.DeletionVector.from_rows(list(rows)).encode_inline()
            transaction.update_vectors({plain[number % len(plain)]["path"]: vector})
        elif kind in ("annotate", "again") and plain:
            row = plain[number % len(plain)]
            transaction.add(
                row["path"], size=row["size"], stats={"numRecords": 1000}, data_change=False
            )
        elif kind == "rewrite" and live:
            transaction.remove(live[number % len(live)]["path"], data_change=False)
            transaction.add(name, size=size, stats={"numRecords": 9}, data_change=False)
        elif kind == "txn":
            transaction.set_transaction(f"app{number % 3}", table.snapshot().version)
        elif kind == "domain":
            domains = dict(table.snapshot().domain_metadata)
            domain = f"d{number % 3}"
            gone = domain in domains and number % 2 == 0
            transaction.set_domain_metadata(domain, None if gone else str(number))
        else:
            transaction.add(name, size=size, stats={"numRecords": 1000})


def expected(state: logs.State) -> dict[str, Any]:
    """Return the checksum of a state, as the protocol defines it."""
    files = list(state.adds.values())
    deleted = [(file.get("deletionVector") or {}).get("cardinality", 0) for file in files]
    counts = [0] * 10
    for number in deleted:
        counts[0 if number == 0 else min(len(str(number)), 9)] += 1
    return {
        "tableSizeBytes": sum(file["size"] for file in files),
        "numFiles": len(files),
        "numMetadata": 1,
        "numProtocol": 1,
        "metadata": state.metadata,
        "protocol": state.protocol,
        "setTransactions": sorted(state.txns.values(), key=lambda body: body["appId"]),
        "domainMetadata": sorted(state.domains.values(), key=lambda body: body["domain"]),
        "numDeletedRecordsOpt": sum(deleted),
        "numDeletionVectorsOpt": sum(1 for file in files if file.get("deletionVector")),
        "deletedRecordCountsHistogramOpt": {"deletedRecordCounts": counts},
    }


def check(table: dr.Table, version: int, state: logs.State) -> dict[str, Any]:
    path = Path(table.uri.removeprefix("file://")) / "_delta_log" / f"{version:020}.crc"
    result: dict[str, Any] = json.loads(path.read_text())
    target = expected(state)
    assert {key: result[key] for key in target} == target
    histogram = result["fileSizeHistogram"]
    bounds = histogram["sortedBinBoundaries"]
    by_bin = [[0, 0] for _ in bounds]
    for file in state.adds.values():
        entry = by_bin[bisect_right(bounds, file["size"]) - 1]
        entry[0] += 1
        entry[1] += file["size"]
    assert histogram["fileCounts"] == [files for files, _ in by_bin]
    assert histogram["totalBytes"] == [size for _, size in by_bin]
    if "allFiles" in result:
        assert sorted(row["path"] for row in result["allFiles"]) == sorted(state.live_paths())
    (info,) = [row["commitInfo"] for row in actions(table, version) if "commitInfo" in row]
    assert result["txnId"] == info["txnId"]
    return result


def run(files: int, steps: list[tuple[str, int]]) -> bool:
    """Return whether the files were listed at the end."""
    with tempfile.TemporaryDirectory() as directory:
        table = create(Path(directory), files)
        for kind, number in steps:
            step(table, kind, number)
        state = logs.State()
        result: dict[str, Any] = {}
        for version in range(table.snapshot().version + 1):
            state.apply(actions(table, version))
            result = check(table, version, state)
        assert table.snapshot(strict=True).num_files == len(state.adds)
        return "allFiles" in result


@thorough(12)
@given(STEPS)
def test_few_files_are_listed(steps: list[tuple[str, int]]) -> None:
    assert run(5, steps)


@thorough(8)
@given(STEPS)
def test_many_files_are_counted(steps: list[tuple[str, int]]) -> None:
    assert not run(70, steps)


def test_a_checksum_continues_the_previous_one_without_reading_the_log(tmp_path: Path) -> None:
    """The commit with the files is deleted, so that only its checksum has the totals."""
    table = create(tmp_path, 70)
    transaction = table.transaction()
    transaction.add("x", size=7, stats={"numRecords": 1})
    (tmp_path / "_delta_log" / f"{1:020}.json").unlink()
    transaction.commit()
    result = json.loads((tmp_path / "_delta_log" / f"{2:020}.crc").read_text())
    assert result["numFiles"] == 71


def test_a_checkpoint_corrects_a_wrong_checksum(tmp_path: Path) -> None:
    table = create(tmp_path, 70)
    table.set_properties({"delta.checkpointInterval": "4"})
    path = tmp_path / "_delta_log" / f"{2:020}.crc"
    wrong = json.loads(path.read_text())
    path.write_text(json.dumps({**wrong, "numFiles": 99}))
    for number in range(2):
        with table.transaction() as transaction:
            transaction.add(f"x{number}", size=7)
    counts = [
        json.loads((tmp_path / "_delta_log" / f"{version:020}.crc").read_text())["numFiles"]
        for version in (3, 4)
    ]
    assert counts == [100, 72]
