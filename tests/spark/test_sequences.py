"""Random sequences of statements, ours and delta-spark's alternating, with equal results.

Two tables begin with the same bytes. A statement is executed by us on one of them and by
delta-spark on the other, the next one the other way round. After each, the tables have the same
rows, changes, commit versions and history, and rows kept or lost the same row ids.

``DELTAREPLAY_SEQUENCES`` sets the number of sequences, ``DELTAREPLAY_STEPS`` their length, and
``DELTAREPLAY_SEED`` the first seed.
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
def test_sequences_of_statements(spark: Any, tmp_path: Path, seed: int) -> None:
    sequence = Sequence(seed)
    paths = [tmp_path / "one", tmp_path / "other"]
    sequence.create(spark, paths[0])
    shutil.copytree(*paths)
    states = [State(spark, path) for path in paths]
    reported = [f"seed {seed}: {sequence.properties}, partitioned by {sequence.partitions}"]
    wrong: list[str] = []
    steps = sequence.steps()
    for number in range(STEPS):
        step = next(steps)
        engines = [Ours, Theirs] if number % 2 == 0 else [Theirs, Ours]
        reported.append(f"{number}: {step.description}")
        if step.is_layout and len({pending_layout_work(path) for path in paths}) > 1:
            reported[-1] += " (left out: one of the tables has nothing to rewrite)"
            continue
        done = [
            outcome(step, engine(spark, path)) for engine, path in zip(engines, paths, strict=True)
        ]
        result = [state.after() for state in states]
        at = engines.index(Ours)
        if (done[0] is None) != (done[1] is None):
            wrong.append(f"{reported[-1]}\nours: {done[at]}\ntheirs: {done[1 - at]}")
            break
        if done[0] is not None:
            reported[-1] += f" (refused: {done[at]})"
        wrong += [
            f"{reported[-1]}\n{aspect}, ours: "
            f"{difference(result[at].get(aspect), result[1 - at].get(aspect))}"
            for aspect in result[0] | result[1]
            if result[0].get(aspect) != result[1].get(aspect)
        ]
        if result[0]["rows"] != result[1]["rows"] or result[0]["versions"] != result[1]["versions"]:
            break
    for path in paths:
        wrong += [str(finding) for finding in dr.Table(path).verify(rows=True).findings]
    assert not wrong, "\n".join([*reported, "WRONG:", *wrong])
    assert states[0].version > 0, "nothing was done"


def difference(ours: Any, theirs: Any) -> str:
    """Return two values, without what they have in common."""
    if isinstance(ours, Counter) and isinstance(theirs, Counter):
        return f"{list((ours - theirs).items())[:3]}, theirs: {list((theirs - ours).items())[:3]}"
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs) == 1:
        return difference(ours[0], theirs[0])
    if isinstance(ours, dict) and isinstance(theirs, dict):
        both = [
            sorted(set(map(repr, item.items())) - set(map(repr, other.items())))
            for item, other in ((ours, theirs), (theirs, ours))
        ]
        return f"{both[0]}, theirs: {both[1]}"
    return f"{ours}, theirs: {theirs}"


def outcome(step: Step, engine: Any) -> str | None:
    """Return the error of a step, if any."""
    try:
        step.run(engine)
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:2000]}"
    return None


class State:
    """The state of a table for readers, step by step."""

    def __init__(self, spark: Any, path: Path) -> None:
        self.spark, self.path = spark, path
        self.version = 0
        self.ids: dict[int, set[int]] = {}
        self.after()

    def after(self) -> dict[str, Any]:
        """Return the effect of the last step."""
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
        result = {
            "versions": self.version - before,
            "rows": rows,
            "protocol": features(snapshot.protocol),
            "properties": dict(snapshot.properties),
            "schema": json.loads(snapshot.schema_json, object_hook=without_physical_name),
            "partitions": snapshot.partition_columns,
        }
        if tracks:
            result |= self._tracked(read)
        if self.version > before:
            result |= self._history(table, before + 1)
            result["feed"] = self._feed(table, before + 1)
        return result

    def _tracked(self, read: Any) -> dict[str, Any]:
        """Return commit versions of rows, and for each key the numbers of kept and new row ids."""
        ids, versions = defaultdict[int, set[int]](set), Counter[tuple[int, int]]()
        for row in read.to_pylist():
            ids[row["id"]].add(row["row_id"])
            versions[row["id"], row["row_commit_version"]] += 1
        assert sum(map(len, ids.values())) == len(set().union(*ids.values())) == read.num_rows
        old, self.ids = self.ids, dict(ids)
        stay = {key: len(own & old.get(key, set())) for key, own in ids.items()}
        return {"commit versions": versions, "row ids that stay": stay}

    def _history(self, table: dr.Table, start: int) -> dict[str, Any]:
        """Return the history of the versions from ``start`` on."""
        reported: dict[str, list[Any]] = {"operations": [], "metrics": []}
        for commit in reversed(table.history(self.version - start + 1).to_pylist()):
            metrics = dict(commit["operationMetrics"] or {})
            reported["operations"].append(
                (commit["operation"], sorted(dict(commit["operationParameters"] or {})))
            )
            reported["metrics"].append(
                {name: value for name, value in metrics.items() if not layout(name)}
            )
        return reported

    def _feed(self, table: dr.Table, start: int) -> Any:
        """Return the rows of the change feed from a version on, as delta-spark and we read it."""
        if table.snapshot().properties.get("delta.enableChangeDataFeed") != "true":
            return None
        reader = self.spark.read.format("delta").option("readChangeFeed", "true")
        try:
            read = reader.option("startingVersion", start).load(str(self.path)).toArrow()
        except Exception as error:  # disabled at first, or other columns
            return type(error).__name__
        read = read.drop(["_commit_timestamp"])
        ours = table.changes(start).to_arrow()
        assert lines(ours.select(read.schema.names)) == lines(read)
        return net(read)


def net(changes: Any) -> dict[str, Counter[str]]:
    """Return changes by their type, without rows that only moved to another file."""
    kinds = {
        kind: lines(changes.filter(pc.field("_change_type") == kind).drop(["_change_type"]))
        for kind in ("insert", "delete", "update_preimage", "update_postimage")
    }
    inserted, deleted = kinds["insert"], kinds["delete"]
    return kinds | {"insert": inserted - deleted, "delete": deleted - inserted}


def pending_layout_work(path: Path) -> tuple[bool, bool]:
    """Return whether a partition has several files, and whether files have deleted rows."""
    files = dr.Table(path).snapshot().files(["partitionValues", "deletionVector"]).to_pylist()
    several = Counter(repr(file["partitionValues"]) for file in files)
    return any(n > 1 for n in several.values()), any(file["deletionVector"] for file in files)


def without_physical_name(fields: dict[str, Any]) -> dict[str, Any]:
    """Return an object of a schema without the random physical name of a new column."""
    return {
        key: field for key, field in fields.items() if key != "delta.columnMapping.physicalName"
    }


def features(protocol: dr.Protocol) -> tuple[Any, ...]:
    """Return the versions and the features, whose order does not matter."""
    named = (protocol.reader_features, protocol.writer_features)
    listed = [None if names is None else sorted(names) for names in named]
    return (protocol.min_reader_version, protocol.min_writer_version, *listed)


def layout(name: str) -> bool:
    """Return whether a metric is about files or time, which differ between both."""
    parts = ("File", "Bytes", "Time", "Vectors", "Copied", "OutputRows", "Size")
    return any(part in name for part in parts)
