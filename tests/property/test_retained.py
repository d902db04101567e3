"""Every retained version of random histories, compared with the model.

``DELTAREPLAY_HISTORIES`` sets the number of histories.
"""

from __future__ import annotations

import os

from hypothesis import given
from property.histories import History, histories
from property.test_replay import assert_agrees, thorough, written

import deltareplay as dr

HISTORIES = int(os.environ.get("DELTAREPLAY_HISTORIES", "25"))


@thorough(HISTORIES)
@given(history=histories())
def test_every_retained_version_agrees_with_the_model(history: History) -> None:
    with written(history) as table:
        for version in range(history.earliest, history.latest + 1):
            assert_agrees(dr.Table(table).snapshot(version=version), history, version)
