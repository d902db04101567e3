"""``Checkpoint``: what ``Table.checkpoint`` wrote."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint of one version.

    Attributes:
        version: The version.
        path: Its file, or the manifest of a V2 checkpoint, relative to the table root.
        num_actions: All of its actions.
        num_files: Those that are live files.
        size_in_bytes: The length of all of its files.
        num_sidecars: The sidecars of a V2 checkpoint.

    >>> table.checkpoint().path
    '_delta_log/00000000000000000002.checkpoint.parquet'
    """

    version: int
    path: str
    num_actions: int
    num_files: int
    size_in_bytes: int
    num_sidecars: int
