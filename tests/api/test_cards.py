"""Displays in notebooks and prompts: cards as HTML, and one line of text."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest
from support import logs, vectors
from support.html import Page

import deltareplay as dr
from deltareplay.viz import cards

HOSTILE = "</td><script>alert(1)</script><img src=http://evil.example/x onerror=alert(2)>'\"&"


def card_of(value: Any) -> tuple[Page, str]:
    """Return the card of a value, and its text."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a display emits no warning
        page = Page(value._repr_html_())
    return page, " ".join(page.text).replace("\u00a0", " ")


def test_cards_of_a_table_and_a_snapshot(rows: dr.Table) -> None:
    size = rows.snapshot().size_in_bytes
    for value in (rows, rows.snapshot()):
        page, text = card_of(value)
        assert rows.uri in text
        assert re.search(r"version +1, committed 2026-01-02 00:00:00 UTC", text)
        assert re.search(r"rows +2 ", text)
        assert re.search(rf"files +1, {size} B ", text)
        columns = next(iter(page.tables.values())).rows
        assert columns == [["column", "type"], ["id", "long"], ["name", "string"]]


def test_a_card_suits_light_and_dark_pages(rows: dr.Table) -> None:
    card = rows._repr_html_()
    assert not re.search(r"(?<!-)color:(?:#000|#fff|black|white)", card)
    assert "background:#" not in card
    # nothing that affects the page around it
    assert "<style" not in card
    assert " id=" not in card


def test_card_of_a_scan(rows: dr.Table) -> None:
    scan = rows.snapshot().scan(["id"], filter="id > 7")
    _, text = card_of(scan)
    assert re.search(r"reads +0 of 1 file, 0 B of", text)
    assert "id > 7" in text
    assert repr(scan) == f"<Scan of {rows.snapshot()!r}: reads id, where id > 7>"


def test_card_of_a_difference(table: dr.Table, rows: dr.Table) -> None:
    diff = table.snapshot(1).diff(table.snapshot(2))
    _, text = card_of(diff)
    assert re.search(r"files +2, as before", text)
    assert "1 added, 1 removed, 0 with another deletion vector" in text
    assert "300 B → 500 B (+200 B)" in text
    assert repr(diff) == (
        "<SnapshotDiff of versions 1 and 2: 1 file added, 1 removed, "
        "0 with another deletion vector>"
    )
    _, text = card_of(rows.snapshot(0).diff(rows.snapshot(1)))
    assert "3 → 2 (\u22121)" in text


def test_card_of_changes(rows: dr.Table) -> None:
    changes = rows.changes(0)
    page, text = card_of(changes)
    assert re.search(r"versions +0 to 1", text)
    methods = next(iter(page.tables.values())).rows[1:]
    assert [row[:3] for row in methods] == [["files", "1", "1"], ["deletion vectors", "1", "1"]]
    assert repr(changes) == f"<Changes of {rows!r}: versions 0 to 1, full-delta>"
    assert "no commit" in card_of(rows.changes(9, allow_out_of_range=True))[1]


def test_changes_of_unidentified_rows_show_the_error(table: dr.Table) -> None:
    changes = table.changes(1, kind="upsert")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        changes.explain()
    assert caught.value.code == "changes.identity"
    assert "[changes.identity]" in card_of(changes)[1]


def test_card_of_a_verification(table: dr.Table) -> None:
    good = table.verify(data_files=False)
    assert "nothing is wrong" in card_of(good)[1]
    assert repr(good) == "<Verification of version 2: nothing is wrong>"
    bad = table.verify()
    page, text = card_of(bad)
    assert "2 errors" in text
    findings = next(iter(page.tables.values())).rows[1:]
    assert [row[1] for row in findings] == ["file.missing", "file.missing"]
    assert repr(bad) == "<Verification of version 2: 2 of severity error>"


def test_the_card_of_a_verification_with_omitted_findings(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    log.commit(*(logs.add(f"f{number}") for number in range(1_001)))
    _, text = card_of(dr.Table(log.uri).verify())
    assert "at least 1,000 errors" in text
    assert "and 989 more" in text


def test_cards_of_a_replay_plan_and_a_protocol(table: dr.Table, events: logs.LogBuilder) -> None:
    events.checkpoint()
    plan = table.snapshot().replay_plan()
    _, text = card_of(plan)
    assert re.search(r"pieces +1, ", text)
    page, text = card_of(dr.Protocol(3, 7, ["deletionVectors"], ["deletionVectors", "appendOnly"]))
    assert next(iter(page.tables.values())).rows[1:] == [
        ["appendOnly", "writers"],
        ["deletionVectors", "readers and writers"],
    ]
    assert text.count("yes") == 2
    page, _ = card_of(dr.Protocol(2, 5))
    assert [row[0] for row in next(iter(page.tables.values())).rows if "readers" in row[1]] == [
        "columnMapping"
    ]
    _, text = card_of(dr.Protocol(3, 7, ["fancyFeature"], ["fancyFeature"]))
    assert text.count("no: ") == 2
    assert "fancyFeature" in text


def test_a_missing_table_shows_the_error(tmp_path: Any) -> None:
    _, text = card_of(dr.Table(tmp_path / "nothing"))
    assert "table.not_found" in text


def test_long_lists_are_truncated(log: logs.LogBuilder) -> None:
    log.create(logs.schema(**{f"column{number}": "long" for number in range(500)}))
    snapshot = dr.Table(log.uri).snapshot()
    card, text = card_of(snapshot)
    assert len(snapshot._repr_html_()) < 8000
    assert "and 488 more" in text
    assert repr(snapshot).endswith("column7 and 492 more>")
    assert len(repr(snapshot.scan())) < 500
    assert len(next(iter(card.tables.values())).rows) == 13


def test_text_from_the_table_is_escaped(log: logs.LogBuilder) -> None:
    log.create(
        logs.schema(**{"id": "long", HOSTILE: "string"}),
        name=HOSTILE,
        configuration={HOSTILE: HOSTILE},
    )
    log.commit(logs.add("a", stats=logs.stats(3), deletion_vector=vectors.inline([1])))
    table = dr.Table(log.uri)
    snapshot = table.snapshot()
    diff = table.snapshot(0).diff(snapshot)
    values = (table, snapshot, snapshot.scan(), diff, table.changes(0), table.verify())
    html = [value._repr_html_() for value in values]
    for card in html:
        assert Page(card).names <= {
            "div",
            "span",
            "b",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "code",
        }
    assert HOSTILE in "".join(Page(html[1]).text)


def test_a_table_that_opens_but_cannot_be_read_shows_the_error(
    rows: dr.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(snapshot: dr.Snapshot) -> Any:
        raise dr.CorruptTableError("a page is damaged", code="checkpoint.page")

    monkeypatch.setattr(cards, "_state", fails)
    for value in (rows, rows.snapshot()):
        assert "a page is damaged [checkpoint.page]" in card_of(value)[1]
