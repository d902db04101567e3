"""A small table with everything that a scan must handle."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import deltareplay as dr
from support import data, logs

MIXED = logs.schema(id="long", Name="string", day="date")


def write_mixed(log: logs.LogBuilder) -> logs.LogBuilder:
    """Write a file to each of three partitions, in row groups of two rows, with a deleted row."""
    log.create(MIXED, protocol_action=logs.features("deletionVectors"), partition_columns=["day"])
    adds = []
    for number, day in enumerate(["2026-01-01", "2026-01-02", None]):
        first = number * 5
        rows = {"id": list(range(first, first + 5)), "Name": [f"n{first + i}" for i in range(5)]}
        adds.append(
            data.write(
                log.table,
                f"part-{number}.parquet",
                rows,
                deleted=[number],
                row_group_size=2,
                partition_values={"day": day},
            )
        )
    log.commit(*adds)
    return log


#: The ids of the rows that are not deleted.
LEFT = [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 13, 14]


def ids(rows: Any) -> list[int]:
    values: list[int] = pa.table(rows)["id"].to_pylist()
    return values


def snapshot_of(log: logs.LogBuilder) -> dr.Snapshot:
    return dr.Table(log.uri).snapshot()
