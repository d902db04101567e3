"""Pictures of objects by ``deltareplay.viz``.

``deltareplay.viz`` imports the classes here, so it is imported by name, when a picture is needed.
"""

from __future__ import annotations

import importlib
from typing import Any


def drawn(module: str, function: str, *arguments: Any) -> str:
    """Return the result of a function of a module of ``deltareplay.viz``."""
    draw = getattr(importlib.import_module(f"deltareplay.viz.{module}"), function)
    return str(draw(*arguments))


class Carded:
    """A mixin of classes that notebooks display as a card."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return the card for a notebook."""
        return drawn("cards", "card_of", self)
