"""Rows that replace matching ones, compared with delta-spark's ``replaceUsing``, ``replaceOn``.

delta-spark 4.4 has these options in ``df.write``. Spark 4.2 does not have the statements, so they
are compared with the options. Each test writes copies of one table.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from spark.support.comparison import texts_by_delta_spark
from spark.support.settings import conf
from spark.support.tiers import pairs

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

#: Columns and rows of the table; a row with a null key matches nothing.
COLUMNS = "id INT, v STRING, p STRING"
ROWS = "(1, 'a', 'x'), (2, 'b', 'y'), (2, 'B', 'x'), (3, 'c', NULL), (NULL, 'd', 'x')"

NEW = "SELECT id, 'new' AS v, 'x' AS p FROM VALUES (2), (NULL), (7) AS s(id)"

#: The new rows, and those that they replace, in delta-spark's options.
CASES = {
    "a key": (NEW, {"replaceUsing": "id"}),
    "two keys": (NEW, {"replaceUsing": "id, p"}),
    "a key twice, in another case": (NEW, {"replaceUsing": "id,ID"}),
    "a partition": ("SELECT 9 AS id, 'new' AS v, 'x' AS p", {"replaceUsing": "p"}),
    "no match": ("SELECT 9 AS id, 'new' AS v, 'x' AS p", {"replaceUsing": "id"}),
    "no new row": (f"{NEW} WHERE id = 99", {"replaceUsing": "id"}),
    "everything matches": (NEW, {"replaceOn": "true"}),
    "nothing matches": (NEW, {"replaceOn": "false"}),
    "columns at other places": (
        "SELECT 'x' AS p, 2 AS id, 'new' AS v",
        {"replaceUsing": "id"},
    ),
    "a column is missing": ("SELECT 2 AS id, 'x' AS p", {"replaceUsing": "id"}),
    "duplicates": (f"{NEW} UNION ALL {NEW}", {"replaceUsing": "id"}),
    "nulls are equal": (NEW, {"replaceOn": "t.id <=> s.id", "targetAlias": "t"}),
    "one side": (NEW, {"replaceOn": "t.id >= 2", "targetAlias": "t"}),
    "the other side": (NEW, {"replaceOn": "s.id = 7", "targetAlias": "t"}),
    "functions": (NEW, {"replaceOn": "abs(t.id) = s.id - 4 OR t.p IS NULL", "targetAlias": "t"}),
    "in": (NEW, {"replaceOn": "t.id IN (1, 3)", "targetAlias": "t"}),
}

#: The partition clause and the properties of each table.
TABLES = {
    "plain": ("", "'delta.enableDeletionVectors' = false"),
    "vectors": ("", "'delta.enableDeletionVectors' = true"),
    "partitioned": ("PARTITIONED BY (p)", "'delta.enableDeletionVectors' = false"),
    "partitioned, with vectors": ("PARTITIONED BY (p)", "'delta.enableDeletionVectors' = true"),
    "feed": (
        "",
        "'delta.enableDeletionVectors' = false, 'delta.enableChangeDataFeed' = true",
    ),
    "feed and vectors": (
        "",
        "'delta.enableDeletionVectors' = true, 'delta.enableChangeDataFeed' = true",
    ),
    "mapped": (
        "PARTITIONED BY (p)",
        "'delta.columnMapping.mode' = 'name', 'delta.enableRowTracking' = true",
    ),
}


@pytest.fixture(scope="module")
def bases(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The tables, each with its rows in one file of each partition."""
    folder = tmp_path_factory.mktemp("replace")
    paths = {}
    for at, (name, (partitions, properties)) in enumerate(TABLES.items()):
        paths[name] = folder / f"t{at}"
        spark.sql(
            f"CREATE TABLE delta.`{paths[name]}` ({COLUMNS}) USING delta {partitions} "
            f"TBLPROPERTIES ({properties})"
        )
        spark.sql(
            f"INSERT INTO delta.`{paths[name]}` SELECT /*+ COALESCE(1) */ * FROM VALUES {ROWS}"
        )
    return paths


def arguments(options: dict[str, str]) -> dict[str, Any]:
    """Return the arguments of ``write`` for options of delta-spark."""
    result: dict[str, Any] = {"mode": "overwrite"}
    if "replaceUsing" in options:
        result["replace_using"] = [name.strip() for name in options["replaceUsing"].split(",")]
    if "replaceOn" in options:
        result["replace_on"] = options["replaceOn"]
    if "targetAlias" in options:
        result["target_alias"] = options["targetAlias"]
    if options.get("mergeSchema"):
        result["schema_mode"] = "merge"
    return result


def last_commit(path: Path) -> dict[str, Any]:
    file = max((path / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in file.read_text().splitlines()]
    [info] = [action["commitInfo"] for action in actions if "commitInfo" in action]
    return {"version": int(file.stem), **info}


#: Metrics that do not depend on the number of files of Spark's tasks.
COUNTED = ("numCopiedRows", "numDeletedRows", "numOutputRows", "numRemovedFiles")

#: Cases tested on each table.
SOME = ("a key", "a partition", "no match", "nulls are equal")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "case"),
    [("plain", case) for case in CASES]
    + pairs([base for base in TABLES if base != "plain"], list(SOME)),
)
def test_rows_and_the_commit_are_those_of_delta_spark(
    spark: Any, tmp_path: Path, bases: dict[str, Path], base: str, case: str
) -> None:
    query, options = CASES[case]
    ours, theirs = (shutil.copytree(bases[base], tmp_path / name) for name in ("ours", "theirs"))
    new = spark.sql(query).coalesce(1)
    new = new.alias("s") if "targetAlias" in options else new
    written = dr_spark.write(new, ours, **arguments(options))
    writer = new.write.format("delta").mode("overwrite").options(**options)
    if TABLES[base][0]:
        writer = writer.partitionBy("p")  # as in the commit then
    writer.save(str(theirs))
    assert texts_by_delta_spark(spark, ours) == texts_by_delta_spark(spark, theirs)
    reported, expected = last_commit(ours), last_commit(theirs)
    assert reported["version"] == expected["version"]
    if reported["version"] == 1:
        assert written.version is None
        return
    assert (written.version, reported["operation"]) == (2, "WRITE")
    parameters = dict(expected["operationParameters"])
    if "replaceUsingCols" in parameters:  # where delta-spark shows the text of the option
        names = "".join(parameters["replaceUsingCols"].strip("()").split()).split(",")
        parameters["replaceUsingCols"] = f"({', '.join(names)})"
    assert reported["operationParameters"] == parameters
    result, counted = reported["operationMetrics"], expected["operationMetrics"]
    for name in COUNTED:
        assert result[name] == counted.get(name, result[name]), name
    assert {name: str(count) for name, count in written.metrics.items()} == result
    assert not dr.Table(ours).verify(rows=True).findings
    if "feed" in base:
        changes = [
            spark.sql(f"SELECT * FROM table_changes_by_path('{path}', 2)").drop("_commit_timestamp")
            for path in (ours, theirs)
        ]
        first, other = (sorted(map(str, result.collect())) for result in changes)
        assert first == other


def test_new_columns_are_null_in_rows_that_stay(
    spark: Any, tmp_path: Path, bases: dict[str, Path]
) -> None:
    """Conditions on the table refer to its old columns, as in delta-spark."""
    steps = [
        ("SELECT 2 AS id, 'new' AS v, 'x' AS p, 7 AS more", {"replaceUsing": "id"}),
        (
            "SELECT 9 AS id, 'new' AS v, 'x' AS p, 9 AS third",
            {"replaceOn": "s.third = 9 AND t.id = 3", "targetAlias": "t"},
        ),
    ]
    ours, theirs = (shutil.copytree(bases["plain"], tmp_path / name) for name in ("ours", "theirs"))
    for query, options in steps:
        new = spark.sql(query).alias("s")
        with pytest.raises(dr.InvalidArgumentError) as caught:
            dr_spark.write(new, ours, **arguments(options))
        assert caught.value.code == "write.columns"
        dr_spark.write(new, ours, **arguments(options), schema_mode="merge")
        writer = new.write.format("delta").mode("overwrite").option("mergeSchema", "true")
        writer.options(**options).save(str(theirs))
        assert texts_by_delta_spark(spark, ours) == texts_by_delta_spark(spark, theirs)
    with pytest.raises(dr.InvalidArgumentError) as caught:  # UNRESOLVED_INSERT_REPLACE_USING_COLUMN
        dr_spark.write(
            spark.sql("SELECT 1 AS id, 2 AS other"),
            ours,
            mode="overwrite",
            replace_using=["other"],
            schema_mode="merge",
        )
    assert caught.value.code == "write.columns"


def test_deleted_rows_of_the_feed_get_new_fields(spark: Any, tmp_path: Path) -> None:
    """Fields in arrays, too, which Spark's union by name does not support."""
    path = tmp_path / "t"
    old = spark.sql("SELECT 1 AS id, array(named_struct('a', 1)) AS s")
    dr_spark.write(old, path, properties={"delta.enableChangeDataFeed": "true"})
    new = spark.sql("SELECT 1 AS id, array(named_struct('a', 2, 'b', 3)) AS s")
    dr_spark.write(new, path, mode="overwrite", replace_using=["id"], schema_mode="merge")
    changes = dr_spark.changes(spark, path, 1).select("_change_type", "s").collect()
    assert sorted(map(str, changes)) == [
        "Row(_change_type='delete', s=[Row(a=1, b=None)])",
        "Row(_change_type='insert', s=[Row(a=2, b=3)])",
    ]


def test_rules_of_the_table_hold(spark: Any, tmp_path: Path) -> None:
    """Generated and identity columns, defaults and constraints, as for every write."""
    ours = tmp_path / "ours"
    dr_spark.DeltaTable.create(spark).location(str(ours)).addColumn(
        "n", "BIGINT", generatedByDefaultAs=dr_spark.IdentityGenerator()
    ).addColumn("id", "INT").addColumn("twice", "INT", generatedAlwaysAs="id * 2").execute()
    dr.Table(ours).add_constraint("small", "id < 100")
    dr_spark.write(spark.sql("SELECT explode(sequence(1, 4)) AS id"), ours)
    before = {row.id: row.n for row in dr_spark.read(spark, ours).collect()}
    new = spark.sql("SELECT explode(array(2, 3, 8)) AS id")
    written = dr_spark.write(new, ours, mode="overwrite", replace_using=["id"])
    assert written.metrics["numDeletedRows"] == 2
    result = {row.id: (row.n, row.twice) for row in dr_spark.read(spark, ours).collect()}
    assert {id_: twice for id_, (_, twice) in result.items()} == {1: 2, 2: 4, 3: 6, 4: 8, 8: 16}
    assert {result[1][0], result[4][0]} == {before[1], before[4]}
    assert min(result[id_][0] for id_ in (2, 3, 8)) > max(before.values())
    for columns in ("100 AS id", "2 AS id, 5 AS twice"):
        bad = spark.sql(f"SELECT {columns}")
        with pytest.raises(dr.InvalidArgumentError) as caught:
            dr_spark.write(bad, ours, mode="overwrite", replace_using=["id"])
        assert caught.value.code == "write.constraint"
    assert dr.Table(ours).snapshot().version == written.version


def test_a_source_that_changes_is_read_once(spark: Any, tmp_path: Path) -> None:
    """The deleted keys are those of the new rows, even if they are random."""
    path = tmp_path / "t"
    dr_spark.write(spark.range(1000), path)
    new = spark.range(20).selectExpr("CAST(rand() * 1000 AS BIGINT) AS id").distinct()
    written = dr_spark.write(new, path, mode="overwrite", replace_using=["id"])
    assert 0 < written.metrics["numDeletedRows"] <= 20
    result = [row.id for row in dr_spark.read(spark, path).collect()]
    assert sorted(result) == list(range(1000))
    # the log, and one of each write, but none of the source
    assert len([item for item in path.iterdir() if item.is_dir()]) == 3


def test_the_source_may_be_the_table(spark: Any, tmp_path: Path, bases: dict[str, Path]) -> None:
    path = shutil.copytree(bases["plain"], tmp_path / "t")
    new = dr_spark.read(spark, path).selectExpr("id", "concat(v, v) AS v", "p")
    dr_spark.write(new, path, mode="overwrite", replace_using=["id", "p"])
    result = sorted((row.v for row in dr_spark.read(spark, path).collect()), key=str)
    assert result == ["BB", "aa", "bb", "c", "cc", "d", "dd"]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"replace_using": ["nope"]}, "write.columns"),
        ({"replace_using": ["q"], "schema_mode": "merge"}, "write.columns"),  # not in the table
        ({"replace_using": ["v"]}, "write.columns"),  # not in the rows
        ({"replace_using": []}, "argument.type"),
        ({"replace_on": 1}, "argument.type"),
        ({"replace_using": ["id"], "replace_on": "true"}, "write.mode"),
        ({"replace_using": ["id"], "where": "true"}, "write.mode"),
        ({"replace_using": ["id"], "partition_overwrite": "dynamic"}, "write.mode"),
        ({"replace_using": ["id"], "schema_mode": "overwrite"}, "write.mode"),
        ({"replace_using": ["id"], "mode": "append"}, "write.mode"),
        ({"replace_on": "id = id"}, "statement.expression"),  # ambiguous
        ({"replace_on": "nope = 1"}, "statement.expression"),
        ({"replace_on": "target.id ="}, "statement.expression"),
    ],
)
def test_bad_input_changes_nothing(
    spark: Any, tmp_path: Path, bases: dict[str, Path], options: dict[str, Any], code: str
) -> None:
    path = shutil.copytree(bases["plain"], tmp_path / "t")
    columns = "2 AS id, 'x' AS p" + (", 1 AS q" if options.get("replace_using") == ["q"] else "")
    with pytest.raises(dr.DeltaReplayError) as caught:
        dr_spark.write(spark.sql(f"SELECT {columns}"), path, **{"mode": "overwrite"} | options)
    assert caught.value.code == code
    assert dr.Table(path).snapshot().version == 1


def test_the_table_must_exist(spark: Any, tmp_path: Path) -> None:
    """As in delta-spark, whose error says that the path does not exist."""
    with pytest.raises(dr.TableNotFoundError) as caught:
        dr_spark.write(spark.range(1), tmp_path / "t", mode="overwrite", replace_using=["id"])
    assert caught.value.code == "table.not_found"


def test_rejects_an_append_only_table(spark: Any, tmp_path: Path) -> None:
    dr_spark.write(spark.range(1), tmp_path, properties={"delta.appendOnly": "true"})
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.write(spark.range(1), tmp_path, mode="overwrite", replace_using=["id"])
    assert caught.value.code == "transaction.append_only"


def test_a_transaction_is_written_once(spark: Any, tmp_path: Path, bases: dict[str, Path]) -> None:
    path = shutil.copytree(bases["plain"], tmp_path / "t")
    new = spark.sql("SELECT 2 AS id, 'new' AS v, 'x' AS p")
    for version in (2, None):
        done = dr_spark.write(
            new, path, mode="overwrite", replace_using=["id"], txn=("app", 1), user_metadata="why"
        )
        assert done.version == version
    assert last_commit(path)["userMetadata"] == "why"
    empty = new.limit(0)
    done = dr_spark.write(empty, path, mode="overwrite", replace_using=["id"], txn=("app", 2))
    assert (done.version, len(texts_by_delta_spark(spark, path))) == (3, 4)


#: The text after ``INSERT INTO``, and the same as options of ``df.write``.
STATEMENTS = {
    "{t} REPLACE USING (id) SELECT 2 AS id, 'new' AS v, 'x' AS p": {"replaceUsing": "id"},
    "TABLE {t} BY NAME REPLACE USING (id, p) SELECT 'x' AS p, 2 AS id, 'new' AS v": {
        "replaceUsing": "id, p"
    },
    "{t} REPLACE USING (id) VALUES (2, 'new', 'x')": {"replaceUsing": "id"},
    "{t} REPLACE USING (id) (VALUES (2, 'new', 'x'))": {"replaceUsing": "id"},
    "{t} AS t REPLACE ON t.id <=> s.id SELECT s.id, s.v, s.p FROM new_rows AS s": {
        "replaceOn": "t.id <=> s.id"
    },
    "{t} AS t REPLACE ON (t.id = s.id AND t.p <> 'q') (SELECT * FROM new_rows) AS s": {
        "replaceOn": "t.id = s.id AND t.p <> 'q'"
    },
    "{t} REPLACE ON target.id = new_rows.id TABLE new_rows": {"replaceOn": "t.id = s.id"},
    "{t} REPLACE ON {t}.id = s.id SELECT * FROM new_rows AS s": {"replaceOn": "t.id = s.id"},
    "{t} t BY NAME REPLACE ON t.id IS NOT DISTINCT FROM n.id (SELECT p, v, id FROM new_rows) n": {
        "replaceOn": "t.id <=> s.id"
    },
}


@pytest.mark.parametrize("text", STATEMENTS)
def test_statements_equal_the_options(
    spark: Any, tmp_path: Path, bases: dict[str, Path], text: str
) -> None:
    ours, theirs = (shutil.copytree(bases["plain"], tmp_path / name) for name in ("ours", "theirs"))
    new = spark.sql("SELECT 2 AS id, 'new' AS v, 'x' AS p")
    new.createOrReplaceTempView("new_rows")
    done = dr_spark.sql(spark, "INSERT INTO " + text.format(t=f"delta.`{ours}`"))
    assert (done.columns, done.collect()) == ([], [])
    writer = new.alias("s").write.format("delta").mode("overwrite").option("targetAlias", "t")
    writer.options(**STATEMENTS[text]).save(str(theirs))
    assert texts_by_delta_spark(spark, ours) == texts_by_delta_spark(spark, theirs)
    reported, expected = last_commit(ours), last_commit(theirs)
    assert set(reported["operationParameters"]) == set(expected["operationParameters"])
    for name in ("numDeletedRows", "numOutputRows", "numRemovedFiles"):
        assert reported["operationMetrics"][name] == expected["operationMetrics"][name]


def test_statements_cast_and_evolve(spark: Any, tmp_path: Path, bases: dict[str, Path]) -> None:
    """By the rules of ``INSERT``, also after a ``WITH`` clause."""
    path = shutil.copytree(bases["plain"], tmp_path / "t")
    name = f"delta.`{path}`"
    dr_spark.sql(
        spark,
        f"WITH n AS (SELECT 2L AS id, 5 AS v, 'x' AS p) INSERT INTO {name} "
        "REPLACE USING (id) SELECT * FROM n",
    )
    dr_spark.sql(
        spark,
        f"INSERT WITH SCHEMA EVOLUTION INTO {name} BY NAME REPLACE USING (id) "
        "SELECT 3 AS id, 'n' AS v, 'x' AS p, 1.5D AS more",
    )
    assert texts_by_delta_spark(spark, path) == sorted(
        [
            "Row(id=1, v='a', p='x', more=None)",
            "Row(id=2, v='5', p='x', more=None)",
            "Row(id=3, v='n', p='x', more=1.5)",
            "Row(id=None, v='d', p='x', more=None)",
        ]
    )


def test_auto_merge_evolves_statements(spark: Any, tmp_path: Path) -> None:
    """As ``WITH SCHEMA EVOLUTION`` does, and as in any other ``INSERT``."""
    path = tmp_path / "t"
    properties = {"delta.enableTypeWidening": "true"}
    dr_spark.write(spark.sql("SELECT 1 AS id, 5 AS n"), path, properties=properties)
    with conf(spark, spark__databricks__delta__schema__autoMerge__enabled="true"):
        dr_spark.sql(
            spark,
            f"INSERT INTO delta.`{path}` REPLACE USING (id) SELECT 1 AS id, 3000000000 AS n",
        )
    assert texts_by_delta_spark(spark, path) == ["Row(id=1, n=3000000000)"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("REPLACE USING (nope) SELECT 1 AS id, 'a' AS v, 'x' AS p", "write.columns"),
        ("REPLACE USING (nope) SELECT 1 AS id, 'a' AS v, 'x' AS nope", "write.columns"),
        ("REPLACE USING (id) SELECT 'a' AS v, 1 AS id, 'x' AS p", "write.columns"),  # misaligned
        ("REPLACE USING (id) SELECT 1 AS id, 'a' AS v", "write.columns"),
        ("BY NAME REPLACE USING (id) SELECT 'a' AS v, 'x' AS p", "write.columns"),
        ("REPLACE USING () SELECT 1", "sql.syntax"),
        ("REPLACE USING id SELECT 1", "sql.syntax"),
        ("REPLACE ON SELECT 1", "sql.syntax"),
        ("REPLACE SELECT 1", "sql.syntax"),
        ("(id) REPLACE USING (id) SELECT 1", "sql.syntax"),
        ("REPLACE ON target.nope = 1 SELECT 1, 'a', 'x'", "statement.expression"),
    ],
)
def test_bad_statements_change_nothing(
    spark: Any, tmp_path: Path, bases: dict[str, Path], text: str, code: str
) -> None:
    path = shutil.copytree(bases["plain"], tmp_path / "t")
    with pytest.raises(dr.DeltaReplayError) as caught:
        dr_spark.sql(spark, f"INSERT INTO delta.`{path}` {text}")
    assert caught.value.code == code
    assert dr.Table(path).snapshot().version == 1
