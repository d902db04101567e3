"""HTML of objects, rendered by ``deltareplay.viz``.

``deltareplay.viz`` is imported on demand: it imports modules that import this one.
"""

from __future__ import annotations

import importlib
from typing import Any


def render(module: str, function: str, *arguments: Any) -> str:
    """Return the result of a function of a module of ``deltareplay.viz``."""
    function_of_module = getattr(importlib.import_module(f"deltareplay.viz.{module}"), function)
    return str(function_of_module(*arguments))


class NotebookCard:
    """A mixin for classes that notebooks display as a card."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return the card for a notebook."""
        return render("cards", "card_of", self)
