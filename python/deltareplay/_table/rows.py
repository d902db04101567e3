"""``Table.append``, ``overwrite``, ``delete`` and ``update``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from deltareplay._arrow.row_sources import Rows, arrow_stream
from deltareplay._expressions import double_quotes
from deltareplay._expressions.expressions import Expression, assignments
from deltareplay._expressions.filters import Filter
from deltareplay._snapshot.table_location import TableLocation
from deltareplay._support.arguments import checked_methods
from deltareplay._table.renamed import renamed
from deltareplay._transaction.written import Written, columns_for, options, written
from deltareplay.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from deltareplay._snapshot.snapshot import Snapshot


@checked_methods
class Writing(TableLocation):
    """Methods of ``Table`` that write, delete and update rows."""

    __slots__ = ()

    if TYPE_CHECKING:

        def snapshot(self) -> Snapshot: ...

    def append(
        self,
        data: Rows,
        *,
        schema_mode: Literal["merge"] | None = None,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
        target_file_size: int | None = None,
        durable: bool = True,
        timeout: float = 60.0,
    ) -> Written:
        """Append rows: write them as Parquet with statistics, and commit.

        Columns are matched by name, in any order, and cast to the table's types as in Spark:
        numbers to numbers, with an error on overflow; any value to a string; strings to the value
        that they contain. Missing columns are null, computed, or have their default.
        ``NOT NULL``, invariants, CHECK constraints and lengths of strings are enforced. Rows are
        streamed: memory has one batch and the open files, one for each partition, of 256 MiB in
        total.

        Args:
            data: A pyarrow table, batch or reader, a Polars or pandas frame, a DuckDB relation, a
                scan, or anything else that is an Arrow stream; a list of rows as dicts; a dict of
                columns.
            schema_mode: ``"merge"`` adds columns, and fields of columns, that only the rows have.
                In tables with ``delta.enableTypeWidening``, columns get the rows' wider types.
            txn: Application and version of an idempotent write, as for
                ``Transaction.set_transaction``.
            user_metadata: Any text for the commit.
            target_file_size: Bytes after which a file is closed; by default 128 MiB.
            durable: Whether local files are synced to disk before the commit, and the commit before
                the call returns.
            timeout: Seconds to keep trying if other writers win or the storage does not answer.

        Returns:
            The version, or None if there was nothing to commit: no rows, no new columns, no new
            ``txn``; and the metrics ``numFiles``, ``numOutputRows`` and ``numOutputBytes``.

        Raises:
            InvalidArgumentError: A column is unknown (``rows.column``) or missing
                (``rows.missing``), a type or a value does not fit (``rows.type``, ``rows.value``,
                ``rows.null``), a row breaks a rule of the table (``rows.constraint``,
                ``rows.length``, ``rows.generated``, ``rows.identity``), or the rows cannot be read
                to their end (``rows.source``). Nothing was written.
            TypeError: ``data`` is not rows; the message says what to use instead, such as
                ``deltareplay.spark.write`` for a Spark DataFrame.
            UnsupportedFeatureError: The table has a feature that this release cannot write
                (``protocol.writer_features``), or a constraint that it cannot evaluate
                (``rows.expression``).
            CommitConflictError: Another writer changed the table's schema or protocol
                (``conflict.metadata_changed``, ``conflict.protocol_changed``), committed for the
                same application (``conflict.transaction``), or others were first until the timeout
                (``conflict.deadline``).
            CorruptTableError: Columns of the table share a physical name or an id
                (``schema.column_mapping``).

        Source: Delta protocol, "Per-file Statistics", "Partition Value Serialization".

        >>> import datetime
        >>> written = table.append([{"id": 7, "day": datetime.date(2026, 1, 4)}, {"id": 8}])
        >>> written.version, written.metrics["numOutputRows"]
        (3, 2)
        """
        write_options = options(schema_mode, txn, user_metadata, target_file_size, durable, timeout)
        rows = arrow_stream(data, lambda: columns_for(write_options, self.snapshot()))
        return written(self._native.append(rows, write_options))

    @renamed(partitions="partition_overwrite")
    def overwrite(
        self,
        data: Rows,
        where: Filter | None = None,
        *,
        partition_overwrite: Literal["static", "dynamic"] = "static",
        schema_mode: Literal["merge", "overwrite"] | None = None,
        partition_columns: Sequence[str] | None = None,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
        target_file_size: int | None = None,
        durable: bool = True,
        timeout: float = 60.0,
    ) -> Written:
        """Replace all rows, or the rows that satisfy a condition, in one commit.

        Args:
            data: As for ``append``.
            where: The filter of the rows to replace (Delta's ``replaceWhere``), which the new rows
                must satisfy too. None replaces all rows.
            partition_overwrite: ``"dynamic"`` replaces only the partitions of the new rows.
            schema_mode: ``"merge"`` as in ``append``; ``"overwrite"`` replaces the columns of the
                table by those of the rows, if all rows are replaced.
            partition_columns: With ``schema_mode="overwrite"``, the new partition columns; none if
                empty. By default they stay.
            txn: As in ``append``.
            user_metadata: As in ``append``.
            target_file_size: As in ``append``.
            durable: As in ``append``.
            timeout: As in ``append``.

        Returns:
            The version, or None as by ``append`` if there were no rows to replace either; the
            metrics of ``append``, ``numRemovedFiles``, ``numRemovedBytes``, and with ``where``
            those of ``delete``.

        Raises:
            InvalidArgumentError: As ``append``; ``where`` does not fit the table
                (``filter.column``, ``filter.syntax``), or a new row does not satisfy it
                (``rows.where``); ``schema_mode`` (``rows.schema_mode``) or ``partition_overwrite``
                (``rows.partitions``) does not fit the call; or the table is append-only
                (``transaction.append_only``).
            TypeError: As ``append``.
            UnsupportedFeatureError: As ``append``.
            CommitConflictError: As ``delete``.

        Source: Delta protocol, "Add File and Remove File"; ``replaceWhere`` of delta-spark.

        >>> import datetime
        >>> rows = [{"id": 7, "day": datetime.date(2026, 1, 4)}]
        >>> table.overwrite(rows, partition_overwrite="dynamic").metrics["numRemovedFiles"]
        0
        >>> table.overwrite(rows).version
        4
        >>> table.snapshot().num_files
        1
        """
        if partition_overwrite not in ("static", "dynamic") or (
            where is not None and partition_overwrite != "static"
        ):
            message = (
                f"partition_overwrite is {partition_overwrite!r}: pass 'static', or 'dynamic' "
                "without a filter"
            )
            raise InvalidArgumentError(message, code="rows.partitions")
        write_options = options(schema_mode, txn, user_metadata, target_file_size, durable, timeout)
        if partition_columns is not None:
            write_options["partition_columns"] = list(partition_columns)
        double_quotes.check(where, lambda: self.snapshot().schema_json)
        rows = arrow_stream(data, lambda: columns_for(write_options, self.snapshot()))
        return written(
            self._native.overwrite(rows, where, partition_overwrite == "dynamic", write_options)
        )

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
            InvalidArgumentError: The filter does not fit the table (``filter.column``,
                ``filter.syntax``); the table is append-only (``transaction.append_only``).
            UnsupportedFeatureError: As ``append``.
            CommitConflictError: As ``append``; or another writer changed the files that were read
                (``conflict.append``, ``conflict.delete_read``, ``conflict.delete_delete``).

        Source: Delta protocol, "Deletion Vectors", "Row Tracking", "Add CDC File".

        >>> table.delete("day = '2026-01-02'").metrics["numRemovedFiles"]
        1
        >>> table.delete("day = '2026-01-02'").version is None
        True
        """
        write_options = options(None, txn, user_metadata, target_file_size, durable, timeout)
        double_quotes.check(where, lambda: self.snapshot().schema_json)
        return written(self._native.delete(where, write_options))

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
            set: Columns and their values. A string is an SQL expression over the columns of the
                row, such as ``"v + 1"`` or ``"'a text'"``; anything else is a literal, and a list
                an array. ``"s.a"`` is a field of the struct ``s``; its other fields stay, and a
                null struct becomes a struct.
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
            InvalidArgumentError: As ``append``; as ``delete``; or an expression cannot be evaluated
                (``formula.column``, ``formula.syntax``, ``formula.value``).
            TypeError: A value is neither SQL nor a plain value.
            UnsupportedFeatureError: As ``append``.
            CommitConflictError: As ``delete``.

        Source: Delta protocol, "Deletion Vectors", "Row Tracking", "Add CDC File".

        >>> empty.append([{"id": 1}, {"id": 2}]).version
        1
        >>> empty.update("id = 2", {"id": "id * 10", "day": None}).metrics["numUpdatedRows"]
        1
        """
        write_options = options(None, txn, user_metadata, target_file_size, durable, timeout)
        double_quotes.check(where, lambda: self.snapshot().schema_json)
        return written(self._native.update_rows(where, assignments(set), write_options))
