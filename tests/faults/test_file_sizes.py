"""Verbs in a process that may write no file larger than a limit, as under a quota (RLIMIT_FSIZE).

A verb raises a typed error and changes nothing, or completes; the next write works. The operating
system enforces the limit, so it applies to every file that the verb writes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import deltareplay as dr

CHILD = """
import resource, sys, warnings
warnings.simplefilter("ignore")
from datetime import timedelta
import pyarrow as pa
import deltareplay as dr
table = dr.Table(sys.argv[1])
at_once = {"retention": timedelta(0), "dry_run": False, "force": True}
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
try:
    eval(sys.argv[2])
    print("done")
except dr.DeltaReplayError as error:
    print(error.code)
"""

VERBS = {
    "append": "table.append({'id': list(range(9_000)), 's': list(map(str, range(9_000)))})",
    "overwrite": "table.overwrite({'id': [1], 's': ['x']})",
    "update": "table.update('id % 2 = 0', {'s': \"concat(s, 'z')\"})",
    "delete": "table.delete('id % 3 = 0')",
    "optimize": "table.optimize()",
    "checkpoint": "table.checkpoint()",
    "compact": "table.compact_log()",
    "restore": "table.restore(1)",
    "vacuum": "table.vacuum(**at_once)",
    "cleanup": "table.cleanup_log(dry_run=False)",
    "columns": "table.add_columns(pa.schema([('n', pa.int64())]))",
    "clone": "table.clone(sys.argv[1] + '-clone', shallow=False)",
    "report": "table.report(sys.argv[1] + '.html')",
}
LIMITS = (0, 1_000, 3_000, 1 << 20)
#: Verbs that have nothing to write here.
WITHOUT_FILES = ("vacuum", "cleanup")


def rows(root: Path) -> list[tuple[int, str]]:
    table = dr.Table(root).snapshot().scan(["id", "s"]).to_arrow()
    return sorted((row["id"], row["s"]) for row in table.to_pylist())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
@pytest.mark.parametrize("verb", VERBS)
def test_verbs_under_a_file_size_limit(verb: str, tmp_path: Path) -> None:
    results = []
    for limit in LIMITS:
        root = tmp_path / str(limit)
        for start in range(0, 900, 300):
            ids = range(start, start + 300)
            dr.write(root, {"id": list(ids), "s": [str(number * 7919) for number in ids]})
        before = rows(root)
        ran = subprocess.run(
            [sys.executable, "-c", CHILD, str(root), VERBS[verb], str(limit)],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert ran.returncode == 0, ran.stderr[-1000:]
        results.append((ran.stdout.strip(), rows(root)))
        assert dr.Table(root).verify(rows=True).ok
        dr.write(root, {"id": [-1], "s": ["next"]})
    result, after = results[-1]
    assert result == "done", "a mebibyte suffices"
    assert (results[0][0] == "done") == (verb in WITHOUT_FILES)
    for result, now in results[:-1]:
        assert result in ("done", "storage.full", "report.output")
        assert now == (after if result == "done" else before)
