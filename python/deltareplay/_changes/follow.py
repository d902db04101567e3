"""``Follow``: a table as a stream of small batches."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from deltareplay._changes.change_split import ChangeSplit
from deltareplay._changes.micro_batch import MicroBatch
from deltareplay._names import escaped
from deltareplay._support.readers import to_schema
from deltareplay._support.uris import without_secrets
from deltareplay._support.warnings import warn

if TYPE_CHECKING:
    from deltareplay._native import Follow as NativeFollow
    from deltareplay._snapshot.table_location import TableLocation


class Follow(Iterator[MicroBatch]):
    """The rows of a table as they are committed: an iterator of ``MicroBatch``.

    ``Table.follow`` creates it. Each step waits until there are rows. With ``available_now`` it
    ends at the version that was the latest when the stream began.

    >>> [batch.data.num_rows for batch in rows.follow(available_now=True)]
    [2]
    """

    __slots__ = ("_native", "_poll_interval", "_table")

    _native: NativeFollow
    _table: TableLocation
    _poll_interval: float

    def __init__(self) -> None:
        raise TypeError("create a stream with Table.follow()")

    @classmethod
    def from_native(
        cls, table: TableLocation, native: NativeFollow, poll_interval: float
    ) -> Follow:
        """Internal: wrap an object of the core."""
        self = cls.__new__(cls)
        self._table = table
        self._native = native
        self._poll_interval = poll_interval
        return self

    @property
    def schema(self) -> pa.Schema:
        """The schema of the rows of every batch: that of the table when the stream began.

        >>> rows.follow(columns=["id"]).schema
        id: int64
        """
        return to_schema(self._native.schema)

    @property
    def offset(self) -> str:
        """The position of the stream: JSON in the format of delta-spark's streaming source.

        Commits without rows move it, too.

        >>> import json
        >>> json.loads(rows.follow(starting_version=1).offset)["reservoirVersion"]
        1
        """
        return self._native.offset()

    def __iter__(self) -> Follow:
        """Return the stream itself."""
        return self

    def __next__(self) -> MicroBatch:
        """Wait for the next rows, and return them.

        Raises:
            StopIteration: With ``available_now``, when everything has been returned.
            UnsupportedFeatureError: A commit changed (``follow.changes``) or deleted rows
                (``follow.deletes``), and the options do not allow that; with ``require_feed``, the
                feed was off (``changes.feed_disabled``); or the table needs features that this
                release lacks (``protocol.reader_features``, ``protocol.reader_version``).
            InvalidArgumentError: The table's columns changed (``follow.schema``), or the table was
                replaced (``follow.offset``): start again; the message names the version.
            VersionNotFoundError: The next commits are no longer in the log (``version.not_found``,
                ``version.range``).
            CorruptTableError: A commit does not decode.
            StorageError: The storage failed.
        """
        while True:
            batch = self._native.next_batch()
            for first, last in self._native.take_missing():
                warn(
                    f"versions {first} to {last} are no longer in the log of "
                    f"{without_secrets(self._table.uri)}: the stream skipped them, and "
                    "lacks their rows"
                )
            if batch is not None:
                split, offset = batch
                return MicroBatch.from_native(ChangeSplit.from_native(self._table, split), offset)
            if self._native.is_done():
                raise StopIteration
            time.sleep(self._poll_interval)

    def __repr__(self) -> str:
        return f"<Follow of {self._table!r}: {escaped(self.offset)}>"
