"""``Table.report``."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deltareplay._snapshot.table_location import TableLocation
from deltareplay._support.arguments import checked_methods
from deltareplay._support.display import render
from deltareplay.exceptions import InvalidArgumentError

if TYPE_CHECKING:
    from pathlib import Path

#: The mark by which a report is recognized; other files are not overwritten.
GENERATOR = "deltareplay report"

#: The number of bytes at the beginning of a report that contain the mark.
_HEAD = 4096


@checked_methods
class Reporting(TableLocation):
    """The method ``Table.report``."""

    __slots__ = ()

    def report(
        self,
        output: str | os.PathLike[str] = "report.html",
        *,
        version: int | None = None,
        orphans: bool = False,
    ) -> Path:
        """Write an HTML report on the table: definition, history, layout and advice.

        The file works offline and loads nothing. Its size does not grow with the table: files are
        summed, and the history has at most 10,000 commits. Only the log is read. Log and
        findings are those of the latest version, whatever ``version`` is.

        Args:
            output: The file, on a local disk; by default, ``report.html`` in the working directory.
                An existing report is replaced; any other file is left unchanged.
            version: The version; None for the latest.
            orphans: Whether to list the table's directory, to find files that no version needs, and
                files that are missing.

        Returns:
            The file.

        Raises:
            InvalidArgumentError: There is another file or a directory at ``output``, no directory
                to put it into, or no permission or space to write it (``report.output``).
            DeltaReplayError: As ``snapshot``.

        >>> import tempfile
        >>> written = table.report(tempfile.mkdtemp() + "/report.html")
        >>> written.name, written.stat().st_size < 300_000
        ('report.html', True)
        """
        from pathlib import Path

        path = Path(os.fspath(output))
        with _file_errors(path):
            _check(path)
        content = render("report", "report", self, version, orphans)
        with _file_errors(path):
            _replace(path, content.encode("utf-8", "replace"))
        return path


@contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    """Convert errors of the file system, such as a full disk or a missing permission."""
    try:
        yield
    except InvalidArgumentError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a null character
        raise _output_error(f"{path} cannot be written: {error}") from error


def _check(path: Path) -> None:
    """Check that the file may be written."""
    if path.is_dir():
        raise _output_error(f"{path} is a directory: name a file in it")
    if not path.parent.is_dir():
        raise _output_error(f"there is no directory {path.parent}: create it first")
    if path.exists():
        head = b""
        if path.is_file():  # a pipe may block its reader
            with path.open("rb") as file:
                head = file.read(_HEAD)
        if b'<meta name="generator" content="' + GENERATOR.encode() not in head:
            raise _output_error(
                f"{path} exists and is not a report: choose another name, or delete it"
            )


def _output_error(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(message, code="report.output")


def _replace(path: Path, content: bytes) -> None:
    """Replace a file as a whole or not at all."""
    temporary = path.with_name(f".{path.name[:100]}.{uuid.uuid4().hex}")
    try:
        with temporary.open("xb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
