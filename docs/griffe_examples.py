"""An extension of Griffe, which reads docstrings for the site."""

from __future__ import annotations

import re
from typing import Any

import griffe

#: A paragraph that begins with a prompt, at the margin of the docstring.
EXAMPLE = re.compile(r"^>>> .*(?:\n.+)*", re.MULTILINE)


class Examples(griffe.Extension):
    """Puts fences around the paragraphs that a doctest runs, without its directives.

    Members whose docstring begins with ``Internal:`` are not on the site.
    """

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the text of a docstring before it is parsed."""
        if obj.docstring is not None and obj.docstring.value.startswith("Internal:"):
            obj.docstring = None  # members without a docstring are not shown
        if obj.docstring is not None:
            text = re.sub(r" *# doctest: \+SKIP", "", obj.docstring.value)
            obj.docstring.value = EXAMPLE.sub(r"```pycon\n\g<0>\n```", text)
