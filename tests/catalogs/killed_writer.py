"""Append to a table of a Unity Catalog server until killed, and print each version."""

from __future__ import annotations

import sys

import deltareplay as dr
from deltareplay.catalogs import UnityCatalog


def main() -> None:
    uri, name, first = sys.argv[1:]
    table = dr.Table.from_name(name, UnityCatalog(uri, "secret"))
    number = int(first)
    while True:
        written = table.append({"id": [number]})
        print(written.version, number, flush=True)
        number += 1


if __name__ == "__main__":
    main()
