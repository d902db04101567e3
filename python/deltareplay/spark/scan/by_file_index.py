"""Passes a list of files to Spark without a listing, 100,000 files in a second.

Spark's file readers take files from a ``FileIndex``, an internal interface, which
``SnapshotFiles.java`` implements. Files are sent to the JVM as Arrow. Where any of this fails,
``by_paths`` is used instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import pyarrow as pa

from deltareplay._protocol.schema import Field, schema_json
from deltareplay._support.warnings import warn
from deltareplay.spark.scan import driver_classes
from deltareplay.spark.scan.files import Files
from deltareplay.spark.schema.fields import READ_OPTIONS
from deltareplay.spark.session import internals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILES_PER_MESSAGE = 50_000

#: The sessions that cannot use the class.
_warned: WeakSet[Any] = WeakSet()


def frame(spark: SparkSession, files: Files, fields: list[Field]) -> DataFrame | None:
    """Return the DataFrame that ``relation.relation`` describes, without numbers of rows.

    The result is None if this Spark does not allow it; the first failure in a session is a warning.
    """
    try:
        return _frame(spark, files, fields)
    except Exception as cause:  # each build, gateway and platform fails in its own way
        if spark not in _warned:
            _warned.add(spark)
            warn(
                f"Spark {spark.version} does not accept a list of files "
                f"({internals.first_line(cause)}): it will look up each path, which is slower"
            )
        return None


def _frame(spark: SparkSession, files: Files, fields: list[Field]) -> DataFrame:
    from pyspark.sql import DataFrame

    jvm, session = internals.jvm(spark), internals.java_session(spark)
    parse = jvm.org.apache.spark.sql.types.DataType.fromJson
    constants = parse(schema_json([constant.field for constant in files.constants]))
    index = _index(spark, files, constants)
    sources = jvm.org.apache.spark.sql.execution.datasources
    relation = sources.HadoopFsRelation(
        index,
        constants,
        parse(schema_json(fields)),
        jvm.scala.Option.empty(),
        sources.parquet.ParquetFileFormat(),
        jvm.PythonUtils.toScalaMap({**READ_OPTIONS, **files.credentials.options_for(spark)}),
        session,
    )
    return DataFrame(session.baseRelationToDataFrame(relation), spark)


def _index(spark: SparkSession, files: Files, constants: Any) -> Any:
    # as text: Py4J chooses the type of a number by its size
    expires = str(files.credentials.expires_at or 0)
    index = driver_classes.new(spark, "SnapshotFiles", files.root, constants, expires)
    columns = [
        files.paths,
        files.sizes,
        files.times,
        *(constant.values for constant in files.constants),
    ]
    rows = pa.table(columns, names=[str(number) for number in range(len(columns))])
    for start in range(0, rows.num_rows, _FILES_PER_MESSAGE):
        index.add(_stream(rows.slice(start, _FILES_PER_MESSAGE)))
    return index


def _stream(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    stream: bytes = sink.getvalue().to_pybytes()
    return stream
