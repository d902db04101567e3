"""``Split``: a part of a scan that any process can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltareplay import _native
from deltareplay._snapshot.table_split import TableSplit

if TYPE_CHECKING:
    from deltareplay._native import Split as NativeSplit
    from deltareplay._snapshot.skipped_file import SkippedFile
    from deltareplay._snapshot.table_location import TableLocation


class Split(TableSplit):
    """Files of a scan, or row groups of one file, from ``Scan.splits``.

    A split is self-contained when pickled: paths, partition values, descriptors of deletion
    vectors, the schema, and the storage options of its table. Reading it does not open the log.

    >>> import pickle
    >>> sent = [pickle.dumps(split) for split in rows.snapshot().scan(columns=["id"]).splits()]
    >>> pickle.loads(sent[0]).to_arrow().to_pylist()
    [{'id': 1}, {'id': 3}]
    """

    __slots__ = ()

    _native: NativeSplit

    @property
    def native(self) -> NativeSplit:
        """Internal: the split of the core."""
        return self._native

    @property
    def skipped(self) -> list[SkippedFile]:
        """The files that were skipped so far, with ``on_error="skip"``.

        >>> rows.snapshot().scan().splits()[0].skipped
        []
        """
        from deltareplay._snapshot.skipped_file import SkippedFile

        return [SkippedFile(*facts) for facts in self._native.skipped()]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._table, self._native.to_json())


def _restored(table: TableLocation, json: str) -> Split:
    return Split.from_native(table, _native.Split(json))
