"""What the functions for Spark take as a table, as a snapshot."""

from __future__ import annotations

import datetime
import os

from deltareplay._snapshot import Snapshot
from deltareplay._table import Table
from deltareplay.exceptions import InvalidArgumentError

#: A table, a snapshot of it, or where it lies.
TableLike = Table | Snapshot | str | os.PathLike[str]


def table_of(table: TableLike) -> Table:
    """The table itself."""
    if isinstance(table, Snapshot):
        return table._table
    return table if isinstance(table, Table) else Table(table)


def snapshot_of(
    table: TableLike,
    version: int | None = None,
    timestamp: datetime.datetime | str | None = None,
) -> Snapshot:
    """The snapshot of a version or moment; the one given, the latest where none is.

    Raises:
        InvalidArgumentError: A snapshot is of one version already.
    """
    if isinstance(table, Snapshot):
        if version is not None or timestamp is not None:
            raise InvalidArgumentError(
                "a snapshot is of one version already: pass the table to choose another",
                code="argument.version",
            )
        return table
    return table_of(table).snapshot(version, timestamp)
