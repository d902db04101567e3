"""``Changes``: the changed rows of a table between two versions."""

from __future__ import annotations

from operator import methodcaller
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay._arrow.frames import Frames
from deltareplay._changes.change_split import ChangeSplit
from deltareplay._snapshot.scan import TARGET_SIZE
from deltareplay._support.arguments import checked_methods
from deltareplay._support.display import NotebookCard
from deltareplay._support.readers import reader, to_schema

if TYPE_CHECKING:
    from deltareplay._native import Changes as NativeChanges
    from deltareplay._native import ChangeShuffle
    from deltareplay._snapshot.table_location import TableLocation


@checked_methods
class Changes(Frames, NotebookCard):
    """Changed rows of a range of versions, from ``Table.changes``; read on demand.

    The columns are those of the table at the end of the range, with their names and types at that
    version. After them come ``_change_type`` (string: ``insert``, ``update_preimage``,
    ``update_postimage`` or ``delete``), ``_commit_version`` (int64) and ``_commit_timestamp``
    (timestamp in microseconds, UTC).

    Full changes come in the order of the commits. Within a commit, the rows of change data files
    come as in the files; otherwise removed rows come before added rows, in each part if rows are
    compared in parts. Net changes have no order.

    >>> changes = rows.changes(0)
    >>> changes.to_arrow().select(["id", "_change_type", "_commit_version"]).to_pylist()[3]
    {'id': 2, '_change_type': 'delete', '_commit_version': 1}
    """

    __slots__ = ("_arguments", "_native", "_table")

    _native: NativeChanges
    _table: TableLocation
    _arguments: dict[str, Any]

    def __init__(self) -> None:
        raise TypeError("create changes with Table.changes()")

    @classmethod
    def from_native(
        cls, table: TableLocation, native: NativeChanges, arguments: dict[str, Any]
    ) -> Changes:
        """Internal: wrap an object of the core."""
        self = cls.__new__(cls)
        self._table = table
        self._native = native
        self._arguments = arguments
        return self

    @property
    def table(self) -> TableLocation:
        """Internal: the table."""
        return self._table

    @property
    def kind(self) -> str:
        """Internal: the kind of the changes."""
        return str(self._arguments["kind"])

    @property
    def versions(self) -> tuple[int, int] | None:
        """The first and the last version of the range; None if it has no commit.

        >>> rows.changes(0).versions
        (0, 1)
        """
        return self._native.versions

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows.

        >>> rows.changes(0, columns=["id"]).schema.names
        ['id', '_change_type', '_commit_version', '_commit_timestamp']
        """
        return to_schema(self._native.schema)

    def to_arrow(self) -> pa.Table:
        """Read all changed rows.

        Raises:
            UnsupportedFeatureError: A version needs features that this release lacks
                (``protocol.reader_features``, ``protocol.reader_version``); or, with
                ``require_feed``, the feed was off at it (``changes.feed_disabled``).
            InvalidArgumentError: A column has types in the range that cannot be converted
                (``changes.schema``); nothing identifies the rows, and the kind needs that
                (``changes.identity``); or several rows have the same key (``changes.key``).
            CorruptTableError: A file is missing or damaged.
            StorageError: The storage failed.

        >>> rows.changes(0, columns=["id"]).to_arrow()["id"].to_pylist()
        [1, 2, 3, 2]
        >>> rows.changes(0, kind="min-delta", columns=["id"]).to_arrow()["id"].to_pylist()
        [1, 3]
        """
        return self.to_batches().read_all()

    def to_batches(self) -> pa.RecordBatchReader:
        """Stream the changed rows, with bounded memory.

        Commits and files are read on demand. To compare rows, hashes of the removed rows are kept
        in memory, for net changes those of all changed rows (about 100 bytes per row, 32 for each
        run of row ids). More than ``most_rows`` rows are compared in parts, each of which reads
        the hashes again.

        Raises:
            DeltaReplayError: As ``to_arrow``; also raised while reading.

        >>> sum(batch.num_rows for batch in rows.changes(0).to_batches())
        4
        """
        return reader(self._native.rows())

    def explain(self) -> pa.Table:
        """Show how the changes of each commit are computed, and why; reads no rows.

        For net changes of rows with ids, the reason says whether comparing the two ends of the
        range is enough, and if not, why rows are followed through its commits.

        Returns:
            One row for each commit: ``version`` (int64), ``way`` (string: ``nothing``, ``change
            data files``, ``files``, ``deletion vectors``, ``row tracking``, ``key`` or ``rows``),
            ``reason`` (string), ``files`` and ``bytes`` (int64: at most this much is read for it).

        Raises:
            InvalidArgumentError: Nothing identifies the rows, and the kind needs that
                (``changes.identity``).
            UnsupportedFeatureError: As ``to_arrow``.
            CorruptTableError: A commit does not decode.

        >>> rows.changes(0).explain().select(["version", "way"]).to_pylist()
        [{'version': 0, 'way': 'files'}, {'version': 1, 'way': 'deletion vectors'}]
        """
        names = ["version", "way", "reason", "files", "bytes"]
        explanation = self._native.explain()
        columns = [
            pa.array([row[0] for row in explanation], pa.int64()),
            pa.array([row[1] for row in explanation], pa.string()),
            pa.array([row[2] for row in explanation], pa.string()),
            pa.array([row[3] for row in explanation], pa.int64()),
            pa.array([row[4] for row in explanation], pa.int64()),
        ]
        return pa.table(columns, names=names)

    def shuffle(self) -> ChangeShuffle | None:
        """Internal: return the steps of net changes, for a shuffle; None for full changes."""
        return self._native.shuffle()

    def splits(self, target_size: int = TARGET_SIZE) -> list[ChangeSplit]:
        """Divide the changes into splits that other processes read without the log.

        Args:
            target_size: Approximate bytes of files per split. A split of full changes has files, or
                commits whose rows must be compared. If a commit is larger, or for net changes, each
                split has a share of the rows and reads the hashes of all of them. A commit, or the
                net changes, have at most 64 shares.

        Returns:
            Picklable splits; their rows together are the rows of the changes.

        Raises:
            InvalidArgumentError: The size is less than 1 (``split.size``); or as ``explain``.
            UnsupportedFeatureError: As ``to_arrow``.

        >>> [split.to_arrow().num_rows for split in rows.changes(0).splits()]
        [4]
        """
        splits = self._native.splits(target_size)
        return [ChangeSplit.from_native(self._table, split) for split in splits]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as an Arrow C stream, which is read without Python."""
        return self._native.rows().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """Return the schema of ``__arrow_c_stream__``."""
        return self._native.schema.__arrow_c_schema__()

    def __reduce__(self) -> tuple[Any, ...]:
        # the same range after unpickling, whatever the latest version is by then
        if self.versions is None:
            return _without_rows, (self._table, self._native.end_version, self._arguments)
        first, last = self.versions
        arguments = {**self._arguments, "start": first, "end": last}
        return methodcaller("changes", **arguments), (self._table,)

    def __repr__(self) -> str:
        if self.versions is None:
            return f"<Changes of {self._table!r}: no version>"
        first, last = self.versions
        return f"<Changes of {self._table!r}: versions {first} to {last}, {self.kind}>"


def _without_rows(table: TableLocation, version: int, arguments: dict[str, Any]) -> Changes:
    """Return the changes after a version, as if it were the latest."""
    arguments = {**arguments, "start": version + 1, "end": None, "allow_out_of_range": True}
    native = table.native.changes(**arguments, newest=version)
    return Changes.from_native(table, native, arguments)
