"""Messages have URIs of tables without secrets: users and passwords may be in them."""

from __future__ import annotations

import ast
from pathlib import Path

PYTHON = Path(__file__).resolve().parents[2] / "python"


def bare_uris(tree: ast.Module) -> list[str]:
    """Return the attributes ``uri`` of other objects that f-strings print as they are."""
    return [
        ast.unparse(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.FormattedValue)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "uri"
        and ast.unparse(node.value.value) != "self"
    ]


def test_uris_are_printed_without_secrets() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in PYTHON.rglob("*.py")}
    assert sum("without_secrets(" in text for text in texts.values()) > 10
    bare = {
        str(path.relative_to(PYTHON)): bare_uris(ast.parse(text)) for path, text in texts.items()
    }
    assert not {path: uris for path, uris in bare.items() if uris}

    # a message that would print the URI, and one that does not
    assert bare_uris(ast.parse('f"no table at {table.uri}"')) == ["table.uri"]
    assert bare_uris(ast.parse('f"no table at {without_secrets(table.uri)}"')) == []
