"""The log for engines that read its files themselves."""

from __future__ import annotations

from pathlib import Path


def parts(uri: str) -> tuple[Path, list[Path]]:
    """Return the only checkpoint of a log, and the commits after it in order."""
    log = Path(uri) / "_delta_log"
    [checkpoint] = log.glob("*.checkpoint.parquet")
    version = checkpoint.name.partition(".")[0]
    return checkpoint, sorted(path for path in log.glob("*.json") if path.stem > version)
