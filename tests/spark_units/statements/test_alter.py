"""Parsing of ``ALTER TABLE`` by ``deltareplay.spark.sql``; without Spark."""

from __future__ import annotations

from typing import Any

import pytest
from support.statements import parsed

import deltareplay as dr
from deltareplay.spark.statements.alter import (
    AddColumns,
    AddedColumn,
    Alter,
    Call,
    CatalogChange,
    ChangeColumn,
    ChangeColumns,
    DropColumns,
    Position,
    RenameColumn,
)
from deltareplay.spark.statements.sync_identity import SyncIdentity


def clause_of(text: str) -> Any:
    statement = parsed(text)
    assert isinstance(statement, Alter)
    return statement.clause


def changes(*columns: ChangeColumn) -> ChangeColumns:
    return ChangeColumns(columns)


#: The text after the name of the table.
CASES: dict[str, Any] = {
    "SET TBLPROPERTIES ('a' = 'b', x.y=5, `z z`.q TRUE, 'w' 'it''s' , k = 1.5);": Call(
        "set_properties", {"a": "b", "x.y": "5", "z z.q": "true", "w": "it's", "k": "1.5"}
    ),
    "UNSET TBLPROPERTIES IF EXISTS ('a', x.y)": Call(
        "unset_properties", ["a", "x.y"], if_exists=True
    ),
    "ADD COLUMN x INT": AddColumns((AddedColumn(("x",), "INT"),)),
    "ADD COLUMNS (a.b struct<c: int, d: decimal(5, 2)> NOT NULL COMMENT 'why', a.e string)": (
        AddColumns(
            (
                AddedColumn(("a", "b"), "struct<c: int, d: decimal(5, 2)>", False, "why"),
                AddedColumn(("a", "e"), "string"),
            )
        )
    ),
    "ADD COLUMNS x MAP<STRING, ARRAY<INT>>, y INT COMMENT 'y'": AddColumns(
        (AddedColumn(("x",), "MAP<STRING, ARRAY<INT>>"), AddedColumn(("y",), "INT", True, "y"))
    ),
    "RENAME COLUMN a.b TO `c d`": RenameColumn(("a", "b"), "c d"),
    "CHANGE `a.b` SYNC IDENTITY": SyncIdentity(("a.b",)),
    "DROP COLUMN a": DropColumns((("a",),)),
    "DROP COLUMNS IF EXISTS (a, b.c)": DropColumns((("a",), ("b", "c")), True),
    "ADD COLUMNS (x INT FIRST COMMENT 'c', a.y INT, a.z INT COMMENT 'd' AFTER `y y`)": AddColumns(
        (
            AddedColumn(("x",), "INT", True, "c", Position()),
            AddedColumn(("a", "y"), "INT"),
            AddedColumn(("a", "z"), "INT", True, "d", Position("y y")),
        )
    ),
    "ALTER COLUMN a.b TYPE DECIMAL(12, 2)": changes(ChangeColumn(("a", "b"), "DECIMAL(12, 2)")),
    "CHANGE a COMMENT 'c'": changes(ChangeColumn(("a",), None, "c")),
    "CHANGE COLUMN a A BIGINT COMMENT 'c'": changes(ChangeColumn(("a",), "BIGINT", "c")),
    "CHANGE a a INT AFTER b": changes(ChangeColumn(("a",), "INT", position=Position("b"))),
    "CHANGE a FIRST": changes(ChangeColumn(("a",), position=Position())),
    "ALTER COLUMN a SET DEFAULT f(1, 'x,'), a.b DROP DEFAULT, c DROP NOT NULL": changes(
        ChangeColumn(("a",), default="f(1, 'x,')"),
        ChangeColumn(("a", "b"), drops="DEFAULT"),
        ChangeColumn(("c",), drops="NOT NULL"),
    ),
    "ALTER a TYPE MAP<STRING, INT>, b COMMENT 'c', d AFTER e;": changes(
        ChangeColumn(("a",), "MAP<STRING, INT>"),
        ChangeColumn(("b",), comment="c"),
        ChangeColumn(("d",), position=Position("e")),
    ),
    "ADD CONSTRAINT c CHECK (a > (1 + 2) AND b = ')')": Call(
        "add_constraint", "c", "a > (1 + 2) AND b = ')'"
    ),
    "DROP CONSTRAINT IF EXISTS `c d`": Call("drop_constraint", "c d", if_exists=True),
    "CLUSTER BY (a, b.c)": Call("cluster_by", ("a", "b.c"), columns=(("a",), ("b", "c"))),
    "CLUSTER BY (s.`a.b`)": Call("cluster_by", ("s.`a.b`",), columns=(("s", "a.b"),)),
    "CLUSTER BY NONE": Call("cluster_by", ()),
    "DROP FEATURE deletionVectors TRUNCATE HISTORY": Call(
        "drop_feature", "deletionVectors", truncate_history=True
    ),
    "DROP FEATURE 'v2Checkpoint'": Call("drop_feature", "v2Checkpoint", truncate_history=False),
    "RENAME TO u": CatalogChange("RENAME TO"),
    "SET LOCATION '/x'": CatalogChange("SET LOCATION"),
}

#: Invalid clauses, and a part of the message for each.
WRONG = {
    "": "expected a clause of ALTER TABLE, not 'the end', at line 1, column 15",
    "SET TBLPROPERTIES ()": "expected a name, not ')'",
    "SET TBLPROPERTIES ('a')": "expected a string, a number, true or false, not ')'",
    "SET TBLPROPERTIES ('a' = b)": "expected a string, a number, true or false, not 'b'",
    "SET TBLPROPERTIES (a = 1, 'a' = 2)": "duplicate property a, at line",
    "SET TBLPROPERTIES ('location' = '/x')": "the property location is reserved by Spark",
    "UNSET TBLPROPERTIES ('a' = 'b')": "expected ), not '='",
    "ADD COLUMN x": "expected a type, not 'the end'",
    "ADD COLUMNS (x INT": "expected ), not 'the end'",
    "RENAME COLUMN a TO b.c": "expected the end of the statement, not '.'",
    "ALTER COLUMN a a INT": "expected TYPE, COMMENT, SET, DROP, FIRST or AFTER, not 'a'",
    "ALTER COLUMN a FIRST, b": "expected TYPE, COMMENT, SET, DROP, FIRST or AFTER, not 'the end'",
    "ALTER COLUMN a AFTER b.c": "expected the end of the statement, not '.'",
    "ALTER COLUMN a SYNC": "expected TYPE, COMMENT, SET, DROP, FIRST or AFTER",
    "ALTER COLUMN a SET DEFAULT": "expected an expression, not 'the end'",
    "ADD COLUMN x INT FIRST AFTER y": "expected the end of the statement, not 'AFTER'",
    "CHANGE a a INT, b b INT": "expected the end of the statement, not ','",
    "ALTER COLUMN a TYPE INT COMMENT 'c'": "expected the end of the statement, not 'COMMENT'",
    "CHANGE COLUMN a a INT NOT NULL": "expected the end of the statement, not 'NOT'",
    "CHANGE COLUMN a b INT": "CHANGE COLUMN does not rename a: use RENAME COLUMN, at",
    "REPLACE COLUMNS a INT": "expected (, not 'a'",
    "REPLACE COLUMNS (a INT FIRST)": "REPLACE COLUMNS takes columns with a type and a comment",
    "REPLACE COLUMNS (a.b INT)": "REPLACE COLUMNS takes columns with a type and a comment",
    "ADD CONSTRAINT c CHECK a > 1": "expected (, not 'a'",
    "ADD CONSTRAINT c CHECK (a > 1) NOT ENFORCED": "expected the end of the statement, not 'NOT'",
    "CLUSTER BY a": "expected (, not 'a'",
    "RENAME TO 'u'": "expected a name, not \"'u'\"",
    "DROP CONSTRAINT c CASCADE": "expected the end of the statement, not 'CASCADE'",
}

#: Unsupported clauses, and a part of the message for each.
UNSUPPORTED = {
    "ADD COLUMN x INT DEFAULT 5": "add the column without it, then ALTER COLUMN ... SET DEFAULT",
    "ALTER COLUMN a.b SET NOT NULL": "ADD CONSTRAINT ... CHECK (a.b IS NOT NULL)",
    "ADD CONSTRAINT c PRIMARY KEY (a)": "Delta tables have CHECK constraints only",
    "ADD PARTITION (a = 1)": "ALTER TABLE ... ADD PARTITION is not supported for Delta tables",
    "RECOVER PARTITIONS": "the docstring of deltareplay.spark.sql lists the clauses",
}


@pytest.mark.parametrize("clause", CASES)
def test_parses_clauses(clause: str) -> None:
    assert clause_of(f"ALTER TABLE a.t {clause}") == CASES[clause]


@pytest.mark.parametrize("clause", WRONG)
def test_refuses_invalid_clauses(clause: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        clause_of(f"ALTER TABLE t {clause}")
    assert caught.value.code == "sql.syntax"
    assert WRONG[clause] in str(caught.value)


def test_the_name_of_a_table_does_not_allow_the_syntax_of_hive() -> None:
    with pytest.raises(dr.InvalidArgumentError, match="expected TYPE, COMMENT, SET"):
        clause_of("ALTER TABLE change ALTER a a INT")


@pytest.mark.parametrize("clause", UNSUPPORTED)
def test_names_an_alternative(clause: str) -> None:
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        clause_of(f"ALTER TABLE t {clause}")
    assert caught.value.code == "sql.alter"
    assert UNSUPPORTED[clause] in str(caught.value)
