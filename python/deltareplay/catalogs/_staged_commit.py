"""``StagedCommit``: a commit that is not ratified yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from deltareplay._protocol.metadata import Metadata
from deltareplay._protocol.protocol import Protocol

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
