"""Execution of ``CREATE TABLE`` and ``REPLACE TABLE`` for Delta tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from deltareplay._protocol.schema import Field, Struct, converted
from deltareplay._snapshot.clustering import clustering_paths
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.catalog import lookup, registration
from deltareplay.spark.definition import (
    column_expressions,
)
from deltareplay.spark.definition import (
    definition as definitions,
)
from deltareplay.spark.definition.definition import Definition
from deltareplay.spark.syntax import names
from deltareplay.spark.writing.target_table import partitions_among

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._table.table import Table
    from deltareplay.spark.statements.create_forms import CreateTable

_DEFAULTS = "delta.feature.allowColumnDefaults"


def run(spark: SparkSession, statement: CreateTable) -> None:
    """Create or replace the table in one commit, and register its name in the catalog.

    An existing table at the location is only registered, if the definition matches it.

    Raises:
        InvalidArgumentError: As by ``definition.execute``; ``definition.columns``: a replacing
            statement has no columns; ``definition.default``: a column has a default, and the table
            does not have the feature for defaults; ``definition.differs``: the existing table at
            the location has another definition; or as by ``column_expressions.check``.
        TableNotFoundError: There is nothing to replace.
    """
    entry = None
    if names.path_of(statement.table) is None:
        entry = lookup.in_catalog(spark, statement.table)
    if (
        statement.mode == "create_if_not_exists"
        and entry is not None
        and entry.provider is not None
    ):
        return
    if not (statement.columns or statement.query) and statement.mode in (
        "replace",
        "create_or_replace",
    ):
        raise InvalidArgumentError(
            "REPLACE TABLE needs columns: list them, or use AS with a query",
            code="definition.columns",
        )
    defaults = [column.name for column in statement.columns if column.default is not None]
    if defaults and statement.properties.get(_DEFAULTS) not in ("supported", "enabled"):
        raise InvalidArgumentError(
            f"{', '.join(defaults)} with DEFAULT requires TBLPROPERTIES "
            f"('{_DEFAULTS}' = 'supported')",
            code="definition.default",
        )
    columns = [
        definitions.column(
            column.name,
            column.data_type,
            nullable=column.nullable,
            computed=column.computed,
            identity=column.identity,
            comment=column.comment,
            default=column.default,
        )
        for column in statement.columns
    ]
    column_expressions.check(spark, columns)
    existing = _at_location(statement) if entry is None else None
    if existing is not None:
        _check_same(existing, statement, columns)
        registration.check_takes_delta(spark)
        registration.add(spark, statement.table, existing)
        return
    definition = Definition(
        statement.mode,
        name=names.dotted(statement.table),
        location=statement.location,
        comment=statement.comment,
        columns=columns,
        partition_by=_partitions(statement),
        cluster_by=list(statement.cluster_by),
        properties=_properties(statement),
        query=statement.query,
    )
    definitions.execute(spark, definition)


def _at_location(statement: CreateTable) -> Table | None:
    """Return the existing table for which the statement registers a new name."""
    creates = statement.mode in ("create", "create_if_not_exists")
    if statement.location is None or not creates or names.path_of(statement.table) is not None:
        return None
    table = lookup.at_path(statement.location)
    return table if table.native.exists() else None


def _check_same(table: Table, statement: CreateTable, columns: list[Field]) -> None:
    """Check that an existing table has the definition of the statement, as in delta-spark."""
    if statement.query is not None:
        raise InvalidArgumentError(
            f"there is a table at {statement.location}, and CREATE TABLE ... AS does not add rows "
            "to it: register it without AS, and use INSERT INTO",
            code="table.exists",
        )
    snapshot = table.snapshot()
    properties = _properties(statement)
    fields = [_as_defined(field) for field in Struct.parse(snapshot.schema_json).fields]
    clustered = clustering_paths(snapshot)
    other = [
        ("columns", columns and columns != fields),
        ("partition columns", columns and _partitions(statement) != snapshot.partition_columns),
        (
            "clustering columns",
            columns and [*statement.cluster_by] != [".".join(c) for c in clustered],
        ),
        ("properties", properties and _own(properties) != _own(snapshot.properties)),
    ]
    differing = [what for what, is_other in other if is_other]
    if differing:
        raise InvalidArgumentError(
            f"the table at {statement.location} has other {' and '.join(differing)}: leave them "
            "out to register the table, or use CREATE OR REPLACE TABLE",
            code="definition.differs",
        )


def _as_defined(field: Field) -> Field:
    """Remove the metadata that the table itself has added to a field."""
    added = ("delta.columnMapping.", "delta.identity.highWaterMark")
    kept = {key: value for key, value in field.metadata.items() if not key.startswith(added)}
    return replace(field, type=converted(field.type, _as_defined), metadata=kept)


def _own(properties: Mapping[str, str]) -> dict[str, str]:
    """Remove properties that follow from others, or that only enable a feature."""
    return {
        key: value
        for key, value in properties.items()
        if not key.startswith(("delta.feature.", "delta.rowTracking.materialized"))
        and key != "delta.columnMapping.maxColumnId"
    }


def _properties(statement: CreateTable) -> dict[str, str]:
    """Return the table properties, with options under two names, as in delta-spark."""
    named = {f"option.{key}": value for key, value in statement.options.items()}
    return {**statement.options, **named, **statement.properties}


def _partitions(statement: CreateTable) -> list[str]:
    """Return the partition columns; with a query, they are not checked yet."""
    if statement.query is not None:
        return list(statement.partition_by)
    return partitions_among([column.name for column in statement.columns], statement.partition_by)
