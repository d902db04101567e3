"""The process with the shim: forks a child for each operation, which may not survive it.

Jobs come as JSON lines: operation, table, at, how. Results are JSON lines: the version and the
result or the error, how the child ended, and the calls that it made.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyarrow as pa
from faults.operations import BY_NAME, CREATE

import deltareplay as dr


def perform(job: dict[str, Any], log: int) -> dict[str, Any]:
    """Execute one operation with the shim enabled."""
    operation = BY_NAME[job["operation"]]
    table = dr.Table(job["table"])
    shim = ctypes.CDLL(None)
    shim.faultshim_arm(job["table"].encode(), ctypes.c_long(job["at"]), job["how"], log)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            done = operation.run(table)
    except Exception as error:
        names = [kind.__name__ for kind in type(error).__mro__]
        return {"error": names, "code": getattr(error, "code", None), "message": str(error)}
    finally:
        shim.faultshim_disarm()
    if operation is CREATE:
        done = 0
    version = getattr(done, "version", done if type(done) is int else None)
    return {"done": version, "warnings": [str(warning.message) for warning in caught]}


def main() -> None:
    pa.array([1])  # checks for pandas, which takes a while, once instead of in every child
    for line in sys.stdin:
        job = json.loads(line)
        reading, writing = os.pipe()
        with tempfile.TemporaryFile() as log:
            child = os.fork()
            if child == 0:
                os.write(writing, json.dumps(perform(job, log.fileno())).encode())
                os._exit(0)
            os.close(writing)
            with os.fdopen(reading, "rb") as pipe:
                answer = pipe.read()
            _, status = os.waitpid(child, 0)
            log.seek(0)
            calls = [call.split("\t") for call in log.read().decode().splitlines()]
        output = json.loads(answer) if answer else None
        print(json.dumps({"result": output, "status": status, "calls": calls}), flush=True)


if __name__ == "__main__":
    main()
