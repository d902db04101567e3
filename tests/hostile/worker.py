"""Opens hostile tables in a separate process, which may crash or hang.

One request per line on stdin: table, filter, columns. One response per line on stdout: the results
of a snapshot, a scan, ``Table.verify()`` and a verified snapshot, or their errors, and the peak
memory so far.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.memory import peak_memory

Answer = dict[str, Any]


def outcome(work: Callable[[], Any]) -> Answer:
    """Return the result of the work, or its error."""
    import deltareplay as dr

    try:
        return {"ok": work()}
    except dr.DeltaReplayError as error:
        return {
            "error": type(error).__name__,
            "code": error.code,
            "path": error.path or "",
            "line": getattr(error, "line", None),
            "offset": getattr(error, "offset", None),
            "message": str(error),
        }
    except BaseException as error:  # a panic is not an Exception
        return {"untyped": f"{type(error).__name__}: {error}"}


def answer(table: str, filter_: str | None, columns: list[str] | None) -> Answer:
    """Return all results for a table."""
    import deltareplay as dr

    opened = dr.Table(table)

    def files() -> int:
        snapshot = opened.snapshot()
        batches = snapshot.file_batches(columns=["path", "size", "partitionValues"])
        count = sum(batch.num_rows for batch in batches)
        assert snapshot.num_files == count
        snapshot.tombstones()
        return count

    def rows() -> list[int | None]:
        result: list[int | None] = []
        for batch in opened.snapshot().scan(columns, filter=filter_).to_batches():
            result += batch.column("id").to_pylist() if "id" in batch.schema.names else []
        return sorted(result, key=lambda row: (row is None, row or 0))

    def findings() -> list[Any]:
        return [
            [
                finding.severity,
                finding.code,
                finding.path or "",
                finding.message,
                finding.line,
                finding.offset,
            ]
            for finding in opened.verify(rows=True).findings
        ]

    def verified_snapshot() -> int:
        return opened.snapshot(verify=True).num_files

    return {
        "snapshot": outcome(files),
        "rows": outcome(rows),
        "findings": outcome(findings),
        "verified_snapshot": outcome(verified_snapshot),
    }


def main() -> None:
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        request = json.loads(line)
        result = answer(request["table"], request["filter"], request["columns"])
        result["resident"] = peak_memory()
        sys.stdout.write(json.dumps(result, default=repr) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
