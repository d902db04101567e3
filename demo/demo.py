"""A tour of the sample table: its snapshot, its history, and its files as Arrow and in Spark.

``python demo/demo.py [URI]``: URI is the location of a table, by default ``demo/orders``. At the
end, the pipeline of ``examples/orders.py`` runs in the same Spark session.
"""

from __future__ import annotations

import runpy
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import deltareplay as dr

SAMPLE = Path(__file__).parent / "orders"
EXAMPLE = Path(__file__).parents[1] / "examples" / "orders.py"


def main(uri: str) -> None:
    """Print a table's snapshot, history and files, also in Spark; then run a pipeline."""
    table = dr.Table(uri)
    snapshot = table.snapshot()
    protocol = snapshot.protocol
    features = ", ".join(protocol.reader_features or ()) or "none"

    title("The snapshot")
    print(snapshot)
    print(f"name and comment  {snapshot.metadata.name}, {snapshot.metadata.description}")
    print(f"partitioned by    {', '.join(snapshot.partition_columns)}")
    print(f"readers need      version {protocol.min_reader_version}, features {features}")
    print(f"live files        {snapshot.num_files}, {snapshot.size_in_bytes:,} bytes")
    print(f"schema\n{snapshot.schema.to_string(show_field_metadata=False)}")

    title("Its history")
    for commit in table.history().select(["version", "timestamp", "operation"]).to_pylist():
        print(
            f"{commit['version']:3}  {commit['timestamp']:%Y-%m-%d %H:%M:%S}  {commit['operation']}"
        )

    title("Its files as a pyarrow.Table")
    files = snapshot.files()
    print(files.schema.to_string(show_field_metadata=False))
    for file in files.select(["path", "size", "deletionVector"]).to_pylist():
        vector = file["deletionVector"]
        deleted = f"  deleted rows: {vector['cardinality']}" if vector else ""
        print(f"{file['size']:6}  {file['path']}{deleted}")

    title("Its files as a Spark DataFrame")
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("deltareplay demo")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    try:
        frame = spark.createDataFrame(files)
        frame.printSchema()
        frame.createOrReplaceTempView("files")
        spark.sql(
            "SELECT to_json(partitionValues) AS partition, count(*) AS files, sum(size) AS bytes, "
            "sum(get_json_object(stats, '$.numRecords') - coalesce(deletionVector.cardinality, 0)) "
            "AS rows FROM files GROUP BY 1 ORDER BY 1"
        ).show(truncate=False)
        title("A pipeline on Spark: examples/orders.py")
        spark.sparkContext.setLogLevel("ERROR")
        with tempfile.TemporaryDirectory() as directory:
            runpy.run_path(str(EXAMPLE))["main"](Path(directory), spark)
    finally:
        spark.stop()


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n{text}\n{'-' * len(text)}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else str(SAMPLE))
