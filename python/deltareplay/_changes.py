"""``Changes``: what happened to the rows of a table between two versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay._arguments import checked_methods
from deltareplay._change_split import ChangeSplit
from deltareplay._readers import reader, to_schema
from deltareplay._scan import TARGET_SIZE

if TYPE_CHECKING:
    from deltareplay._native import Changes as NativeChanges
    from deltareplay._table import Table


@checked_methods
class Changes:
    """What happened to rows, made by ``Table.changes``; the rows are read when they are asked for.

    The columns are those of the table at the end of the range, whatever they were called and how
    wide they were before, and behind them ``_change_type`` (string: ``insert``,
    ``update_preimage``, ``update_postimage`` or ``delete``), ``_commit_version`` (int64) and
    ``_commit_timestamp`` (timestamp in microseconds, UTC).

    Full changes come in the order of the commits; in a commit, rows that left come before rows that
    came. Net changes have no order.

    >>> changes = rows.changes(0)
    >>> changes.to_arrow().select(["id", "_change_type", "_commit_version"]).to_pylist()[3]
    {'id': 2, '_change_type': 'delete', '_commit_version': 1}
    """

    __slots__ = ("_arguments", "_native", "_table")

    _native: NativeChanges
    _table: Table
    _arguments: dict[str, Any]

    def __init__(self) -> None:
        raise TypeError("changes are made by Table.changes()")

    @classmethod
    def _made(cls, table: Table, native: NativeChanges, arguments: dict[str, Any]) -> Changes:
        self = cls.__new__(cls)
        self._table = table
        self._native = native
        self._arguments = arguments
        return self

    @property
    def versions(self) -> tuple[int, int] | None:
        """The first and the last version of the range; None where no commit lies in it.

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
            UnsupportedFeatureError: A version needs features that this release lacks; or the feed
                was off at it, where ``require_feed`` was asked for.
            InvalidArgumentError: The types of a column cannot be bridged over the range.
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

        Commits and files are read as the stream is pulled. Where rows must be compared, those that
        left are held as numbers (about 64 bytes a row, 100 for net changes, 32 for each run of row
        ids); where they are more than four million, they are compared in parts, each of which
        reads the numbers again.

        Raises:
            UnsupportedFeatureError: As in ``to_arrow``; raised while reading, too, as all of these.
            InvalidArgumentError: As in ``to_arrow``.
            CorruptTableError: A file is missing or damaged.
            StorageError: The storage failed.

        >>> sum(batch.num_rows for batch in rows.changes(0).to_batches())
        4
        """
        return reader(self._native.rows())

    def explain(self) -> pa.Table:
        """Tell how the rows of each commit are known, and why; reads no rows.

        For net changes of rows that have ids, the reason tells whether the two ends of the range
        are enough, and if not, why rows are followed through its commits.

        Returns:
            One row a commit: ``version`` (int64), ``way`` (string: ``nothing``, ``change data
            files``, ``files``, ``deletion vectors``, ``row tracking``, ``key`` or ``rows``),
            ``reason`` (string), ``files`` and ``bytes`` (int64: what is read for it at most).

        Raises:
            InvalidArgumentError: Nothing says which row is which, and the kind needs to know.
            CorruptTableError: A commit does not decode.

        >>> rows.changes(0).explain().select(["version", "way"]).to_pylist()
        [{'version': 0, 'way': 'files'}, {'version': 1, 'way': 'deletion vectors'}]
        """
        names = ["version", "way", "reason", "files", "bytes"]
        found = self._native.explain()
        columns = [
            pa.array([row[0] for row in found], pa.int64()),
            pa.array([row[1] for row in found], pa.string()),
            pa.array([row[2] for row in found], pa.string()),
            pa.array([row[3] for row in found], pa.int64()),
            pa.array([row[4] for row in found], pa.int64()),
        ]
        return pa.table(columns, names=names)

    def splits(self, target_size: int = TARGET_SIZE) -> list[ChangeSplit]:
        """Cut the changes into parts that other processes read without the log.

        Args:
            target_size: Bytes of files in a part, about. Of full changes a part has some files, or
                some commits whose rows must be compared. Of one commit that is larger, and of net
                changes, each part has a share of the rows, and reads the numbers of all of them;
                64 shares at most of the commit, or of the net changes.

        Returns:
            Splits that pickle; their rows together are the rows of the changes.

        Raises:
            InvalidArgumentError: The size is not at least 1, or as in ``explain``.

        >>> [split.to_arrow().num_rows for split in rows.changes(0).splits()]
        [4]
        """
        splits = self._native.splits(target_size)
        return [ChangeSplit._made(self._table, split) for split in splits]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as an Arrow C stream; the consumer pulls it without Python."""
        return self._native.rows().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema of ``__arrow_c_stream__``."""
        return self._native.schema.__arrow_c_schema__()

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = self._arguments
        if self.versions is not None:
            # the same range on the other side, whatever is the latest version there
            first, last = self.versions
            arguments = {**arguments, "start": first, "end": last}
        return _made_again, (self._table, arguments)

    def __repr__(self) -> str:
        if self.versions is None:
            return f"<Changes of {self._table!r}: no version>"
        first, last = self.versions
        return f"<Changes of {self._table!r}: versions {first} to {last}>"


def _made_again(table: Table, arguments: dict[str, Any]) -> Changes:
    return table.changes(**arguments)
