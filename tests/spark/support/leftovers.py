"""Files in a table's directory that belong to no live file."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import deltareplay as dr


def leftovers(path: Path) -> list[str]:
    """Return the files outside of the log that are not live data files.

    Excludes the checksums of Hadoop's local file system, and the files of deletion vectors if there
    are as many as live files refer to.
    """
    files = dr.Table(path).snapshot().files().to_pylist()
    live = {unquote(file["path"]) for file in files}
    vectors = {
        file["deletionVector"]["pathOrInlineDv"]
        for file in files
        if file["deletionVector"] is not None and file["deletionVector"]["storageType"] == "u"
    }
    relative = [item.relative_to(path) for item in path.rglob("*") if item.is_file()]
    existing = {
        str(item) for item in relative if item.parts[0] != "_delta_log" and item.suffix != ".crc"
    }
    assert live <= existing
    others = sorted(existing - live)
    stored = [item for item in others if item.endswith(".bin")]
    return others if len(stored) != len(vectors) else sorted({*others} - {*stored})
