"""Tables with a change feed that delta-spark writes: one for each way in which rows can change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from spark.support.tiers import NIGHTLY

Spark = Any
Sql = Callable[[str], Any]

#: The steps on a table, in the order of its versions from 1 on.
STEPS = (
    "INSERT INTO {t} VALUES (1, 'a', 10, 'x'), (2, 'b', 20, 'x'), (3, 'c', 30, 'y'), "
    "(4, 'd', 40, 'y'), (5, NULL, 50, 'z')",
    "UPDATE {t} SET v = v + 1 WHERE k IN (2, 5)",
    "DELETE FROM {t} WHERE k = 3",
    "MERGE INTO {t} t USING (SELECT * FROM VALUES (1, 'A', 11, 'x'), (4, 'd', 0, 'y'), "
    "(6, 'f', 60, 'y'), (7, 'g', 70, 'z') AS s(k, n, v, p)) s ON t.k = s.k "
    "WHEN MATCHED AND s.v = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET * "
    "WHEN NOT MATCHED THEN INSERT *",
    "OPTIMIZE {t}",
    "INSERT OVERWRITE {t} VALUES (7, 'g', 70, 'z'), (8, 'h', 80, 'x'), (9, 'i', 90, 'x')",
    "DELETE FROM {t} WHERE p = 'z'",
    "UPDATE {t} SET n = concat(n, '!'), p = 'y' WHERE k = 8",
    "RESTORE TABLE {t} TO VERSION AS OF 4",
    "DELETE FROM {t} WHERE k < 3",
)

FEED = "delta.enableChangeDataFeed = true"
MOR = "delta.enableDeletionVectors = true"
COW = "delta.enableDeletionVectors = false"
MAPPED = "delta.columnMapping.mode = 'name'"
TRACKED = "delta.enableRowTracking = true"
IN_COMMIT = "delta.enableInCommitTimestamps = true"


def steps_with(*properties: str, partitioned: bool = False) -> Callable[[Sql], None]:
    """Return a function that writes a table with these properties, in all of the steps."""

    def write(sql: Sql) -> None:
        parts = "PARTITIONED BY (p)" if partitioned else ""
        sql(
            f"CREATE TABLE {{t}} (k INT, n STRING, v LONG, p STRING) USING delta {parts} "
            f"TBLPROPERTIES ({', '.join([FEED, *properties])})"
        )
        for step in STEPS:
            sql(step)

    return write


def widened(sql: Sql) -> None:
    """Write a table in which columns are added and widened between changes."""
    sql(
        "CREATE TABLE {t} (k INT, v BYTE) USING delta TBLPROPERTIES "
        f"({FEED}, {MOR}, delta.enableTypeWidening = true)"
    )
    sql("INSERT INTO {t} VALUES (1, 1), (2, 2)")
    sql("ALTER TABLE {t} ALTER COLUMN v TYPE INT")
    sql("ALTER TABLE {t} ADD COLUMN s STRUCT<a: INT, b: ARRAY<STRING>>")
    sql("INSERT INTO {t} VALUES (3, 100000, named_struct('a', 1, 'b', array('x', NULL)))")
    sql("INSERT INTO {t} VALUES (4, 4, NULL)")
    sql("UPDATE {t} SET s = named_struct('a', 2, 'b', array('z')) WHERE k IN (1, 3)")
    sql("DELETE FROM {t} WHERE k = 2")


#: The tables, by name.
CHANGED: dict[str, Callable[[Sql], None]] = {
    "cow": steps_with(COW),
    "mor": steps_with(MOR),
    "cow_partitioned": steps_with(COW, partitioned=True),
    "mor_partitioned_mapped": steps_with(MOR, MAPPED, partitioned=True),
    "mor_tracked_in_commit": steps_with(MOR, TRACKED, IN_COMMIT),
    "cow_tracked": steps_with(COW, TRACKED),
    "widened": widened,
}

#: The tables during the day; others cover those that are left out.
BY_DAY = [name for name in CHANGED if name not in ("mor", "cow_partitioned")]
#: The tables of this run.
NAMES = list(CHANGED) if NIGHTLY else BY_DAY

#: The first version of ranges: Spark cannot read a range in which a type changes.
FIRST = {"widened": 2}


def write_table(spark: Spark, path: Path, name: str) -> None:
    """Write a table."""
    CHANGED[name](lambda text: spark.sql(text.replace("{t}", f"delta.`{path}`")))
