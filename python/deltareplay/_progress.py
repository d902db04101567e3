"""A progress line on the terminal or in the notebook during long calls."""

from __future__ import annotations

import os
import sys
from typing import TextIO

_WIDTH = 30
_CLEAR = "\r\x1b[K"


def show(seconds: float, listed: int, read: int, units: tuple[int, int] | None) -> None:
    """Show the progress of a call on a terminal or in a notebook.

    Args:
        seconds: Since the call began.
        listed: Files that listings have shown in that time.
        read: Bytes read in that time.
        units: How many of how many equal parts are done, if that is known.
    """
    stream = attached()
    if stream is not None:
        stream.write(_CLEAR + line(seconds, listed, read, units))
        stream.flush()


def clear() -> None:
    """Remove the line."""
    stream = attached()
    if stream is not None:
        stream.write(_CLEAR)
        stream.flush()


def attached() -> TextIO | None:
    """Standard error, if it is a terminal or a notebook.

    ``DELTAREPLAY_PROGRESS=0`` in the environment turns the line off everywhere.
    """
    stream = sys.stderr
    if stream is None or os.environ.get("DELTAREPLAY_PROGRESS") == "0":
        return None
    return stream if stream.isatty() or _is_notebook() else None


def _is_notebook() -> bool:
    kernel = sys.modules.get("ipykernel")
    shell = sys.modules.get("IPython")
    return kernel is not None and shell is not None and shell.get_ipython() is not None


def line(seconds: float, listed: int, read: int, units: tuple[int, int] | None) -> str:
    """The line.

    >>> line(2.4, 1203, 0, None)
    'deltareplay: 2 s, 1,203 files listed'
    >>> line(75.0, 3, 1_520_000_000, (40, 160))
    'deltareplay: [#######.......................] 25 %, 75 s, 1.52 GB read'
    """
    parts = []
    if units is not None:
        done, of = units
        marks = _WIDTH * done // of
        parts.append(f"[{'#' * marks}{'.' * (_WIDTH - marks)}] {100 * done // of} %")
    parts.append(f"{seconds:.0f} s")
    if read:
        parts.append(f"{_size(read)} read")
    elif listed:
        parts.append(f"{listed:,} files listed")
    return f"deltareplay: {', '.join(parts)}"


def _size(read: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if read >= size:
            return f"{read / size:.3g} {unit}"
    return f"{read / 1000:.3g} kB"
