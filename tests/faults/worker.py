"""Opens tables in a separate process, which may crash or hang.

One request per line on stdin, a table directory; one response per line on stdout: the state of the
table, or the error, and the largest resident size so far. A request that ends in ``.parquet`` is
read by pyarrow alone, row by row: the view of another reader on a broken checkpoint. The parent
detects a hang by a timeout and a crash by the end of the stream.
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.memory import peak_memory

LIMIT = 8 << 30  # of address space; the parent checks resident memory


def state_of(snapshot: Any) -> dict[str, Any]:
    """Return the state of a snapshot as values of JSON, in an order that does not vary."""
    files = snapshot.files().to_pylist()
    for file in files:
        file["partitionValues"] = sorted(file["partitionValues"] or [], key=repr)
        file["tags"] = sorted(file["tags"] or [], key=repr)
        file.pop("dataChange")
    removed = snapshot.tombstones().to_pylist()
    return {
        "version": snapshot.version,
        "protocol": [
            snapshot.protocol.min_reader_version,
            snapshot.protocol.min_writer_version,
        ],
        "schema": snapshot.schema_json,
        "configuration": dict(snapshot.metadata.configuration),
        "files": sorted(files, key=repr),
        "removed": sorted([row["path"], row["deletionTimestamp"]] for row in removed),
        "txns": dict(snapshot.transactions),
        "domains": dict(snapshot.domain_metadata),
    }


def answer(table: str) -> dict[str, Any]:
    """Return the state of the newest version and its warnings, or the error."""
    import deltareplay as dr

    try:
        snapshot = dr.Table(table).snapshot()
        warned = [[warning.code, warning.message] for warning in snapshot.warnings]
        return {**state_of(snapshot), "warnings": warned}
    except dr.DeltaReplayError as error:
        return {
            "error": type(error).__name__,
            "code": error.code,
            "path": error.path,
            "line": getattr(error, "line", None),
            "offset": getattr(error, "offset", None),
            "message": str(error),
        }
    except BaseException as error:  # a panic is not an Exception
        return {"untyped": f"{type(error).__name__}: {error}"}


def rows(path: str) -> dict[str, Any]:
    """Return the actions of a Parquet file, or why pyarrow does not read it."""
    import pyarrow.parquet as pq

    try:
        return {"rows": [_action(row) for row in pq.read_table(path).to_pylist()]}
    except Exception as error:
        return {"error": str(error)}


def _action(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as in a commit: maps as objects, without nulls."""
    action = {}
    for kind, body in row.items():
        if body is None:
            continue
        present = {name: value for name, value in body.items() if value is not None}
        for name in ("partitionValues", "tags", "configuration"):
            entries = present.get(name)
            if isinstance(entries, list) and all(isinstance(entry, tuple) for entry in entries):
                present[name] = dict(entries)  # otherwise damage has made the map a list
        action[kind] = present
    return action


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        request = line.rstrip("\n")
        result = rows(request) if request.endswith(".parquet") else answer(request)
        result["resident"] = peak_memory()
        sys.stdout.write(json.dumps(result, default=repr) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
