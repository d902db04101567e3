"""Data files, written by pyarrow, and their ``add`` actions."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from support import vectors
from support.actions import Action, add, dumps


def write(
    root: str | os.PathLike[str],
    name: str,
    rows: pa.Table | dict[str, Any],
    *,
    deleted: Iterable[int] = (),
    row_group_size: int | None = None,
    stats: bool | Action = True,
    options: dict[str, Any] | None = None,
    **action: Any,
) -> Action:
    """Write a data file; return its ``add`` action.

    Args:
        root: The table directory.
        name: The file in it; its characters need no encoding.
        rows: Its content.
        deleted: Positions of rows in an inline deletion vector.
        row_group_size: Rows in a row group.
        stats: Whether the action has the number of rows; or statistics in addition to it.
        options: More options of ``pyarrow.parquet.write_table``.
        action: More options of ``add``.
    """
    table = rows if isinstance(rows, pa.Table) else pa.table(rows)
    path = Path(root) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=row_group_size, **(options or {}))
    deleted_rows = sorted(set(deleted))
    described = {"numRecords": table.num_rows, **(stats if isinstance(stats, dict) else {})}
    return add(
        name,
        size=path.stat().st_size,
        stats=dumps(described) if stats is not False else None,
        deletion_vector=vectors.inline(deleted_rows) if deleted_rows else None,
        **action,
    )
