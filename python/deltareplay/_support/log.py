"""The logger ``deltareplay`` of the standard library: listings, reads, repairs and retries.

Nothing is written unless the program configures ``logging``. URIs are logged without users,
passwords and signatures, storage options by their names only.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from deltareplay._names import escaped_message

if TYPE_CHECKING:
    import logging


def logger() -> logging.Logger | None:
    """Return the logger; None if ``logging`` is not imported, so nothing can listen."""
    module = sys.modules.get("logging")
    if module is None:
        return None
    instance: logging.Logger = module.getLogger("deltareplay")
    if not instance.handlers:
        # else a program that configures nothing sees warnings on standard error
        instance.addHandler(module.NullHandler())
    return instance


def _safe(value: object) -> object:
    """Escape a value for a line of the log; numbers stay numbers."""
    return escaped_message(value) if isinstance(value, str) else value


def debug(message: str, *values: object) -> None:
    """Log details of a read."""
    if (log := logger()) is not None:
        log.debug(message, *map(_safe, values), stacklevel=2)


def info(message: str, *values: object) -> None:
    """Log an opened version, a change of a table, or the progress of a call."""
    if (log := logger()) is not None:
        log.info(message, *map(_safe, values), stacklevel=2)


def warning(message: str, *values: object) -> None:
    """Log a repair, a retry or another warning."""
    if (log := logger()) is not None:
        log.warning(message, *map(_safe, values), stacklevel=2)


def transferred(seconds: float, listed: int, read: int) -> None:
    """Log the listings and reads of a call; the gate of the native module calls it."""
    debug("%d files listed, %d bytes read in %.3f s", listed, read, seconds)
