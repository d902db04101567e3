"""Conversion of option values, which Spark passes as strings."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from deltareplay.exceptions import InvalidArgumentError

#: The options that are times, in lower case.
_TIMES = frozenset({"timestampasof", "startingtimestamp", "endingtimestamp"})

#: The option that passes on the session's settings of a write, as JSON.
OPTION = "deltareplay.session"

#: Why the name of a table is not enough.
NO_PATH = "Spark's catalog does not pass the path of a table on to Python data sources"


def number(name: str, text: str) -> int:
    """Parse an integer option.

    Raises:
        InvalidArgumentError: ``option.number``.
    """
    try:
        return int(text)
    except ValueError:
        raise InvalidArgumentError(
            f"the option {name} takes a number, not {text!r}", code="option.number"
        ) from None


def path(options: Mapping[str, str], call: str) -> str:
    """Return the path of the table from the options.

    Args:
        options: The options, by their names in lower case.
        call: The method that takes the path, ``load`` or ``save``.

    Raises:
        InvalidArgumentError: ``option.path``: the options have no path, or are those of a table in
            Spark's catalog, which have a ``provider``, and no path for Python data sources. The
            catalog passes the path only when a table of the format ``delta`` is created.
    """
    provider = options.get("provider", "").lower()
    if "path" in options and (not provider or (provider == "delta" and call == "load")):
        return options["path"]
    instead = "write(df, name)" if call == "save" else "read(spark, name)"
    raise InvalidArgumentError(
        f"use .{call}(path), or deltareplay.spark.{instead}, DeltaTable.forName and "
        f"deltareplay.spark.sql for names: {NO_PATH}. CREATE TEMPORARY VIEW name USING deltareplay "
        "OPTIONS (path '...') takes the place of CREATE TABLE",
        code="option.path",
    )


def in_zone(options: Mapping[str, str], zone: str | None) -> dict[str, str]:
    """Add a time zone to the timestamps of options that have none.

    Args:
        options: The options from Spark.
        zone: The time zone of timestamps without one; None leaves them unchanged, which means UTC.

    >>> in_zone({"timestampAsOf": "2026-01-02"}, "Europe/Berlin")
    {'timestampAsOf': '2026-01-02T00:00:00+01:00'}
    >>> in_zone({"timestampAsOf": "2026-01-02 03:00:00 GMT+2"}, None)
    {'timestampAsOf': '2026-01-02T03:00:00+02:00'}
    """
    return {
        name: _in_zone(value, zone) if name.lower() in _TIMES else value
        for name, value in options.items()
    }


#: A zone that Spark takes at the end of a time: its name, or an offset, with UTC's name or a blank
#: before it.
_ZONE = re.compile(
    r"(?P<time>.*\d)(?=\s+[+-]|\s*[A-Za-z]{2})\s*(?P<zone>[A-Za-z]+/[A-Za-z0-9_+/-]+|[A-Za-z]{2,}\S*"
    r"|[+-]\S+)"
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?(?P<sign>[+-])(?P<hours>\d\d?)(?::?(?P<minutes>\d\d))?")


def _in_zone(text: str, zone: str | None) -> str:
    named = _ZONE.fullmatch(text.strip())
    bare, own = (named["time"], named["zone"]) if named else (text.strip(), zone)
    try:
        time = datetime.datetime.fromisoformat(bare)
        if time.tzinfo is not None or own is None:
            return text
        return time.replace(tzinfo=_zone(own)).isoformat()
    except (
        ValueError,
        ZoneInfoNotFoundError,
    ):  # an unknown zone, or not a time: the core raises an error
        return text


def _zone(name: str) -> datetime.tzinfo:
    offset = _OFFSET.fullmatch(name)
    if offset is None:
        return ZoneInfo("UTC" if name.upper() in ("Z", "UT", "UTC", "GMT") else name)
    minutes = int(offset["hours"]) * 60 + int(offset["minutes"] or 0)
    return datetime.timezone(datetime.timedelta(minutes=int(offset["sign"] + str(minutes))))
