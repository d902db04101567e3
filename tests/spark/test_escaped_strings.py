r"""A session whose strings have no escapes: ``spark.sql.parser.escapedStringLiterals``.

``'C:\x'`` is the path there, and no literal has both a quote and a backslash at its end. Expected
values are those that were written; delta-spark also runs the statements that are only SQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from spark.support.comparison import compare_statements
from spark.support.settings import conf
from spark.support.tiers import pairs

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

SETTING = "spark.sql.parser.escapedStringLiterals"

#: Strings that a parser could misinterpret.
TEXTS = [r"CORP\alice", r"C:\new", "it's", "\\", r"a\'b", "${x}", "plain", 'a"b', "é\\", r"\\n"]


RAW = ["true", "false"]


@pytest.fixture(params=RAW)
def raw(spark: Any, request: pytest.FixtureRequest) -> Iterator[bool]:
    with conf(spark, **{SETTING: request.param}):
        yield request.param == "true"


@pytest.fixture
def path(spark: Any, tmp_path: Path) -> Path:
    """A table with the strings as partition values and as data."""
    rows = spark.createDataFrame(
        [(number, text, text) for number, text in enumerate(TEXTS)], "n INT, p STRING, v STRING"
    )
    dr_spark.write(rows, tmp_path / "t", partition_columns=["p"])
    return tmp_path / "t"


def rows_in(spark: Any, path: Path) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, dr_spark.read(spark, path).collect()), key=repr)


@pytest.mark.parametrize(("text", "raw"), pairs(TEXTS, RAW), indirect=["raw"])
def test_values_of_parameters(spark: Any, raw: bool, path: Path, text: str) -> None:
    number = TEXTS.index(text)
    table = f"delta.`{path}`"
    for args, parameter in (({"x": text}, ":x"), ([text], "?")):
        [row] = dr_spark.sql(
            spark, f"SELECT n, v FROM {table} WHERE v = {parameter}", args
        ).collect()
        assert tuple(row) == (number, text)
    dr_spark.sql(spark, f"UPDATE {table} SET v = concat(:x, '!') WHERE p = :x", {"x": text})
    assert rows_in(spark, path)[number] == (number, text, text + "!")
    dr_spark.sql(spark, f"INSERT INTO {table} PARTITION (p = :x) VALUES (99, :x)", {"x": text})
    assert rows_in(spark, path)[-1] == (99, text, text)
    dr_spark.sql(spark, f"DELETE FROM {table} WHERE p = :x AND n = 99", {"x": text})
    dr_spark.sql(
        spark, f"INSERT OVERWRITE {table} PARTITION (p = :x) VALUES (:n, 'w')", {"x": text, "n": 7}
    )
    assert [row for row in rows_in(spark, path) if row[1] == text] == [(7, text, "w")]
    assert len(rows_in(spark, path)) == len(TEXTS)


#: Statements with strings as written in such a session; ``{t}`` is the table.
STATEMENTS = [
    r"UPDATE {t} SET v = 'x\y' WHERE p = 'CORP\alice'",
    r"MERGE INTO {t} AS t USING (SELECT 'CORP\alice' AS p, 'm\n' AS v) AS s ON t.p = s.p "
    r"WHEN MATCHED THEN UPDATE SET v = 'C:\temp' WHEN NOT MATCHED THEN INSERT (p, v) VALUES (p, v)",
    r"MERGE INTO {t} AS t USING (SELECT 'D:\new' AS p) AS s ON t.p = s.p AND t.p LIKE 'D%' "
    r"WHEN NOT MATCHED THEN INSERT (n, p, v) VALUES (50, s.p, 'a\tb')",
    r"INSERT INTO {t} VALUES (60, 'E:\t', 'a\nb')",
    r"INSERT INTO {t} (n, v, p) SELECT 61, 'x\\', 'F:\b'",
    r"DELETE FROM {t} WHERE v = 'C:\new' OR p = '\\n'",
    r"DELETE FROM {t} WHERE v LIKE '%\\%' AND n < 3",
]

#: Statements that delta-spark 4.4 fails to run in such a session: it prints their conditions and
#: parses them again; with the row that replaces another.
REPLACING = {
    r"INSERT INTO {t} REPLACE WHERE p = 'CORP\alice' VALUES (0, 'CORP\alice', 'r\w')": (
        (0, r"CORP\alice", r"r\w")
    ),
    r"INSERT INTO {t} REPLACE WHERE v = 'C:\new' VALUES (1, 'C:\new', 'C:\new')": (
        (1, r"C:\new", r"C:\new")
    ),
    r"INSERT OVERWRITE {t} PARTITION (p = 'C:\new') SELECT 1, 'o\n'": (1, r"C:\new", r"o\n"),
    r"INSERT INTO {t} REPLACE USING (p) SELECT 1 AS n, 'C:\new' AS p, 'u\n' AS v": (
        (1, r"C:\new", r"u\n")
    ),
    r"INSERT INTO {t} AS t REPLACE ON t.p = s.p AND s.v = 'u\n' "
    r"SELECT * FROM VALUES (1, 'C:\new', 'u\n') AS s(n, p, v)": (1, r"C:\new", r"u\n"),
}


@pytest.mark.parametrize("text", REPLACING)
def test_rows_are_replaced(spark: Any, path: Path, text: str) -> None:
    before = rows_in(spark, path)
    with conf(spark, **{SETTING: "true"}):
        dr_spark.sql(spark, text.format(t=f"delta.`{path}`"))
    new = REPLACING[text]
    assert rows_in(spark, path) == [new if row[0] == new[0] else row for row in before]


def test_statements_agree_with_delta_spark(
    spark: Any, tmp_path: Path, raw: bool, path: Path
) -> None:
    compare_statements(spark, tmp_path / "copies", path, STATEMENTS, changes=True if raw else None)


@pytest.mark.parametrize(("text", "raw"), pairs(TEXTS, RAW), indirect=["raw"])
def test_values_of_columns(spark: Any, raw: bool, path: Path, text: str) -> None:
    """Literals that PySpark has as values, tuples of filters, and partitions to replace."""
    from pyspark.sql import functions as sf

    number = TEXTS.index(text)
    read = dr_spark.read(spark, path, filter=[("p", "=", text), ("v", "=", text)])
    assert [row.n for row in read.collect()] == [number]
    dr_spark.update(spark, path, sf.col("p") == text, {"v": sf.lit(text + text)})
    assert rows_in(spark, path)[number] == (number, text, text + text)
    source = spark.createDataFrame([(text, "merged")], "p STRING, w STRING").alias("s")
    merge = dr_spark.merge(
        spark,
        path,
        source,
        (sf.col("t.p") == sf.col("s.p")) & (sf.col("t.p") == text),
        target_alias="t",
    )
    # a condition with the current time is printed, and parsed again
    clocked = (sf.col("t.p") == text) & (sf.current_date() > sf.lit("2020-01-01").cast("date"))
    merge.when_matched_update({"v": "s.w"}, clocked).execute()
    assert rows_in(spark, path)[number] == (number, text, "merged")
    new = spark.createDataFrame([(number, text, "new")], "n INT, p STRING, v STRING")
    dr_spark.write(new, path, mode="overwrite", partition_overwrite="dynamic")
    assert rows_in(spark, path)[number] == (number, text, "new")
    dr_spark.write(new, path, mode="overwrite", replace_using=["p"])
    assert len(rows_in(spark, path)) == len(TEXTS)
    dr_spark.delete(spark, path, sf.col("p") == text)
    assert [row for row in rows_in(spark, path) if row[1] == text] == []


def test_expressions_of_the_log_keep_their_meaning(spark: Any, raw: bool, tmp_path: Path) -> None:
    """A log has SQL in the default syntax, and a table means the same in all sessions."""
    path = tmp_path / "t"
    created = dr_spark.DeltaTable.create(spark).location(str(path)).addColumn("v", "STRING")
    created.property("delta.feature.allowColumnDefaults", "supported").execute()
    table = dr.Table(path)
    table.add_constraint("user", r"v RLIKE '^CORP\\\\\\w+$' OR v LIKE 'it\'s%' OR v = 'D:\\x'")
    for good in (r"CORP\bob", "it's me", "D:\\x"):
        dr_spark.write(spark.createDataFrame([(good,)], "v STRING"), path)
    for bad in ("CORP/bob", r"CORP\\bob", "its me"):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            dr_spark.write(spark.createDataFrame([(bad,)], "v STRING"), path)
        assert caught.value.code == "write.constraint"
    before = table.snapshot().version
    text = r"'a\tb'" if raw else r"'a\\tb'"
    dr_spark.sql(spark, f"ALTER TABLE delta.`{path}` ADD CONSTRAINT other CHECK (v <> {text})")
    assert table.snapshot().properties["delta.constraints.other"] == r"v <> 'a\\tb'"
    name = f"delta.`{path}`"
    dr_spark.sql(spark, rf"COMMENT ON TABLE {name} IS 'C:\new'")
    assert table.snapshot().metadata.description == (r"C:\new" if raw else "C:\new")
    value = r"'D:\x'" if raw else r"'D:\\x'"
    dr_spark.sql(spark, f"ALTER TABLE {name} ALTER COLUMN v SET DEFAULT {value}")
    dr_spark.sql(spark, f"INSERT INTO {name} VALUES (DEFAULT)")
    assert sorted(row.v for row in dr_spark.read(spark, path).collect()).count("D:\\x") == 2
    assert table.snapshot().version == before + 4


def test_values_without_a_literal_are_refused(spark: Any, tmp_path: Path) -> None:
    """A path with a quote, where the statement only accepts a string."""
    folder = tmp_path / "it's"
    dr_spark.write(spark.range(1), folder)
    text = f'CREATE TABLE quoted_place SHALLOW CLONE delta.`{folder}` LOCATION "{folder}_2"'
    with (
        conf(spark, **{SETTING: "true"}),
        pytest.raises(dr.UnsupportedFeatureError) as caught,
    ):
        dr_spark.sql(spark, text)
    assert caught.value.code == "sql.string"
