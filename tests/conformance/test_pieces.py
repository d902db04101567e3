"""The pieces of a replay contain the files of every table of the suite."""

from __future__ import annotations

import warnings

import pytest
from conformance import suite
from property.test_pieces import reconciled, replayed, texts

import deltareplay as dr

# the suite's own runner leaves files to the garbage collector
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

CASES = [case for case in suite.cases() if case.expected["expect"] == "ok"]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_pieces_contain_the_files(case: suite.Case) -> None:
    with suite.table_of(case) as path, warnings.catch_warnings():
        warnings.simplefilter("ignore", dr.DeltaReplayWarning)
        snapshot = dr.Table(path).snapshot()
        expected = texts(snapshot.files().to_pylist())
        assert texts(replayed(snapshot.replay_plan(piece_size=4000))) == expected
        assert texts(reconciled(snapshot.replay_plan(piece_size=4000, keyed=True))) == expected
