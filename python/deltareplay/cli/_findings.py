"""Findings as a person reads them: what is wrong, where, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deltareplay.cli._format import plain

if TYPE_CHECKING:
    from rich.console import Console

_COLOURS = {"error": "red", "warning": "yellow", "info": "cyan"}


def tell(
    console: Console,
    severity: str,
    message: str,
    remedy: str,
    *,
    location: Sequence[str] = (),
    heading: str | None = None,
) -> None:
    """Prints one finding.

    Args:
        console: Where to.
        severity: ``error``, ``warning`` or ``info``.
        message: What is wrong.
        remedy: What to do.
        location: The file, the line, the byte.
        heading: What stands to the left of it; None if there is no such column.
    """
    from rich.table import Table
    from rich.text import Text

    text = Text(f"{severity}: ", style=f"bold {_COLOURS[severity]}")
    text.append(plain(message), style="not bold default")
    if location:
        text.append(f"\n  in:  {', '.join(map(plain, location))}", style="not bold default")
    text.append("\n  try: ", style="bold default")
    text.append(plain(remedy), style="not bold default")
    grid = Table.grid()
    if heading is not None:
        grid.add_column(width=8, style="cyan")
    grid.add_column(overflow="fold")
    grid.add_row(*(() if heading is None else (heading,)), text)
    console.print(grid)
