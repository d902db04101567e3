"""INSERT by position, by name and with a list of columns, compared with delta-spark.

As delta-spark 4.4 (its suites ``DeltaInsertInto*``, and delta-io/delta issue 7701): rows whose
names and types are the table's are stored by name, at any depth. All others are matched by
position, and so are the fields of their structs; with a list of columns, the fields of structs
always are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from spark.support.comparison import compare_statements, create_table

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

#: Values of the columns ``s``, ``l`` and ``m``, with the fields of structs in another order.
S = "named_struct('b', 'first', 'a', 'second')"
L = "array(named_struct('y', 10, 'x', 20))"
M = "map(1, named_struct('y', 10, 'x', 20))"

#: The text after ``INSERT``.
MATCHED = [
    f"INTO {{t}} SELECT 2, {S}, {L}, {M}",
    f"INTO {{t}} SELECT 2 AS k, {S} AS s, {L} AS l, {M} AS m",
    f"INTO {{t}} SELECT 2L AS k, {S} AS s, {L} AS l, {M} AS m",
    f"INTO {{t}} BY NAME SELECT {S} AS s, {M} AS m, {L} AS l, 2 AS k",
    f"INTO {{t}} BY NAME SELECT 2L AS k, {S} AS s, {L} AS l, {M} AS m",
    f"INTO {{t}} BY NAME SELECT 2 AS K, {S} AS s",
    f"INTO {{t}} (s, k) SELECT {S}, 2",
    f"INTO {{t}} (s, k, l, m) SELECT {S}, 2, {L}, {M}",
    f"INTO {{t}} (s, k, l, m) SELECT {S}, 2L, {L}, {M}",
    "INTO {t} VALUES (3, struct('x', 'y'), array(struct(1, 2)), map(1, struct(3, 4)))",
    "INTO {t} SELECT '7', struct(1, 2.5D), array(struct('1', 2L)), map('5', struct(3L, '4'))",
    "INTO {t} SELECT 3, CAST(NULL AS STRUCT<b: STRING, a: STRING>), "
    "array(CAST(NULL AS STRUCT<q: INT, p: INT>)), NULL",
    "INTO {t} SELECT NULL, NULL, NULL, NULL",
    f"OVERWRITE {{t}} SELECT 2, {S}, {L}, {M}",
    f"OVERWRITE {{t}} (k, s) SELECT 2, {S}",
    f"INTO {{t}} REPLACE WHERE k = 2 SELECT 2, {S}, {L}, {M}",
]

#: Statements that add columns and fields to the table.
EVOLVING = [
    f"WITH SCHEMA EVOLUTION INTO {{t}} SELECT 3, {S}, {L}, {M}, 5 AS extra, 'x' AS more",
    "WITH SCHEMA EVOLUTION INTO {t} VALUES "
    "(3, struct('x', 'y', 'z' AS c), array(struct(1, 2)), map(1, struct(3, 4)))",
    f"WITH SCHEMA EVOLUTION INTO {{t}} BY NAME SELECT 5 AS extra, 3 AS k, {S} AS s",
]

#: Statements that neither engine accepts.
REFUSED = [
    f"INTO {{t}} SELECT 3, {S}",
    f"INTO {{t}} SELECT 3, {S}, {L}, {M}, 5 AS extra",
    f"INTO {{t}} (k, s) SELECT 3, {S}, {L}",
    f"INTO {{t}} BY NAME SELECT 3 AS k, {S} AS s, 5 AS extra",
    "INTO {t} VALUES (3, struct('x'), array(struct(1, 2)), map(1, struct(3, 4)))",
    "INTO {t} VALUES (3, struct('x', 'y', 'z'), array(struct(1, 2)), map(1, struct(3, 4)))",
    f"INTO {{t}} SELECT 7, {S}, array(struct(1, 2, 3)), map(5, struct(3, 4))",
    f"INTO {{t}} SELECT 7, {S}, array(struct(1)), map(5, struct(3, 4))",
    f"INTO {{t}} SELECT 7, {S}, array(struct(1, 2)), map(5, struct(3))",
    "INTO {t} SELECT 7, 'text', array(struct(1, 2)), map(5, struct(3, 4))",
    f"INTO {{t}} SELECT 7, {S}, array(struct(1, 3000000000)), NULL",
    "INTO {t} BY NAME SELECT 7 AS k, array(struct(1, 3000000000)) AS l",
]


@pytest.fixture(scope="module")
def base(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create_table(
        spark,
        tmp_path_factory.mktemp("matrix") / "t",
        "CREATE TABLE {t} (k INT, s STRUCT<a: STRING, b: STRING>, l ARRAY<STRUCT<x: INT, y: INT>>, "
        "m MAP<INT, STRUCT<x: INT, y: INT>>) USING delta",
        "INSERT INTO {t} VALUES (0, struct('a0', 'b0'), array(struct(1, 2)), map(1, struct(1, 2)))",
    )


def inserts(texts: list[str]) -> list[str]:
    return ["INSERT " + text for text in texts]


@pytest.mark.slow  # dozens of statements
def test_columns_are_matched_as_by_delta_spark(spark: Any, tmp_path: Path, base: Path) -> None:
    compare_statements(spark, tmp_path, base, inserts(MATCHED))


@pytest.mark.parametrize("text", EVOLVING)
def test_columns_are_added_as_by_delta_spark(
    spark: Any, tmp_path: Path, base: Path, text: str
) -> None:
    compare_statements(spark, tmp_path, base, inserts([text]))


def test_values_that_do_not_fit_are_refused(spark: Any, tmp_path: Path, base: Path) -> None:
    compare_statements(spark, tmp_path, base, inserts(REFUSED), changes=False)


STRUCTS = (
    "named_struct('p', named_struct('b', 'first', 'a', 'second'), "
    "'l', array(named_struct('y', 10, 'x', 20)), 'i', 1)"
)


def test_structs_in_structs(spark: Any, tmp_path: Path) -> None:
    base = create_table(
        spark,
        tmp_path / "base",
        "CREATE TABLE {t} (k INT, s STRUCT<p: STRUCT<a: STRING, b: STRING>, "
        "l: ARRAY<STRUCT<x: INT, y: INT>>, i: INT>) USING delta",
        "INSERT INTO {t} VALUES (0, NULL)",
    )
    texts = [
        f"INTO {{t}} (k, s) SELECT 1, {STRUCTS}",
        f"INTO {{t}} SELECT 1, {STRUCTS}",
        f"INTO {{t}} BY NAME SELECT 1 AS k, {STRUCTS} AS s",
    ]
    compare_statements(spark, tmp_path / "fit", base, inserts(texts))
    others = "INTO {t} (k, s) SELECT 1, named_struct('i', 1, 'p', struct('x', 'y'), 'l', NULL)"
    compare_statements(spark, tmp_path / "others", base, inserts([others]), changes=False)


def test_omitted_columns_get_defaults(spark: Any, tmp_path: Path) -> None:
    """Without a default they get null, which a NOT NULL column refuses."""
    base = create_table(
        spark,
        tmp_path / "base",
        "CREATE TABLE {t} (k INT NOT NULL, d INT DEFAULT 7, v STRING, p INT) USING delta "
        "PARTITIONED BY (p) TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
        "INSERT INTO {t} VALUES (0, 0, '0', 5)",
    )
    accepted = [
        "INTO {t} (k) VALUES (1)",
        "INTO {t} (p, k) VALUES (3, 1)",
        "INTO {t} BY NAME SELECT 1 AS k",
        "INTO {t} VALUES (1, DEFAULT, DEFAULT, 4)",
        "INTO {t} PARTITION (p = 5) (k) VALUES (1)",
        "OVERWRITE {t} PARTITION (p = 5) BY NAME SELECT 1 AS k",
    ]
    compare_statements(spark, tmp_path / "accepted", base, inserts(accepted))
    refused = ["INTO {t} VALUES (1, 2)", "INTO {t} (d) VALUES (1)"]
    compare_statements(spark, tmp_path / "refused", base, inserts(refused), changes=False)


def test_an_element_that_does_not_fit_is_refused(spark: Any, tmp_path: Path) -> None:
    """``try_cast`` of the whole array would make it null."""
    base = create_table(spark, tmp_path / "t", "CREATE TABLE {t} (k INT, l ARRAY<INT>) USING delta")
    for text in (
        "INSERT INTO {t} SELECT 1, array(1, 3000000000)",
        "INSERT INTO {t} BY NAME SELECT 1 AS k, array('1', 'many') AS l",
    ):
        with pytest.raises(dr.InvalidArgumentError, match=r"cannot be stored in l\.element"):
            dr_spark.sql(spark, text.format(t=f"delta.`{base}`"))
    dr_spark.sql(spark, f"INSERT INTO delta.`{base}` SELECT 1, array('1', NULL)")
    with pytest.raises(dr.InvalidArgumentError, match=r"cannot be stored in l\.element"):
        dr_spark.update(spark, base, "k = 1", {"l": "array(3000000000)"})
    assert dr_spark.read(spark, base).collect() == [(1, [1, None])]
