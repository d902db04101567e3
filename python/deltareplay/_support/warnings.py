"""Warnings at the caller's line."""

from __future__ import annotations

import sys
import warnings

from deltareplay._names import escaped_message
from deltareplay._support import log
from deltareplay.exceptions import DeltaReplayWarning


def warn(message: str, category: type[Warning] = DeltaReplayWarning) -> None:
    """Warn at the caller's line: the first frame outside this package."""
    message = escaped_message(message)
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    if category is DeltaReplayWarning:
        log.warning("%s", message)
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "deltareplay"
