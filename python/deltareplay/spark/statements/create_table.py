"""``CREATE TABLE`` and ``REPLACE TABLE``: what a statement defines, as a Delta table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

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
    from deltareplay.spark.schema.fields import Json
    from deltareplay.spark.statements.create_forms import CreateTable

_DEFAULTS = "delta.feature.allowColumnDefaults"


def run(spark: SparkSession, asked: CreateTable) -> None:
    """Creates or replaces the table in one commit, and gives it its name in the catalog.

    A new name may belong to a table that is there, if what the statement says of it is true.

    Raises:
        InvalidArgumentError: As by ``definitions.execute``; ``definition.columns``: no columns
            replace those of a table; ``definition.default``: a column has a default, and the table
            not the feature for that; ``definition.differs``: a new name for another table than the
            statement defines; or as by ``column_values.check``.
        TableNotFoundError: There is nothing to replace.
    """
    entry = None
    if names.path_of(asked.table) is None:
        entry = lookup.in_catalog(spark, asked.table)
    if asked.mode == "create_if_not_exists" and entry is not None and entry.provider is not None:
        return
    if not (asked.columns or asked.query) and asked.mode in ("replace", "create_or_replace"):
        raise InvalidArgumentError(
            "a table is replaced by one with columns: list them, or use AS with a query",
            code="definition.columns",
        )
    given = [one.name for one in asked.columns if one.default is not None]
    if given and asked.properties.get(_DEFAULTS) not in ("supported", "enabled"):
        raise InvalidArgumentError(
            f"{', '.join(given)} with DEFAULT requires TBLPROPERTIES ('{_DEFAULTS}' = 'supported')",
            code="definition.default",
        )
    columns = [
        definitions.column(
            one.name,
            one.data_type,
            nullable=one.nullable,
            computed=one.computed,
            identity=one.identity,
            comment=one.comment,
            default=one.default,
        )
        for one in asked.columns
    ]
    column_expressions.check(spark, columns)
    found = _at_location(asked) if entry is None else None
    if found is not None:
        _check_same(found, asked, columns)
        registration.check_takes_delta(spark)
        registration.add(spark, asked.table, found)
        return
    definition = Definition(
        asked.mode,
        name=".".join(map(names.quoted, asked.table)),
        location=asked.location,
        comment=asked.comment,
        columns=columns,
        partition_by=_partitions(asked),
        cluster_by=list(asked.cluster_by),
        properties=_properties(asked),
        query=asked.query,
    )
    definitions.execute(spark, definition)


def _at_location(asked: CreateTable) -> Table | None:
    """The table that is there, for which the statement has a new name."""
    creates = asked.mode in ("create", "create_if_not_exists")
    if asked.location is None or not creates or names.path_of(asked.table) is not None:
        return None
    table = lookup.at_path(asked.location)
    return table if table._native.exists() else None


def _check_same(table: Table, asked: CreateTable, columns: list[Json]) -> None:
    """Refuses a definition of another table, as delta-spark does."""
    if asked.query is not None:
        raise InvalidArgumentError(
            f"there is a table at {asked.location}, to which CREATE TABLE ... AS adds no rows: "
            "name it without AS, and use INSERT INTO",
            code="table.exists",
        )
    snapshot = table.snapshot()
    properties = _properties(asked)
    found = json.loads(snapshot.schema_json, object_hook=_as_defined)["fields"]
    clustered = clustering_paths(snapshot)
    other = [
        ("columns", columns and columns != found),
        ("partition columns", columns and _partitions(asked) != snapshot.partition_columns),
        ("clustering columns", columns and [*asked.cluster_by] != [".".join(c) for c in clustered]),
        ("properties", properties and _own(properties) != _own(snapshot.properties)),
    ]
    differing = [what for what, is_other in other if is_other]
    if differing:
        raise InvalidArgumentError(
            f"the table at {asked.location} has other {' and '.join(differing)}: leave them out to "
            "name it as it is, or use CREATE OR REPLACE TABLE",
            code="definition.differs",
        )


def _as_defined(part: Json) -> Json:
    """A part of a schema without what the table itself added."""
    added = ("delta.columnMapping.", "delta.identity.highWaterMark")
    return {key: value for key, value in part.items() if not key.startswith(added)}


def _own(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties without those that follow from others, or only ask for a feature."""
    return {
        key: value
        for key, value in properties.items()
        if not key.startswith(("delta.feature.", "delta.rowTracking.materialized"))
        and key != "delta.columnMapping.maxColumnId"
    }


def _properties(asked: CreateTable) -> dict[str, str]:
    """Those of the table: options become properties, under two names, as in delta-spark."""
    named = {f"option.{key}": value for key, value in asked.options.items()}
    return {**asked.options, **named, **asked.properties}


def _partitions(asked: CreateTable) -> list[str]:
    """The partition columns; those of a query are known later."""
    if asked.query is not None:
        return list(asked.partition_by)
    return partitions_among([one.name for one in asked.columns], asked.partition_by)
