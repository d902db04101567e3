"""The tables in a query, their versions, aliases and conditions, from its text; without Spark."""

from __future__ import annotations

import pytest

from deltareplay.spark.query.table_references import references_in
from deltareplay.spark.syntax.parser import ConstantExpression, Parser

#: Queries, and their tables.
QUERIES = {
    "SELECT * FROM a": ["a"],
    "select x.id from a x join b.c as y on x.id = y.id;": ["a", "b.c"],
    "SELECT * FROM a, b c, (SELECT * FROM d) e, f": ["a", "b", "d", "f"],
    "SELECT * FROM (a JOIN (b CROSS JOIN c)) WHERE x IN (1, 2)": ["a", "b", "c"],
    "SELECT a, b FROM t WHERE id IN (SELECT id FROM u WHERE EXISTS (FROM v))": ["t", "u", "v"],
    "SELECT id FROM a GROUP BY id, x HAVING count(*) > 1 ORDER BY id, y": ["a"],
    "SELECT 1 UNION ALL SELECT x FROM a EXCEPT TABLE b INTERSECT (TABLE c)": ["a", "b", "c"],
    "FROM a SELECT id": ["a"],
    "TABLE a": ["a"],
    "EXPLAIN EXTENDED SELECT * FROM a": ["a"],
    "DESCRIBE QUERY TABLE a": ["a"],
    "DESC SELECT * FROM a": ["a"],
    "INSERT INTO TABLE o SELECT * FROM a": ["a"],
    "CREATE TABLE o USING parquet AS SELECT * FROM a": ["a"],
    "CREATE OR REPLACE TEMP VIEW v AS SELECT * FROM a": ["a"],
    # names defined by WITH, and the tables of their queries
    "WITH x AS (SELECT * FROM a), `Y`(n) AS (SELECT 1) SELECT * FROM X, y JOIN b": ["a", "b"],
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r": [],
    # FROM and commas that tables do not follow
    "SELECT extract(YEAR FROM at), trim(BOTH 'x' FROM s), substring(s FROM 2) FROM a": ["a"],
    "SELECT extract(YEAR FROM (SELECT max(at) FROM b)) FROM a": ["b", "a"],
    "SELECT a.x IS NOT DISTINCT FROM y, t.from, `from` FROM a": ["a"],
    "SELECT * FROM a LATERAL VIEW explode(xs) e AS x, y": ["a"],
    "SELECT * FROM a, LATERAL (SELECT * FROM b WHERE b.id = a.id), c": ["a", "b", "c"],
    "SELECT * FROM a PIVOT (sum(v) FOR k IN ('x' AS x, 'y' y)), b": ["a", "b"],
    "SELECT * FROM a UNPIVOT INCLUDE NULLS (v FOR k IN (x, y)) AS u, b, c": ["a", "b", "c"],
    "SELECT * FROM a TABLESAMPLE (5 ROWS) REPEATABLE (1), b TABLESAMPLE (9 PERCENT) s, c": [
        *("a", "b", "c"),
    ],
    "SELECT * FROM range(3), a, explode(array(1)) AS e(x), b": ["a", "b"],
    "SELECT * FROM TABLE(range(3)) r, a, f(TABLE(b), TABLE c PARTITION BY x, y), d": [
        *("a", "b", "c", "d"),
    ],
    "SELECT * FROM VALUES (1, 2), (3, 4) AS v(x, y), a": ["a"],
    "SELECT * FROM VALUES (1), (2) v, a JOIN b, VALUES 1, 2 `w`, c": ["a", "b", "c"],
    "SELECT * FROM VALUES (1) JOIN a, b": ["a", "b"],
    "SELECT * FROM VALUES (1) + x, y IS NULL, (2) IN (3), z": [],
    "SELECT * FROM (VALUES (1), (2)), a, LATERAL VALUES (1) x, b": ["a", "b"],
    "SELECT x, y FROM a LATERAL VIEW explode(xs) e AS x, y UNION SELECT * FROM b, c": [
        *("a", "b", "c"),
    ],
    "SELECT 'FROM b', \"FROM c\" -- FROM d\n FROM a /* , e */": ["a"],
    # no tables
    "SELECT * FROM range(3), explode(array(1)) t(x)": [],
    "SELECT * FROM VALUES (1, 'FROM'), (2, 'b') AS t(a, b)": [],
    "SHOW TABLES FROM a": [],
    "DESCRIBE TABLE a": [],
    "DESC a": [],
    "SET x = FROM a": [],
}


@pytest.mark.parametrize("text", QUERIES)
def test_the_tables_of_a_query_are_found_in_its_text(text: str) -> None:
    assert [".".join(item.name) for item in references_in(Parser(text))] == QUERIES[text]


def test_a_version_or_timestamp_belongs_to_the_table_before_it() -> None:
    text = (
        "SELECT * FROM delta.`/a b` VERSION AS OF 3 x, b FOR TIMESTAMP AS OF '2026-01-01', "
        "c TIMESTAMP AS OF now() JOIN d VERSION AS OF '7', e TIMESTAMP AS OF '2026'::DATE y"
    )
    result = references_in(Parser(text))
    assert [item.name for item in result] == [("delta", "/a b"), ("b",), ("c",), ("d",), ("e",)]
    assert [(item.version, item.timestamp) for item in result] == [
        (3, None),
        (None, "2026-01-01"),
        (None, ConstantExpression("now()")),
        (7, None),
        (None, ConstantExpression("'2026'::DATE")),
    ]
    assert text[result[0].start : result[0].end] == "delta.`/a b` VERSION AS OF 3"


# queries, and the tables that they read
@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("WITH a AS (SELECT * FROM a WHERE id > 1) SELECT * FROM a", ["a"]),
        ("WITH A (SELECT 1 FROM a) SELECT * FROM a", ["a"]),
        ("WITH a (x, y) AS (SELECT * FROM a) SELECT * FROM a UNION SELECT * FROM a", ["a"]),
        ("WITH a AS (SELECT 1), b AS (SELECT * FROM a JOIN b) SELECT * FROM b JOIN a", ["b"]),
        ("WITH a AS (WITH a AS (SELECT * FROM a) SELECT * FROM a) SELECT * FROM a", ["a"]),
        ("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) x, a", ["a"]),
        ("SELECT * FROM a WHERE k IN (WITH a AS (SELECT 1) SELECT * FROM a)", ["a"]),
        ("WITH RECURSIVE a AS (SELECT 1 UNION SELECT k FROM a) SELECT * FROM a, b", ["b"]),
        (
            "WITH RECURSIVE a(k) MAX RECURSION LEVEL 9 AS (SELECT k FROM a), b AS (SELECT k FROM b)"
            " SELECT * FROM a, b, c",
            ["c"],
        ),
        ("WITH recursive AS (SELECT * FROM recursive) SELECT * FROM recursive", ["recursive"]),
        ("WITH a AS (SELECT 1) SELECT x, max(y) FROM max", ["max"]),
        ("SELECT k FROM a GROUP BY k WITH ROLLUP", ["a"]),
        ("WITH a AS (SELECT 1 FROM b", ["b"]),
        ("FROM a |> EXTEND x AS y, z AS b |> DROP x, c |> JOIN d USING (b)", ["a", "d"]),
        ("SELECT * FROM a JOIN b ON a.x | b.x = 1, c", ["a", "b", "c"]),
    ],
)
def test_names_of_columns_and_of_queries_are_no_tables(text: str, tables: list[str]) -> None:
    assert [table.name for table in references_in(Parser(text))] == [(name,) for name in tables]


# queries, and the same with ! where an alias can be inserted; None if there is one or cannot be one
@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("SELECT * FROM a", "SELECT * FROM a!"),
        ("SELECT * FROM a WHERE id = 1", "SELECT * FROM a! WHERE id = 1"),
        ("SELECT * FROM a x", None),
        ("SELECT * FROM a AS x", None),
        ("SELECT * FROM a `where`", None),
        (
            "SELECT * FROM a VERSION AS OF 1 ORDER BY 1",
            "SELECT * FROM a VERSION AS OF 1! ORDER BY 1",
        ),
        ("SELECT * FROM a TABLESAMPLE (5 ROWS)", "SELECT * FROM a TABLESAMPLE (5 ROWS)!"),
        ("SELECT * FROM a TABLESAMPLE (5 ROWS) x", None),
        ("(SELECT * FROM a) UNION SELECT 1", "(SELECT * FROM a!) UNION SELECT 1"),
        ("TABLE a", None),
    ],
)
def test_the_position_of_an_alias(text: str, marked: str | None) -> None:
    [result] = references_in(Parser(text))
    index = result.alias_position
    assert (None if index is None else f"{text[:index]}!{text[index:]}") == marked


# queries, and whether _metadata may be added to the columns of their table
@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("SELECT * FROM a", True),
        ("SELECT * FROM a TABLESAMPLE (5 ROWS) t", True),
        ("SELECT * FROM a AS t(y, x)", False),
        ("SELECT * FROM a TABLESAMPLE (5 ROWS) AS t (y, x)", False),
        ("TABLE a", False),
    ],
)
def test_tables_with_names_of_columns_in_the_alias_lack_metadata(text: str, allowed: bool) -> None:
    [result] = references_in(Parser(text))
    assert result.allows_metadata == allowed


# queries, and for each table the condition, and whether it may refer to other tables
@pytest.mark.parametrize(
    ("text", "conditions"),
    [
        (
            "SELECT * FROM a WHERE x > 1 AND y = 'GROUP' GROUP BY x",
            [("x > 1 AND y = 'GROUP'", False)],
        ),
        ("SELECT * FROM a t, b WHERE t.x = b.x;", [("t.x = b.x", True)] * 2),
        ("SELECT * FROM a JOIN range(3) r WHERE x > r.id", [("x > r.id", True)]),
        (
            "SELECT * FROM a, (SELECT * FROM b WHERE y = 2) WHERE x = 1",
            [("x = 1", True), ("y = 2", False)],
        ),
        (
            "SELECT * FROM a WHERE x IN (SELECT y FROM b WHERE b.z = a.z)",
            [
                ("x IN (SELECT y FROM b WHERE b.z = a.z)", False),
                ("b.z = a.z", False),
            ],
        ),
        (
            "SELECT * FROM a WHERE x = 1 UNION ALL SELECT * FROM b",
            [("x = 1", False), (None, False)],
        ),
        ("FROM a SELECT x WHERE x = 1", [("x = 1", False)]),
        # rows that do not satisfy the condition affect the result
        ("SELECT * FROM a LEFT JOIN b USING (x) WHERE b.x IS NULL", [(None, False)] * 2),
        ("SELECT * FROM a ANTI JOIN b USING (x) WHERE x = 1", [(None, False)] * 2),
        ("SELECT * FROM a PIVOT (sum(v) FOR x IN (1, 2)) WHERE y = 1", [(None, False)]),
        ("SELECT * FROM a TABLESAMPLE (5 ROWS) WHERE y = 1", [(None, False)]),
        ("FROM a |> AGGREGATE sum(x) AS x GROUP BY y |> WHERE x = 1", [(None, False)]),
        # tables in parentheses, names of columns in aliases, no condition
        ("SELECT * FROM (a JOIN b) WHERE x = 1", [(None, False)] * 2),
        ("SELECT * FROM a AS t(y, x) WHERE x = 1", [(None, False)]),
        ("SELECT * FROM a t (y, x), b WHERE x = 1", [(None, False), ("x = 1", True)]),
        ("SELECT * FROM a WHERE", [(None, False)]),
    ],
)
def test_tables_have_the_condition_of_their_query(
    text: str, conditions: list[tuple[str | None, bool]]
) -> None:
    assert [(item.where, item.is_joined) for item in references_in(Parser(text))] == conditions


def test_an_argument_of_a_table_function_takes_no_alias() -> None:
    result = references_in(Parser("SELECT * FROM f(TABLE(a), TABLE b, TABLE(SELECT * FROM c))"))
    assert [item.alias_position is None for item in result] == [True, True, False]
