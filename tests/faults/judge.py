"""What a reader may say about a log one of whose files was changed.

An error of deltareplay's own is always in order, but for the hint, which no reader needs. An answer
is in order

- when it is the answer of the whole table and the changed file is one that the log can do without
  (a hint, a checksum, a compacted file, a checkpoint whose commits are still there), or when the
  change fell into a part that says nothing about the table's state (``commitInfo``, ``cdc``,
  unknown actions), but not into the last line of a commit, where it would be a torn commit;
- when the changed file is still well-formed, and the answer is what the model reads from it: a
  value changed, and nothing can tell.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from typing import Any

from property.model import Model
from support import logs

Answer = dict[str, Any]
SILENT = {"commitInfo", "cdc"}
STATEFUL = {"add", "remove", "metaData", "protocol", "txn", "domainMetadata", "sidecar"}
INTEGER, TEXT, MAP, STRUCT = "integer", "text", "map", "struct"
ADD = {
    "path": TEXT,
    "partitionValues": MAP,
    "size": INTEGER,
    "modificationTime": INTEGER,
    "stats": TEXT,
    "tags": MAP,
    "deletionVector": STRUCT,
    "baseRowId": INTEGER,
    "defaultRowCommitVersion": INTEGER,
    "clusteringProvider": TEXT,
}
VECTOR = {
    "storageType": TEXT,
    "pathOrInlineDv": TEXT,
    "offset": INTEGER,
    "sizeInBytes": INTEGER,
    "cardinality": INTEGER,
}


class Unclear(Exception):
    """The form is broken in a way that readers take differently; an answer proves nothing."""


class Malformed(Exception):
    """Not what it should be: only an error is in order."""


def answer_of(model: Model, version: int) -> Answer:
    """The model's state in the words of ``worker.answer``."""
    if model.protocol is None or model.metadata is None:
        raise Malformed("no protocol or no metadata")
    files = [_file(body) for body in model.files.values()]
    removed = model.tombstones(int(time.time() * 1000))
    return {
        "version": version,
        "protocol": [
            _typed(INTEGER, model.protocol.get("minReaderVersion")),
            _typed(INTEGER, model.protocol.get("minWriterVersion")),
        ],
        "schema": model.metadata.get("schemaString"),
        "configuration": model.metadata.get("configuration", {}),
        "files": sorted(files, key=repr),
        "removed": sorted([body["path"], body["deletionTimestamp"]] for body in removed),
        "txns": {app: body["version"] for app, body in model.txns.items()},
        "domains": model.live_domains(),
    }


def _file(body: dict[str, Any]) -> dict[str, Any]:
    file = {name: _typed(type_, body.get(name)) for name, type_ in ADD.items()}
    if file["deletionVector"] is not None:
        vector = file["deletionVector"]
        file["deletionVector"] = {name: _typed(t, vector.get(name)) for name, t in VECTOR.items()}
    file["partitionValues"] = sorted(map(list, (file["partitionValues"] or {}).items()), key=repr)
    file["tags"] = sorted(map(list, (file["tags"] or {}).items()), key=repr)
    return file


def _typed(type_: str, value: Any) -> Any:
    good = {
        INTEGER: isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63,
        TEXT: isinstance(value, str),
        MAP: isinstance(value, dict)
        and all(item is None or isinstance(item, str) for item in value.values()),
        STRUCT: isinstance(value, dict),
    }[type_]
    if value is not None and not good:
        raise Unclear(f"{value!r} is not {type_}")
    return value


def actions_of(content: bytes) -> list[logs.Action]:
    """The lines of a commit, strictly.

    Raises:
        Malformed: A line is no JSON object.
        Unclear: An object has a key twice.
    """
    return [_object(line) for line in content.split(b"\n") if line.strip()]


def _object(line: bytes) -> logs.Action:
    try:
        # bare control characters in strings are told from escaped ones by nobody but the strictest
        loaded = json.loads(line.decode("utf-8"), object_pairs_hook=_once, strict=False)
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from error
    if not isinstance(loaded, dict):
        raise Malformed("not an object")
    for kind, body in loaded.items():
        if kind in STATEFUL and body is not None and not isinstance(body, dict):
            raise Unclear(f"{kind} is not an object")
    return {kind: body for kind, body in loaded.items() if body is not None}


def _once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    pairs = list(pairs)
    if len(dict(pairs)) != len(pairs):
        raise Unclear("a key twice")
    return dict(pairs)


def silent_change(before: bytes, after: bytes) -> bool:
    """Whether every line that changed is one that says nothing, and not the last."""
    old, new = before.split(b"\n"), after.split(b"\n")
    if len(old) != len(new):
        return False
    changed = [
        number for number, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1]
    ]
    if changed and changed[-1] >= len(old) - 2:
        return False
    kinds = [json.loads(old[number]).keys() & STATEFUL for number in changed]
    return not any(kinds)


def replayed(commits: Iterable[list[logs.Action]]) -> Model:
    """The model after these commits.

    Raises:
        Malformed: An action lacks what its key is made of.
    """
    model = Model()
    for actions in commits:
        for action in actions:
            body = action.get("add") or action.get("remove")
            if body is not None and not isinstance(body.get("path"), str):
                raise Malformed("a file without a path")
        try:
            model.replay(actions)
        except (KeyError, TypeError, AttributeError) as error:
            raise Malformed(repr(error)) from error
    return model


def same(answer: Answer, expected: Answer) -> bool:
    """Equal, whatever the warnings and the memory."""
    return all(answer.get(name) == value for name, value in expected.items())
