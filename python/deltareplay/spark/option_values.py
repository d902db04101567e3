"""Values of options, which Spark hands over as texts."""

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
            f"the option {name} takes a number, and not {text!r}", code="option.number"
        ) from None


def path(given: Mapping[str, str], call: str) -> str:
    """Where the table lies.

    Args:
        given: The options, by their names in lower case.
        call: What names the path, where a program reads or writes.

    Raises:
        InvalidArgumentError: ``option.path``: the options are those of a table of Spark's catalog,
            which has a ``provider`` and keeps the path from Python data sources, or have no path.
    """
    if "path" not in given or "provider" in given:
        raise InvalidArgumentError(
            "the format deltareplay needs to know where the table lies, which Spark's catalog does "
            f"not tell it: use .{call}(path), or CREATE TEMPORARY VIEW name USING deltareplay "
            "OPTIONS (path '...') instead of CREATE TABLE and saveAsTable",
            code="option.path",
        )
    return given["path"]
