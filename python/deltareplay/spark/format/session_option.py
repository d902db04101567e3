"""Passes session settings to the formats, by an option that is added to each write.

Spark drops ``partitionBy`` of a stream, and a Python worker sees no settings of the session. So
``register`` extends PySpark's writers: if the format is ours, they add an option. Writes by table
name, whose path Spark does not pass on either, raise an error with an alternative. Writes that
replace matching rows run Spark jobs before they commit, so they call ``write``.
"""

from __future__ import annotations

import copy
import functools
import inspect
import json
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.format import replacing
from deltareplay.spark.format.options import NO_PATH, SESSION, replaces_rows
from deltareplay.spark.session import capabilities, internals, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The formats that a session of this process knows.
_formats: set[str] = set()

#: The kinds of writers that are extended.
_extended: set[type] = set()
_extending = threading.Lock()

#: The methods of ``df.writeTo(name)`` that write.
_VERBS = ("append", "create", "createOrReplace", "overwrite", "overwritePartitions", "replace")

#: Attributes of a writer for settings that PySpark keeps in the JVM.
_FORMAT, _PARTITIONS = "_deltareplay_format", "_deltareplay_partitions"
_CLUSTERS = "_deltareplay_clusters"
_MODE, _OPTIONS = "_deltareplay_mode", "_deltareplay_options"


def pass_on(spark: SparkSession, name: str) -> None:
    """Extend the writers of this kind of session to pass settings on to a format."""
    _formats.add(name)
    if capabilities.is_classic(spark):
        from pyspark.sql import readwriter
        from pyspark.sql.streaming import readwriter as streaming
    else:
        from pyspark.sql.connect import readwriter
        from pyspark.sql.connect.streaming import readwriter as streaming
    with _extending:
        if readwriter.DataFrameWriter not in _extended:
            _extended.add(readwriter.DataFrameWriter)
            _extend(readwriter.DataFrameWriter, "save")
            _replace_rows(readwriter.DataFrameWriter)
            _extend(streaming.DataStreamWriter, "start")
            for name in ("insertInto", "saveAsTable"):
                _explain(readwriter.DataFrameWriter, name)
            _explain(streaming.DataStreamWriter, "toTable")
            for name in _VERBS:
                _explain(readwriter.DataFrameWriterV2, name)


def _extend(kind: Any, ends: str) -> None:
    """Record the calls of a writer, and add the option in the methods that end it."""
    set_format, set_partitions, end = kind.format, kind.partitionBy, getattr(kind, ends)
    signature = inspect.signature(end)

    @functools.wraps(set_format)
    def format(self: Any, source: str) -> Any:  # noqa: A001 PySpark's name
        setattr(self, _FORMAT, source)
        return set_format(self, source)

    @functools.wraps(set_partitions)
    def partitionBy(self: Any, *cols: Any) -> Any:  # noqa: N802 PySpark's name
        names = cols[0] if len(cols) == 1 and isinstance(cols[0], (list, tuple)) else cols
        setattr(self, _PARTITIONS, list(names))
        return set_partitions(self, *cols)

    if hasattr(kind, "clusterBy"):  # from Spark 4.0 on
        set_clusters = kind.clusterBy

        @functools.wraps(set_clusters)
        def clusterBy(self: Any, *cols: Any) -> Any:  # noqa: N802 PySpark's name
            setattr(self, _CLUSTERS, cols)
            return set_clusters(self, *cols)

        kind.clusterBy = clusterBy

    @functools.wraps(end)
    def ending(self: Any, *args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(self, *args, **kwargs)
        for name, setter in (("format", self.format), ("partitionBy", self.partitionBy)):
            value = bound.arguments.pop(name, None)
            if value is not None:
                setter(value)
        _add_option(self, is_stream=ends == "start")
        return end(*bound.args, **bound.kwargs)

    kind.format, kind.partitionBy = format, partitionBy
    setattr(kind, ends, ending)


def _replace_rows(kind: Any) -> None:
    """Extend ``save`` to replace matching rows, if an option requires it."""
    set_mode, set_option, set_options, save = kind.mode, kind.option, kind.options, kind.save
    signature = inspect.signature(save)

    @functools.wraps(set_mode)
    def mode(self: Any, saveMode: str | None) -> Any:  # noqa: N803 PySpark's name
        if saveMode is not None:  # PySpark keeps the mode then
            setattr(self, _MODE, saveMode)
        return set_mode(self, saveMode)

    @functools.wraps(set_option)
    def option(self: Any, key: str, value: Any) -> Any:
        _keep(self, {key: value})
        return set_option(self, key, value)

    @functools.wraps(set_options)
    def options(self: Any, **options: Any) -> Any:
        _keep(self, options)
        return set_options(self, **options)

    @functools.wraps(save)
    def saving(self: Any, *args: Any, **kwargs: Any) -> Any:
        arguments = signature.bind(self, *args, **kwargs).arguments
        more = {"path": arguments.get("path"), **arguments.get("options", {})}
        merged = getattr(self, _OPTIONS, {}) | _texts(more)
        if not (replaces_rows(merged) and _is_ours(self, arguments.get("format"))):
            return save(self, *args, **kwargs)
        save_mode = arguments.get("mode") or getattr(self, _MODE, None)
        replacing.save(internals.frame_of(self), merged, save_mode)
        return None

    kind.mode, kind.option, kind.options, kind.save = mode, option, options, saving


def _keep(writer: Any, options: Mapping[str, Any]) -> None:
    setattr(writer, _OPTIONS, getattr(writer, _OPTIONS, {}) | _texts(options))


def _texts(options: Mapping[str, Any]) -> dict[str, str]:
    """Return options as the strings that Spark passes on."""
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in options.items()
        if value is not None
    }


def _explain(kind: Any, name: str) -> None:
    """Let a method that takes the name of a table raise an error with an alternative."""
    method = getattr(kind, name)
    signature = inspect.signature(method)
    instead = InvalidArgumentError(
        "call deltareplay.spark.write(df, name), or deltareplay.spark.sql(spark, 'INSERT INTO "
        f"name ...'), instead of {name}: {NO_PATH}",
        code="option.path",
    )

    @functools.wraps(method)
    def explained(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "format" in signature.parameters:  # before the catalog gets a name
            source = signature.bind(self, *args, **kwargs).arguments.get("format")
            if _is_ours(self, source):
                raise copy.copy(instead)
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            if NO_PATH not in str(error):
                raise
            raise copy.copy(instead) from error

    setattr(kind, name, explained)


def _add_option(writer: Any, *, is_stream: bool) -> None:
    if not _is_ours(writer, None):
        return
    if hasattr(writer, _CLUSTERS):  # Spark does not pass it to Python data sources
        raise InvalidArgumentError(
            "clusterBy is not passed on to Python data sources: create the table first, by "
            "DeltaTable.create(spark).clusterBy(...) or CREATE TABLE ... CLUSTER BY of "
            "deltareplay.spark.sql, and write into it without clusterBy",
            code="option.write",
        )
    settings_of = settings.of_writes if is_stream else settings.of_batch_writes
    values: dict[str, Any] = settings_of(internals.session_of(writer))
    partitions = getattr(writer, _PARTITIONS, None)
    if is_stream and partitions:
        values["partitionBy"] = partitions
    writer.option(SESSION, json.dumps(values))


def _is_ours(writer: Any, source: str | None) -> bool:
    """Return whether a writer, or the call itself, selects one of our formats."""
    source = source or getattr(writer, _FORMAT, None)
    if source is None:
        source = internals.session_of(writer).conf.get("spark.sql.sources.default")
    return str(source).lower() in _formats
