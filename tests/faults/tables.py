"""Small tables to damage, one for each form of a log, and their original state."""

from __future__ import annotations

from pathlib import Path

from support import logs

LATEST = 6
CHECKPOINT = 4
VECTOR = logs.deletion_vector()


def build(table: Path, kind: str) -> logs.LogBuilder:
    """Write seven commits with all kinds of actions, and the files of ``kind``."""
    log = logs.LogBuilder(table)
    log.create(
        logs.schema(id="long", d="string"),
        protocol_action=logs.features(
            "deletionVectors", "v2Checkpoint", writer_only=["domainMetadata"]
        ),
        partition_columns=["d"],
        configuration={"delta.enableDeletionVectors": "true"},
    )
    for version in range(1, LATEST + 1):
        log.commit(
            logs.commit_info("WRITE", operationMetrics={"numFiles": "2"}),
            *_files(version),
            logs.txn("app", version),
            logs.domain(f"domain.{version % 3}", f'{{"v":{version}}}', removed=version == 5),
        )
    _write_derived_files(log, kind)
    return log


def _files(version: int) -> list[logs.Action]:
    """Return two more files, and the removal of the previous one; in version 3 with a vector."""
    actions = [
        _add(f"d={version}/part-{version}.parquet", version, VECTOR if version == 3 else None),
        _add(f"d={version}/other%20{version}.parquet", version),
    ]
    if version > 1:
        path = f"d={version - 1}/part-{version - 1}.parquet"
        actions.append(logs.remove(path, deletion_vector=VECTOR if version == 4 else None))
    return actions


def _add(path: str, version: int, vector: dict[str, object] | None = None) -> logs.Action:
    return logs.add(
        path,
        partition_values={"d": str(version)},
        size=1000 + version,
        stats=logs.stats(10 * version, id=(version, 2 * version, 0)),
        tags={"k": "v"},
        deletion_vector=vector,
        base_row_id=100 * version,
    )


def _write_derived_files(log: logs.LogBuilder, kind: str) -> None:
    if kind == "commits":
        return
    if kind == "compacted":
        log.compact(2, 5)
        return
    if kind == "checksum":
        log.checksum(LATEST)
        return
    cleaned = kind.endswith(" cleaned")
    # without pyarrow's own schema in addition to Parquet's: only pyarrow reads it
    log.checkpoint(CHECKPOINT, kind=kind.removesuffix(" cleaned"), store_schema=False)
    if cleaned:
        log.delete_commits(CHECKPOINT)


KINDS = [
    "commits",
    "compacted",
    "checksum",
    "classic",
    "classic cleaned",
    "multipart",
    "v2-json",
    "v2-parquet",
    "v2-classic cleaned",
    "v2-inline-json",
    "v2-inline-parquet",
]
