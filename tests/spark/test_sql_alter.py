"""``ALTER TABLE`` by ``sql`` and by delta-spark, on two copies of one table: both become the same.

``tests/api/test_alter_forms.py`` has how texts are split. ``test_sql.py`` alters tables by name,
and without delta-spark's jar.
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
#: The tables that are altered: what follows the columns when delta-spark creates them.
TABLES = {
    "plain": "TBLPROPERTIES ('mine' = 'x', 'delta.checkpointInterval' = '20')",
    "mapped": "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    "widening": "TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
    "constrained": "",
    "clustered": "CLUSTER BY (id)",
}

#: The table, and what follows ``ALTER TABLE`` and its name.
FORMS = [
    ("plain", "SET TBLPROPERTIES ('a' = 'b', x.y = 5, 'z' TRUE, 'delta.appendOnly' = 'true')"),
    ("plain", "SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"),
    ("plain", "SET TBLPROPERTIES ('delta.feature.deletionVectors' = 'supported')"),
    ("plain", "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"),
    ("plain", "SET TBLPROPERTIES ('comment' = 'one row an event')"),
    ("plain", "UNSET TBLPROPERTIES ('comment')"),
    ("plain", "UNSET TBLPROPERTIES ('mine', 'delta.checkpointInterval')"),
    ("plain", "UNSET TBLPROPERTIES ('not.there')"),
    ("plain", "UNSET TBLPROPERTIES IF EXISTS (mine, not.there)"),
    ("plain", "ADD COLUMN x DECIMAL(5, 2)"),
    ("plain", "ADD COLUMNS (x INT COMMENT 'why', y STRUCT<a: MAP<STRING, INT>>, z VARCHAR(5))"),
    ("plain", "ADD COLUMNS (s.c DOUBLE, s.d DATE)"),
    ("plain", "ADD COLUMN list.element.y TIMESTAMP"),
    ("mapped", "ADD COLUMNS (`x y` INT, z STRUCT<a: INT>)"),
    ("mapped", "RENAME COLUMN id TO number"),
    ("mapped", "RENAME COLUMN list.element.x TO `x y`"),
    ("mapped", "DROP COLUMN id"),
    ("mapped", "DROP COLUMNS (s.a)"),
    ("mapped", "DROP COLUMNS IF EXISTS (not_there, s.not_there, name)"),
    ("mapped", "DROP COLUMN IF EXISTS not_there"),
    ("plain", "ALTER COLUMN id COMMENT 'why'"),
    ("plain", "CHANGE COLUMN s.a a INT COMMENT ''"),
    ("plain", "CHANGE id id INT"),
    ("plain", "ALTER COLUMN s TYPE STRUCT<a: INT, b: STRING>"),
    ("widening", "ALTER COLUMN id TYPE BIGINT"),
    ("widening", "CHANGE COLUMN s.a a BIGINT"),
    ("widening", "ALTER COLUMN list.element.x TYPE LONG"),
    ("plain", "ADD CONSTRAINT positive CHECK (id > 0 AND name <> 'y')"),
    ("plain", "ADD CONSTRAINT `a b` CHECK (s.a IN (1, 2) OR s.a IS NULL)"),
    ("constrained", "DROP CONSTRAINT positive"),
    ("constrained", "DROP CONSTRAINT IF EXISTS not_there"),
    ("plain", "CLUSTER BY (id, s.a)"),
    ("clustered", "CLUSTER BY (name)"),
    ("clustered", "CLUSTER BY NONE"),
]

#: What delta-spark refuses, too: the error and its code here.
REFUSED = [
    ("plain", "ADD COLUMN x INT NOT NULL", dr.InvalidArgumentError, "alter.column"),
    ("plain", "ADD COLUMN x STRUCT<a: INT NOT NULL>", dr.InvalidArgumentError, "alter.column"),
    ("plain", "ADD COLUMNS (x INT, ID INT)", dr.InvalidArgumentError, "alter.column"),
    ("plain", "ADD COLUMN not_there.x INT", dr.InvalidArgumentError, "alter.column"),
    ("plain", "ADD COLUMN x INT DEFAULT 5", dr.UnsupportedFeatureError, "sql.alter"),
    ("plain", "RENAME COLUMN id TO number", dr.InvalidArgumentError, "alter.column_mapping"),
    ("plain", "DROP COLUMN id", dr.InvalidArgumentError, "alter.column_mapping"),
    ("mapped", "RENAME COLUMN `s.a` TO b", dr.InvalidArgumentError, "alter.column"),
    ("mapped", "RENAME COLUMN not_there TO b", dr.InvalidArgumentError, "alter.column"),
    ("mapped", "DROP COLUMN not_there", dr.InvalidArgumentError, "alter.column"),
    ("mapped", "ALTER COLUMN `s.a` COMMENT 'x'", dr.InvalidArgumentError, "alter.column"),
    ("plain", "ALTER COLUMN id TYPE BIGINT", dr.InvalidArgumentError, "alter.type_widening"),
    ("widening", "ALTER COLUMN id TYPE STRING", dr.InvalidArgumentError, "alter.type_widening"),
    ("plain", "ALTER COLUMN id SET NOT NULL", dr.UnsupportedFeatureError, "sql.alter"),
    (
        "plain",
        "ADD CONSTRAINT c CHECK (id > 1)",
        dr.InvalidArgumentError,
        "alter.constraint_broken",
    ),
    ("constrained", "ADD CONSTRAINT POSITIVE CHECK (id > 0)", dr.InvalidArgumentError, None),
    ("plain", "ADD CONSTRAINT c PRIMARY KEY (id)", dr.UnsupportedFeatureError, "sql.alter"),
    ("plain", "DROP CONSTRAINT not_there", dr.InvalidArgumentError, "alter.constraint"),
    ("plain", "CLUSTER BY (not_there)", dr.InvalidArgumentError, None),
    ("plain", "DROP FEATURE not_there", dr.InvalidArgumentError, None),
    ("plain", "ADD PARTITION (id = 1)", dr.UnsupportedFeatureError, "sql.alter"),
    ("plain", "SET SERDEPROPERTIES ('a' = 'b')", dr.UnsupportedFeatureError, "sql.alter"),
    ("plain", "SET LOCATION '/tmp/elsewhere'", dr.UnsupportedFeatureError, "sql.alter"),
    ("plain", "ALTER COLUMN name TYPE VARCHAR(5)", dr.UnsupportedFeatureError, "sql.alter"),
    (
        "plain",
        "ALTER COLUMN s TYPE STRUCT<a: INT NOT NULL, b: STRING>",
        dr.UnsupportedFeatureError,
        "sql.alter",
    ),
    ("plain", "SET TBLPROPERTIES ('a')", dr.InvalidArgumentError, "sql.syntax"),
]

#: What delta-spark does, and is refused here before there is a commit.
ONLY_DELTA_SPARK = [
    ("mapped", "DROP COLUMNS (id, name)"),
    ("widening", "CHANGE COLUMN id id BIGINT COMMENT 'why'"),
    ("plain", "ADD COLUMNS (x INT, s.c INT)"),
    ("plain", "ADD COLUMN x INT FIRST"),
    ("plain", "ALTER COLUMN id COMMENT 'x', name COMMENT 'y'"),
    ("plain", "ALTER COLUMN id DROP NOT NULL"),
]


@pytest.fixture(scope="module")
def written(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One table of each kind, with one row."""
    root = tmp_path_factory.mktemp("written")
    for kind, clauses in TABLES.items():
        table = f"delta.`{root / kind}`"
        spark.sql(f"CREATE TABLE {table} ({COLUMNS}) USING delta {clauses}")
        spark.sql(f"INSERT INTO {table} (id, name) VALUES (1, 'x')")
    spark.sql(f"ALTER TABLE delta.`{root}/constrained` ADD CONSTRAINT positive CHECK (id > 0)")
    return root


def state(path: Path) -> tuple[Any, ...]:
    """What a table is, without random parts of names and spaces in constraints."""
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


def version_of(path: Path) -> int:
    return dr.Table(path).snapshot().version


@pytest.mark.parametrize(("kind", "form"), FORMS, ids=lambda value: value)
def test_does_what_delta_spark_does(
    spark: Any, written: Path, tmp_path: Path, kind: str, form: str
) -> None:
    for name in ("theirs", "ours"):
        shutil.copytree(written / kind, tmp_path / name)
    spark.sql(f"ALTER TABLE delta.`{tmp_path}/theirs` {form}")
    told = dr_spark.sql(spark, f"ALTER TABLE delta.`{tmp_path}/ours` {form}")
    assert (told.columns, told.collect()) == ([], [])
    assert state(tmp_path / "ours") == state(tmp_path / "theirs")
    read = spark.read.format("delta").load(str(tmp_path / "ours"))
    assert read.columns == dr.Table(tmp_path / "theirs").snapshot().schema.names
    commits = version_of(tmp_path / "ours") - version_of(written / kind)
    assert commits in (0, 1)


@pytest.mark.parametrize(("kind", "form", "error", "code"), REFUSED, ids=str)
def test_refuses_what_delta_spark_refuses(
    spark: Any,
    written: Path,
    kind: str,
    form: str,
    error: type[dr.DeltaReplayError],
    code: str | None,
) -> None:
    before = version_of(written / kind)
    with pytest.raises(error) as caught:
        dr_spark.sql(spark, f"ALTER TABLE delta.`{written / kind}` {form}")
    if code is not None:
        assert caught.value.code == code
    with pytest.raises(Exception, match=r"\S"):
        spark.sql(f"ALTER TABLE delta.`{written / kind}` {form}")
    assert version_of(written / kind) == before


@pytest.mark.parametrize(("kind", "form"), ONLY_DELTA_SPARK, ids=lambda value: value)
def test_refuses_what_only_delta_spark_does(
    spark: Any, written: Path, kind: str, form: str
) -> None:
    before = version_of(written / kind)
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr_spark.sql(spark, f"ALTER TABLE delta.`{written / kind}` {form}")
    assert caught.value.code == "sql.alter"
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
