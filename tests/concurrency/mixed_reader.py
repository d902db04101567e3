"""One process that reads, at least once, until its input ends: ``mixed_reader TABLE JOURNAL``.

Records the rows of each version that it reads; fails if a version is older than the previous one.
"""

from __future__ import annotations

import json
import select
import sys
import warnings
from pathlib import Path

import deltareplay as dr


def main(uri: str, journal: str) -> None:
    warnings.simplefilter("ignore", dr.DeltaReplayWarning)
    table, last = dr.Table(uri), -1
    with Path(journal).open("w", encoding="utf-8") as log:
        while last < 0 or not select.select([sys.stdin], [], [], 0.02)[0]:
            snapshot = table.snapshot()
            assert snapshot.version >= last, f"version {snapshot.version} after version {last}"
            result = snapshot.scan(columns=["key", "half", "v"]).to_arrow()
            assert snapshot.num_rows == result.num_rows
            if snapshot.version > last:
                rows = sorted(zip(*result.to_pydict().values(), strict=True))
                log.write(json.dumps({"version": snapshot.version, "rows": rows}) + "\n")
            last = snapshot.version


if __name__ == "__main__":
    main(*sys.argv[1:])
