"""``Catalog``: the interface of a catalog that manages the commits of a table."""

from __future__ import annotations

from typing import Literal, Protocol

from deltareplay.catalogs._credentials import Credentials
from deltareplay.catalogs._log_tail import LogTail
from deltareplay.catalogs._staged_commit import Ratification, StagedCommit


class Catalog(Protocol):
    """The catalog of a table, as an argument of ``Table(uri, catalog=...)``.

    The methods may be called from any thread, and from several at once. An exception is raised by
    the call that needed the catalog. A table can be pickled if its catalog can.

    Source: Delta protocol, "Catalog-managed tables".
    """

    def load(self) -> LogTail:
        """Return the latest version and the commits that may not be published yet.

        Called whenever the log is listed: when a version is opened or refreshed, and after a
        conflict.
        """
        ...

    def commit(self, staged: StagedCommit) -> Ratification:
        """Ratify a staged commit as its version, unless another commit has that version.

        When repeated for the same version and the same file, the result is ``"ratified"`` again.

        Returns:
            ``"ratified"``; ``"taken"`` if another commit is this version; or ``"publish-first"`` if
            too many ratified commits wait for their publication.

        Raises:
            OSError: It is not known whether the catalog took the commit: ``load`` is called, and
                the commit is tried again. Any other exception means that it did not.
        """
        ...

    def published(self, version: int) -> None:
        """Record that all commits up to this version are published in ``_delta_log``."""
        ...

    def credentials(self, operation: Literal["READ", "READ_WRITE"]) -> Credentials | None:
        """Return credentials for the table's storage; None to use the table's own options."""
        ...
