"""The common base of DML statements: checks, the version that is read, and the transaction."""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from deltareplay._protocol.schema import Field
from deltareplay._snapshot.snapshot import Snapshot
from deltareplay.exceptions import DeltaReplayError, InvalidArgumentError
from deltareplay.spark.catalog.table_argument import TableLike, resolved, table_of
from deltareplay.spark.dml.target_rows import Candidates
from deltareplay.spark.scan import hidden_columns
from deltareplay.spark.scan.skipping import target_filter
from deltareplay.spark.scan.table_alias import aliased
from deltareplay.spark.schema.fields import struct_type
from deltareplay.spark.session import capabilities, settings
from deltareplay.spark.syntax import names
from deltareplay.spark.writing.target_table import TargetTable, check_writable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from pyspark.sql import Column, DataFrame, SparkSession

    from deltareplay._expressions.filters import Filter
    from deltareplay._transaction.transaction import Transaction

    Expression: TypeAlias = str | Column


@dataclass(frozen=True)
class DmlStatement:
    """A statement that changes rows of a table.

    Attributes:
        snapshot: The version that is read.
        target: The table after the commit.
        root: As in ``read``.
        txn: Application and version of an idempotent statement.
        session_txn: Application and version from the session's settings; None if ``txn`` is set.
        user_metadata: Any text for the commit.
        started: When the statement started, in seconds of the monotonic clock.
    """

    spark: SparkSession
    snapshot: Snapshot
    target: TargetTable
    root: str | None
    txn: tuple[str, int] | None = None
    session_txn: tuple[str, int] | None = None
    user_metadata: str | None = None
    started: float = field(default_factory=time.monotonic)

    @classmethod
    def of(
        cls,
        spark: SparkSession,
        table: TableLike,
        root: str | None,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
    ) -> DmlStatement:
        """Open the table, and check that it can be written, before any job.

        ``txn`` and ``user_metadata`` default to the session's settings.
        """
        capabilities.require_spark_4(spark, "changing a table")
        snapshot = (
            table if isinstance(table, Snapshot) else table_of(resolved(spark, table)).snapshot()
        )
        target = TargetTable.of(snapshot)
        check_writable(target.protocol)
        target.refuse_hidden_names()
        session_txn = settings.transaction(spark) if txn is None else None
        if user_metadata is None:
            user_metadata = settings.user_metadata(spark)
        return cls(spark, snapshot, target, root, txn, session_txn, user_metadata)

    def refuse_append_only(self) -> None:
        """Check that rows may be removed from the table."""
        if self.target.is_on("delta.appendOnly"):
            raise InvalidArgumentError(
                "delta.appendOnly is true: rows can be added to the table, never removed",
                code="transaction.append_only",
            )

    @property
    def fields_before(self) -> list[Field]:
        """The columns of the version that is read, including void ones."""
        return TargetTable.of(self.snapshot).fields

    def evolved(self, fields: Sequence[Field]) -> DmlStatement:
        """Return the statement on the table with these columns added."""
        return replace(self, target=self.target.with_columns(struct_type(fields)))

    def begin(self, operation: str, parameters: Mapping[str, Any]) -> Transaction:
        """Begin the transaction, which has read nothing yet."""
        return self.target.begin(self.snapshot, operation, parameters, self.user_metadata)

    @property
    def is_idempotent(self) -> bool:
        """True if the commit records an application and its version."""
        return (self.txn or self.session_txn) is not None

    def is_repeated(self, transaction: Transaction) -> bool:
        """Set the application's version; return whether that version is committed already."""
        txn = self.txn or self.session_txn
        return txn is not None and transaction.set_transaction(*txn)

    def times(self, staged_from: float) -> dict[str, int]:
        """Return the times that the history shows, by delta-spark's names.

        ``staged_from`` is when the rows to change were known.
        """
        return {
            "executionTimeMs": milliseconds_since(self.started),
            "scanTimeMs": int((staged_from - self.started) * 1000),
            "rewriteTimeMs": milliseconds_since(staged_from),
        }

    def candidates(self, filter: Filter | None) -> Candidates:
        """Return the files whose rows may match a filter."""
        return Candidates.of(self.spark, self.snapshot, filter, self.root)

    def empty(self, alias: str) -> DataFrame:
        """Return an empty frame with the table's columns, for the analysis of conditions."""
        return aliased(self.candidates("1 = 0").rows(()), alias)

    def matching_files(
        self, transaction: Transaction, where: str | Column | None, alias: str
    ) -> tuple[Candidates, DataFrame]:
        """Return the files that may have matching rows, and record them as read.

        Without a condition, these are all files. The second value is an empty frame; with a
        condition, its topmost node is the condition's filter.
        """
        empty, filter = self.empty(alias), None
        frame = empty
        if where is not None:
            frame = analyzed(lambda: empty.where(as_column(where)))
            filter = target_filter(where, self.snapshot, alias, frame)
        record_read(transaction, filter)
        return self.candidates(filter), frame


def milliseconds_since(start: float) -> int:
    """Return the time since a value of the monotonic clock."""
    return int((time.monotonic() - start) * 1000)


def analyzed(create: Callable[[], DataFrame]) -> DataFrame:
    """Create a frame, and let Spark resolve its names and types.

    Raises:
        InvalidArgumentError: ``statement.expression``: Spark cannot resolve them; the message
            quotes Spark's.
    """
    from pyspark.errors import AnalysisException, ParseException

    try:
        frame = create()
        _ = frame.schema
    except (AnalysisException, ParseException) as cause:
        raise InvalidArgumentError(
            f"Spark cannot resolve the statement: {_message(cause)}",
            code="statement.expression",
        ) from cause
    return frame


#: The columns that Spark suggests instead of an unknown column.
_SUGGESTED = re.compile(r"(?<=Did you mean one of the following\? \[)`[^\n]*`(?=\]\. SQLSTATE)")


def _message(cause: BaseException) -> str:
    """Return Spark's message, without plan, stack trace and hidden columns."""
    text = str(cause).split("JVM stacktrace")[0].strip()
    return _SUGGESTED.sub(_without_hidden, text.split(";\n")[0])


def _without_hidden(suggested: re.Match[str]) -> str:
    names = suggested.group().split(", ")
    return ", ".join(name for name in names if f"`{hidden_columns.PREFIX}" not in name)


def as_column(condition: str | Column) -> Column:
    """Convert SQL text to a column; return a column as it is."""
    from pyspark.sql import functions as sf

    return sf.expr(condition) if isinstance(condition, str) else condition


def checked_condition(value: Any) -> Expression | None:
    """Check the type of a condition, and return it; it may be None.

    Raises:
        TypeError: The condition is neither SQL text nor a column.
    """
    if value is None or is_expression(value):
        return value
    raise TypeError(
        "condition must be a Spark SQL Column or a string (an expression in SQL), not "
        f"{type(value).__name__}"
    )


def is_expression(value: Any) -> bool:
    """Return whether a value is SQL text or a column."""
    from pyspark.sql import Column

    return isinstance(value, (str, Column))


def qualified(alias: str, name: str) -> str:
    """Qualify a column by the alias of its frame, for ``sf.col``."""
    return f"{names.quoted(alias)}.{names.quoted(name)}"


def condition_text(condition: str | Column | None) -> str:
    """Return a condition as the table's history records it."""
    if condition is None:
        return "true"
    if isinstance(condition, str):
        return condition
    text = str(condition)
    return text.removeprefix("Column<'").removesuffix("'>")


def predicate_parameter(condition: str | Column | None) -> str:
    """Return a condition as the operation parameter ``predicate`` of a DML statement."""
    return json.dumps([condition_text(condition)])


def record_read(transaction: Transaction, filter: Filter | None) -> None:
    """Record the rows that a statement has read, as narrowly as its filter allows."""
    try:
        transaction.read(filter)
    except DeltaReplayError:
        transaction.read()
