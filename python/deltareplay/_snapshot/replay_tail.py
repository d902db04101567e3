"""``ReplayTail``: the state that is needed to read the pieces of a replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay import _native
from deltareplay._support.readers import to_schema
from deltareplay._support.units import plural

if TYPE_CHECKING:
    from deltareplay._native import ReplayTail as NativeReplayTail
    from deltareplay._snapshot.table_location import TableLocation


class ReplayTail:
    """Table, columns and filter of a plan, and keys of files that newer commits add or remove.

    Rows of the checkpoint with one of these keys are outdated, so pieces omit them. A key has 16
    bytes; with ``keyed`` there are none. The tail pickles, with the storage options of its table:
    send it once to each process that reads pieces.

    >>> import pickle
    >>> tail = table.snapshot().replay_plan(columns=["path"]).tail
    >>> pickle.loads(pickle.dumps(tail)).num_hidden
    3
    """

    __slots__ = ("_native", "_table")

    _native: NativeReplayTail
    _table: TableLocation

    def __init__(self) -> None:
        raise TypeError("create a tail with Snapshot.replay_plan()")

    @classmethod
    def from_native(cls, table: TableLocation, native: NativeReplayTail) -> ReplayTail:
        """Internal: wrap an object of the core."""
        self = cls.__new__(cls)
        self._table = table
        self._native = native
        return self

    @property
    def table(self) -> TableLocation:
        """Internal: the table."""
        return self._table

    @property
    def native(self) -> NativeReplayTail:
        """Internal: the tail of the core."""
        return self._native

    @property
    def version(self) -> int:
        """The version of the snapshot.

        >>> table.snapshot().replay_plan().tail.version
        2
        """
        return self._native.version

    @property
    def num_hidden(self) -> int:
        """The number of files that newer commits add or remove; 0 with ``keyed``.

        >>> table.snapshot().replay_plan().tail.num_hidden
        3
        """
        return self._native.num_hidden

    @property
    def schema(self) -> pa.Schema:
        """The schema of a piece's rows.

        It has the columns of the plan. With ``keyed``: ``key`` (binary, the same for all rows about
        a file), ``version`` (int64; the first version of the piece, -1 for a checkpoint) and
        ``file`` (a struct of the columns; null if the file was removed or the filter excludes it).
        For each key, the row with the greatest version is valid.

        >>> table.snapshot().replay_plan(columns=["path"]).tail.schema.names
        ['path']
        >>> table.snapshot().replay_plan(columns=["path"], keyed=True).tail.schema.names
        ['key', 'version', 'file']
        """
        return to_schema(self._native.schema())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._table, self._native.to_json(), self._native.hidden_bytes())

    def __repr__(self) -> str:
        num_keys = plural(self.num_hidden, "key")
        return f"<ReplayTail of {self._table!r}, version {self.version}: {num_keys}>"


def _restored(table: TableLocation, json: str, hidden: bytes) -> ReplayTail:
    return ReplayTail.from_native(table, _native.ReplayTail(json, hidden))
