"""Clones of tables, at a path or under a name in the session's catalog."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from deltareplay._support.uris import without_secrets
from deltareplay.exceptions import InvalidArgumentError, TableNotFoundError
from deltareplay.spark.catalog import lookup, registration
from deltareplay.spark.definition.definition import check_hides_no_files
from deltareplay.spark.maintenance.clone import commit_clone

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay._table.table import Table
    from deltareplay.spark.catalog.lookup import CatalogEntry
    from deltareplay.spark.definition.definition import Mode


def run(
    spark: SparkSession,
    source: Snapshot,
    target: CatalogEntry,
    *,
    mode: Mode,
    shallow: bool,
    location: str | None = None,
    properties: Mapping[str, str] | None = None,
) -> tuple[Table, Mapping[str, int]]:
    """Clone a version of a table, and register a new name in the catalog.

    Args:
        spark: The session.
        source: The version to clone.
        target: The name or path of the clone, as it was looked up.
        mode: What to do if the target exists, and if it does not.
        shallow: Whether the clone only refers to the data files.
        location: The path of a clone with a new name; by default the catalog's.
        properties: Properties of the clone, besides those of the source.

    Returns:
        The clone, and the metrics of the commit, which are empty if an existing target was kept.

    Raises:
        InvalidArgumentError: ``table.exists``: the target exists, and the mode is ``create``; or
            there is a table at the path of a new name, and the mode does not replace it;
            ``definition.files``, as by ``check_hides_no_files``.
        TableNotFoundError: ``table.not_found``: there is no table to replace.
    """
    is_new_name = not (target.exists or target.is_path)
    if is_new_name:
        registration.check_takes_delta(spark)
        table = lookup.at_path(registration.new_location(spark, target.parts, location))
    else:
        table = target.table()
    exists = target.exists or table.native.exists()
    if exists and mode == "create_if_not_exists" and not is_new_name:
        return table, {}
    uri = without_secrets(table.uri)
    if exists and mode in ("create", "create_if_not_exists"):
        raise InvalidArgumentError(
            f"there is a table already at {uri}: replace it, or choose another location",
            code="table.exists",
        )
    if not exists and mode == "replace":
        raise TableNotFoundError(f"there is no table at {uri}", code="table.not_found")
    if shallow:  # a deep clone that was interrupted continues
        check_hides_no_files(table)
    cloned, version = commit_clone(
        spark,
        source,
        table.uri,
        shallow=shallow,
        or_replace=exists,
        properties=properties,
    )
    metrics = _metrics(cloned, version)
    if is_new_name:
        owns_files = location is None and not exists
        registration.add(spark, target.parts, cloned, owns_files=owns_files)
    return cloned, metrics


def _metrics(table: Table, version: int | None) -> dict[str, int]:
    """Return the metrics of the clone that was committed as a version."""
    [commit] = table.history(version=version).to_pylist()
    return {key: int(value) for key, value in commit["operationMetrics"]}
