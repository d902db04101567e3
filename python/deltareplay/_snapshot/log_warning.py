"""``LogWarning``: damage in the log that was worked around."""

from __future__ import annotations

from dataclasses import dataclass

from deltareplay._names import escaped
from deltareplay.exceptions import docs_of


@dataclass(frozen=True)
class LogWarning:
    """Damage in the log that was worked around; the snapshot is correct all the same.

    Attributes:
        code: The kind of damage, for programs, e.g. ``hint.stale``. Stable across releases.
        path: The file, relative to the table root, or None.
        version: The version of the table that the file belongs to, or None.
        message: The damage, and what was used instead.

    >>> table.snapshot().warnings
    []
    """

    code: str
    path: str | None
    version: int | None
    message: str

    @property
    def docs(self) -> str | None:
        """The section of the documentation about the code, in the repository; or None.

        >>> LogWarning("hint.stale", None, None, "").docs
        'docs/troubleshooting/log.md#hintstale'
        """
        return docs_of(self.code)

    def __str__(self) -> str:
        return escaped(self.message if self.path is None else f"{self.message} (file: {self.path})")
