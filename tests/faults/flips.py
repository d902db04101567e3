"""Tables for flipping single bytes: each kind of log file once, and a complete checksum.

The checksum has every field of the protocol, including the list of all live files, so that
everything that can be checked is checked.
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from support import logs, vectors

LATEST = 4
CHECKPOINT = 2
T0 = 1_700_000_000_000
VECTOR_FILE = uuid.UUID(int=0x1234_5678_9ABC_4DEF_8000_0000_0000_0001)
#: The changes of each byte: an integer is a mask for XOR, a text is the new byte in hexadecimal.
VALUES = (0x01, 0x80, "00", "ff")
#: Parts of a result that no checksum covers: it has no tombstones.
UNCOVERED = {"removed"}
#: The files to flip, by the kind of table.
KINDS = {
    "commits": ["00000000000000000000.json"]
    + [f"{version:020}.json" for version in range(1, LATEST + 1)]
    + [f"{LATEST:020}.crc", f"../deletion_vector_{VECTOR_FILE}.bin"],
    "compacted": ["00000000000000000001.00000000000000000003.compacted.json"],
    "classic cleaned": ["_last_checkpoint", logs.classic_name(CHECKPOINT)],
    "v2-json cleaned": [logs.v2_name(CHECKPOINT), "_sidecars/*.parquet"],
    "v2-parquet cleaned": [logs.v2_name(CHECKPOINT, "parquet")],
}


def build(table: Path, kind: str) -> logs.LogBuilder:
    """Write five commits with data files, both kinds of vectors, and all other parts of a state."""
    log = logs.LogBuilder(table)
    stored, descriptors = vectors.in_file([[0], [1, 2]], VECTOR_FILE)
    (table / f"deletion_vector_{VECTOR_FILE}.bin").write_bytes(stored)
    commits = [
        [
            logs.features(
                "deletionVectors",
                "v2Checkpoint",
                writer_only=["domainMetadata", "inCommitTimestamp"],
            ),
            logs.metadata(
                logs.schema(id="long", d="string"),
                partition_columns=["d"],
                configuration={"delta.enableInCommitTimestamps": "true"},
            ),
        ],
        [_add(table, "a"), _add(table, "b"), logs.txn("app", 1), logs.domain("some", "1")],
        [
            _add(table, "c", vectors.inline([0, 2])),
            logs.remove("b.parquet", size=_size(table, "b")),
            logs.domain("other", '{"v":2}'),
        ],
        [_add(table, "d", descriptors[0]), logs.txn("app", 3), logs.txn("second", 7)],
        [
            _add(table, "e", descriptors[1]),
            logs.remove("a.parquet", size=_size(table, "a")),
            logs.domain("some", "1", removed=True),
        ],
    ]
    for version, actions in enumerate(commits):
        info = logs.commit_info(
            "WRITE", timestamp=T0 + version, inCommitTimestamp=T0 + version, txnId=f"id-{version}"
        )
        info["commitInfo"] = {"inCommitTimestamp": T0 + version, **info["commitInfo"]}
        log.commit(info, *actions)
    log.checksum(LATEST, **_checksum_fields(log))
    if kind == "compacted":
        log.compact(1, 3)
    elif kind != "commits":
        log.checkpoint(CHECKPOINT, kind=kind.removesuffix(" cleaned"), parts=1, store_schema=False)
        hint = {"version": CHECKPOINT, "size": 8, "numOfAddFiles": 2}
        logs.write_hint(table, CHECKPOINT, 8, numOfAddFiles=2, checksum=logs.hint_checksum(hint))
        log.delete_commits(CHECKPOINT)
    return log


def files(table: Path, kind: str) -> list[Path]:
    """Return the files to flip."""
    result = [path for name in KINDS[kind] for path in sorted((table / "_delta_log").glob(name))]
    assert len(result) == len(KINDS[kind])
    return result


def flipped(byte: int, value: int | str) -> int:
    """Return the byte after one of ``VALUES``."""
    return int(value, 16) if isinstance(value, str) else byte ^ value


def _add(table: Path, name: str, vector: dict[str, Any] | None = None) -> logs.Action:
    path = table / f"{name}.parquet"
    pq.write_table(pa.table({"id": [1, 2, 3]}), path)
    return logs.add(
        f"{name}.parquet",
        partition_values={"d": name},
        size=_size(table, name),
        stats=logs.stats(3, id=(1, 3, 0)),
        tags={"k": name},
        deletion_vector=vector,
    )


def _size(table: Path, name: str) -> int:
    return (table / f"{name}.parquet").stat().st_size


def _checksum_fields(log: logs.LogBuilder) -> dict[str, Any]:
    """Return the fields of a checksum that ``LogBuilder.checksum`` leaves to its caller."""
    adds = list(log.state().adds.values())
    sizes = [add["size"] for add in adds]
    deleted = [add.get("deletionVector", {}).get("cardinality", 0) for add in adds]
    with_vector = [add for add in adds if "deletionVector" in add]
    bins = [0] * 10
    for rows in deleted:
        bins[0 if rows == 0 else len(str(rows))] += 1
    return {
        "txnId": f"id-{LATEST}",
        "inCommitTimestampOpt": T0 + LATEST,
        "fileSizeHistogram": {
            "sortedBinBoundaries": [0, 8192],
            "fileCounts": [len(sizes), 0],
            "totalBytes": [sum(sizes), 0],
        },
        "numDeletedRecordsOpt": sum(deleted),
        "numDeletionVectorsOpt": len(with_vector),
        "deletedRecordCountsHistogramOpt": {"deletedRecordCounts": bins},
        "allFiles": json.loads(json.dumps(adds)),
    }
