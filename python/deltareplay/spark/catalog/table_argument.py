"""Conversion of the ``table`` argument of the functions for Spark to tables and snapshots."""

from __future__ import annotations

import datetime
import os
import re
from typing import TYPE_CHECKING

from deltareplay._snapshot.snapshot import Snapshot
from deltareplay._table.create import WriteLocation
from deltareplay._table.table import Table
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.catalog import lookup
from deltareplay.spark.catalog.timestamps import evaluate_timestamp
from deltareplay.spark.syntax import names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: A table, a snapshot of it, its path or URI, or its name in the session's catalog.
TableLike = Table | Snapshot | str | os.PathLike[str]

#: A string that may be the name of a table. A path of this form is relative and has one part.
_NAME = re.compile(r"[^/\\:~.]+(\.[^/\\:~.]+){0,2}|(.+\.)?`.+`(\..+)?")


def resolved(spark: SparkSession, table: TableLike) -> TableLike:
    """Look up the table of a name in the session's catalog; return any other argument as it is.

    A relative path to an existing table takes precedence over the name. A name that the catalog
    lacks is returned as it is, too: as a relative path. Works without Delta's jar.
    """
    parts = name_parts(table)
    if parts is None:
        return table
    entry = lookup.find(spark, parts)
    return entry.table() if entry.exists or entry.is_path else table


def name_parts(table: TableLike) -> tuple[str, ...] | None:
    """Return the parts of a name in the session's catalog; None for any other argument.

    A relative path to an existing table is not a name.
    """
    if not isinstance(table, str) or not _NAME.fullmatch(table):
        return None
    if os.path.isdir(os.path.join(table, "_delta_log")):
        return None
    return names.table_parts(table)


def table_of(table: TableLike) -> Table:
    """Return the table of a table argument."""
    if isinstance(table, Snapshot):
        assert isinstance(table.table, Table)  # only tables open snapshots
        return table.table
    return table if isinstance(table, Table) else Table(table)


def location_of(table: TableLike) -> WriteLocation:
    """Return the location of an existing table, or of a table to be created."""
    if isinstance(table, (Table, Snapshot)):
        return WriteLocation(table_of(table))
    return WriteLocation.of(table)


def snapshot_of(table: TableLike) -> Snapshot:
    """Return the snapshot passed, or the latest one of the table."""
    return table if isinstance(table, Snapshot) else table_of(table).snapshot()


def snapshot_at(
    spark: SparkSession,
    table: TableLike,
    version: int | None,
    timestamp: datetime.datetime | str | None,
) -> Snapshot:
    """Return the snapshot of a version or time; by default the snapshot passed, or the latest one.

    A path may end with the version or time, as in ``/path@v7``, unless the whole text is the
    path of a table.

    Raises:
        InvalidArgumentError: ``argument.version``: ``version`` or ``timestamp`` was passed with a
            snapshot, or with a path that ends with a version or time.
    """
    table = resolved(spark, table)
    path = os.fspath(table) if isinstance(table, (str, os.PathLike)) else ""
    split_path = lookup.split_time_travel(path)
    if split_path is not None and Table(path).native.exists():
        split_path = None
    has_version = split_path is not None or isinstance(table, Snapshot)
    if has_version and (version is not None or timestamp is not None):
        raise InvalidArgumentError(
            f"{path or 'a snapshot'} already has a version: leave out version and timestamp, or "
            "pass the table to choose another version",
            code="argument.version",
        )
    if split_path is not None:
        table, version, time = split_path
        timestamp = None if time is None else evaluate_timestamp(spark, time)
    return table if isinstance(table, Snapshot) else table_of(table).snapshot(version, timestamp)
