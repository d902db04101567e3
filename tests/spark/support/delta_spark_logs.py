"""Tables that delta-spark writes, one for each feature that a log can show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from spark.support.settings import conf

Spark = Any
TABLES: dict[str, Callable[[Spark, Path], None]] = {}


def registered(write: Callable[[Callable[[str], Any], Spark, str], None]) -> Any:
    """Register a function that writes a table; its name is that of the table.

    Its arguments are a function that runs SQL, in whose text ``{t}`` is the table, the session, and
    the table's path.
    """

    def run(spark: Spark, path: Path) -> None:
        def sql(text: str) -> Any:
            return spark.sql(text.replace("{t}", f"delta.`{path}`"))

        write(sql, spark, str(path))

    TABLES[write.__name__] = run
    return write


def properties(**values: str) -> str:
    """Return the clause that sets properties without ``delta.``; dots are two underscores."""
    listed = ", ".join(f"'delta.{name.replace('__', '.')}' = '{v}'" for name, v in values.items())
    return f"TBLPROPERTIES ({listed})"


@registered
def plain(sql: Any, spark: Spark, path: str) -> None:
    interval = properties(checkpointInterval="3")
    sql(f"CREATE TABLE {{t}} (id LONG, s STRING) USING delta COMMENT 'plain' {interval}")
    for start in range(0, 15, 5):
        sql(f"INSERT INTO {{t}} SELECT id, 's' || id FROM range({start}, {start + 5})")
    sql("DELETE FROM {t} WHERE id % 7 = 0")
    sql("UPDATE {t} SET s = 'x' WHERE id = 8")
    sql("OPTIMIZE {t}")


@registered
def partitioned(sql: Any, spark: Spark, path: str) -> None:
    sql(
        "CREATE TABLE {t} (v INT, d DATE, s STRING, t TIMESTAMP, n DECIMAL(8,3), b BOOLEAN) "
        "USING delta PARTITIONED BY (d, s, t, n, b)"
    )
    sql(
        "INSERT INTO {t} VALUES "
        "(1, DATE'2024-02-29', 'a b/c=d%e', TIMESTAMP'2024-01-01 00:00:00.123456', 1.500, true), "
        "(2, NULL, '', NULL, NULL, NULL), "
        "(3, DATE'0001-01-01', '猫:?#\"', TIMESTAMP'1969-12-31 23:59:59', -0.001, false)"
    )
    sql("DELETE FROM {t} WHERE v = 1")
    sql("INSERT OVERWRITE {t} SELECT 9, d, s, t, n, b FROM {t}")


@registered
def vectors(sql: Any, spark: Spark, path: str) -> None:
    sql(
        "CREATE TABLE {t} (id LONG, s STRING) USING delta "
        f"{properties(enableDeletionVectors='true')}"
    )
    sql("INSERT INTO {t} SELECT /*+ REPARTITION(3) */ id, 'a' FROM range(3000)")
    sql("DELETE FROM {t} WHERE id % 5 = 0")
    sql("UPDATE {t} SET s = 'b' WHERE id % 100 = 1")
    sql("DELETE FROM {t} WHERE id % 5 = 1")
    sql(
        "MERGE INTO {t} USING (SELECT id, 'm' AS s FROM range(2990, 3010)) n ON {t}.id = n.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    sql("RESTORE TABLE {t} TO VERSION AS OF 2")
    sql("REORG TABLE {t} APPLY (PURGE)")


def _mapped(sql: Any, mode: str) -> None:
    sql(
        "CREATE TABLE {t} (`a b` LONG, p STRING, n STRUCT<x: INT, `y,z`: STRING>) USING delta "
        f"PARTITIONED BY (p) {properties(columnMapping__mode=mode)}"
    )
    sql("INSERT INTO {t} VALUES (1, 'p1', struct(1, 'x')), (2, NULL, NULL)")
    sql("ALTER TABLE {t} RENAME COLUMN `a b` TO c")
    sql("ALTER TABLE {t} RENAME COLUMN p TO q")
    sql("ALTER TABLE {t} ADD COLUMN extra DOUBLE AFTER c")
    sql("INSERT INTO {t} VALUES (3, 1.5, 'p2', struct(2, 'y'))")
    sql("ALTER TABLE {t} DROP COLUMN extra")
    sql("DELETE FROM {t} WHERE c = 3")


@registered
def mapped_by_name(sql: Any, spark: Spark, path: str) -> None:
    _mapped(sql, "name")


@registered
def mapped_by_id(sql: Any, spark: Spark, path: str) -> None:
    _mapped(sql, "id")


@registered
def row_tracking(sql: Any, spark: Spark, path: str) -> None:
    sql(
        f"CREATE TABLE {{t}} (id LONG, s STRING) USING delta {properties(enableRowTracking='true')}"
    )
    for start in (0, 10, 20):
        sql(f"INSERT INTO {{t}} SELECT id, 'a' FROM range({start}, {start + 10})")
    sql("UPDATE {t} SET s = 'b' WHERE id < 3")
    sql("DELETE FROM {t} WHERE id = 25")
    sql("OPTIMIZE {t}")


@registered
def in_commit_timestamps(sql: Any, spark: Spark, path: str) -> None:
    timestamps = properties(enableInCommitTimestamps="true", checkpointInterval="3")
    sql(f"CREATE TABLE {{t}} (id LONG) USING delta {timestamps}")
    for id in range(4):
        sql(f"INSERT INTO {{t}} VALUES ({id})")


@registered
def in_commit_timestamps_later(sql: Any, spark: Spark, path: str) -> None:
    sql("CREATE TABLE {t} (id LONG) USING delta")
    sql("INSERT INTO {t} VALUES (1)")
    sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')")
    sql("INSERT INTO {t} VALUES (2)")
    sql("INSERT INTO {t} VALUES (3)")
    sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'false')")
    sql("INSERT INTO {t} VALUES (4)")


def _v2(sql: Any, spark: Spark, path: str, file_format: str) -> None:
    settings = {
        "spark__databricks__delta__checkpoint__partSize": "3",
        "spark__databricks__delta__checkpointV2__topLevelFileFormat": file_format,
    }
    with conf(spark, **settings):
        policy = properties(
            checkpointPolicy="v2", checkpointInterval="3", enableDeletionVectors="true"
        )
        sql(f"CREATE TABLE {{t}} (id LONG, p INT) USING delta PARTITIONED BY (p) {policy}")
        for start in range(0, 40, 10):
            sql(f"INSERT INTO {{t}} SELECT id, int(id % 3) FROM range({start}, {start + 10})")
        sql("DELETE FROM {t} WHERE id % 4 = 0")
        frame = spark.createDataFrame([(7, 1)], "id long, p int")
        writer = frame.write.format("delta").mode("append")
        writer.option("txnAppId", "app").option("txnVersion", "5").save(path)


@registered
def v2_json(sql: Any, spark: Spark, path: str) -> None:
    _v2(sql, spark, path, "json")


@registered
def v2_parquet(sql: Any, spark: Spark, path: str) -> None:
    _v2(sql, spark, path, "parquet")


@registered
def multipart(sql: Any, spark: Spark, path: str) -> None:
    with conf(spark, spark__databricks__delta__checkpoint__partSize="4"):
        sql(f"CREATE TABLE {{t}} (id LONG) USING delta {properties(checkpointInterval='3')}")
        for start in range(4):
            sql(
                f"INSERT INTO {{t}} SELECT /*+ REPARTITION(3) */ * FROM range({start}, {start + 9})"
            )
        sql("DELETE FROM {t} WHERE id = 7")


@registered
def struct_stats_only(sql: Any, spark: Spark, path: str) -> None:
    stats = properties(
        checkpointInterval="2",
        checkpoint__writeStatsAsJson="false",
        checkpoint__writeStatsAsStruct="true",
    )
    sql(
        "CREATE TABLE {t} (i INT, l LONG, s STRING, d DATE, t TIMESTAMP, n TIMESTAMP_NTZ, "
        "m DECIMAL(20,5), f FLOAT, g DOUBLE, b BOOLEAN, x BINARY, k BYTE, h SHORT, "
        f"o STRUCT<a: INT, q: STRUCT<z: STRING>>, p INT) USING delta PARTITIONED BY (p) {stats}"
    )
    for number in range(3):
        sql(
            f"INSERT INTO {{t}} VALUES ({number}, {2**53 + 1}, 'a\"{number}', DATE'2024-02-29', "
            f"TIMESTAMP'2024-01-01 00:00:00.12345{number}', "
            f"TIMESTAMP_NTZ'2024-01-01 00:00:00.12345{number}', 1234.56789, 1.5, -2.5e300, true, "
            f"X'01', 1, 2, struct({number}, struct('deep')), {number % 2}), "
            f"({'NULL, ' * 14}0)"
        )


@registered
def clustered(sql: Any, spark: Spark, path: str) -> None:
    sql("CREATE TABLE {t} (a LONG, b STRING) USING delta CLUSTER BY (a)")
    sql("INSERT INTO {t} SELECT id, 'x' FROM range(20)")
    sql("OPTIMIZE {t}")
    sql("ALTER TABLE {t} CLUSTER BY (b)")
    sql("INSERT INTO {t} SELECT id, 'y' FROM range(20)")
    sql("ALTER TABLE {t} CLUSTER BY NONE")


@registered
def widened(sql: Any, spark: Spark, path: str) -> None:
    sql(
        "CREATE TABLE {t} (a BYTE, b FLOAT, c DECIMAL(5,2), d STRUCT<e: SHORT>) USING delta "
        f"{properties(enableTypeWidening='true')}"
    )
    sql("INSERT INTO {t} VALUES (1, 1.5, 1.25, struct(2))")
    sql("ALTER TABLE {t} CHANGE COLUMN a TYPE INT")
    sql("ALTER TABLE {t} CHANGE COLUMN a TYPE LONG")
    sql("ALTER TABLE {t} CHANGE COLUMN d.e TYPE INT")
    sql("INSERT INTO {t} VALUES (5000000000, 1.5, 1.25, struct(70000))")


@registered
def transactions(sql: Any, spark: Spark, path: str) -> None:
    for app, version in [("a", 1), ("b", 7), ("a", 2), ("a", 2), ("ünï", 0)]:
        frame = spark.createDataFrame([(version,)], "v int")
        writer = frame.write.format("delta").mode("append")
        writer.option("txnAppId", app).option("txnVersion", str(version)).save(path)
    sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.checkpointInterval' = '1')")
    sql("INSERT INTO {t} VALUES (1)")


@registered
def change_feed(sql: Any, spark: Spark, path: str) -> None:
    sql(
        "CREATE TABLE {t} (id LONG, s STRING) USING delta "
        f"{properties(enableChangeDataFeed='true')}"
    )
    sql("INSERT INTO {t} SELECT id, 'a' FROM range(10)")
    sql("UPDATE {t} SET s = 'b' WHERE id = 1")
    sql("DELETE FROM {t} WHERE id = 2")


@registered
def metadata_changes(sql: Any, spark: Spark, path: str) -> None:
    sql(
        "CREATE TABLE {t} (id LONG NOT NULL COMMENT 'key', s STRING) "
        "USING delta TBLPROPERTIES ('mine' = 'ä''\"', "
        "'delta.feature.allowColumnDefaults' = 'supported')"
    )
    sql("INSERT INTO {t} (id, s) VALUES (1, 'a')")
    sql("ALTER TABLE {t} ADD CONSTRAINT positive CHECK (id > 0)")
    sql("ALTER TABLE {t} SET TBLPROPERTIES ('other' = '1', 'delta.appendOnly' = 'false')")
    sql("ALTER TABLE {t} UNSET TBLPROPERTIES ('mine')")
    sql("ALTER TABLE {t} ADD COLUMNS (later STRUCT<a: ARRAY<INT>, m: MAP<STRING, DOUBLE>>)")
    sql("ALTER TABLE {t} ALTER COLUMN s SET DEFAULT 'z'")
    sql("COMMENT ON TABLE {t} IS 'a table'")
    sql("ALTER TABLE {t} DROP CONSTRAINT positive")


@registered
def feature_dropped(sql: Any, spark: Spark, path: str) -> None:
    sql(f"CREATE TABLE {{t}} (id LONG) USING delta {properties(enableDeletionVectors='true')}")
    sql("INSERT INTO {t} SELECT id FROM range(100)")
    sql("DELETE FROM {t} WHERE id = 5")
    sql("ALTER TABLE {t} DROP FEATURE deletionVectors")
    sql("INSERT INTO {t} VALUES (1)")


@registered
def types(sql: Any, spark: Spark, path: str) -> None:
    sql(
        "CREATE TABLE {t} (a ARRAY<STRUCT<x: DATE>>, m MAP<INT, ARRAY<STRING>>, v VARIANT, "
        "n TIMESTAMP_NTZ, c CHAR(3), w VARCHAR(5)) USING delta"
    )
    sql(
        "INSERT INTO {t} VALUES (array(struct(DATE'2024-01-01')), map(1, array('a', NULL)), "
        "parse_json('{\"k\": [1, null]}'), TIMESTAMP_NTZ'2024-01-01 00:00:00', 'ab', 'abc')"
    )
