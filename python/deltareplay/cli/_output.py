"""The output of a verb: for a person, as JSON lines or as CSV."""

from __future__ import annotations

import csv
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, Any, Literal

from deltareplay.cli._values import (
    counted,
    plain,
    short_timestamp,
    timestamp,
    to_json,
    with_zones,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from rich.console import Console
    from rich.text import Text

#: The width of a pipe, which does not limit lines.
_UNLIMITED_WIDTH = 100_000
#: The maximum width that a column counts when columns are chosen: longer values can be truncated.
_MAX_CELL_WIDTH = 30
#: The minimum width of a wide terminal.
_WIDE = 120
#: The minimum width of a column that is narrowed.
_MIN_WIDTH = 8
#: The first characters of formulas in spreadsheets, including full-width ones of East Asia.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]inf", re.ASCII)
#: Control characters that a CSV cell may contain unescaped.
_BREAKS = ("\r\n", "\n", "\t")
_BREAK = re.compile("(\r\n|\n|\t)")
#: The number of characters between two columns of a table.
_GAP = 3


@dataclass(frozen=True)
class Column:
    """A column of a table: its name for programs, and its format for people."""

    name: str
    title: str = ""
    text: Callable[[Any], str] = plain
    right: bool = False
    truncate: bool = False  # with an ellipsis, instead of being folded
    no_fold: bool = False
    soft_wrap: bool = False  # of the last column: the terminal wraps it, so it can be copied


class Output:
    """The output of a verb, on standard output."""

    def __init__(self, form: str, *, utc: bool) -> None:
        self.form: Literal["text", "json", "csv"] = form  # type: ignore[assignment]
        self.utc = utc

    @property
    def is_text(self) -> bool:
        """True if the output is for a person."""
        return self.form == "text"

    @property
    def is_wide(self) -> bool:
        """True if the terminal is wide enough for additional columns."""
        return self.is_text and console(sys.stdout).width >= _WIDE

    def timestamp(self, value: Any) -> str:
        """Format a timestamp for a person."""
        return timestamp(value, utc=self.utc)

    def times(self, name: str, title: str) -> Column:
        """Return a column of timestamps."""
        title = f"{title} (UTC)" if self.utc else title
        return Column(name, title, partial(short_timestamp, utc=self.utc), no_fold=True)

    def document(self, facts: Mapping[str, Any], text: Callable[[Console], None]) -> None:
        """Print an object: facts by name for programs; ``text`` prints them for a person."""
        if self.is_text:
            text(console(sys.stdout))
        elif self.form == "json":
            self._write_json(facts)
        else:
            rows = csv.writer(sys.stdout, lineterminator="\n")
            rows.writerow(["name", "value"])
            for name, value in facts.items():
                rows.writerow([name, self._csv_cell(value)])

    def rows(
        self,
        rows: Iterable[Mapping[str, Any]],
        columns: Sequence[Column],
        *,
        empty: str = "nothing",
    ) -> None:
        """Print a table: all facts of the rows as JSON, only these columns as CSV or text."""
        if self.is_text:
            self._table([with_zones(row, utc=self.utc) for row in rows], columns, empty)
        else:
            self._write(rows, columns)

    def data(
        self,
        rows: Iterable[Mapping[str, Any]],
        schema: pa.Schema,
        *,
        empty: str,
        first: Sequence[str] = (),
    ) -> None:
        """Print rows of a table: a person sees as many columns as fit, beginning with ``first``.

        Without rows, a person sees the text ``empty``.
        """
        columns = [_column_of(field) for field in schema]
        if not self.is_text:
            self._write(rows, columns)
            return
        all_rows = [with_zones(row, utc=self.utc) for row in rows]
        columns.sort(key=lambda column: column.name not in first)
        columns, left_out = _fitting(all_rows, columns, console(sys.stdout).width)
        self._table(all_rows, columns, empty)
        if left_out and all_rows:
            names = ", ".join(column.title for column in left_out)
            self.note(f"{counted(len(left_out), 'more column')}: {names}; choose by --columns")

    def stream(
        self,
        rows: Iterable[Mapping[str, Any]],
        columns: Sequence[Column],
        text: Callable[[Any], str],
    ) -> None:
        """Print rows as they come, each at once; for a person as a line of text."""
        if self.is_text:
            for row in rows:
                print(plain(text(with_zones(row, utc=self.utc))), flush=True)
        else:
            self._write(rows, columns, flush=True)

    def note(self, text: str) -> None:
        """Print a remark below the output, for a person only."""
        if self.is_text:
            console(sys.stdout).print(text, style="dim", soft_wrap=True)

    def _write(
        self, rows: Iterable[Mapping[str, Any]], columns: Sequence[Column], *, flush: bool = False
    ) -> None:
        """Print rows for a program; with ``flush``, each at once."""
        out = csv.writer(sys.stdout, lineterminator="\n")
        names = [column.name for column in columns]
        if self.form == "csv":
            out.writerow(map(_csv_text, names))
            if flush:
                sys.stdout.flush()
        for row in rows:
            if self.form == "csv":
                out.writerow([self._csv_cell(row.get(name)) for name in names])
            else:
                self._write_json(row)
            if flush:
                sys.stdout.flush()

    def _write_json(self, row: Mapping[str, Any]) -> None:
        utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
        sys.stdout.write(to_json(row, utc=self.utc, ascii_only=not utf8) + "\n")

    def _csv_cell(self, value: Any) -> Any:
        decoded = json.loads(to_json(value, utc=self.utc))
        if isinstance(decoded, (dict, list, bool)):  # true and false as in JSON
            return to_json(decoded, utc=self.utc)
        return _csv_text(decoded) if isinstance(decoded, str) else decoded

    def _table(
        self, rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], empty: str
    ) -> None:
        from rich import box
        from rich.cells import cell_len
        from rich.table import Table

        if not rows:
            console(sys.stdout).print(empty, style="dim")
            return
        out = console(sys.stdout)
        cells = [[column.text(row.get(column.name)) for column in columns] for row in rows]
        if columns[-1].soft_wrap:
            _print_lines(out, columns, cells)
            return
        widths = [
            max(cell_len(column.title), *(cell_len(row[index]) for row in cells))
            for index, column in enumerate(columns)
        ]
        fitting = _narrowed(columns, widths, out.width - _GAP * (len(widths) - 1))
        if fitting is None:
            _print_lines(out, columns, cells)
            return
        grid = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
        for column, width, natural in zip(columns, fitting, widths, strict=True):
            grid.add_column(
                column.title,
                justify="right" if column.right else "left",
                no_wrap=column.truncate or width == natural,
                overflow="ellipsis" if column.truncate else "fold",
                width=width,
            )
        for row in cells:
            grid.add_row(*row)
        out.print(grid)


def _csv_text(text: str) -> str:
    r"""Escape a text as a CSV cell that no spreadsheet computes, and no terminal obeys.

    A text that begins like a formula gets an apostrophe before it, unless it is a number. Line
    breaks and tabs stay inside a cell; ``--json`` prints texts unchanged.

    >>> [_csv_text(text) for text in ("=1+1", "-3.50", "+1e5", "-1|calc", "a\x1bb")]
    ["'=1+1", '-3.50', '+1e5', "'-1|calc", 'a\\x1bb']
    """
    is_formula = text.startswith(_FORMULA) and not _NUMBER.fullmatch(text)
    parts = _BREAK.split(text)
    safe = "".join(part if part in _BREAKS else plain(part) for part in parts)
    return f"'{safe}" if is_formula else safe


def _narrowed(columns: Sequence[Column], widths: Sequence[int], space: int) -> list[int] | None:
    """Return widths that fit into a space: first truncated columns are narrowed, then folded ones.

    Titles are broken only between words; numbers and times are not folded. Return None if the space
    is too small for that, since rich would leave characters out.
    """
    from rich.cells import cell_len

    needs = [
        width if column.right or column.no_fold else min(width, max(space, 1))
        for column, width in zip(columns, widths, strict=True)
    ]
    for truncated, min_width in ((True, _MIN_WIDTH), (False, _MIN_WIDTH), (True, 1)):
        limits = {
            index: max([min_width, *map(cell_len, column.title.split())])
            for index, column in enumerate(columns)
            if (
                column.truncate
                if truncated
                else not (column.truncate or column.right or column.no_fold)
            )
        }
        while sum(needs) > space:
            wide = [index for index, limit in limits.items() if needs[index] > limit]
            if not wide:
                break
            needs[max(wide, key=needs.__getitem__)] -= 1
    return needs if sum(needs) <= space else None


def _print_lines(out: Console, columns: Sequence[Column], cells: list[list[str]]) -> None:
    """Print each row as one line, which the terminal wraps, so that it can be copied."""
    from rich.cells import cell_len

    lines = [[column.title for column in columns], *cells]
    widths = [max(cell_len(line[index]) for line in lines) for index in range(len(columns))]
    for number, line in enumerate(lines):
        padded = []
        for column, text, width in zip(columns, line, widths, strict=True):
            space = " " * (width - cell_len(text))
            padded.append(space + text if column.right else text + space)
        text = "  ".join(padded).rstrip()
        if number == 0:
            out.print(text, style="bold", soft_wrap=True)
        else:
            out.file.write(f"{plain(text)}\n")  # faster than print, for a million files


def _column_of(field: pa.Field[Any]) -> Column:
    import pyarrow as pa

    kind = field.type
    right = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return Column(field.name, plain(field.name), right=right, truncate=True)


def _fitting(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[Column], width: int
) -> tuple[list[Column], list[Column]]:
    """Split the columns into those that fit into a width, at least one, and the others."""
    from rich.cells import cell_len

    used = -_GAP
    for index, column in enumerate(columns):
        cells = (cell_len(column.text(row.get(column.name))) for row in rows)
        used += _GAP + min(max([cell_len(column.title), *cells]), _MAX_CELL_WIDTH)
        if used > width and index:
            return list(columns[:index]), list(columns[index:])
    return list(columns), []


def console(stream: IO[str]) -> Console:
    """Create a console that prints text literally, in colour on a terminal without ``NO_COLOR``."""
    from rich.console import Console

    class EscapingConsole(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            # called for all text: printed text, cells and titles
            return super().render_str(plain(text), **options)

        def on_broken_pipe(self) -> None:
            raise  # the current error; rich would exit with 1

    width = None if stream.isatty() or "COLUMNS" in os.environ else _UNLIMITED_WIDTH
    return EscapingConsole(file=stream, highlight=False, markup=False, emoji=False, width=width)
