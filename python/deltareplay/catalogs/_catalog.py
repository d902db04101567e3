"""``Catalog``: what a table asks of the catalog that manages it."""

from __future__ import annotations

from typing import Literal, Protocol

from deltareplay.catalogs._credentials import Credentials
from deltareplay.catalogs._log_tail import LogTail
from deltareplay.catalogs._staged_commit import Ratification, StagedCommit


class Catalog(Protocol):
    """What ``Table(uri, catalog=...)`` takes: the catalog of this one table.

    The methods may be called from any thread, and from several at once. An exception comes out of
    the call that asked. A table can be pickled if its catalog can.

    Source: Delta protocol, "Catalog-managed tables".
    """

    def load(self) -> LogTail:
        """Return which commits count.

        Called whenever the log is listed: when a version is opened or refreshed, and after a
        conflict.
        """
        ...

    def commit(self, staged: StagedCommit) -> Ratification:
        """Make a staged commit its version, if no other commit is.

        Asked again for the same version and the same file, it says ``"ratified"`` again.

        Returns:
            ``"ratified"``; ``"taken"`` if another commit is this version; or ``"publish-first"`` if
            too many ratified commits wait for their publication.

        Raises:
            OSError: It is not known whether the catalog took the commit: ``load`` is asked, and the
                commit is tried again. Any other exception means that it did not.
        """
        ...

    def published(self, version: int) -> None:
        """Learn that all commits up to this version are published in ``_delta_log``."""
        ...

    def credentials(self, operation: Literal["READ", "READ_WRITE"]) -> Credentials | None:
        """Return what opens the table's storage; None if the table's own options do."""
        ...
