"""Compare two states of a table field by field, in the format of the conformance suite."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

State = dict[str, Any]


def assert_same_state(actual: State, expected: State) -> None:
    """Compare a whole snapshot with the reference."""
    assert actual["version"] == expected["version"]
    assert _protocol(actual["protocol"]) == _protocol(expected["protocol"])
    assert _metadata(actual["metadata"]) == _metadata(expected["metadata"])
    assert actual["txns"] == {app: txn["version"] for app, txn in expected["txns"].items()}
    assert actual["domain_metadata"] == expected["domain_metadata"]
    assert actual["in_commit_timestamp"] == expected["in_commit_timestamp"]

    files = {file_key(file): file for file in actual["files"]}
    target = {file_key(file): file for file in expected["files"]}
    assert len(files) == len(actual["files"]), "a file is listed twice"
    assert sorted(files) == sorted(target)
    for key, file in target.items():
        _assert_same_file(files[key], file)


def file_key(file: State) -> tuple[str, str]:
    """Return the key of a logical file: its decoded path and its vector."""
    vector = file["dv"]
    if vector is None:
        return _path(file["path"]), ""
    name = vector["path_or_inline_dv"]
    if vector["storage_type"] == "p":
        name = _path(name)
    rest = (
        vector["storage_type"],
        vector["offset"],
        vector["size_in_bytes"],
        vector["cardinality"],
    )
    return _path(file["path"]), f"{name} {rest}"


def same_stats(left: str | None, right: str | None) -> bool:
    """Compare as JSON: numbers by value, objects by key."""
    if left is None or right is None:
        return left is right
    return bool(json.loads(left) == json.loads(right))


def _assert_same_file(actual: State, expected: State) -> None:
    where = expected["path"]
    for field in (
        "size",
        "num_records",
        "modification_time",
        "base_row_id",
        "default_row_commit_version",
    ):
        if field in expected:
            assert actual[field] == expected[field], f"{field} of {where}"
    assert _values(actual["partition_values"]) == _values(expected["partition_values"]), where
    if "stats" in expected:
        assert same_stats(actual["stats"], expected["stats"]), (
            f"stats of {where}: got {actual['stats']}, expected {expected['stats']}"
        )
    if "tags" in expected:
        assert (actual["tags"] or {}) == (expected["tags"] or {}), f"tags of {where}"


def _protocol(protocol: State) -> tuple[Any, ...]:
    return (
        protocol["min_reader_version"],
        protocol["min_writer_version"],
        _features(protocol["reader_features"]),
        _features(protocol["writer_features"]),
    )


def _features(features: list[str] | None) -> list[str] | None:
    return None if features is None else sorted(features)


def _metadata(metadata: State) -> State:
    schema = json.loads(metadata["schema_string"] or '{"type":"struct","fields":[]}')
    return {**metadata, "schema_string": _without_empty_metadata(schema)}


def _without_empty_metadata(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {
            key: _without_empty_metadata(value)
            for key, value in schema.items()
            if not (key == "metadata" and not value)
        }
    if isinstance(schema, list):
        return [_without_empty_metadata(value) for value in schema]
    return schema


def _values(values: State) -> State:
    return {name: None if value == "" else value for name, value in values.items()}


def _path(path: str) -> str:
    decoded = unquote(path)
    if decoded.startswith("file:"):
        return "/" + decoded.removeprefix("file:").lstrip("/")
    return decoded
