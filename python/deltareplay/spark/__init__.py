"""Delta tables in PySpark, without delta-spark's jar.

The driver replays the log in Rust and chooses the files; Spark reads exactly those, with its own
vectorised Parquet reader. Needs PySpark 4 (3.5 for all but ``register``), and imports it only when
a function is called.

>>> from deltareplay import spark as dr_spark
>>> frame = dr_spark.read(spark, rows, filter="id > 1")  # doctest: +SKIP
>>> frame.select("name").collect()  # doctest: +SKIP
[Row(name='three')]
"""

from deltareplay.spark.changes import changes
from deltareplay.spark.count import count
from deltareplay.spark.create_view import create_view
from deltareplay.spark.data_source import register
from deltareplay.spark.detail import detail
from deltareplay.spark.history import history
from deltareplay.spark.read import read
from deltareplay.spark.replayed_files import files
from deltareplay.spark.snapshot_files import snapshot_files
from deltareplay.spark.write import write
from deltareplay.spark.write_checkpoint import write_checkpoint

__all__ = [
    "changes",
    "count",
    "create_view",
    "detail",
    "files",
    "history",
    "read",
    "register",
    "snapshot_files",
    "write",
    "write_checkpoint",
]
