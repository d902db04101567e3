"""Passes session settings to the formats, by an option that is added to each write.

Spark drops ``partitionBy`` of a stream, and a Python worker sees no settings of the session. So
``register`` extends PySpark's writers: for these formats, they add an option. Spark refuses
``partitionBy`` of a batch and the modes ``error`` and ``ignore``, so the writers check whether the
table exists, and then append. Spark does not pass on the path of a named table either, so writes by
name call ``write``, and reads by name ``read``. Writes that replace some rows call ``write``, too,
as they run Spark jobs before they commit. Streams by name, and reads with options, get the path of
the table.
"""

from __future__ import annotations

import functools
import inspect
import json
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from deltareplay._table.write import MODES, is_kept
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.definition.definition import Mode
from deltareplay.spark.format import batch_writes, named_tables
from deltareplay.spark.format.options import (
    NO_PATH,
    SESSION,
    Use,
    normalized_mode,
    parse,
    replaces_rows,
    table,
)
from deltareplay.spark.scan.read import read
from deltareplay.spark.session import capabilities, internals, settings
from deltareplay.spark.session.errors import raises_analysis_errors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The formats that a session of this process knows.
_formats: set[str] = set()

#: PySpark's classes of batch writers that are extended: classic, Connect, or both.
_extended: set[type] = set()
_extending = threading.Lock()

#: The methods of ``df.writeTo(name)`` that create a table, and what they do if it exists.
_CREATING: dict[str, Mode] = {
    "create": "create",
    "replace": "replace",
    "createOrReplace": "create_or_replace",
}

#: Attributes of a writer for settings that PySpark keeps in the JVM.
_FORMAT, _PARTITIONS = "_deltareplay_format", "_deltareplay_partitions"
_LAYOUT = "_deltareplay_layout"
_MODE, _OPTIONS, _TABLE = "_deltareplay_mode", "_deltareplay_options", "_deltareplay_table"
_SAVE_MODE = "_deltareplay_save_mode"
_CLUSTERS, _PROPERTIES = "_deltareplay_clusters", "_deltareplay_properties"


def extend_writers(spark: SparkSession, name: str) -> None:
    """Extend PySpark's writers, classic or Connect, to pass settings on to a format."""
    _formats.add(name)
    if capabilities.is_classic(spark):
        from pyspark.sql import readwriter, session
        from pyspark.sql.streaming import readwriter as streaming
    else:
        from pyspark.sql.connect import readwriter, session
        from pyspark.sql.connect.streaming import readwriter as streaming
    with _extending:
        if readwriter.DataFrameWriter not in _extended:
            _extended.add(readwriter.DataFrameWriter)
            _extend(readwriter.DataFrameWriter, "save")
            _save(readwriter.DataFrameWriter)
            _extend(streaming.DataStreamWriter, "start")
            _by_name(readwriter.DataFrameWriter, "insertInto", _insert_into)
            _by_name(readwriter.DataFrameWriter, "saveAsTable", _save_as_table)
            _stream_by_name(streaming)
            _read_by_name(readwriter.DataFrameReader, session.SparkSession)
            verbs = readwriter.DataFrameWriterV2
            _keep_table(verbs)
            _keep_options(verbs)
            _by_name(verbs, "append", _append)
            _by_name(verbs, "overwritePartitions", functools.partial(_append, mode="dynamic"))
            _overwrite(verbs)
            for verb, mode in _CREATING.items():
                _create(verbs, verb, mode)


def _record(kind: Any, name: str, note: Callable[..., None]) -> None:
    """Let a method of a writer also note its arguments, which PySpark keeps in the JVM."""
    method = getattr(kind, name)

    @functools.wraps(method)
    def recording(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = method(self, *args, **kwargs)
        note(self, *args, **kwargs)
        return result

    setattr(kind, name, recording)


def _note_format(writer: Any, source: str) -> None:
    setattr(writer, _FORMAT, source)


def _note_provider(writer: Any, provider: str) -> None:
    _note_format(writer, provider)


def _note_partitions(writer: Any, *cols: Any) -> None:
    names = cols[0] if len(cols) == 1 and isinstance(cols[0], (list, tuple)) else cols
    setattr(writer, _PARTITIONS, list(names))


def _note_clusters(writer: Any, *cols: str) -> None:
    setattr(writer, _CLUSTERS, list(cols))


def _note_property(writer: Any, property: str, value: str) -> None:  # noqa: A002 PySpark's name
    setattr(writer, _PROPERTIES, getattr(writer, _PROPERTIES, {}) | {property: value})


def _note_layout(writer: Any, *_args: Any, method: str, **_options: Any) -> None:
    setattr(writer, _LAYOUT, method)


def _note_mode(writer: Any, saveMode: str | None) -> None:  # noqa: N803 PySpark's name
    if saveMode is not None:  # None leaves the mode unchanged, as in PySpark
        setattr(writer, _MODE, saveMode)


def _note_option(writer: Any, key: str, value: Any) -> None:
    _note_options(writer, **{key: value})


def _note_options(writer: Any, /, **options: Any) -> None:
    setattr(writer, _OPTIONS, getattr(writer, _OPTIONS, {}) | _texts(options))


def _extend(kind: Any, name: str) -> None:
    """Record the calls of a writer, and add the option in the method that starts the write."""
    _record(kind, "format", _note_format)
    _record(kind, "partitionBy", _note_partitions)
    for layout in ("clusterBy", "bucketBy", "sortBy"):
        if hasattr(kind, layout):
            _record(kind, layout, functools.partial(_note_layout, method=layout))
    _keep_options(kind)
    method = getattr(kind, name)
    signature = inspect.signature(method)

    @raises_analysis_errors
    @functools.wraps(method)
    def extended(self: Any, *args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(self, *args, **kwargs)
        for argument, setter in (("format", self.format), ("partitionBy", self.partitionBy)):
            value = bound.arguments.pop(argument, None)
            if value is not None:
                setter(value)
        _add_option(self, is_stream=name == "start")
        return method(*bound.args, **bound.kwargs)

    setattr(kind, name, extended)


def _save(kind: Any) -> None:
    """Extend ``save`` to replace matching rows, and to create tables in the modes for that."""
    _record(kind, "mode", _note_mode)
    save = kind.save
    signature = inspect.signature(save)

    @raises_analysis_errors
    @functools.wraps(save)
    def saving(self: Any, *args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(self, *args, **kwargs)
        arguments = bound.arguments
        if not _is_registered(self, arguments.get("format")):
            return save(self, *args, **kwargs)
        options = _options_of(self, arguments) | _texts({"path": arguments.get("path")})
        save_mode = _mode_of(self, arguments)
        mode = normalized_mode(save_mode)
        if replaces_rows(options) or (mode == "overwrite" and _replaces_where(self, options)):
            _refuse_layout(self)
            partitions = _partitions_of(self, arguments)
            batch_writes.save(internals.frame_of(self), options, mode, partitions)
            return None
        if mode not in ("error", "ignore"):
            return save(self, *args, **kwargs)
        target = table(parse(options, Use.WRITE))
        if target.native.exists() and is_kept(target.uri, mode):
            return None
        arguments["mode"] = "append"
        mode_before = getattr(self, _MODE, None)
        setattr(self, _SAVE_MODE, MODES[mode])
        try:
            return save(*bound.args, **bound.kwargs)
        finally:
            setattr(self, _MODE, mode_before)
            setattr(self, _SAVE_MODE, None)

    kind.save = saving


def _replaces_where(writer: Any, options: Mapping[str, str]) -> bool:
    """Return whether ``replaceWhere`` is set, and the session can run the function ``write``."""
    spark = internals.session_of(writer)
    can_run = capabilities.is_classic(spark) or hasattr(spark, "cloneSession")
    return can_run and any(key.lower() == "replacewhere" for key in options)


def _keep_options(kind: Any) -> None:
    """Record the options of a writer."""
    _record(kind, "option", _note_option)
    _record(kind, "options", _note_options)


def _texts(options: Mapping[str, Any]) -> dict[str, str]:
    """Return options as the strings that Spark passes on."""
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in options.items()
        if value is not None
    }


def _options_of(writer: Any, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the options of a writer and of the call that starts the write."""
    return getattr(writer, _OPTIONS, {}) | _texts(arguments.get("options", {}))


def _mode_of(writer: Any, arguments: Mapping[str, Any]) -> str | None:
    return arguments.get("mode") or getattr(writer, _MODE, None)


def _partitions_of(writer: Any, arguments: Mapping[str, Any]) -> list[str] | None:
    partitions = arguments.get("partitionBy") or getattr(writer, _PARTITIONS, None)
    return [partitions] if isinstance(partitions, str) else partitions


def _keep_table(kind: Any) -> None:
    """Record the name of the table of ``writeTo``, and its format."""
    signature = inspect.signature(kind.__init__)

    def note_table(writer: Any, *args: Any, **kwargs: Any) -> None:
        setattr(writer, _TABLE, signature.bind(writer, *args, **kwargs).arguments["table"])

    _record(kind, "__init__", note_table)
    _record(kind, "using", _note_provider)
    _record(kind, "tableProperty", _note_property)
    _record(kind, "partitionedBy", _note_partitions)
    if hasattr(kind, "clusterBy"):
        _record(kind, "clusterBy", _note_clusters)


def _by_name(kind: Any, name: str, write: Callable[[Any, Mapping[str, Any]], None]) -> None:
    """Let a method that takes the name of a table write into Delta tables."""
    method = getattr(kind, name)
    signature = inspect.signature(method)

    @raises_analysis_errors
    @functools.wraps(method)
    def named(self: Any, *args: Any, **kwargs: Any) -> Any:
        arguments = signature.bind(self, *args, **kwargs).arguments
        if "format" in signature.parameters:
            if _is_registered(self, arguments.get("format")):  # before the catalog gets a name
                return write(self, arguments)
            named_tables.check_format(
                internals.session_of(self),
                arguments["name"],
                _format(self, arguments.get("format")),
                _options_of(self, arguments),
                _mode_of(self, arguments),
            )
        try:
            return method(self, *args, **kwargs)
        except Exception as error:  # raised for every Delta table if there is no jar
            table = arguments.get("tableName") or arguments.get("name") or getattr(self, _TABLE)
            is_delta = NO_PATH in str(error)
            if not is_delta and named_tables.path_of(internals.session_of(self), table) is None:
                raise
        return write(self, arguments)

    setattr(kind, name, named)


def _insert_into(writer: Any, arguments: Mapping[str, Any]) -> None:
    overwrites, mode = arguments.get("overwrite"), getattr(writer, _MODE, None)
    if overwrites is not None:
        mode = "overwrite" if overwrites else "append"
    frame, options = internals.frame_of(writer), getattr(writer, _OPTIONS, {})
    named_tables.insert(frame, arguments["tableName"], options, mode, by_name=False)


def _append(writer: Any, _arguments: Mapping[str, Any], mode: str = "append") -> None:
    frame, options = internals.frame_of(writer), getattr(writer, _OPTIONS, {})
    named_tables.insert(frame, getattr(writer, _TABLE), options, mode, by_name=True)


def _save_as_table(writer: Any, arguments: Mapping[str, Any]) -> None:
    _refuse_layout(writer)
    named_tables.save(
        internals.frame_of(writer),
        arguments["name"],
        _options_of(writer, arguments),
        _mode_of(writer, arguments),
        _partitions_of(writer, arguments),
    )


def _overwrite(kind: Any) -> None:
    """Let ``overwrite`` of ``writeTo`` write into Delta tables."""
    method = kind.overwrite

    @raises_analysis_errors
    @functools.wraps(method)
    def overwrite(self: Any, condition: Any) -> Any:
        table = getattr(self, _TABLE)
        if named_tables.path_of(internals.session_of(self), table) is None:
            return method(self, condition)
        options = getattr(self, _OPTIONS, {})
        return named_tables.overwrite(internals.frame_of(self), table, options, condition)

    kind.overwrite = overwrite


def _create(kind: Any, name: str, mode: Mode) -> None:
    """Let a verb of ``writeTo`` create or replace Delta tables."""
    method = getattr(kind, name)

    @raises_analysis_errors
    @functools.wraps(method)
    def create(self: Any) -> Any:
        table = getattr(self, _TABLE)
        if not _is_registered(self, None):
            if named_tables.path_of(internals.session_of(self), table) is not None:
                raise named_tables.wrong_format(table, _format(self, None))  # Spark would drop it
            return method(self)
        return named_tables.create(
            internals.frame_of(self),
            table,
            getattr(self, _OPTIONS, {}),
            mode,
            getattr(self, _PROPERTIES, {}),
            getattr(self, _PARTITIONS, ()),
            getattr(self, _CLUSTERS, ()),
        )

    setattr(kind, name, create)


def _stream_by_name(streaming: Any) -> None:
    """Extend ``toTable`` and ``readStream.table``, which get the path of a Delta table."""
    writer, reader = streaming.DataStreamWriter, streaming.DataStreamReader
    to_table, table = writer.toTable, reader.table
    signature = inspect.signature(to_table)

    @raises_analysis_errors
    @functools.wraps(to_table)
    def toTable(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N802 PySpark's name
        arguments = dict(signature.bind(self, *args, **kwargs).arguments)
        del arguments["self"]
        spark, name = internals.session_of(self), arguments.pop("tableName")
        if _is_registered(self, arguments.get("format")):
            _refuse_layout(self)
            path: str | None = named_tables.streamed(
                spark,
                name,
                internals.streamed_schema(self),
                _options_of(self, arguments),
                _partitions_of(self, arguments),
            )
        else:
            path = named_tables.path_of(spark, name)
            if path is None:
                return to_table(self, *args, **kwargs)
            if arguments.get("format") or getattr(self, _FORMAT, None):
                raise named_tables.wrong_format(name, _format(self, arguments.get("format")))
            arguments["format"] = _own_format()
        options = arguments.pop("options", {}).items()
        options = {key: value for key, value in options if key.lower() != "path"}
        if any(key.lower() == "path" for key in getattr(self, _OPTIONS, {})):
            return self.start(**options, **arguments)  # Spark takes no other path beside this one
        return self.start(path, **options, **arguments)

    @raises_analysis_errors
    @functools.wraps(table)
    def named(self: Any, tableName: str) -> Any:  # noqa: N803 PySpark's name
        entry = named_tables.entry_of(internals.session_of_reader(self), tableName)
        if entry is None:
            return table(self, tableName)
        rows = self.format(_own_format()).options(**named_tables.options_of(entry)).load()
        return named_tables.aliased_rows(rows, entry)

    writer.toTable, reader.table = toTable, named


def _read_by_name(reader: Any, session: Any) -> None:
    """Extend ``spark.read.table`` and ``spark.table``, which read Delta tables by ``read``."""
    _keep_options(reader)
    reader_table = reader.table

    @raises_analysis_errors
    @functools.wraps(reader_table)
    def named(self: Any, tableName: str) -> Any:  # noqa: N803 PySpark's name
        spark = internals.session_of_reader(self)
        entry = named_tables.entry_of(spark, tableName)
        if entry is None:
            return reader_table(self, tableName)
        if getattr(self, _OPTIONS, {}):
            rows = self.format(_own_format()).options(**named_tables.options_of(entry)).load()
        else:
            rows = read(spark, entry.table())  # a name might be a relative path, too
        return named_tables.aliased_rows(rows, entry)

    @raises_analysis_errors
    @functools.wraps(session.table)
    def table(self: Any, tableName: str) -> Any:  # noqa: N803 PySpark's name
        return self.read.table(tableName)

    reader.table, session.table = named, table


def _own_format() -> str:
    """Return the format that the catalog's Delta tables have, if it is registered."""
    return "delta" if "delta" in _formats else next(iter(_formats))


def _refuse_layout(writer: Any) -> None:
    layout = getattr(writer, _LAYOUT, None)
    if layout is not None:  # Spark does not pass it to Python data sources
        raise InvalidArgumentError(
            f"{layout} is not passed on to Python data sources: create the table first, by "
            "DeltaTable.create(spark).clusterBy(...) or CREATE TABLE ... CLUSTER BY of "
            f"deltareplay.spark.sql, and write into it without {layout}",
            code="option.write",
        )


def _add_option(writer: Any, *, is_stream: bool) -> None:
    if not _is_registered(writer, None):
        return
    _refuse_layout(writer)
    settings_of = settings.write_options if is_stream else settings.batch_write_options
    values: dict[str, Any] = settings_of(internals.session_of(writer))
    partitions = getattr(writer, _PARTITIONS, None)
    if partitions:
        values["partitionBy"] = partitions
        if not is_stream:
            writer.partitionBy([])
            setattr(writer, _PARTITIONS, partitions)
    save_mode = getattr(writer, _SAVE_MODE, None)
    if save_mode is not None:
        values["saveMode"] = save_mode
    writer.option(SESSION, json.dumps(values))


def _is_registered(writer: Any, source: str | None) -> bool:
    """Return whether a writer, or the call itself, selects a registered format."""
    return _format(writer, source).lower() in _formats


def _format(writer: Any, source: str | None) -> str:
    """Return the format of a writer, or of the call itself."""
    source = source or getattr(writer, _FORMAT, None)
    if source is None:
        source = internals.session_of(writer).conf.get("spark.sql.sources.default")
    return str(source)
