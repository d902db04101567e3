"""Dotted names and their backticks are only parsed and written by ``deltareplay._names``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from deltareplay._names import dotted, parts_of

PYTHON = Path(__file__).resolve().parents[2] / "python" / "deltareplay"

#: Code that quotes a name, removes its backticks, or splits it at its dots.
OWN_WAY = re.compile(r"""replace\(["']`|strip\(["']`|["']`["'] \+|\(\?:\[\^`\]|== ["']`["'] and""")

#: The module itself, and the tokenizer, which also reads words and strings.
PARSERS = ("_names.py", "spark/syntax/tokens.py")

#: Removes the backticks of a name in a message.
MESSAGES = ("spark/writing/table_rows.py",)


def test_only_listed_modules_parse_backticks() -> None:
    own = {
        path.relative_to(PYTHON).as_posix()
        for path in PYTHON.rglob("*.py")
        if OWN_WAY.search(path.read_text(encoding="utf-8"))
    }
    assert own == {*PARSERS, *MESSAGES}


# as Spark parses names: a part has backticks if it is not a word
@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("orders", ("orders",)),
        ("sales.orders", ("sales", "orders")),
        ("delta.`/tmp/a.b`", ("delta", "/tmp/a.b")),
        ("`a``b`.c", ("a`b", "c")),
        ("a . `b`", ("a", "b")),
        ("a..b", ()),
        ("a.", ()),
        ("`a", ()),
        ("``", ()),
        ("", ()),
    ],
)
def test_parts_of_a_name(name: str, parts: tuple[str, ...]) -> None:
    assert parts_of(name) == parts


@pytest.mark.parametrize("parts", [("a",), ("a.b", "c"), ("`", "``.`"), (" ", "a b")])
def test_dotted_names_are_read_back(parts: tuple[str, ...]) -> None:
    assert parts_of(dotted(parts)) == parts
