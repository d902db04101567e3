"""Random sequences of statements, ours and delta-spark's in turn: nobody can tell who did which.

Two tables begin with the same bytes. A statement is done by us on one of them and by delta-spark on
the other, the next one the other way round. After each, the tables have the same rows, changes,
commit versions and history, and rows kept or lost the same row ids.

``DELTAREPLAY_SEQUENCES`` says how many sequences, ``DELTAREPLAY_STEPS`` how long, and
``DELTAREPLAY_SEED`` where they begin.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
from spark.support.sequences import Ours, Sequence, Step, Theirs
from spark.test_write import lines

import deltareplay as dr

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SEQUENCES = int(os.environ.get("DELTAREPLAY_SEQUENCES", "1"))
STEPS = int(os.environ.get("DELTAREPLAY_STEPS", "5"))
SEED = int(os.environ.get("DELTAREPLAY_SEED", "20270"))


@pytest.mark.parametrize("seed", range(SEED, SEED + SEQUENCES))
def test_statements_in_turn(spark: Any, tmp_path: Path, seed: int) -> None:
    sequence = Sequence(seed)
    paths = [tmp_path / "one", tmp_path / "other"]
    sequence.create(spark, paths[0])
    shutil.copytree(*paths)
    states = [State(spark, path) for path in paths]
    told = [f"seed {seed}: {sequence.properties}, partitioned by {sequence.partitions}"]
    wrong: list[str] = []
    steps = sequence.steps()
    for number in range(STEPS):
        step = next(steps)
        engines = [Ours, Theirs] if number % 2 == 0 else [Theirs, Ours]
        told.append(f"{number}: {step.told}")
        if step.is_layout and len({leaves_work(path) for path in paths}) > 1:
            told[-1] += " (left out: one of the tables has nothing to rewrite)"
            continue
        done = [
            outcome(step, engine(spark, path)) for engine, path in zip(engines, paths, strict=True)
        ]
        found = [state.after() for state in states]
        at = engines.index(Ours)
        if (done[0] is None) != (done[1] is None):
            wrong.append(f"{told[-1]}\nours: {done[at]}\ntheirs: {done[1 - at]}")
            break
        if done[0] is not None:
            told[-1] += f" (refused: {done[at]})"
        wrong += [
            f"{told[-1]}\n{what}, ours: {difference(found[at].get(what), found[1 - at].get(what))}"
            for what in found[0] | found[1]
            if found[0].get(what) != found[1].get(what)
        ]
        if found[0]["rows"] != found[1]["rows"] or found[0]["versions"] != found[1]["versions"]:
            break
    for path in paths:
        wrong += [str(one) for one in dr.Table(path).verify(rows=True).findings]
    assert not wrong, "\n".join([*told, "WRONG:", *wrong])
    assert states[0].version > 0, "nothing was done"


def difference(ours: Any, theirs: Any) -> str:
    """Two values, without what they share."""
    if isinstance(ours, Counter) and isinstance(theirs, Counter):
        return f"{list((ours - theirs).items())[:3]}, theirs: {list((theirs - ours).items())[:3]}"
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs) == 1:
        return difference(ours[0], theirs[0])
    if isinstance(ours, dict) and isinstance(theirs, dict):
        both = [
            sorted(set(map(repr, one.items())) - set(map(repr, other.items())))
            for one, other in ((ours, theirs), (theirs, ours))
        ]
        return f"{both[0]}, theirs: {both[1]}"
    return f"{ours}, theirs: {theirs}"


def outcome(step: Step, engine: Any) -> str | None:
    """What went wrong, if something did."""
    try:
        step.run(engine)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:2000]}"
    return None


class State:
    """What readers see of a table, step by step."""

    def __init__(self, spark: Any, path: Path) -> None:
        self.spark, self.path = spark, path
        self.version = 0
        self.ids: dict[int, set[int]] = {}
        self.after()

    def after(self) -> dict[str, Any]:
        """What the last step has done."""
        table = dr.Table(self.path)
        snapshot = table.snapshot()
        before, self.version = self.version, snapshot.version
        theirs = self.spark.read.format("delta").load(str(self.path))
        tracks = snapshot.properties.get("delta.enableRowTracking") == "true"
        columns = theirs.columns
        if tracks:
            theirs = theirs.select("*", "_metadata.row_id", "_metadata.row_commit_version")
        read = theirs.toArrow()
        rows = lines(read.select(columns))
        assert lines(snapshot.scan().to_arrow()) == rows
        found = {
            "versions": self.version - before,
            "rows": rows,
            "protocol": features(snapshot.protocol),
            "properties": dict(snapshot.properties),
            "schema": json.loads(snapshot.schema_json, object_hook=without_physical_name),
            "partitions": snapshot.partition_columns,
        }
        if tracks:
            found |= self._tracked(read)
        if self.version > before:
            found |= self._told(table, before + 1)
            found["feed"] = self._feed(table, before + 1)
        return found

    def _tracked(self, read: Any) -> dict[str, Any]:
        """Commit versions of rows, and for each key how many row ids stayed and how many came."""
        ids, versions = defaultdict[int, set[int]](set), Counter[tuple[int, int]]()
        for row in read.to_pylist():
            ids[row["id"]].add(row["row_id"])
            versions[row["id"], row["row_commit_version"]] += 1
        assert sum(map(len, ids.values())) == len(set().union(*ids.values())) == read.num_rows
        old, self.ids = self.ids, dict(ids)
        stay = {key: len(own & old.get(key, set())) for key, own in ids.items()}
        return {"commit versions": versions, "row ids that stay": stay}

    def _told(self, table: dr.Table, start: int) -> dict[str, Any]:
        """The history of the versions from ``start`` on."""
        told: dict[str, list[Any]] = {"operations": [], "metrics": []}
        for commit in reversed(table.history(self.version - start + 1).to_pylist()):
            metrics = dict(commit["operationMetrics"] or {})
            told["operations"].append(
                (commit["operation"], sorted(dict(commit["operationParameters"] or {})))
            )
            told["metrics"].append(
                {name: value for name, value in metrics.items() if not layout(name)}
            )
        return told

    def _feed(self, table: dr.Table, start: int) -> Any:
        """The rows of the change feed from a version on, as delta-spark and we read it."""
        if table.snapshot().properties.get("delta.enableChangeDataFeed") != "true":
            return None
        reader = self.spark.read.format("delta").option("readChangeFeed", "true")
        try:
            read = reader.option("startingVersion", start).load(str(self.path)).toArrow()
        except Exception as error:  # off at first, or other columns
            return type(error).__name__
        read = read.drop(["_commit_timestamp"])
        ours = table.changes(start).to_arrow()
        assert lines(ours.select(read.schema.names)) == lines(read)
        return net(read)


def net(changes: Any) -> dict[str, Counter[str]]:
    """Changes by their type, without rows that went with one file and came with another."""
    kinds = {
        kind: lines(changes.filter(pc.field("_change_type") == kind).drop(["_change_type"]))
        for kind in ("insert", "delete", "update_preimage", "update_postimage")
    }
    came, went = kinds["insert"], kinds["delete"]
    return kinds | {"insert": came - went, "delete": went - came}


def leaves_work(path: Path) -> tuple[bool, bool]:
    """Whether a partition has several files, and whether rows of files are deleted."""
    files = dr.Table(path).snapshot().files(["partitionValues", "deletionVector"]).to_pylist()
    several = Counter(repr(file["partitionValues"]) for file in files)
    return any(n > 1 for n in several.values()), any(file["deletionVector"] for file in files)


def without_physical_name(fields: dict[str, Any]) -> dict[str, Any]:
    """An object of a schema without the name that a new column gets by chance."""
    return {key: one for key, one in fields.items() if key != "delta.columnMapping.physicalName"}


def features(protocol: dr.Protocol) -> tuple[Any, ...]:
    """The versions and the features, whose order means nothing."""
    named = (protocol.reader_features, protocol.writer_features)
    listed = [None if names is None else sorted(names) for names in named]
    return (protocol.min_reader_version, protocol.min_writer_version, *listed)


def layout(name: str) -> bool:
    """Whether a metric tells of files, or of time, which are not the same in both."""
    parts = ("File", "Bytes", "Time", "Vectors", "Copied", "OutputRows", "Size")
    return any(part in name for part in parts)
