"""The valid results for a log in which one file was changed.

An error of deltareplay's own is always valid, except for the hint, which no reader needs. A result
is valid

- if it equals the original, and one of these holds: the changed file is not a commit; a compacted
  file or a checkpoint replaces the commit; the changed lines do not affect the table's state
  (``commitInfo``, ``cdc``, unknown actions), and the last line, which may be torn, is intact;
- if the changed file is still well-formed, and the model reads the same from it: a value changed,
  which nothing can detect.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable
from typing import Any

from property.model import Model
from support import logs

Answer = dict[str, Any]
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
    """The file is invalid in a way that readers treat differently: the result proves nothing."""


class Malformed(Exception):
    """The file is invalid: only an error is valid."""


def answer_of(model: Model, version: int) -> Answer:
    """Return the model's state in the format of ``worker.answer``."""
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
        "schema": model.metadata.get("schemaString") or "",
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
    """Parse the lines of a commit strictly.

    However, readers need not parse the rest of a line whose action does not affect the state,
    unless it is the last line.

    Raises:
        Malformed: A line is not a JSON object.
        Unclear: An object has a key twice.
    """
    lines = [line for line in content.split(b"\n") if line.strip()]
    actions = []
    for number, line in enumerate(lines):
        try:
            actions.append(_object(line))
        except Malformed:
            kind = re.match(rb'\s*\{\s*"(\w+)"', line)
            silent = kind is not None and kind[1].decode() not in STATEFUL
            if not silent or number == len(lines) - 1:
                raise
    return actions


def _object(line: bytes) -> logs.Action:
    try:
        # only the strictest parsers distinguish bare control characters in strings from escaped
        # ones
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
    """Return whether all changed lines have no effect on the state, and are not the last."""
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
    """Return the model after these commits.

    Raises:
        Malformed: An action lacks a field of its key.
        Unclear: A file occurs twice in one commit or checkpoint, which no writer may do.
    """
    model = Model()
    for actions in commits:
        added = [json.dumps(_key(action["add"])) for action in actions if "add" in action]
        if len(set(added)) != len(added):
            raise Unclear("a file twice")
        for action in actions:
            body = action.get("add") or action.get("remove")
            if body is not None and not isinstance(body.get("path"), str):
                raise Malformed("a file without a path")
        try:
            model.replay(actions)
        except (KeyError, TypeError, AttributeError) as error:
            raise Malformed(repr(error)) from error
    return model


def _key(body: dict[str, Any]) -> list[Any]:
    vector = body.get("deletionVector") or {}
    return [body.get("path"), *(str(vector.get(name)) for name in VECTOR)]


def same(answer: Answer, expected: Answer) -> bool:
    """Return whether the answer has all values of ``expected``; it may have others."""
    return all(answer.get(name) == value for name, value in expected.items())
