"""``Restored``: what ``Table.restore`` did."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Restored:
    """A version that holds what an older one held.

    Attributes:
        version: The new version.
        restored_version: The older one.
        num_restored_files: Files that are live again.
        num_removed_files: Files that are live no more.
        restored_files_size: Their bytes.
        removed_files_size: Their bytes.
        missing_files: Files that would be live again, and are not there any more.

    >>> table.restore(0).num_removed_files
    2
    """

    version: int
    restored_version: int
    num_restored_files: int
    num_removed_files: int
    restored_files_size: int
    removed_files_size: int
    missing_files: tuple[str, ...]
