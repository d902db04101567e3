"""The logger ``deltareplay`` of the standard library: what was listed, read, repaired and retried.

Nothing is written unless the program configures ``logging``. Places are logged without users,
passwords and signatures, storage options by their names only.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from deltareplay._names import shown_message

if TYPE_CHECKING:
    import logging


def logger() -> logging.Logger | None:
    """The logger; None where nobody can listen, because nobody has imported ``logging``."""
    module = sys.modules.get("logging")
    if module is None:
        return None
    instance: logging.Logger = module.getLogger("deltareplay")
    if not instance.handlers:
        # else a program that configures nothing sees warnings on standard error
        instance.addHandler(module.NullHandler())
    return instance


def _safe(fact: object) -> object:
    """A fact as a line of a log may have it; numbers stay numbers."""
    return shown_message(fact) if isinstance(fact, str) else fact


def debug(message: str, *facts: object) -> None:
    """Logs what was read, or how."""
    if (log := logger()) is not None:
        log.debug(message, *map(_safe, facts), stacklevel=2)


def info(message: str, *facts: object) -> None:
    """Logs what was done to a table."""
    if (log := logger()) is not None:
        log.info(message, *map(_safe, facts), stacklevel=2)


def warning(message: str, *facts: object) -> None:
    """Logs what was repaired or retried."""
    if (log := logger()) is not None:
        log.warning(message, *map(_safe, facts), stacklevel=2)


def transferred(seconds: float, listed: int, read: int) -> None:
    """Logs what a call listed and read; the gate of the native module calls it."""
    debug("%d files listed, %d bytes read in %.3f s", listed, read, seconds)
