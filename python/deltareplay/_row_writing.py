"""The verbs of ``Table`` that write rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from deltareplay import _native
from deltareplay._arguments import checked_methods, names
from deltareplay._expressions import Expression, assignments
from deltareplay._filters import Filter
from deltareplay._merge import Merge
from deltareplay._row_sources import ArrowStream, Rows, arrow_stream
from deltareplay._warnings import warn
from deltareplay._written import Written
from deltareplay.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from deltareplay._snapshot import Snapshot


@checked_methods
class RowWriting:
    """What ``Table`` offers to those who write rows."""

    __slots__ = ()

    if TYPE_CHECKING:
        _native: _native.Table

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
        """Append rows: writes them as Parquet with statistics, and commits.

        Columns are found by name, whatever their order, and stored as the table's types where
        Spark would store them so: numbers as numbers, with an error for one that does not fit;
        anything as text; text as what it says. Columns that are left out are null. ``NOT NULL``,
        invariants, CHECK constraints and lengths of text are enforced. Rows are streamed: memory
        holds one batch and the files in the making, one for each partition, of 256 MiB together.

        Args:
            data: A pyarrow table, batch or reader, a Polars or pandas frame, a DuckDB relation, a
                scan, or anything else that is an Arrow stream; a list of rows as dicts; a dict of
                columns.
            schema_mode: ``"merge"`` adds columns, and parts of columns, that only the rows have.
            txn: Application and version of an idempotent write, as
                ``Transaction.set_transaction`` takes them.
            user_metadata: Any text, for the commit.
            target_file_size: Bytes after which a file is closed; 128 MiB unless given.
            durable: Whether local files are synced to disk before the commit, and the commit
                before it is said to be done.
            timeout: Seconds to go on against other writers, and a storage that does not answer.

        Returns:
            The version, and how much was written: ``numFiles``, ``numOutputRows``,
            ``numOutputBytes``.

        Raises:
            InvalidArgumentError: A column that the table does not have, one that is missing, a
                type or a value that does not fit, a row that breaks a rule (it is shown). Nothing
                was written.
            TypeError: What is given is no rows; the message tells what to pass, for a Spark
                DataFrame ``deltareplay.spark.write``.
            UnsupportedFeatureError: The table has a rule that this release cannot evaluate.
            CommitConflictError: Another writer changed the table's schema or protocol.

        Source: Delta protocol, "Per-file Statistics", "Partition Value Serialization".

        >>> import datetime
        >>> written = table.append([{"id": 7, "day": datetime.date(2026, 1, 4)}, {"id": 8}])
        >>> written.version, written.metrics["numOutputRows"]
        (3, 2)
        """
        options = _options(schema_mode, txn, user_metadata, target_file_size, durable, timeout)
        return _written(self._native.append(self._rows(data), options))

    def overwrite(
        self,
        data: Rows,
        where: Filter | None = None,
        *,
        partitions: Literal["static", "dynamic"] = "static",
        schema_mode: Literal["merge", "overwrite"] | None = None,
        txn: tuple[str, int] | None = None,
        user_metadata: str | None = None,
        target_file_size: int | None = None,
        durable: bool = True,
        timeout: float = 60.0,
    ) -> Written:
        """Put rows in the place of others, in one commit.

        Args:
            data: As ``append`` takes it.
            where: Replaces the rows that satisfy this filter (Delta's ``replaceWhere``), which the
                new rows must satisfy as well; all rows without it.
            partitions: ``"dynamic"`` replaces the partitions that the new rows belong to, and no
                others.
            schema_mode: ``"merge"`` as in ``append``; ``"overwrite"`` gives the table the columns
                of the rows, where all rows are replaced.
            txn: As in ``append``.
            user_metadata: As in ``append``.
            target_file_size: As in ``append``.
            durable: As in ``append``.
            timeout: As in ``append``.

        Returns:
            The version; the metrics of ``append``, ``numRemovedFiles``, ``numRemovedBytes``, and
            with ``where`` those of ``delete``.

        Raises:
            InvalidArgumentError: As ``append``; a row that does not satisfy ``where``.
            UnsupportedFeatureError: As ``append``.
            CommitConflictError: Another writer changed what is replaced.

        Source: Delta protocol, "Add File and Remove File"; ``replaceWhere`` of delta-spark.

        >>> import datetime
        >>> rows = [{"id": 7, "day": datetime.date(2026, 1, 4)}]
        >>> table.overwrite(rows, partitions="dynamic").metrics["numRemovedFiles"]
        0
        >>> table.overwrite(rows).version
        4
        >>> table.snapshot().num_files
        1
        """
        if partitions not in ("static", "dynamic") or (
            where is not None and partitions != "static"
        ):
            message = f"partitions is {partitions!r}: 'static', or 'dynamic' without a filter"
            raise InvalidArgumentError(message, code="rows.partitions")
        options = _options(schema_mode, txn, user_metadata, target_file_size, durable, timeout)
        dynamic = partitions == "dynamic"
        return _written(self._native.overwrite(self._rows(data), where, dynamic, options))

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

        Files of which every row goes, by their partition values and statistics or by a look at
        them, are removed whole. Of the others, rows are marked by deletion vectors where
        ``delta.enableDeletionVectors`` is true; otherwise the rows that stay are copied, with
        their row ids. A change data feed is told what deletion vectors do not tell.

        Args:
            where: Which rows, as SQL text or as tuples; all without it.
            txn: As in ``append``.
            user_metadata: As in ``append``.
            target_file_size: As in ``append``, for files that are written anew.
            durable: As in ``append``.
            timeout: As in ``append``.

        Returns:
            The version, None where no row satisfies the filter; ``numDeletedRows``,
            ``numCopiedRows``, ``numRemovedFiles``, ``numAddedFiles``, ``numDeletionVectorsAdded``
            and more, by delta-spark's names.

        Raises:
            InvalidArgumentError: The filter does not fit the table; the table is append-only.
            CommitConflictError: Another writer changed the files that were read.

        Source: Delta protocol, "Deletion Vectors", "Row Tracking", "Add CDC File".

        >>> table.delete("day = '2026-01-02'").metrics["numRemovedFiles"]
        1
        >>> table.delete("day = '2026-01-02'").version is None
        True
        """
        options = _options(None, txn, user_metadata, target_file_size, durable, timeout)
        return _written(self._native.delete(where, options))

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
        """Give columns of the rows that satisfy a filter, or of all, other values.

        Rows keep their ids where the table tracks them; generated columns follow; the rules of the
        table hold. A change data feed gets the images before and after.

        Args:
            where: Which rows, as SQL text or as tuples; None means all.
            set: Columns and their values. A text is an SQL expression over the columns of the row,
                such as ``"v + 1"`` or ``"'a text'"``; anything else is a value. ``"s.a"`` is a
                field of the struct ``s``; its other fields stay, and a null struct becomes one.
            txn: As in ``append``.
            user_metadata: As in ``append``.
            target_file_size: As in ``append``, for files that are written anew.
            durable: As in ``append``.
            timeout: As in ``append``.

        Returns:
            The version, None where no row satisfies the filter; ``numUpdatedRows``,
            ``numCopiedRows``, ``numRemovedFiles``, ``numAddedFiles`` and more, by delta-spark's
            names.

        Raises:
            InvalidArgumentError: The filter, a column or an expression does not fit the table; a
                row would break a rule of the table.
            CommitConflictError: Another writer changed the files that were read.

        Source: Delta protocol, "Deletion Vectors", "Row Tracking", "Add CDC File".

        >>> empty.append([{"id": 1}, {"id": 2}]).version
        1
        >>> empty.update("id = 2", {"id": "id * 10", "day": None}).metrics["numUpdatedRows"]
        1
        """
        options = _options(None, txn, user_metadata, target_file_size, durable, timeout)
        return _written(self._native.update_rows(where, assignments(set), options))

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
    ) -> Merge:
        """Merge rows into the table: begins a merge, which ``execute`` carries out.

        The source is held in memory; the files of the table that may have rows with its keys are
        read once.

        Args:
            source: As ``append`` takes it.
            on: Which rows belong together: the name of a column that both sides have, or several;
                names in the table by their names in the source; or any SQL condition, such as
                ``"target.id = source.id"``. Equalities between the sides, by ``=`` or ``<=>``, make
                it fast; without one, every row is compared with every other.
            source_alias: How expressions call the source.
            target_alias: How expressions call the table.
            schema_mode: ``"merge"`` adds columns, and fields of structs, that only the source has:
                all of them where a clause speaks of all columns, else those that one sets. Clauses
                for all columns then leave alone what the source lacks.
            txn: As in ``append``.
            user_metadata: As in ``append``.
            target_file_size: As in ``append``, for files that are written anew.
            durable: As in ``append``.
            timeout: As in ``append``.

        Returns:
            The merge, to which clauses are added.

        Source: ``MERGE INTO`` of delta-spark.

        >>> merge = empty.merge([{"id": 7}], "id").when_not_matched_insert_all()
        >>> merge.execute().version
        1
        """
        condition = _condition(on, source_alias, target_alias)
        options = _options(schema_mode, txn, user_metadata, target_file_size, durable, timeout)
        names = (condition, source_alias, target_alias)

        def run(clauses: Sequence[Any]) -> Written:
            return _written(self._native.merge(self._rows(source), names, clauses, options))

        return Merge._of(run)

    def _rows(self, data: Rows) -> ArrowStream:
        """The rows as an Arrow stream."""
        return arrow_stream(data, lambda: self.snapshot().schema)


def _condition(
    on: str | Sequence[str] | Mapping[str, str], source_alias: str, target_alias: str
) -> str:
    """What `on` means, as SQL."""
    if isinstance(on, str) and not on.replace("_", "a").isalnum():
        return on
    pairs = on if isinstance(on, Mapping) else {name: name for name in names("on", on)}
    sides = (
        f"{_quoted(target_alias)}.{_quoted(theirs)} = {_quoted(source_alias)}.{_quoted(name)}"
        for name, theirs in pairs.items()
    )
    return " AND ".join(sides)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _options(
    schema_mode: str | None,
    txn: tuple[str, int] | None,
    user_metadata: str | None,
    target_file_size: int | None,
    durable: bool,
    timeout: float,
) -> dict[str, Any]:
    return {
        "schema_mode": schema_mode,
        "txn": txn,
        "user_metadata": user_metadata,
        "target_file_size": target_file_size,
        "durable": durable,
        "timeout": timeout,
    }


def _written(outcome: tuple[int | None, dict[str, str], str | None]) -> Written:
    version, metrics, afterwards = outcome
    if afterwards is not None:
        message = f"version {version} is committed, but what follows it failed: {afterwards}"
        warn(message)
    return Written(version, {name: int(value) for name, value in metrics.items()})
