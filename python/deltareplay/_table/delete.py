"""``Table.delete``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltareplay._expressions import double_quotes
from deltareplay._expressions.filters import Filter
from deltareplay._snapshot.table_location import TableLocation
from deltareplay._support.arguments import checked_methods
from deltareplay._transaction.written import Written, options, written

if TYPE_CHECKING:
    from deltareplay._snapshot.snapshot import Snapshot


@checked_methods
class Deleting(TableLocation):
    """The method ``Table.delete``."""

    __slots__ = ()

    if TYPE_CHECKING:

        def snapshot(self) -> Snapshot: ...

    def delete(
        self,
        where: Filter | None = None,
        *,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
        target_file_size: int | None = None,
        durable: bool = True,
        timeout: float = 60.0,
    ) -> Written:
        """Delete the rows that satisfy a filter, or all.

        Files whose rows all satisfy the filter are removed as a whole. In other files, rows are
        marked by deletion vectors if ``delta.enableDeletionVectors`` is true; otherwise the
        remaining rows are copied, with their row ids. Change data files are written if the table
        has a feed and deletion vectors do not show the deleted rows.

        Args:
            where: The condition of the rows, as SQL text or as tuples; None deletes all.
            txn: As in ``append``.
            user_metadata: As in ``append``.
            target_file_size: As in ``append``, for rewritten files.
            durable: As in ``append``.
            timeout: As in ``append``.

        Returns:
            The version, or None if no row satisfies the filter; ``numDeletedRows``,
            ``numCopiedRows``, ``numRemovedFiles``, ``numAddedFiles``, ``numDeletionVectorsAdded``
            and more, by delta-spark's names. Without ``numDeletedRows`` if a file was removed whole
            whose statistics have no row count.

        Raises:
            InvalidArgumentError: The filter does not fit the table; the table is append-only.
            CommitConflictError: Another writer changed the files that were read.

        Source: Delta protocol, "Deletion Vectors", "Row Tracking", "Add CDC File".

        >>> table.delete("day = '2026-01-02'").metrics["numRemovedFiles"]
        1
        >>> table.delete("day = '2026-01-02'").version is None
        True
        """
        write_options = options(None, txn, user_metadata, target_file_size, durable, timeout)
        double_quotes.check(where, lambda: self.snapshot().schema_json)
        return written(self._native.delete(where, write_options))
