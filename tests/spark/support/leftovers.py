"""What lies in a table's directory and belongs to no live file."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import deltareplay as dr


def leftovers(path: Path) -> list[str]:
    """Files beside the log that are no live data files, and vectors if there are more than used.

    Without the checksums of Hadoop's local file system, which are hidden.
    """
    files = dr.Table(path).snapshot().files().to_pylist()
    live = {unquote(one["path"]) for one in files}
    vectors = {
        one["deletionVector"]["pathOrInlineDv"]
        for one in files
        if one["deletionVector"] is not None and one["deletionVector"]["storageType"] == "u"
    }
    relative = [one.relative_to(path) for one in path.rglob("*") if one.is_file()]
    there = {str(one) for one in relative if one.parts[0] != "_delta_log" and one.suffix != ".crc"}
    assert live <= there
    others = sorted(there - live)
    kept = [one for one in others if one.endswith(".bin")]
    return others if len(kept) != len(vectors) else [one for one in others if one not in kept]
