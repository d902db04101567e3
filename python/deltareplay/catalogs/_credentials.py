"""``Credentials``: what opens a table's storage for a while."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Credentials:
    """What opens a table's storage for a while. Never printed.

    Attributes:
        storage_options: As for ``Table``, whose own options they override.
        expires_at: Milliseconds since the epoch, UTC; None if they do not expire. New ones are
            asked for a minute before.

    >>> Credentials({"aws_session_token": "secret"}, expires_at=1_800_000_000_000)
    Credentials(expires_at=1800000000000)
    """

    storage_options: Mapping[str, str] = field(repr=False)
    expires_at: int | None = None
