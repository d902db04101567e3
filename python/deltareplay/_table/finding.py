"""``Finding``: a result of ``Table.verify``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from deltareplay._names import escaped
from deltareplay.exceptions import docs_of


@dataclass(frozen=True)
class Finding:
    """A problem of a table that ``Table.verify`` has found.

    Attributes:
        severity: ``error``: data is lost or wrong, or readers disagree; ``warning``: readers can
            work around it; ``info``: nothing is wrong yet.
        code: The kind of problem, for programs, e.g. ``checksum.mismatch``. Stable across releases.
        path: The file, relative to the table root; or None.
        version: The version; or None.
        line: The line of the file, from 1; or None.
        offset: The byte of the file, from 0; or None.
        message: A description of the problem.
        remedy: What to do about it.

    >>> [finding.code for finding in table.verify().findings]
    ['file.missing', 'file.missing']
    """

    severity: Literal["error", "warning", "info"]
    code: str
    path: str | None
    version: int | None
    line: int | None
    offset: int | None
    message: str
    remedy: str

    @property
    def docs(self) -> str | None:
        """The section of the documentation about the code, in the repository; or None.

        >>> table.verify().findings[0].docs
        'docs/troubleshooting/data.md#filemissing'
        """
        return docs_of(self.code)

    def __str__(self) -> str:
        line = "" if self.line is None else f", line {self.line}"
        byte = "" if self.offset is None else f", byte {self.offset}"
        location = "" if self.path is None else f" ({self.path}{line}{byte})"
        return escaped(f"{self.severity}: {self.message} [{self.code}]{location}; {self.remedy}")
