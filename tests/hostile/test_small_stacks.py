"""Deep expressions on threads with small stacks, such as those of musl or of a JVM.

Each verb runs in a separate process, which a stack overflow would end. The expected values follow
from arithmetic.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from support import logs

import deltareplay as dr

CHILD = """
import json, sys, threading, warnings
warnings.simplefilter("ignore")
import deltareplay as dr
from deltareplay import _native

uri, verb, texts = json.load(sys.stdin)

def count(text):
    return dr.Table(uri).snapshot().scan(filter=text).to_arrow().num_rows

def files(text):
    return dr.Table(uri).snapshot().files(filter=text).num_rows

def update(text):
    return dr.Table(uri).update(text, {"id": "id"}) is not None

def constraint(text):
    table = dr.Table(uri)
    table.add_constraint("deep", text)
    try:
        return table.append({"id": [1], "s": ["1"]}).version > 0
    finally:
        table.drop_constraint("deep")

def spark(text):
    return len(_native.spark_expression(text, "it", ["id", "s"], False)[0]) > 0

def attempt(text):
    try:
        return globals()[verb](text)
    except dr.DeltaReplayError as error:
        return error.code
    except Exception as error:
        return f"untyped: {error!r}"

threading.stack_size(256 << 10)
answers = []
thread = threading.Thread(target=lambda: answers.extend(map(attempt, texts)))
thread.start()
thread.join()
print(json.dumps(answers))
"""

#: The text before the innermost expression, this expression, the text after it, after the whole.
NESTED = {
    "calls": ("abs(", "id", ")", " = 1"),
    "operands": ("(1 + ", "id", ")", " > 0"),
    "signs": ("- ", "id", "", " <> 0"),
    "branches": ("CASE WHEN id = 9 THEN 0 ELSE ", "id", " END", " = 1"),
    "casts": ("CAST(", "id", " AS BIGINT)", " = 1"),
    "sums": ("id + ", "1", "", " > 0"),
    "texts": ("s || ", "s", "", " = s"),
    "lists": ("id IN (", "1", ")", ""),
    "types": ("CAST(id AS ARRAY<", "INT", ">)", ""),
    "subqueries": ("(SELECT ", "1", ")", " = 1"),
    "functions of rows": ("transform(s, x -> ", "x", ")", " = 1"),
    "parentheses": ("(", "id = 1", ")", ""),
    "negations": ("NOT ", "id = 1", "", ""),
}
DEPTHS = (20, 45, 200, 4_000)


@pytest.mark.parametrize("verb", ["count", "files", "update", "constraint", "spark"])
def test_deep_expressions_give_results_or_typed_errors(verb: str, log: logs.LogBuilder) -> None:
    dr.write(log.table, {"id": [1, 2], "s": ["1", None]})
    texts = [
        before * depth + inner + after * depth + end
        for before, inner, after, end in NESTED.values()
        for depth in DEPTHS
    ]
    ran = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps([log.uri, verb, texts]),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert "untyped" not in ran.stdout, ran.stdout[ran.stdout.find("untyped") :][:500]
    answers = json.loads(ran.stdout)
    by_form = dict(zip(NESTED, zip(*[iter(answers)] * len(DEPTHS), strict=True), strict=True))
    if verb == "count":
        assert by_form["calls"][:2] == (1, 1)
        assert by_form["branches"][:2] == (1, 1)
        assert by_form["sums"][:3] == (2, 2, 2)
        assert by_form["texts"][:3] == (0, 0, 0), "texts of different lengths differ"
        assert by_form["parentheses"][:2] == (1, 1)
        assert by_form["negations"][:2] == (1, 1)
    for form, deep in by_form.items():
        assert isinstance(deep[-1], str), (form, "4,000 levels are refused")
