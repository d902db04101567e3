"""``LogTail``: the latest commits of a table, from its catalog."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from deltareplay.catalogs._ratified_commit import RatifiedCommit

#: Permissions of a catalog.
Permission = Literal["take_over", "vacuum", "optimize", "cleanup_log"]


@dataclass(frozen=True)
class LogTail:
    """The latest version and commits of a table, from its catalog.

    Attributes:
        max_version: The latest ratified version; None if the catalog does not manage the commits of
            this table.
        commits: The ratified commits that may not be published yet: contiguous, and the last has
            ``max_version``. May be empty if all commits are published.
        table_id: The catalog's id of the table. If it changes, the table was replaced by another.
        allowed: Permissions beside commits, checkpoints, compacted logs and checksums.
            With ``take_over``, it begins to manage a table that gets the feature
            ``catalogManaged``, new or not, when ``Catalog.published`` names the version.

    >>> LogTail(max_version=3).commits
    ()
    """

    max_version: int | None
    commits: Sequence[RatifiedCommit] = ()
    table_id: str | None = None
    allowed: Sequence[Permission] = ()
