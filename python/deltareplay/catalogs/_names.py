"""Names of tables in catalogs."""

from __future__ import annotations

from deltareplay import _names
from deltareplay.exceptions import InvalidArgumentError

#: A part without backticks.
_BARE = r"[^.`\s:/]+"


def table_parts(name: str, schemes: tuple[str, ...], form: str) -> list[str]:
    """Split a name into its parts; backticks quote those with dots, spaces, colons or slashes.

    Args:
        name: The name, with or without a scheme such as ``uc://``.
        schemes: Schemes that it may have.
        form: The form of such a name, e.g. ``catalog.schema.table``, with optional parts in
            brackets, e.g. ``[catalog.]schema.table``.

    Raises:
        InvalidArgumentError: ``catalog.name``: the name does not have this form.

    >>> table_parts("uc://main.`my sales`.orders", ("uc",), "catalog.schema.table")
    ['main', 'my sales', 'orders']
    """
    scheme, separator, rest = name.partition("://")
    qualified = rest if separator and scheme in schemes else name
    parts = list(_names.parts_of(qualified, _BARE))
    most = form.count(".") + 1
    if not most - form.count("[") <= len(parts) <= most:
        raise InvalidArgumentError(
            f"{name!r} is not the name of a table: a name has the form {form}", code="catalog.name"
        )
    return parts
