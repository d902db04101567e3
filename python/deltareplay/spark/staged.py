"""``Staged``: data files that Spark has written, and no commit speaks of yet."""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import pyarrow as pa

from deltareplay.exceptions import DeltaReplayWarning
from deltareplay.spark import constraints, on_executors, session
from deltareplay.spark.files import hadoop_root
from deltareplay.spark.outgoing import Outgoing
from deltareplay.spark.task import SAFE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay.snapshot import Snapshot
    from deltareplay.table import Table

_NULL = "__HIVE_DEFAULT_PARTITION__"

#: What Delta's files are, whatever the session says.
_SETTINGS = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.fieldId.write.enabled": "true",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.variant.writeShredding.enabled": "false",
    "spark.sql.sources.partitionOverwriteMode": "static",
}


class Staged:
    """A directory of new data files in a table."""

    def __init__(
        self, spark: SparkSession, table: Table, snapshot: Snapshot, name: str, root: str | None
    ) -> None:
        """Names the directory; nothing is written yet.

        Args:
            spark: The session.
            table: The table.
            snapshot: Its version.
            name: Of the directory; no other write has it.
            root: The table's place as Hadoop writes it, where that is not its URI.
        """
        self._spark = spark
        self._table = table
        self._snapshot = snapshot
        self._name = name
        self._place = f"{(root or hadoop_root(table.uri)).rstrip('/')}/{name}"

    def write(self, outgoing: Outgoing) -> pa.Table:
        """Writes the rows, and gives the columns of ``add`` for each file that has any.

        Raises:
            InvalidArgumentError: A row breaks a constraint.
        """
        codec = self._snapshot.properties.get("delta.parquet.compression.codec", "snappy")
        writer = outgoing.rows.write.format("parquet").mode("append")
        writer = writer.option("compression", codec.lower())
        writer = writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
        try:
            with _set(self._spark, _SETTINGS):
                writer.partitionBy(*outgoing.partitions).save(self._place)
        except Exception as error:
            broken = constraints.broken(error)
            if broken is None:
                raise
            raise broken from error
        return self._files(len(outgoing.partitions))

    def _files(self, partitions: int) -> pa.Table:
        from pyspark.sql import functions as sf

        reader = self._spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        found = reader.option("pathGlobFilter", "*.parquet").load(self._place)
        time = sf.unix_millis("modificationTime").alias("modificationTime")
        found = found.select("path", sf.col("length").alias("size"), time)
        told = on_executors.over(found, "read_statistics", self._payload(), _SCHEMA).toArrow()
        rows = [self._add(row, partitions) for row in told.to_pylist()]
        return pa.Table.from_pylist([row for row in rows if row is not None], _ADD)

    def _payload(self) -> bytes:
        metadata = self._snapshot.metadata
        facts = (
            metadata.schema_string,
            list(metadata.partition_columns),
            dict(metadata.configuration),
            self._snapshot.protocol._facts(),
        )
        return pickle.dumps((self._table, self._name, facts))

    def _add(self, row: dict[str, Any], partitions: int) -> dict[str, Any] | None:
        if json.loads(row["stats"])["numRecords"] == 0:
            return None
        directories = row["path"].split("/")[1 : 1 + partitions]
        values = [tuple(map(unquote, one.split("=", 1))) for one in directories]
        return {
            **row,
            "path": quote(row["path"], safe=SAFE),
            "partitionValues": [(key, None if value == _NULL else value) for key, value in values],
            "dataChange": True,
        }

    @staticmethod
    def metrics(written: pa.Table) -> dict[str, int]:
        """What the commit tells of the write."""
        told = written.to_pylist()
        rows = sum(json.loads(one["stats"])["numRecords"] for one in told)
        return {
            "numFiles": written.num_rows,
            "numOutputRows": rows,
            "numOutputBytes": sum(one["size"] for one in told),
        }

    def discard(self) -> None:
        """Takes the files away, as far as possible; what stays is for ``VACUUM``."""
        if not session.is_classic(self._spark):
            return
        try:
            jvm: Any = self._spark._jvm
            path = jvm.org.apache.hadoop.fs.Path(self._place)
            hadoop = self._spark._jsparkSession.sessionState().newHadoopConf()
            path.getFileSystem(hadoop).delete(path, True)
        except Exception as error:
            warnings.warn(
                f"nothing was committed, but files are left in {self._name}, which VACUUM removes: "
                f"{error}",
                DeltaReplayWarning,
                stacklevel=3,
            )


_SCHEMA = "path string, size long, modificationTime long, stats string"

_ADD = pa.schema(
    [
        ("path", pa.string()),
        ("partitionValues", pa.map_(pa.string(), pa.string())),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("stats", pa.string()),
    ]
)


@contextmanager
def _set(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    """Settings of the session for a while."""
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)
