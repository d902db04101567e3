"""Cases that only run at night (``DELTAREPLAY_NIGHTLY``)."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from typing import Any

#: Whether all tests run, or a sample of each kind.
NIGHTLY = bool(os.environ.get("DELTAREPLAY_NIGHTLY"))


def pairs(left: Sequence[Any], right: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return all pairs at night; during the day, pairs that have each value at least once."""
    if NIGHTLY:
        return list(itertools.product(left, right))
    longer = range(max(len(left), len(right)))
    return [(left[index % len(left)], right[index % len(right)]) for index in longer]
