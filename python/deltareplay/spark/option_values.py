"""Values of options, which Spark hands over as texts."""

from __future__ import annotations

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
