"""Queries that Spark runs, with Delta tables that deltareplay reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deltareplay._protocol.properties import is_on
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.catalog import lookup, registration
from deltareplay.spark.catalog.table_argument import table_of
from deltareplay.spark.catalog.timestamps import evaluate_timestamp
from deltareplay.spark.query import change_functions, metadata_column, target_views
from deltareplay.spark.query.table_references import TableReference, references_in
from deltareplay.spark.scan import file_metadata
from deltareplay.spark.scan.projection import ExtraColumns
from deltareplay.spark.scan.read import rows_of
from deltareplay.spark.scan.skipping import skipping_filter
from deltareplay.spark.schema.fields import columns_of
from deltareplay.spark.schema.frames import empty_frame
from deltareplay.spark.session import capabilities
from deltareplay.spark.syntax import names, qualifiers
from deltareplay.spark.syntax.parser import QUERY_BEGINNINGS, ConstantExpression, Name, Parser
from deltareplay.spark.syntax.tokens import Token

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._expressions.filters import Filter
    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay.spark.catalog.lookup import CatalogEntry


def run(spark: SparkSession, text: str) -> DataFrame:
    """Run a query or statement by Spark, with Delta tables by path and by name.

    With delta-spark's jar, Spark reads them; otherwise as by ``run_on_snapshots``.
    """
    return spark.sql(text) if capabilities.has_delta(spark) else run_on_snapshots(spark, text)


def run_on_snapshots(spark: SparkSession, text: str) -> DataFrame:
    """Run a query whose Delta tables are replaced by snapshots that deltareplay reads.

    Raises:
        UnsupportedFeatureError: ``sql.view``: a view of the catalog keeps the text of its query.
    """
    view = _view(text) or _altered_view(spark, text)
    query = text if view is None or view.query is None else view.query
    query, frames = _with_frames(spark, query)
    if not frames:
        if view is not None and view.provider == "delta":
            registration.check_takes_delta(spark)
        return spark.sql(text)
    if view is None:
        _refuse_function(text)
        return spark.sql(query, **frames)
    if view.method is None:
        raise UnsupportedFeatureError(
            "without delta-spark's jar, Spark cannot open the Delta tables of a view in the "
            "catalog: use CREATE TEMPORARY VIEW name [(columns)] AS query, which stays at the "
            "current versions of the tables",
            code="sql.view",
        )
    name = _temporary_name(spark, view.name)
    if view.query is None or name is None:
        return spark.sql(text)  # raises an error: no temporary view has such a clause or name
    rows = spark.sql(query, **frames)
    if view.columns:
        rows = _renamed(rows, view.columns)
    getattr(rows, view.method)(names.quoted(name))
    if "Global" not in view.method and not view.columns:
        target_views.remember(spark, name, view.query, rows)
    return empty_frame(spark)


def _temporary_name(spark: SparkSession, name: Name) -> str | None:
    """Return the name of a temporary view without its schema; None if Spark does not take it."""
    schema = tuple(part.lower() for part in name[:-1])
    is_session = schema in (("session",), ("system", "session"))
    takes_schema = is_session and capabilities.version(spark) >= (4, 2)
    return name[-1] if takes_schema or len(name) == 1 else None


def _refuse_function(text: str) -> None:
    """Refuse a function with a query of Delta tables, which are temporary views here."""
    parser = Parser(text)
    if not parser.takes("CREATE"):
        return
    parser.takes("OR", "REPLACE")
    parser.takes("TEMPORARY")
    if parser.takes("FUNCTION"):
        raise UnsupportedFeatureError(
            "without delta-spark's jar, Spark cannot open the Delta tables of a function: use "
            "CREATE TEMPORARY VIEW for each table, and these views in a TEMPORARY FUNCTION",
            code="sql.view",
        )


def _renamed(rows: DataFrame, columns: list[tuple[str, str | None]]) -> DataFrame:
    """Rename all columns, and set the comments of those that have one."""
    from pyspark.sql import functions as sf

    rows = rows.toDF(*[name for name, _ in columns])
    if all(comment is None for _, comment in columns):
        return rows
    selected = []
    for name, comment in columns:
        column = sf.col(names.quoted(name))
        metadata = {"comment": comment}
        selected.append(column if comment is None else column.alias(name, metadata=metadata))
    return rows.select(*selected)


def _with_frames(spark: SparkSession, text: str) -> tuple[str, dict[str, DataFrame]]:
    """Replace the Delta tables of a query by names in braces; return it with their rows."""
    frames: dict[str, DataFrame] = {}
    snapshots: dict[tuple[Any, ...], Snapshot | None] = {}  # shared by all uses of a table
    parser = Parser(text)
    names_metadata = metadata_column.is_named(parser.tokens)
    with_metadata: dict[int, str] = {}
    references, column_edits = with_aliases(spark, parser.tokens, references_in(parser))
    edits = [(start, end, _escaped_braces(alias)) for start, end, alias in column_edits]
    for reference in references:
        name, alias = f"deltareplay_{len(frames)}", reference.alias
        if reference.changes is not None:
            changes = change_functions.rows(spark, reference.name[0], reference.changes)
            if changes is not None:
                frames[name] = changes
                edits += _replacement(reference, name, alias)
            continue
        key = (reference.name, reference.version, reference.timestamp)
        if key not in snapshots:
            snapshots[key] = _snapshot(spark, reference)
        snapshot = snapshots[key]
        if snapshot is None:
            continue
        metadata = names_metadata and reference.allows_metadata and _lacks_metadata(snapshot)
        if metadata:
            alias = alias or name
            with_metadata[reference.start] = alias
        frames[name] = _frame(spark, snapshot, reference, metadata=metadata)
        edits += _replacement(reference, name, alias)
    if with_metadata:
        exclusions = metadata_column.exclusions(text, parser.tokens, with_metadata)
        edits += [(index, index, _escaped_braces(clause)) for index, clause in exclusions]
    result, index = "", 0
    for start, end, replacement in sorted(edits):
        result += _escaped_braces(text[index:start]) + replacement
        index = end
    return result + _escaped_braces(text[index:]), frames


def _replacement(
    reference: TableReference, name: str, alias: str | None
) -> list[tuple[int, int, str]]:
    """Return the edits that replace a table by a frame."""
    edits = [(reference.start, reference.end, f"{{{name}}}")]
    if (index := reference.alias_position) is not None and alias is not None:
        edits.append((index, index, _escaped_braces(f" AS {names.quoted(alias)}")))
    return edits


def _lacks_metadata(snapshot: Snapshot) -> bool:
    """Return whether the table has no column of its own named ``_metadata``."""
    return all(column.name.lower() != file_metadata.NAME for column in columns_of(snapshot))


def with_aliases(
    spark: SparkSession, tokens: Sequence[Token], references: list[TableReference]
) -> tuple[list[TableReference], list[tuple[int, int, str]]]:
    """Give aliases to Delta tables whose names qualify columns, as in ``sales.orders.id``.

    Returns:
        The tables, and the edits of the query that replace these names by the aliases.
    """
    aliases: dict[Name, str] = {}
    entries = {
        reference.start: _entry(spark, reference)
        for reference in references
        if reference.alias_position is not None and reference.changes is None
    }
    result = []
    for reference in references:
        entry = entries.get(reference.start)
        if entry is not None and entry.is_delta:
            alias = _alias(entry, entries.values())
            table_aliases = qualifiers.aliases(entry.qualified_parts, alias)
            if qualifiers.edits(tokens, table_aliases):
                aliases |= table_aliases
                reference = replace(reference, alias=alias)
        result.append(reference)
    if not aliases:
        return references, []
    result = [
        replace(reference, where=qualifiers.with_aliases(reference.where, aliases))
        for reference in result
    ]
    starts = {reference.start for reference in references}
    edits = [edit for edit in qualifiers.edits(tokens, aliases) if edit[0] not in starts]
    return result, edits


def _alias(entry: CatalogEntry, others: Iterable[CatalogEntry | None]) -> str:
    """Return the last part of a name, or the full name if another table has the same last part."""
    table, name = entry.qualified_parts, entry.parts[-1]
    is_shared = any(
        other is not None
        and other.parts[-1].lower() == name.lower()
        and other.qualified_parts != table
        for other in others
    )
    return ".".join(table) if is_shared else name


def _entry(spark: SparkSession, reference: TableReference) -> CatalogEntry | None:
    """Look up a table of a query; return None for files of another format."""
    is_path = names.path_of(reference.name) is not None
    if not is_path and len(reference.name) > 1 and names.is_absolute(reference.name[-1]):
        return None
    return lookup.find(spark, reference.name)


def _snapshot(spark: SparkSession, reference: TableReference) -> Snapshot | None:
    """Return the snapshot that a query refers to; None if it is not of a Delta table."""
    entry = _entry(spark, reference)
    if entry is None or not entry.is_delta:
        return None
    return snapshot(spark, entry, reference.version, reference.timestamp)


def snapshot(
    spark: SparkSession,
    entry: CatalogEntry,
    version: int | None,
    timestamp: str | ConstantExpression | None,
) -> Snapshot:
    """Return the version that SQL names, also at the end of a path; by default the latest.

    Raises:
        InvalidArgumentError: ``argument.version``: a path has a version, and another is passed.
    """
    table = entry.table()
    split_path = lookup.split_time_travel(entry.parts[-1]) if entry.is_path else None
    if split_path is not None and not table.native.exists():
        if version is not None or timestamp is not None:
            raise InvalidArgumentError(
                f"{entry.parts[-1]} names a version, and so does the statement: leave out one of "
                "them",
                code="argument.version",
            )
        path, version, timestamp = split_path
        table = lookup.at_path(path)
    return table.snapshot(
        version, None if timestamp is None else evaluate_timestamp(spark, timestamp)
    )


def reads_of(spark: SparkSession, text: str, snapshot: Snapshot) -> list[Filter | None]:
    """Return a filter of the rows that each use of a table in a query reads; None for all rows.

    Past versions and changes of the table are left out: they stay as they are.
    """
    uri = table_of(snapshot).uri
    filters = []
    for reference in references_in(Parser(text)):
        if (reference.version, reference.timestamp, reference.changes) != (None, None, None):
            continue
        entry = _entry(spark, reference)
        if entry is not None and entry.is_delta and entry.table().uri == uri:
            filters.append(_filter(spark, snapshot, reference))
    return filters


def _filter(spark: SparkSession, snapshot: Snapshot, reference: TableReference) -> Filter | None:
    return skipping_filter(
        reference.where, spark, snapshot, reference.alias, joined=reference.is_joined
    )


def _frame(
    spark: SparkSession, snapshot: Snapshot, reference: TableReference, *, metadata: bool = False
) -> DataFrame:
    filter = _filter(spark, snapshot, reference)
    tracks_rows = is_on(snapshot.properties, "delta.enableRowTracking")
    extra_columns = ExtraColumns(metadata=metadata, metadata_ids=metadata and tracks_rows)
    return rows_of(spark, snapshot, filter, None, extra_columns, None)


def _escaped_braces(text: str) -> str:
    """Escape braces, in which ``spark.sql`` looks for the names of frames."""
    return text.replace("{", "{{").replace("}", "}}")


@dataclass(frozen=True)
class _View:
    """A statement that defines a view.

    Attributes:
        method: The DataFrame method that creates the view; None for a view in the catalog.
        columns: The names of its columns, each with its comment, if the statement has them.
        query: The query of the view; None if the statement has other clauses.
        provider: The format of a view ``USING`` a format, in lower case.
    """

    method: str | None
    name: Name
    columns: list[tuple[str, str | None]]
    query: str | None
    provider: str | None = None


def _view(text: str) -> _View | None:
    parser = Parser(text)
    if not parser.takes("CREATE"):
        return None
    replaces = parser.takes("OR", "REPLACE")
    is_global = parser.takes("GLOBAL")
    is_temporary = parser.takes_any("TEMPORARY", "TEMP")
    if not parser.takes("VIEW"):
        return None
    verb = "createOrReplace" if replaces else "create"
    method = f"{verb}{'Global' if is_global else ''}TempView" if is_temporary else None
    name = parser.optional_name()

    def column() -> tuple[str, str | None]:
        return parser.identifier(), parser.string() if parser.takes("COMMENT") else None

    start = parser.index
    if parser.sees("("):
        parser.skip_parentheses()
    if parser.takes("USING"):
        return _View(method, name, [], None, ".".join(parser.optional_name()).lower())
    parser.index = start
    columns = parser.in_parentheses(column) if parser.sees("(") else []
    if method is not None and parser.takes("COMMENT"):
        parser.string()  # Spark does not show it
    return _View(method, name, columns, parser.query() if parser.takes("AS") else None)


def _altered_view(spark: SparkSession, text: str) -> _View | None:
    """Return the definition that ``ALTER VIEW`` gives a view; None for other statements.

    A temporary view with a schema is global.
    """
    parser = Parser(text)
    if not parser.takes("ALTER", "VIEW"):
        return None
    name = parser.optional_name()
    if not name or not (parser.takes("AS") or parser.sees_any(QUERY_BEGINNINGS)):
        return None
    entry = lookup.find(spark, name)
    is_temporary = entry.is_view and len(entry.qualified_parts) == 1
    scope = "Global" if len(name) > 1 else ""
    method = f"createOrReplace{scope}TempView" if is_temporary else None
    return _View(method, name[-1:], [], parser.query())


def rows_of_table(spark: SparkSession, reference: TableReference) -> DataFrame | None:
    """Return all rows of a Delta table, or its changes; None if it is not a Delta table."""
    if reference.changes is not None:
        return change_functions.rows(spark, reference.name[0], reference.changes)
    snapshot = _snapshot(spark, reference)
    return None if snapshot is None else _frame(spark, snapshot, replace(reference, where=None))
