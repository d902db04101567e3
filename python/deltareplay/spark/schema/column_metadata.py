"""Validation of column metadata in the log's schema, which any writer may have written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from deltareplay._names import escaped
from deltareplay._protocol.schema import Field
from deltareplay.exceptions import CorruptTableError
from deltareplay.spark.schema.string_lengths import DECLARED_TYPE, LIMITED_STRING, declared_type

_STRINGS = ("delta.generationExpression", "CURRENT_DEFAULT", "delta.columnMapping.physicalName")
_IDENTITY = ("delta.identity.start", "delta.identity.step", "delta.identity.highWaterMark")
_LONGS = range(-(2**63), 2**63)
#: The maximum depth of nested objects that are passed on to Spark.
_MAX_DEPTH = 20


def check(fields: Iterable[Field]) -> None:
    """Check the column metadata that restricts values: invariants, lengths, identity and defaults.

    Raises:
        CorruptTableError: ``schema.metadata``.
    """
    for field in fields:
        metadata = field.metadata
        for key in _STRINGS:
            if key in metadata and not isinstance(metadata[key], str):
                raise _invalid(field, key, "is not a string")
        declared = field.type_with_lengths
        if not isinstance(declared, str):
            raise _invalid(field, DECLARED_TYPE, "is not a string")
        if declared.startswith(("varchar", "char")) and not LIMITED_STRING.fullmatch(declared):
            raise _invalid(field, DECLARED_TYPE, "is neither char(n) nor varchar(n)")
        try:
            declared_type(field)
        except ValueError as error:
            raise _invalid(field, DECLARED_TYPE, "is not a type") from error
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
        raise _invalid(field, "delta.invariants", "has no expression")
    return rule


def _check_identity(field: Field) -> None:
    metadata = field.metadata
    numbers = {key: _integer(metadata[key]) for key in _IDENTITY if key in metadata}
    if not numbers:
        return
    for key, number in numbers.items():
        if number is None:
            raise _invalid(field, key, "is not a 64-bit integer")
    if field.type != "long":
        raise _invalid(field, _IDENTITY[0], "belongs to a column that is not of the type long")
    if numbers.get("delta.identity.step") == 0:
        raise _invalid(field, "delta.identity.step", "is 0")


def _integer(value: object) -> int | None:
    if isinstance(value, str) and re.fullmatch("-?[0-9]{1,19}", value, re.ASCII):
        value = int(value)
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    return value if is_integer and value in _LONGS else None  # type: ignore[return-value]


def _invalid(field: Field, key: str, problem: str) -> CorruptTableError:
    return CorruptTableError(
        f"the metadata {key} of the column {escaped(field.name)} {problem}: correct it in the "
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
            if depth < _MAX_DEPTH:
                result[key] = portable(value, depth + 1)
        elif _is_portable(key, value):
            result[key] = value
    return result


def _is_portable(key: str, value: object) -> bool:
    if key == "comment":
        return isinstance(value, str)
    if key == DECLARED_TYPE:
        return isinstance(value, str) and LIMITED_STRING.fullmatch(value) is not None
    if isinstance(value, list):
        kinds = {type(item) for item in value}
        is_uniform = len(kinds) <= 1 and kinds <= {bool, int, float, str}
        return is_uniform and all(_is_portable("", item) for item in value)
    if isinstance(value, int):
        return value in _LONGS
    return value is None or isinstance(value, (str, float))
