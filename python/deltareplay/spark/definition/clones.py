"""Clones of tables, at a path or under a name in the session's catalog."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import InvalidArgumentError, TableNotFoundError
from deltareplay.spark.catalog import lookup, registration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._table.table import Table
    from deltareplay.spark.catalog.lookup import CatalogEntry
    from deltareplay.spark.definition.definition import Mode


def run(
    spark: SparkSession,
    source: Table,
    target: CatalogEntry,
    *,
    mode: Mode,
    shallow: bool,
    location: str | None = None,
    properties: Mapping[str, str] | None = None,
    **time_travel: Any,
) -> tuple[Table, Mapping[str, int]]:
    """Clone a table.

    Args:
        spark: The session.
        source: The table.
        target: The name or path of the clone.
        mode: What to do if the target exists, and if it does not.
        shallow: Whether the clone only refers to the data files.
        location: The path of a clone with a name.
        properties: Properties of the clone.
        time_travel: ``version`` or ``timestamp`` of the source.

    Returns:
        The clone, and the metrics of the commit, which are empty if an existing target was kept.

    Raises:
        InvalidArgumentError: The target exists.
        TableNotFoundError: There is nothing to replace.
    """
    from deltareplay.spark import clone

    is_new_name = not (target.exists or target.is_path)
    if is_new_name:
        registration.check_takes_delta(spark)
        table = lookup.at_path(registration.new_location(spark, target.parts, location))
    else:
        table = target.table()
    exists = target.exists or table.native.exists()
    if exists and mode == "create_if_not_exists":
        return table, {}
    if exists and mode == "create":
        raise InvalidArgumentError(
            f"there is a table already at {table.uri}: replace it, or choose another location",
            code="table.exists",
        )
    if not exists and mode == "replace":
        raise TableNotFoundError(f"there is no table at {table.uri}", code="table.not_found")
    cloned = clone(
        spark,
        source,
        table.uri,
        shallow=shallow,
        or_replace=exists,
        properties=properties,
        **time_travel,
    )
    metrics = cloned.history(limit=1)["operationMetrics"][0].as_py()
    if is_new_name:
        owns_files = location is None and not exists
        registration.add(spark, target.parts, cloned, owns_files=owns_files)
    return cloned, {key: int(value) for key, value in metrics}
