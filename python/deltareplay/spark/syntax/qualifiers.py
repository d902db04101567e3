"""Names of tables that qualify columns, as in ``sales.orders.id``, replaced by aliases.

Spark knows the tables of a statement by their aliases alone, since deltareplay reads them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar, cast

from deltareplay.spark.syntax.names import path_of, quoted
from deltareplay.spark.syntax.parser import Name
from deltareplay.spark.syntax.tokens import Sql, Token

_T = TypeVar("_T")

#: The aliases of tables by the names that may qualify their columns, in lower case.
Aliases = Mapping[Name, str]


def aliases(table: Sequence[str], alias: str) -> dict[Name, str]:
    """Return the alias by each name of a table that may qualify columns, except the last part.

    >>> aliases(("spark_catalog", "Sales", "orders"), "o")
    {('spark_catalog', 'sales', 'orders'): 'o', ('sales', 'orders'): 'o'}
    >>> [".".join(name) for name in aliases(("delta", "/tmp/orders"), "target")]
    ['spark_catalog.delta./tmp/orders', 'delta./tmp/orders', '/tmp/orders']
    """
    parts, shortest = tuple(part.lower() for part in table), 2
    if (path := path_of(table)) is not None:
        parts, shortest = ("spark_catalog", "delta", path.lower()), 1
    return {parts[start:]: alias for start in range(len(parts) - shortest + 1)}


def edits(tokens: Sequence[Token], aliases: Aliases) -> list[tuple[int, int, str]]:
    """Return the edits of a text, as ``Sql.edited`` takes them, that replace names by aliases."""
    result = []
    index = 0
    while tokens[index].kind != "end":
        if not tokens[index].is_name:
            index += 1
            continue
        parts: Name = (tokens[index].name.lower(),)
        last = index
        while tokens[last + 1].text == "." and tokens[last + 2].is_name:
            last += 2
            parts += (tokens[last].name.lower(),)
        has_star = tokens[last + 1].text == "." and tokens[last + 2].text == "*"
        for count in range(len(parts) if has_star else len(parts) - 1, 0, -1):
            if parts[:count] in aliases and tokens[last + 1].text != "(":
                end = tokens[index + 2 * (count - 1)].end
                result.append((tokens[index].start, end, quoted(aliases[parts[:count]])))
                break
        index = last + 1
    return result


def with_aliases(expression: _T, aliases: Aliases | None) -> _T:
    """Replace names of tables that qualify columns by aliases; return other values as they are.

    >>> with_aliases("a.t.x = s.y AND f(A.T.`x.z`) AND a.t(1)", {("a", "t"): "t"})
    '`t`.x = s.y AND f(`t`.`x.z`) AND a.t(1)'
    """
    if not aliases or not isinstance(expression, str):
        return expression
    text = Sql.of(expression)
    return cast("_T", text.edited(edits(text.tokens, aliases)))
