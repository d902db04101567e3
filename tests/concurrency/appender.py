"""One process that appends rows many times: ``python appender.py TABLE NAME COMMITS [OPTIONS]``.

Prints the version of each commit when it is acknowledged.
"""

from __future__ import annotations

import json
import sys

import deltareplay as dr

#: The number of rows in each commit.
ROWS = 3


def main(uri: str, name: str, commits: int, options: str = "{}") -> None:
    table = dr.Table(uri, json.loads(options))
    for number in range(commits):
        rows = [{"writer": name, "number": number, "row": row} for row in range(ROWS)]
        written = table.append(rows, user_metadata=f"{name} {number}", timeout=600)
        print(written.version, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
