"""The page: sections, style and script in one file that loads nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import TYPE_CHECKING

from deltareplay import _native
from deltareplay._support import units
from deltareplay._table.report import GENERATOR
from deltareplay.viz.facts import Facts, measure
from deltareplay.viz.markup import Html, clip, tag
from deltareplay.viz.sections import (
    advice_content,
    findings_content,
    header,
    history_content,
    section,
    table_content,
)
from deltareplay.viz.storage_sections import (
    definition_content,
    deleted_rows_content,
    files_content,
    log_content,
    statistics_content,
)

if TYPE_CHECKING:
    from deltareplay._table.table import Table

#: The sections: id, title in the navigation, title, content.
_SECTIONS = (
    ("advice", "Advice", "What to do", advice_content),
    ("findings", "Findings", "Findings", findings_content),
    ("about", "Table", "What it is", table_content),
    ("life", "Life", "Its life", history_content),
    ("files", "Files", "Files", files_content),
    ("deleted", "Deleted rows", "Deleted rows", deleted_rows_content),
    ("statistics", "Statistics", "Statistics", statistics_content),
    ("log", "Log", "The log", log_content),
    ("definition", "Schema", "Schema and properties", definition_content),
)


def report(table: Table, version: int | None, orphans: bool) -> str:
    """Return the report of a table as HTML."""
    return page(measure(table, version, orphans))


def page(facts: Facts) -> str:
    """Return the report of measured facts as HTML."""
    name = facts.snapshot.metadata.name or facts.display_uri.rstrip("/").rpartition("/")[2]
    return document(
        f"{clip(name, 100)}, version {facts.snapshot.version}",
        f"{GENERATOR} {_native.__version__}",
        header(facts),
        [
            (key, label, section(key, title, *content(facts)))
            for key, label, title, content in _SECTIONS
        ],
        _footer(facts),
    )


def document(
    title: str,
    generator: str,
    header: Html,
    parts: Sequence[tuple[str, str, Html]],
    footer: Html,
    more_style: str = "",
) -> str:
    """Return a page with the style of the report.

    ``parts`` are sections with their ids and their titles in the navigation, which is below the
    header; ``more_style`` are additional style rules.
    """
    style = Html(resource("report.css") + more_style)
    script = Html(resource("report.js"))
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=Html(policy)),
        tag("meta", name="generator", content=generator),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        Html(f"<style>{style}</style>"),
    )
    links = [tag("li", tag("a", title, href=f"#{key}")) for key, title, _ in parts]
    theme = tag("button", "Dark", type="button", id="theme", hidden=True)
    navigation = tag("nav", tag("div", tag("ul", *links), theme), aria_label="Sections")
    body = tag(
        "body",
        tag("a", "Skip to the report", href="#main", class_="skip"),
        header,
        navigation,
        tag("main", *(part for _, _, part in parts), id="main"),
        footer,
        Html(f"<script>{script}</script>"),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _footer(facts: Facts) -> Html:
    return tag(
        "footer",
        tag(
            "p",
            f"Measured {units.stamp(facts.now)} in {units.seconds(facts.seconds)} by deltareplay "
            f"{_native.__version__}. Times are in UTC, sizes in powers of 1024. This page loads "
            "nothing and sends nothing.",
        ),
    )


def resource(name: str) -> str:
    """Read a file of this package."""
    return files("deltareplay.viz").joinpath(name).read_text(encoding="utf-8").strip()


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
