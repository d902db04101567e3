"""The progress of long calls: a line on a terminal or in a notebook, or a callback."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TextIO

from deltareplay._support import log, units

_WIDTH = 30
_CLEAR = "\r\x1b[K"
_DONE, _LEFT, _PLAIN = "\x1b[35m", "\x1b[2m", "\x1b[0m"
#: Seconds between two lines in the log.
_LOGGED_EVERY = 10.0


@dataclass(frozen=True)
class Progress:
    """The progress of a call that takes longer than a second.

    Attributes:
        seconds: Seconds since the call began.
        files_listed: Files listed in that time.
        bytes_read: Bytes read in that time.
        fraction: The part that is done, from 0 to 1; None if it is not known.
        finished: Whether the call is over.

    >>> Progress(2.5, 1203, 0, None)
    Progress(seconds=2.5, files_listed=1203, bytes_read=0, fraction=None, finished=False)
    """

    seconds: float
    files_listed: int
    bytes_read: int
    fraction: float | None
    finished: bool = False


Callback = Callable[[Progress], object]

#: The callback of ``progress``; None shows a line.
_CALLBACK: ContextVar[Callback | None] = ContextVar("deltareplay_progress", default=None)


class _Reported(threading.local):
    """The last progress of this thread's call that was reported."""

    last: Progress | None = None
    logged: float = 0.0


_reported = _Reported()


@contextlib.contextmanager
def progress(callback: Callback) -> Iterator[None]:
    """Report the progress of calls to a callback, instead of showing a line.

    Use it for a progress bar of your own, or to show none. The callback is called after a second,
    then four times a second, and once when the call is over, in the thread of the call.

    Args:
        callback: Takes a ``Progress``. If it raises an exception, that is logged and not raised.

    >>> reports = []
    >>> with progress(reports.append):
    ...     files = table.snapshot().files()
    >>> reports  # the call took less than a second
    []
    """
    token = _CALLBACK.set(callback)
    try:
        yield
    finally:
        _CALLBACK.reset(token)


def show(seconds: float, listed: int, read: int, parts: tuple[int, int] | None) -> None:
    """Report the progress of a call; the gate of the native module calls this function.

    ``listed`` files and ``read`` bytes are those of the call so far; ``parts`` are the numbers of
    finished parts and of all parts, of equal size, or None if unknown.
    """
    fraction = None if parts is None or parts[1] == 0 else parts[0] / parts[1]
    current = Progress(seconds, listed, read, fraction)
    if _reported.last is None or seconds - _reported.logged >= _LOGGED_EVERY:
        _reported.logged = seconds
        log.info("still at work: %s", line(current))
    _reported.last = current
    callback = _CALLBACK.get()
    if callback is not None:
        _call(callback, current)
    elif (stream := attached()) is not None:
        _write(stream, _CLEAR + line(current, **_features(stream)))


def clear() -> None:
    """Remove the line, or report the end to the callback, when the call is over."""
    last, _reported.last = _reported.last, None
    callback = _CALLBACK.get()
    if callback is not None:
        if last is not None:
            _call(callback, dataclasses.replace(last, finished=True))
    elif (stream := attached()) is not None:
        _write(stream, _CLEAR)


def _call(callback: Callback, current: Progress) -> None:
    try:
        callback(current)
    except Exception as error:
        log.warning("the callback of the progress failed: %r", error)


def _write(stream: TextIO, text: str) -> None:
    # a closed terminal must not stop the call
    with contextlib.suppress(AttributeError, OSError, ValueError):
        stream.write(text)
        stream.flush()


def attached() -> TextIO | None:
    """Return standard error, if it is a terminal or a notebook.

    ``DELTAREPLAY_PROGRESS=0`` in the environment turns the line off everywhere.
    """
    stream = sys.stderr
    if stream is None or os.environ.get("DELTAREPLAY_PROGRESS") == "0":
        return None
    try:
        return stream if stream.isatty() or _is_notebook() else None
    except (AttributeError, OSError, ValueError):  # closed, or not a complete stream
        return None


def _is_notebook() -> bool:
    kernel = sys.modules.get("ipykernel")
    shell = sys.modules.get("IPython")
    return kernel is not None and shell is not None and shell.get_ipython() is not None


def _features(stream: TextIO) -> dict[str, bool]:
    """Return whether a stream supports the characters and the colours of a bar."""
    encoding = (getattr(stream, "encoding", None) or "").lower().replace("-", "")
    colours = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return {"bars": encoding == "utf8", "colours": colours}


def line(current: Progress, *, bars: bool = False, colours: bool = False) -> str:
    """Return the line, in the layout of rich's progress bars.

    >>> line(Progress(2.4, 1203, 0, None))
    'deltareplay 1,203 files listed 0:00:02'
    >>> line(Progress(75.0, 3, 1_520_000_000, 0.25))
    'deltareplay [#######.......................]  25% 1.42 GiB 19.3 MiB/s 0:01:15'
    >>> line(Progress(75.0, 3, 1_520_000_000, 0.25), bars=True)
    'deltareplay ━━━━━━━╸──────────────────────  25% 1.42 GiB 19.3 MiB/s 0:01:15'
    """
    parts = ["deltareplay"]
    if current.fraction is not None:
        parts += [_bar(current.fraction, bars, colours), f"{100 * current.fraction:3.0f}%"]
    if current.bytes_read:
        parts.append(units.size(current.bytes_read, " "))
        if current.seconds > 0:
            parts.append(f"{units.size(current.bytes_read / current.seconds, ' ')}/s")
    elif current.files_listed:
        parts.append(f"{current.files_listed:,} files listed")
    minutes, seconds = divmod(int(current.seconds), 60)
    parts.append(f"{minutes // 60}:{minutes % 60:02}:{seconds:02}")
    return " ".join(parts)


def _bar(fraction: float, bars: bool, colours: bool) -> str:
    halves = min(int(2 * _WIDTH * fraction), 2 * _WIDTH)
    full = halves // 2
    if not bars:
        return f"[{'#' * full}{'.' * (_WIDTH - full)}]"
    filled = "━" * full + "╸" * (halves % 2)
    unfilled = _WIDTH - len(filled)
    if not colours:
        return filled + "─" * unfilled
    return f"{_DONE}{filled}{_PLAIN}{_LEFT}{'━' * unfilled}{_PLAIN}"
