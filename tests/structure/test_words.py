"""Names and docstrings in plain words: vague words may only become fewer."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

#: Vague words: a specific noun is better (`field`, `file`, `result`, `position`).
VAGUE = {
    *("one", "found", "asked", "given", "wanted", "place"),
    *("shown", "told", "said", "some", "made"),
}
#: In Python, these as well.
VAGUE_IN_PYTHON = VAGUE | {"there", "here", "known", "places", "held", "begun", "meant"}
#: Words that no comment in Rust needs; instead: `no one`, `anyone who`, `again`, `spaces`, `is`.
IDIOMS = re.compile(r"\b(nobody|whoever|anew|blanks|lies)\b", re.IGNORECASE)
#: A docstring says what something does ("Return the files that ..."), or names it.
CLAUSE = re.compile(r"(What|Whether|Which|How|Where|Those|Of)\b")

#: Limits: vague names per 1,000, and docstrings per 100 that begin with a clause. Lower them when
#: the numbers fall.
PYTHON_NAMES, PYTHON_DOCS = 0.05, 0.5
RUST_WORDS, RUST_DOCS = 1.05, 0.05


def share(part: int, whole: int, per: int) -> float:
    assert whole > 1000
    return per * part / whole


def test_python_names_and_docstrings() -> None:
    names: Counter[str] = Counter()
    docs: list[str] = []
    for path in (ROOT / "python").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Name):
                names[node.id] += 1
            elif isinstance(node, ast.arg):
                names[node.arg] += 1
            elif isinstance(
                node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            ):
                docs += filter(None, [ast.get_docstring(node)])
    vague = sum(names[word] for word in VAGUE_IN_PYTHON)
    assert share(vague, names.total(), 1000) <= PYTHON_NAMES
    assert share(sum(map(bool, map(CLAUSE.match, docs))), len(docs), 100) <= PYTHON_DOCS


def test_rust_names_and_comments() -> None:
    words: Counter[str] = Counter()
    docs: list[str] = []
    idioms: list[str] = []
    for path in (ROOT / "rust").rglob("*.rs"):
        if "tests" in path.parts or path.name == "tests.rs":
            continue
        for line in path.read_text("utf-8").splitlines():
            if IDIOMS.search(line):
                idioms.append(f"{path.name}: {line.strip()}")
            if doc := re.match(r"\s*//[/!] ?(.+)", line):
                docs.append(doc[1])
            else:
                code = re.sub(r'"(?:[^"\\]|\\.)*"', "", line.split("//")[0])
                words.update(re.findall(r"[a-zA-Z]+", code.replace("_", " ")))
    assert not idioms
    vague = sum(words[word] for word in VAGUE)
    assert share(vague, words.total(), 1000) <= RUST_WORDS
    assert share(sum(map(bool, map(CLAUSE.match, docs))), len(docs), 100) <= RUST_DOCS
