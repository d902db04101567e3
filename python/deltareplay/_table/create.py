"""Creation of tables, and the locations of tables that may not exist yet."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from deltareplay._arrow.row_sources import schema_string
from deltareplay._support.arguments import checked
from deltareplay._table.table import Table
from deltareplay.exceptions import InvalidArgumentError, TableNotFoundError

if TYPE_CHECKING:
    from deltareplay.catalogs import Catalog, Locator
    from deltareplay.catalogs._unity_staging import UnityStaging


@checked
def create_table(
    uri: str | os.PathLike[str],
    schema: pa.Schema,
    partition_columns: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    if_not_exists: bool = False,
    or_replace: bool = False,
    storage_options: Mapping[str, str] | None = None,
    catalog: Catalog | Locator | str | None = None,
    durable: bool = True,
) -> Table:
    """Create a Delta table: version 0, without rows.

    With ``or_replace``, an existing table is replaced in one commit: it gets the new schema,
    partitioning, properties and a new id, and all its files are removed. Its history stays, so
    older versions can be read. As in delta-spark, the protocol is only upgraded, deletion vectors
    and row tracking stay enabled unless the new properties disable them, and with column mapping a
    column whose name and type stay keeps its id.

    Args:
        uri: As for ``Table``. A name that Unity Catalog does not know becomes a managed table, at
            a location that the catalog chooses, with the features and properties that it requires;
            if anything fails, the catalog has no such table.
        schema: The columns; field metadata ``comment`` becomes the comment of a column, and
            ``delta.identity.start``, ``delta.identity.step`` and
            ``delta.identity.allowExplicitInsert`` make it an identity column.
        partition_columns: Names of the columns that the table is partitioned by.
        properties: Table properties. ``delta.minReaderVersion``, ``delta.minWriterVersion`` and
            ``delta.feature.<name>`` set the protocol of the table, and are not stored.
        name: The table's name.
        description: The table's description.
        if_not_exists: Whether to return an existing table unchanged.
        or_replace: Whether to replace an existing table.
        storage_options: As for ``Table``.
        catalog: As for ``Table``. With the property ``delta.feature.catalogManaged`` the catalog
            manages the table from the first version on, and is notified by ``Catalog.published``.
        durable: Whether a local commit is synced to disk before the call returns.

    Returns:
        The table.

    Raises:
        TypeError: ``schema`` is not an Arrow schema; the message says how to create one.
        InvalidArgumentError: The table exists (``table.exists``); both ``if_not_exists`` and
            ``or_replace`` are set (``create.mode``); a column (``schema.arrow_type``,
            ``schema.duplicate_column``, ``column.identity``, ``transaction.column_name``), a
            partition column (``transaction.partition_columns``), a property (as in
            ``Table.set_properties``) or a protocol version (``protocol.version``) is invalid; the
            table to replace has ``delta.appendOnly`` and rows (``transaction.append_only``); or the
            catalog cannot create tables (``catalog.creates_none``).
        UnsupportedFeatureError: A property, the catalog, or the table to replace requires a feature
            that this release cannot write (``protocol.writer_features``).
        CommitConflictError: Another writer created or changed the table.
        StorageError: The storage or the catalog does not respond.

    Source: Delta protocol, "Change Metadata", "Protocol Evolution".

    >>> import pyarrow as pa
    >>> schema = pa.schema([("day", pa.date32()), ("id", pa.int64())])
    >>> created = create_table(table.uri + "-new", schema, ["day"])
    >>> created.snapshot().version, created.snapshot().partition_columns
    (0, ['day'])
    >>> create_table(created.uri, schema, if_not_exists=True) == created
    True
    >>> create_table(created.uri, schema, or_replace=True).snapshot().version
    1
    """
    if if_not_exists and or_replace:
        raise InvalidArgumentError(
            "if_not_exists and or_replace cannot be combined: pass one of them",
            code="create.mode",
        )
    mode = "if_not_exists" if if_not_exists else "or_replace" if or_replace else "new"
    location = WriteLocation.of(uri, storage_options, catalog)
    columns, partitioning = schema_string(schema, defines=True), list(partition_columns)
    requested = location.properties(columns, partitioning, properties or {})
    location.table.native.create(columns, partitioning, requested, name, description, durable, mode)
    return location.register()


@dataclass(frozen=True)
class WriteLocation:
    """The location of a table, or of a table to be created.

    Attributes:
        table: The table.
        staging: The creation of a table whose name the catalog does not know yet; otherwise None.
    """

    table: Table
    staging: UnityStaging | None = None

    @classmethod
    def of(
        cls,
        uri: str | os.PathLike[str],
        storage_options: Mapping[str, str] | None = None,
        catalog: Catalog | Locator | str | None = None,
    ) -> WriteLocation:
        """Return the location of a URI or name; a catalog stages a table that it does not know."""
        try:
            return cls(Table(uri, storage_options, catalog=catalog))
        except TableNotFoundError:
            from deltareplay.catalogs._locate import staged

            staging = staged(os.fspath(uri), cast("Locator | str | None", catalog))
            return cls(Table(staging.location, storage_options, catalog=staging), staging)

    def properties(
        self, schema: str, partition_columns: list[str], own: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the properties of a new table: its own, and those that its catalog requires."""
        if self.staging is None:
            return dict(own)
        return self.staging.properties(schema, partition_columns, own)

    def register(self) -> Table:
        """Register a staged table, after its first version is written; return the table."""
        if self.staging is None:
            return self.table
        first = self.table.snapshot()
        catalog = self.staging.register(
            first.metadata, first.protocol, first.domain_metadata, first.timestamp
        )
        return Table(self.staging.location, self.table.storage_options, catalog=catalog)
