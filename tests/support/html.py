"""The content of an HTML page, parsed without a browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"br", "input", "link", "meta"}


@dataclass
class Table:
    """A table: its caption and the texts of its cells."""

    caption: str = ""
    rows: list[list[str]] = field(default_factory=list)


class Page(HTMLParser):
    """Fails on tags that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.tables: dict[str, Table] = {}
        self.text: list[str] = []
        self.scripts: list[str] = []
        self._tables: list[Table] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            self.attributes.append((tag, name, value or ""))
            if name == "id":
                self.ids.append(value or "")
        if tag == "table":
            self._tables.append(Table())
        elif tag == "tr":
            self._tables[-1].rows.append([])
        elif tag in ("td", "th"):
            self._tables[-1].rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag == "table":
            table = self._tables.pop()
            self.tables[table.caption] = table

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif "caption" in self.open:
            self._tables[-1].caption += data
        elif ("td" in self.open or "th" in self.open) and "title" not in self.open:
            self._tables[-1].rows[-1][-1] += data
        if not {"script", "style"} & set(self.open):
            self.text.append(data)

    def values(self, name: str) -> list[str]:
        """Return the values of an attribute."""
        return [value for _, key, value in self.attributes if key == name]
