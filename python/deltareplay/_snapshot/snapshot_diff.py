"""``SnapshotDiff``: the differences between two versions of a table."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from deltareplay._names import escaped
from deltareplay._support import units
from deltareplay._support.display import NotebookCard
from deltareplay._support.readers import to_table

if TYPE_CHECKING:
    from deltareplay._native import Snapshot as NativeSnapshot


class SnapshotDiff(NotebookCard):
    """The differences between two versions, from ``Snapshot.diff``; ``str`` shows them all.

    The two states are compared, not the commits between them: a file that was added and removed in
    between is in neither of them.

    >>> print(rows.snapshot(version=0).diff(rows.snapshot(version=1)))
    versions 0 to 1: 1 to 1 files, 3 to 2 rows
    vector part-0.parquet: 3 to 2 rows
    """

    __slots__ = ("_definition", "_files", "_totals", "_versions")

    _versions: tuple[int, int]
    _files: pa.Table
    _definition: list[tuple[str, str, str | None, str | None]]
    _totals: list[tuple[int, int | None, int]]

    def __init__(self) -> None:
        raise TypeError("create a diff with Snapshot.diff()")

    @classmethod
    def from_native(cls, before: NativeSnapshot, after: NativeSnapshot) -> SnapshotDiff:
        """Internal: wrap an object of the core."""
        self = cls.__new__(cls)
        files, definition, totals = before.diff(after)
        self._versions = before.version, after.version
        self._files = to_table(files)
        self._definition = definition
        self._totals = totals
        return self

    @property
    def versions(self) -> tuple[int, int]:
        """The two versions: of the snapshot, and of the argument of ``diff``.

        >>> rows.snapshot(version=0).diff(rows.snapshot(version=1)).versions
        (0, 1)
        """
        return self._versions

    @property
    def files(self) -> pa.Table:
        """The files that differ, sorted by path.

        Returns:
            ``change`` (string: ``added``, ``removed``, or ``vector`` for the same file with another
            deletion vector), ``path`` (string, as in the log), ``size`` (int64, bytes),
            ``rows_before``, ``rows_after`` (int64, live rows; null if the file does not exist, or
            has no row count), ``deleted_before``, ``deleted_after`` (int64, rows that the deletion
            vector deletes; null if the file does not exist).

        >>> rows.snapshot(version=0).diff(rows.snapshot(version=1)).files["change"].to_pylist()
        ['vector']
        """
        return self._files

    @property
    def definition(self) -> pa.Table:
        """The differences in columns, protocol, features, properties, domains and metadata.

        Returns:
            ``what`` (string: ``column``, ``partition columns``, ``protocol``, ``reader feature``,
            ``writer feature``, ``property``, ``domain`` or ``metadata``), ``name`` (string; of a
            column its path, with backticks around names that need them in SQL; empty for the
            partition columns), ``before``, ``after`` (string; null if it does not exist).

        >>> rows.snapshot(version=0).diff(rows.snapshot(version=1)).definition.num_rows
        0
        """
        names = ["what", "name", "before", "after"]
        rows = [dict(zip(names, row, strict=True)) for row in self._definition]
        return pa.Table.from_pylist(rows, pa.schema([(name, pa.string()) for name in names]))

    @property
    def num_files(self) -> tuple[int, int]:
        """The numbers of live files of both versions.

        >>> rows.snapshot(version=0).diff(rows.snapshot(version=1)).num_files
        (1, 1)
        """
        before, after = self._totals
        return before[0], after[0]

    @property
    def num_rows(self) -> tuple[int | None, int | None]:
        """The numbers of rows of both versions; None if not in the log.

        >>> rows.snapshot(version=0).diff(rows.snapshot(version=1)).num_rows
        (3, 2)
        """
        before, after = self._totals
        return before[1], after[1]

    @property
    def size_in_bytes(self) -> tuple[int, int]:
        """The total sizes of the live files of both versions.

        >>> before, after = rows.snapshot(version=0).diff(rows.snapshot(version=1)).size_in_bytes
        >>> before == after > 0
        True
        """
        before, after = self._totals
        return before[2], after[2]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the files that differ as an Arrow C stream."""
        stream: object = cast("Any", self._files).__arrow_c_stream__(requested_schema)
        return stream

    def __str__(self) -> str:
        files, rows = self.num_files, self.num_rows
        counts = [f"{files[0]} to {files[1]} files"]
        if None not in rows:
            counts.append(f"{rows[0]} to {rows[1]} rows")
        if self.size_in_bytes[0] != self.size_in_bytes[1]:
            counts.append(f"{self.size_in_bytes[0]} to {self.size_in_bytes[1]} bytes")
        lines = [f"versions {self._versions[0]} to {self._versions[1]}: {', '.join(counts)}"]
        for kind, name, before, after in self._definition:
            label = f"{kind} {name}".rstrip()
            if before is None:
                lines.append(f"{label} added: {after}")
            elif after is None:
                lines.append(f"{label} removed: {before}")
            else:
                lines.append(f"{label}: {before} to {after}")
        for file in self._files.to_pylist():
            parts = {
                "added": f"{_count(file['rows_after'])} rows, {file['size']} bytes",
                "removed": f"{_count(file['rows_before'])} rows, {file['size']} bytes",
                "vector": f"{_count(file['rows_before'])} to {_count(file['rows_after'])} rows",
            }
            lines.append(f"{file['change']} {file['path']}: {parts[file['change']]}")
        return "\n".join(map(escaped, lines))

    def __repr__(self) -> str:
        kinds = Counter(self._files["change"].to_pylist())
        changed = (
            f"{units.plural(kinds['added'], 'file')} added, {units.count(kinds['removed'])} "
            f"removed, {units.count(kinds['vector'])} with another deletion vector"
        )
        defined = (
            f", {units.plural(len(self._definition), 'change')} of the definition"
            if self._definition
            else ""
        )
        first, last = self._versions
        return f"<SnapshotDiff of versions {first} and {last}: {changed}{defined}>"


def _count(rows: int | None) -> str:
    return "?" if rows is None else str(rows)
