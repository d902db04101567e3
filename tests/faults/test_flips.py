"""Flips single bytes of every kind of file.

A reader must not panic, hang, or raise an error without a class; and with ``verify=True`` it must
not return another result, except where no checksum can detect the change.

A plain run flips a sample. ``DELTAREPLAY_SLOW=1`` flips every byte, in four ways.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from faults import flips, judge, pool
from faults.test_damage import pyarrow_rows
from support import logs

SLOW = bool(os.environ.get("DELTAREPLAY_SLOW"))
SAMPLE = int(os.environ.get("DELTAREPLAY_FLIPS", "12"))
WORKERS = 2
BATCH = 40
Job = tuple[str, int, list[int]]  # kind of table, number of the file, offsets


class TableCopies:
    """A table of each kind for each worker."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.logs: dict[str, logs.LogBuilder] = {}
        for kind in flips.KINDS:
            for worker in range(WORKERS):
                self.logs[kind] = flips.build(self.table(kind, worker), kind)

    def table(self, kind: str, worker: int) -> Path:
        return self.root / str(worker) / kind.replace(" ", "-")

    def files(self, kind: str, worker: int = 0) -> list[Path]:
        return flips.files(self.table(kind, worker), kind)


@pytest.fixture(scope="module")
def copies() -> Iterator[TableCopies]:
    root = Path(tempfile.mkdtemp(prefix="flips-"))
    yield TableCopies(root)
    shutil.rmtree(root)


def worker() -> pool.Worker:
    # a batch is hundreds of reads, and the machine may be busy
    return pool.Worker(Path(__file__).with_name("flip_worker.py"), timeout=60)


def ask(process: pool.Worker, **request: Any) -> dict[str, Any]:
    return process.ask(json.dumps(request))


def test_undamaged_tables_agree_with_the_model(copies: TableCopies) -> None:
    process = worker()
    for kind, log in copies.logs.items():
        model = judge.replayed(log.commits)
        expected = judge.answer_of(model, flips.LATEST)
        expected.pop("protocol")
        result = ask(process, table=str(copies.table(kind, 0)))
        assert judge.same(result, expected), (kind, result)
        assert result["totals"] == [3, sum(file["size"] for file in result["files"]), 4]
        assert sorted((row["d"], row["id"]) for row in result["rows"]) == [
            ("c", 2),
            ("d", 2),
            ("d", 3),
            ("e", 1),
        ]
    process.close()


def jobs(copies: TableCopies, kinds: Iterable[str], sample: int | None) -> Iterator[Job]:
    """Yield all offsets of all files, or a sample of each."""
    rng = random.Random(20262)
    for kind in kinds:
        for number, path in enumerate(copies.files(kind)):
            offsets = list(range(path.stat().st_size))
            if sample is not None and sample < len(offsets):
                offsets = sorted(rng.sample(offsets, sample))
            for start in range(0, len(offsets), BATCH):
                yield kind, number, offsets[start : start + BATCH]


def run(copies: TableCopies, all_jobs: list[Job], values: list[int | str]) -> Counter[str]:
    seen: Counter[str] = Counter()
    guard = threading.Lock()

    def work(process: pool.Worker, number: int, job: Job) -> str | None:
        kind, which, offsets = job
        path = copies.files(kind, number)[which]
        whole = path.read_bytes()
        request = {"table": str(copies.table(kind, number)), "file": str(path), "values": values}
        try:
            result = ask(process, offsets=offsets, **request)
            if "untyped" in result:  # find the byte
                path.write_bytes(whole)
                singly = ((offset, ask(process, offsets=[offset], **request)) for offset in offsets)
                bad = next((item for item in singly if "untyped" in item[1]), (offsets, result))
                return f"{kind}, {path.name}, byte {bad[0]}: {bad[1]['untyped']}"
        finally:
            path.write_bytes(whole)
        failures = []
        for offset, value, wrong, names in result["wrong"]:
            verdict = failure_of(copies, kind, path, whole, offset, value, wrong, names)
            if verdict:
                failures.append(f"byte {offset}, {value!r}: {verdict}")
        with guard:
            seen.update(result["counts"])
        return f"{kind}, {path.name}: " + "\n   ".join(failures) if failures else None

    failures = pool.run_jobs(all_jobs, work, workers=WORKERS, make=worker)
    assert not failures, f"{len(failures)}:\n" + "\n".join(failures[:20])
    return seen


def failure_of(
    copies: TableCopies,
    kind: str,
    path: Path,
    whole: bytes,
    offset: int,
    value: int | str,
    wrong: Any,
    names: list[str],
) -> str | None:
    """Return None if the difference is not covered by a checksum and agrees with the file."""
    if "untyped" in wrong:
        return str(wrong["untyped"])
    if not flips.UNCOVERED.issuperset(names):
        return f"{names} have changed, which the checksum covers: {str(wrong)[:300]}"
    content = whole[:offset] + bytes([flips.flipped(whole[offset], value)]) + whole[offset + 1 :]
    try:
        expected = judge.answer_of(
            judge.replayed(reread(copies, kind, path, content)), flips.LATEST
        )
    except judge.Unclear:
        return None
    except judge.Malformed as error:
        if path.suffix == ".parquet":
            return None  # levels of a page that pyarrow counts, but not arrow-rs
        return f"an answer, though {error}"
    if wrong["removed"] != expected["removed"]:
        return f"removed is {str(wrong['removed'])[:200]}, the file says {expected['removed']}"
    return None


def reread(
    copies: TableCopies, kind: str, path: Path, content: bytes
) -> list[list[dict[str, Any]]]:
    """Return the commits; the changed file replaces those that it contains."""
    commits = copies.logs[kind].commits
    if path.name.endswith(".compacted.json"):
        return [commits[0], judge.actions_of(content), commits[4]]
    if kind == "commits" and path.suffix == ".json":
        version = int(path.stem)
        return [*commits[:version], judge.actions_of(content), *commits[version + 1 :]]
    if path.suffix == ".json":  # a manifest, whose sidecar is intact
        [sidecar] = (path.parent / "_sidecars").iterdir()
        return [
            judge.actions_of(content),
            pyarrow_rows(sidecar),
            *commits[flips.CHECKPOINT + 1 :],
        ]
    if path.suffix == ".parquet":
        with tempfile.TemporaryDirectory() as directory:
            changed = Path(directory) / "changed.parquet"
            changed.write_bytes(content)
            rows = pyarrow_rows(changed)
        log = copies.table(kind, 0) / "_delta_log"
        others = [other for other in log.rglob("*.parquet") if other.name != path.name]
        result = [rows, *(pyarrow_rows(other) for other in others)]
        result += [
            judge.actions_of(other.read_bytes()) for other in log.glob("*.checkpoint.*.json")
        ]
        return [*result, *commits[flips.CHECKPOINT + 1 :]]
    raise judge.Malformed(f"{path.name} changes no answer")


def test_some_bytes_of_every_file(copies: TableCopies) -> None:
    all_jobs = list(jobs(copies, flips.KINDS, SAMPLE))
    seen = run(copies, all_jobs, [0x01, 0x80])
    assert {kind for kind, _, _ in all_jobs} == set(flips.KINDS)
    assert seen["untyped, plain"] == seen["untyped, verified"] == 0
    for kind in ("error, plain", "whole, plain", "changed, plain", "error, verified"):
        assert seen[kind], seen


@pytest.mark.slow
@pytest.mark.skipif(not SLOW, reason="takes half an hour: set DELTAREPLAY_SLOW=1")
@pytest.mark.parametrize("kind", flips.KINDS)
def test_all_bytes_of_every_file(kind: str, copies: TableCopies) -> None:
    seen = run(copies, list(jobs(copies, [kind], None)), list(flips.VALUES))
    print(kind, dict(seen))
    assert seen["untyped, plain"] == seen["untyped, verified"] == 0


@pytest.mark.parametrize("kind", flips.KINDS)
def test_only_the_checksum_detects_a_changed_size(kind: str, tmp_path: Path) -> None:
    process = worker()
    flips.build(tmp_path, kind)
    last = tmp_path / "_delta_log" / logs.commit_name(flips.LATEST)
    last.write_bytes(last.read_bytes().replace(b'"size":', b'"size":1', 1))
    assert "error" in ask(process, table=str(tmp_path))
    (tmp_path / "_delta_log" / logs.checksum_name(flips.LATEST)).unlink()
    assert "files" in ask(process, table=str(tmp_path))
    process.close()
