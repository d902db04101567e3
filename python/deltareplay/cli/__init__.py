"""The command ``deltareplay``, which uses only the public API."""

from __future__ import annotations

import sys
from collections.abc import Sequence

_MISSING_PACKAGES = "the command needs typer and rich: pip install 'typer>=0.15,<0.29' 'rich>=13'"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: The arguments after ``deltareplay``; by default those of the process.

    Returns:
        0 for success, 1 for findings, 2 for wrong use, 3 if the table cannot be read, the commit
        failed or the output cannot be written, 130 after Ctrl-C.

    >>> main(["count", table.uri + "/nothing"])
    3
    """
    try:
        from deltareplay.cli._app import run
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("typer", "rich"):
            raise
        sys.stderr.write(f"error: {_MISSING_PACKAGES}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return run(list(sys.argv[1:] if arguments is None else arguments))
