"""Typed statistics of checkpoints whose types differ from those of the table."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import deltareplay as dr

TABLES = Path(__file__).resolve().parents[1] / "fixtures/tables"


def test_timestamps_without_a_time_zone() -> None:
    """An old delta-rs wrote ``timestamp[us]`` into ``stats_parsed``, also for instants."""
    snapshot = dr.Table(TABLES / "deltars-checkpoints-vacuumed/table").snapshot()
    batches = list(snapshot.file_batches(columns=["path", "stats_parsed"]))
    files = [file for batch in batches for file in batch.to_pylist()]
    typed = snapshot.files(columns=["path", "stats_parsed"]).to_pylist()
    assert sorted(files, key=lambda file: file["path"]) == sorted(
        typed, key=lambda file: file["path"]
    )
    state = (TABLES / "deltars-checkpoints-vacuumed/expected/v12.json").read_text()
    expected = {file["path"]: json.loads(file["stats"]) for file in json.loads(state)["files"]}
    assert expected
    assert {file["path"]: file["stats_parsed"]["minValues"]["ts"] for file in typed} == {
        path: dt.datetime.fromisoformat(stats["minValues"]["ts"].replace("Z", "+00:00"))
        for path, stats in expected.items()
    }
