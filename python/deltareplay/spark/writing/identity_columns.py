"""Values of identity columns, computed by the tasks that write the rows.

Tasks have no common counter. Each counts its own rows, in steps that leave room for the rows of
other tasks. The gaps between the values are allowed by the protocol.

Delta protocol: "Identity Columns".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from deltareplay import _native
from deltareplay._protocol.schema import Field
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.syntax import names

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from deltareplay._transaction.transaction import Transaction
    from deltareplay.spark.writing.target_table import TargetTable

_MARK = "delta.identity.highWaterMark"

#: ``monotonically_increasing_id`` has the row's number in these low bits, the task's above them.
_ROW_BITS = 33
#: The number of tasks whose values interleave, as a power of two; later tasks start above them.
_TASK_BITS = 8


def value(field: Field) -> Column:
    """Return the value of the column in a new row.

    Raises:
        InvalidArgumentError: ``write.identity``: no value follows the high-water mark.
    """
    from pyspark.sql import functions as sf

    step, mark = _step(field), field.metadata.get(_MARK)
    first = _start(field) if mark is None else int(mark) + step
    last_position = (2**63 - 1 - first) // step if step > 0 else (2**63 + first) // -step
    message = f"the identity column {field.name} has no values left: add another one in its place"
    if last_position < 0:
        raise InvalidArgumentError(message, code="write.identity")
    number = sf.monotonically_increasing_id()
    task = sf.shiftright(number, _ROW_BITS)
    row = number.bitwiseAND(sf.lit((1 << _ROW_BITS) - 1))
    above = sf.shiftleft(sf.shiftright(task, _TASK_BITS), _ROW_BITS + _TASK_BITS)
    low_bits = task.bitwiseAND(sf.lit((1 << _TASK_BITS) - 1))
    position = above.bitwiseOR(sf.shiftleft(row, _TASK_BITS)).bitwiseOR(low_bits)
    new = position * sf.lit(step).cast("bigint") + sf.lit(first).cast("bigint")
    # in sessions without ANSI mode, larger numbers would become negative
    is_in_range = position <= sf.lit(min(last_position, 2**63 - 1))
    return sf.when(is_in_range, new).otherwise(sf.raise_error(sf.lit(message)))


def farthest(field: Field, stored: str) -> Column:
    """Return the aggregate for the value that is farthest from the start of the sequence.

    ``stored`` is the name of the column in the rows.
    """
    from pyspark.sql import functions as sf

    return (sf.max if _step(field) > 0 else sf.min)(sf.col(names.quoted(stored)))


def mark_after(field: Field, value: int) -> int | None:
    """Return the high-water mark for a value of a row; None if the value is before the start.

    It is a value of the sequence: the first one that is not before the row's.

    Raises:
        InvalidArgumentError: ``write.identity``: the sequence ends before it.
    """
    start, step, mark = _start(field), _step(field), field.metadata.get(_MARK)
    is_valid = mark is None or (int(mark) - start) * step >= 0
    if is_valid and (value - start) * step < 0:
        return None
    # a mark before the start is wrong: as in delta-spark, any value corrects it
    new = start - (start - value) // step * step
    if not -(2**63) <= new < 2**63:
        raise InvalidArgumentError(
            f"no value of the identity column {field.name} follows {value}", code="write.identity"
        )
    return new


def _start(field: Field) -> int:
    return int(field.metadata.get("delta.identity.start", 1))


def _step(field: Field) -> int:
    return int(field.metadata.get("delta.identity.step", 1))


def set_marks(transaction: Transaction, target: TargetTable, marks: Mapping[str, int]) -> None:
    """Stage the new high-water marks of identity columns.

    ``marks`` has the value farthest from the start, by the name of the column.
    """
    metadata = _native.with_identity_marks(target.metadata, list(marks.items()))
    if metadata is not None:
        transaction.set_metadata(metadata)


def refuse_assigned(df: DataFrame, target: TargetTable) -> None:
    """Check that rows have no values for a column that is GENERATED ALWAYS AS IDENTITY."""
    columns = {name.lower() for name in df.columns}
    for field in target.written_fields:
        if field.key in columns:
            check_set(field, inserts=True)


def check_set(field: Field, *, inserts: bool) -> None:
    """Check that a column may be set, in new rows or in an update, as in delta-spark.

    Raises:
        InvalidArgumentError: ``write.identity``: it is an identity column that is updated, or that
            is GENERATED ALWAYS.
    """
    if not field.is_identity:
        return
    if not inserts:
        raise InvalidArgumentError(
            f"{field.name} is an identity column, whose values cannot be updated: leave it out",
            code="write.identity",
        )
    if not field.metadata.get("delta.identity.allowExplicitInsert"):
        raise InvalidArgumentError(
            f"{field.name} is GENERATED ALWAYS AS IDENTITY: its values cannot be set",
            code="write.identity",
        )
