"""Delta tables in PySpark, without delta-spark's jar.

The driver replays the log in Rust and selects the files; Spark reads exactly those, with its own
vectorised Parquet reader. Requires PySpark 4 (3.5 for functions that only read, except
``register``), and imports it only when a function is called.

>>> from deltareplay import spark as dr_spark
>>> frame = dr_spark.read(spark, rows, filter="id > 1")  # doctest: +SKIP
>>> frame.select("name").collect()  # doctest: +SKIP
[Row(name='three')]
"""

from deltareplay.spark._changes import changes
from deltareplay.spark._clone import clone
from deltareplay.spark._convert import convert
from deltareplay.spark._count import count
from deltareplay.spark._create_view import create_view
from deltareplay.spark._delete import delete
from deltareplay.spark._delta_merge_builder import DeltaMergeBuilder
from deltareplay.spark._delta_optimize_builder import DeltaOptimizeBuilder
from deltareplay.spark._delta_table import DeltaTable
from deltareplay.spark._delta_table_builder import DeltaTableBuilder, IdentityGenerator
from deltareplay.spark._detail import detail
from deltareplay.spark._files import files
from deltareplay.spark._history import history
from deltareplay.spark._merge import merge
from deltareplay.spark._optimize import optimize
from deltareplay.spark._read import read
from deltareplay.spark._register import register
from deltareplay.spark._sql import sql
from deltareplay.spark._update import update
from deltareplay.spark._vacuum import vacuum
from deltareplay.spark._verify import verify
from deltareplay.spark._write import write
from deltareplay.spark._write_checkpoint import write_checkpoint

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
