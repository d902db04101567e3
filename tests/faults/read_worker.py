"""The process with the read shim: forks a child for each job, and reports its result.

Jobs come as JSON lines: table, verb, number of the failing call, kind of failure. So do results.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import warnings
from typing import Any

import pyarrow as pa

import deltareplay as dr


def rows_of(table: dr.Table) -> list[int]:
    return sorted(table.snapshot().scan().to_arrow()["id"].to_pylist())


VERBS = {
    "scan": rows_of,
    "files": lambda table: table.snapshot().files(["path"]).num_rows,
    "history": lambda table: table.history().num_rows,
    "verify": lambda table: table.verify(rows=True).ok,
    "changes": lambda table: table.changes(0).to_arrow().num_rows,
    "checkpoint": lambda table: table.checkpoint().version,
    "append": lambda table: table.append({"id": [901]}).version,
    "delete": lambda table: table.delete("id = 8").version,
}


def answer(root: str, verb: str, at: int, how: int) -> dict[str, Any]:
    table = dr.Table(root)
    shim = ctypes.CDLL(None)
    shim.readshim_arm(root.encode(), ctypes.c_long(at), how)
    result: dict[str, Any] = {}
    try:
        result["value"] = VERBS[verb](table)
    except dr.DeltaReplayError as error:
        result["code"] = error.code
    except BaseException as error:  # a panic is not an Exception
        result["untyped"] = f"{type(error).__name__}: {error}"
    result["reads"] = shim.readshim_disarm()
    result["rows"] = rows_of(dr.Table(root))
    return result


def main() -> None:
    warnings.simplefilter("ignore")
    pa.array([1])
    for line in sys.stdin:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writing, json.dumps(answer(*json.loads(line))).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            output = pipe.read()
        os.waitpid(child, 0)
        sys.stdout.write((output.decode() or '{"untyped": "it died"}') + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
