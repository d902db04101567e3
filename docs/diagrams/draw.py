"""Pictures from text: ``python docs/diagrams/draw.py`` writes an SVG beside each ``.txt``.

A description has one thing on a line. Boxes lie on a grid; a picture of cells has a table instead.

    title How a snapshot loads
    columns 220 200                          the widths of the grid
    box hint 0,0 file : Title / text / text  a box of a kind in column 0, row 0
    arrow hint -> list : label               an arrow between two boxes
    cells head | head ; | cell ; cell | cell a row of a table; a semicolon begins a new line
    note Text below the picture

The picture has its own background and follows the reader's dark or light mode.
"""

from __future__ import annotations

import sys
import textwrap
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
GAP_X, GAP_Y, PAD, LINE, CHARACTER = 56, 44, 16, 18, 6.9
STYLE = """
.back{fill:#ffffff;stroke:#d0d4dc}.text{fill:#1f2430}.dim{fill:#5a6272}
.file{fill:#e8eefc;stroke:#4a6fd0}.step{fill:#eaf6ea;stroke:#3f8f4a}
.result{fill:#fdf1dc;stroke:#b7791f}.plain{fill:#f4f5f7;stroke:#9aa1ad}
.head{fill:#e8eefc;stroke:#9aa1ad}.line{stroke:#5a6272;fill:none}.tip{fill:#5a6272}
text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif}
.bold{font-weight:600}.title{font-size:15px;font-weight:600}
@media (prefers-color-scheme:dark){
.back{fill:#1d2026;stroke:#3a404c}.text{fill:#e6e9ef}.dim{fill:#a6aebd}
.file{fill:#22304f;stroke:#7f9ff0}.step{fill:#1f3a26;stroke:#6fc07b}
.result{fill:#40321a;stroke:#e0ab57}.plain{fill:#2a2e37;stroke:#7a8290}
.head{fill:#22304f;stroke:#7a8290}.line{stroke:#a6aebd}.tip{fill:#a6aebd}}
"""


@dataclass
class Box:
    """A rectangle with a title and some lines."""

    column: int
    row: int
    kind: str
    lines: list[str]
    x: float = 0
    y: float = 0
    width: float = 0
    height: float = 0


@dataclass
class Picture:
    """A parsed description."""

    title: str = ""
    columns: list[int] = field(default_factory=list)
    boxes: dict[str, Box] = field(default_factory=dict)
    arrows: list[tuple[str, str, str]] = field(default_factory=list)
    cells: list[list[list[str]]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def parse(text: str) -> Picture:
    """Parse a description.

    Raises:
        ValueError: A line begins with an unknown word.
    """
    picture = Picture()
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        head, _, tail = (part.strip() for part in rest.partition(" : "))
        match word:
            case "" | "#":
                pass
            case "title":
                picture.title = rest
            case "columns":
                picture.columns = [int(width) for width in rest.split()]
            case "box":
                name, place, kind = head.split()
                column, row = (int(number) for number in place.split(","))
                lines = [part.strip() for part in tail.split(" / ")]
                picture.boxes[name] = Box(column, row, kind, lines)
            case "arrow":
                start, _, end = head.split()
                picture.arrows.append((start, end, tail))
            case "cells":
                row_of = [[one.strip() for one in cell.split(";")] for cell in rest.split("|")]
                picture.cells.append(row_of)
            case "note":
                picture.notes.append(rest)
            case _:
                raise ValueError(f"the line begins with an unknown word: {line}")
    return picture


def draw(text: str) -> str:
    """Return the SVG of a description."""
    picture = parse(text)
    parts: list[str] = []
    width = (
        2 * PAD
        + sum(picture.columns)
        + (0 if picture.cells else GAP_X * (len(picture.columns) - 1))
    )
    bottom = table(picture, parts) if picture.cells else boxes(picture, parts)
    for note in picture.notes:
        for line in textwrap.wrap(note, int((width - 2 * PAD) / CHARACTER)):
            bottom += LINE
            parts.append(label(PAD, bottom + 8, line, "dim"))
    height = bottom + PAD + (8 if picture.notes else 0)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img" aria-labelledby="t">\n'
        f'<title id="t">{escape(picture.title)}</title>\n<style>{STYLE}</style>\n'
        '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path class="tip" d="M0 0L8 4L0 8z"/></marker></defs>\n'
        f'<rect class="back" x="0.5" y="0.5" width="{width - 1:g}" height="{height - 1:g}" '
        'rx="8"/>\n'
        f"{label(PAD, PAD + 12, picture.title, 'text title')}\n"
    )
    return head + "\n".join(parts) + "\n</svg>\n"


def label(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    """Return a line of text."""
    where = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="{kind}" x="{x:g}" y="{y:g}"{where}>{escape(text)}</text>'


def boxes(picture: Picture, parts: list[str]) -> float:
    """Add boxes and arrows to ``parts``; return their end."""
    lefts = [PAD + sum(picture.columns[:at]) + GAP_X * at for at in range(len(picture.columns))]
    for box in picture.boxes.values():
        box.x, box.width = lefts[box.column], picture.columns[box.column]
        most = int((box.width - 20) / CHARACTER)
        box.lines = [piece for line in box.lines for piece in textwrap.wrap(line, most)]
        box.height = LINE * len(box.lines) + 16
    y = float(PAD + 32)
    for row in range(1 + max(box.row for box in picture.boxes.values())):
        inside = [box for box in picture.boxes.values() if box.row == row]
        tall = max((box.height for box in inside), default=0)
        for box in inside:
            box.y, box.height = y, tall
        y += tall + GAP_Y
    for start, end, text in picture.arrows:
        parts.append(arrow(picture.boxes[start], picture.boxes[end], text))
    for box in picture.boxes.values():
        parts.append(
            f'<rect class="{box.kind}" x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" '
            f'height="{box.height:g}" rx="6"/>'
        )
        for at, line in enumerate(box.lines):
            kind = "text bold" if at == 0 else "text"
            parts.append(label(box.x + 10, box.y + 20 + LINE * at, line, kind))
    return y - GAP_Y


def arrow(start: Box, end: Box, text: str) -> str:
    """Return a line between the facing sides of two boxes, with its label beside it."""
    if start.column == end.column:
        down = end.row > start.row
        x = start.x + start.width / 2
        first = (x, start.y + (start.height if down else 0))
        last = (x, end.y + (0 if down else end.height))
    elif start.row == end.row:
        right = end.column > start.column
        y = start.y + start.height / 2
        first = (start.x + (start.width if right else 0), y)
        last = (end.x + (0 if right else end.width), y)
    else:
        return elbow(start, end)
    line = (
        f'<path class="line" marker-end="url(#a)" '
        f'd="M{first[0]:g} {first[1]:g}L{last[0]:g} {last[1]:g}"/>'
    )
    if not text:
        return line
    middle = ((first[0] + last[0]) / 2, (first[1] + last[1]) / 2)
    if start.row == end.row:
        return line + label(middle[0], middle[1] - 8, text, "dim", "middle")
    return line + label(middle[0] + 8, middle[1] + 4, text, "dim")


def elbow(start: Box, end: Box) -> str:
    """Return a line to a box of the next row: down, across the gap, down."""
    x = start.x + start.width / 2
    y = start.y + start.height
    across = y + GAP_Y / 2
    target = end.x + end.width * (0.75 if start.column > end.column else 0.25)
    return (
        f'<path class="line" marker-end="url(#a)" '
        f'd="M{x:g} {y:g}V{across:g}H{target:g}V{end.y:g}"/>'
    )


def table(picture: Picture, parts: list[str]) -> float:
    """Add cells to ``parts``, with heads in the first row and column; return their end."""
    y = float(PAD + 28)
    for number, row in enumerate(picture.cells):
        wrapped = [
            [
                piece
                for line in cell
                for piece in (textwrap.wrap(line, int((wide - 16) / CHARACTER)) or [""])
            ]
            for cell, wide in zip(row, picture.columns, strict=True)
        ]
        tall = LINE * max(map(len, wrapped)) + 12
        x = float(PAD)
        for at, (lines, wide) in enumerate(zip(wrapped, picture.columns, strict=True)):
            kind = "head" if number == 0 or at == 0 else "plain"
            parts.append(
                f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{wide:g}" height="{tall:g}"/>'
            )
            weight = "text bold" if kind == "head" else "text"
            parts += [
                label(x + 8, y + 18 + LINE * which, line, weight)
                for which, line in enumerate(lines)
            ]
            x += wide
        y += tall
    return y


def main() -> None:
    """Write every picture."""
    for path in sorted(HERE.glob("*.txt")):
        path.with_suffix(".svg").write_text(draw(path.read_text(encoding="utf-8")), "utf-8")
        sys.stderr.write(f"{path.stem}.svg\n")


if __name__ == "__main__":
    main()
