"""Data files whose columns have other types than in the log, read by several verbs.

The files are pyarrow's, logs are written by hand. A verb must return a result or raise a typed
error.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs

import deltareplay as dr

FIELD = {"name": "a", "type": "long", "nullable": True, "metadata": {}}
DECLARED: dict[str, Any] = {
    **{name: name for name in ("long", "byte", "string", "binary", "double", "boolean", "date")},
    **{name: name for name in ("timestamp", "timestamp_ntz", "decimal(10,2)")},
    "array": {"type": "array", "elementType": "long", "containsNull": True},
    "map": {
        "type": "map",
        "keyType": "string",
        "valueType": "long",
        "valueContainsNull": True,
    },
    "struct": {"type": "struct", "fields": [FIELD]},
    "struct of NOT NULL": {"type": "struct", "fields": [{**FIELD, "nullable": False}]},
}
FAR = [2**31 - 1, None, -(2**31)]
STORED: dict[str, pa.Array[Any]] = {
    "long": pa.array([1, None, 2**62]),
    "byte": pa.array([1, None, -128], pa.int8()),
    "unsigned long": pa.array([1, 2**64 - 1, None], pa.uint64()),
    "unsigned int": pa.array([1, 2**32 - 1, None], pa.uint32()),
    "text": pa.array(["a", None, "x" * 1000]),
    "not UTF-8": pa.array([b"\xff\xfe", None, b"\x80"]),
    "double": pa.array([float("nan"), None, 1e308]),
    "float": pa.array([float("inf"), None, 1.0], pa.float32()),
    "bool": pa.array([True, None, False]),
    "date": pa.array([datetime.date(1, 1, 1), None, datetime.date(9999, 12, 31)]),
    "far dates": pa.array(FAR, pa.int32()).cast(pa.date32()),
    "far timestamps": pa.array([0, None, 2**63 - 1], pa.timestamp("us", "UTC")),
    "milliseconds": pa.array([0, None, 2**62], pa.timestamp("ms")),
    "decimal": pa.array([Decimal(10) ** 37, None, Decimal(-1)], pa.decimal128(38, 0)),
    "list": pa.array([[1], None, []], pa.list_(pa.int64())),
    "list of texts": pa.array([["a"], None, []]),
    "list of lists": pa.array([[[[1]]], None, []], pa.list_(pa.list_(pa.list_(pa.int64())))),
    "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    "map of one key twice": pa.array([[("a", 1), ("a", 2)], None, []], pa.map_("string", "int64")),
    "struct": pa.array([{"a": 1}, None, {"a": None}]),
    "other struct": pa.array([{"b": 1}, None, {"b": None}]),
    "struct of nulls": pa.array([None, None, None], pa.struct([("z", pa.int64())])),
    "time": pa.array([1, None, 2], pa.time64("us")),
    "dictionary": pa.array(["a", None, "b"]).dictionary_encode(),
    "fixed": pa.array([b"ab", None, b"cd"], pa.binary(2)),
}

VERBS: dict[str, Callable[[dr.Table], object]] = {
    "scan": lambda table: table.snapshot().scan().to_arrow().validate(full=True),
    "update": lambda table: table.update("id = 1", {"id": "7"}),
    "verify": lambda table: table.verify(rows=True),
}
if os.environ.get("DELTAREPLAY_SLOW"):
    VERBS |= {
        "filter": lambda table: table.snapshot().scan(filter="c IS NOT NULL").count(),
        "optimize": lambda table: (table.append([{"id": 4}]), table.optimize()),
        "z-order": lambda table: table.optimize(z_order_by=["c"]),
        "changes": lambda table: table.changes(0).to_arrow().validate(full=True),
        "merge": lambda table: table.merge({"id": [1]}, "id").when_matched_delete().execute(),
    }


@pytest.mark.parametrize("declared", DECLARED)
def test_other_types_are_cast_or_refused(declared: str, tmp_path: Path) -> None:
    for stored, values in STORED.items():
        for verb, run in VERBS.items():
            home = tmp_path / stored / verb
            home.mkdir(parents=True)
            pq.write_table(pa.table({"id": [1, 2, 3], "c": values}), home / "a.parquet")
            log = logs.LogBuilder(home)
            log.create(
                logs.schema(id="long", c=DECLARED[declared]),
                logs.add("a.parquet", size=(home / "a.parquet").stat().st_size),
                protocol_action=logs.features("timestampNtz", writer_only=["invariants"]),
            )
            code = None
            try:
                run(dr.Table(home))
            except dr.DeltaReplayError as error:
                code = error.code
            assert code != "internal.panic", (stored, verb)
