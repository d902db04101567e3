"""The common base of statements: checks, the version that is read, and the transaction."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deltareplay._protocol.schema import Field
from deltareplay._snapshot.snapshot import Snapshot
from deltareplay.exceptions import DeltaReplayError, InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.catalog.table_argument import TableLike, resolved, table_of
from deltareplay.spark.scan import hidden_columns as names
from deltareplay.spark.scan.candidates import Candidates
from deltareplay.spark.scan.skipping import target_filter
from deltareplay.spark.schema.fields import struct_type
from deltareplay.spark.session import capabilities, settings
from deltareplay.spark.writing.target_table import TargetTable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from deltareplay._expressions.filters import Filter
    from deltareplay._transaction.transaction import Transaction


@dataclass(frozen=True)
class Statement:
    """A statement on a table.

    Attributes:
        spark: The session.
        snapshot: The version that is read.
        target: The table after the commit.
        root: As in ``read``.
    """

    spark: SparkSession
    snapshot: Snapshot
    target: TargetTable
    root: str | None

    @classmethod
    def of(cls, spark: SparkSession, table: TableLike, root: str | None) -> Statement:
        """Open the table, and check that it can be written, before any job.

        Raises:
            InvalidArgumentError: The table is append-only.
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
        target.check_features()
        return cls(spark, snapshot, target, root)

    def refuse_append_only(self) -> None:
        """Check that rows may be removed from the table.

        Raises:
            InvalidArgumentError: ``transaction.append_only``.
        """
        if self.target.properties.get("delta.appendOnly", "").lower() == "true":
            raise InvalidArgumentError(
                "delta.appendOnly is true: rows can be added to the table, never removed",
                code="transaction.append_only",
            )

    @property
    def known_fields(self) -> list[Field]:
        """The columns in the data files."""
        return TargetTable.of(self.snapshot).written_fields

    def evolved(self, fields: Sequence[Field]) -> Statement:
        """Return the statement on the table with these columns added."""
        return replace(self, target=self.target.with_columns(struct_type(fields)))

    def begin(
        self, operation: str, parameters: Mapping[str, Any], user_metadata: str | None
    ) -> Transaction:
        """Begin the transaction; it has read nothing yet."""
        text = settings.user_metadata(self.spark) if user_metadata is None else user_metadata
        return self.target.begin(self.snapshot, operation, parameters, text)

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
            InvalidArgumentError: Spark does not understand the condition.
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
            f"Spark does not understand the statement: {_first_lines(cause)}",
            code="statement.expression",
        ) from cause
    return frame


def _first_lines(cause: BaseException) -> str:
    text = str(cause).split("JVM stacktrace")[0].strip()
    return _SUGGESTED.sub(_without_own, text.split(";\n")[0])


#: The columns that Spark suggests instead of an unknown column.
_SUGGESTED = re.compile(r"(?<=Did you mean one of the following\? \[)`[^\n]*`(?=\]\. SQLSTATE)")


def _without_own(suggested: re.Match[str]) -> str:
    own = f"`{names.OWN}"
    listed = suggested.group().split(", ")
    return ", ".join(name for name in listed if own not in name)


def as_column(condition: str | Column) -> Column:
    """Convert SQL text to a column; return a column as it is."""
    from pyspark.sql import functions as sf

    return sf.expr(condition) if isinstance(condition, str) else condition


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
