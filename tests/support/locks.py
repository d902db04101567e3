"""Locks between processes."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Held while a process starts Spark: concurrent downloads of jars corrupt the files.
SPARK_START = Path(tempfile.gettempdir(), "deltareplay-spark-start")


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock of a file, which is created if needed."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
