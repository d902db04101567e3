"""Bronze, silver and gold on PySpark, without a JVM library.

``python examples/orders.py [DIRECTORY]``: three days of order events arrive as JSON. Each day

1. *bronze* takes them as they are, by a stream,
2. *silver* has one row for each order, as its newest event says: a stream of bronze, of which each
   batch is merged on the executors (``dr_spark.merge`` in ``foreachBatch``),
3. *gold* is a report over the orders that changed (``dr_spark.changes`` of silver, ``upsert``),
4. small files are compacted, and files that only expired versions need are deleted.

Streams store their progress in checkpoints, and a batch that runs again after a crash finds its
number in the transactions of the table: the example can be stopped anywhere and run again, and each
event counts once.
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
#: The application id under which silver records the number of its last batch.
APPLICATION = "orders-to-silver"


def main(root: Path, spark: SparkSession) -> list[dict[str, Any]]:
    """Run all days, then the second one again, and return the report of the third."""
    dr_spark.register(spark)
    bronze, silver = root / "bronze", root / "silver"
    prepare(spark, bronze, silver)
    report: list[dict[str, Any]] = []
    days = []
    for number, day in [*enumerate(DAYS), (1, DAYS[1])]:
        arrive(root / "landing", number, day)
        before = dr.Table(bronze).snapshot().version, dr.Table(silver).snapshot().version
        ingest(spark, root / "landing", bronze, root / "checkpoints")
        refine(spark, bronze, silver, root / "checkpoints")
        days.append((day, *operations(bronze, before[0]), *operations(silver, before[1])))
        if any(days[-1][2:]):  # rows of silver were merged
            report = changed_orders(spark, silver, before[1])
            for row in report:
                print(f"{day}: {row['state']:9} {row['orders']:3} orders  {row['amount']:>10}")
        maintain(spark, bronze, silver)
    columns = "day STRING, events BIGINT, merged BIGINT, inserted BIGINT, updated BIGINT"
    spark.createDataFrame(days, columns).show()
    orders = dr_spark.read(spark, silver, filter="state <> 'cancelled'")
    version = dr.Table(silver).snapshot().version
    print(f"{orders.count()} orders stand at version {version} of silver:")
    orders.orderBy(sf.desc("amount")).limit(3).show()
    return report


def prepare(spark: SparkSession, bronze: Path, silver: Path) -> None:
    """Create the tables that do not exist."""
    empty = spark.createDataFrame([], EVENTS).toArrow()
    dr.create_table(bronze, empty.schema, ["day"], if_not_exists=True)
    dr.create_table(
        silver,
        empty.schema,
        properties={
            "delta.enableDeletionVectors": "true",
            "delta.enableRowTracking": "true",
            "delta.constraints.amount_is_positive": "amount > 0",
        },
        if_not_exists=True,
    )


def arrive(landing: Path, number: int, day: str) -> Path:
    """Write a day's events: new orders, and updates of those of the day before."""
    landing.mkdir(parents=True, exist_ok=True)
    lines = []
    for order in range(number * 10, number * 10 + 10):
        placed = {"order_id": order, "customer": f"customer {order % 4}", "day": day}
        lines.append({**placed, "amount": f"{order * 3 + 1}.50", "state": "placed", "at": order})
        if order >= 10:
            state = "cancelled" if order % 5 == 0 else "paid"
            update = {**placed, "order_id": order - 10, "customer": f"customer {(order - 10) % 4}"}
            amount = f"{(order - 10) * 3 + 1}.50"
            lines.append({**update, "amount": amount, "state": state, "at": 100 + order})
    path = landing / f"{day}.json"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def ingest(spark: SparkSession, landing: Path, bronze: Path, checkpoints: Path) -> None:
    """Append the files that have arrived since the last run, each once."""
    events = spark.readStream.schema(EVENTS).json(str(landing))
    query = events.writeStream.format("deltareplay").trigger(availableNow=True)
    query = query.option("checkpointLocation", str(checkpoints / "bronze"))
    query.start(str(bronze)).awaitTermination()


def refine(spark: SparkSession, bronze: Path, silver: Path, checkpoints: Path) -> None:
    """Merge the new events of bronze into silver."""

    def merge(events: DataFrame, number: int) -> None:
        newest = newest_events(events).alias("news")
        statement = dr_spark.merge(
            spark,
            silver,
            newest,
            "orders.order_id = news.order_id",
            target_alias="orders",
            txn=(APPLICATION, number),
        )
        statement.when_matched_update_all("news.at > orders.at")
        statement.when_not_matched_insert_all().execute()

    events = spark.readStream.format("deltareplay").load(str(bronze))
    query = events.writeStream.foreachBatch(merge).trigger(availableNow=True)
    query.option("checkpointLocation", str(checkpoints / "silver")).start().awaitTermination()


def newest_events(events: DataFrame) -> DataFrame:
    """Return the newest event of each order."""
    newest_first = Window.partitionBy("order_id").orderBy(sf.desc("at"))
    ranked = events.withColumn("rank", sf.row_number().over(newest_first)).where("rank = 1")
    return ranked.select("order_id", "customer", "amount", "state", "day", "at")


def operations(table: Path, before: int) -> tuple[int, ...]:
    """Count the rows that commits after a version wrote into bronze, or merged into silver."""
    history = dr.Table(table).history().to_pylist()
    commits = [commit for commit in history if commit["version"] > before]
    metrics = [dict(commit["operationMetrics"] or {}) for commit in commits]

    def total(name: str) -> int:
        return sum(int(values.get(name, 0)) for values in metrics)

    if table.name == "bronze":
        return (total("numOutputRows"),)
    names = ("numSourceRows", "numTargetRowsInserted", "numTargetRowsUpdated")
    return tuple(map(total, names))


def changed_orders(spark: SparkSession, silver: Path, before: int) -> list[dict[str, Any]]:
    """Count the orders that are new or changed in silver since a version, by state."""
    changed = dr_spark.changes(spark, silver, before + 1, kind="upsert")
    by_state = changed.groupBy("state").agg(
        sf.count("*").alias("orders"), sf.sum("amount").alias("amount")
    )
    return [row.asDict() for row in by_state.orderBy("state").collect()]


def maintain(spark: SparkSession, *tables: Path) -> None:
    """Compact small files, and remove those that only expired versions need."""
    for table in tables:
        dr_spark.optimize(spark, table)
        dr_spark.vacuum(spark, table, dry_run=False)


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
