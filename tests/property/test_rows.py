"""Rows of random small tables, compared with lists of Python values."""

from __future__ import annotations

import datetime as dt
import pickle
import tempfile
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from property.test_replay import EXAMPLES, of_all_examples, repeat_until, thorough
from support import data, logs, vectors

import deltareplay as dr

Row = dict[str, Any]
seen: Counter[str] = Counter()


@dataclass(frozen=True)
class Column:
    """A column of the table: its type in the log, in Arrow, and values for it."""

    delta: Any
    arrow: pa.DataType
    values: st.SearchStrategy[Any]
    narrower: pa.DataType | None = None


LONGS = st.integers(-(2**63), 2**63 - 1)
SHORTS = st.integers(-(2**15), 2**15 - 1)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=5)
COLUMNS: dict[str, Column] = {
    "id": Column("long", pa.int64(), SHORTS, pa.int16()),
    "Text": Column("string", pa.string(), TEXTS),
    "real": Column("double", pa.float64(), st.integers(-9, 9).map(float), pa.float32()),
    "when": Column("timestamp", pa.timestamp("us", "UTC"), st.none()),
    "inner": Column(
        {"type": "struct", "fields": [("x", "long"), ("Y", "string")]},
        pa.struct([("x", pa.int64()), ("Y", pa.string())]),
        st.fixed_dictionaries(
            {"x": st.none() | LONGS, "Y": st.none() | TEXTS},
        ),
    ),
    "list": Column(
        {"type": "array", "elementType": "long", "containsNull": True},
        pa.list_(pa.int64()),
        st.lists(st.none() | LONGS, max_size=4),
    ),
}
DATES = st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1))


@dataclass
class File:
    """A data file: its rows, and how they are stored."""

    columns: list[str]
    rows: list[Row]
    day: dt.date | None
    deleted: set[int]
    group: int
    inline: bool
    narrow: bool
    stats: str
    extra: bool
    pages: int | None

    def live_rows(self, name: str) -> list[Row]:
        """Return the rows that a reader must return."""
        result = []
        for index, row in enumerate(self.rows):
            if index not in self.deleted:
                whole = {key: row.get(key) for key in COLUMNS}
                result.append({**whole, "day": self.day, "_file_path": name, "_row_index": index})
        return result


@dataclass
class Table:
    """A table, and a query."""

    mode: str
    files: list[File]
    requested: list[str]
    target: int
    ids: dict[str, int] = field(default_factory=dict)

    def physical(self, name: str) -> str:
        return name if self.mode == "none" else f"col-{name.encode().hex()}"

    def field_id(self, name: str) -> int:
        return self.ids.setdefault(name, len(self.ids) + 1)

    def metadata(self, name: str) -> dict[str, Any]:
        if self.mode == "none":
            return {}
        return {
            "delta.columnMapping.id": self.field_id(name),
            "delta.columnMapping.physicalName": self.physical(name),
        }

    def schema(self) -> str:
        fields = []
        for name, column in COLUMNS.items():
            type_ = column.delta
            if isinstance(type_, dict) and type_["type"] == "struct":
                type_ = {
                    "type": "struct",
                    "fields": [
                        logs.field_json(child, kind, metadata=self.metadata(f"{name}.{child}"))
                        for child, kind in type_["fields"]
                    ],
                }
            fields.append(logs.field_json(name, type_, metadata=self.metadata(name)))
        fields.append(logs.field_json("day", "date", metadata=self.metadata("day")))
        return logs.dumps({"type": "struct", "fields": fields})

    def arrow_field(self, name: str, type_: pa.DataType) -> pa.Field:
        """Return a field as a writer of this table creates it."""
        if pa.types.is_struct(type_):
            type_ = pa.struct([self.arrow_field(f"{name}.{c.name}", c.type) for c in type_])
        if self.mode == "none":
            return pa.field(name.split(".")[-1], type_)
        number = str(self.field_id(name)).encode()
        # if columns are matched by their ids, their names are arbitrary
        stored = f"any-{number.decode()}" if self.mode == "id" else self.physical(name)
        return pa.field(stored, type_, metadata={b"PARQUET:field_id": number})

    def arrow(self, file: File) -> pa.Table:
        fields, arrays = [], []
        for name in file.columns:
            column = COLUMNS[name]
            type_ = (column.narrower if file.narrow else None) or column.arrow
            values = [row[name] for row in file.rows]
            fields.append(self.arrow_field(name, type_))
            array = pa.array(values, column.arrow).cast(type_)
            if pa.types.is_struct(type_):
                children = [array.field(number) for number in range(array.type.num_fields)]
                array = pa.StructArray.from_arrays(
                    children, fields=list(fields[-1].type), mask=array.is_null()
                )
            arrays.append(array)
        if file.extra:
            fields.append(pa.field("unrequested", pa.int64()))
            arrays.append(pa.nulls(len(file.rows), pa.int64()))
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields))

    def statistics(self, file: File) -> bool | dict[str, Any]:
        """Return the statistics of a file with physical names."""
        if file.stats != "all":
            return file.stats == "count"
        least: Row = {}
        most: Row = {}
        nulls: Row = {}
        for path in ("id", "Text", "real", "inner.x", "inner.Y"):
            name, *rest = path.split(".")
            values = [row.get(name) for row in file.rows]
            if rest:
                values = [value and value[rest[0]] for value in values]
            non_null = [value for value in values if value is not None]
            bounds = [(least, min(non_null)), (most, max(non_null))] if non_null else []
            for reported, value in [*bounds, (nulls, len(values) - len(non_null))]:
                if rest:
                    reported = reported.setdefault(self.physical(name), {})
                reported[self.physical(path) if self.mode != "none" else path.split(".")[-1]] = (
                    value
                )
        return {
            "minValues": least,
            "maxValues": most,
            "nullCount": nulls,
            "tightBounds": not file.deleted,
        }

    def write(self, root: str) -> list[Row]:
        """Write the table; return its rows."""
        log = logs.LogBuilder(root)
        log.create(
            self.schema(),
            protocol_action=logs.features("deletionVectors", "columnMapping"),
            partition_columns=["day"],
            configuration={"delta.columnMapping.mode": self.mode},
        )
        name = uuid.uuid4()
        separate = [file.deleted for file in self.files if file.deleted and not file.inline]
        content, descriptors = vectors.in_file(separate, name)
        (log.table / f"deletion_vector_{name}.bin").write_bytes(content)
        rows, adds = [], []
        for number, file in enumerate(self.files):
            path = f"part-{number}.parquet"
            value = None if file.day is None else file.day.isoformat()
            action = data.write(
                root,
                path,
                self.arrow(file),
                deleted=file.deleted if file.inline else (),
                row_group_size=file.group,
                stats=self.statistics(file),
                options=file.pages
                and {
                    "write_page_index": True,
                    "data_page_size": 1,
                    "write_batch_size": file.pages,
                },
                partition_values={self.physical("day"): value},
            )
            if file.deleted and not file.inline:
                action["add"]["deletionVector"] = descriptors.pop(0)
            adds.append(action)
            rows += file.live_rows(path)
        log.commit(logs.commit_info(), *adds)
        return rows


@st.composite
def files(draw: st.DrawFn) -> File:
    others = draw(st.lists(st.sampled_from([*COLUMNS][1:]), unique=True))
    columns = draw(st.permutations(["id", *others]))
    values = {name: st.none() | COLUMNS[name].values for name in columns}
    rows = draw(st.lists(st.fixed_dictionaries(values), max_size=12))
    positions = st.integers(0, len(rows) - 1) if rows else st.nothing()
    return File(
        columns=columns,
        rows=rows,
        day=draw(st.none() | DATES),
        deleted=draw(st.sets(positions)),
        group=draw(st.integers(1, 13)),
        inline=draw(st.booleans()),
        narrow=draw(st.booleans()),
        stats=draw(st.sampled_from(["none", "count", "all"])),
        extra=draw(st.booleans()),
        pages=draw(st.none() | st.integers(1, 5)),
    )


@st.composite
def tables(draw: st.DrawFn) -> Table:
    names = draw(st.permutations([*COLUMNS, "day"]))
    requested = names[: draw(st.integers(0, len(names)))]
    change = draw(st.sampled_from([str, str.upper, str.lower]))
    return Table(
        mode=draw(st.sampled_from(["none", "name", "id"])),
        files=draw(st.lists(files(), max_size=4)),
        requested=[change(name) for name in requested],
        target=draw(st.sampled_from([500, 3000, 1 << 27])),
    )


@given(tables())
@thorough(EXAMPLES)
def test_rows_are_those_of_the_model(table: Table) -> None:
    spelled = {name.lower(): name for name in [*COLUMNS, "day"]}
    expected = [*(spelled[name.lower()] for name in table.requested), "_file_path", "_row_index"]
    with tempfile.TemporaryDirectory() as root:
        rows = [{name: row[name] for name in expected} for row in table.write(root)]
        snapshot = dr.Table(Path(root)).snapshot()
        scan = snapshot.scan(table.requested, with_file_path=True, with_row_index=True)
        result = scan.to_arrow()

        assert result.schema.names == expected
        assert result.schema.equals(scan.schema)
        for name, column in COLUMNS.items():
            assert snapshot.schema.field(name).type == column.arrow
        assert result.to_pylist() == rows
        assert scan.count() == len(rows)
        splits = [pickle.loads(pickle.dumps(split)) for split in scan.splits(table.target)]
        assert [row for split in splits for row in split.to_arrow().to_pylist()] == rows
    seen[table.mode] += bool(rows)
    seen["vector"] += any(file.deleted for file in table.files)
    seen["cut"] += len(splits) > len(table.files)


@of_all_examples
def test_the_tables_were_of_every_kind() -> None:
    """Runs after the property and checks its coverage."""
    kinds = ("none", "name", "id", "vector")
    repeat_until(
        lambda: min(seen[kind] for kind in kinds) > EXAMPLES // 30 and seen["cut"] > 0,
        test_rows_are_those_of_the_model,
    )
