"""``Table.verify``."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay import _native
from deltareplay._snapshot.table_location import TableLocation
from deltareplay._support.arguments import checked_methods
from deltareplay._support.display import Carded
from deltareplay._support.units import plural

if TYPE_CHECKING:
    from deltareplay._table.finding import Finding


@dataclass(frozen=True, repr=False)
class Verification(Carded):
    """The result of ``Table.verify``.

    Attributes:
        version: The latest version.
        num_commits: The number of commits that were read.
        num_checkpoints: The number of checkpoints that were read.
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
            TableNotFoundError: There is no Delta table.

        >>> print(table.verify(data_files=False))
        version 2: 3 commits, 0 checkpoints, 0 checksums, 2 files: nothing is wrong
        """
        from deltareplay._table.finding import Finding

        report = json.loads(_native.verify(self._native, data_files, rows))
        findings = tuple(Finding(**finding) for finding in report.pop("findings"))
        return Verification(**report, findings=findings)
