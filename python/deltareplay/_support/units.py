"""Numbers, sizes and times: formatted for people, and converted from milliseconds."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone

#: Keeps a number and its unit on one line.
SPACE = "\u00a0"
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
#: Times outside of these years are moved to the nearer end: axes need a calendar.
FIRST_TIME = 0
LAST_TIME = 4_102_444_800_000  # 2100-01-01


def count(number: float) -> str:
    """Format an integer with separators.

    >>> count(1234567)
    '1,234,567'
    """
    return f"{number:,.0f}"


def short(number: float) -> str:
    r"""Format a number in at most six characters, not counting a sign.

    >>> short(950), short(1_234_567), short(20_000), short(2**63)
    ('950', '1.23\xa0M', '20\xa0k', '9e+18')
    """
    size = abs(number)
    if size >= 0.9995e15:  # statistics of a log may claim so many rows
        return f"{number:.0e}"
    for unit, factor in (("tn", 1e12), ("bn", 1e9), ("M", 1e6), ("k", 1e3)):
        if size >= factor * 0.9995:
            return f"{_three_digits(number / factor)}{SPACE}{unit}"
    return _three_digits(number)


def size(number: float, between: str = SPACE) -> str:
    r"""Format a number of bytes, rounded to three digits; 1,000 to 1,023 have four.

    >>> size(0), size(1536), size(1 << 30)
    ('0\xa0B', '1.5\xa0KiB', '1\xa0GiB')
    """
    power = min(int(math.log2(abs(number)) // 10), len(_SIZES) - 1) if abs(number) >= 1 else 0
    value = number / 1024**power
    if abs(value) >= 1023.5 and power + 1 < len(_SIZES):
        value, power = value / 1024, power + 1
    return f"{_three_digits(value)}{between}{_SIZES[power]}"


def _three_digits(value: float) -> str:
    digits = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def percent(part: float, whole: float) -> str:
    r"""Format a share as a percentage.

    >>> percent(1, 3), percent(0, 0), percent(999_999, 1_000_000), percent(1, 100_000)
    ('33\xa0%', '-', '>\xa099\xa0%', '<\xa01\xa0%')
    """
    if not whole:
        return "-"
    share = 100 * part / whole
    if 0 < share < 1:
        return f"<{SPACE}1{SPACE}%"
    if 99 < share < 100:
        return f">{SPACE}99{SPACE}%"
    return f"{share:.0f}{SPACE}%"


def seconds(value: float) -> str:
    r"""Format a duration.

    >>> seconds(0.0123), seconds(1.234), seconds(90)
    ('12\xa0ms', '1.2\xa0s', '90\xa0s')
    """
    if value < 0.001:
        return f"{value * 1000:.1f}{SPACE}ms"
    if value < 0.9995:
        return f"{value * 1000:.0f}{SPACE}ms"
    return f"{value:.1f}{SPACE}s" if value < 9.95 else f"{value:.0f}{SPACE}s"


def ago(then: datetime, now: datetime) -> str:
    """Format the time that has passed since a time.

    >>> now = datetime(2026, 1, 3, tzinfo=timezone.utc)
    >>> ago(datetime(2026, 1, 1, tzinfo=timezone.utc), now), ago(now, now)
    ('2 days ago', 'just now')
    """
    passed = (now - then) / timedelta(seconds=1)
    if passed < 0:
        return "in the future"
    for unit, length in (
        ("year", 365.25 * 86400),
        ("month", 30.44 * 86400),
        ("day", 86400),
        ("hour", 3600),
        ("minute", 60),
    ):
        number = int(passed // length)
        if number:
            return f"{plural(number, unit)} ago"
    return "just now"


def plural(number: int, noun: str) -> str:
    """Format a number with its noun.

    >>> plural(1, "file"), plural(2000, "file")
    ('1 file', '2,000 files')
    """
    return f"{count(number)} {noun if number == 1 else noun + 's'}"


def clamped_time(milliseconds: float) -> datetime:
    """Convert milliseconds to a UTC time, clamped to the years that an axis can show."""
    return _EPOCH + timedelta(milliseconds=min(max(milliseconds, FIRST_TIME), LAST_TIME))


def milliseconds(then: datetime) -> int:
    """Convert a time to milliseconds since the epoch."""
    return (then - _EPOCH) // timedelta(milliseconds=1)


def instant(milliseconds: int) -> datetime:
    """Convert milliseconds since the epoch to a UTC time; at most the ends of the calendar.

    >>> instant(-(10**17)).year, instant(10**17).year
    (1, 9999)
    """
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        end = datetime.max if milliseconds > 0 else datetime.min
        return end.replace(tzinfo=timezone.utc)


def span(milliseconds: float) -> timedelta:
    """Convert milliseconds to a length of time; at most the longest ones of Python."""
    try:
        return timedelta(milliseconds=milliseconds)
    except OverflowError:
        return timedelta.max if milliseconds > 0 else timedelta.min


def stamp(then: datetime) -> str:
    """Format a time in UTC, to the second.

    >>> stamp(datetime(2026, 1, 3, 4, 5, 6, tzinfo=timezone.utc))
    '2026-01-03 04:05:06 UTC'
    """
    return then.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def parse_integer(text: object) -> int | None:
    """Parse an integer that a writer of commits stored as text; return None for other values.

    >>> parse_integer("42"), parse_integer("\u00b2"), parse_integer("9" * 5000), parse_integer(None)
    (42, None, None, None)
    """
    if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 20:
        return int(text)
    return None
