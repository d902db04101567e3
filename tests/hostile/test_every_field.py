"""Each field of each action with a value of another type, through all verbs that read a table.

A verb must return a result or raise a typed error, whatever the field contains. The log is written
by hand.
"""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs

import deltareplay as dr

SEED = int(os.environ.get("DELTAREPLAY_SEED", 0))
#: The number of changed logs that are tested, of about 1,400.
LOGS = 10_000 if os.environ.get("DELTAREPLAY_SLOW") else 40

VALUES: list[Any] = [
    *(None, 0, -1, 2**63, 10**40, 1e308, 1.5, True, "", "x", "²", "9" * 25, "\0"),
    *([], [1], ["x"], [None], {}, {"a": 1}, {"a": None}, {"a": {"b": [1]}}),
]
STATS = {"numRecords": 3, "minValues": {"id": 1}, "maxValues": {"id": 3}, "nullCount": {"id": 0}}
INFO = {
    "timestamp": 1,
    "operation": "WRITE",
    "operationParameters": {"mode": "Append"},
    "readVersion": 0,
    "isolationLevel": "Serializable",
    "isBlindAppend": True,
    "operationMetrics": {"numFiles": "1"},
    "userMetadata": "x",
    "engineInfo": "x",
}
VERBS: dict[str, Callable[[dr.Table], object]] = {
    "card": lambda table: repr(table.snapshot()) + table._repr_html_(),
    "files": lambda table: table.snapshot().files(filter="id > 1"),
    "rows": lambda table: table.snapshot().to_arrow(),
    "history": lambda table: repr(table.history()),
    "changes": lambda table: table.changes(0).to_arrow(),
    "verified": lambda table: table.snapshot(verify=True).files(),
    "verify": lambda table: repr(table.verify(rows=True)),
    "report": lambda table: table.report(Path(table.uri) / "report.html"),
    "append": lambda table: table.append([{"id": 9}]),
    "delete": lambda table: table.delete("id = 2"),
    "checkpoint": lambda table: table.checkpoint(),
    "again": lambda table: table.snapshot().to_arrow(),
}


def steps(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each part of a JSON value."""
    if above:
        yield above
    parts = enumerate(value) if isinstance(value, list) else ()
    for key, part in value.items() if isinstance(value, dict) else parts:
        yield from steps(part, (*above, key))


def actions(size: int) -> list[logs.Action]:
    """Return the actions of a table of one file; texts of JSON are not yet encoded."""
    names = {"path": "a.parquet", "partitionValues": {}, "size": size, "modificationTime": 1}
    field = {"name": "id", "type": "long", "nullable": True, "metadata": {"comment": "x"}}
    format_ = {"provider": "parquet", "options": {"a": "b"}}
    return [
        {"commitInfo": INFO},
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": []}},
        {
            "metaData": {
                "id": "11111111-1111-1111-1111-111111111111",
                "name": "x",
                "createdTime": 1,
                "format": format_,
                "partitionColumns": [],
                "configuration": {"a": "b"},
                "schemaString": {"type": "struct", "fields": [field]},
            }
        },
        {"add": {**names, "dataChange": True, "stats": STATS, "tags": {"a": "b"}, "baseRowId": 0}},
        {"remove": {"path": "b.parquet", "deletionTimestamp": 1, "dataChange": True, "size": 1}},
        {"txn": {"appId": "a", "version": 1, "lastUpdated": 1}},
        {"domainMetadata": {"domain": "x", "configuration": "y", "removed": False}},
    ]


def with_json_texts(action: logs.Action) -> logs.Action:
    """Return the action with its schema or statistics as text."""
    action = copy.deepcopy(action)
    for fields in filter(lambda fields: isinstance(fields, dict), action.values()):
        for name in ("schemaString", "stats"):
            if isinstance(fields.get(name), dict):
                fields[name] = json.dumps(fields[name])
    return action


def problem_of(run: Callable[[dr.Table], object], table: dr.Table) -> str | None:
    """Return the problem if a verb neither returned a result nor raised a typed error."""
    try:
        run(table)
    except dr.DeltaReplayError as error:
        return error.code if error.code.startswith("internal") else None
    except Exception as error:
        return repr(error)
    return None


@pytest.mark.filterwarnings("ignore")
def test_every_field_of_another_type(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 2, 3]}), tmp_path / "a.parquet")
    whole = actions((tmp_path / "a.parquet").stat().st_size)
    changes = [(path, value) for path in steps(whole) if len(path) > 1 for value in VALUES]
    chosen = random.Random(SEED).sample(changes, min(LOGS, len(changes)))
    for number, (path, value) in enumerate(chosen):
        changed = copy.deepcopy(whole)
        part: Any = changed
        for step in path[:-1]:
            part = part[step]
        part[path[-1]] = value
        home = tmp_path / str(number)
        log = logs.LogBuilder(home)
        (home / "a.parquet").hardlink_to(tmp_path / "a.parquet")
        log.commit(*map(with_json_texts, changed))
        for verb, run in VERBS.items():
            wrong = problem_of(run, dr.Table(log.uri))
            assert wrong is None, (verb, path, value)
