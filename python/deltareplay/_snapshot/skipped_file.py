"""``SkippedFile``: a data file that a scan skipped."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SkippedFile:
    """A data file that was skipped because it could not be read.

    Attributes:
        path: The path, as in the log.
        code: The code of the error, as in ``DeltaReplayError.code``.
        message: The message of the error.

    >>> scan = rows.snapshot().scan(on_error="skip")
    >>> scan.to_arrow().num_rows, [file.path for file in scan.skipped]
    (2, [])
    """

    path: str
    code: str
    message: str
