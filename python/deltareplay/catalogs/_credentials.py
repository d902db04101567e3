"""``Credentials``: temporary credentials for a table's storage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Credentials:
    """Temporary credentials for a table's storage. Never printed.

    Attributes:
        storage_options: Storage options, which override those of ``Table``.
        expires_at: Milliseconds since the epoch, UTC; None if they do not expire. They are renewed
            a minute before.

    >>> Credentials({"aws_session_token": "secret"}, expires_at=1_800_000_000_000)
    Credentials(expires_at=1800000000000)
    """

    storage_options: Mapping[str, str] = field(repr=False)
    expires_at: int | None = None
