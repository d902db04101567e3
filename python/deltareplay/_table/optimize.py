"""``Table.optimize``."""

from __future__ import annotations

from collections.abc import Sequence

from deltareplay import _native
from deltareplay._expressions.filters import Filter
from deltareplay._snapshot.table_location import TableLocation
from deltareplay._support.arguments import checked_methods
from deltareplay._transaction.written import Written, options, written


@checked_methods
class Optimizing(TableLocation):
    """The method ``Table.optimize``."""

    __slots__ = ()

    def optimize(
        self,
        where: Filter | None = None,
        *,
        z_order_by: Sequence[str] | None = None,
        target_file_size: int | None = None,
        purge: bool = False,
        full: bool = False,
        user_metadata: str | None = None,
        durable: bool = True,
        timeout: float = 60.0,
    ) -> Written:
        """Rewrite data files: compact small files, or cluster rows.

        Rows do not change, and keep their ids and commit versions; streams and change queries
        return nothing for this commit. Concurrent appends are not a conflict.

        Files that are smaller than the target are compacted, partition by partition, and so are
        files with more than 5 % of their rows deleted by a vector. With ``z_order_by`` all files of
        the partitions are rewritten, so that files have narrow ranges of these columns, and filters
        on any of them skip files. The rows of a clustered table are sorted along a Hilbert curve of
        its clustering columns. Files that one run has clustered form a cube, which is clustered
        again together with other files until it has 100 GiB.

        Compaction holds the files being written in memory: 2 GiB in total, or one file. Sorting
        uses temporary files on this machine (``TMPDIR``), a few times the size of the data files.

        Args:
            where: A condition on partition columns, as SQL text or as tuples; None selects all.
            z_order_by: Columns for a Z-order; struct fields with dots.
            target_file_size: Bytes per file; by default ``delta.targetFileSize``, or 1 GiB.
            purge: Whether to rewrite only the files that have deleted rows or dropped columns, of
                any size, as ``REORG TABLE ... APPLY (PURGE)`` does. If the table has column
                mapping, footers are read to find dropped columns.
            full: Whether to cluster files of a clustered table again that were clustered by other
                columns or another provider, as ``OPTIMIZE ... FULL`` does.
            user_metadata: As in ``append``.
            durable: As in ``append``.
            timeout: As in ``append``.

        Returns:
            The version, or None if there was nothing to do; ``numRemovedFiles``, ``numAddedFiles``,
            ``numRemovedBytes``, ``numAddedBytes``, ``numDeletionVectorsRemoved``, ``minFileSize``,
            ``p25FileSize``, ``p50FileSize``, ``p75FileSize`` and ``maxFileSize``.

        Raises:
            InvalidArgumentError: ``where`` does not fit the table (``filter.column``,
                ``filter.syntax``), or uses a column that is not a partition column
                (``optimize.where``); a column of ``z_order_by`` does not exist (``alter.column``)
                or cannot sort rows (``optimize.z_order``); the table is clustered, and ``where`` or
                ``z_order_by`` is passed (``optimize.clustered``); ``purge`` is combined with
                ``z_order_by`` (``optimize.purge``); ``full`` is passed with ``purge``, or for a
                table without clustering columns (``optimize.full``); or ``target_file_size`` is 0
                (``argument.range``).
            CommitConflictError: Another writer removed or changed a file that was rewritten.
            UnsupportedFeatureError: The table has a feature that this release cannot write
                (``protocol.writer_features``), or its catalog does not allow it
                (``catalog.maintenance``).

        Source: Delta protocol, "Clustered Table"; OPTIMIZE and REORG of delta-spark.

        >>> _ = empty.append([{"id": 2}]), empty.append([{"id": 1}])
        >>> done = empty.optimize()
        >>> done.version, done.metrics["numRemovedFiles"], done.metrics["numAddedFiles"]
        (3, 2, 1)
        >>> empty.optimize().version is None
        True
        >>> _ = empty.optimize(z_order_by=["id"])
        >>> empty.snapshot().scan().to_arrow()["id"].to_pylist()
        [1, 2]
        """
        write_options = options(None, None, user_metadata, target_file_size, durable, timeout)
        columns = list(z_order_by or ())
        return written(_native.optimize(self._native, where, columns, purge, full, write_options))
