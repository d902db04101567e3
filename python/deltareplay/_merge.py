"""``Merge``: rows of a source merged into a table, clause by clause."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from deltareplay._arguments import checked_methods
from deltareplay._expressions import Expression, assignments
from deltareplay._written import Written

#: When, what, on which condition, with which columns.
_Clause = tuple[str, str, str | None, Sequence[tuple[str, str]] | None]


@checked_methods
class Merge:
    """What a merge does with pairs of rows, and with those alone; ``Table.merge`` makes one.

    Each method adds a clause and gives the merge back. Of the clauses of one kind the first counts
    whose condition is true; only the last may be without one. Clauses for all columns leave out
    those that only the source has. Expressions are SQL: they call the columns ``source.name`` and
    ``target.name``, or by their bare name where only one side has it.
    Values that are no text are taken as they are.

    >>> import datetime
    >>> source = [{"id": 7, "day": datetime.date(2026, 1, 4)}]
    >>> merge = empty.merge(source, "id").when_matched_update_all().when_not_matched_insert_all()
    >>> merge.execute().metrics["numTargetRowsInserted"]
    1
    """

    __slots__ = ("_clauses", "_run")

    _clauses: list[_Clause]
    _run: Callable[[Sequence[_Clause]], Written]

    def __init__(self) -> None:
        raise TypeError("Table.merge makes merges")

    @classmethod
    def _of(cls, run: Callable[[Sequence[_Clause]], Written]) -> Merge:
        merge = object.__new__(cls)
        merge._run = run
        merge._clauses = []
        return merge

    def _add(
        self,
        when: str,
        then: str,
        condition: str | None,
        values: Mapping[str, Expression] | None = None,
    ) -> Merge:
        pairs = None if values is None else assignments(values)
        self._clauses.append((when, then, condition, pairs))
        return self

    def when_matched_update(
        self,
        set: Mapping[str, Expression],  # noqa: A002
        condition: str | None = None,
    ) -> Merge:
        """Set columns of the rows of the table that have one in the source.

        Args:
            set: Columns and their values, as ``Table.update`` takes them.
            condition: An SQL expression; the clause counts where it is true.

        >>> merge = empty.merge([{"id": 7}], "id")
        >>> merge.when_matched_update({"day": "date(source.day)"}, "target.id > 3") is merge
        True
        """
        return self._add("matched", "update", condition, set)

    def when_matched_update_all(self, condition: str | None = None) -> Merge:
        """Set all columns to those of the source of the same name.

        Args:
            condition: An SQL expression; the clause counts where it is true.

        >>> empty.merge([{"id": 7}], "id").when_matched_update_all("target.id > 3")
        <Merge of 1 clause>
        """
        return self._add("matched", "update", condition)

    def when_matched_delete(self, condition: str | None = None) -> Merge:
        """Delete the rows of the table that have one in the source.

        Args:
            condition: An SQL expression; the clause counts where it is true.

        >>> empty.merge([{"id": 7}], "id").when_matched_delete()
        <Merge of 1 clause>
        """
        return self._add("matched", "delete", condition)

    def when_not_matched_insert(
        self, values: Mapping[str, Expression], condition: str | None = None
    ) -> Merge:
        """Insert a row with these columns for each row of the source that has none in the table.

        Args:
            values: Columns and their values; the others are null, or what the table makes them.
            condition: An SQL expression; the clause counts where it is true.

        >>> empty.merge([{"id": 7}], "id").when_not_matched_insert({"id": "source.id * 10"})
        <Merge of 1 clause>
        """
        return self._add("not_matched", "insert", condition, values)

    def when_not_matched_insert_all(self, condition: str | None = None) -> Merge:
        """Insert the rows of the source that have none in the table.

        Args:
            condition: An SQL expression; the clause counts where it is true.

        >>> empty.merge([{"id": 7}], "id").when_not_matched_insert_all()
        <Merge of 1 clause>
        """
        return self._add("not_matched", "insert", condition)

    def when_not_matched_by_source_update(
        self,
        set: Mapping[str, Expression],  # noqa: A002
        condition: str | None = None,
    ) -> Merge:
        """Set columns of the rows of the table that have none in the source.

        Args:
            set: Columns and their values, as ``Table.update`` takes them.
            condition: An SQL expression; the clause counts where it is true.

        >>> empty.merge([{"id": 7}], "id").when_not_matched_by_source_update({"day": None})
        <Merge of 1 clause>
        """
        return self._add("not_matched_by_source", "update", condition, set)

    def when_not_matched_by_source_delete(self, condition: str | None = None) -> Merge:
        """Delete the rows of the table that have none in the source.

        Args:
            condition: An SQL expression; the clause counts where it is true.

        >>> empty.merge([{"id": 7}], "id").when_not_matched_by_source_delete("target.id < 3")
        <Merge of 1 clause>
        """
        return self._add("not_matched_by_source", "delete", condition)

    def execute(self) -> Written:
        """Merge, in one commit.

        Returns:
            The version, None where nothing was to be done; ``numTargetRowsInserted``,
            ``numTargetRowsUpdated``, ``numTargetRowsDeleted``, ``numTargetRowsCopied`` and more,
            by delta-spark's names.

        Raises:
            InvalidArgumentError: Several rows of the source match one of the table (both are
                shown), whatever the conditions of the clauses, unless the merge only inserts, or
                deletes every match; a clause or an expression that does not fit; a row that breaks
                a rule.
            CommitConflictError: Another writer changed the files that were read.

        >>> empty.merge([{"id": 7}], "id").when_matched_delete().execute().version is None
        True
        """
        return self._run(self._clauses)

    def __repr__(self) -> str:
        count = len(self._clauses)
        return f"<Merge of {count} clause{'' if count == 1 else 's'}>"
