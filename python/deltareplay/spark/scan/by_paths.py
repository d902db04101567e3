"""Passes a list of files to Spark through its public API, e.g. on Spark Connect.

Spark looks up each path. Constants are joined by the file's path, with a broadcast.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from unicodedata import category
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay._protocol.schema import Field
from deltareplay.exceptions import UnsupportedFeatureError
from deltareplay.spark.scan import file_metadata
from deltareplay.spark.scan.files import Constant, Files
from deltareplay.spark.scan.hidden_columns import PATH, ROW_NUMBER, SCANNED_PATH
from deltareplay.spark.schema.fields import READ_OPTIONS, struct_type
from deltareplay.spark.schema.frames import from_arrow
from deltareplay.spark.storage.hadoop_path import glob_escaped
from deltareplay.spark.syntax.names import quoted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Characters that Java's ``URI`` does not encode in a path, besides ASCII letters and digits.
_LEGAL = "/,;:$&+=@!~*'()_-."

#: Names that Spark's ``HadoopFSUtils.shouldFilterOutPathName`` leaves out; ``=`` exempts names that
#: begin with an underscore, and no others.
_HIDDEN = r"/(\.[^/]*|_[^/=]*|[^/]*\._COPYING_)$"


def frame(spark: SparkSession, files: Files, fields: list[Field], numbered: bool) -> DataFrame:
    """Return the DataFrame that ``relation.relation`` describes."""
    hidden = pc.match_substring_regex(files.paths, _HIDDEN)
    if pc.any(hidden, min_count=0).as_py():
        path = files.paths.filter(hidden)[0].as_py()
        raise UnsupportedFeatureError(
            "Spark ignores files whose names begin with a dot or an underscore, or end with "
            "._COPYING_: read this table on classic Spark, or with the format 'deltareplay'",
            code="spark.hidden_file",
            path=path,
        )
    from pyspark.sql import functions as sf

    schema = struct_type(fields)
    if len(files) == 0:
        added = [constant.field for constant in files.constants]
        if numbered:
            added.append(Field(ROW_NUMBER, "long"))
        return spark.createDataFrame([], struct_type([*fields, *added]))
    paths: list[Any] = files.paths.to_pylist()
    options = {**READ_OPTIONS, **files.credentials.options_for(spark)}
    scan = spark.read.options(**options).schema(schema).parquet(*map(glob_escaped, paths))
    columns = [sf.col(quoted(column.name)) for column in fields]
    if numbered:
        columns.append(file_metadata.field(scan, "row_index").alias(ROW_NUMBER))
    if not files.constants:
        return scan.select(*columns)
    keys = pa.array(map(as_metadata_path, paths), pa.string())
    keyed = [Constant.of(PATH, "string", keys), *files.constants]
    rows = pa.table({constant.name: constant.values for constant in keyed})
    constants = from_arrow(spark, rows, struct_type(constant.field for constant in keyed))
    path = sf.regexp_replace(file_metadata.field(scan, "file_path"), "^file:/+", "file:/")
    joined = scan.select(*columns, path.alias(SCANNED_PATH)).join(
        sf.broadcast(constants), sf.col(SCANNED_PATH) == sf.col(PATH), "left"
    )
    # otherwise rows whose path matches no file would silently have null constants; the condition
    # is true or raises the error
    message = sf.concat(sf.lit("deltareplay does not recognise the file "), sf.col(SCANNED_PATH))
    recognised = sf.coalesce(sf.col(PATH), sf.raise_error(message).cast("string"))
    return joined.where(sf.length(recognised) > 0).drop(PATH, SCANNED_PATH)


def as_metadata_path(path: str) -> str:
    """Return a decoded path, encoded as in ``_metadata.file_path``, with one slash after ``file:``.

    >>> as_metadata_path("file:///t/p=a b%/\u00e4+[1].parquet")
    'file:/t/p=a%20b%25/\u00e4+%5B1%5D.parquet'
    """
    path = re.sub("^file:/+", "file:/", path)
    return "".join(
        character if _is_other(character) else quote(character, safe=_LEGAL) for character in path
    )


def _is_other(character: str) -> bool:
    """Return whether ``java.net.URI`` puts a character in its category "other".

    These are the non-ASCII characters except control and space characters.
    """
    return character > "\x7f" and category(character) not in ("Cc", "Zs", "Zl", "Zp")
