"""Values of options, which Spark passes as strings."""

from __future__ import annotations

from collections.abc import Mapping

from deltareplay.exceptions import InvalidArgumentError


def number(name: str, text: str) -> int:
    """An option that is a whole number.

    Raises:
        InvalidArgumentError: ``option.number``.
    """
    try:
        return int(text)
    except ValueError:
        raise InvalidArgumentError(
            f"the option {name} takes a number, not {text!r}", code="option.number"
        ) from None


def path(given: Mapping[str, str], call: str) -> str:
    """The path of the table.

    Args:
        given: The options, by their names in lower case.
        call: The method with which a program passes the path.

    Raises:
        InvalidArgumentError: ``option.path``: the options have no path, or are those of a table in
            Spark's catalog, which has a ``provider`` and does not pass the path to Python data
            sources.
    """
    if "path" not in given or "provider" in given:
        raise InvalidArgumentError(
            "the format deltareplay needs the table's path, which Spark's catalog does not pass "
            f"on: use .{call}(path), or CREATE TEMPORARY VIEW name USING deltareplay "
            "OPTIONS (path '...') instead of CREATE TABLE and saveAsTable",
            code="option.path",
        )
    return given["path"]
