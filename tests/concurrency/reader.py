"""One process that reads, at least once, until its input ends: ``reader.py TABLE [OPTIONS]``.

Every commit appends the same number of rows, so that the version determines their number. Prints
the number of reads; fails if a version has another number of rows, or is older than the previous
one.
"""

from __future__ import annotations

import json
import select
import sys
import warnings

from appender import ROWS

import deltareplay as dr


def main(uri: str, options: str = "{}") -> None:
    # between writing a checkpoint and its hint, a reader finds no hint
    warnings.simplefilter("ignore", dr.DeltaReplayWarning)
    table, last, times = dr.Table(uri, json.loads(options)), 0, 0
    while times == 0 or not select.select([sys.stdin], [], [], 0)[0]:
        snapshot = table.snapshot()
        rows = snapshot.scan(columns=["writer", "number", "row"]).to_arrow()
        assert snapshot.version >= last, f"version {snapshot.version} after version {last}"
        assert rows.num_rows == ROWS * snapshot.version, (snapshot.version, rows.num_rows)
        assert snapshot.num_rows == rows.num_rows
        last, times = snapshot.version, times + 1
    print(times)


if __name__ == "__main__":
    main(*sys.argv[1:])
