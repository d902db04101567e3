"""``Verification``: what ``Table.verify`` looked at and found."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from deltareplay._finding import Finding


@dataclass(frozen=True)
class Verification:
    """What was looked at, and what is wrong.

    Attributes:
        version: The latest version.
        num_commits: Commits that were read.
        num_checkpoints: Checkpoints that were read.
        num_checksums: Checksums that were compared with the commits.
        num_files: Live files of the latest version; None where it cannot be opened.
        findings: What is wrong, worst first.
        omitted: How many more there are: of one code a thousand are told.

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
        """Whether nothing is wrong; what is only worth knowing does not count.

        >>> table.verify().ok
        False
        """
        return all(finding.severity == "info" for finding in self.findings)

    def to_json(self) -> str:
        """The same as JSON, with the names of the attributes.

        >>> table.verify(data_files=False).to_json()[:28]
        '{"version": 2, "num_commits"'
        """
        return json.dumps(dataclasses.asdict(self))

    def __str__(self) -> str:
        files = "unknown" if self.num_files is None else self.num_files
        head = (
            f"version {self.version}: {self.num_commits} commits, "
            f"{self.num_checkpoints} checkpoints, {self.num_checksums} checksums, {files} files"
        )
        if not self.findings:
            return f"{head}: nothing is wrong"
        more = [f"and {self.omitted} more"] if self.omitted else []
        return "\n".join([head, *map(str, self.findings), *more])
