"""``ChangeSplit``: a part of the changes that any process can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltareplay import _native
from deltareplay._snapshot.table_split import TableSplit

if TYPE_CHECKING:
    from deltareplay._native import ChangeSplit as NativeSplit
    from deltareplay._snapshot.table_location import TableLocation

#: Path, bytes, partition values, type of the changes (None if the file has it), version and time
#: (milliseconds since the epoch) of a file all of whose rows are changes.
WholeFile = tuple[str, int, list[tuple[str, str | None]], str | None, int, int]


class ChangeSplit(TableSplit):
    """A part of the changes of a range, from ``Changes.splits``.

    A split is self-contained when pickled; reading it does not open the log.

    >>> import pickle
    >>> sent = [pickle.dumps(split) for split in rows.changes(1, columns=["id"]).splits()]
    >>> pickle.loads(sent[0]).to_arrow()["id"].to_pylist()
    [2]
    """

    __slots__ = ()

    _native: NativeSplit

    @classmethod
    def from_json(cls, table: TableLocation, text: str) -> ChangeSplit:
        """Internal: create it from the text of ``to_json``."""
        return cls.from_native(table, _native.ChangeSplit(text))

    def to_json(self) -> str:
        """Internal: return the split as text, without its table."""
        return self._native.to_json()

    def without_whole_files(self) -> tuple[list[WholeFile], ChangeSplit | None]:
        """Internal: separate the files all of whose rows are changes, if the log has their size.

        Returns:
            The facts of each of these files, and a split of the rest, if any.
        """
        files, rest = self._native.without_whole_files()
        return files, None if rest is None else self.from_native(self._table, rest)

    def cut(self, target_size: int) -> list[ChangeSplit]:
        """Internal: divide the split into smaller ones of about this many bytes of files."""
        return [self.from_native(self._table, part) for part in self._native.cut(target_size)]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._table, self.to_json())


def _restored(table: TableLocation, json: str) -> ChangeSplit:
    return ChangeSplit.from_json(table, json)
