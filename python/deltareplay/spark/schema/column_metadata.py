"""Validation of column metadata in the log's schema, which any writer may have written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from deltareplay._names import escaped
from deltareplay._protocol.schema import Field
from deltareplay.exceptions import CorruptTableError

_CHAR = "__CHAR_VARCHAR_TYPE_STRING"
_LIMIT = re.compile(r"(?:var)?char\([0-9]{1,9}\)", re.ASCII)
_TEXTS = ("delta.generationExpression", "CURRENT_DEFAULT", "delta.columnMapping.physicalName")
_IDENTITY = ("delta.identity.start", "delta.identity.step", "delta.identity.highWaterMark")
_LONGS = range(-(2**63), 2**63)
#: The maximum depth of nested objects that are passed on to Spark.
_DEEPEST = 20


def check(fields: Iterable[Field]) -> None:
    """Check the column metadata that restricts values: invariants, lengths, identity and defaults.

    Raises:
        CorruptTableError: ``schema.metadata``.
    """
    for field in fields:
        metadata = field.metadata
        for key in _TEXTS:
            if key in metadata and not isinstance(metadata[key], str):
                raise _wrong(field, key, "is not a string")
        limit = field.limit
        if not isinstance(limit, str):
            raise _wrong(field, _CHAR, "is not a string")
        if limit.startswith(("varchar", "char")) and not _LIMIT.fullmatch(limit):
            raise _wrong(field, _CHAR, "is neither char(n) nor varchar(n)")
        if "delta.invariants" in metadata:
            invariant_of(field)
        _check_identity(field)


def invariant_of(field: Field) -> str:
    """Return the condition of a column invariant.

    Raises:
        CorruptTableError: ``schema.metadata``.

    >>> rule = '{"expression": {"expression": "id > 3"}}'
    >>> invariant_of(Field("id", "long", metadata={"delta.invariants": rule}))
    'id > 3'
    """
    try:
        rule = json.loads(field.metadata["delta.invariants"])["expression"]["expression"]
    except (ValueError, TypeError, KeyError, RecursionError):
        rule = None
    if not isinstance(rule, str):
        raise _wrong(field, "delta.invariants", "has no expression")
    return rule


def _check_identity(field: Field) -> None:
    metadata = field.metadata
    numbers = {key: _integer(metadata[key]) for key in _IDENTITY if key in metadata}
    if not numbers:
        return
    for key, number in numbers.items():
        if number is None:
            raise _wrong(field, key, "is not an integer of 64 bits")
    if field.type != "long":
        raise _wrong(field, _IDENTITY[0], "belongs to a column that is not of the type long")
    step = numbers.get("delta.identity.step", 1) or 0
    if step == 0:
        raise _wrong(field, "delta.identity.step", "is 0")
    mark = numbers.get("delta.identity.highWaterMark")
    if mark is not None and mark + step not in _LONGS:
        raise _wrong(field, "delta.identity.highWaterMark", "leaves no value for another row")


def _integer(value: object) -> int | None:
    if isinstance(value, str) and re.fullmatch("-?[0-9]{1,19}", value, re.ASCII):
        value = int(value)
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return value if is_integer and value in _LONGS else None  # type: ignore[return-value]


def _wrong(field: Field, key: str, what: str) -> CorruptTableError:
    return CorruptTableError(
        f"the metadata {key} of the column {escaped(field.name)} {what}: correct it in the "
        "schema, or report it to its writer",
        code="schema.metadata",
    )


def portable(metadata: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return the metadata that Spark can represent; the rest is left out.

    >>> portable({"comment": ["?"], "a": 1, "b": [1, "x"], "c": {"d": 2**70, "e": None}})
    {'a': 1, 'c': {'e': None}}
    """
    result = {}
    for key, value in metadata.items():
        if isinstance(value, dict):
            if depth < _DEEPEST:
                result[key] = portable(value, depth + 1)
        elif _fits(value) and (key not in ("comment", _CHAR) or _is_text(key, value)):
            result[key] = value
    return result


def _is_text(key: str, value: object) -> bool:
    if not isinstance(value, str):
        return False
    return key != _CHAR or bool(_LIMIT.fullmatch(value))


def _fits(value: object) -> bool:
    if isinstance(value, list):
        kinds = {type(item) for item in value}
        return len(kinds) <= 1 and kinds <= {bool, int, float, str} and all(map(_fits, value))
    if isinstance(value, int):
        return value in _LONGS
    return value is None or isinstance(value, (str, float))
