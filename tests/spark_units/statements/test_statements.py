"""Parsing of Delta's statements by ``deltareplay.spark.sql``; without Spark."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.statements import parsed

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark.dml.merge.clauses import Clause
from deltareplay.spark.statements.alter import Alter
from deltareplay.spark.statements.clone import Clone
from deltareplay.spark.statements.comment import Comment
from deltareplay.spark.statements.convert import Convert
from deltareplay.spark.statements.create import CreateTable
from deltareplay.spark.statements.create_like import CreateTableLike
from deltareplay.spark.statements.delete import Delete
from deltareplay.spark.statements.describe import DescribeDetail, DescribeHistory
from deltareplay.spark.statements.generate import Generate
from deltareplay.spark.statements.insert import Insert
from deltareplay.spark.statements.merge import Merge, Source
from deltareplay.spark.statements.optimize import Optimize, Reorg
from deltareplay.spark.statements.prefix import split
from deltareplay.spark.statements.restore import Restore
from deltareplay.spark.statements.show import (
    DescribeTable,
    ShowColumns,
    ShowCreate,
    ShowProperties,
)
from deltareplay.spark.statements.sql import read
from deltareplay.spark.statements.statement import Statement
from deltareplay.spark.statements.truncate import Truncate
from deltareplay.spark.statements.update import Update
from deltareplay.spark.statements.vacuum import Vacuum
from deltareplay.spark.syntax.parser import Parser

DELTA = ("delta", "/tmp/a b")

CASES: dict[str, Any] = {
    "DELETE FROM t": Delete(("t",), None, None),
    "delete from `a b`.`c``d` AS x where x.id = 1 -- why": Delete(("a b", "c`d"), "x", "x.id = 1"),
    "DELETE FROM t WHERE s = 'a;b' AND r = r'\\d' ;": Delete(
        ("t",), None, "s = 'a;b' AND r = r'\\d'"
    ),
    "/* a /* nested */ comment */ DELETE FROM delta.`/tmp/a b` WHERE id IN (1, 2)": Delete(
        DELTA, None, "id IN (1, 2)"
    ),
    "UPDATE t x SET a = b = c, s.d = 'x, y' WHERE e": Update(
        ("t",), "x", {"a": "b = c", "s.d": "'x, y'"}, "e"
    ),
    "UPDATE t SET a = (SELECT max(b) FROM u WHERE u.id = 1), b = m[1, 2]": Update(
        ("t",), None, {"a": "(SELECT max(b) FROM u WHERE u.id = 1)", "b": "m[1, 2]"}, None
    ),
    "UPDATE t SET a = CASE WHEN where THEN 1 ELSE 2 END WHERE b": Update(
        ("t",), None, {"a": "CASE WHEN where THEN 1 ELSE 2 END"}, "b"
    ),
    "OPTIMIZE '/tmp/a b'": Optimize(DELTA, None),
    "OPTIMIZE '/tmp' '/a' \" b\"": Optimize(DELTA, None),
    "OPTIMIZE t FULL": Optimize(("t",), None, full=True),
    "OPTIMIZE t WHERE p = 'ZORDER BY' ZORDER BY (a, s.b)": Optimize(
        ("t",), "p = 'ZORDER BY'", ("a", "s.b")
    ),
    "OPTIMIZE t ZORDER BY (s.`a.b`, `c d`)": Optimize(("t",), None, ("s.`a.b`", "c d")),
    "OPTIMIZE t ZORDER BY a": Optimize(("t",), None, ("a",)),
    "REORG TABLE t WHERE p > 1 APPLY (PURGE)": Reorg(("t",), "p > 1"),
    "VACUUM '/tmp/a b' RETAIN 0.5 HOURS DRY RUN": Vacuum(DELTA, 0.5, True),
    "VACUUM t LITE RETAIN 7 HOURS": Vacuum(("t",), 7.0, False, True),
    "VACUUM t FULL": Vacuum(("t",), None, False, False),
    "DESC HISTORY delta.`/tmp/a b` LIMIT 3": DescribeHistory(DELTA, limit=3),
    "describe history t": DescribeHistory(("t",)),
    "DESCRIBE DETAIL '/tmp/a b'": DescribeDetail(DELTA),
    "RESTORE TABLE t TO VERSION AS OF 3": Restore(("t",), 3, None),
    "RESTORE t TO FOR SYSTEM_VERSION AS OF '3'": Restore(("t",), 3, None),
    "RESTORE t TIMESTAMP AS OF '2026-01-01'": Restore(("t",), None, "2026-01-01"),
    "CONVERT TO DELTA parquet.`/x`": Convert(("parquet", "/x"), None),
    "CONVERT TO DELTA parquet.`/x` NO STATISTICS PARTITIONED BY (a INT, b DECIMAL(5, 2))": Convert(
        ("parquet", "/x"), "a INT, b DECIMAL(5, 2)", statistics=False
    ),
    "GENERATE symlink_format_manifest FOR TABLE t": Generate(("t",), "symlink_format_manifest"),
    "COMMENT ON TABLE t IS 'x'": Comment(("t",), "x"),
    "COMMENT ON TABLE t IS NULL": Comment(("t",), ""),
    "COMMENT ON TABLE t IS 'it''s'": Comment(("t",), "it's"),
    "CREATE TABLE IF NOT EXISTS a.b SHALLOW CLONE t": Clone(
        ("a", "b"), "create_if_not_exists", ("t",), None, None, {}, None
    ),
    "CREATE TABLE t LIKE a.u USING delta LOCATION '/x' TBLPROPERTIES (k = 'v')": CreateTableLike(
        ("t",), location="/x", properties={"k": "v"}, source=("a", "u")
    ),
    "CREATE OR REPLACE TABLE t SHALLOW CLONE delta.`/tmp/a b` VERSION AS OF 2 "
    "TBLPROPERTIES ('a.b' = 'c', delta.d = true) LOCATION '/y'": Clone(
        ("t",), "create_or_replace", DELTA, 2, None, {"a.b": "c", "delta.d": "true"}, "/y"
    ),
    "REPLACE TABLE t SHALLOW CLONE u TIMESTAMP AS OF '2026-01-01'": Clone(
        ("t",), "replace", ("u",), None, "2026-01-01", {}, None
    ),
    "MERGE INTO t USING a.u ON t.id = u.id WHEN MATCHED THEN UPDATE SET *": Merge(
        ("t",),
        None,
        Source("a.u", None, ("a", "u")),
        "t.id = u.id",
        (Clause("matched", "update", None, None),),
        False,
    ),
    "MERGE WITH SCHEMA EVOLUTION INTO delta.`/tmp/a b` AS t USING u VERSION AS OF 3 AS s "
    "ON t.id = s.id WHEN NOT MATCHED BY TARGET THEN INSERT *": Merge(
        DELTA,
        "t",
        Source("u VERSION AS OF 3 AS s", "s"),
        "t.id = s.id",
        (Clause("not_matched", "insert", None, None),),
        True,
    ),
    """
    MERGE INTO t USING (SELECT * FROM u JOIN v ON u.id = v.id WHERE a IN (1, 2)) s
    ON t.id = s.id AND CASE WHEN s.a THEN 1 ELSE 2 END = 1
    WHEN MATCHED AND s.op = 'WHEN THEN' THEN DELETE
    WHEN MATCHED THEN UPDATE SET t.a = CASE WHEN s.b > 1 THEN s.b ELSE t.b END, `x y` = f(s.a, 1)
    WHEN NOT MATCHED AND s.c THEN INSERT (id, `x y`) VALUES (s.id, f(1, 2))
    WHEN NOT MATCHED BY SOURCE AND t.end > 3 THEN UPDATE SET a = t.a + 1
    WHEN NOT MATCHED BY SOURCE THEN DELETE;
    """: Merge(
        ("t",),
        None,
        Source("(SELECT * FROM u JOIN v ON u.id = v.id WHERE a IN (1, 2)) s", "s"),
        "t.id = s.id AND CASE WHEN s.a THEN 1 ELSE 2 END = 1",
        (
            Clause("matched", "delete", "s.op = 'WHEN THEN'", None),
            Clause(
                "matched",
                "update",
                None,
                {"t.a": "CASE WHEN s.b > 1 THEN s.b ELSE t.b END", "`x y`": "f(s.a, 1)"},
            ),
            Clause("not_matched", "insert", "s.c", {"id": "s.id", "`x y`": "f(1, 2)"}),
            Clause("not_matched_by_source", "update", "t.end > 3", {"a": "t.a + 1"}),
            Clause("not_matched_by_source", "delete", None, None),
        ),
        False,
    ),
}

#: Statements on tables of any format, which are parsed up to the name: the class, the name, and
#: the next token.
OF_ANY_FORMAT: dict[str, tuple[type[Statement], tuple[str, ...], str]] = {
    "ALTER TABLE a.b WRITE ORDERED BY c": (Alter, ("a", "b"), "WRITE"),
    "ALTER TABLE delta.`/tmp/a b` ADD COLUMN a INT;": (Alter, DELTA, "ADD"),
    "CREATE TABLE t (id INT COMMENT 'x') USING DELTA": (CreateTable, ("t",), "("),
    "TRUNCATE TABLE a.t PARTITION (p = 1)": (Truncate, ("a", "t"), "PARTITION"),
    "DESC t": (DescribeTable, ("t",), ""),
    "DESCRIBE history": (DescribeTable, ("history",), ""),
    "DESC DETAIL;": (DescribeTable, ("DETAIL",), ";"),
    "DESCRIBE TABLE EXTENDED a.t c": (DescribeTable, ("a", "t"), "c"),
    "SHOW TBLPROPERTIES t ('a')": (ShowProperties, ("t",), "("),
    "SHOW COLUMNS FROM t IN a.b": (ShowColumns, ("a", "b", "t"), ""),
    "SHOW CREATE TABLE t": (ShowCreate, ("t",), ""),
    "INSERT INTO t PARTITION (p) IF NOT EXISTS SELECT 1": (Insert, ("t",), "PARTITION"),
    "INSERT OVERWRITE TABLE delta.`/t` SELECT 1": (Insert, ("delta", "/t"), "SELECT"),
    "INSERT WITH SCHEMA EVOLUTION INTO a.t BY NAME SELECT 1": (Insert, ("a", "t"), "BY"),
    "UPDATE a.t AS x SET y = 1": (Update, ("a", "t"), "AS"),
}

#: Definitions of tables, and their formats.
PROVIDERS = {
    "CREATE TABLE t (id INT COMMENT 'x') USING DELTA": "DELTA",
    "CREATE OR REPLACE TABLE t USING parquet": "parquet",
    "CREATE TABLE IF NOT EXISTS t USING delta LOCATION '/x' TBLPROPERTIES (a = 1)": "delta",
    "CREATE TABLE t (id INT) STORED AS PARQUET": "hive",
    "CREATE TABLE t (id INT)": None,
    "CREATE TABLE t USING delta COMMENT 'x' AS SELECT 1": "delta",
}

#: Statements that Spark runs.
OTHERS = (
    "",
    "SELECT 1",
    "WITH a AS (SELECT 1) SELECT * FROM a",
    "INSERT OVERWRITE DIRECTORY '/t' USING parquet SELECT 1",
    "INSERT OVERWRITE LOCAL DIRECTORY '/t' SELECT 1",
    "INSERT",
    "CREATE OR REPLACE TEMP VIEW v AS SELECT 1",
    "DESCRIBE",
    "SHOW TABLES",
    "SHOW COLUMNS t",
    "DELETE",
    "ALTER TABLE",
    "TRUNCATE TABLE",
    "ALTER VIEW t AS SELECT 1",
)

#: Invalid statements, and a part of the message for each.
WRONG = {
    "CREATE TABLE t LIKE u (id INT)": "expected USING, LOCATION or TBLPROPERTIES, not '('",
    "CREATE TABLE t LIKE u COMMENT 'x'": "not 'COMMENT', at line 1, column 23",
    "DELETE FROM t WHERE": "expected an expression, not 'the end', at line 1, column 20",
    "DELETE FROM t\nWHERE a)": "expected the end of the statement, not ')', at line 2, column 8",
    "DELETE FROM": "expected a name, not 'the end', at line 1, column 12",
    "UPDATE t SET a 1": "expected =, not '1', at line 1, column 16",
    "UPDATE t SET a = 1, a = 2": "duplicate assignment to a, at line 1, column 21",
    "OPTIMIZE t ZORDER BY (a": "expected ), not 'the end', at line 1, column 24",
    "VACUUM t RETAIN x HOURS": "expected a number, not 'x', at line 1, column 17",
    "VACUUM t RETAIN nan HOURS": "expected a number, not 'nan', at line 1, column 17",
    "VACUUM t RETAIN 1_0 HOURS": "expected a number, not '1_0', at line 1, column 17",
    "VACUUM t RETAIN 7": "expected HOURS, not 'the end', at line 1, column 18",
    "VACUUM t USING INVENTORY u": "expected RETAIN, DRY RUN, LITE or FULL, each once, not 'USING'",
    "VACUUM t RETAIN 9 HOURS DRY RUN RETAIN 1 HOURS": "each once, not 'RETAIN'",
    "VACUUM t LITE FULL": "LITE or FULL, each once, not 'FULL', at line 1, column 15",
    "DESCRIBE HISTORY t LIMIT x": "expected an integer, not 'x', at line 1, column 26",
    "RESTORE t": "expected VERSION AS OF or TIMESTAMP AS OF, not 'the end'",
    "MERGE INTO t USING u ON a = b": "expected WHEN, not 'the end', at line 1, column 30",
    "MERGE INTO t USING u ON a WHEN MATCHED THEN INSERT *": "expected UPDATE, not 'INSERT'",
    "MERGE INTO t USING u ON a WHEN NOT MATCHED THEN INSERT (a, b) VALUES (1)": (
        "INSERT needs 2 values, not 1, at line 1, column 73"
    ),
}


@pytest.mark.parametrize("text", CASES)
def test_parses_statements(text: str) -> None:
    assert parsed(text) == CASES[text]


@pytest.mark.parametrize("text", OF_ANY_FORMAT)
def test_reads_up_to_the_name_of_the_table(text: str) -> None:
    parser = Parser(text)
    statement = read(parser)
    assert (type(statement), statement and statement.table, parser.token.text) == (
        OF_ANY_FORMAT[text]
    )


@pytest.mark.parametrize("text", PROVIDERS)
def test_looks_ahead_for_the_format(text: str) -> None:
    statement = read(Parser(text))
    assert isinstance(statement, CreateTable)
    assert statement.provider == PROVIDERS[text]


@pytest.mark.parametrize("text", OTHERS)
def test_leaves_to_spark(text: str) -> None:
    assert parsed(text) is None


@pytest.mark.parametrize("text", WRONG)
def test_refuses_invalid_statements(text: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        parsed(text)
    assert caught.value.code == "sql.syntax"
    assert WRONG[text] in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("DELETE FROM t WHERE s = 'a", "the string that begins at line 1, column 25"),
        ('SELECT\n"a', "the string that begins at line 2, column 1"),
        ("DELETE FROM `t", "the name in backticks that begins at line 1, column 13"),
        ("DELETE /* FROM t", "the comment that begins at line 1, column 8"),
    ],
)
def test_names_unterminated_parts(text: str, message: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        parsed(text)
    assert caught.value.code == "sql.token"
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INSERT INTO t VALUES (1);;", Insert(("t",), "VALUES (1)")),
        (
            "INSERT OVERWRITE TABLE t (id, `x y`) (SELECT 1, 2) -- why",
            Insert(("t",), "(SELECT 1, 2)", ("id", "x y"), overwrites=True),
        ),
        (
            "INSERT INTO t (WITH q AS (SELECT 1) TABLE q)",
            Insert(("t",), "(WITH q AS (SELECT 1) TABLE q)"),
        ),
        (
            "INSERT INTO t REPLACE WHERE f(day) > 'SELECT' SELECT 1",
            Insert(("t",), "SELECT 1", overwrites=True, where="f(day) > 'SELECT'"),
        ),
        (
            "INSERT WITH SCHEMA EVOLUTION INTO t BY NAME FROM u SELECT *",
            Insert(("t",), "FROM u SELECT *", by_name=True, evolves=True),
        ),
        (
            "INSERT OVERWRITE t PARTITION (a = 'x', `b c`, d = -1.5, e = NULL) (f) SELECT 1",
            Insert(
                ("t",),
                "SELECT 1",
                ("f",),
                overwrites=True,
                partition={"a": "'x'", "b c": None, "d": "-1.5", "e": "NULL"},
            ),
        ),
    ],
)
def test_parses_inserts(text: str, expected: Insert) -> None:
    assert parsed(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("INSERT INTO t", "expected a query, not 'the end'"),
        ("INSERT INTO t (a, b)", "expected a query, not 'the end'"),
        ("INSERT INTO t (a + 1) SELECT 1", "expected ), not '+', at line 1, column 18"),
        ("INSERT INTO t PARTITION (p = q) SELECT 1", "expected a number, not 'q', at line 1"),
        (
            "INSERT INTO t PARTITION (p, P = 1) SELECT 1",
            "duplicate partition column P, at line 1, column 29",
        ),
        ("INSERT INTO t PARTITION (p) IF NOT EXISTS SELECT 1", "expected a query, not 'IF'"),
    ],
)
def test_refuses_invalid_inserts(text: str, message: str) -> None:
    with pytest.raises(dr.InvalidArgumentError, match=re.escape(message)) as caught:
        parsed(text)
    assert caught.value.code == "sql.syntax"


def test_refuses_a_repeated_column_in_an_insert_of_a_merge() -> None:
    # as delta-spark (DELTA_DUPLICATE_COLUMNS_ON_INSERT)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        parsed(
            "MERGE INTO t USING s ON t.k = s.k "
            "WHEN NOT MATCHED THEN INSERT (k, v, v) VALUES (1, 2, 3)"
        )
    assert caught.value.code == "statement.column"


@pytest.mark.parametrize("mode", ["", "EXTENDED ", "formatted "])
@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM delta.`/t`",
        "UPDATE delta.`/t` SET a = 1",
        "INSERT INTO delta.`/t` SELECT 1",
        "MERGE INTO delta.`/t` t USING s ON t.k = s.k WHEN MATCHED THEN DELETE",
    ],
)
def test_changes_are_not_explained_without_the_jar(
    monkeypatch: pytest.MonkeyPatch, mode: str, text: str
) -> None:
    session: Any = None
    monkeypatch.setattr("deltareplay.spark.session.capabilities.check", lambda _: None)
    monkeypatch.setattr("deltareplay.spark.session.capabilities.has_delta", lambda _: False)
    with pytest.raises(dr.UnsupportedFeatureError, match="EXPLAIN a SELECT") as caught:
        dr_spark.sql(session, f"EXPLAIN {mode}{text}")
    assert caught.value.code == "sql.explain"


@pytest.mark.parametrize(
    "queries",
    [
        "q AS (SELECT 1 a)",
        "q (SELECT 1 a)",
        "q (a) (SELECT 1), `r` (b, c) AS (SELECT 1, 2), s (SELECT 3)",
        "RECURSIVE q (a) MAX RECURSION LEVEL 9 AS (SELECT 1 UNION ALL SELECT a FROM q)",
    ],
)
def test_queries_of_with_precede_a_statement(queries: str) -> None:
    [(prefix, statement)] = split(Parser(f"WITH {queries} DELETE FROM t")) or []
    assert (prefix.text.strip(), statement.text) == (f"WITH {queries}", "DELETE FROM t")
    assert set(prefix.queries) == ({"q", "r", "s"} if "`r`" in queries else {"q"})


@pytest.mark.parametrize("text", ["WITH q", "WITH q (a", "WITH q AS", "WITH q AS (SELECT 1"])
def test_incomplete_queries_of_with_are_left_to_spark(text: str) -> None:
    assert split(Parser(text)) is None
