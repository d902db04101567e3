"""Truncated, damaged and replaced files: an error with the location, or the right result.

Never a panic, a process that dies, twenty seconds without a response, or a gigabyte of memory.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faults import judge, pool, tables
from faults.mutations import mutate

SLOW = bool(os.environ.get("DELTAREPLAY_SLOW"))
ROUNDS = int(os.environ.get("DELTAREPLAY_MUTATIONS", "300"))
#: The verdicts of valid results.
VALID = ("error", "whole", "changed", "unclear")
REPLACEMENTS = {
    "nothing": b"",
    "zeros": bytes(4096),
    "a magic number": b"PAR1",
    "an empty object": b"{}\n",
    "empty lines": b"\n" * 100,
}
Job = tuple[str, str, bytes, str]  # kind of table, file, its new bytes, kind of damage


class TableCopies:
    """The tables of every kind, one copy per worker, and their original state."""

    def __init__(self, root: Path, workers: int) -> None:
        self.root = root
        self.logs = {}
        self.whole: dict[str, judge.Answer] = {}
        for kind in tables.KINDS:
            for worker in range(workers):
                self.logs[kind] = tables.build(self.path(kind, worker), kind)
            model = judge.replayed(self.logs[kind].commits)
            self.whole[kind] = judge.answer_of(model, tables.LATEST)

    def path(self, kind: str, worker: int) -> Path:
        return self.root / f"{worker}" / kind.replace(" ", "-")

    def log(self, kind: str) -> Path:
        return self.path(kind, 0) / "_delta_log"

    def files(self, kind: str) -> list[str]:
        log = self.log(kind)
        return sorted(str(path.relative_to(log)) for path in log.rglob("*") if path.is_file())

    def content(self, kind: str, name: str) -> bytes:
        return (self.log(kind) / name).read_bytes()


@pytest.fixture(scope="module")
def copies() -> Iterator[TableCopies]:
    root = Path(tempfile.mkdtemp(prefix="damage-"))
    yield TableCopies(root, workers=3)
    shutil.rmtree(root)


def examine(copies: TableCopies, seen: Counter[str]) -> Any:
    """Return the job of a worker thread: damage, read, check, repair."""
    guard = threading.Lock()

    def work(worker: pool.Worker, number: int, job: Job) -> str | None:
        kind, name, content, mutation = job
        table = copies.path(kind, number + 1)
        path = table / "_delta_log" / name
        whole = path.read_bytes()
        path.write_bytes(content)
        try:
            answer = worker.ask(str(table))
            verdict = verdict_of(copies, kind, name, content, answer)
        finally:
            path.write_bytes(whole)
        with guard:
            seen[verdict if verdict in VALID else "wrong"] += 1
        if verdict in VALID:
            return None
        keep = os.environ.get("DELTAREPLAY_KEEP")
        if keep:
            target = Path(keep) / f"{kind}-{seen['wrong']}-{number}"
            shutil.copytree(table, target, dirs_exist_ok=True)
            (target / "_delta_log" / name).write_bytes(content)
            verdict += f" [kept in {target}]"
        return f"{kind}, {name}, {mutation}: {verdict}"

    return work


def verdict_of(
    copies: TableCopies,
    kind: str,
    name: str,
    content: bytes,
    answer: judge.Answer,
) -> str:
    """Return ``error``, ``whole``, ``changed`` or ``unclear`` if valid; otherwise the failure."""
    if "untyped" in answer:
        return str(answer["untyped"])
    is_commit = name[20:] == ".json"
    if "error" in answer:
        if name == "_last_checkpoint":
            return f"the hint is never needed, yet: {answer['message']}"
        if not (answer["code"] and answer["message"]):
            return f"an error without a code or a message: {answer}"
        return "error"
    if judge.same(answer, copies.whole[kind]):
        if not is_commit or replaced_by_another(kind, int(name[:20])):
            return "whole"
        if judge.silent_change(copies.content(kind, name), content):
            return "whole"
    if name == "_last_checkpoint":
        return f"the hint changed the answer to {answer}"
    try:
        model = judge.replayed(reread(copies, kind, name, content))
        if kind == "checksum":  # it has both, and either may be used first
            model.protocol = model.protocol or copies.logs[kind].state().protocol
            model.metadata = model.metadata or copies.logs[kind].state().metadata
        expected = judge.answer_of(model, tables.LATEST)
    except judge.Unclear:
        return "unclear"
    except judge.Malformed as error:
        return f"{error}: only an error is valid, but: {difference(answer, copies.whole[kind])}"
    if judge.same(answer, expected):
        return "changed"
    return (
        f"neither the original state nor that of the changed file: {difference(answer, expected)}"
    )


def replaced_by_another(kind: str, version: int) -> bool:
    """Return whether a compacted file or a checkpoint replaces the commit when reading."""
    if kind == "compacted":
        return 2 <= version <= 5
    return kind not in ("commits", "checksum") and version <= tables.CHECKPOINT


def reread(copies: TableCopies, kind: str, name: str, content: bytes) -> list[list[dict[str, Any]]]:
    """Return the commits; the changed file replaces those that it contains."""
    commits = copies.logs[kind].commits
    if name[20:] == ".json":
        version = int(name[:20])
        return [*commits[:version], judge.actions_of(content), *commits[version + 1 :]]
    if name.endswith(".compacted.json"):
        return [*commits[:2], judge.actions_of(content), *commits[6:]]
    if name.endswith(".crc"):
        raise judge.Malformed("a checksum changes no answer")
    if name.endswith(".json"):  # the manifest of a V2 checkpoint; its sidecars are intact
        rows = judge.actions_of(content)
        named = [row["sidecar"].get("path") for row in rows if "sidecar" in row]
        sidecars = [name for name in copies.files(kind) if Path(name).name in named]
        inline = [row for row in rows if "sidecar" not in row]
        result = [inline, *(pyarrow_rows(copies.log(kind) / name) for name in sidecars)]
        return [*result, *commits[tables.CHECKPOINT + 1 :]]
    result = []
    for other in copies.files(kind):  # the changed file and its unchanged neighbours
        if other == name:
            with tempfile.TemporaryDirectory() as directory:
                path = Path(directory) / "changed.parquet"
                path.write_bytes(content)
                result.append(pyarrow_rows(path))
        elif other.endswith(".parquet"):
            result.append(pyarrow_rows(copies.log(kind) / other))
        elif ".checkpoint." in other:
            result.append(judge.actions_of(copies.content(kind, other)))
    return [*result, *commits[tables.CHECKPOINT + 1 :]]


def pyarrow_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows that pyarrow reads from a file, in a separate process."""
    reader = pool.Worker()
    try:
        answer = reader.ask(str(path))
    finally:
        reader.close()
    if "rows" not in answer:
        raise judge.Malformed(f"pyarrow refuses the file: {answer}")
    rows: list[dict[str, Any]] = answer["rows"]
    return rows


def difference(answer: judge.Answer, expected: judge.Answer) -> str:
    """Return the first field that differs, truncated."""
    for name, value in expected.items():
        result = answer.get(name)
        if result == value:
            continue
        if isinstance(value, list) and isinstance(result, list):
            missing = [item for item in value if item not in result][:1]
            extra = [item for item in result if item not in value][:1]
            lacks, has = str(missing)[:150], str(extra)[:150]
            return f"{name}: {len(result)} for {len(value)}, missing {lacks}, extra {has}"
        return f"{name}: got {str(result)[:150]}, expected {str(value)[:150]}"
    return f"nothing differs: {str(answer)[:200]}"


def run(copies: TableCopies, jobs: list[Job]) -> Counter[str]:
    seen: Counter[str] = Counter()
    failures = pool.run_jobs(jobs, examine(copies, seen))
    assert not failures, f"{len(failures)} of {len(jobs)}:\n" + "\n".join(failures[:20])
    assert seen.total() == len(jobs)
    return seen


def test_undamaged_tables_agree_with_the_model(copies: TableCopies) -> None:
    worker = pool.Worker()
    for kind in tables.KINDS:
        answer = worker.ask(str(copies.path(kind, 0)))
        assert judge.same(answer, copies.whole[kind]), difference(answer, copies.whole[kind])
        assert answer["warnings"] == []
    worker.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", tables.KINDS)
def test_truncated_files(copies: TableCopies, kind: str) -> None:
    """Test about 120 prefixes of each text file, and 60 of each Parquet file."""
    jobs: list[Job] = []
    for name in copies.files(kind):
        content = copies.content(kind, name)
        if name[20:] == ".json" and kind != "commits" and int(name[:20]) != tables.LATEST:
            continue  # the same commits are in every table
        text = not name.endswith(".parquet")
        step = max(1, len(content) // (120 if text else 60))
        cuts = {*range(0, len(content), step), *range(max(0, len(content) - 12), len(content))}
        if text:  # around the ends of lines, where a truncation is hardest to detect
            ends = [at + d for at, c in enumerate(content) if c == 10 for d in (-1, 0, 1)]
            cuts.update(cut for cut in ends if cut < len(content))
        jobs += [(kind, name, content[:cut], f"cut at {cut}") for cut in sorted(cuts)]
    assert len(jobs) > 20
    seen = run(copies, jobs)
    assert seen["unclear"] < 0.1 * len(jobs)


def mutations(copies: TableCopies, rounds: int, seed: int) -> list[Job]:
    """Return random damage to files of all tables; in at least 70 % of cases, not to commits."""
    rng = random.Random(seed)
    files = [(kind, name) for kind in tables.KINDS for name in copies.files(kind)]
    others = [(kind, name) for kind, name in files if name[20:] != ".json"]
    jobs = []
    for number in range(rounds):
        kind, name = rng.choice(others if rng.random() < 0.7 else files)
        content = copies.content(kind, name)
        jobs.append((kind, name, mutate(content, rng), f"mutation {number} of seed {seed}"))
    return jobs


def test_random_mutations(copies: TableCopies) -> None:
    seed = int(os.environ.get("DELTAREPLAY_SEED", "20261"))
    seen = run(copies, mutations(copies, ROUNDS, seed))
    assert seen["error"]
    assert seen["whole"]
    assert seen["changed"]
    assert seen["unclear"] < 0.1 * ROUNDS


@pytest.mark.slow
@pytest.mark.skipif(not SLOW, reason="takes minutes: set DELTAREPLAY_SLOW=1")
def test_ten_thousand_random_mutations(copies: TableCopies) -> None:
    seen = run(copies, mutations(copies, 10_000, 7))
    assert seen["error"]
    assert seen["whole"]
    assert seen["changed"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", tables.KINDS)
@pytest.mark.parametrize("replacement", REPLACEMENTS)
def test_every_file_replaced(copies: TableCopies, kind: str, replacement: str) -> None:
    content = REPLACEMENTS[replacement]
    run(
        copies, [(kind, name, content, f"replaced by {replacement}") for name in copies.files(kind)]
    )
