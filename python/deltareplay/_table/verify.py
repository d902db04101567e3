"""``Table.verify``."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from deltareplay import _native
from deltareplay._names import escaped
from deltareplay._snapshot.table_location import TableLocation
from deltareplay._support.arguments import checked_methods
from deltareplay._support.display import NotebookCard
from deltareplay._support.units import plural
from deltareplay.exceptions import docs_of


@dataclass(frozen=True)
class Finding:
    """A problem of a table that ``Table.verify`` has found.

    Attributes:
        severity: ``error``: data is lost or wrong, or readers disagree; ``warning``: readers can
            work around it; ``info``: nothing is wrong yet, or this release cannot check it.
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


@dataclass(frozen=True, repr=False)
class Verification(NotebookCard):
    """The result of ``Table.verify``.

    Attributes:
        version: The latest version.
        num_commits: The number of commits, including those that cannot be read.
        num_checkpoints: The number of complete checkpoints, including those that cannot be read.
        num_checksums: The number of checksums that were compared with the commits.
        num_files: The number of live files of the latest version; None if it cannot be opened.
        findings: The findings, the worst first.
        omitted: The number of other findings: at most a thousand are listed for each code.

    >>> table.verify(data_files=False).ok
    True
    """

    version: int
    num_commits: int
    num_checkpoints: int
    num_checksums: int
    num_files: int | None
    findings: tuple[Finding, ...]
    omitted: int

    @property
    def ok(self) -> bool:
        """True if there are no findings, except those of severity ``info``.

        >>> table.verify().ok
        False
        """
        return all(finding.severity == "info" for finding in self.findings)

    def to_json(self) -> str:
        """Return the result as JSON, with the names of the attributes.

        >>> table.verify(data_files=False).to_json()[:28]
        '{"version": 2, "num_commits"'
        """
        return json.dumps(dataclasses.asdict(self))

    def __repr__(self) -> str:
        kinds = Counter(finding.severity for finding in self.findings)
        counts = ", ".join(f"{number} of severity {kind}" for kind, number in kinds.items())
        more = f", {self.omitted} more" if self.omitted else ""
        return f"<Verification of version {self.version}: {counts or 'nothing is wrong'}{more}>"

    def __str__(self) -> str:
        files = "unknown files" if self.num_files is None else plural(self.num_files, "file")
        head = (
            f"version {self.version}: {plural(self.num_commits, 'commit')}, "
            f"{plural(self.num_checkpoints, 'checkpoint')}, "
            f"{plural(self.num_checksums, 'checksum')}, {files}"
        )
        if not self.findings:
            return f"{head}: nothing is wrong"
        more = [f"and {self.omitted} more"] if self.omitted else []
        return "\n".join([head, *map(str, self.findings), *more])


@checked_methods
class Verifying(TableLocation):
    """The method ``Table.verify``."""

    __slots__ = ()

    def verify(self, *, data_files: bool = True, rows: bool = False) -> Verification:
        """Check the log and the data files against the protocol, and against each other.

        The commits are replayed once, oldest first. Each commit is checked, and the result is
        compared with every checksum, checkpoint and compacted file. The data files of the latest
        version must exist with their sizes, and its deletion vectors must decode. Nothing is
        changed; each finding says what to do.

        Args:
            data_files: Whether to check data files and deletion vectors, too, not only the log.
            rows: Whether to read every row of the latest version, which takes as long as a scan.
                This finds files whose columns have wrong types, and bytes that do not decode.

        Raises:
            TableNotFoundError: There is no Delta table (``table.not_found``).

        >>> print(table.verify(data_files=False))
        version 2: 3 commits, 0 checkpoints, 0 checksums, 2 files: nothing is wrong
        """
        report = json.loads(_native.verify(self._native, data_files, rows))
        findings = tuple(Finding(**finding) for finding in report.pop("findings"))
        return Verification(**report, findings=findings)
