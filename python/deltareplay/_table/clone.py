"""``Table.clone`` and ``Table.generate``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

from deltareplay import _native
from deltareplay._snapshot.table_location import TableLocation
from deltareplay._support.arguments import checked_methods
from deltareplay._table.renamed import renamed
from deltareplay.exceptions import InvalidArgumentError

#: The class of the table that is cloned, and so of its clone.
Cloned = TypeVar("Cloned", bound=TableLocation)

#: The only mode of ``generate``.
SYMLINKS = "symlink_format_manifest"


@checked_methods
class Cloning(TableLocation):
    """Methods of ``Table`` that write clones and manifests."""

    __slots__ = ()

    @renamed(replace="or_replace")
    def clone(
        self: Cloned,
        target: str | os.PathLike[str],
        *,
        version: int | None = None,
        timestamp: datetime | str | None = None,
        shallow: bool = True,
        or_replace: bool = False,
        properties: Mapping[str, str] | None = None,
        storage_options: Mapping[str, str] | None = None,
        durable: bool = True,
    ) -> Cloned:
        """Create a table with the rows, columns and properties of a version of this one.

        A shallow clone, as ``SHALLOW CLONE`` makes it, copies no data: its log points to the files
        of this table by absolute URIs. New files of the clone lie in its own directory. A vacuum of
        this table may delete files that the clone still needs. A deep clone has copies of all
        files.

        The clone has a history, an id and row ids of its own. Clustering columns are cloned; other
        domain metadata and the progress of applications (``txn``) are not.

        Args:
            target: The location of the clone, as for ``Table``. Neither table may be inside the
                other.
            version: The version to clone; by default the latest.
            timestamp: The version that was current at this time, instead of a number.
            shallow: Whether the clone shares the files of this table.
            or_replace: Whether to replace an existing table, in one commit that keeps its history.
                A deep clone copies only files that the target does not have, so repeating it brings
                the target up to date.
            properties: Table properties of the clone, besides those of this table.
            storage_options: Options for the target; by default those of this table.
            durable: Whether a local commit is synced to disk before the call returns.

        Returns:
            The clone. After a shallow clone, its ``allowed_roots`` name this table (and the roots
            that this table may point to): without them, files outside of a table are not opened.

        Raises:
            InvalidArgumentError: The target exists (``table.exists``); one table is inside the
                other (``clone.target``); both ``version`` and ``timestamp`` are passed
                (``argument.version_and_timestamp``); a property is invalid (as in
                ``Table.set_properties``); or the target has ``delta.appendOnly`` and rows
                (``transaction.append_only``).
            VersionNotFoundError: There is no such version (``version.not_found``,
                ``version.timestamp``).
            CorruptTableError: A file to copy has a different size than in the log (``clone.size``),
                or a path in the log is invalid.
            UnsupportedFeatureError: A shallow clone on another store (``clone.store``); or the
                table has a feature that this release cannot write (``protocol.writer_features``).
            CommitConflictError: Another writer created or changed the target.
            CommitStateUnknownError: It is unknown whether the storage took the commit
                (``commit.unknown``).
            StorageError: The storage failed otherwise; nothing was committed.

        >>> clone = rows.clone(rows.uri + "-clone")
        >>> clone.snapshot().scan().to_arrow().equals(rows.snapshot().scan().to_arrow())
        True
        >>> rows.clone(rows.uri + "-copy", shallow=False).snapshot().version
        0
        """
        snapshot = self._native.snapshot(version, timestamp)
        target_table = target_of(self, target, shallow, storage_options)
        cloning = _native.Cloning(
            self._native,
            snapshot,
            target_table.native,
            shallow,
            or_replace,
            dict(properties or {}),
        )
        cloning.copy()
        cloning.commit(durable)
        return target_table

    def generate(self, mode: str = SYMLINKS) -> int:
        """Write manifests of the latest version, for engines that read Parquet, not the log.

        For each partition, ``_symlink_format_manifest/<partition>/manifest`` has a line with the
        path of each data file, as ``GENERATE symlink_format_manifest`` writes it. Manifests of
        partitions that are gone are deleted. Readers may see some new and some old manifests while
        they are written.

        Args:
            mode: ``symlink_format_manifest``, the only mode; in upper or lower case.

        Returns:
            The number of manifests written.

        Raises:
            InvalidArgumentError: The mode is unknown (``generate.mode``).
            UnsupportedFeatureError: Readers of Parquet would read wrong rows: a file has a deletion
                vector (``generate.deletion_vectors``), the table has column mapping
                (``generate.column_mapping``), or a path has a control character, such as a line
                break (``generate.path``).
            StorageError: The storage failed; some manifests may be written or deleted already.

        >>> table.generate()
        2
        """
        if mode.lower() != SYMLINKS:
            raise InvalidArgumentError(
                f"mode is {mode!r}: the only mode is {SYMLINKS!r}", code="generate.mode"
            )
        return _native.generate_symlinks(self._native)


def target_of(
    source: Cloned,
    target: str | os.PathLike[str],
    shallow: bool,
    storage_options: Mapping[str, str] | None,
) -> Cloned:
    """Return the table at the target of a clone, by default with the source's storage options.

    A shallow clone may point to the source's files.
    """
    options = source.storage_options if storage_options is None else storage_options
    roots = [source.uri, *(source.allowed_roots or ())] if shallow else None
    return type(source)(target, options, roots)
