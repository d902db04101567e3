"""Constraints, generated columns and defaults in a log: malicious ones are refused."""

from __future__ import annotations

import base64
import json
import os
import pickle
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from spark.support.statements import run_statement

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark.writing import log_expressions

pytestmark = pytest.mark.spark

COLUMNS = """id BIGINT, s STRING, `a-b` STRING, ts TIMESTAMP, d DATE, x DOUBLE, n DECIMAL(10, 2),
    tags ARRAY<STRING>, m MAP<STRING, INT>, st STRUCT<a: INT, `b.c`: STRING>"""
#: Generated columns in many forms; delta-spark computes the same values.
GENERATED = {
    "g1 INT": "year(ts)",
    "g2 TIMESTAMP": "date_trunc('MONTH', ts)",
    "g3 DATE": "CAST(ts AS DATE)",
    "g4 STRING": "concat(s, '-', `a-b`)",
    "g5 STRING": 'coalesce(`a-b`, "none")',
    "g6 STRING": "CASE WHEN id > 1 THEN 'many' WHEN id = 1 THEN 'it''s\\\\' ELSE NULL END",
    "g7 BIGINT": "id * 2 + 1 - (3 - id) % 4",
    "g8 STRING": "substring(s, 1, 2)",
    "g9 STRING": "date_format(ts, 'yyyy-MM-dd')",
    "g10 INT": "st.a",
    "g11 STRING": "st.`b.c` || '!' || s",
    "g12 INT": "hour(ts)",
    "g13 BIGINT": "id DIV 2",
    "g14 DOUBLE": "-x / 2.0D",
    "g15 STRING": "lpad(CAST(month(d) AS STRING), 2, '0')",
    "g16 STRING": "md5(s)",
    "g17 BOOLEAN": "s LIKE 'a%' AND NOT id IN (7, 8)",
    "g18 STRING": "upper(trim(s))",
    "g19 DATE": "date_add(d, 1)",
    "g20 INT": "size(tags)",
}
CHECKS = [
    "id > 0 AND (s IS NOT NULL OR `a-b` = 'x')",
    "id BETWEEN 1 AND 1000",
    "s RLIKE '^[a-z]+$'",
    "ts > TIMESTAMP '2000-01-01 00:00:00' AND ts < current_timestamp()",
    "d <= current_date() + INTERVAL 1 DAY",
    "m['k'] = 1 AND tags[0] = 'a'",
    "n = cast(1.5 AS DECIMAL(10, 2)) OR CAST(n AS INT) = 2",
    "if(id = 1, true, id > 1)",
    "length(s) <=> 3 OR extract(YEAR FROM ts) = 2020",
    "NOT (id = 3 OR s IN ('x', 'y'))",
    "array_contains(tags, 'a') AND map_keys(m)[0] = 'k'",
    "s <> '${env:HOME}'",
]
ROWS = """SELECT 1L AS id, 'abc' AS s, 'q' AS `a-b`, TIMESTAMP '2020-02-03 04:05:06' AS ts,
    DATE '2020-02-03' AS d, 2.5D AS x, CAST(1.5 AS DECIMAL(10, 2)) AS n, array('a', 'bb') AS tags,
    map('k', 1) AS m, named_struct('a', 5, 'b.c', 'in') AS st"""


@pytest.mark.slow
def test_expressions_agree_with_delta_spark(spark: Any, tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    generated = ", ".join(f"{name} GENERATED ALWAYS AS ({sql})" for name, sql in GENERATED.items())
    spark.sql(f"CREATE TABLE delta.`{theirs}` ({COLUMNS}, {generated}) USING delta")
    for number, check in enumerate(CHECKS):
        spark.sql(f"ALTER TABLE delta.`{theirs}` ADD CONSTRAINT c{number} CHECK ({check})")
    shutil.copytree(theirs, ours)
    rows = spark.sql(ROWS)
    rows.write.format("delta").mode("append").save(str(theirs))
    dr_spark.write(rows, ours)
    [expected] = spark.read.format("delta").load(str(theirs)).collect()
    [result] = spark.read.format("delta").load(str(ours)).collect()
    assert result == expected
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.write(rows.withColumn("id", rows["id"] + 2), ours)
    assert caught.value.code == "write.constraint"


def test_lambda_functions(spark: Any, tmp_path: Path) -> None:
    """delta-spark itself stores them as ``t - > t``, which it cannot read back."""
    holds = "exists(array(s, 'x'), t -> t = 'a') AND aggregate(array(id), 0L, (a, b) -> a + b) < 5"
    path = table(tmp_path / "t", field(), delta__constraints__c=holds)
    dr_spark.write(spark.range(1).selectExpr("id", "'a' AS s"), path)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.write(spark.range(1).selectExpr("id", "'b' AS s"), path)
    assert caught.value.code == "write.constraint"


JAVA = "java_method('java.lang.System', 'setProperty', '{key}', 'ran')"
PLAIN = {"name": "id", "type": "long", "nullable": True, "metadata": {}}


def table(path: Path, *fields: dict[str, Any], **configuration: str) -> str:
    """Create a table with a handwritten log."""
    features = ["invariants", "checkConstraints", "generatedColumns", "allowColumnDefaults"]
    schema = {"type": "struct", "fields": [PLAIN, *fields]}
    actions = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}},
        {
            "metaData": {
                "id": "11111111-1111-1111-1111-111111111111",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps(schema),
                "partitionColumns": [],
                "configuration": {
                    key.replace("__", "."): text for key, text in configuration.items()
                },
                "createdTime": 1,
            }
        },
    ]
    (path / "_delta_log").mkdir(parents=True)
    log = "\n".join(map(json.dumps, actions)) + "\n"
    (path / "_delta_log" / f"{0:020d}.json").write_text(log)
    return str(path)


def field(**metadata: str) -> dict[str, Any]:
    named = {key.replace("__", "."): text for key, text in metadata.items()}
    return {"name": "s", "type": "string", "nullable": True, "metadata": named}


def invariant(text: str) -> str:
    return json.dumps({"expression": {"expression": text}})


def tables_with(root: Path, text: str) -> dict[str, str]:
    """Return tables with the expression in each position of a log, by the name in the error."""
    return {
        "delta.constraints.c": table(root / "check", delta__constraints__c=f"({text}) IS NOT NULL"),
        "delta.generationExpression": table(
            root / "generated", field(delta__generationExpression=text)
        ),
        "CURRENT_DEFAULT": table(root / "default", field(CURRENT_DEFAULT=text)),
        "delta.invariants": table(
            root / "invariant", field(delta__invariants=invariant(f"({text}) IS NOT NULL"))
        ),
    }


@pytest.mark.parametrize(
    "text",
    [
        JAVA,
        "reflect('java.lang.System', 'setProperty', '{key}', 'ran')",
        "try_reflect('java.lang.System', 'setProperty', '{key}', 'ran')",
        "coalesce(`java_method`('java.lang.System', 'setProperty', '{key}', 'ran'), 'a')",
        "array_join(transform(array(1), i -> " + JAVA + "), '')",
        "(SELECT max(value) FROM text.`{secret}`)",
        "current_user()",
        "uuid()",
        "of_the_session('a')",
    ],
)
def test_code_in_a_log_does_not_run(spark: Any, tmp_path: Path, text: str) -> None:
    key, secret = f"ran-{os.urandom(4).hex()}", tmp_path / "secret"
    secret.write_text("hunter2\n")
    spark.udf.register("of_the_session", lambda text: text)
    text = text.format(key=key, secret=secret)
    for name, path in tables_with(tmp_path, text).items():
        with pytest.raises(dr.UnsupportedFeatureError) as caught:
            dr_spark.write(spark.range(1), path)
        assert caught.value.code == "spark.expression"
        assert name in str(caught.value)
        assert dr_spark.read(spark, path).collect() == []
        assert dr.Table(path).snapshot().version == 0
    assert spark._jvm.java.lang.System.getProperty(key) is None


@pytest.mark.parametrize(
    "text",
    [
        "length('a', 'b')",
        "cast(1 AS DECIMAL(100, 2)) = 1",
        "INTERVAL 99999999999999 DAY",
        "'a' COLLATE nonexistent = 'b'",
        "named_struct('a')",
    ],
)
def test_an_expression_that_spark_refuses_is_named(spark: Any, tmp_path: Path, text: str) -> None:
    """Spark's parser and its analyzer raise different errors."""
    for name, path in tables_with(tmp_path, text).items():
        with pytest.raises(dr.UnsupportedFeatureError, match="by this Spark") as caught:
            dr_spark.write(spark.range(1), path)
        assert caught.value.code == "spark.expression"
        assert name in str(caught.value)
        assert dr.Table(path).snapshot().version == 0


def test_statements_do_not_run_code_in_defaults(spark: Any, tmp_path: Path) -> None:
    key = f"ran-{os.urandom(4).hex()}"
    path = table(tmp_path / "t", field(CURRENT_DEFAULT=JAVA.format(key=key)))
    for statement in (
        f"INSERT INTO delta.`{path}` VALUES (1, DEFAULT)",
        f"INSERT INTO delta.`{path}` (id) VALUES (1)",
        f"MERGE INTO delta.`{path}` t USING (SELECT 5L AS id) s ON t.id = s.id "
        "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
        f"UPDATE delta.`{path}` SET s = DEFAULT",
    ):
        with pytest.raises(dr.UnsupportedFeatureError) as caught:
            dr_spark.sql(spark, statement)
        assert caught.value.code == "spark.expression"
    dr_spark.sql(spark, f"INSERT INTO delta.`{path}` VALUES (1, 'given')")
    assert spark._jvm.java.lang.System.getProperty(key) is None


def test_a_default_cannot_extend_the_statement(spark: Any, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2\n")
    text = f"'x')) UNION ALL SELECT 77, max(value) FROM text.`{secret}` -- "
    path = table(tmp_path / "t", field(CURRENT_DEFAULT=text))
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr_spark.sql(spark, f"INSERT INTO delta.`{path}` VALUES (1, DEFAULT)")
    assert caught.value.code == "spark.expression"
    # Spark itself would substitute the environment variable
    path = table(tmp_path / "variable", field(CURRENT_DEFAULT="'${env:PATH} {x} it\\'s'"))
    dr_spark.write(spark.range(1), path)
    dr_spark.sql(spark, f"INSERT INTO delta.`{path}` VALUES (1, DEFAULT)")
    result = dr.Table(path).snapshot().to_arrow()["s"].to_pylist()
    assert result == ["${env:PATH} {x} it's"] * 2


def test_a_session_function_does_not_replace_sparks_own(spark: Any, tmp_path: Path) -> None:
    path = table(tmp_path / "t", delta__constraints__c="abs(id) >= 0")
    spark.udf.register("abs", lambda number: -1, "int")
    try:
        dr_spark.write(spark.range(1), path)
    finally:
        spark.sql("DROP TEMPORARY FUNCTION IF EXISTS abs")
    assert dr.Table(path).snapshot().num_rows == 1


def test_older_spark_refuses_functions_that_the_session_replaces(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before 4.2, a function of the session hides Spark's own of that name."""
    path = table(tmp_path / "t", field(), delta__constraints__c="length(upper(s)) < 9")
    rows = spark.range(1).selectExpr("id", "'a' AS s")
    monkeypatch.setattr(log_expressions.capabilities, "version", lambda _: (4, 1))
    dr_spark.write(rows, path)
    other = SimpleNamespace(className="some.Function")
    monkeypatch.setattr(type(spark.catalog), "getFunction", lambda self, name: other)
    with pytest.raises(dr.UnsupportedFeatureError, match="calls length, which this session"):
        dr_spark.write(rows, path)
    assert dr.Table(path).snapshot().version == 1


def test_variables_of_the_session_are_not_read(spark: Any, tmp_path: Path) -> None:
    """Spark takes a name that is not a column of the rows for a variable."""
    names = ["later", "LATER", "1e5L", "İ"]
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        for name in names:
            spark.sql(f"DECLARE VARIABLE `{name}` STRING DEFAULT 'hunter2'")
        first = field(delta__generationExpression="concat('read ', later)")
        later = field(delta__generationExpression="'x'") | {"name": "later"}
        path = table(tmp_path / "later", first, later)
        for write in (
            lambda: dr_spark.write(spark.range(1), path),
            lambda: run_statement(spark, f"INSERT INTO delta.`{path}` (id) VALUES (1)"),
            lambda: run_statement(
                spark,
                f"MERGE INTO delta.`{path}` t USING (SELECT 5L AS id) s ON t.id = s.id "
                "WHEN NOT MATCHED AND s.id < 0 THEN INSERT (id, s) VALUES (s.id, 'y') "
                "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)",
            ),
        ):
            with pytest.raises(dr.UnsupportedFeatureError, match='names "later"') as caught:
                write()
            assert caught.value.code == "spark.expression"
        path = table(tmp_path / "number", field(CURRENT_DEFAULT="1e5L"))
        with pytest.raises(dr.UnsupportedFeatureError, match='the number "1e5L"'):
            dr_spark.write(spark.range(1), path)
        for name, text in {
            "later": "concat('read ', LATER)",
            "i\u0307": "concat('read ', `İ`)",
            "e": "concat_ws('', transform(array('read ', e), Later -> LATER))",
        }.items():
            first = field(delta__generationExpression=text)
            path = table(tmp_path / f"read {name}", first, field() | {"name": name})
            dr_spark.write(spark.range(1).selectExpr("id", f"'own' AS `{name}`"), path)
            assert dr.Table(path).snapshot().to_arrow()["s"].to_pylist() == ["read own"]
    finally:
        for name in names:
            spark.sql(f"DROP TEMPORARY VARIABLE IF EXISTS `{name}`")
        spark.conf.unset("spark.sql.caseSensitive")


class CreatesDirectory:
    """Creates a directory when it is unpickled."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.directory),)


def test_classes_of_user_defined_types_are_not_loaded(spark: Any, tmp_path: Path) -> None:
    """PySpark's ``UserDefinedType.fromJson`` unpickles the content of the schema."""
    ran = tmp_path / "ran"
    pickled = base64.b64encode(pickle.dumps(CreatesDirectory(ran))).decode()
    udt = {"type": "udt", "class": "x.Y", "pyClass": "os.NoSuchClass", "sqlType": "string"}
    path = table(tmp_path / "t", field() | {"type": udt | {"serializedClass": pickled}})
    dr_spark.write(spark.range(1), path)
    dr_spark.write(spark.range(1).selectExpr("id + 1 AS id", "'a' AS s"), path)
    dr_spark.sql(spark, f"INSERT INTO delta.`{path}` VALUES (3, 'b')")
    dr_spark.sql(spark, f"UPDATE delta.`{path}` SET s = 'c' WHERE id = 3")
    run_statement(spark, f"DESCRIBE TABLE EXTENDED delta.`{path}`").collect()
    result = sorted(map(tuple, dr_spark.read(spark, path).collect()))
    assert result == [(0, None), (1, "a"), (3, "c")]
    assert not ran.exists()


def test_schemas_of_reads_have_no_defaults(spark: Any, tmp_path: Path) -> None:
    path = table(tmp_path / "t", field(CURRENT_DEFAULT="'a'", comment="kept"))
    frame = dr_spark.read(spark, path)
    assert frame.schema["s"].metadata == {"comment": "kept"}
