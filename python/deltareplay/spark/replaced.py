"""Which files an overwriting write replaces."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.schema import columns_of

_PARSED = "partitionValues_parsed"

#: No partition column has this name.
_NUMBER = "deltareplay: number of the file"

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._snapshot import Snapshot
    from deltareplay._transaction import Transaction


def files(spark: SparkSession, snapshot: Snapshot, condition: str | None) -> pa.Table | None:
    """The live files, or those of the partitions that satisfy a condition.

    None if the condition does not use partition columns only.
    """
    live = snapshot.files()
    if condition is None:
        return live
    if not snapshot.partition_columns or _may_use_data(condition, snapshot):
        return None
    from pyspark.errors import AnalysisException

    from deltareplay.spark.frames import from_arrow

    names = live.schema.names
    typed = snapshot.files(columns=[*names, _PARSED])
    values = typed.select([_PARSED]).flatten().rename_columns(list(snapshot.partition_columns))
    numbered = values.append_column(_NUMBER, pa.array(range(typed.num_rows), pa.int64()))
    try:
        chosen = from_arrow(spark, numbered).where(condition).select(f"`{_NUMBER}`").toArrow()
    except AnalysisException:
        return None
    return typed.select(names).take(chosen[_NUMBER])


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


def metrics(gone: pa.Table | None) -> dict[str, int]:
    """The metrics of the replaced files."""
    if gone is None:
        return {}
    return {"numRemovedFiles": gone.num_rows, "numRemovedBytes": pc.sum(gone["size"]).as_py() or 0}


def note_read(transaction: Transaction, condition: str | None) -> None:
    """Records what the write read, as narrowly as a filter can."""
    try:
        transaction.read(condition)
    except InvalidArgumentError:
        transaction.read()
