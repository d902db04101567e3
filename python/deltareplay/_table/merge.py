"""``Table.merge``: merges the rows of a source into a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from deltareplay._arrow.row_sources import Rows, arrow_stream
from deltareplay._expressions import double_quotes
from deltareplay._expressions.expressions import Expression, assignments
from deltareplay._names import quoted
from deltareplay._snapshot.table_location import TableLocation
from deltareplay._support import units
from deltareplay._support.arguments import checked, checked_methods, names
from deltareplay._transaction.written import Written, columns_for, options, written
from deltareplay.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from typing_extensions import Self

    from deltareplay._snapshot.snapshot import Snapshot

When = Literal["matched", "not_matched", "not_matched_by_source"]
Then = Literal["update", "delete", "insert"]

#: The type of conditions, and that of the values of columns.
Condition = TypeVar("Condition")
Value = TypeVar("Value")

#: Conditions of a single word; a column of such a name is passed in a list.
_CONSTANTS = ("true", "false", "null")


@dataclass(frozen=True)
class Clause(Generic[Condition, Value]):
    """A clause of a merge.

    Attributes:
        when: The rows it applies to: matched, not matched, or not matched by source.
        then: The kind of change.
        condition: The condition under which it applies; None applies to all rows.
        values: The columns that it sets; None sets all.
    """

    when: When
    then: Then
    condition: Condition | None
    values: Mapping[str, Value] | None


@checked_methods
class Merge(Generic[Condition, Value]):
    """The clauses of a merge; created by ``Table.merge`` and ``deltareplay.spark.merge``.

    Each method adds a clause and returns the merge. Among the clauses of one kind, the first whose
    condition is true applies; only the last may lack a condition. Clauses for all columns leave out
    columns that only the source has. Expressions are SQL; columns are ``source.name`` and
    ``target.name``, or the bare name if only one side has it. Values that are not strings are
    literals. On Spark, conditions and values are SQL text or columns, and a value may be
    ``DEFAULT``, unless the clause sees a column of that name.

    >>> import datetime
    >>> source = [{"id": 7, "day": datetime.date(2026, 1, 4)}]
    >>> merge = empty.merge(source, "id").when_matched_update_all().when_not_matched_insert_all()
    >>> merge.execute().metrics["numTargetRowsInserted"]
    1
    """

    __slots__ = ("_clause", "_run", "clauses")

    clauses: tuple[Clause[Condition, Value], ...]
    _clause: Callable[..., Clause[Condition, Value]]
    _run: Callable[[Sequence[Clause[Condition, Value]]], Written]

    def __init__(self) -> None:
        raise TypeError("create a merge with Table.merge() or deltareplay.spark.merge()")

    @classmethod
    def of(
        cls,
        run: Callable[[Sequence[Clause[Condition, Value]]], Written],
        clause: Callable[..., Clause[Condition, Value]] = Clause,
    ) -> Merge[Condition, Value]:
        """Internal: create a merge that ``run`` executes; ``clause`` checks and creates clauses."""
        merge = cls.__new__(cls)
        merge.clauses = ()
        merge._run = run
        merge._clause = clause
        return merge

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {units.plural(len(self.clauses), 'clause')}>"

    def _add(
        self,
        when: When,
        then: Then,
        condition: Condition | None,
        values: Mapping[str, Value] | None = None,
    ) -> Self:
        self.clauses = (*self.clauses, self._clause(when, then, condition, values))
        return self

    def when_matched_update(
        self,
        set: Mapping[str, Value],  # noqa: A002
        condition: Condition | None = None,
    ) -> Self:
        """Set columns of the rows of the table that match a row of the source.

        Args:
            set: Columns and their values, as in ``update``.
            condition: The condition under which the clause applies; None applies always.

        >>> merge = empty.merge([{"id": 7}], "id")
        >>> merge.when_matched_update({"day": "date(source.day)"}, "target.id > 3") is merge
        True
        """
        return self._add("matched", "update", condition, set)

    def when_matched_update_all(self, condition: Condition | None = None) -> Self:
        """Set all columns to the source's columns of the same name.

        Args:
            condition: The condition under which the clause applies; None applies always.

        >>> empty.merge([{"id": 7}], "id").when_matched_update_all("target.id > 3")
        <Merge of 1 clause>
        """
        return self._add("matched", "update", condition)

    def when_matched_delete(self, condition: Condition | None = None) -> Self:
        """Delete the rows of the table that match a row of the source.

        Args:
            condition: The condition under which the clause applies; None applies always.

        >>> empty.merge([{"id": 7}], "id").when_matched_delete()
        <Merge of 1 clause>
        """
        return self._add("matched", "delete", condition)

    def when_not_matched_insert(
        self, values: Mapping[str, Value], condition: Condition | None = None
    ) -> Self:
        """Insert a row for each row of the source that matches no row of the table.

        Args:
            values: Columns and their values; the others are null, computed, or have their default.
            condition: The condition under which the clause applies; None applies always.

        >>> empty.merge([{"id": 7}], "id").when_not_matched_insert({"id": "source.id * 10"})
        <Merge of 1 clause>
        """
        return self._add("not_matched", "insert", condition, values)

    def when_not_matched_insert_all(self, condition: Condition | None = None) -> Self:
        """Insert the rows of the source that match no row of the table.

        Args:
            condition: The condition under which the clause applies; None applies always.

        >>> empty.merge([{"id": 7}], "id").when_not_matched_insert_all()
        <Merge of 1 clause>
        """
        return self._add("not_matched", "insert", condition)

    def when_not_matched_by_source_update(
        self,
        set: Mapping[str, Value],  # noqa: A002
        condition: Condition | None = None,
    ) -> Self:
        """Set columns of the rows of the table that match no row of the source.

        Args:
            set: Columns and their values, as in ``update``.
            condition: The condition under which the clause applies; None applies always.

        >>> empty.merge([{"id": 7}], "id").when_not_matched_by_source_update({"day": None})
        <Merge of 1 clause>
        """
        return self._add("not_matched_by_source", "update", condition, set)

    def when_not_matched_by_source_delete(self, condition: Condition | None = None) -> Self:
        """Delete the rows of the table that match no row of the source.

        Args:
            condition: The condition under which the clause applies; None applies always.

        >>> empty.merge([{"id": 7}], "id").when_not_matched_by_source_delete("target.id < 3")
        <Merge of 1 clause>
        """
        return self._add("not_matched_by_source", "delete", condition)

    def execute(self) -> Written:
        """Execute the merge in one commit.

        Returns:
            The version, or None if there was nothing to do; ``numTargetRowsInserted``,
            ``numTargetRowsUpdated``, ``numTargetRowsDeleted``, ``numTargetRowsCopied`` and more, by
            delta-spark's names.

        Raises:
            InvalidArgumentError: As ``Table.append``; several source rows match one row of the
                table, whatever the conditions of the clauses, unless the merge only inserts, or
                deletes every match (``rows.ambiguous``; the message has the rows); a clause is
                missing, or one without a condition is not the last (``rows.merge``); an expression
                cannot be evaluated (``formula.column``, ``formula.syntax``, ``formula.value``); or
                the table is append-only (``transaction.append_only``).
            TypeError: As ``Table.append``.
            UnsupportedFeatureError: As ``Table.append``.
            CommitConflictError: As ``Table.delete``.

        >>> empty.merge([{"id": 7}], "id").when_matched_delete().execute().version is None
        True
        """
        return self._run(self.clauses)


@checked_methods
class Merging(TableLocation):
    """The method ``Table.merge``."""

    __slots__ = ()

    if TYPE_CHECKING:

        def snapshot(self) -> Snapshot: ...

    def merge(
        self,
        source: Rows,
        on: str | Sequence[str] | Mapping[str, str],
        *,
        source_alias: str = "source",
        target_alias: str = "target",
        schema_mode: Literal["merge"] | None = None,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
        target_file_size: int | None = None,
        durable: bool = True,
        timeout: float = 60.0,
    ) -> Merge[str, Expression]:
        """Create a merge of rows into the table; its method ``execute`` runs it.

        The keys of the source are kept in memory, and its rows up to 256 MiB; beyond that, they go
        to a temporary file on this machine (``TMPDIR``). The files of the table that may have rows
        with these keys are read once.

        Args:
            source: As ``data`` in ``append``.
            on: The condition of matching rows: one or several names of columns that both sides
                have; a dict from names in the source to names in the table; or any SQL condition,
                such as ``"target.id = source.id"`` or ``"false"``. Equalities between the sides, by
                ``=`` or ``<=>``, make it fast; without them, all pairs of rows are compared.
            source_alias: The name of the source in expressions.
            target_alias: The name of the table in expressions.
            schema_mode: ``"merge"`` adds columns, and fields of structs, that only the source has:
                all of them if a clause sets all columns, otherwise those that a clause names.
                Clauses for all columns then do not change columns that the source lacks.
            txn: As in ``append``.
            user_metadata: As in ``append``.
            target_file_size: As in ``append``, for rewritten files.
            durable: As in ``append``.
            timeout: As in ``append``.

        Returns:
            A merge without clauses: add them by its methods, then call ``execute``.

        Raises:
            InvalidArgumentError: ``on`` has no columns (``rows.merge``).

        Source: ``MERGE INTO`` of delta-spark.

        >>> merge = empty.merge([{"id": 7}], "id").when_not_matched_insert_all()
        >>> merge.execute().version
        1
        """
        condition = _condition(on, source_alias, target_alias)
        write_options = options(schema_mode, txn, user_metadata, target_file_size, durable, timeout)
        condition_and_aliases = (condition, source_alias, target_alias)
        double_quotes.check(condition, lambda: self.snapshot().schema_json)

        def run(clauses: Sequence[Clause[str, Expression]]) -> Written:
            rows = arrow_stream(source, lambda: columns_for(write_options, self.snapshot()))
            if isinstance(source, (Sequence, Mapping)) and not source:
                rows = self.snapshot().schema.empty_table()  # no rows have no columns of their own
            native_clauses: list[Any] = [
                (
                    clause.when,
                    clause.then,
                    clause.condition,
                    None if clause.values is None else list(clause.values.items()),
                )
                for clause in clauses
            ]
            return written(
                self._native.merge(rows, condition_and_aliases, native_clauses, write_options)
            )

        return Merge.of(run, _clause)


@checked
def _clause(
    when: When,
    then: Then,
    condition: str | None,
    values: Mapping[str, Expression] | None,
) -> Clause[str, Expression]:
    """Return a clause with its values as SQL text."""
    return Clause(when, then, condition, None if values is None else dict(assignments(values)))


def _condition(
    on: str | Sequence[str] | Mapping[str, str], source_alias: str, target_alias: str
) -> str:
    """Convert ``on`` to an SQL condition."""
    if isinstance(on, str) and (on.lower() in _CONSTANTS or not on.replace("_", "a").isalnum()):
        return on
    pairs = on if isinstance(on, Mapping) else {name: name for name in names("on", on)}
    if not pairs:
        message = "on has no columns: pass those that must be equal, or a condition such as 'false'"
        raise InvalidArgumentError(message, code="rows.merge")
    equalities = (
        f"{quoted(target_alias)}.{quoted(target_column)} = "
        f"{quoted(source_alias)}.{quoted(source_column)}"
        for source_column, target_column in pairs.items()
    )
    return " AND ".join(equalities)
