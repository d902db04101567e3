"""The files that an overwrite replaces."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.dml.target_rows import REMOVED
from deltareplay.spark.scan import partition_values
from deltareplay.spark.schema.fields import columns_of
from deltareplay.spark.session import capabilities

_PARSED = "partitionValues_parsed"

_ROWS = "numRecords"

#: No partition column has this name.
_NUMBER = "deltareplay: number of the file"

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from deltareplay._expressions.filters import Filter
    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay._transaction.transaction import Transaction
    from deltareplay.spark.dml.statement import Statement


def files(spark: SparkSession, snapshot: Snapshot, condition: str | None) -> pa.Table | None:
    """Return the live files, or those of the partitions that satisfy a condition.

    The result is None if the condition does not use only partition columns.
    """
    if condition is None:
        return snapshot.files(columns(condition))
    if not snapshot.partition_columns or _may_use_data(condition, snapshot):
        return None
    from pyspark.errors import AnalysisException

    from deltareplay.spark.schema.frames import from_arrow

    typed = snapshot.files([*columns(condition), _PARSED])
    values = _partition_values(snapshot, typed, capabilities.time_zone(spark), logical=True)
    numbered = values.append_column(_NUMBER, pa.array(range(typed.num_rows), pa.int64()))
    try:
        chosen = from_arrow(spark, numbered).where(condition).select(f"`{_NUMBER}`").toArrow()
    except AnalysisException:
        return None
    return typed.select(columns(condition)).take(chosen[_NUMBER])


def _partition_values(
    snapshot: Snapshot, files: pa.Table, zone: str, *, logical: bool = False
) -> pa.Table:
    """Return the typed partition values of files, by the column names in log or schema."""
    partitions = [column for column in columns_of(snapshot) if column.is_partition]
    values = [constant.values for constant in partition_values.constants(files, partitions, zone)]
    return pa.table(
        values, [partition.name if logical else partition.physical for partition in partitions]
    )


def columns(condition: str | None) -> list[str]:
    """Return the columns to list of files that a write may replace; row counts with a condition."""
    return REMOVED if condition is None else [*REMOVED, _ROWS]


def truncate(statement: Statement) -> None:
    """Remove all files in one commit; an empty table stays as it is.

    Raises:
        InvalidArgumentError: ``transaction.append_only``.
    """
    statement.refuse_append_only()
    live = statement.snapshot.files(columns(None))
    if live.num_rows == 0:
        return
    transaction = statement.begin("TRUNCATE", {})
    if statement.is_repeated(transaction):
        return
    remove(transaction, live, None)
    transaction.set_metrics({"numRemovedFiles": live.num_rows})
    transaction.commit()


def _may_use_data(condition: str, snapshot: Snapshot) -> bool:
    """Return whether a condition contains the name of a data column as a word.

    Spark would log an error for an unknown column.
    """
    words = {word.strip("`").lower() for word in re.findall(r"`[^`]+`|\w+", condition)}
    partitions = {name.lower() for name in snapshot.partition_columns}
    return any(column.name.lower() in words - partitions for column in columns_of(snapshot))


def same_partitions(
    snapshot: Snapshot, written: Sequence[Mapping[str, str | None]], zone: str
) -> pa.Table:
    """Return the live files in the partitions of written files.

    Partition values are compared by type, not by their spelling in the log.

    Args:
        snapshot: The version of the live files.
        written: The partition values of each written file.
        zone: The time zone of timestamps in the log without a zone.
    """
    live = snapshot.files([*REMOVED, _PARSED])
    if snapshot.partition_columns:
        values = _partition_values(snapshot, live, zone)
        held = snapshot.native.in_partitions(values, list(written))
        live = live.filter(pa.array(held, pa.bool_()))
    return live.select(REMOVED)


def metrics(removed: pa.Table | None) -> dict[str, int]:
    """Return the metrics of the replaced files; row counts only if all of them are known."""
    if removed is None:
        return {}
    counted = {
        "numRemovedFiles": removed.num_rows,
        "numRemovedBytes": pc.sum(removed["size"]).as_py() or 0,
    }
    if _ROWS in removed.column_names and removed[_ROWS].null_count == 0:
        deleted = pc.struct_field(removed["deletionVector"], "cardinality")
        counts = [pc.sum(column).as_py() or 0 for column in (removed[_ROWS], deleted)]
        counted |= {"numDeletedRows": counts[0] - counts[1], "numCopiedRows": 0}
        counted["numAddedChangeFiles"] = 0
    return counted


def remove(transaction: Transaction, files: pa.Table, filter: Filter | None) -> None:
    """Remove files; the transaction records the filter as read, or else the whole table."""
    try:
        transaction.read(filter)
    except InvalidArgumentError:
        transaction.read()
    transaction.remove_files(files.select(REMOVED))
