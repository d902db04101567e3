"""A driver that loses executors during a commit: ``python -m spark.support.losing JAR ROOT``.

Prints one line of JSON for each case: the result or error of the write, and the rows of the table.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark import TaskContext
from pyspark.sql import SparkSession
from spark.support import losing_statements

import deltareplay as dr
from deltareplay import spark as dr_spark

#: The algorithm version of Hadoop's committer, and whether a repeated attempt writes other rows.
CASES = {"v1": ("1", True), "v2": ("2", True), "v2, same rows": ("2", False)}


def by_attempt(batches: Any) -> Any:
    """Put the rows of each attempt into another partition, as a nondeterministic source may."""
    context = TaskContext.get()
    assert context is not None
    for batch in batches:
        batch["p"] = f"{context.partitionId()}-{context.attemptNumber()}"
        yield batch


def main(jar: str, root: Path) -> None:
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.jars", jar)
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.speculation": "true",  # slow tasks are run twice
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.1",
        "spark.sql.parquet.output.committer.class": "deltareplay.LosingCommitter",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    for case, (algorithm, differs) in CASES.items():
        spark.conf.set("mapreduce.fileoutputcommitter.algorithm.version", algorithm)
        spark.conf.set("deltareplay.lost", str(root / f"lost-{case}"))
        rows = spark.range(0, 40, 1, 2).selectExpr("id", "string(id % 3) AS p")
        if differs:
            rows = rows.mapInPandas(by_attempt, "id LONG, p STRING")
        table = dr.Table(root / case)
        result: dict[str, Any] = {"case": case, "raised": None}
        try:
            dr_spark.write(rows, table, partition_columns=["p"])
        except Exception as error:
            result["raised"] = getattr(error, "code", type(error).__name__)
            result["message"] = str(error)[:2000]
        result["lost"] = (root / f"lost-{case}").exists()
        result["rows"] = None
        if dr.is_table(root / case):
            result["rows"] = sorted(table.snapshot().scan().to_arrow()["id"].to_pylist())
        print("RESULT" + json.dumps(result), flush=True)
    for result in losing_statements.results(spark, root):
        print("RESULT" + json.dumps(result), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
