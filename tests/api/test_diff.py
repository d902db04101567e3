"""``Snapshot.diff``: differences between two versions."""

from __future__ import annotations

import pyarrow as pa
import pytest
from support import data, feed, logs

import deltareplay as dr


def test_files_and_definitions(log: logs.LogBuilder) -> None:
    domains = ["domainMetadata", "appendOnly"]
    features = logs.features("deletionVectors", writer_only=domains)
    log.create(
        logs.schema(id="long"),
        protocol_action=logs.features(writer_only=domains),
        configuration={"a": "1", "b": "2"},
        name="old",
    )
    first = data.write(log.table, "1.parquet", {"id": [1, 2, 3]})
    second = data.write(log.table, "2.parquet", {"id": [4, 5]})
    log.commit(first, second, logs.domain("mine", "{}"))
    nested = {"type": "struct", "fields": [logs.field_json("x", "integer", nullable=False)]}
    log.commit(
        features,
        logs.metadata(
            logs.schema(id="long", inner=nested), configuration={"a": "1", "b": "3", "c": "4"}
        ),
        feed.removal(first),
        feed.with_vector(first, [0, 2]),
        feed.removal(second),
        data.write(log.table, "3.parquet", {"id": list(range(100))}, stats=False),
        logs.domain("mine", "{}", removed=True),
        logs.domain("other", '{"x":1}'),
    )
    table = dr.Table(log.uri)
    diff = table.snapshot(version=1).diff(table.snapshot())

    assert diff.versions == (1, 2)
    columns = ["change", "path", "rows_before", "rows_after", "deleted_before", "deleted_after"]
    assert [tuple(row.values()) for row in diff.files.select(columns).to_pylist()] == [
        ("vector", "1.parquet", 3, 1, 0, 2),
        ("removed", "2.parquet", 2, None, 0, None),
        ("added", "3.parquet", None, None, None, 0),
    ]
    assert [tuple(row.values()) for row in diff.definition.to_pylist()] == [
        ("column", "inner", None, "struct"),
        ("column", "inner.x", None, "integer not null"),
        ("domain", "mine", "{}", None),
        ("domain", "other", None, '{"x":1}'),
        ("metadata", "name", "old", None),
        ("property", "b", "2", "3"),
        ("property", "c", None, "4"),
        ("reader feature", "deletionVectors", None, "supported"),
        ("writer feature", "deletionVectors", None, "supported"),
    ]
    assert diff.num_files == (2, 2)
    assert diff.num_rows == (5, None)
    sizes = {name: (log.table / f"{name}.parquet").stat().st_size for name in "123"}
    before, after = sizes["1"] + sizes["2"], sizes["1"] + sizes["3"]
    assert diff.size_in_bytes == (before, after)
    assert pa.table(diff) == diff.files
    assert str(diff).splitlines() == [
        f"versions 1 to 2: 2 to 2 files, {before} to {after} bytes",
        "column inner added: struct",
        "column inner.x added: integer not null",
        "domain mine removed: {}",
        'domain other added: {"x":1}',
        "metadata name removed: old",
        "property b: 2 to 3",
        "property c added: 4",
        "reader feature deletionVectors added: supported",
        "writer feature deletionVectors added: supported",
        "vector 1.parquet: 3 to 1 rows",
        f"removed 2.parquet: 2 rows, {sizes['2']} bytes",
        f"added 3.parquet: ? rows, {sizes['3']} bytes",
    ]
    reverse = table.snapshot().diff(table.snapshot(version=1))
    assert reverse.files["change"].to_pylist() == ["vector", "added", "removed"]
    same = table.snapshot().diff(table.snapshot())
    assert (same.files.num_rows, same.definition.num_rows) == (0, 0)


def test_a_dot_in_a_name_is_told_from_a_nested_column(log: logs.LogBuilder) -> None:
    def schema(kind: str) -> str:
        nested = {"type": "struct", "fields": [logs.field_json("b", kind)]}
        return logs.schema(**{"a": nested, "a.b": "date"})

    log.create(schema("integer"))
    log.commit(logs.metadata(schema("long")))
    log.commit(logs.metadata(logs.schema(a="date")))
    table = dr.Table(log.uri)
    first, second, third = (table.snapshot(version=version) for version in range(3))
    assert str(first.diff(second)).splitlines()[1:] == ["column a.b: integer to long"]
    removed = third.diff(second).definition["name"].to_pylist()
    assert removed == ["`a.b`", "a", "a.b"]


def test_snapshots_of_different_tables_are_refused(table: dr.Table, rows: dr.Table) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.snapshot().diff(rows.snapshot())
    assert caught.value.code == "diff.table"


def test_sums_of_sizes_do_not_overflow(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    log.commit(*(logs.add(f"{number}.parquet", size=2**63 - 1) for number in range(3)))
    table = dr.Table(log.uri)
    diff = table.snapshot(version=0).diff(table.snapshot())
    assert diff.size_in_bytes == (0, 2**64 - 1)
