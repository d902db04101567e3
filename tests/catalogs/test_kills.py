"""Writers and publishers that are killed at any moment leave a table that others can use."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from support.unity_server import UnityServer

import deltareplay as dr
from deltareplay.catalogs import UnityCatalog

ROUNDS = 8
NAME = "main.sales.orders"
WRITER = Path(__file__).with_name("killed_writer.py")


@pytest.mark.slow
def test_killed_writers_lose_and_duplicate_no_rows(
    server: UnityServer, unity: UnityCatalog
) -> None:
    server.latency = 0.003
    schema = pa.schema([("id", pa.int64())])
    table = dr.create_table(
        NAME, schema, properties={"delta.checkpointInterval": "1000"}, catalog=unity
    )
    chance = random.Random(7)
    reported: dict[int, int] = {}

    for round_ in range(ROUNDS):
        command = [sys.executable, str(WRITER), server.uri, NAME, str(1000 * round_)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(2):
                version, number = map(int, writer.stdout.readline().split())
                reported[version] = number
            time.sleep(chance.uniform(0, 0.05))
            writer.kill()
            for line in writer.stdout.read().splitlines():
                version, number = map(int, line.split())
                reported[version] = number
        # a reader sees all acknowledged commits, whoever published them
        assert table.snapshot().version >= max(reported)

    table.append({"id": [-1]})
    snapshot = table.snapshot()
    ids = snapshot.scan().to_arrow()["id"].to_pylist()
    assert len(ids) == len(set(ids)) == snapshot.version
    assert {*reported.values()} <= {*ids}
    log = Path(table.uri.removeprefix("file://")) / "_delta_log"
    published = sorted(int(file.stem) for file in log.glob("*.json"))
    assert published == list(range(snapshot.version + 1))
    for version, number in reported.items():
        before = table.snapshot(version=version - 1).scan().to_arrow()["id"].to_pylist()
        after = table.snapshot(version=version).scan().to_arrow()["id"].to_pylist()
        assert {*after} - {*before} == {number}
    assert table.verify().findings == ()
