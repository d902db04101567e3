"""The same through the public API alone, for Spark Connect: Spark looks at every path by itself.

Constants come by a broadcast join on the file's path; where all files have the same, as literals.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay.exceptions import UnsupportedFeatureError
from deltareplay.spark.files import Files
from deltareplay.spark.names import ROW_NUMBER, quoted
from deltareplay.spark.schema import Json, field

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_KEY = "__deltareplay_path"


def frame(spark: SparkSession, files: Files, fields: list[Json], numbered: bool) -> DataFrame:
    """As ``relation.relation`` tells."""
    hidden = pc.match_substring_regex(files.paths, r"/[._][^/=]*$")
    if pc.any(hidden, min_count=0).as_py():
        path = files.paths.filter(hidden)[0].as_py()
        raise UnsupportedFeatureError(
            "Spark passes over files whose names begin with a dot or an underscore, and without "
            "the driver's JVM nothing can be done about it: read this table on classic Spark, or "
            "by the format 'deltareplay'",
            code="spark.hidden_file",
            path=path,
        )
    from pyspark.sql import functions as sf

    from deltareplay.spark.relation import of_file, struct_type

    schema = struct_type(fields)
    if len(files) == 0:
        empty = [one.json for one in files.constants]
        if numbered:
            empty.append(field(ROW_NUMBER, "long"))
        return spark.createDataFrame([], struct_type([*fields, *empty]))
    listed: list[Any] = files.paths.to_pylist()
    paths = [re.sub(r"([\[\]{}*?\\])", r"\\\1", path) for path in listed]
    scan = spark.read.schema(schema).parquet(*paths)
    columns = [sf.col(quoted(one["name"])) for one in fields]
    if numbered:
        columns.append(of_file(scan, "row_index").alias(ROW_NUMBER))
    if not files.constants:
        return scan.select(*columns)
    rows = pa.table(
        [files.paths, *(one.values for one in files.constants)],
        names=[_KEY, *(one.name for one in files.constants)],
    )
    types = struct_type([{"name": _KEY, "type": "string", "nullable": False, "metadata": {}}])
    for one in struct_type([one.json for one in files.constants]):
        types = types.add(one)
    known = spark.createDataFrame(rows, types)
    found = normal_path(of_file(scan, "file_path")).alias(_KEY)
    known = sf.broadcast(known.withColumn(_KEY, normal_path(sf.col(_KEY))))
    return scan.select(*columns, found).join(known, _KEY).drop(_KEY)


def normal_path(path: Any) -> Any:
    """A column of paths without the ways in which Hadoop writes ``file:`` differently."""
    from pyspark.sql import functions as sf

    return sf.regexp_replace(path, "^file:/+", "/")
