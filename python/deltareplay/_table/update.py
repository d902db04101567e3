"""``Table.update``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from deltareplay._expressions import double_quotes
from deltareplay._expressions.expressions import Expression, assignments
from deltareplay._expressions.filters import Filter
from deltareplay._snapshot.table_location import TableLocation
from deltareplay._support.arguments import checked_methods
from deltareplay._transaction.written import Written, options, written

if TYPE_CHECKING:
    from deltareplay._snapshot.snapshot import Snapshot


@checked_methods
class Updating(TableLocation):
    """The method ``Table.update``."""

    __slots__ = ()

    if TYPE_CHECKING:

        def snapshot(self) -> Snapshot: ...

    def update(
        self,
        where: Filter | None,
        set: Mapping[str, Expression],  # noqa: A002
        *,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
        target_file_size: int | None = None,
        durable: bool = True,
        timeout: float = 60.0,
    ) -> Written:
        """Set columns in the rows that satisfy a filter, or in all rows.

        Rows keep their ids if the table tracks them; generated columns are computed again; the
        table's constraints are enforced. A change data feed gets the images before and after.

        Args:
            where: The condition of the rows, as SQL text or as tuples; None updates all.
            set: Columns and their values. A string is a SQL expression over the columns of the
                row, such as ``"v + 1"`` or ``"'a text'"``; anything else is a literal. ``"s.a"`` is
                a field of the struct ``s``; its other fields stay, and a null struct becomes a
                struct.
            txn: As in ``append``.
            user_metadata: As in ``append``.
            target_file_size: As in ``append``, for rewritten files.
            durable: As in ``append``.
            timeout: As in ``append``.

        Returns:
            The version, or None if no row satisfies the filter; ``numUpdatedRows``,
            ``numCopiedRows``, ``numRemovedFiles``, ``numAddedFiles`` and more, by delta-spark's
            names.

        Raises:
            InvalidArgumentError: The filter, a column or an expression does not fit the table; a
                row would break a constraint of the table.
            CommitConflictError: Another writer changed the files that were read.

        Source: Delta protocol, "Deletion Vectors", "Row Tracking", "Add CDC File".

        >>> empty.append([{"id": 1}, {"id": 2}]).version
        1
        >>> empty.update("id = 2", {"id": "id * 10", "day": None}).metrics["numUpdatedRows"]
        1
        """
        write_options = options(None, txn, user_metadata, target_file_size, durable, timeout)
        double_quotes.check(where, lambda: self.snapshot().schema_json)
        return written(self._native.update_rows(where, assignments(set), write_options))
