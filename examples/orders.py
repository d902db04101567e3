"""Bronze, silver and gold on PySpark, without a JVM library.

``python examples/orders.py [DIRECTORY]``: three days of order events arrive as JSON. Each day

1. *bronze* takes them as they are (``spark.write``; a day that comes twice is written once),
2. *silver* has one row for each order, as its newest event says (``spark.changes`` of bronze since
   the last run, merged by ``Table.merge``),
3. *gold* is a report over the orders that changed (``spark.changes`` of silver, ``upsert``).

What was processed is kept in the tables themselves, as transactions of an application: the example
can be stopped anywhere and run again.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sf

import deltareplay as dr
from deltareplay import spark as dr_spark

DAYS = ("2026-03-01", "2026-03-02", "2026-03-03")
EVENTS = (
    "order_id BIGINT, customer STRING, amount DECIMAL(10,2), state STRING, day STRING, at BIGINT"
)
#: Under which the last version of bronze that silver has seen is kept.
APPLICATION = "orders-to-silver"


def main(root: Path, spark: SparkSession) -> list[dict[str, Any]]:
    """Runs all days, the second one twice, and gives the report of the last."""
    bronze, silver = root / "bronze", root / "silver"
    report: list[dict[str, Any]] = []
    for number, day in [*enumerate(DAYS), (1, DAYS[1])]:
        arrived = arrive(root / "landing", number, day)
        version = ingest(spark, arrived, bronze, number)
        print(
            f"{day}: bronze {'has this day already' if version is None else f'version {version}'}"
        )
        before = refine(spark, bronze, silver)
        if before is None:
            print("  silver has seen everything")
            continue
        report = changed_orders(spark, silver, before)
        for row in report:
            print(f"  {row['state']:9} {row['orders']:3} orders  {row['amount']:>10}")
    table = dr.Table(silver)
    orders = dr_spark.read(spark, table, filter="state <> 'cancelled'")
    print(f"{orders.count()} orders stand at version {table.snapshot().version} of silver:")
    orders.orderBy(sf.desc("amount")).limit(3).show()
    return report


def arrive(landing: Path, number: int, day: str) -> Path:
    """A day's events: new orders, and news of those of the day before."""
    landing.mkdir(parents=True, exist_ok=True)
    lines = []
    for order in range(number * 10, number * 10 + 10):
        placed = {"order_id": order, "customer": f"customer {order % 4}", "day": day}
        lines.append({**placed, "amount": f"{order * 3 + 1}.50", "state": "placed", "at": order})
        if order >= 10:
            state = "cancelled" if order % 5 == 0 else "paid"
            news = {**placed, "order_id": order - 10, "customer": f"customer {(order - 10) % 4}"}
            amount = f"{(order - 10) * 3 + 1}.50"
            lines.append({**news, "amount": amount, "state": state, "at": 100 + order})
    path = landing / f"{day}.json"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def ingest(spark: SparkSession, arrived: Path, bronze: Path, number: int) -> int | None:
    """Appends a day to bronze, once; gives the version, or None where bronze has the day."""
    events = spark.read.schema(EVENTS).json(str(arrived))
    return dr_spark.write(events, bronze, partition_by=["day"], txn=("ingest", number))


def refine(spark: SparkSession, bronze: Path, silver: Path) -> int | None:
    """Merges what is new in bronze into silver; gives silver's version before, or None."""
    newest = dr.Table(bronze).snapshot().version
    if not dr.is_table(str(silver)):
        dr.create_table(
            silver,
            dr.Table(bronze).snapshot().schema,
            properties={
                "delta.enableDeletionVectors": "true",
                "delta.enableRowTracking": "true",
                "delta.constraints.amount_is_positive": "amount > 0",
            },
        )
    table = dr.Table(silver)
    before = table.snapshot()
    seen = before.transactions.get(APPLICATION, 0)
    if seen >= newest:
        return None
    events = dr_spark.changes(spark, bronze, seen + 1, newest, kind="append-only")
    latest = newest_events(events)
    merge = table.merge(latest.toArrow(), on="order_id", txn=(APPLICATION, newest))
    merge = merge.when_matched_update_all("source.at > target.at")
    written = merge.when_not_matched_insert_all().execute()
    print(f"  silver version {written.version}: {written.metrics}")
    return before.version


def newest_events(events: DataFrame) -> DataFrame:
    """Of each order, its newest event."""
    newest_first = Window.partitionBy("order_id").orderBy(sf.desc("at"))
    numbered = events.withColumn("place", sf.row_number().over(newest_first)).where("place = 1")
    return numbered.select("order_id", "customer", "amount", "state", "day", "at")


def changed_orders(spark: SparkSession, silver: Path, before: int) -> list[dict[str, Any]]:
    """The orders that are new or changed in silver since a version, by state."""
    changed = dr_spark.changes(spark, silver, before + 1, kind="upsert")
    by_state = changed.groupBy("state").agg(
        sf.count("*").alias("orders"), sf.sum("amount").alias("amount")
    )
    return [row.asDict() for row in by_state.orderBy("state").collect()]


if __name__ == "__main__":
    session = (
        SparkSession.builder.master("local[2]")
        .appName("orders")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    try:
        if len(sys.argv) > 1:
            main(Path(sys.argv[1]), session)
        else:
            with tempfile.TemporaryDirectory() as directory:
                main(Path(directory), session)
    finally:
        session.stop()
