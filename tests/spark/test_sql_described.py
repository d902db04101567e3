"""``DESCRIBE TABLE``, ``SHOW COLUMNS`` and ``SHOW TBLPROPERTIES`` by ``sql`` and by delta-spark.

``test_sql.py`` runs them in sessions without delta-spark's jar.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from spark.support.statements import run_statement

import deltareplay as dr

pytestmark = pytest.mark.spark

#: {} is the name of a table or its path.
STATEMENTS = [
    "DESCRIBE {}",
    "desc table {};",
    "DESCRIBE TABLE EXTENDED {}",
    "DESCRIBE FORMATTED {}",
    "DESCRIBE {} id",
    "DESC EXTENDED {} P",
    "DESCRIBE TABLE {} `s`",
    "SHOW COLUMNS IN {}",
    "SHOW COLUMNS FROM {}",
    "SHOW TBLPROPERTIES {}",
    "SHOW TBLPROPERTIES {} ('x')",
    "SHOW TBLPROPERTIES {} (delta.appendOnly)",
    "SHOW TBLPROPERTIES {} (nope)",
    "SHOW TBLPROPERTIES {} (clusteringColumns)",
]


@pytest.fixture(scope="module")
def tables(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    root = tmp_path_factory.mktemp("described")
    spark.sql(
        f"""
        CREATE TABLE described_here (
          id INT NOT NULL COMMENT 'it''s the id', p STRING, s STRUCT<a: INT, b: ARRAY<STRING>>,
          c CHAR(3), d DECIMAL(10, 2), m MAP<STRING, TIMESTAMP_NTZ>
        ) USING delta PARTITIONED BY (p, id) COMMENT 'words' LOCATION '{root / "t"}'
        TBLPROPERTIES ('x' = 'y', 'delta.appendOnly' = 'true', 'delta.enableDeletionVectors' = true)
        """
    )
    plain = f"delta.`{root / 'plain'}`"
    spark.sql(f"CREATE TABLE {plain} (id INT, p STRING, s STRUCT<a: INT>) USING delta")
    defaults = f"delta.`{root / 'defaults'}`"
    spark.sql(  # Spark 4.2 repeats the heading of the defaults for each of several columns
        f"""
        CREATE TABLE {defaults} (id INT DEFAULT 1 + 1, p STRING, s STRUCT<a: INT>) USING delta
        TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')
        """
    )
    clustered, unclustered = f"delta.`{root / 'clustered'}`", f"delta.`{root / 'none'}`"
    for table, mode in (clustered, "name"), (unclustered, "none"):
        spark.sql(
            f"""
            CREATE TABLE {table} (id INT, p STRING, s STRUCT<a: INT>) USING delta
            CLUSTER BY (id, s.a) TBLPROPERTIES ('delta.columnMapping.mode' = '{mode}')
            """
        )
    spark.sql(f'ALTER TABLE {clustered} RENAME COLUMN s.a TO `é."b`')
    spark.sql(f"ALTER TABLE {clustered} ADD COLUMNS (c INT)")
    spark.sql(f"ALTER TABLE {unclustered} CLUSTER BY NONE")
    yield {
        "name": "described_here",
        "path": f"delta.`{root / 't'}`",
        "plain": plain,
        "defaults": defaults,
        "clustered": clustered,
        "unclustered": unclustered,
    }
    spark.sql("DROP TABLE described_here")


@pytest.mark.parametrize("table", ["name", "path", "plain", "defaults", "clustered", "unclustered"])
@pytest.mark.parametrize("text", STATEMENTS)
def test_rows_are_those_of_delta_spark(
    spark: Any, tables: dict[str, str], text: str, table: str
) -> None:
    text = text.format(tables[table])
    ours = run_statement(spark, text)
    theirs = spark.sql(text)
    assert ours.dtypes == theirs.dtypes
    differs = () if table == "name" else ("Type", "Location")  # of a path
    result, expected = (
        [tuple(row) for row in rows.collect() if row[0] not in differs] for rows in (ours, theirs)
    )
    assert result == expected


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("DESCRIBE {} nope", "columns.unknown"),
        ("DESCRIBE {} s.a", "columns.unknown"),
        ("DESCRIBE {} id p", "sql.syntax"),
        ("SHOW TBLPROPERTIES {} ('x'", "sql.syntax"),
    ],
)
def test_bad_input(spark: Any, tables: dict[str, str], text: str, code: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        run_statement(spark, text.format(tables["path"]))
    assert caught.value.code == code
    with pytest.raises(dr.TableNotFoundError) as caught:
        run_statement(spark, f"DESCRIBE {tables['path'][:-1]}/nowhere`")
    assert caught.value.code == "table.not_found"
