"""HTML tables that can be sorted and searched, of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deltareplay.viz.html import Content, Html, join, tag

#: Characters of a table: rows that do not fit are counted, so that no table makes a page large.
BUDGET = 12_000
#: Fewer rows need no search.
SEARCHED = 9


@dataclass(frozen=True)
class Cell:
    """A cell with a value to sort by.

    Attributes:
        content: The content.
        value: The sort key; None sorts by the text.
    """

    content: Content
    value: float | None = None


Row = Sequence[Content | Cell]


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Row],
    *,
    numbers: Sequence[int] = (),
    name: str | None = None,
    budget: int = BUDGET,
    total: int | None = None,
) -> Html:
    """Return a table as HTML.

    Args:
        caption: The caption.
        heads: The column headings.
        rows: The rows; those beyond the budget are left out and counted.
        numbers: Columns that are right-aligned.
        name: The id; with an id, the table can be searched if it has several rows.
        budget: The maximum number of characters in rows.
        total: The number of all rows, if ``rows`` are not complete.
    """
    drawn: list[Html] = []
    used = left_out = 0
    for row in rows:
        rendered = _row(row, numbers)
        used += len(rendered)
        if used > budget:
            left_out += 1
        else:
            drawn.append(rendered)
    left_out = max(left_out, (total or 0) - len(drawn))
    head = tag(
        "tr",
        *(
            tag("th", title, scope="col", class_="n" if index in numbers else None)
            for index, title in enumerate(heads)
        ),
    )
    more = tag("p", f"{left_out:,} more rows are not shown.", class_="more") if left_out else None
    search = (
        tag(
            "input",
            type="search",
            placeholder="Search",
            aria_label=f"Search: {caption}",
            data_for=name,
            class_="search",
        )
        if name and len(drawn) >= SEARCHED
        else None
    )
    body = tag(
        "table",
        tag("caption", caption),
        tag("thead", head),
        tag("tbody", join(drawn)),
        id=name,
        class_="sortable" if len(drawn) > 2 else None,
    )
    frame = tag("div", body, class_="scroll", tabindex=0, role="region", aria_label=caption)
    return join([search, frame, more])


def _row(row: Row, numbers: Sequence[int]) -> Html:
    cells = []
    for index, cell in enumerate(row):
        content, value = (cell.content, cell.value) if isinstance(cell, Cell) else (cell, None)
        sort = None if value is None else f"{value:.12g}"
        cells.append(tag("td", content, class_="n" if index in numbers else None, data_v=sort))
    return tag("tr", *cells)


def numbers_of(chart: str, content: Html) -> Html:
    """Return the numbers behind a chart, as an alternative to the picture."""
    return tag("details", tag("summary", f"Numbers of this chart: {chart}"), content)
