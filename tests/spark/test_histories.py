"""Random histories, read by delta-spark and here: the newest version and a random one.

``DELTAREPLAY_HISTORIES`` sets the number of histories; a plain run takes a few.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from property.histories import History, histories
from property.test_replay import thorough
from spark.support.references import Reference, comparable, reference

import deltareplay as dr

pytestmark = pytest.mark.spark
HISTORIES = int(os.environ.get("DELTAREPLAY_HISTORIES", "4"))


@pytest.mark.slow  # many versions of several tables
def test_random_histories_agree_with_delta_spark(spark: Any) -> None:
    checked = 0

    @thorough(HISTORIES)
    @given(history=histories(), data=st.data())
    def agrees(history: History, data: st.DataObject) -> None:
        nonlocal checked
        with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings():
            warnings.simplefilter("ignore", dr.DeltaReplayWarning)
            history.write(Path(directory))
            versions = st.integers(history.earliest, history.latest)
            for version in {history.latest, data.draw(versions)}:
                assert_same(reference(spark, Path(directory), version), directory, version)
        checked += 1

    agrees()
    assert checked >= HISTORIES


def assert_same(expected: Reference, table: str, version: int) -> None:
    snapshot = dr.Table(table).snapshot(version=version)
    assert sorted(map(comparable, snapshot.files().to_pylist())) == expected.files
    assert dict(snapshot.transactions) == expected.transactions
    assert dict(snapshot.domain_metadata) == expected.domains
    assert dict(snapshot.metadata.configuration) == expected.metadata["configuration"]
    assert snapshot.schema_json == expected.metadata["schemaString"]
