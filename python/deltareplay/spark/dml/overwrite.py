"""Files that overwrites and TRUNCATE remove."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay.spark.dml.statement import milliseconds_since, record_read
from deltareplay.spark.dml.target_rows import REMOVE_COLUMNS
from deltareplay.spark.scan import partition_values
from deltareplay.spark.scan.skipping import negated_partition_filter, skipping_filter
from deltareplay.spark.schema.fields import columns_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import SparkSession

    from deltareplay._expressions.filters import Filter
    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay._transaction.transaction import Transaction
    from deltareplay.spark.dml.statement import DmlStatement

_ROWS = "numRecords"


def files(spark: SparkSession, snapshot: Snapshot, condition: str | None) -> pa.Table | None:
    """Return the live files, or those of the partitions that satisfy a condition.

    The result is None if the condition uses other columns than partition columns, or if the core
    cannot decide it for each file.
    """
    if condition is None:
        return snapshot.files(REMOVE_COLUMNS)
    negation = negated_partition_filter(condition, spark, snapshot)
    selected = skipping_filter(condition, spark, snapshot, None, joined=False)
    if negation is None or selected is None:
        return None
    covered, partly_covered = covered_files(snapshot, selected, negation)
    return covered if partly_covered is None else None


def covered_files(
    snapshot: Snapshot, condition: Filter, negation: Filter
) -> tuple[pa.Table, str | None]:
    """Return the files that may have rows that satisfy a condition.

    The second value is the path of a file that may also have rows that do not satisfy it; None if
    there is no such file. ``negation`` is true for all of these rows.
    """
    covered = snapshot.files([*REMOVE_COLUMNS, _ROWS], condition)
    others: list[Any] = snapshot.files(["path"], negation)["path"].to_pylist()
    paths: list[Any] = covered["path"].to_pylist()
    return covered, min({*paths} & {*others}, default=None)


def truncate(statement: DmlStatement) -> None:
    """Remove all files in one commit; an empty table stays as it is."""
    statement.refuse_append_only()
    live = statement.snapshot.files(REMOVE_COLUMNS)
    if live.num_rows == 0:
        return
    transaction = statement.begin("TRUNCATE", {})
    if statement.is_repeated(transaction):
        return
    remove(transaction, live, None)
    time_taken = milliseconds_since(statement.started)
    transaction.set_metrics({"numRemovedFiles": live.num_rows, "executionTimeMs": time_taken})
    transaction.commit()


def same_partitions(
    snapshot: Snapshot, written: Sequence[Mapping[str, str | None]], zone: str
) -> pa.Table:
    """Return the live files in the partitions of written files.

    Partition values are compared by type, not by their spelling in the log; ``zone`` is the time
    zone of timestamps that are written without one.
    """
    live = snapshot.files([*REMOVE_COLUMNS, "partitionValues_parsed"])
    if snapshot.partition_columns:
        partitions = [column for column in columns_of(snapshot) if column.is_partition]
        values = pa.table(
            {
                constant.name: constant.values
                for constant in partition_values.constants(live, partitions, zone)
            }
        )
        is_replaced = snapshot.native.in_partitions(values, list(written))
        live = live.filter(pa.array(is_replaced, pa.bool_()))
    return live.select(REMOVE_COLUMNS)


def metrics(removed: pa.Table | None) -> dict[str, int]:
    """Return the operation metrics of an overwrite.

    As in delta-spark, only ``replaceWhere`` counts deleted rows, if every file has statistics.
    """
    if removed is None:
        return {}
    result = {
        "numRemovedFiles": removed.num_rows,
        "numRemovedBytes": pc.sum(removed["size"]).as_py() or 0,
    }
    if _ROWS in removed.column_names and removed[_ROWS].null_count == 0:
        deleted = pc.struct_field(removed["deletionVector"], "cardinality")
        num_rows, num_deleted = (
            pc.sum(column).as_py() or 0 for column in (removed[_ROWS], deleted)
        )
        result |= {
            "numDeletedRows": num_rows - num_deleted,
            "numCopiedRows": 0,
            "numAddedChangeFiles": 0,
        }
    return result


def remove(transaction: Transaction, files: pa.Table, filter: Filter | None) -> None:
    """Remove files; record the rows that satisfy the filter as read, all rows without a filter."""
    record_read(transaction, filter)  # the filter may use columns that only this write adds
    transaction.remove_files(files.select(REMOVE_COLUMNS))
