"""``Protocol``: reasons why a table cannot be read or written."""

from __future__ import annotations

import pytest

import deltareplay as dr

#: Features that require nothing of readers, or something that a snapshot supports (protocol,
#: "Table Features").
READABLE = [
    "deletionVectors",
    "columnMapping",
    "timestampNtz",
    "v2Checkpoint",
    "vacuumProtocolCheck",
]


@pytest.mark.parametrize("versions", [(1, 1), (1, 2), (2, 5), (1, 6), (2, 6)])
def test_versions_without_features_are_readable(versions: tuple[int, int]) -> None:
    assert dr.Protocol(*versions).why_not_readable() == []


@pytest.mark.parametrize("feature", READABLE)
def test_features_that_are_readable(feature: str) -> None:
    assert dr.Protocol(3, 7, [feature], [feature]).why_not_readable() == []


def test_names_every_obstacle() -> None:
    protocol = dr.Protocol(3, 7, ["x", "deletionVectors", "y"], ["x", "deletionVectors", "y"])
    obstacles = protocol.why_not_readable()

    assert [obstacle.feature for obstacle in obstacles] == ["x", "y"]
    for obstacle in obstacles:
        assert str(obstacle) == f"{obstacle.feature}: {obstacle.reason}; {obstacle.remedy}"
        assert obstacle.reason
        assert obstacle.remedy
    assert {"x", "y"} <= {obstacle.feature for obstacle in protocol.why_not_writable()}


def test_an_unknown_reader_version_is_named() -> None:
    [obstacle] = dr.Protocol(99, 7).why_not_readable()
    assert "99" in obstacle.feature


def test_writer_features_do_not_prevent_reading() -> None:
    protocol = dr.Protocol(1, 7, None, ["somethingNew"])

    assert protocol.why_not_readable() == []
    assert "somethingNew" in {obstacle.feature for obstacle in protocol.why_not_writable()}
