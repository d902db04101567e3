"""Definitions of tables, by which tables are created or replaced."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from deltareplay._protocol.schema import Field, converted, schema_json
from deltareplay._support.uris import is_table_name, without_secrets
from deltareplay._table.create import WriteLocation
from deltareplay.exceptions import InvalidArgumentError, TableNotFoundError
from deltareplay.spark.catalog import lookup, registration
from deltareplay.spark.definition import as_select, column_expressions
from deltareplay.spark.session import settings
from deltareplay.spark.syntax import names
from deltareplay.spark.writing import default_properties
from deltareplay.spark.writing.target_table import column_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

    from deltareplay._table.table import Table
    from deltareplay.spark.catalog.lookup import CatalogEntry

#: What to do if the table exists, and if it does not.
Mode = Literal["create", "create_if_not_exists", "replace", "create_or_replace"]

#: The names of the modes in the core.
_MODES = {
    "create": "new",
    "create_if_not_exists": "if_not_exists",
    "replace": "replace",
    "create_or_replace": "or_replace",
}


@dataclass
class Definition:
    """The definition of a table to be created or replaced.

    Attributes:
        mode: What to do if the table exists, and if it does not.
        location: The Hadoop path, or a name such as ``uc://main.sales.orders``; None if the catalog
            chooses the path.
        query: The query of CREATE TABLE AS SELECT, as SQL or as its rows; None for a table without
            rows.
        user_metadata: Text for the commit of a query; by default that of the session.
    """

    mode: Mode
    name: str | None = None
    location: str | None = None
    comment: str | None = None
    columns: list[Field] = field(default_factory=list)
    partition_by: list[str] = field(default_factory=list)
    cluster_by: list[str] = field(default_factory=list)
    properties: dict[str, str] = field(default_factory=dict)
    query: str | DataFrame | None = None
    user_metadata: str | None = None


def column(
    name: str,
    data_type: str | DataType,
    *,
    nullable: bool,
    computed: str | None,
    identity: tuple[int, int, bool] | None,
    comment: str | None,
    default: str | None = None,
) -> Field:
    """Return a column as a field of the log's schema.

    ``computed`` and ``default`` are SQL expressions. ``identity`` has the start and the step of the
    generated values, and whether writers may insert values of their own.

    Raises:
        InvalidArgumentError: ``column.identity``: an identity column is not of type bigint;
            ``column.generated``: its step is 0, or its start or step does not fit into a bigint.
    """
    from pyspark.sql.types import StructField, StructType

    if isinstance(data_type, str):  # DDL of columns accepts more types
        data_type = StructType.fromDDL(f"c {data_type}")[0].dataType
    defined = column_of(StructField(name, data_type, nullable))
    metadata = dict(defined.metadata)
    if identity is not None:
        if defined.type != "long":
            raise InvalidArgumentError(
                f"the identity column {name} must be of type bigint, not "
                f"{data_type.simpleString()}",
                code="column.identity",
            )
        start, step, by_default = identity
        if step == 0 or not all(-(2**63) <= number < 2**63 for number in (start, step)):
            raise InvalidArgumentError(
                f"the identity column {name} begins at {start} with a step of {step}: both must "
                "fit into a bigint, and the step must not be 0",
                code="column.generated",
            )
        metadata["delta.identity.start"] = start
        metadata["delta.identity.step"] = step
        metadata["delta.identity.allowExplicitInsert"] = by_default
    if computed is not None:
        metadata["delta.generationExpression"] = computed
    if comment is not None:
        metadata["comment"] = comment
    if default is not None:
        metadata["CURRENT_DEFAULT"] = default
    return replace(defined, metadata=metadata)


def declared(field: Field) -> Field:
    """Return a field as it was declared, without the metadata that writers have added."""
    added = ("delta.columnMapping.", "delta.identity.highWaterMark")
    metadata = {key: value for key, value in field.metadata.items() if not key.startswith(added)}
    return replace(field, type=converted(field.type, declared), metadata=metadata)


def execute(spark: SparkSession, definition: Definition) -> tuple[Table, str | None]:
    """Create or replace the table, and register its name in the catalog.

    Return the table, and its name in the catalog, if it has one.
    """
    name = definition.name
    if name is None:
        return _at_location(spark, definition, definition.location), None
    entry = lookup.find(spark, names.table_parts(name))
    table = create(spark, definition, entry)
    return table, registration.name_of(spark, entry)


def create(spark: SparkSession, definition: Definition, entry: CatalogEntry) -> Table:
    """Create or replace the table whose name or path was looked up.

    Raises:
        InvalidArgumentError: ``table.exists``: there is a table already, by this name or at the
            catalog's path for it.
        TableNotFoundError: ``name.not_delta``: there is no table to replace.
    """
    name, location = definition.name, definition.location
    if entry.is_path:
        return _at_location(spark, definition, _checked_location(location, str(entry.location)))
    if entry.exists:
        if definition.mode == "create":
            raise InvalidArgumentError(f"the table {name} already exists", code="table.exists")
        table = entry.table()
        if location is not None:
            _checked_location(lookup.at_path(location).uri, table.uri)
        return _create(spark, WriteLocation(table), definition)
    if definition.mode == "replace":
        raise TableNotFoundError(f"the table {name} cannot be found", code="name.not_delta")
    registration.check_takes_delta(spark)
    table = lookup.at_path(registration.new_location(spark, entry.parts, location))
    owns_files = location is None and not table.native.exists()
    if location is None and not owns_files and definition.mode == "create":
        raise InvalidArgumentError(
            f"{name} is not in the catalog, but there is a table at its path "
            f"{without_secrets(table.uri)}: register it by CREATE TABLE ... LOCATION, or replace "
            "it by CREATE OR REPLACE TABLE",
            code="table.exists",
        )
    created = _create(spark, WriteLocation(table), definition)
    registration.add(spark, entry.parts, table, owns_files=owns_files)
    return created


def _at_location(spark: SparkSession, definition: Definition, location: str | None) -> Table:
    """Create or replace the table at a path, or with a name such as ``uc://main.sales.orders``."""
    if location is None:
        raise InvalidArgumentError(
            "a table needs a name or a path: call tableName or location", code="definition.place"
        )
    if is_table_name(location, None):
        return _create(spark, WriteLocation.of(location), definition)
    return _create(spark, WriteLocation(lookup.at_path(location)), definition)


def _create(spark: SparkSession, location: WriteLocation, definition: Definition) -> Table:
    is_replacing = definition.mode in ("replace", "create_or_replace")
    if is_replacing and not definition.columns and definition.query is None:
        raise InvalidArgumentError(
            "REPLACE TABLE needs columns: list them, or use AS with a query",
            code="definition.columns",
        )
    if location.staging is None and not (is_replacing and definition.query is not None):
        check_hides_no_files(location.table)
    properties = default_properties.with_defaults(
        settings.default_properties(spark), definition.properties
    )
    if definition.query is not None:
        as_select.create(
            spark,
            location,
            definition.query,
            partition_by=definition.partition_by,
            cluster_by=definition.cluster_by,
            properties=properties,
            comment=definition.comment,
            mode=_MODES[definition.mode],
            user_metadata=definition.user_metadata,
        )
        return location.table
    fields = [declared(field) for field in definition.columns]
    column_expressions.check(spark, fields)
    columns = schema_json(fields)
    location.table.native.create(
        columns,
        definition.partition_by,
        location.properties(columns, definition.partition_by, properties),
        None,
        definition.comment,
        True,
        _MODES[definition.mode],
        definition.cluster_by,
    )
    return location.register()


def check_hides_no_files(table: Table) -> None:
    """Check that a directory without a table has no files, which VACUUM would delete.

    Raises:
        InvalidArgumentError: ``definition.files``.
    """
    if not table.native.exists() and table.native.has_visible_files():
        raise InvalidArgumentError(
            f"{without_secrets(table.uri)} has files, but no Delta table: convert Parquet files by "
            "CONVERT TO DELTA, or choose another location",
            code="definition.files",
        )


def _checked_location(location: str | None, other: str) -> str:
    if location is not None and location.rstrip("/") != other.rstrip("/"):
        raise InvalidArgumentError(
            f"the table has two paths, {without_secrets(location)} and {without_secrets(other)}: "
            "leave out one of them",
            code="definition.place",
        )
    return other
