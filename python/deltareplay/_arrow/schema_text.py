"""The columns of a schema in the log as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def leaves(
    schema: dict[str, Any], above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str, bool, str | None]]:
    """Yield columns and struct fields: path, type, whether null is allowed, comment.

    >>> list(leaves({"fields": [{"name": "id", "type": "long", "nullable": False}]}))
    [(('id',), 'long', False, None)]
    """
    for field in schema["fields"]:
        path, kind = (*above, field["name"]), field["type"]
        comment = (field.get("metadata") or {}).get("comment")
        yield path, type_text(kind), bool(field.get("nullable", True)), comment
        if isinstance(kind, dict) and kind["type"] == "struct":
            yield from leaves(kind, path)


def type_text(kind: str | dict[str, Any]) -> str:
    """Return a type as one word or as SQL; a struct is just ``struct``.

    >>> type_text({"type": "array", "elementType": "long", "containsNull": True})
    'array<long>'
    """
    if isinstance(kind, str):
        return kind
    if kind["type"] == "array":
        return f"array<{_inner(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{_inner(kind['keyType'])}, {_inner(kind['valueType'])}>"
    return str(kind["type"])


def _inner(kind: str | dict[str, Any]) -> str:
    if isinstance(kind, dict) and kind["type"] == "struct":
        fields = (f"{field['name']}: {_inner(field['type'])}" for field in kind["fields"])
        return f"struct<{', '.join(fields)}>"
    return type_text(kind)
