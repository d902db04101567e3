"""The ``table`` argument of the functions for Spark, as a snapshot."""

from __future__ import annotations

import datetime
import os

from deltareplay._snapshot import Snapshot
from deltareplay._table import Table
from deltareplay.exceptions import InvalidArgumentError

#: A table, a snapshot of it, or its path or URI.
TableLike = Table | Snapshot | str | os.PathLike[str]


def table_of(table: TableLike) -> Table:
    """The table itself."""
    if isinstance(table, Snapshot):
        assert isinstance(table._table, Table)  # which opened it
        return table._table
    return table if isinstance(table, Table) else Table(table)


def snapshot_of(
    table: TableLike,
    version: int | None = None,
    timestamp: datetime.datetime | str | None = None,
) -> Snapshot:
    """The snapshot of a version or time; by default the one passed, or the latest.

    Raises:
        InvalidArgumentError: A snapshot was passed together with a version or time.
    """
    if isinstance(table, Snapshot):
        if version is not None or timestamp is not None:
            raise InvalidArgumentError(
                "a snapshot already has a version: pass the table to choose another one",
                code="argument.version",
            )
        return table
    return table_of(table).snapshot(version, timestamp)
