"""Values that no writer should write, in each action, through every verb.

Logs are written by hand. Whatever the protocol says about a value, a verb must return a result or
raise a typed error: no other exception, no panic, no file outside of the table.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs

import deltareplay as dr

READ = ["columnMapping", "deletionVectors", "timestampNtz"]
WRITTEN = [
    *("appendOnly", "changeDataFeed", "checkConstraints", "clustering", "domainMetadata"),
    *("generatedColumns", "identityColumns", "invariants", "rowTracking"),
]
MAPPED = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "9"}
TRACKED = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "id",
}

VERBS: dict[str, Callable[[dr.Table], object]] = {
    "scan": lambda table: table.snapshot().scan().to_arrow(),
    "filter": lambda table: table.snapshot().scan(filter="id = 1").to_arrow(),
    "append": lambda table: table.append([{"id": 9}]),
    "update": lambda table: table.update("id = 1", {"id": "5"}),
    "delete": lambda table: table.delete("id = 2"),
    "merge": lambda table: table.merge({"id": [3]}, "id").when_matched_delete().execute(),
    "optimize": lambda table: table.optimize(),
    "z-order": lambda table: table.optimize(z_order_by=["id"]),
    "vacuum": lambda table: table.vacuum(),
    "history": lambda table: table.history(),
    "changes": lambda table: table.changes(0).to_arrow(),
    "checkpoint": lambda table: table.checkpoint(),
    "verify": lambda table: table.verify(rows=True),
    "clone": lambda table: table.clone(Path(table.uri).parent / "clone", shallow=False),
    "schema": lambda table: table.snapshot().schema,
    "card": lambda table: repr(table.snapshot()) + table._repr_html_(),
    "manifests": lambda table: table.generate("symlink_format_manifest"),
    "restore": lambda table: table.restore(0),
    "new column": lambda table: table.add_columns(pa.schema([("zz", pa.int64())])),
}


def field(name: str, type_: str = "long", **metadata: Any) -> dict[str, Any]:
    keys = {f"delta.columnMapping.{key}": value for key, value in metadata.items()}
    return {"name": name, "type": type_, "nullable": True, "metadata": keys}


def mapped(*fields: tuple[str, Any, Any], **more: str) -> dict[str, Any]:
    columns = [field(name, id=id_, physicalName=physical) for name, id_, physical in fields]
    return {"fields": columns, "configuration": MAPPED | more}


def domain(name: str, text: str) -> dict[str, Any]:
    return {"domainMetadata": {"domain": name, "configuration": text, "removed": False}}


def add_with(name: str, value: Any) -> dict[str, Any]:
    action = logs.add("b.parquet", size=1)
    action["add"][name] = value
    return {"actions": [action]}


def partition(value: str) -> dict[str, Any]:
    action = logs.add("a.parquet", size=1)
    action["add"]["partitionValues"] = {"p": value}
    columns = [field("id"), field("p", "string")]
    return {"fields": columns, "actions": [action], "partition_columns": ["p"]}


def commit_info_of(value: Any) -> dict[str, Any]:
    names = ("timestamp", "inCommitTimestamp", "operation", "operationParameters", "userMetadata")
    info = dict.fromkeys((*names, "operationMetrics", "engineInfo", "txnId"), value)
    return {"commits": [{"commitInfo": info}]}


EXTREMES = [2**63 - 1, -(2**63), 1e300, "x", None, [], {}]


def cases() -> Iterator[Any]:
    same_name = (("id", 1, "id"), ("b", 2, "id"))
    yield pytest.param(mapped(*same_name), id="one physical name of two columns")
    yield pytest.param(
        mapped(("id", 1, "id"), ("b", 2, "ID")), id="physical names that differ in case"
    )
    yield pytest.param(mapped(("id", 1, "id"), ("b", 1, "b")), id="one id of two columns")
    for physical in ("../../../x", "", "x" * 5000, "a\x00b", 7, None):
        yield pytest.param(mapped(("id", 1, physical)), id=f"physical name {physical!s:.12}")
    for number in (-1, 2**63, 1.5, "1", None):
        yield pytest.param(mapped(("id", number, "id")), id=f"column id {number}")
    top = str(2**63 - 1)
    greatest = mapped(("id", 1, "id"), **{"delta.columnMapping.maxColumnId": top})
    yield pytest.param(greatest, id="greatest column id")
    for value in ("../../etc", "/abs", "a/../b", "a\x00b", "a\nb", "x" * 300, "%2e%2e%2f", "="):
        yield pytest.param(partition(value), id=f"partition {value!r:.12}")
    nested = '{"clusteringColumns":' + "[" * 5000 + "]" * 5000 + "}"
    for text in ('{"clusteringColumns":[["no"]]}', "no json", nested, "9" * 100_000, "[]"):
        action = domain("delta.clustering", text)
        yield pytest.param({"actions": [action]}, id=f"clustering {text:.24}")
    for mark in (2**63 - 1, -5, 1e300, "x"):
        action = domain("delta.rowTracking", json.dumps({"rowIdHighWaterMark": mark}))
        tracked = {"actions": [action], "configuration": TRACKED}
        yield pytest.param(tracked, id=f"row ids up to {mark}")
    deep = '{"minValues":' + '{"a":' * 3000 + "1" + "}" * 3001
    outside = {"storageType": "p", "pathOrInlineDv": "/etc/passwd", "sizeInBytes": 4}
    values: dict[str, list[Any]] = {
        "modificationTime": EXTREMES,
        "size": [2**63 - 1, -1, 1.5, "x"],
        "stats": ['{"numRecords":-1}', '{"numRecords":1e999}', "{", deep],
        "baseRowId": [-1, 2**63 - 1, "x"],
        "defaultRowCommitVersion": [-1, 2**64],
        "dataChange": ["x", 1],
        "tags": [{"a": None}, [], "x"],
        "deletionVector": [{}, {"storageType": "u"}, {**outside, "cardinality": 1}],
    }
    for name, some in values.items():
        for value in some:
            yield pytest.param(add_with(name, value), id=f"{name} {value!s:.24}")
    for value in [*EXTREMES, 253_402_300_800_000]:
        yield pytest.param(commit_info_of(value), id=f"commitInfo {value!s:.24}")


def write(log: logs.LogBuilder, case: dict[str, Any]) -> dr.Table:
    pq.write_table(pa.table({"id": [1, 2, 3]}), log.table / "a.parquet")
    whole = logs.add("a.parquet", size=(log.table / "a.parquet").stat().st_size)
    fields = case.get("fields", [field("id")])
    log.create(
        json.dumps({"type": "struct", "fields": fields}),
        whole,
        *case.get("actions", []),
        protocol_action=logs.features(*READ, writer_only=WRITTEN),
        configuration=case.get("configuration", {}),
        partition_columns=case.get("partition_columns", []),
    )
    for action in case.get("commits", []):
        log.commit(action)
    return dr.Table(log.uri)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", list(cases()))
def test_odd_values_give_results_or_typed_errors(case: dict[str, Any], tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for verb, run in VERBS.items():
        home = outside / verb / "t"
        home.mkdir(parents=True)
        table = write(logs.LogBuilder(home), case)
        code = None
        try:
            run(table)
        except dr.DeltaReplayError as error:
            code = error.code
        assert code != "internal.panic", verb
        siblings = {path.name for path in home.parent.iterdir()}
        assert siblings <= {"t", "clone"}, (verb, siblings)


@pytest.mark.parametrize(
    "configuration",
    [
        "no json",
        "{}",
        *(json.dumps({"rowIdHighWaterMark": m}) for m in (2**63 - 1, 2**63, -5, 1e3, "x", None)),
    ],
    ids=lambda text: text[:40],
)
def test_no_row_id_is_given_above_an_unreadable_mark(
    log: logs.LogBuilder, configuration: str
) -> None:
    """The ids of the file that is there would be given again.

    Source: Delta protocol, "Row Tracking": row ids are unique.
    """
    action = domain("delta.rowTracking", configuration)
    names = {name: f"_{name[-20:]}" for name in TRACKED if "materialized" in name}
    table = write(log, {"actions": [action], "configuration": {**TRACKED, **names}})
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.append([{"id": 4}])
    assert caught.value.code == "transaction.row_ids"
    assert table.snapshot().version == 0
    assert table.set_properties({"owner": "me"}) == 1  # a commit that needs no row ids
