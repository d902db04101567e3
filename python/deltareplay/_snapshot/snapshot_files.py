"""``SnapshotFiles``: the files of a snapshot, as the log has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay._support.arguments import checked_methods
from deltareplay._support.readers import reader, to_table

if TYPE_CHECKING:
    from deltareplay._expressions.filters import Filter
    from deltareplay._native import Snapshot as NativeSnapshot
    from deltareplay._snapshot.table_location import TableLocation


@checked_methods
class SnapshotFiles:
    """Methods of ``Snapshot`` that list live and removed files."""

    __slots__ = ()

    if TYPE_CHECKING:
        _native: NativeSnapshot
        _table: TableLocation

        def _report_warnings(self) -> None: ...

    def files(self, columns: Sequence[str] | None = None, filter: Filter | None = None) -> pa.Table:
        """List the live files: the ``add`` actions that remain after replay.

        Args:
            columns: Columns to return, in this order; others are not decoded. None returns all
                columns of the protocol. Only if named: ``stats_parsed`` and
                ``partitionValues_parsed`` (structs with the types of the table's schema) and
                ``numRecords`` (int64).
            filter: A condition on rows, as SQL text (``"day >= '2026-01-01' AND v IS NOT NULL"``)
                or as tuples (``[("day", ">=", "2026-01-01")]``; a list of such lists is an OR of
                ANDs). Files in which no row can match, by partition values and statistics, are left
                out.

        Returns:
            One row for each file, in no particular order: ``path`` (string, URI-encoded as in the
            log), ``partitionValues`` (map<string, string>), ``size`` (int64, bytes),
            ``modificationTime`` (int64, milliseconds since the epoch), ``dataChange`` (bool),
            ``stats`` (string, JSON), ``tags`` (map<string, string>), ``deletionVector`` (struct:
            storageType, pathOrInlineDv, offset int32, sizeInBytes int32, cardinality int64),
            ``baseRowId`` and ``defaultRowCommitVersion`` (int64), ``clusteringProvider`` (string).

        Raises:
            InvalidArgumentError: A column does not exist (``columns.unknown``) or is named twice
                (``columns.twice``), or the filter does not fit the table (``filter.column``,
                ``filter.syntax``).
            CorruptTableError: A file of the log does not decode, and nothing replaces it.

        Source: Delta protocol, "Action Reconciliation", "Per-file Statistics".

        >>> files = table.snapshot().files(columns=["path", "numRecords"])
        >>> sorted(files.column("path").to_pylist())
        ['day=2026-01-02/b.parquet', 'day=2026-01-03/c.parquet']
        >>> table.snapshot().files(["path"], filter="day = '2026-01-03'").to_pylist()
        [{'path': 'day=2026-01-03/c.parquet'}]
        """
        table = to_table(self._native.files(columns, filter))
        self._report_warnings()
        return table

    def file_batches(
        self, columns: Sequence[str] | None = None, filter: Filter | None = None
    ) -> pa.RecordBatchReader:
        """Stream the live files, as ``files()``, in memory bounded by the log's tail.

        Args:
            columns: As in ``files()``.
            filter: As in ``files()``.

        Returns:
            Batches of the rows of ``files()``, read on demand.

        Raises:
            DeltaReplayError: As ``files()``; also raised while reading.

        >>> sum(batch.num_rows for batch in table.snapshot().file_batches(columns=["path"]))
        2
        """
        batches = self._native.file_batches(columns, filter)
        self._report_warnings()
        return reader(batches, after_each=self._report_warnings)

    def file_uris(self, filter: Filter | None = None) -> list[str]:
        """List the full URIs of the live files, for programs that read them directly.

        The files of tables with deletion vectors have deleted rows, those of tables with column
        mapping have other names, and none has its partition columns: ``scan`` takes care of that.

        Args:
            filter: As in ``files()``.

        Returns:
            URIs, in no particular order, whose special characters are encoded.

        Raises:
            InvalidArgumentError: As ``files()``.
            CorruptTableError: As ``files()``; or a path is outside of the locations that the table
                may point to (``path.escapes_root``, ``path.foreign``).

        >>> [uri.rpartition("/")[2] for uri in table.snapshot().file_uris("day = '2026-01-03'")]
        ['c.parquet']
        """
        paths: list[Any] = self.files(["path"], filter)["path"].to_pylist()
        return self._table.file_uris(paths)

    def tombstones(self) -> pa.Table:
        """List the removed files whose retention has not passed: the live ``remove`` actions.

        Returns:
            One row for each file: the fields of the ``remove`` action, including ``path`` (string)
            and ``deletionTimestamp`` (int64, milliseconds since the epoch).

        Raises:
            CorruptTableError: A file of the log does not decode, and nothing replaces it.

        Source: Delta protocol, "Add File and Remove File".

        >>> table.snapshot().tombstones().column("path").to_pylist()
        ['day=2026-01-02/a.parquet']
        """
        table = to_table(self._native.tombstones())
        self._report_warnings()
        return table
