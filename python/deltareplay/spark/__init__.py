"""Delta tables in PySpark, without delta-spark's jar.

The driver replays the log in Rust and selects the files; Spark reads exactly those, with its own
vectorised Parquet reader. Requires PySpark 4 (3.5 for functions that only read, except
``register``), and imports it only when a function is called.

>>> from deltareplay import spark as dr_spark
>>> frame = dr_spark.read(spark, rows, filter="id > 1")  # doctest: +SKIP
>>> frame.select("name").collect()  # doctest: +SKIP
[Row(name='three')]
"""

from deltareplay.spark.delta_table.delta_table import DeltaTable
from deltareplay.spark.delta_table.merge_builder import DeltaMergeBuilder
from deltareplay.spark.delta_table.optimize_builder import DeltaOptimizeBuilder
from deltareplay.spark.delta_table.table_builder import DeltaTableBuilder, IdentityGenerator
from deltareplay.spark.dml.delete import delete
from deltareplay.spark.dml.merge.builder import merge
from deltareplay.spark.dml.update import update
from deltareplay.spark.dml.write import write
from deltareplay.spark.executors.replay import files
from deltareplay.spark.format.register import register
from deltareplay.spark.maintenance.checkpoint import write_checkpoint
from deltareplay.spark.maintenance.clone import clone
from deltareplay.spark.maintenance.convert import convert
from deltareplay.spark.maintenance.detail import detail
from deltareplay.spark.maintenance.history import history
from deltareplay.spark.maintenance.optimize import optimize
from deltareplay.spark.maintenance.vacuum import vacuum
from deltareplay.spark.maintenance.verify import verify
from deltareplay.spark.row_changes.changes import changes
from deltareplay.spark.scan.read import count, create_view, read
from deltareplay.spark.statements.sql import sql

__all__ = [
    "DeltaMergeBuilder",
    "DeltaOptimizeBuilder",
    "DeltaTable",
    "DeltaTableBuilder",
    "IdentityGenerator",
    "changes",
    "clone",
    "convert",
    "count",
    "create_view",
    "delete",
    "detail",
    "files",
    "history",
    "merge",
    "optimize",
    "read",
    "register",
    "sql",
    "update",
    "vacuum",
    "verify",
    "write",
    "write_checkpoint",
]
