"""What ``deltareplay.viz`` draws of the classes here.

It imports them, so they find it by its name, and only when somebody looks.
"""

from __future__ import annotations

import importlib
from typing import Any


def drawn(module: str, function: str, *arguments: Any) -> str:
    """What a function of a module of ``deltareplay.viz`` returns."""
    draw = getattr(importlib.import_module(f"deltareplay.viz.{module}"), function)
    return str(draw(*arguments))


class Carded:
    """A class that notebooks show as a card."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """The card of a notebook."""
        return drawn("cards", "card_of", self)
