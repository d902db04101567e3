"""SQL string literals."""

from __future__ import annotations

from deltareplay.spark.syntax.tokens import Sql


def is_plain(text: str) -> bool:
    """Return whether a text needs no escapes in the string literals of any session.

    >>> is_plain("a"), is_plain("it's")
    (True, False)
    """
    return not ("\\" in text or "'" in text or "${" in text)


def escaped_literal(text: str) -> str:
    r"""Return a string literal with backslash escapes, as in most sessions and in logs.

    ``${`` is escaped, since Spark substitutes variables such as ``${env:NAME}``.

    >>> print(escaped_literal("it's"), escaped_literal("${x}"))
    'it\'s' '\u0024{x}'
    """
    inner = text.replace("\\", "\\\\").replace("'", "\\'").replace("${", r"\u0024{")
    return f"'{inner}'"


def binary_cast(text: str) -> str:
    """Return a string as a cast of a binary literal.

    >>> binary_cast("it's")
    "CAST(X'69742773' AS STRING)"
    """
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


def without_escapes(sql: str) -> str:
    r"""Rewrite an expression so that no string literal needs a backslash.

    >>> print(without_escapes(r"`x` = 'a\\b' AND `x` LIKE 'a' ESCAPE '\\'"))
    `x` = CAST(X'615c62' AS STRING) AND `x` LIKE 'a'
    >>> print(without_escapes(r"`x` = 'a\tb'"))
    `x` = CAST(X'610962' AS STRING)
    """
    text, edits = Sql.of(sql), []
    for number, token in enumerate(text.tokens):
        if token.kind != "string" or is_plain(token.text[1:-1]):
            continue
        escape, value = text.tokens[number - 1], token.unescaped
        if number and escape.is_word("ESCAPE") and value == "\\":  # the default of LIKE
            edits.append((len(text[: escape.start].rstrip()), token.end, ""))
        else:
            edits.append((token.start, token.end, binary_cast(value)))
    return text.edited(edits)
