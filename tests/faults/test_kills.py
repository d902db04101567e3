"""A writing process is killed again and again; each time the table is consistent.

``DELTAREPLAY_KILLS`` sets how often.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
from faults import shim
from faults.mixer import Rows, applied

import deltareplay as dr

KILLS = int(os.environ.get("DELTAREPLAY_KILLS", "12"))
SEED = int(os.environ.get("DELTAREPLAY_SEED", "20263"))
MIXER = Path(__file__).with_name("mixer.py")
KILLS_PER_TABLE = 25
SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.int64())])


def create_table(root: Path, rng: random.Random) -> dr.Table:
    properties = {"delta.checkpointInterval": str(rng.choice([3, 10]))}
    if rng.random() < 0.5:
        properties["delta.enableDeletionVectors"] = "true"
    if rng.random() < 0.5:
        properties["delta.checkpointPolicy"] = "v2"
    return dr.create_table(root, SCHEMA, properties=properties)


def steps(log: Path) -> list[dict[str, Any]]:
    """Return the steps of one process: completed ones have a version, or None for maintenance."""
    result: list[dict[str, Any]] = []
    for line in log.read_text().splitlines():
        entry = json.loads(line)
        if "begin" in entry:
            result.append(entry)
        else:
            result[-1].update(done=True, version=entry["version"])
    return result


def assert_valid(table: dr.Table) -> None:
    findings = table.verify().findings
    errors = [
        f"{finding.path}: {finding.message}" for finding in findings if finding.severity == "error"
    ]
    assert not errors, "\n".join(errors)


def test_every_kill_leaves_a_consistent_table() -> None:
    rng, seen = random.Random(SEED), Counter[str]()
    slowness = 1  # of this machine: a process that is killed too early commits nothing
    with tempfile.TemporaryDirectory(dir=shim.memory()) as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore", dr.DeltaReplayWarning)
        process = subprocess.Popen(
            [sys.executable, str(MIXER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdin is not None
        assert process.stdout is not None
        table, rows, version = create_table(Path(directory) / "t0", rng), Rows(), 0
        for number in range(KILLS):
            if number and number % KILLS_PER_TABLE == 0:
                assert_valid(table)
                table, rows, version = create_table(Path(directory) / f"t{number}", rng), Rows(), 0
            log = Path(directory) / f"log{number}"
            log.touch()
            root = table.uri.removeprefix("file://")
            job = {"table": root, "seed": number + 1, "log": str(log)}
            job["after"] = rng.uniform(0.02, 0.4) * slowness
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            ended = json.loads(process.stdout.readline())
            assert ended["signal"] == 9, "the process was not killed: see the captured errors"

            expected = rows
            for step in steps(log):
                rows, before = applied(rows, step), rows
                if "done" in step:
                    expected = rows
                    version = max(version, step["version"] or 0)
                    seen["acknowledged"] += 1
                else:
                    expected = before
                    seen[f"killed in {step['kind']}"] += 1
            snapshot = table.snapshot()
            listed = snapshot.scan().to_arrow().to_pylist()
            result = {row["id"]: row["v"] for row in listed}
            where = f"kill {number} (seed {SEED}): {steps(log)[-1:]}"
            assert len(listed) == len(result), f"duplicate rows: {where}"
            assert snapshot.version >= version, f"an acknowledged version is gone: {where}"
            assert result in (expected, rows), f"neither the old rows nor the new ones: {where}"
            rows, version = result, snapshot.version
            if seen["acknowledged"] <= (number + 1) / 4:
                slowness *= 2
        process.stdin.close()
        process.wait(timeout=30)
        process.stdout.close()
        assert_valid(table)
    print(f"{KILLS} kills, {dict(seen)}")
    assert seen["acknowledged"] > KILLS / 4
