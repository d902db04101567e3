"""The common base of statements: checks, the version that is read, and the transaction."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Union

from deltareplay._protocol.schema import Field
from deltareplay._snapshot.snapshot import Snapshot
from deltareplay.exceptions import DeltaReplayError, InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.catalog.table_argument import TableLike, resolved, table_of
from deltareplay.spark.dml.target_rows import Candidates
from deltareplay.spark.scan import hidden_columns
from deltareplay.spark.scan.skipping import target_filter
from deltareplay.spark.schema.fields import struct_type
from deltareplay.spark.session import capabilities, settings
from deltareplay.spark.syntax import names
from deltareplay.spark.writing.target_table import TargetTable, check_writable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from deltareplay._expressions.filters import Filter
    from deltareplay._transaction.transaction import Transaction

    Expression = Union[str, Column]  # noqa: UP007 evaluated where pyspark may be missing


@dataclass(frozen=True)
class Statement:
    """A statement on a table.

    Attributes:
        snapshot: The version that is read.
        target: The table after the commit.
        txn: The application and its version of an idempotent statement.
        session_txn: Those of the session, without ``txn``.
        user_metadata: Any text for the commit.
    """

    spark: SparkSession
    snapshot: Snapshot
    target: TargetTable
    root: str | None
    txn: tuple[str, int] | None = None
    session_txn: tuple[str, int] | None = None
    user_metadata: str | None = None

    @classmethod
    def of(
        cls,
        spark: SparkSession,
        table: TableLike,
        root: str | None,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
    ) -> Statement:
        """Open the table, and check that it can be written, before any job.

        The session's settings stand for ``txn`` and ``user_metadata`` that are None.

        Raises:
            InvalidArgumentError: ``spark.setting``: a setting has no such value.
            UnsupportedFeatureError: Spark is older than 4.0; or the table has a feature that cannot
                be written.
            TableNotFoundError: There is no table.
        """
        capabilities.check(spark)
        if capabilities.version(spark) < (4, 0):
            raise UnsupportedFeatureError(
                f"this is Spark {spark.version}: statements require 4.0", code="spark.too_old"
            )
        snapshot = (
            table if isinstance(table, Snapshot) else table_of(resolved(spark, table)).snapshot()
        )
        target = TargetTable.of(snapshot)
        check_writable(target.protocol)
        target.refuse_hidden()
        session_txn = settings.transaction(spark) if txn is None else None
        if user_metadata is None:
            user_metadata = settings.user_metadata(spark)
        return cls(spark, snapshot, target, root, txn, session_txn, user_metadata)

    def refuse_append_only(self) -> None:
        """Check that rows may be removed from the table.

        Raises:
            InvalidArgumentError: ``transaction.append_only``.
        """
        if self.target.is_on("delta.appendOnly"):
            raise InvalidArgumentError(
                "delta.appendOnly is true: rows can be added to the table, never removed",
                code="transaction.append_only",
            )

    @property
    def known_fields(self) -> list[Field]:
        """The columns before the statement, also void ones."""
        return TargetTable.of(self.snapshot).fields

    def evolved(self, fields: Sequence[Field]) -> Statement:
        """Return the statement on the table with these columns added."""
        return replace(self, target=self.target.with_columns(struct_type(fields)))

    def begin(self, operation: str, parameters: Mapping[str, Any]) -> Transaction:
        """Begin the transaction; it has read nothing yet."""
        return self.target.begin(self.snapshot, operation, parameters, self.user_metadata)

    @property
    def is_idempotent(self) -> bool:
        """True if the commit records the version of an application."""
        return (self.txn or self.session_txn) is not None

    def is_repeated(self, transaction: Transaction) -> bool:
        """Set the version of the application; return whether it was committed before."""
        txn = self.txn or self.session_txn
        return txn is not None and transaction.set_transaction(*txn)

    def candidates(self, filter: Filter | None) -> Candidates:
        """Return the files that match a filter."""
        return Candidates.of(self.spark, self.snapshot, filter, self.root)

    def empty(self, alias: str) -> DataFrame:
        """Return an empty frame with the table's columns, for the analysis of conditions."""
        none = self.candidates("1 = 0")
        return none.rows(()).alias(alias)

    def matched(
        self, transaction: Transaction, where: str | Column | None, alias: str
    ) -> tuple[Candidates, DataFrame]:
        """Return the files that may have matching rows, and record them as read.

        Args:
            transaction: The transaction of the statement.
            where: The condition; None selects all files.
            alias: The name of the table in the condition.

        Returns:
            The files, and an empty frame whose topmost node has the condition.

        Raises:
            InvalidArgumentError: Spark cannot resolve the condition.
        """
        none = self.empty(alias)
        frame, filter = none, None
        if where is not None:
            frame = analyzed(lambda: none.where(as_column(where)))
            filter = target_filter(where, self.snapshot, alias, lambda: frame)
        note_read(transaction, filter)
        return self.candidates(filter), frame


def analyzed(make: Callable[[], DataFrame]) -> DataFrame:
    """Create a frame, and let Spark resolve its names and types.

    Raises:
        InvalidArgumentError: ``statement.expression``: Spark cannot resolve them; the message is
            Spark's.
    """
    from pyspark.errors import AnalysisException, ParseException

    try:
        frame = make()
        _ = frame.schema
    except (AnalysisException, ParseException) as cause:
        raise InvalidArgumentError(
            f"Spark cannot resolve the statement: {_first_lines(cause)}",
            code="statement.expression",
        ) from cause
    return frame


def _first_lines(cause: BaseException) -> str:
    text = str(cause).split("JVM stacktrace")[0].strip()
    return _SUGGESTED.sub(_without_own, text.split(";\n")[0])


#: The columns that Spark suggests instead of an unknown column.
_SUGGESTED = re.compile(r"(?<=Did you mean one of the following\? \[)`[^\n]*`(?=\]\. SQLSTATE)")


def _without_own(suggested: re.Match[str]) -> str:
    own = f"`{hidden_columns.PREFIX}"
    listed = suggested.group().split(", ")
    return ", ".join(name for name in listed if own not in name)


def as_column(condition: str | Column) -> Column:
    """Convert SQL text to a column; return a column as it is."""
    from pyspark.sql import functions as sf

    return sf.expr(condition) if isinstance(condition, str) else condition


def checked_condition(value: Any, argument: str = "condition") -> Expression | None:
    """Check the type of a condition, and return it; it may be None.

    Raises:
        TypeError: The condition is neither SQL text nor a column.
    """
    if value is None or is_expression(value):
        return value
    raise TypeError(
        f"{argument} must be a Spark SQL Column or a string (an expression in SQL), not "
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


def predicates(condition: str | Column | None) -> str:
    """Return a condition as the parameter ``predicate`` of DELETE."""
    return json.dumps([condition_text(condition)])


def note_read(transaction: Transaction, filter: Filter | None) -> None:
    """Record the rows that a statement has read, as narrowly as its filter allows."""
    try:
        transaction.read(filter)
    except DeltaReplayError:
        transaction.read()
