"""What a verb deleted, or would delete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from deltareplay.cli._format import counted, plain, size

if TYPE_CHECKING:
    from rich.console import Console

#: Files on the screen.
_SCREEN = 20


def tell(
    console: Console, files: Sequence[str], size_in_bytes: int, *, dry_run: bool, command: str
) -> None:
    """Prints the files, their number, and what to do next."""
    for path in files[:_SCREEN]:
        console.print(plain(path), soft_wrap=True)
    if len(files) > _SCREEN:
        console.print(f"and {len(files) - _SCREEN:,} more", style="dim")
    summary = f"{counted(len(files), 'file')}, {size(size_in_bytes)}"
    if not dry_run:
        console.print(f"deleted: {summary}")
    elif files:
        console.print(f"would delete: {summary}; `{command}` does")
    else:
        console.print("there is nothing to delete")
