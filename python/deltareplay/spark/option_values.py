"""Values of options, which Spark passes as strings."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from zoneinfo import ZoneInfo

from deltareplay.exceptions import InvalidArgumentError

#: The options that are times, in lower case.
_TIMES = frozenset({"timestampasof", "startingtimestamp", "endingtimestamp"})


def number(name: str, text: str) -> int:
    """An option that is a whole number.

    Raises:
        InvalidArgumentError: ``option.number``.
    """
    try:
        return int(text)
    except ValueError:
        raise InvalidArgumentError(
            f"the option {name} takes a number, not {text!r}", code="option.number"
        ) from None


def path(given: Mapping[str, str], call: str) -> str:
    """The path of the table.

    Args:
        given: The options, by their names in lower case.
        call: The method with which a program passes the path.

    Raises:
        InvalidArgumentError: ``option.path``: the options have no path, or are those of a table in
            Spark's catalog, which has a ``provider`` and does not pass the path to Python data
            sources. Only where such a table gets its name, as a table of the format ``delta``, the
            catalog passes it.
    """
    provider = given.get("provider", "").lower()
    if "path" in given and (not provider or (provider == "delta" and call == "load")):
        return given["path"]
    raise InvalidArgumentError(
        "a Python data source needs the table's path, which Spark's catalog does not pass on: "
        f"use .{call}(path), or deltareplay.spark.DeltaTable.forName and "
        "deltareplay.spark.sql for names; or CREATE TEMPORARY VIEW name USING deltareplay "
        "OPTIONS (path '...') instead of CREATE TABLE and saveAsTable",
        code="option.path",
    )


def in_zone(options: Mapping[str, str], zone: str | None) -> dict[str, str]:
    """Options whose times without a zone are in the zone of the session.

    Args:
        options: As from Spark.
        zone: The zone; None leaves the times as they are, which means UTC.

    >>> in_zone({"timestampAsOf": "2026-01-02"}, "Europe/Berlin")
    {'timestampAsOf': '2026-01-02T00:00:00+01:00'}
    """
    if zone is None:
        return dict(options)
    return {
        name: _in_zone(value, zone) if name.lower() in _TIMES else value
        for name, value in options.items()
    }


def _in_zone(text: str, zone: str) -> str:
    try:
        time = datetime.datetime.fromisoformat(text.strip())
    except ValueError:  # with a zone that Python does not know, or no time: the core says so
        return text
    if time.tzinfo is not None:
        return text
    if re.fullmatch(r"[+-]\d\d:\d\d", zone):
        return f"{time.isoformat()}{zone}"
    return time.replace(tzinfo=ZoneInfo(zone)).isoformat()
