"""Clones of tables, at a path or under a name in the session's catalog."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import InvalidArgumentError, TableNotFoundError
from deltareplay.spark.catalog import lookup, registration
from deltareplay.spark.syntax import names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._table.table import Table
    from deltareplay.spark.definition.definition import Mode


def run(
    spark: SparkSession,
    source: Table,
    target: tuple[str, ...],
    *,
    mode: Mode,
    shallow: bool,
    location: str | None = None,
    properties: Mapping[str, str] | None = None,
    **at: Any,
) -> tuple[Table, str | None, Mapping[str, int]]:
    """Clone a table.

    Args:
        spark: The session.
        source: The table.
        target: The name of the clone, or ``("delta", path)``.
        mode: What to do if the target exists or does not.
        shallow: Whether the clone only refers to the data files.
        location: The path of a clone with a name.
        properties: Properties of the clone.
        at: ``version`` or ``timestamp`` of the source.

    Returns:
        The clone, its name in the catalog, and the metrics of the commit; no metrics if the target
        existed and was kept.

    Raises:
        InvalidArgumentError: There is a table already.
        TableNotFoundError: There is none to replace.
    """
    from deltareplay.spark import clone

    path, entry = names.path_of(target), None
    if path is None:
        entry = lookup.in_catalog(spark, target)
        if entry is not None:
            table, _ = lookup.table_named(spark, target)
        else:
            registration.check_takes_delta(spark)
            table = lookup.at_path(registration.new_location(spark, target, location))
    else:
        table = lookup.at_path(path)
    exists = entry is not None or table.native.exists()
    if exists and mode == "create_if_not_exists":
        return table, None if entry is None else entry.name, {}
    if exists and mode == "create":
        raise InvalidArgumentError(
            f"there is a table already at {table.uri}: replace it, or choose another location",
            code="table.exists",
        )
    if not exists and mode == "replace":
        raise TableNotFoundError(f"there is no table at {table.uri}", code="table.not_found")
    done = clone(
        spark,
        source,
        table.uri,
        shallow=shallow,
        or_replace=exists,
        properties=properties,
        **at,
    )
    recorded = done.history(limit=1)["operationMetrics"][0].as_py()
    metrics = {key: int(value) for key, value in recorded}
    if path is not None:
        return done, None, metrics
    if entry is not None:
        return done, entry.name, metrics
    name = registration.add(spark, target, done, owns_files=location is None and not exists)
    return done, name, metrics
