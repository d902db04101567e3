"""Generate ``zones.txt`` from the rebase tables of Spark: ``python zones.py spark-sql-api.jar``.

Spark's tables are fixed: its writers and readers use them, whatever time zone data the JVM
has. Each zone has thirteen switches of the Julian calendar, which follow from its standard
time, and a few of its own. Names that only ``java.util`` knows are added: short ones
(``java.time.ZoneId.SHORT_IDS``), and zones that are newer than the tables.
"""

from __future__ import annotations

import json
import sys
import zipfile
from collections import defaultdict
from pathlib import Path

RESOURCE = "julian-gregorian-rebase-micros.json"
JULIAN_SWITCHES = 13
MODERN = -2_208_988_800

SHORT_NAMES = {
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
    "EST": "Etc/GMT+5",
    "HST": "Etc/GMT+10",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "Etc/GMT+7",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}
#: Zones that are newer than the tables: standard time, and local mean time.
NEW_ZONES = {"America/Ciudad_Juarez": (-25_200, -25_556)}


def lines(records: list[dict[str, list[int]]], names: list[str]) -> list[str]:
    """Return a line for each group of zones with the same switches and differences."""
    tables = {name: (r["switches"], r["diffs"]) for name, r in zip(names, records, strict=True)}
    utc_switches, utc_differences = tables["UTC"]
    groups: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for name, (switches, differences) in tables.items():
        standard = utc_switches[0] - switches[0]
        first = differences[0] - utc_differences[0]
        regular = [switch - standard for switch in utc_switches]
        assert switches[: JULIAN_SWITCHES + 1] == regular, name
        shifted = [difference + first for difference in utc_differences]
        assert differences[: JULIAN_SWITCHES + 1] == shifted, name
        own = zip(switches[JULIAN_SWITCHES + 1 :], differences[JULIAN_SWITCHES + 1 :], strict=True)
        key = (standard, first, *(number for pair in own for number in pair))
        groups[key].append(name)
    for name, (standard, mean) in NEW_ZONES.items():
        groups[standard, standard - mean, MODERN, 0].append(name)
    for short, name in SHORT_NAMES.items():
        next(group for group in groups.values() if name in group).append(short)
    return sorted(
        f"{' '.join(map(str, numbers))} | {' '.join(sorted(group))}"
        for numbers, group in groups.items()
    )


if __name__ == "__main__":
    with zipfile.ZipFile(sys.argv[1]) as jar:
        records = json.loads(jar.read(RESOURCE))
    text = "\n".join(lines(records, [record["tz"] for record in records]))
    Path(__file__).with_name("zones.txt").write_text(text + "\n", encoding="utf-8")
