"""A catalog in this process that follows the protocol's rules, or breaks them on request."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from deltareplay.catalogs import (
    Credentials,
    LogTail,
    Permission,
    Ratification,
    RatifiedCommit,
    StagedCommit,
)

FEATURES = {"catalogManaged", "catalogOwned", "catalogOwned-preview"}


class MemoryCatalog:
    """Ratifies the commits of one table.

    Attributes:
        calls: The names of the methods that were called, in order.
        most_unpublished: The number of unpublished commits from which they must be published first.
        before: Called with the name of each method before it runs.
    """

    def __init__(
        self,
        max_version: int | None = None,
        commits: tuple[RatifiedCommit, ...] = (),
        *,
        most_unpublished: int = 10,
        allowed: tuple[Permission, ...] = (),
    ) -> None:
        self.max_version = max_version
        self.commits = {commit.version: commit for commit in commits}
        self.most_unpublished = most_unpublished
        self.allowed = allowed
        self.staged: dict[int, StagedCommit] = {}
        self.calls: list[str] = []
        self.before: Callable[[str], None] = lambda _: None
        self.lock = threading.Lock()
        #: The version that dropped the feature of managed tables.
        self._last_managed: int | None = None

    def _called(self, name: str) -> None:
        self.calls.append(name)
        self.before(name)

    def load(self) -> LogTail:
        self._called("load")
        with self.lock:
            commits = [self.commits[version] for version in sorted(self.commits)]
            return LogTail(self.max_version, commits, "one", ("take_over", *self.allowed))

    def commit(self, staged: StagedCommit) -> Ratification:
        self._called("commit")
        with self.lock:
            ratified = self.staged.get(staged.version)
            if ratified is not None:
                return "ratified" if ratified.file_name == staged.file_name else "taken"
            assert self.max_version is not None
            if staged.version != self.max_version + 1:
                return "taken"
            if len(self.commits) >= self.most_unpublished:
                return "publish-first"
            self.staged[staged.version] = staged
            self.commits[staged.version] = RatifiedCommit(
                staged.version, staged.file_name, staged.size, staged.modification_time
            )
            self.max_version = staged.version
            if staged.protocol and not FEATURES & set(staged.protocol.reader_features or ()):
                self._last_managed = staged.version
            return "ratified"

    def published(self, version: int) -> None:
        self._called("published")
        with self.lock:
            self.commits = {v: commit for v, commit in self.commits.items() if v > version}
            self.max_version = max(version, self.max_version or 0)
            if self._last_managed == self.max_version:
                self.max_version = None

    def credentials(self, operation: Literal["READ", "READ_WRITE"]) -> Credentials | None:
        self._called(f"credentials {operation}")
        return None


def staged_in(table: Path) -> tuple[RatifiedCommit, ...]:
    """Return all staged commits of a table with exactly one per version."""
    staged = sorted((table / "_delta_log" / "_staged_commits").iterdir())
    pattern = re.compile(r"(\d{20})\.[0-9a-f-]+\.json")
    return tuple(
        RatifiedCommit(int(match[1]), file.name)
        for file in staged
        if (match := pattern.fullmatch(file.name))
    )
