"""Which files an overwriting write replaces."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.schema import columns_of

_PARSED = "partitionValues_parsed"

#: The columns of a file that its ``remove`` action has.
REMOVED = [
    "path",
    "partitionValues",
    "size",
    "tags",
    "deletionVector",
    "baseRowId",
    "defaultRowCommitVersion",
]
_ROWS = "numRecords"

#: No partition column has this name.
_NUMBER = "deltareplay: number of the file"

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._snapshot import Snapshot
    from deltareplay._transaction import Transaction
    from deltareplay.spark.statement import Statement


def files(spark: SparkSession, snapshot: Snapshot, condition: str | None) -> pa.Table | None:
    """The live files, or those of the partitions that satisfy a condition.

    None if the condition does not use partition columns only.
    """
    if condition is None:
        return snapshot.files(columns(condition))
    if not snapshot.partition_columns or _may_use_data(condition, snapshot):
        return None
    from pyspark.errors import AnalysisException

    from deltareplay.spark.frames import from_arrow

    typed = snapshot.files([*columns(condition), _PARSED])
    values = typed.select([_PARSED]).flatten().rename_columns(list(snapshot.partition_columns))
    numbered = values.append_column(_NUMBER, pa.array(range(typed.num_rows), pa.int64()))
    try:
        chosen = from_arrow(spark, numbered).where(condition).select(f"`{_NUMBER}`").toArrow()
    except AnalysisException:
        return None
    return typed.select(columns(condition)).take(chosen[_NUMBER])


def columns(condition: str | None) -> list[str]:
    """What to ask of files that a write may replace; with a condition, the rows are counted."""
    return REMOVED if condition is None else [*REMOVED, _ROWS]


def truncate(statement: Statement) -> None:
    """Removes all files in one commit; an empty table stays as it is.

    Raises:
        InvalidArgumentError: ``transaction.append_only``.
    """
    statement.refuse_append_only()
    live = statement.snapshot.files(columns(None))
    if live.num_rows == 0:
        return
    transaction = statement.begin("TRUNCATE", {}, None)
    remove(transaction, live, None)
    transaction.set_metrics({"numRemovedFiles": live.num_rows})
    transaction.commit()


def _may_use_data(condition: str, snapshot: Snapshot) -> bool:
    """Whether a condition has a word that is the name of a data column.

    Asking Spark instead would log an error.
    """
    words = {word.strip("`").lower() for word in re.findall(r"`[^`]+`|\w+", condition)}
    partitions = {name.lower() for name in snapshot.partition_columns}
    return any(column.name.lower() in words - partitions for column in columns_of(snapshot))


def same_partitions(live: pa.Table, written: pa.Table) -> pa.Table:
    """The live files in the partitions of the written files."""
    touched = {_key(values) for values in written["partitionValues"].to_pylist()}
    partitions = live["partitionValues"].to_pylist()
    return live.filter(pa.array([_key(values) in touched for values in partitions], pa.bool_()))


def _key(values: Any) -> tuple[tuple[str, str | None], ...]:
    return tuple(sorted(values, key=lambda one: one[0]))


def metrics(removed: pa.Table | None) -> dict[str, int]:
    """The metrics of the replaced files; their rows, if they were counted and are all known."""
    if removed is None:
        return {}
    found = {
        "numRemovedFiles": removed.num_rows,
        "numRemovedBytes": pc.sum(removed["size"]).as_py() or 0,
    }
    if _ROWS in removed.column_names and removed[_ROWS].null_count == 0:
        deleted = pc.struct_field(removed["deletionVector"], "cardinality")
        counts = [pc.sum(one).as_py() or 0 for one in (removed[_ROWS], deleted)]
        found |= {"numDeletedRows": counts[0] - counts[1], "numCopiedRows": 0}
        found["numAddedChangeFiles"] = 0
    return found


def remove(transaction: Transaction, files: pa.Table, condition: str | None) -> None:
    """Removes the files; the transaction has read what the condition says, or the whole table."""
    try:
        transaction.read(condition)
    except InvalidArgumentError:
        transaction.read()
    transaction.remove_files(files.select(REMOVED))
