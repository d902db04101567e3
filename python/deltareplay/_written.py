"""``Written``: what came of writing rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Written:
    """One write of rows, as it was committed.

    Attributes:
        version: The new version; None where the application of ``txn`` had committed it before, or
            no row was concerned.
        metrics: Numbers of files, rows and bytes, by delta-spark's names for this operation.

    >>> import pyarrow as pa
    >>> written = table.append(pa.table({"id": [7, 8]}))
    >>> written.version, written.metrics["numOutputRows"]
    (3, 2)
    """

    version: int | None
    metrics: dict[str, int]
