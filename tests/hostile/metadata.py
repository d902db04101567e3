"""Protocol, schema, partition values, statistics."""

# ruff: noqa: E501, RUF001  one case a line, and letters that look like others
from __future__ import annotations

import json
from typing import Any

from hostile.cases import BOTH, GOOD, Refused, case, data
from support import logs
from support.logs import LogBuilder

FIRST = logs.commit_name(0)
DEPTH = 100_000


# -- protocol


def protocol_case(
    name: str, action: Any, error: str | None, verify: tuple[str, ...] = (), rows: Any = GOOD
) -> None:
    """Register a protocol; ``error`` is the class of the snapshot's error."""
    outcome: dict[str, Any] = {"snapshot": 1, "rows": rows}
    if error:
        outcome = {"snapshot": Refused(FIRST, error)}

    @case("protocol", name, verify=verify, start=False, **outcome)
    def _(log: LogBuilder) -> None:
        actions = action if isinstance(action, list) else [action]
        log.commit(*actions, logs.metadata(logs.schema(id="long")), data(log, "good.parquet"))


UNSUPPORTED = "UnsupportedFeatureError"
CORRUPT = "CorruptTableError"
ODD_READER = {"minReaderVersion": 3, "minWriterVersion": 7}
for _name, _action, _error, _codes in (
    ("reader version 4", logs.protocol(4, 7), UNSUPPORTED, ("protocol.reader_features",)),
    ("reader version 2^31 - 1", logs.protocol(2**31 - 1, 7), UNSUPPORTED, ("protocol.reader_features",)),
    ("reader version 2^31", logs.protocol(2**31, 7), CORRUPT, ("commit.action",)),
    ("reader version -1", logs.protocol(-1, 2), CORRUPT, ("protocol.malformed",)),
    ("reader version 0", logs.protocol(0, 2), CORRUPT, ("protocol.malformed",)),
    ("writer version -1", logs.protocol(1, -1), CORRUPT, ("protocol.malformed",)),
    ("reader version as text", {"protocol": {**ODD_READER, "minReaderVersion": "1"}}, CORRUPT, ("commit.action",)),
    ("reader version 1.5", {"protocol": {**ODD_READER, "minReaderVersion": 1.5}}, CORRUPT, ("commit.action",)),
    ("reader version missing", {"protocol": {"minWriterVersion": 7}}, CORRUPT, ("commit.action",)),
    ("an unknown reader feature", logs.features("x"), UNSUPPORTED, ("protocol.reader_features",)),
    ("an unknown writer feature", logs.features(writer_only=["x"]), None, ()),
    ("a reader feature for readers only", logs.protocol(3, 7, reader_features=["deletionVectors"], writer_features=[]), CORRUPT, ("protocol.malformed",)),
    ("10,000 unknown reader features", logs.features(*(f"x{n}" for n in range(10_000))), UNSUPPORTED, ("protocol.reader_features",)),
    ("a reader feature of an empty name", logs.features(""), UNSUPPORTED, ("protocol.reader_features",)),
    ("features that are numbers", {"protocol": {**ODD_READER, "readerFeatures": [1], "writerFeatures": [1]}}, CORRUPT, ("commit.action",)),
    ("features that are a string", {"protocol": {**ODD_READER, "readerFeatures": "x", "writerFeatures": []}}, CORRUPT, ("commit.action",)),
    ("twice in one commit", [logs.protocol(1, 2), logs.protocol(1, 2)], None, ("commit.duplicate_action",)),
):  # fmt: skip
    protocol_case(_name, _action, _error, _codes)


@case("protocol", "missing", snapshot=Refused(FIRST), verify=("log.no_protocol",), start=False)
def _no_protocol(log: LogBuilder) -> None:
    log.commit(logs.metadata(logs.schema(id="long")))


@case("protocol", "no metadata", snapshot=Refused(FIRST), verify=("log.no_metadata",), start=False)
def _no_metadata(log: LogBuilder) -> None:
    log.commit(logs.protocol())


# -- schema


def struct(*fields: Any) -> str:
    return json.dumps({"type": "struct", "fields": list(fields)})


def deep(levels: int) -> str:
    opening = '{"type":"array","elementType":' * levels
    inner = opening + '"long"' + ',"containsNull":true}' * levels
    return struct(logs.field_json("id", "long"))[:-2] + (
        ',{"name":"a","type":' + inner + ',"nullable":true,"metadata":{}}]}'
    )


ID = logs.field_json("id", "long")
GOOD_SCHEMAS = {
    "60 levels": deep(60),
    "10,000 columns": struct(ID, *(logs.field_json(f"c{n}", "long") for n in range(10_000))),
    "a name of 100,000 letters": struct(ID, logs.field_json("x" * 100_000, "long")),
    "a name of unusual letters": struct(ID, logs.field_json('a`."\n\u202e\U0001f600', "long")),
    "unknown keys": struct({**ID, "x": [[[]]]}),
    "metadata with deep values": struct({**ID, "metadata": {"x": [[[[[]]]]]}}),
}
BAD_SCHEMAS = {
    "100,000 levels": deep(DEPTH),
    "brackets that never close": "[" * DEPTH,
    "not JSON": "struct",
    "null": "null",
    "a type alone": '"long"',
    "an array of fields": json.dumps([ID]),
    "a map at the top": json.dumps({"type": "map", "keyType": "long", "valueType": "long"}),
    "no fields": '{"type":"struct"}',
    "fields that are null": '{"type":"struct","fields":null}',
    "a field that is a number": struct(1),
    "a field without a name": struct({"type": "long", "nullable": True, "metadata": {}}),
    "a name that is null": struct({**ID, "name": None}),
    "a name that is a number": struct({**ID, "name": 7}),
    "an unknown type": struct({**ID, "type": "float128"}),
    "a type that is a number": struct({**ID, "type": 64}),
    "nullable as text": struct({**ID, "nullable": "yes"}),
    "two columns of one name": struct(ID, ID),
    "two columns of names that differ in case": struct(ID, {**ID, "name": "ID"}),
    "decimal(39,0)": struct({**ID, "type": "decimal(39,0)"}),
    "decimal(10,11)": struct({**ID, "type": "decimal(10,11)"}),
    "decimal(-1,0)": struct({**ID, "type": "decimal(-1,0)"}),
    "decimal(99999999999999999999,0)": struct({**ID, "type": "decimal(99999999999999999999,0)"}),
    "an array without elements": struct({**ID, "type": {"type": "array", "containsNull": True}}),
    "a map without keys": struct({**ID, "type": {"type": "map", "valueType": "long"}}),
    "a struct without fields": struct({**ID, "type": {"type": "struct"}}),
}  # fmt: skip


def schema_case(name: str, text: str, good: bool) -> None:
    outcome: dict[str, Any] = {"snapshot": Refused(FIRST), "verify": ("schema.",), "finding": FIRST}
    if good:
        outcome = {"snapshot": 1, "rows": GOOD}

    @case("schema", name, start=False, **outcome)
    def _(log: LogBuilder) -> None:
        log.create(text)
        log.commit(data(log, "good.parquet"))


for _name, _text in GOOD_SCHEMAS.items():
    schema_case(_name, _text, True)
for _name, _text in BAD_SCHEMAS.items():
    schema_case(_name, _text, False)


def mapped(**metadata: Any) -> dict[str, Any]:
    return logs.field_json("id", "long", metadata=metadata)


NAME, COLUMN_ID = "delta.columnMapping.physicalName", "delta.columnMapping.id"
MAPPED: dict[str, tuple[str, list[Any], Any]] = {
    "name mode, no names": ("name", [mapped()], Refused("good.parquet")),
    "id mode, no ids": ("id", [mapped(**{NAME: "id"})], GOOD),
    "a physical name that is a number": (
        "name",
        [mapped(**{NAME: 1, COLUMN_ID: 1})],
        Refused("good.parquet"),
    ),
    "two columns of one physical name": (
        "name",
        [
            mapped(**{NAME: "id", COLUMN_ID: 1}),
            {**mapped(**{NAME: "id", COLUMN_ID: 2}), "name": "b"},
        ],
        GOOD,
    ),
    "two columns of one id": (
        "id",
        [
            mapped(**{NAME: "id", COLUMN_ID: 1}),
            {**mapped(**{NAME: "b", COLUMN_ID: 1}), "name": "b"},
        ],
        GOOD,
    ),
}


def mapping_case(name: str, mode: str, fields: list[Any], rows: Any) -> None:
    verify = ("schema.column_mapping",)

    @case("column mapping", name, snapshot=1, rows=rows, verify=verify, finding=FIRST, start=False)
    def _(log: LogBuilder) -> None:
        log.create(
            struct(*fields),
            protocol_action=logs.features("columnMapping"),
            configuration={"delta.columnMapping.mode": mode},
        )
        log.commit(data(log, "good.parquet", stats=None))


for _name, (_mode, _fields, _rows) in MAPPED.items():
    mapping_case(_name, _mode, _fields, _rows)


@case(
    "schema",
    "a partition column that is not in the schema",
    snapshot=Refused(FIRST),
    verify=("transaction.partition_columns",),
    finding=FIRST,
    start=False,
)
def _no_partition(log: LogBuilder) -> None:
    log.create(logs.schema(id="long"), partition_columns=["x"])
    log.commit(data(log, "good.parquet", partition_values={"x": "1"}))


# -- partition values

WRONG = {
    "integer": ["one", "1.x", "99999999999", "0x10", "١"],
    "byte": ["128"],
    "boolean": ["maybe"],
    "date": ["2024-13-01", "2024-02-30", "yesterday", "99999999-01-01"],
    "timestamp": ["2024-01-01T25:00:00Z", "now", "1" * 1000],
    "decimal(4,2)": ["123.45", "1,5", "1e99999"],
    "double": ["1.2.3", "infinite"],
}


def partition_value_case(type_: str, value: str) -> None:
    @case(
        "partition value",
        f"{type_} {value[:20]!r}",
        snapshot=1,
        rows=Refused("good.parquet"),
        verify=("partition_value.parse",),
        finding="good.parquet",
        start=False,
    )
    def _(log: LogBuilder) -> None:
        log.create(logs.schema(id="long", p=type_), partition_columns=["p"])
        log.commit(data(log, "good.parquet", partition_values={"p": value}))


for _type, _values in WRONG.items():
    for _value in _values:
        partition_value_case(_type, _value)


@case(
    "partition value",
    "missing",
    snapshot=1,
    rows=GOOD,  # a missing value is null
    verify=("commit.partition_values",),
    finding="good.parquet",
    start=False,
)
def _no_value(log: LogBuilder) -> None:
    log.create(logs.schema(id="long", p="string"), partition_columns=["p"])
    log.commit(data(log, "good.parquet"))


@case(
    "partition value",
    "of an unknown column",
    snapshot=1,
    rows=GOOD,
    verify=("commit.partition_values",),
    finding="good.parquet",
    start=False,
)
def _more_values(log: LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    log.commit(data(log, "good.parquet", partition_values={"p": "1"}))


@case("schema", "200 levels", snapshot=1, rows=GOOD, columns=("id",), start=False)
def _levels(log: LogBuilder) -> None:
    log.create(deep(200))  # pyarrow accepts 64 levels: the other column is still readable
    log.commit(data(log, "good.parquet"))


@case("partition value", "10 MB of text", snapshot=1, rows=GOOD, start=False)
def _long_value(log: LogBuilder) -> None:
    log.create(logs.schema(id="long", p="string"), partition_columns=["p"])
    log.commit(data(log, "good.parquet", partition_values={"p": "x" * 10_000_000}))


# -- statistics: invalid ones skip nothing

STATS = {
    "not JSON": "{",
    "empty": "",
    "an array": "[]",
    "null": "null",
    "a number": "1",
    "deep": '{"minValues":' + "[" * DEPTH + "]" * DEPTH + "}",
    "deep objects": '{"minValues":' * DEPTH + "1" + "}" * DEPTH,
    "a number of rows that is a string": '{"numRecords":"2"}',
    "a number of rows beyond 64 bits": '{"numRecords":99999999999999999999}',
    "a negative number of rows": '{"numRecords":-2}',
    "bounds of another type": '{"numRecords":2,"minValues":{"id":"a"},"maxValues":{"id":[]},"nullCount":{"id":0}}',
    "bounds that are not an object": '{"numRecords":2,"minValues":[],"maxValues":7}',
    "bounds beyond 64 bits": '{"numRecords":2,"minValues":{"id":1e400},"maxValues":{"id":1e400},"nullCount":{"id":0}}',
    "a null count that is negative": '{"numRecords":2,"minValues":{"id":4},"maxValues":{"id":5},"nullCount":{"id":-1}}',
    "a null count beyond the rows": '{"numRecords":2,"minValues":{"id":4},"maxValues":{"id":5},"nullCount":{"id":9}}',
    "lone surrogates": '{"numRecords":2,"minValues":{"id":"\\ud800"}}',
    "a megabyte": '{"numRecords":2,"x":"' + "x" * (1 << 20) + '"}',
}  # fmt: skip
NOT_AN_OBJECT = ("not JSON", "empty", "an array", "null", "a number")


def statistics_case(name: str, text: str) -> None:
    verify = ("stats.json",) if name in NOT_AN_OBJECT else ()

    @case(
        "statistics",
        name,
        snapshot=2,
        rows=BOTH,
        filter="id >= 0",
        verify=verify,
        finding="more.parquet",
    )
    def _(log: LogBuilder) -> None:
        log.commit(data(log, "more.parquet", stats=text))


for _name, _text in STATS.items():
    statistics_case(_name, _text)
