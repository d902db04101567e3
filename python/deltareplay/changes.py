"""``Changes``: what happened to the rows of a table between two versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay._readers import reader, to_schema

if TYPE_CHECKING:
    from deltareplay._native import Changes as NativeChanges
    from deltareplay.table import Table


class Changes:
    """What happened to rows, made by ``Table.changes``; the rows are read when they are asked for.

    The columns are those of the table at the end of the range, whatever they were called and how
    wide they were before, and behind them ``_change_type`` (string: ``insert``,
    ``update_preimage``, ``update_postimage`` or ``delete``), ``_commit_version`` (int64) and
    ``_commit_timestamp`` (timestamp in microseconds, UTC).

    Commits come in their order; in a commit, rows that left come before rows that came.

    >>> changes = rows.changes(0)
    >>> changes.to_arrow().select(["id", "_change_type", "_commit_version"]).to_pylist()[0]
    {'id': 1, '_change_type': 'insert', '_commit_version': 0}
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
        (0, 0)
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
        [1, 3]
        """
        return self.to_batches().read_all()

    def to_batches(self) -> pa.RecordBatchReader:
        """Stream the changed rows, with bounded memory: commits and files are read as it is pulled.

        Raises:
            UnsupportedFeatureError: As in ``to_arrow``; raised while reading, too, as all of these.
            InvalidArgumentError: As in ``to_arrow``.
            CorruptTableError: A file is missing or damaged.
            StorageError: The storage failed.

        >>> sum(batch.num_rows for batch in rows.changes(0).to_batches())
        2
        """
        return reader(self._native.rows())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The rows as an Arrow C stream; the consumer pulls it without Python."""
        return self._native.rows().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> object:
        """The schema of ``__arrow_c_stream__``."""
        return self._native.schema.__arrow_c_schema__()

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (self._table, self._arguments)

    def __repr__(self) -> str:
        if self.versions is None:
            return f"<Changes of {self._table!r}: no version>"
        first, last = self.versions
        return f"<Changes of {self._table!r}: versions {first} to {last}>"


def _made_again(table: Table, arguments: dict[str, Any]) -> Changes:
    return table.changes(**arguments)
