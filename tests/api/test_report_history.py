"""``Table.report``: the commits that it reads, and the changes of the definition in them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pyarrow as pa
import pytest
from support import logs, vectors
from support.html import Page

import deltareplay as dr
from deltareplay.viz.facts import _metadata_facts, measure

JANUARY = 1_767_225_600_000  # 2026-01-01


def report_page(log: logs.LogBuilder) -> Page:
    return Page(dr.Table(log.uri).report(log.table / "report.html").read_text(encoding="utf-8"))


def test_the_timeline_has_changes_of_the_definition(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"), configuration={"delta.appendOnly": "true"})
    log.commit(logs.metadata(logs.schema(id="long", late="string")))
    log.commit(logs.protocol(1, 4))
    log.commit(logs.metadata(logs.schema(id="long")))
    page = report_page(log)

    rows = page.tables["Changes of schema, properties and protocol, the newest first"].rows[1:]
    assert [[row[0], *row[2:]] for row in rows] == [
        ["3", "column late", "string", "none"],
        ["2", "protocol minWriterVersion", "2", "4"],
        ["1", "column late", "none", "string"],
        ["1", "property delta.appendOnly", "true", "none"],
    ]


def test_removed_files_without_a_row_count_take_no_rows(log: logs.LogBuilder) -> None:
    vector = vectors.inline(list(range(10)))
    log.create(logs.schema(id="long"), modified=JANUARY)
    log.commit(
        logs.add("a.parquet", stats=logs.stats(100), deletion_vector=vector),
        logs.add("b.parquet", stats=logs.stats(7)),
        modified=JANUARY,
    )
    log.commit(
        logs.remove("a.parquet", deletion_vector=vector),
        logs.remove("b.parquet", stats=logs.stats(7)),
        modified=JANUARY,
    )
    page = report_page(log)

    assert [row[1:] for row in page.tables["Rows in and out"].rows[1:]] == [["97", "7"]]
    assert "1 of 2 removed files do not say how many rows" in " ".join(page.text)


def test_commits_that_are_read_in_part_do_not_count(
    log: logs.LogBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.create(logs.schema(id="long"), logs.add("a.parquet"), modified=JANUARY)
    log.commit(logs.remove("a.parquet", deletion_timestamp=1), modified=JANUARY)
    read = dr.Table.actions

    def failing(table: dr.Table, start: int, end: int | None = None) -> Iterator[pa.RecordBatch]:
        yield from read(table, start, end)
        raise dr.DeltaReplayError("no connection", code="storage.io")

    monkeypatch.setattr(dr.Table, "actions", failing)
    history = measure(dr.Table(log.uri), None, False).history
    assert str(history.error).startswith("no connection")
    assert [commit.flows for commit in history.commits] == [None, None]
    assert (history.read_commits, history.removed_files, history.tombstones) == ([], 0, (0, 0))
    page = report_page(log)
    assert "no connection" in " ".join(page.text)


def test_columns_are_compared_with_their_nested_types() -> None:
    def facts(element: str, nullable: bool) -> dict[tuple[str, str], str]:
        kind = {"type": "array", "elementType": element, "containsNull": True}
        field = {"name": "a", "type": kind, "nullable": nullable, "metadata": {}}
        schema = json.dumps({"type": "struct", "fields": [field]})
        body = {"schemaString": schema, "configuration": [], "partitionColumns": []}
        return _metadata_facts(body | {"name": None, "description": None})

    assert facts("integer", True) == {("column", "a"): "array<integer>"}
    assert facts("long", False) == {("column", "a"): "array<long> not null"}


@pytest.mark.parametrize("depth", [300, 5000])
def test_an_old_schema_may_be_nested_too_deep(depth: int) -> None:
    kind = '{"type":"array","elementType":' * depth + '"long"' + "}" * depth
    body: dict[str, object] = {
        "schemaString": f'{{"type":"struct","fields":[{{"name":"a","type":{kind}}}]}}',
        "configuration": [],
        "partitionColumns": [],
        "name": None,
        "description": None,
    }
    assert _metadata_facts(body) == {("schema", ""): "not readable"}
