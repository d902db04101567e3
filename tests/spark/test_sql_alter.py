"""``ALTER TABLE`` by ``sql`` and by delta-spark, on two copies of one table, with equal results.

``tests/spark_units`` tests parsing. ``test_sql.py`` alters tables by name, and without
delta-spark's jar.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

COLUMNS = "id INT, name STRING, s STRUCT<a: INT, b: STRING>, list ARRAY<STRUCT<x: INT>>"
#: The tables to alter: the text after the columns when delta-spark creates them.
TABLES = {
    "plain": "TBLPROPERTIES ('mine' = 'x', 'delta.checkpointInterval' = '20')",
    "mapped": "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    "widening": "TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
    "constrained": "",
    "clustered": "CLUSTER BY (id)",
    "partitioned": "PARTITIONED BY (name) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    "defaults": "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
}
#: More tables, with columns of their own and without rows.
EMPTY = {
    "not_null": "id INT NOT NULL, v VARCHAR(5) NOT NULL, s STRUCT<a: INT NOT NULL> NOT NULL",
    "identity": "id BIGINT GENERATED ALWAYS AS IDENTITY, name STRING",
    "generated": "id INT, g INT GENERATED ALWAYS AS (id + 1), name STRING",
    "lengths": "c CHAR(4), v VARCHAR(4) NOT NULL, s STRUCT<c: CHAR(2), v: ARRAY<VARCHAR(3)>>",
}

#: The table, and the text after ``ALTER TABLE`` and its name.
FORMS = [
    ("plain", "SET TBLPROPERTIES ('a' = 'b', x.y = 5, 'z' TRUE, 'delta.appendOnly' = 'true')"),
    ("plain", "SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"),
    ("plain", "SET TBLPROPERTIES ('delta.feature.deletionVectors' = 'supported')"),
    ("plain", "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"),
    ("plain", "SET TBLPROPERTIES ('comment' = 'one row an event')"),
    ("plain", "SET TBLPROPERTIES ('comment' = 'x', 'a' = 'b', 'delta.appendOnly' = 'true')"),
    ("plain", "UNSET TBLPROPERTIES ('comment')"),
    ("plain", "UNSET TBLPROPERTIES ('comment', 'mine')"),
    ("plain", "UNSET TBLPROPERTIES ('mine', 'delta.checkpointInterval')"),
    ("plain", "UNSET TBLPROPERTIES ('not.there')"),
    ("plain", "UNSET TBLPROPERTIES IF EXISTS (mine, not.there)"),
    ("plain", "ADD COLUMN x DECIMAL(5, 2)"),
    ("plain", "ADD COLUMNS (x INT COMMENT 'why', y STRUCT<a: MAP<STRING, INT>>, z VARCHAR(5))"),
    ("plain", "ADD COLUMNS (s.c DOUBLE, s.d DATE)"),
    ("plain", "ADD COLUMN list.element.y TIMESTAMP"),
    ("plain", "ADD COLUMN x INT FIRST"),
    ("plain", "ADD COLUMN X DECIMAL(5, 2) COMMENT 'why' AFTER ID"),
    ("plain", "ADD COLUMNS (x INT FIRST, y INT AFTER x, z INT FIRST)"),
    ("plain", "ADD COLUMN list.element.y INT FIRST"),
    ("plain", "ADD COLUMNS (x INT FIRST COMMENT 'why', S.c INT AFTER A, list.element.y DATE)"),
    ("partitioned", "ADD COLUMNS (x INT AFTER name, y INT FIRST)"),
    ("mapped", "ADD COLUMNS (x INT, s.c INT FIRST, y INT FIRST)"),
    ("mapped", "ADD COLUMNS (`x y` INT, z STRUCT<a: INT>)"),
    ("mapped", "RENAME COLUMN id TO number"),
    ("mapped", "RENAME COLUMN list.element.x TO `x y`"),
    ("mapped", "DROP COLUMN id"),
    ("mapped", "DROP COLUMNS (s.a)"),
    ("mapped", "DROP COLUMNS IF EXISTS (not_there, s.not_there, name)"),
    ("mapped", "DROP COLUMN IF EXISTS not_there"),
    ("mapped", "DROP COLUMNS (ID, s.a, list)"),
    ("mapped", "DROP COLUMNS IF EXISTS (id, not_there, name)"),
    ("plain", "ALTER COLUMN id COMMENT 'why'"),
    ("plain", "CHANGE COLUMN s.a a INT COMMENT ''"),
    ("plain", "CHANGE id id INT"),
    ("lengths", "ALTER COLUMN v TYPE VARCHAR(8)"),
    ("lengths", "ALTER COLUMN v TYPE STRING"),
    ("lengths", "ALTER COLUMN v TYPE VARCHAR(4)"),
    ("lengths", "ALTER COLUMN c TYPE VARCHAR(4)"),
    ("lengths", "CHANGE COLUMN c c STRING COMMENT 'why'"),
    ("lengths", "CHANGE COLUMN c c CHAR(4) COMMENT 'why' AFTER v"),
    ("plain", "ALTER COLUMN s TYPE STRUCT<a: INT, b: STRING>"),
    ("widening", "ALTER COLUMN id TYPE BIGINT"),
    ("widening", "CHANGE COLUMN s.a a BIGINT"),
    ("widening", "ALTER COLUMN list.element.x TYPE LONG"),
    ("widening", "CHANGE COLUMN id id BIGINT COMMENT 'why'"),
    ("widening", "CHANGE COLUMN ID id BIGINT COMMENT 'why' AFTER S"),
    ("widening", "ALTER COLUMN id TYPE BIGINT, name COMMENT 'why', s FIRST"),
    ("widening", "ALTER COLUMN list.element.x TYPE LONG, s.a TYPE LONG"),
    ("plain", "ALTER COLUMN id COMMENT 'x', s.a COMMENT 'y', s.b COMMENT 'z'"),
    ("plain", "CHANGE COLUMN id COMMENT 'x', name AFTER list"),
    ("plain", "ALTER COLUMN name FIRST"),
    ("plain", "ALTER COLUMN ID AFTER S"),
    ("plain", "ALTER COLUMN id AFTER id"),
    ("plain", "ALTER COLUMN s.b FIRST"),
    ("plain", "ALTER COLUMN s.a AFTER b"),
    ("plain", "CHANGE COLUMN s.a a INT AFTER b"),
    ("plain", "CHANGE COLUMN list.element.x COMMENT 'why'"),
    ("mapped", "ALTER COLUMN list FIRST"),
    ("partitioned", "ALTER COLUMN name AFTER list"),
    ("constrained", "ALTER COLUMN id AFTER name"),
    ("clustered", "ALTER COLUMN id AFTER list"),
    ("generated", "ALTER COLUMN g FIRST, name COMMENT 'x'"),
    ("identity", "ALTER COLUMN id AFTER name"),
    ("identity", "ALTER COLUMN id COMMENT 'why'"),
    ("plain", "ALTER COLUMN id DROP NOT NULL"),
    ("not_null", "ALTER COLUMN id DROP NOT NULL"),
    ("not_null", "CHANGE COLUMN v DROP NOT NULL"),
    ("not_null", "ALTER COLUMN s.a DROP NOT NULL"),
    ("not_null", "ALTER COLUMN s DROP NOT NULL, id DROP NOT NULL, v COMMENT 'why'"),
    ("not_null", "ALTER COLUMN v FIRST"),
    ("plain", "ALTER COLUMN id DROP DEFAULT"),
    ("defaults", "ALTER COLUMN id SET DEFAULT 5"),
    ("defaults", "ALTER COLUMN id SET DEFAULT '5'"),
    ("defaults", "ALTER COLUMN id SET DEFAULT NULL"),
    ("defaults", "ALTER COLUMN name SET DEFAULT concat('a,',  'b') || 'c'"),
    ("defaults", "CHANGE COLUMN name SET DEFAULT cast(current_date() AS STRING)"),
    ("defaults", "ALTER COLUMN s.a SET DEFAULT 1"),
    ("defaults", "ALTER COLUMN id SET DEFAULT 1 + 2, name SET DEFAULT 'x', s COMMENT 'why'"),
    ("plain", "ADD CONSTRAINT positive CHECK (id > 0 AND name <> 'y')"),
    ("plain", "ADD CONSTRAINT `a b` CHECK (s.a IN (1, 2) OR s.a IS NULL)"),
    ("constrained", "DROP CONSTRAINT positive"),
    ("constrained", "DROP CONSTRAINT IF EXISTS not_there"),
    ("plain", "CLUSTER BY (id, s.a)"),
    ("clustered", "CLUSTER BY (name)"),
    ("clustered", "CLUSTER BY NONE"),
    (
        "plain",
        "REPLACE COLUMNS (list ARRAY<STRUCT<y: DATE, x: INT>>, z INT COMMENT 'why', "
        "S STRUCT<c: INT, b: STRING COMMENT 'x', a: INT> COMMENT 'y', NAME STRING, id INT)",
    ),
    ("mapped", "REPLACE COLUMNS (name STRING, id INT)"),
    ("mapped", f"REPLACE COLUMNS (x VARCHAR(3), {COLUMNS.replace('a: INT, ', '')})"),
    ("partitioned", f"REPLACE COLUMNS ({COLUMNS.replace('id INT', 'z INT, ID INT')})"),
    ("partitioned", "REPLACE COLUMNS (list ARRAY<STRUCT<x: INT>>, name STRING)"),
    ("widening", f"REPLACE COLUMNS ({COLUMNS.replace('INT', 'BIGINT')})"),
    ("not_null", "REPLACE COLUMNS (v STRING, s STRUCT<a: INT>, id INT)"),
    ("generated", "REPLACE COLUMNS (name STRING, g INT, id INT COMMENT 'x')"),
    ("clustered", f"REPLACE COLUMNS (x INT, {COLUMNS})"),
    ("constrained", f"REPLACE COLUMNS (x TIMESTAMP, {COLUMNS})"),
]

#: Statements that delta-spark refuses, too: the error and its code here.
REFUSED = [
    ("plain", "ADD COLUMN x INT NOT NULL", dr.InvalidArgumentError, "alter.column"),
    ("plain", "ADD COLUMN x STRUCT<a: INT NOT NULL>", dr.InvalidArgumentError, "alter.column"),
    ("plain", "ADD COLUMNS (x INT, ID INT)", dr.InvalidArgumentError, "alter.column"),
    ("plain", "ADD COLUMN not_there.x INT", dr.InvalidArgumentError, "alter.column"),
    ("plain", "ADD COLUMN x INT DEFAULT 5", dr.UnsupportedFeatureError, "sql.alter"),
    ("plain", "RENAME COLUMN id TO number", dr.InvalidArgumentError, "alter.column_mapping"),
    ("plain", "DROP COLUMN id", dr.InvalidArgumentError, "alter.column_mapping"),
    (
        "plain",
        f"REPLACE COLUMNS (x TIMESTAMP_NTZ, {COLUMNS})",
        dr.InvalidArgumentError,
        "protocol.manual_enablement",
    ),
    ("plain", "REPLACE COLUMNS (id INT)", dr.InvalidArgumentError, "alter.column_mapping"),
    (
        "plain",
        f"REPLACE COLUMNS ({COLUMNS.replace('id INT', 'id BIGINT')})",
        dr.InvalidArgumentError,
        "alter.type_widening",
    ),
    (
        "mapped",
        f"REPLACE COLUMNS ({COLUMNS.replace('id', 'number')})",
        dr.InvalidArgumentError,
        "alter.column",
    ),
    (
        "mapped",
        f"REPLACE COLUMNS ({COLUMNS}, ID INT)",
        dr.InvalidArgumentError,
        "schema.duplicate_column",
    ),
    (
        "mapped",
        f"REPLACE COLUMNS ({COLUMNS}, x INT NOT NULL)",
        dr.InvalidArgumentError,
        "sql.syntax",
    ),
    (
        "partitioned",
        "REPLACE COLUMNS (id INT)",
        dr.InvalidArgumentError,
        "alter.column",
    ),
    (
        "lengths",
        "REPLACE COLUMNS (c CHAR(4), v VARCHAR(8), s STRUCT<c: CHAR(2), v: ARRAY<VARCHAR(3)>>)",
        dr.InvalidArgumentError,
        "alter.column",
    ),
    (
        "identity",
        "REPLACE COLUMNS (name STRING, id BIGINT)",
        dr.InvalidArgumentError,
        "alter.column",
    ),
    ("mapped", "RENAME COLUMN `s.a` TO b", dr.InvalidArgumentError, "alter.column"),
    ("mapped", "RENAME COLUMN not_there TO b", dr.InvalidArgumentError, "alter.column"),
    ("mapped", "DROP COLUMN not_there", dr.InvalidArgumentError, "alter.column"),
    ("mapped", "ALTER COLUMN `s.a` COMMENT 'x'", dr.InvalidArgumentError, "alter.column"),
    ("plain", "ALTER COLUMN id TYPE BIGINT", dr.InvalidArgumentError, "alter.type_widening"),
    ("widening", "ALTER COLUMN id TYPE STRING", dr.InvalidArgumentError, "alter.type_widening"),
    ("plain", "ALTER COLUMN id SET NOT NULL", dr.UnsupportedFeatureError, "sql.alter"),
    ("plain", "ALTER COLUMN id SET DEFAULT 5", dr.InvalidArgumentError, "alter.column_default"),
    (
        "defaults",
        "ALTER COLUMN id SET DEFAULT 'x'",
        dr.InvalidArgumentError,
        "alter.column_default",
    ),
    (
        "defaults",
        "ALTER COLUMN id SET DEFAULT name",
        dr.InvalidArgumentError,
        "alter.column_default",
    ),
    (
        "defaults",
        "ALTER COLUMN id SET DEFAULT 5000000000",
        dr.InvalidArgumentError,
        "alter.column_default",
    ),
    (
        "defaults",
        "ALTER COLUMN id SET DEFAULT current_date()",
        dr.InvalidArgumentError,
        "alter.column_default",
    ),
    (
        "defaults",
        "ALTER COLUMN id SET DEFAULT cast(rand() AS INT)",
        dr.InvalidArgumentError,
        "alter.column_default",
    ),
    (
        "defaults",
        "ALTER COLUMN id SET DEFAULT (SELECT 1)",
        dr.InvalidArgumentError,
        "alter.column_default",
    ),
    ("defaults", "ALTER COLUMN not_there SET DEFAULT 5", dr.InvalidArgumentError, "alter.column"),
    ("identity", "ALTER COLUMN id SET DEFAULT 5", dr.InvalidArgumentError, "alter.column_default"),
    ("identity", "ALTER COLUMN id DROP NOT NULL", dr.InvalidArgumentError, "alter.column"),
    ("plain", "ALTER COLUMN not_there DROP NOT NULL", dr.InvalidArgumentError, "alter.column"),
    ("plain", "ALTER COLUMN id AFTER not_there", dr.InvalidArgumentError, "alter.column"),
    ("plain", "ALTER COLUMN s.a AFTER id", dr.InvalidArgumentError, "alter.column"),
    ("plain", "ALTER COLUMN s.a AFTER s.b", dr.InvalidArgumentError, "sql.syntax"),
    ("plain", "ADD COLUMN x INT AFTER not_there", dr.InvalidArgumentError, "alter.column"),
    ("plain", "ADD COLUMNS (n STRUCT<a: INT>, n.b INT)", dr.InvalidArgumentError, "alter.column"),
    ("plain", "ALTER COLUMN id COMMENT 'x', id FIRST", dr.InvalidArgumentError, "alter.column"),
    (
        "plain",
        "ALTER COLUMN s COMMENT 'x', s.a COMMENT 'y'",
        dr.InvalidArgumentError,
        "alter.column",
    ),
    ("plain", "CHANGE id id INT FIRST, name name STRING", dr.InvalidArgumentError, "sql.syntax"),
    ("mapped", "DROP COLUMNS (id, ID)", dr.InvalidArgumentError, "alter.column"),
    ("mapped", "DROP COLUMNS (s, s.a)", dr.InvalidArgumentError, "alter.column"),
    ("mapped", "DROP COLUMNS (s.a, s.b)", dr.InvalidArgumentError, "alter.column"),
    ("mapped", "DROP COLUMNS (id, not_there)", dr.InvalidArgumentError, "alter.column"),
    ("mapped", "DROP COLUMNS (id, name, s, list)", dr.InvalidArgumentError, "alter.column"),
    ("partitioned", "DROP COLUMNS (id, name)", dr.InvalidArgumentError, "alter.column"),
    ("generated", "DROP COLUMNS (g, id)", dr.InvalidArgumentError, "alter.column"),
    (
        "plain",
        "ADD CONSTRAINT c CHECK (id > 1)",
        dr.InvalidArgumentError,
        "alter.constraint_broken",
    ),
    (
        "constrained",
        "ADD CONSTRAINT POSITIVE CHECK (id > 0)",
        dr.InvalidArgumentError,
        "alter.constraint",
    ),
    ("plain", "ADD CONSTRAINT c PRIMARY KEY (id)", dr.UnsupportedFeatureError, "sql.alter"),
    ("plain", "DROP CONSTRAINT not_there", dr.InvalidArgumentError, "alter.constraint"),
    ("plain", "CLUSTER BY (not_there)", dr.InvalidArgumentError, "alter.column"),
    ("plain", "DROP FEATURE not_there", dr.InvalidArgumentError, "protocol.unknown_feature"),
    ("plain", "ADD PARTITION (id = 1)", dr.UnsupportedFeatureError, "sql.alter"),
    ("plain", "SET SERDEPROPERTIES ('a' = 'b')", dr.UnsupportedFeatureError, "sql.alter"),
    ("plain", "SET LOCATION '/tmp/elsewhere'", dr.UnsupportedFeatureError, "sql.alter"),
    ("plain", "ALTER COLUMN name TYPE VARCHAR(5)", dr.UnsupportedFeatureError, "sql.alter"),
    ("lengths", "ALTER COLUMN v TYPE VARCHAR(3)", dr.UnsupportedFeatureError, "sql.alter"),
    ("lengths", "ALTER COLUMN v TYPE CHAR(4)", dr.UnsupportedFeatureError, "sql.alter"),
    ("lengths", "ALTER COLUMN c TYPE CHAR(5)", dr.UnsupportedFeatureError, "sql.alter"),
    ("lengths", "ALTER COLUMN v TYPE INT", dr.UnsupportedFeatureError, "sql.alter"),
    (
        "plain",
        "ALTER COLUMN s TYPE STRUCT<a: INT NOT NULL, b: STRING>",
        dr.UnsupportedFeatureError,
        "sql.alter",
    ),
    ("plain", "SET TBLPROPERTIES ('a')", dr.InvalidArgumentError, "sql.syntax"),
]


#: Statements that delta-spark accepts, and that are refused here before a commit.
ONLY_DELTA_SPARK = [
    ("defaults", "ALTER COLUMN s SET DEFAULT named_struct('a', 1, 'b', 'x')"),
    ("defaults", "ALTER COLUMN name SET DEFAULT current_user()"),
]


@pytest.fixture(scope="module")
def written(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of each kind, with one row."""
    root = tmp_path_factory.mktemp("written")
    for kind, clauses in TABLES.items():
        table = f"delta.`{root / kind}`"
        spark.sql(f"CREATE TABLE {table} ({COLUMNS}) USING delta {clauses}")
        spark.sql(f"INSERT INTO {table} (id, name) VALUES (1, 'x')")
    for kind, columns in EMPTY.items():
        clauses = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')" * (kind == "generated")
        spark.sql(f"CREATE TABLE delta.`{root / kind}` ({columns}) USING delta {clauses}")
    spark.sql(f"ALTER TABLE delta.`{root}/constrained` ADD CONSTRAINT positive CHECK (id > 0)")
    return root


def state(path: Path) -> tuple[Any, ...]:
    """Return the definition of a table, without random parts of names and spaces in constraints."""
    snapshot = dr.Table(path).snapshot()
    properties = {
        key: value.replace(" ", "") if key.startswith("delta.constraints.") else value
        for key, value in snapshot.properties.items()
    }
    schema = re.sub(r"col-[0-9a-f-]{36}", "col-?", snapshot.schema_json)
    protocol = snapshot.protocol
    domains = {
        name: json.loads(text)["clusteringColumns"]
        for name, text in snapshot.domain_metadata.items()
        if name == "delta.clustering"
    }
    return (
        json.loads(schema),
        properties,
        snapshot.metadata.description,
        protocol.min_reader_version,
        protocol.min_writer_version,
        sorted(protocol.reader_features or ()),
        sorted(protocol.writer_features or ()),
        domains,
    )


def _sorted_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def operation(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the operation and the parameters of the newest version, with lists sorted."""
    [newest] = dr.Table(path).history(limit=1).to_pylist()
    parameters = {}
    for key, value in dict(newest["operationParameters"]).items():
        parsed = json.loads(value) if value.startswith(("{", "[")) else value
        is_list = isinstance(parsed, list)
        parameters[key] = sorted(parsed, key=_sorted_json) if is_list else parsed
    return newest["operation"], parameters


def version_of(path: Path) -> int:
    return dr.Table(path).snapshot().version


@pytest.mark.parametrize(("kind", "form"), FORMS, ids=lambda value: value)
def test_has_the_effect_of_delta_spark(
    spark: Any, written: Path, tmp_path: Path, kind: str, form: str
) -> None:
    for name in ("theirs", "ours"):
        shutil.copytree(written / kind, tmp_path / name)
    spark.sql(f"ALTER TABLE delta.`{tmp_path}/theirs` {form}")
    reported = dr_spark.sql(spark, f"ALTER TABLE delta.`{tmp_path}/ours` {form}")
    assert (reported.columns, reported.collect()) == ([], [])
    assert state(tmp_path / "ours") == state(tmp_path / "theirs")
    read = spark.read.format("delta").load(str(tmp_path / "ours"))
    assert read.columns == dr.Table(tmp_path / "theirs").snapshot().schema.names
    commits = version_of(tmp_path / "ours") - version_of(written / kind)
    assert commits in (0, 1)
    if commits and "COLUMN" in form:
        assert operation(tmp_path / "ours") == operation(tmp_path / "theirs")


@pytest.mark.parametrize(("kind", "form", "error", "code"), REFUSED, ids=str)
def test_has_the_errors_of_delta_spark(
    spark: Any,
    written: Path,
    kind: str,
    form: str,
    error: type[dr.DeltaReplayError],
    code: str,
) -> None:
    before = version_of(written / kind)
    with pytest.raises(error) as caught:
        dr_spark.sql(spark, f"ALTER TABLE delta.`{written / kind}` {form}")
    assert caught.value.code == code
    with pytest.raises(Exception, match=r"\S"):
        spark.sql(f"ALTER TABLE delta.`{written / kind}` {form}")
    assert version_of(written / kind) == before


@pytest.mark.parametrize(("kind", "form"), ONLY_DELTA_SPARK, ids=lambda value: value)
def test_refuses_statements_of_delta_spark_alone(
    spark: Any, written: Path, kind: str, form: str
) -> None:
    before = version_of(written / kind)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr_spark.sql(spark, f"ALTER TABLE delta.`{written / kind}` {form}")
    assert caught.value.code == "alter.column_default"
    assert version_of(written / kind) == before


def test_drops_a_feature(spark: Any, tmp_path: Path) -> None:
    for name in ("ours", "theirs"):
        spark.sql(
            f"CREATE TABLE delta.`{tmp_path / name}` (id INT) USING delta "
            "TBLPROPERTIES ('delta.feature.domainMetadata' = 'supported')"
        )
    spark.sql(f"ALTER TABLE delta.`{tmp_path}/theirs` DROP FEATURE domainMetadata")
    dr_spark.sql(spark, f"ALTER TABLE delta.`{tmp_path}/ours` DROP FEATURE 'domainMetadata'")
    assert state(tmp_path / "ours") == state(tmp_path / "theirs")


@pytest.mark.parametrize("comment", ["'one row an event'", "NULL"])
def test_comments_on_the_table(spark: Any, written: Path, tmp_path: Path, comment: str) -> None:
    for name in ("theirs", "ours"):
        shutil.copytree(written / "plain", tmp_path / name)
    spark.sql(f"COMMENT ON TABLE delta.`{tmp_path}/theirs` IS {comment}")
    dr_spark.sql(spark, f"COMMENT ON TABLE delta.`{tmp_path}/ours` IS {comment}")
    assert state(tmp_path / "ours") == state(tmp_path / "theirs")
    assert operation(tmp_path / "ours") == operation(tmp_path / "theirs")
