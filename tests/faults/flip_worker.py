"""Flips bytes of one file one after the other and reports the reader's results, until killed.

One request per line on stdin: table, file, offsets, values. One response per line on stdout: the
number of results of each kind, and the wrong results. Every flip is read twice: without
verification, and with ``verify=True``.
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from faults.flips import flipped
from faults.worker import LIMIT, state_of
from support.memory import peak_memory

Answer = dict[str, Any]
#: Fields of a file that a checksum may omit.
LEFT_OUT = ("tags", "baseRowId", "defaultRowCommitVersion", "clusteringProvider")


def answer(table: str, *, verify: bool, rows: bool = True) -> Answer:
    """Return the whole state of a snapshot, with its rows if requested; or the error."""
    import deltareplay as dr

    try:
        snapshot = dr.Table(table).snapshot(verify=verify)
        scan = snapshot.scan(with_file_path=True).to_arrow().to_pylist() if rows else []
        return {
            **state_of(snapshot),
            "timestamp": str(snapshot.timestamp),
            "protocol": [
                snapshot.protocol.min_reader_version,
                snapshot.protocol.min_writer_version,
                sorted(snapshot.protocol.reader_features or []),
                sorted(snapshot.protocol.writer_features or []),
            ],
            "metadata": repr(snapshot.metadata),
            "totals": [snapshot.num_files, snapshot.size_in_bytes, snapshot.num_rows],
            "rows": sorted(scan, key=repr),
        }
    except dr.DeltaReplayError as error:
        if error.code and str(error) and error.path and error.code != "internal.panic":
            return {"error": error.code}
        return {"untyped": f"an error that names no file: {error!r} {error.code}"}
    except BaseException as error:  # a panic is not an Exception
        return {"untyped": f"{type(error).__name__}: {error}"}


def without_additions(result: Answer, whole: Answer) -> Answer:
    """Return the result without values added to fields that a checksum may omit."""
    files = [dict(file) for file in result["files"]]
    for file, before in zip(files, whole["files"], strict=False):
        file.update({name: before[name] for name in LEFT_OUT if not before[name]})
    return {**result, "files": files}


def flip(request: Answer) -> Answer:
    """Return the results of all flips of one request."""
    table, path = request["table"], Path(request["file"])
    rows = path.suffix == ".bin"  # elsewhere they follow from the files and their vectors
    whole = json.loads(json.dumps(answer(table, verify=True, rows=rows), default=repr))
    counts: dict[str, int] = {}
    wrong = []
    content = path.read_bytes()
    try:
        for offset in request["offsets"]:
            for value in request["values"]:
                byte = flipped(content[offset], value)
                if byte == content[offset]:
                    continue
                path.write_bytes(content[:offset] + bytes([byte]) + content[offset + 1 :])
                for verify in (False, True):
                    output = answer(table, verify=verify, rows=rows)
                    result = json.loads(json.dumps(output, default=repr))
                    kind = "error" if "error" in result else "untyped"
                    if "files" in result:
                        kind = "whole" if result == whole else "changed"
                    if kind == "changed" and without_additions(result, whole) == whole:
                        kind = "added"
                    name = f"{kind}, {'verified' if verify else 'plain'}"
                    counts[name] = counts.get(name, 0) + 1
                    if kind == "untyped" or (kind == "changed" and verify):
                        names = [name for name in whole if result.get(name) != whole[name]]
                        wrong.append([offset, value, result, names])
    finally:
        path.write_bytes(content)
    return {"counts": counts, "wrong": wrong}


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        request = json.loads(line)
        result = flip(request) if "offsets" in request else answer(request["table"], verify=True)
        result["resident"] = peak_memory()
        sys.stdout.write(json.dumps(result, default=repr) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
