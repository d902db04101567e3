"""Names of time zones in settings and texts of Spark, as Python and Arrow know them."""

from __future__ import annotations

import datetime
import re
from zoneinfo import ZoneInfo

from deltareplay.spark.session.capabilities import is_utc

#: Java's short names of zones (``ZoneId.SHORT_IDS``) that are not in the time zone database.
_SHORT_NAMES = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?(?P<sign>[+-])(?P<hours>\d\d?)(?::?(?P<minutes>\d\d))?")


def iana(name: str) -> str:
    """Return the name of a zone in the time zone database, or its offset from UTC.

    >>> iana("PST"), iana("GMT+5:30"), iana("-8"), iana("Europe/Berlin")
    ('America/Los_Angeles', '+05:30', '-08:00', 'Europe/Berlin')
    """
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        return f"{offset['sign']}{offset['hours']:0>2}:{offset['minutes'] or '00'}"
    if is_utc(name):
        return "UTC"
    return _SHORT_NAMES.get(name, name)


def zone(name: str) -> datetime.tzinfo:
    """Return a time zone of Spark.

    Raises:
        ValueError: Python does not know the zone.
        ZoneInfoNotFoundError: Python does not know the zone.

    >>> zone("UTC-8").utcoffset(None) / datetime.timedelta(hours=1)
    -8.0
    """
    name = iana(name)
    if name[:1] not in ("+", "-"):
        return ZoneInfo(name)
    hours, minutes = map(int, name[1:].split(":"))
    offset = datetime.timedelta(hours=hours, minutes=minutes)
    return datetime.timezone(-offset if name.startswith("-") else offset)
