"""Names of tables and columns in SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deltareplay import _names
from deltareplay._names import dotted, quoted
from deltareplay.exceptions import InvalidArgumentError

__all__ = ["dotted", "is_absolute", "path_of", "quoted", "table_parts"]

#: The start of an absolute path or of a URI.
_PATH = re.compile(r"^(/|[A-Za-z][A-Za-z0-9+.-]*:)")


def table_parts(name: str) -> tuple[str, ...]:
    """Split the name of a table into its parts.

    Raises:
        InvalidArgumentError: ``name.syntax``: the text is not the name of a table.

    >>> table_parts("delta.`/tmp/orders`")
    ('delta', '/tmp/orders')
    """
    parts = _names.parts_of(name, r"\s*\w+\s*")
    if not parts:
        raise InvalidArgumentError(
            f"{name!r} is not a table name such as orders, sales.orders or delta.`/path`",
            code="name.syntax",
        )
    return parts


def is_absolute(path: str) -> bool:
    """Return whether a string is an absolute path or a URI."""
    return _PATH.match(path) is not None


def path_of(parts: Sequence[str], provider: str = "delta") -> str | None:
    """Return the path of a name such as ``delta.`/path```; None for a name in the catalog.

    >>> path_of(("spark_catalog", "delta", "/tmp/orders"))
    '/tmp/orders'
    """
    if len(parts) == 3 and parts[0].lower() == "spark_catalog":
        parts = parts[1:]
    if len(parts) == 2 and parts[0].lower() == provider and is_absolute(parts[1]):
        return parts[1]
    return None
