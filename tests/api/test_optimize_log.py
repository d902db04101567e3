"""The gain of a checkpoint or a compacted file: measured without writing anything."""

from __future__ import annotations

import os
from pathlib import Path

from support import logs, samples
from support.writing import unpartitioned

import deltareplay as dr


def test_a_long_tail(tmp_path: Path) -> None:
    log = samples.many_files(tmp_path, 40, 500, distinct=2)
    before = sorted(os.listdir(tmp_path / "_delta_log"))
    advice = dr.Table(log.uri).optimize_log()

    assert sorted(os.listdir(tmp_path / "_delta_log")) == before, "nothing is written"
    assert (advice.version, advice.checkpoint_version) == (40, None)
    assert (advice.num_commits, advice.num_tail_files, advice.num_files) == (41, 41, 1000)
    sizes = [path.stat().st_size for path in (tmp_path / "_delta_log").glob("*.json")]
    assert advice.tail_bytes == sum(sizes)
    assert advice.with_checkpoint is not None
    assert advice.with_compaction is not None
    assert 0 < advice.with_checkpoint["seconds"] < advice.seconds
    assert advice.with_compaction["size_in_bytes"] < sum(sizes) / 10
    written = dr.Table(log.uri).compact_log(0, 40)
    assert advice.with_compaction["size_in_bytes"] == written.size_in_bytes


def test_after_a_checkpoint(tmp_path: Path) -> None:
    table = unpartitioned(tmp_path)
    table.checkpoint()
    advice = table.optimize_log()
    assert advice.checkpoint_version == advice.version == 1
    assert advice.with_checkpoint is advice.with_compaction is None
    for number in range(2):
        with table.transaction() as transaction:
            transaction.add(f"x{number}", size=1)
    advice = table.optimize_log()
    assert (advice.checkpoint_version, advice.num_commits) == (1, 2)
    assert advice.with_checkpoint is not None
    assert advice.with_compaction is not None
    table.compact_log()
    assert table.optimize_log().num_tail_files == 1


def test_with_v2_checkpoints(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path)
    policy = {"delta.checkpointPolicy": "v2"}
    log.create(
        logs.schema(id="long"), protocol_action=logs.features("v2Checkpoint"), configuration=policy
    )
    log.commit(logs.add("a"), logs.add("b"))
    advice = dr.Table(log.uri).optimize_log()
    assert advice.with_checkpoint is not None
    assert advice.num_files == 2
