"""``Catalog``: the interface of a catalog that manages the commits of a table, and its values."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from deltareplay._protocol.metadata import Metadata
from deltareplay._protocol.protocol import Protocol


@dataclass(frozen=True)
class Credentials:
    """Temporary credentials for a table's storage. Never printed.

    Attributes:
        storage_options: Storage options, which override those of ``Table``.
        expires_at: Milliseconds since the epoch, UTC; None if they do not expire. They are renewed
            a minute before, or halfway if they last less than two minutes.

    >>> Credentials({"aws_session_token": "secret"}, expires_at=1_800_000_000_000)
    Credentials(expires_at=1800000000000)
    """

    storage_options: Mapping[str, str] = field(repr=False)
    expires_at: int | None = None


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


#: Operations that a catalog may permit.
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
        allowed: The operations that the catalog permits, besides commits, checkpoints, compacted
            logs and checksums. With ``take_over``, the catalog begins to manage a table that gets
            the feature ``catalogManaged``, new or not, when ``Catalog.published`` names the
            version.

    >>> LogTail(max_version=3).commits
    ()
    """

    max_version: int | None
    commits: Sequence[RatifiedCommit] = ()
    table_id: str | None = None
    allowed: Sequence[Permission] = ()


#: A catalog's responses to a staged commit.
Ratification = Literal["ratified", "taken", "publish-first"]


@dataclass(frozen=True)
class StagedCommit:
    """A commit whose file is in ``_delta_log/_staged_commits``, not ratified yet.

    Attributes:
        version: The version that it would have.
        file_name: The base name of its file.
        size: The length of the file in bytes.
        modification_time: The time of its file, in milliseconds since the epoch, UTC.
        timestamp: The in-commit timestamp, in milliseconds since the epoch, UTC.
        protocol: The new protocol, if the commit changes it.
        metadata: The new metadata, if the commit changes it.
        domain_metadata: The configuration of each domain that the commit changes; None if it
            removes the domain.
        published_version: The latest version that is known to be published, or None.

    >>> StagedCommit(7, "00000000000000000007.4b8f.json", 310, 1, 1).version
    7
    """

    version: int
    file_name: str
    size: int
    modification_time: int
    timestamp: int
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    domain_metadata: Mapping[str, str | None] = field(default_factory=dict)
    published_version: int | None = None


class Catalog(typing.Protocol):
    """The catalog of a table, as an argument of ``Table(uri, catalog=...)``.

    The methods may be called from any thread, and from several at once. An exception from
    ``deltareplay.exceptions`` is raised unchanged by the call that needed the catalog; any other is
    the cause of the error (``catalog.failed``). A table can be pickled if its catalog can.

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


@dataclass(frozen=True)
class Located:
    """The location of a named table, with its catalog and storage options.

    Attributes:
        uri: The table root, as for ``Table``.
        catalog: The catalog, if it vends credentials or manages commits.
        storage_options: Settings of the storage from the catalog. Never printed.

    >>> Located("s3://bucket/orders", storage_options={"aws_region": "eu-west-1"})
    Located(uri='s3://bucket/orders', catalog=None)
    """

    uri: str
    catalog: Catalog | None = None
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def options_with(self, own: Mapping[str, str]) -> dict[str, str]:
        """Internal: merge the catalog's options with the user's, which take precedence.

        A user's access key is never combined with the catalog's session token, however the names of
        the options are written.

        >>> vended = {"AWS_TOKEN": "of another key", "aws_region": "eu-west-1"}
        >>> Located("s3://bucket/orders", None, vended).options_with({"access_key_id": "own"})
        {'aws_region': 'eu-west-1', 'access_key_id': 'own'}
        """
        options = dict(self.storage_options)
        if any(key.lower().endswith("access_key_id") for key in own):
            options = {key: options[key] for key in options if not key.lower().endswith("token")}
        return {**options, **own}
