"""Values that are pickled for workers."""

from __future__ import annotations

import copy
import pickle

import pytest
from support import logs

import deltareplay as dr


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_table(table: dr.Table, protocol: int) -> None:
    unpickled = pickle.loads(pickle.dumps(table, protocol))

    assert unpickled == table
    assert unpickled.snapshot().version == 2


def test_a_pickled_table_keeps_its_options() -> None:
    table = dr.Table("s3://bucket/t", {"aws_region": "r"}, ["s3://other"], strict=True)
    unpickled = pickle.loads(pickle.dumps(table))

    assert unpickled == table
    assert repr(unpickled) == repr(table)


def test_a_snapshot_is_opened_again_at_its_version(events: logs.LogBuilder) -> None:
    snapshot = dr.Table(events.uri).snapshot(version=1)
    events.commit(logs.add("d"))
    for copied in (pickle.loads(pickle.dumps(snapshot)), copy.copy(snapshot)):
        assert copied.version == 1
        assert copied.files().equals(snapshot.files())
        assert copied.update().version == events.version


def test_a_snapshot_stays_strict(events: logs.LogBuilder) -> None:
    events.checkpoint(version=1)
    data = pickle.dumps(dr.Table(events.uri).snapshot(strict=True))
    (logs.log_dir(events.table) / logs.classic_name(1)).write_bytes(b"no Parquet at all")
    with pytest.raises(dr.CorruptTableError) as caught:
        pickle.loads(data).files()
    assert caught.value.code == "checkpoint.parquet"


def test_plain_values(table: dr.Table) -> None:
    snapshot = table.snapshot()
    for value in (snapshot.metadata, snapshot.protocol, dr.Obstacle("a", "b", "c")):
        assert pickle.loads(pickle.dumps(value)) == value
