"""``RatifiedCommit``: a commit that a catalog has ratified."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class RatifiedCommit:
    """A commit that a catalog has ratified: its file, or its content.

    Attributes:
        version: The version.
        file_name: The base name of its file in ``_delta_log/_staged_commits``, or of the published
            file.
        size: The size of the file in bytes; None looks it up in the storage.
        modification_time: The time of the file in milliseconds since the epoch, UTC; None looks it
            up in the storage.
        content: Its actions as JSON lines, if the catalog stores them.

    >>> RatifiedCommit(7, content=b"{}")
    RatifiedCommit(version=7, file_name=None, size=None, modification_time=None)
    """

    version: int
    file_name: str | None = None
    size: int | None = None
    modification_time: int | None = None
    content: bytes | None = field(default=None, repr=False)
