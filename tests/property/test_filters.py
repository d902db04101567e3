"""Random predicates over random small tables, compared with Python.

A predicate is true, false or unknown (None) for a row; a scan returns the rows for which it is
true, and no skipped file, row group or page contains one.
"""

from __future__ import annotations

import datetime as dt
import operator
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from property.test_replay import EXAMPLES, of_all_examples, repeat_until, thorough
from property.test_rows import DATES, SHORTS, TEXTS, Row, Table, tables

import deltareplay as dr

Truth = bool | None
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
LITERALS: dict[str, st.SearchStrategy[Any]] = {
    "id": SHORTS | st.integers(-3, 3),
    "Text": TEXTS,
    "real": st.integers(-9, 9).map(float),
    "inner.x": SHORTS | st.integers(-3, 3),
    "day": DATES,
}
seen: Counter[str] = Counter()


@dataclass(frozen=True)
class Condition:
    """A predicate as SQL, and as a function of a row."""

    sql: str
    holds: Callable[[Row], Truth]


def literal(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("\\", r"\\").replace("'", "''") + "'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    return repr(value)


def value_of(row: Row, column: str) -> Any:
    name, *rest = column.split(".")
    result = row.get(name)
    return result if result is None or not rest else result[rest[0]]


def negated(truth: Truth) -> Truth:
    return None if truth is None else not truth


def conjunction(left: Truth, right: Truth) -> Truth:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


@st.composite
def comparisons(draw: st.DrawFn) -> Condition:
    column = draw(st.sampled_from([*LITERALS]))
    kind = draw(st.sampled_from(["compare", "compare", "in", "null", "between"]))
    if kind == "null":
        negative = draw(st.booleans())
        sql = f"{column} IS {'NOT ' if negative else ''}NULL"
        return Condition(sql, lambda row: (value_of(row, column) is None) is not negative)
    if kind == "compare":
        name = draw(st.sampled_from([*OPERATORS]))
        bound = draw(LITERALS[column])
        compare = OPERATORS[name]

        def holds(row: Row) -> Truth:
            value = value_of(row, column)
            return None if value is None else compare(value, bound)

        return Condition(f"{column} {name} {literal(bound)}", holds)
    bounds = draw(st.lists(LITERALS[column], min_size=2, max_size=2 if kind == "between" else 4))
    if kind == "between":
        low, high = bounds
        sql = f"{column} BETWEEN {literal(low)} AND {literal(high)}"

        def within(value: Any) -> bool:
            return bool(low <= value <= high)
    else:
        sql = f"{column} IN ({', '.join(map(literal, bounds))})"

        def within(value: Any) -> bool:
            return value in bounds

    def is_within(row: Row) -> Truth:
        value = value_of(row, column)
        return None if value is None else within(value)

    return Condition(sql, is_within)


def remainder(value: int, by: int) -> int:
    """Return the remainder as in Java and SQL: with the sign of the value."""
    return value % by if value >= 0 else -(-value % by)


@st.composite
def computed(draw: st.DrawFn) -> Condition:
    """Generate comparisons of computed values with a number."""
    name = draw(st.sampled_from([*OPERATORS]))
    compare, bound = OPERATORS[name], draw(st.integers(-4, 8))
    created: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "id % 3": ("id", lambda value: remainder(value, 3)),
        "-(id + 1) * 2": ("id", lambda value: -(value + 1) * 2),
        "abs(id)": ("id", abs),
        "inner.x % 7": ("inner.x", lambda value: remainder(value, 7)),
        "length(Text)": ("Text", len),
        "length(concat(text, 'é'))": ("Text", lambda value: len(value) + 1),
        "month(day) - 4": ("day", lambda value: value.month - 4),
        "CASE WHEN id > 0 THEN id END": ("id", lambda value: value if value > 0 else None),
    }
    text = draw(st.sampled_from([*created, "divided", "coalesced"]))
    if text == "divided":
        sql = f"id <> 0 AND 100 % id {name} {bound}"

        def divides(row: Row) -> Truth:
            value = row.get("id")
            if not value:
                return value if value is None else False
            return compare(remainder(100, abs(value)), bound)

        return Condition(sql, divides)
    if text == "coalesced":
        sql = f"coalesce(id, {bound}) {name} {bound}"
        return Condition(
            sql, lambda row: compare(bound if row.get("id") is None else row["id"], bound)
        )
    column, compute = created[text]

    def holds(row: Row) -> Truth:
        value = value_of(row, column)
        value = None if value is None else compute(value)
        return None if value is None else compare(value, bound)

    return Condition(f"{text} {name} {bound}", holds)


def joined(parts: tuple[Condition, Condition, str]) -> Condition:
    left, right, word = parts
    sql = f"({left.sql}) {word} ({right.sql})"
    if word == "AND":
        return Condition(sql, lambda row: conjunction(left.holds(row), right.holds(row)))
    return Condition(
        sql, lambda row: negated(conjunction(negated(left.holds(row)), negated(right.holds(row))))
    )


def opposite(condition: Condition) -> Condition:
    return Condition(f"NOT ({condition.sql})", lambda row: negated(condition.holds(row)))


CONDITIONS = st.recursive(
    comparisons() | computed(),
    lambda inner: (
        st.tuples(inner, inner, st.sampled_from(["AND", "OR"])).map(joined) | inner.map(opposite)
    ),
    max_leaves=4,
)


@given(tables(), CONDITIONS)
@thorough(EXAMPLES)
def test_a_filter_keeps_the_rows_for_which_it_is_true(table: Table, condition: Condition) -> None:
    with tempfile.TemporaryDirectory() as root:
        rows = [row for row in table.write(root) if condition.holds(row)]
        expected = [(row["_file_path"], row["_row_index"]) for row in rows]
        snapshot = dr.Table(Path(root)).snapshot()
        scan = snapshot.scan(
            table.requested, filter=condition.sql, with_file_path=True, with_row_index=True
        )
        result = scan.to_arrow()
        given_ = zip(
            result["_file_path"].to_pylist(), result["_row_index"].to_pylist(), strict=True
        )
        assert [*given_] == expected, condition.sql
        assert scan.count() == len(rows)
        left = scan.files()["path"].to_pylist()
        assert {path for path, _ in expected} <= set(left)
        splits = [split.to_arrow() for split in scan.splits(table.target)]
        assert sum(split.num_rows for split in splits) == len(rows)
    seen["some"] += len(rows) > 0
    seen["skipped"] += len(left) < len(table.files)
    seen["kept all"] += len(left) == len(table.files)


@of_all_examples
def test_the_predicates_were_of_every_kind() -> None:
    """Runs after the property and checks its coverage."""
    repeat_until(
        lambda: min(seen[kind] for kind in ("some", "skipped", "kept all")) > EXAMPLES // 30,
        test_a_filter_keeps_the_rows_for_which_it_is_true,
    )
