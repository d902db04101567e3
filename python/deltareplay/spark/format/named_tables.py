"""Writes and streams by the name of a Delta table, which the function ``write`` runs.

Spark does not pass the path of a named table on to Python data sources, so PySpark's writers, which
``register`` extends, call these functions instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deltareplay._support.uris import without_secrets
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.catalog import lookup, registration
from deltareplay.spark.definition.definition import (
    Definition,
    Mode,
    check_hides_no_files,
    execute,
)
from deltareplay.spark.dml.statement import analyzed, as_column
from deltareplay.spark.format import batch_writes
from deltareplay.spark.format.options import normalized_mode
from deltareplay.spark.scan.skipping import column_sql
from deltareplay.spark.scan.table_alias import TableAlias, aliased
from deltareplay.spark.schema.fields import struct_type
from deltareplay.spark.session import capabilities
from deltareplay.spark.storage.hadoop_path import root_in_spark
from deltareplay.spark.syntax import names
from deltareplay.spark.writing.target_table import TargetTable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from deltareplay._table.table import Table
    from deltareplay.spark.catalog.lookup import CatalogEntry

#: A placeholder for the path in the options; the catalog has the path of the table.
_NO_PATH = "/"

#: The options of ``create``, and the properties of Spark among those of a table.
_CREATING = {"path", "mergeSchema", "overwriteSchema", "userMetadata", "delta.<property>"}
_OWN = ("location", "comment")


def insert(
    df: DataFrame, name: str, options: Mapping[str, str], mode: str | None, *, by_name: bool
) -> None:
    """Add rows to a table, or replace its rows, as ``INSERT`` does.

    Args:
        df: The rows, which are cast to the types of the table.
        name: The name of the table.
        options: The options of the writer.
        mode: ``overwrite``, or ``dynamic``, which replaces the partitions of the rows. As in Spark,
            all other modes append.
        by_name: Whether columns are matched by name instead of position.

    Raises:
        TableNotFoundError: There is no such table.
    """
    snapshot = lookup.find(df.sparkSession, names.table_parts(name)).table().snapshot()
    if mode == "dynamic":
        options, mode = {**options, "partitionOverwriteMode": mode}, "overwrite"
    overwrites = mode is not None and mode.lower() == "overwrite"
    values = _parsed(options)
    mode = "overwrite" if overwrites else "append"
    batch_writes.run(df, snapshot, values, mode, align="name" if by_name else "position")


def overwrite(
    df: DataFrame, name: str, options: Mapping[str, str], condition: str | Column
) -> None:
    """Replace the rows of a table that satisfy a condition; all new rows must satisfy it.

    Args:
        df: The rows, which are matched by name and cast to the types of the table.
        name: The name of the table.
        options: The options of the writer.
        condition: The condition.

    Raises:
        DeltaReplayError: As by ``insert``; ``statement.expression``: Spark cannot resolve the
            condition, or it cannot be written as SQL.
    """
    spark = df.sparkSession
    snapshot = lookup.find(spark, names.table_parts(name)).table().snapshot()
    empty = spark.createDataFrame([], struct_type(TargetTable.of(snapshot).fields))
    column = as_column(condition)
    text = column_sql(column, analyzed(lambda: empty.where(column)))
    if text is None:
        raise InvalidArgumentError(
            f"the condition {column} cannot be written as SQL: pass sf.expr('...')",
            code="statement.expression",
        )
    is_true = text.lower() == "true"
    changed = {"partitionOverwriteMode": "static"} if is_true else {"replaceWhere": text}
    insert(df, name, {**options, **changed}, "overwrite", by_name=True)


def create(
    df: DataFrame,
    name: str,
    options: Mapping[str, str],
    mode: Mode,
    properties: Mapping[str, str],
    partition_by: Sequence[Column] = (),
    cluster_by: Sequence[str] = (),
) -> None:
    """Create or replace a table with these rows, as ``CREATE TABLE ... AS`` does.

    Args:
        df: The rows.
        name: The name of the table.
        options: The options of the writer.
        mode: What to do if the table exists, and if it does not.
        properties: Table properties, and those of Spark: ``location`` and ``comment``.
        partition_by: The partition columns.
        cluster_by: The clustering columns.

    Raises:
        InvalidArgumentError: ``option.write``: an option does not apply to a new table; or as by
            ``definition.create``.
        UnsupportedFeatureError: ``sql.create``: a partition column is an expression; or as by
            ``definition.create``.
        DeltaReplayError: As by ``definition.create``.
    """
    values = _parsed(options)
    unknown = values.keys() - _CREATING
    if unknown or values.get("overwriteSchema") is False:
        raise InvalidArgumentError(
            f"{', '.join(sorted(unknown) or ['overwriteSchema'])} does not apply to create, "
            "replace and createOrReplace: leave it out",
            code="option.write",
        )
    columns = df.select(*partition_by).columns
    if not {*map(str.lower, columns)} <= {*map(str.lower, df.columns)}:
        raise UnsupportedFeatureError(
            f"partitionedBy({', '.join(columns)}) is not supported for Delta tables: name columns; "
            "instead of an expression, name a generated column",
            code="sql.create",
        )
    own = {key.lower(): text for key, text in properties.items()}
    definition = Definition(
        mode,
        name,
        location=own.get("location"),
        comment=own.get("comment"),
        partition_by=columns,
        cluster_by=list(cluster_by),
        properties=values.get("delta.<property>", {})
        | {key: text for key, text in properties.items() if key.lower() not in _OWN},
        query=df,
        user_metadata=values.get("userMetadata"),
    )
    execute(df.sparkSession, definition)


def save(
    df: DataFrame,
    name: str,
    options: Mapping[str, str],
    mode: str | None,
    partition_by: Sequence[str] | None,
) -> None:
    """Write rows into a table, which is created if the catalog does not have it.

    Args:
        df: The rows, whose columns are matched by name.
        name: The name of the table.
        options: The options of the writer.
        mode: The mode of the writer; by default, an existing table is an error.
        partition_by: The partition columns.

    Raises:
        InvalidArgumentError: ``definition.place``: the catalog has the table at another path than
            the option ``path``.
    """
    mode = normalized_mode(mode)
    path = _path_option(options)
    if path is None:
        _write(df, name, options, mode, partition_by)
        return
    spark, parts = df.sparkSession, names.table_parts(name)
    registration.check_takes_delta(spark)
    table = lookup.at_path(registration.new_location(spark, parts, path))
    entry = lookup.find(spark, parts)
    if not entry.exists:
        _write(df, table, options, mode, partition_by)
        registration.add(spark, parts, table)
        return
    if entry.table().uri.rstrip("/") != table.uri.rstrip("/"):
        raise InvalidArgumentError(
            f"the table {name} is at {without_secrets(entry.table().uri)}, not at "
            f"{without_secrets(table.uri)}: leave the option path out",
            code="definition.place",
        )
    _write(df, entry.table(), options, mode, partition_by)


def streamed(
    spark: SparkSession,
    name: str,
    schema: Any,
    options: Mapping[str, str],
    partition_by: Sequence[str] | None,
) -> str:
    """Return the path of the table that a stream writes; it is created if it does not exist.

    Args:
        spark: The session.
        name: The name of the table.
        schema: The schema of the rows.
        options: The options of the writer. A new table has the properties and the path in them.
        partition_by: The partition columns of a new table.

    Raises:
        InvalidArgumentError: ``definition.files``: a new table would hide other files.
    """
    definition = {
        key: text
        for key, text in options.items()
        if key.startswith("delta.") or key.lower() == "path"
    }
    parts = names.table_parts(name)
    entry = lookup.find(spark, parts)
    if entry.is_path:
        check_hides_no_files(entry.table())
    elif not entry.exists:
        location = registration.new_location(spark, parts, _path_option(options))
        check_hides_no_files(lookup.at_path(location))
    save(spark.createDataFrame([], schema), name, definition, "ignore", partition_by)
    return _path(lookup.find(spark, parts))


def check_format(
    spark: SparkSession, name: str, source: str, options: Mapping[str, str], mode: str | None
) -> None:
    """Check that ``saveAsTable`` in another format does not write into a Delta table.

    As in delta-spark, rows cannot be appended. They may replace the table, unless Spark would drop
    it from the catalog and then fail, because its files stay where those of the new table would be.

    Raises:
        InvalidArgumentError: ``option.write``.
    """
    mode = (mode or "").lower()
    if mode not in ("append", "overwrite") or capabilities.has_delta(spark):
        return
    parts = names.table_parts(name)
    entry = lookup.find(spark, parts)
    if not entry.is_delta:
        return
    if mode == "overwrite":
        if any(key.lower() == "path" for key in options):
            return
        default = lookup.at_path(registration.new_location(spark, parts, None))
        if default.uri.rstrip("/") != entry.table().uri.rstrip("/"):
            return
    raise wrong_format(name, source)


def wrong_format(name: str, source: str) -> InvalidArgumentError:
    """Return the error for rows of another format that are written into a Delta table."""
    return InvalidArgumentError(
        f"the table {name} is a Delta table, and the format of the rows is {source}: write them "
        "with format('delta'), or into another table",
        code="option.write",
    )


def path_of(spark: SparkSession, name: str) -> str | None:
    """Return the path of a Delta table of the catalog; None for tables that Spark opens itself."""
    entry = entry_of(spark, name)
    return None if entry is None else _path(entry)


def entry_of(spark: SparkSession, name: str) -> CatalogEntry | None:
    """Return the catalog's entry of a Delta table; None for tables that Spark opens itself."""
    if capabilities.has_delta(spark):
        return None
    try:
        parts = names.table_parts(name)
    except InvalidArgumentError:  # Spark says what is wrong with the name
        return None
    entry = lookup.find(spark, parts)
    return entry if entry.is_delta else None


def options_of(entry: CatalogEntry) -> dict[str, str]:
    """Return the options of a read of a Delta table."""
    roots = entry.allowed_roots
    return {
        "path": _path(entry),
        **({"allowedRoots": lookup.roots_option(roots)} if roots else {}),
    }


def aliased_rows(rows: DataFrame, entry: CatalogEntry) -> DataFrame:
    """Return rows of a table of the catalog whose columns may have its name: ``orders.id``."""
    return rows if entry.is_path else aliased(rows, TableAlias.of(entry.qualified_parts))


def _path_option(options: Mapping[str, str]) -> str | None:
    return next((text for key, text in options.items() if key.lower() == "path"), None)


def _path(entry: CatalogEntry) -> str:
    return root_in_spark(entry.table().uri, None)


def _write(
    df: DataFrame,
    table: Table | str,
    options: Mapping[str, str],
    mode: str,
    partition_by: Sequence[str] | None = None,
) -> None:
    # as in delta-spark, rows are cast only if they are appended
    align: batch_writes.Align | None = "name" if mode == "append" else None
    batch_writes.run(df, table, _parsed(options), mode, partition_by, align=align)


def _parsed(options: Mapping[str, str]) -> dict[str, Any]:
    values = batch_writes.parsed({"path": _NO_PATH, **options})
    for option in ("storage.<key>", "allowedRoots"):
        if option in values:
            raise InvalidArgumentError(
                f"the catalog has the location of a named table, so {option} cannot be set: use "
                "save(path)",
                code="option.write",
            )
    return values
