"""Tables that delta-spark writes for their rows: one for each way in which rows can be stored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from spark.support.delta_spark_logs import TABLES, Spark, properties
from spark.support.settings import conf

#: By name: the tables of ``delta_spark_logs``, and those of this module.
ROWS: dict[str, Callable[[Spark, Path], None]] = dict(TABLES)


def registered(write: Callable[[Callable[[str], Any], Spark], None]) -> Any:
    """Register a function that writes a table; its name is that of the table.

    Its arguments are a function that runs SQL, in whose text ``{t}`` is the table, and the session.
    """

    def run(spark: Spark, path: Path) -> None:
        write(lambda text: spark.sql(text.replace("{t}", f"delta.`{path}`")), spark)

    ROWS[write.__name__] = run
    return write


@registered
def partition_values(sql: Any, spark: Spark) -> None:
    columns = {
        "a": "BYTE",
        "b": "SHORT",
        "c": "INT",
        "d": "LONG",
        "e": "FLOAT",
        "f": "DOUBLE",
        "g": "DECIMAL(38,10)",
        "h": "DATE",
        "i": "TIMESTAMP",
        "j": "TIMESTAMP_NTZ",
        "k": "STRING",
        "l": "BOOLEAN",
        "m": "BINARY",
    }
    listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    sql(f"CREATE TABLE {{t}} (v INT, {listed}) USING delta PARTITIONED BY ({', '.join(columns)})")
    sql(
        "INSERT INTO {t} VALUES "
        f"(0, {', '.join(['NULL'] * len(columns))}), "
        "(1, -128, -32768, -2147483648, -9223372036854775808, float('-Infinity'), "
        "double('NaN'), -1234567890123456789012345678.0123456789, DATE'0001-01-01', "
        "TIMESTAMP'0001-01-01 00:00:00', TIMESTAMP_NTZ'0001-01-01 00:00:00.000001', '', false, "
        "X''), "
        "(2, 127, 32767, 2147483647, 9223372036854775807, float('0.1'), 1e-300, 0.0000000001, "
        "DATE'9999-12-31', TIMESTAMP'1899-12-31 23:59:59.999999', "
        "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999', 'a=b/c d%20:\"#?[]{}\\'', true, X'0141'), "
        "(3, 0, 0, 0, 0, float('-0.0'), double('-0.0'), 0, DATE'1970-01-01', "
        "TIMESTAMP'1970-01-01 00:00:00', TIMESTAMP_NTZ'1970-01-01 00:00:00', ' 猫 ', true, "
        "X'c3a4'), "
        "(4, 1, 1, 1, 1, 1.5, 1.5, 1, DATE'2024-02-29', TIMESTAMP'2024-01-01 00:00:00.12', "
        "TIMESTAMP_NTZ'2024-01-01 00:00:00.123456', '__HIVE_DEFAULT_PARTITION__x', NULL, X'01')"
    )
    with conf(spark, spark__sql__session__timeZone="Asia/Kathmandu"):
        sql(
            "INSERT INTO {t} (v, i, j, h) VALUES (5, TIMESTAMP'2024-06-01 12:00:00.5', "
            "TIMESTAMP_NTZ'2024-06-01 12:00:00.5', DATE'2024-06-01')"
        )


@registered
def changed_with_vectors(sql: Any, spark: Spark) -> None:
    sql(
        "CREATE TABLE {t} (id LONG, s STRING, p INT) USING delta PARTITIONED BY (p) "
        f"{properties(enableDeletionVectors='true')}"
    )
    with conf(spark, spark__sql__files__maxRecordsPerFile="700"):
        sql("INSERT INTO {t} SELECT id, repeat('x', id % 5), int(id % 2) FROM range(4000)")
    sql("DELETE FROM {t} WHERE id % 3 = 0 AND id < 2000")
    sql("UPDATE {t} SET s = concat(s, '!') WHERE id % 50 = 7")
    sql("DELETE FROM {t} WHERE id BETWEEN 100 AND 900")
    sql(
        "MERGE INTO {t} USING (SELECT id, 'm' AS s, 1 AS p FROM range(3990, 4020)) n "
        "ON {t}.id = n.id WHEN MATCHED AND n.id % 2 = 0 THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET s = n.s WHEN NOT MATCHED THEN INSERT *"
    )
    sql("DELETE FROM {t} WHERE p = 0 AND id > 2000")
    sql("OPTIMIZE {t}")


def _nested(sql: Any, mode: str) -> None:
    sql(
        "CREATE TABLE {t} (`a b` LONG, p STRING, "
        "n STRUCT<x: INT, y: STRING, z: STRUCT<deep: DATE, `w;,` : INT>>, "
        "l ARRAY<STRUCT<u: INT, v: STRING>>, m MAP<STRING, STRUCT<q: DOUBLE, r: INT>>) "
        f"USING delta PARTITIONED BY (p) {properties(columnMapping__mode=mode)}"
    )
    sql(
        "INSERT INTO {t} VALUES (1, 'p1', struct(1, 'x', struct(DATE'2024-01-01', 1)), "
        "array(struct(1, 'v'), NULL), map('k', struct(1.5, 1))), (2, NULL, NULL, NULL, NULL)"
    )
    sql("ALTER TABLE {t} RENAME COLUMN n.x TO y2")
    sql("ALTER TABLE {t} RENAME COLUMN n TO nn")
    sql("ALTER TABLE {t} RENAME COLUMN l.element.u TO first")
    sql("ALTER TABLE {t} DROP COLUMN nn.y")
    sql("ALTER TABLE {t} ADD COLUMN nn.y STRING")
    sql("ALTER TABLE {t} ADD COLUMN m.value.s STRING AFTER q")
    sql("ALTER TABLE {t} RENAME COLUMN `a b` TO id")
    sql("ALTER TABLE {t} RENAME COLUMN p TO `new p`")
    sql(
        "INSERT INTO {t} SELECT 3, 'p2', struct(2, struct(NULL, 2), 'new'), array(struct(9, 'n')), "
        "map('j', struct(2.5D, 's', 2))"
    )
    sql("ALTER TABLE {t} DROP COLUMN m")
    sql("ALTER TABLE {t} ADD COLUMN m LONG FIRST")
    sql("ALTER TABLE {t} ALTER COLUMN nn.z FIRST")
    sql("DELETE FROM {t} WHERE id = 3")


@registered
def nested_by_name(sql: Any, spark: Spark) -> None:
    _nested(sql, "name")


@registered
def nested_by_id(sql: Any, spark: Spark) -> None:
    _nested(sql, "id")


@registered
def mapped_later(sql: Any, spark: Spark) -> None:
    sql("CREATE TABLE {t} (id LONG, A STRING, s STRUCT<x: INT>) USING delta")
    sql("INSERT INTO {t} VALUES (1, 'a', struct(1))")
    sql(
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name', "
        "'delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5')"
    )
    sql("ALTER TABLE {t} RENAME COLUMN A TO B")
    sql("INSERT INTO {t} VALUES (2, 'b', struct(2))")
    sql("ALTER TABLE {t} DROP COLUMN B")
    sql("ALTER TABLE {t} ADD COLUMN A STRING")
    sql("INSERT INTO {t} VALUES (3, struct(3), 'again')")


@registered
def widened_everywhere(sql: Any, spark: Spark) -> None:
    sql(
        "CREATE TABLE {t} (a BYTE, b BYTE, c SHORT, d SHORT, e INT, f INT, g FLOAT, "
        "h DECIMAL(5,2), i DATE, j INT, k LONG, l ARRAY<SHORT>, m MAP<BYTE, FLOAT>, "
        f"n STRUCT<o: INT, p: ARRAY<STRUCT<q: BYTE>>>) USING delta "
        f"{properties(enableTypeWidening='true', feature__timestampNtz='supported')}"
    )
    row = (
        "({a}, {a}, {b}, {b}, {c}, {c}, {f}, {d}, {h}, {c}, {l}, array({b}, NULL), "
        "map({a}, {f}), struct({c}, array(struct({a}), NULL)))"
    )
    low = row.format(
        a="-128Y", b="-32768S", c="-2147483648", f="float('1.1')", d="-999.99",
        h="DATE'1600-02-29'", l="-9223372036854775808L",
    )  # fmt: skip
    high = row.format(
        a="127Y", b="32767S", c="2147483647", f="float('NaN')", d="999.99",
        h="DATE'9999-12-31'", l="9223372036854775807L",
    )  # fmt: skip
    nulls = f"({', '.join(['NULL'] * 14)})"
    sql(f"INSERT INTO {{t}} VALUES {low}, {high}, {nulls}")
    for change in (
        "a TYPE LONG",
        "b TYPE DECIMAL(10,0)",
        "c TYPE DOUBLE",
        "d TYPE INT",
        "e TYPE DOUBLE",
        "f TYPE DECIMAL(20,5)",
        "g TYPE DOUBLE",
        "h TYPE DECIMAL(12,4)",
        "i TYPE TIMESTAMP_NTZ",
        "j TYPE LONG",
        "k TYPE DECIMAL(25,3)",
        "l.element TYPE LONG",
        "m.key TYPE INT",
        "m.value TYPE DOUBLE",
        "n.o TYPE LONG",
        "n.p.element.q TYPE INT",
    ):
        sql(f"ALTER TABLE {{t}} CHANGE COLUMN {change}")
    sql(
        "INSERT INTO {t} VALUES (9223372036854775807, 1234567890, 1.5, 70000, 1e300, 1.12345, "
        "1e300, 12345678.1234, TIMESTAMP_NTZ'2024-01-01 00:00:00.000001', 5000000000, 1.001, "
        "array(5000000000), map(70000, 1e300), struct(5000000000, array(struct(70000))))"
    )


@registered
def tracked(sql: Any, spark: Spark) -> None:
    both = properties(enableRowTracking="true", enableDeletionVectors="true")
    sql(f"CREATE TABLE {{t}} (id LONG, s STRING, p INT) USING delta PARTITIONED BY (p) {both}")
    for start in (0, 100, 200):
        sql(f"INSERT INTO {{t}} SELECT id, 'a', int(id % 2) FROM range({start}, {start + 100})")
    sql("UPDATE {t} SET s = 'b' WHERE id % 30 = 3")
    sql("DELETE FROM {t} WHERE id % 10 = 5")
    sql(
        "MERGE INTO {t} USING (SELECT id, 'm' AS s, 0 AS p FROM range(290, 310)) n "
        "ON {t}.id = n.id WHEN MATCHED THEN UPDATE SET s = n.s WHEN NOT MATCHED THEN INSERT *"
    )
    sql("OPTIMIZE {t}")
    sql("UPDATE {t} SET s = 'c' WHERE id = 42")


@registered
def tracked_later(sql: Any, spark: Spark) -> None:
    sql("CREATE TABLE {t} (id LONG) USING delta")
    sql("INSERT INTO {t} SELECT * FROM range(10)")
    sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')")
    sql("INSERT INTO {t} SELECT * FROM range(10, 20)")
    sql("UPDATE {t} SET id = id + 100 WHERE id = 5")


@registered
def nested_types(sql: Any, spark: Spark) -> None:
    sql(
        "CREATE TABLE {t} (id INT, a ARRAY<ARRAY<STRUCT<x: INT, y: ARRAY<STRING>>>>, "
        "m MAP<STRUCT<k: INT>, MAP<STRING, ARRAY<DECIMAL(10,3)>>>, "
        "s STRUCT<t: STRUCT<u: STRUCT<v: TIMESTAMP, w: BINARY>, e: ARRAY<BOOLEAN>>>) USING delta"
    )
    sql(
        "INSERT INTO {t} VALUES "
        "(1, array(array(struct(1, array('a', NULL)), NULL), NULL, array()), "
        "map(struct(1), map('a', array(1.5, NULL), 'b', NULL), struct(2), NULL), "
        "struct(struct(struct(TIMESTAMP'1800-01-01 00:00:00', X'00'), array(true, NULL)))), "
        "(2, array(), map(), struct(NULL)), (3, NULL, NULL, NULL), "
        "(4, array(array(struct(NULL, NULL))), map(struct(NULL), map()), "
        "struct(struct(NULL, array())))"
    )
    sql("INSERT INTO {t} SELECT id + 10, a, m, s FROM {t}")


def _moments(sql: Any, spark: Spark, form: str) -> None:
    sql(
        "CREATE TABLE {t} (v INT, t TIMESTAMP, d DATE, n TIMESTAMP_NTZ, "
        "s STRUCT<t: TIMESTAMP, l: ARRAY<TIMESTAMP>>) USING delta"
    )
    moments = [
        "0001-01-01 00:00:00",
        "1582-10-04 12:00:00.000001",
        "1582-10-15 00:00:00",
        "1677-09-21 00:12:43.145224",
        "1899-12-31 23:59:59.999999",
        "1969-12-31 23:59:59.999999",
        "1970-01-01 00:00:00",
        "2024-02-29 01:02:03.456789",
        "2262-04-11 23:47:16.854776",
        "9999-12-31 23:59:59.999999",
    ]
    rows = [
        f"({number}, TIMESTAMP'{item}', DATE'{item[:10]}', TIMESTAMP_NTZ'{item}', "
        f"struct(TIMESTAMP'{item}', array(TIMESTAMP'{item}', NULL)))"
        for number, item in enumerate(moments)
    ]
    settings = {
        "spark__sql__parquet__outputTimestampType": form,
        "spark__sql__parquet__int96RebaseModeInWrite": "CORRECTED",
        "spark__sql__parquet__datetimeRebaseModeInWrite": "CORRECTED",
    }
    with conf(spark, **settings):
        sql(f"INSERT INTO {{t}} VALUES {', '.join(rows)}, (99, NULL, NULL, NULL, NULL)")


@registered
def moments_int96(sql: Any, spark: Spark) -> None:
    _moments(sql, spark, "INT96")


@registered
def moments_micros(sql: Any, spark: Spark) -> None:
    _moments(sql, spark, "TIMESTAMP_MICROS")


@registered
def moments_millis(sql: Any, spark: Spark) -> None:
    _moments(sql, spark, "TIMESTAMP_MILLIS")


@registered
def evolved(sql: Any, spark: Spark) -> None:
    sql("CREATE TABLE {t} (Id LONG, s STRUCT<a: INT>) USING delta")
    sql("INSERT INTO {t} VALUES (1, struct(1)), (2, NULL)")
    sql("ALTER TABLE {t} ADD COLUMNS (s.b STRUCT<c: STRING, d: ARRAY<INT>>, z DOUBLE FIRST)")
    sql("INSERT INTO {t} VALUES (0.5, 3, struct(3, struct('c', array(1))))")
    sql("ALTER TABLE {t} ALTER COLUMN s.b FIRST")
    with conf(spark, spark__databricks__delta__schema__autoMerge__enabled="true"):
        sql("INSERT INTO {t} BY NAME SELECT 4L AS id, 'new' AS fresh")
    sql("REPLACE TABLE {t} (other STRING) USING delta")
