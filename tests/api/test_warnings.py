"""Skipped problems: reported once, listed always, refused in strict mode."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from support import logs

import deltareplay as dr


@pytest.fixture
def damaged_hint(events: logs.LogBuilder) -> logs.LogBuilder:
    """The sample table with a hint that does not decode."""
    logs.write_file(events.table, "_last_checkpoint", b'{"version":')
    return events


def test_a_warning_is_issued_once_and_stays_in_the_list(damaged_hint: logs.LogBuilder) -> None:
    with warnings.catch_warnings(record=True) as reported:
        warnings.simplefilter("always")
        snapshot = dr.Table(damaged_hint.uri).snapshot()
        for _ in range(2):
            snapshot.files()
            snapshot.tombstones()
            snapshot.file_batches().read_all()
            _ = snapshot.num_files, snapshot.size_in_bytes
            _ = snapshot.transactions, snapshot.domain_metadata

    assert [item.category for item in reported] == [dr.DeltaReplayWarning]
    assert reported[0].filename == __file__, "it points at the caller"
    [listed] = snapshot.warnings
    assert isinstance(listed, dr.LogWarning)
    assert listed.path == "_delta_log/_last_checkpoint"
    assert listed.code == "hint.corrupt"
    assert str(reported[0].message) == str(listed)
    assert pickle.loads(pickle.dumps(listed)) == listed


def test_update_does_not_repeat_the_warning(damaged_hint: logs.LogBuilder) -> None:
    with pytest.warns(dr.DeltaReplayWarning):
        snapshot = dr.Table(damaged_hint.uri).snapshot()
    damaged_hint.commit(logs.add("d"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        newer = snapshot.update()
    assert newer.version == damaged_hint.version
    assert [warning.code for warning in newer.warnings] == ["hint.corrupt"]


def test_a_damaged_checkpoint_is_skipped_with_a_warning(events: logs.LogBuilder) -> None:
    [path] = events.checkpoint(version=1)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.warns(dr.DeltaReplayWarning):
        snapshot = dr.Table(events.uri).snapshot()
        paths = snapshot.files(columns=["path"])["path"].to_pylist()

    assert sorted(paths) == sorted(events.state().live_paths())
    assert f"_delta_log/{path.name}" in {warning.path for warning in snapshot.warnings}


@pytest.mark.parametrize(
    "read",
    [
        pytest.param(lambda uri: dr.Table(uri, strict=True).snapshot().files(), id="table"),
        pytest.param(lambda uri: dr.Table(uri).snapshot(strict=True).files(), id="snapshot"),
    ],
)
def test_strict_refuses(events: logs.LogBuilder, read: Callable[[str], Any]) -> None:
    [path] = events.checkpoint(version=1)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(dr.CorruptTableError) as caught:
        read(events.uri)
    assert caught.value.path == f"_delta_log/{path.name}"


def test_strict_of_a_table_can_be_overridden(damaged_hint: logs.LogBuilder) -> None:
    with pytest.warns(dr.DeltaReplayWarning):
        snapshot = dr.Table(damaged_hint.uri, strict=True).snapshot(strict=False)
    assert snapshot.version == 2


def test_warnings_may_be_errors(damaged_hint: logs.LogBuilder) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(dr.DeltaReplayWarning, match="the hint was ignored"):
            dr.Table(damaged_hint.uri).snapshot()


def test_an_invalid_property_is_refused_with_its_file(
    log: logs.LogBuilder,
) -> None:
    schema = logs.schema(id="long")
    log.create(schema)
    log.commit(logs.metadata(schema, configuration={"delta.logRetentionDuration": "for ever"}))
    log.commit(logs.add("f"))

    def refused_path() -> str | None:
        with pytest.raises(dr.CorruptTableError) as caught:
            dr.Table(log.uri).snapshot(strict=True)
        assert caught.value.code == "properties.invalid"
        return caught.value.path

    assert refused_path() == f"_delta_log/{logs.commit_name(1)}"
    log.checksum(2)
    assert refused_path() == f"_delta_log/{logs.checksum_name(2)}", "nothing older was read"
