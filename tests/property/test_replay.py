"""Replay compared with a simple model, over random histories stored in random ways."""

from __future__ import annotations

import json
import os
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from property.histories import CHECKPOINTS, CORRECT_HINTS, HINTS, LEFTOVERS, History, histories
from property.model import Model, key
from support import logs
from support.actions import PLAIN_FIELDS

import deltareplay as dr

EXAMPLES = int(os.environ.get("DELTAREPLAY_EXAMPLES", "100"))
VECTOR = ["storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality"]

#: Marks a test of what the properties covered: `make test` tries too few examples for it.
of_all_examples = pytest.mark.skipif(EXAMPLES < 100, reason="few examples: DELTAREPLAY_EXAMPLES")

seen: Counter[str] = Counter()


def thorough(examples: int = EXAMPLES) -> settings:
    """Return settings for this many examples, without health checks: writing files takes time."""
    return settings(
        max_examples=examples,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )


def repeat_until(covered: Callable[[], bool], test: Callable[[], None]) -> None:
    """Repeat a property test with other seeds until it has covered every kind.

    One run may miss a kind, and in CI every run is the same.
    """
    for number in range(20):
        if covered():
            return
        seed(number)(test)()
    assert covered(), "20 more runs did not cover every kind"


@contextmanager
def written(history: History) -> Iterator[str]:
    """Write the history as a table in a temporary directory."""
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore", dr.DeltaReplayWarning)
        history.write(Path(directory))
        yield directory


def found_files(snapshot: dr.Snapshot) -> list[str]:
    columns = [*PLAIN_FIELDS, "partitionValues", "stats", "tags", "deletionVector", "numRecords"]
    rows = snapshot.files(columns=columns).to_pylist()
    return sorted(repr((_file(row), row["numRecords"])) for row in rows)


def modelled_files(model: Model) -> list[str]:
    return sorted(
        repr((_file(body), json.loads(body["stats"])["numRecords"] if "stats" in body else None))
        for body in model.files.values()
    )


def _file(body: dict[str, Any]) -> list[Any]:
    vector = body.get("deletionVector")
    stats = body.get("stats")
    return [
        *(body.get(name) for name in PLAIN_FIELDS),
        _sorted(body["partitionValues"]),
        _sorted(body.get("tags")),
        [vector.get(name) for name in VECTOR] if vector else None,
        json.dumps(json.loads(stats), sort_keys=True) if stats else None,
    ]


def _sorted(values: Any) -> str:
    """Return a map from Arrow or JSON as text; an absent one equals an empty one."""
    return json.dumps(dict(values or {}), sort_keys=True)


def assert_agrees(snapshot: dr.Snapshot, history: History, version: int) -> None:
    """Compare a whole snapshot with the model."""
    model = history.model(version)
    assert model.metadata is not None
    assert model.protocol is not None
    assert snapshot.version == version
    assert dict(snapshot.metadata.configuration) == model.metadata["configuration"]
    assert snapshot.metadata.name == model.metadata.get("name")
    assert snapshot.schema_json == model.metadata["schemaString"]
    assert sorted(snapshot.protocol.writer_features) == sorted(model.protocol["writerFeatures"])
    assert snapshot.num_files == len(model.files)
    assert snapshot.size_in_bytes == sum(body["size"] for body in model.files.values())
    assert found_files(snapshot) == modelled_files(model)
    tombstones = snapshot.tombstones().to_pylist()
    assert sorted(repr((key(row), row["deletionTimestamp"])) for row in tombstones) == sorted(
        repr((key(body), body["deletionTimestamp"]))
        for body in model.tombstones(int(time.time() * 1000))
    )
    transactions = {app: body["version"] for app, body in model.txns.items()}
    assert dict(snapshot.transactions) == transactions
    assert dict(snapshot.domain_metadata) == model.live_domains()


@thorough()
@given(history=histories(), data=st.data())
def test_a_snapshot_agrees_with_the_model(history: History, data: st.DataObject) -> None:
    versions = st.integers(history.earliest, history.latest)
    with written(history) as table:
        assert_agrees(dr.Table(table).snapshot(), history, history.latest)
        for version in {data.draw(versions), data.draw(versions)}:
            assert_agrees(dr.Table(table).snapshot(version=version), history, version)
    seen.update(checkpoint.kind for checkpoint in history.checkpoints)
    seen.update([history.hint, *history.leftovers])
    seen["compacted"] += bool(history.compactions)
    seen["checksum"] += bool(history.checksums)
    seen["cleaned"] += history.cleaned
    seen["tombstones"] += bool(history.model(history.latest).removed)


@thorough(EXAMPLES // 2)
@given(history=histories(), data=st.data())
def test_an_update_equals_a_fresh_snapshot(history: History, data: st.DataObject) -> None:
    start = data.draw(st.integers(history.earliest, history.latest))
    replayed_first = data.draw(st.booleans())
    with written(history) as table:
        before = dr.Table(table).snapshot(version=start)
        if replayed_first:
            before.files()
        assert_agrees(before.update(), history, history.latest)
        assert_agrees(before, history, start)


@thorough(EXAMPLES // 3)
@given(history=histories(), data=st.data())
def test_an_update_sees_commits_as_they_arrive(history: History, data: st.DataObject) -> None:
    """The files appear one version at a time, checkpoints and compacted files as written."""
    with tempfile.TemporaryDirectory() as whole, written(history) as table:
        log, source = Path(table) / "_delta_log", Path(whole) / "_delta_log"
        log.rename(source)
        log.mkdir()
        (source / "_last_checkpoint").unlink(missing_ok=True)
        if (source / "_sidecars").exists():
            (source / "_sidecars").rename(log / "_sidecars")
        files = sorted(path for path in source.iterdir() if path.is_file())
        commits = [path for path in files if path.name[20:] == ".json"]
        snapshot = None
        for commit in commits:
            version = int(commit.name[:20])
            for path in files:
                if path.name[:1] != "." and _version(path.name) == version and path.exists():
                    path.rename(log / path.name)
            if snapshot is None:
                snapshot = dr.Table(table).snapshot()
            elif data.draw(st.booleans()):
                snapshot = snapshot.update()
                assert_agrees(snapshot, history, version)
        assert snapshot is not None
        assert_agrees(snapshot.update(), history, history.latest)


def _version(name: str) -> int:
    """Return the version at which a file can exist: a compacted file needs its last commit."""
    return int(name[21:41]) if name.endswith(".compacted.json") else int(name[:20])


@thorough(EXAMPLES // 3)
@given(history=histories())
def test_a_valid_log_causes_no_warning(history: History) -> None:
    history.leftovers.clear()
    history.hint = history.hint if history.hint in CORRECT_HINTS else "newest"
    # a commit without actions is an empty file, which causes a warning
    history.commits = [actions or [logs.commit_info()] for actions in history.commits]
    with written(history) as table:
        snapshot = dr.Table(table).snapshot(strict=True)
        assert_agrees(snapshot, history, history.latest)
        assert list(snapshot.warnings) == []


@thorough(EXAMPLES // 3)
@given(history=histories())
def test_history_has_a_row_for_every_commit(history: History) -> None:
    with written(history) as table:
        rows = dr.Table(table).history().to_pylist()
        versions = range(history.latest, history.earliest - 1, -1)
        assert [row["version"] for row in rows] == list(versions)
        for row in rows:
            infos = [a["commitInfo"] for a in history.commits[row["version"]] if "commitInfo" in a]
            assert row["operation"] == (infos[0]["operation"] if infos else None)


@of_all_examples
def test_the_histories_were_of_every_kind() -> None:
    """Runs after the properties and checks their coverage."""
    others = ("compacted", "checksum", "cleaned", "tombstones")
    kinds = [*CHECKPOINTS, *HINTS, *LEFTOVERS, *others]
    repeat_until(lambda: all(seen[kind] for kind in kinds), test_a_snapshot_agrees_with_the_model)
