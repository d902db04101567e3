"""Registration of tables under names in the session's catalog, without Delta's jar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deltareplay._support.uris import without_secrets
from deltareplay.exceptions import (
    InvalidArgumentError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from deltareplay.spark.catalog import lookup
from deltareplay.spark.session import capabilities, internals, strings
from deltareplay.spark.storage.hadoop_path import root_in_spark
from deltareplay.spark.syntax import names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._table.table import Table
    from deltareplay.spark.catalog.lookup import CatalogEntry


def check_takes_delta(spark: SparkSession) -> None:
    """Check that the session's catalog can hold Delta tables, i.e. Spark knows the format.

    Raises:
        UnsupportedFeatureError: ``spark.no_delta``.
    """
    reader = spark.read.format("delta").schema("id int")
    try:
        reader.load("/").schema.fieldNames()  # analyzes the plan, and reads nothing
    except Exception as error:  # classic sessions do not convert this error
        if "DATA_SOURCE_NOT_FOUND" not in str(error):
            return  # the format itself raised it
    else:
        return
    raise UnsupportedFeatureError(
        "Spark does not know the format delta, so its catalog cannot hold Delta tables: call "
        "deltareplay.spark.register(spark, 'delta') first, or leave the name out",
        code="spark.no_delta",
    )


def new_location(spark: SparkSession, parts: Sequence[str], location: str | None) -> str:
    """Return the location of a new table: the path passed, or the catalog's default.

    Raises:
        TableNotFoundError: ``name.schema``: there is no such schema; or it has no location, and no
            path was passed.
    """
    from pyspark.errors import PySparkException

    schema = names.dotted(parts[:-1]) or names.quoted(spark.catalog.currentDatabase())
    try:
        root = spark.catalog.getDatabase(schema).locationUri
    except PySparkException as error:
        raise TableNotFoundError(f"there is no schema {schema}", code="name.schema") from error
    if location is not None:
        strings.literal(spark, location)  # raises before anything is written there
        return location
    if not root:
        raise TableNotFoundError(
            f"the schema {schema} has no location: set the location of the table",
            code="name.schema",
        )
    return f"{root.rstrip('/')}/{parts[-1].lower()}"


def new_table(spark: SparkSession, parts: Sequence[str]) -> Table:
    """Return the table, not created yet, at the catalog's default location for a new name.

    Raises:
        InvalidArgumentError: ``table.exists``: the catalog's path for the name has a table already.
    """
    check_takes_delta(spark)
    table = lookup.at_path(new_location(spark, parts, None))
    if table.native.exists():
        name = names.dotted(parts)
        raise InvalidArgumentError(
            f"the catalog has no table {name}, but there is a table at its default location "
            f"{without_secrets(table.uri)}: register that table by CREATE TABLE {name} USING "
            "delta LOCATION ..., or delete its files",
            code="table.exists",
        )
    return table


def add(
    spark: SparkSession, parts: Sequence[str], table: Table, *, owns_files: bool = False
) -> None:
    """Register a table under a name.

    Without Delta's jar, the entry also records the roots of a shallow clone's files, and whether
    ``DROP TABLE`` by ``sql`` deletes the table's files. The jar needs no such options, and rejects
    them.

    Args:
        spark: The session.
        parts: The name.
        table: The table.
        owns_files: Whether the table was created with this name, at the catalog's default location.
    """
    name = names.dotted(parts)
    options = {}
    if not capabilities.has_delta(spark):
        if table.allowed_roots:
            options["allowedRoots"] = lookup.roots_option(table.allowed_roots)
        if owns_files:
            options["ownsFiles"] = "true"
    pairs = ", ".join(f"{key} {strings.literal(spark, text)}" for key, text in options.items())
    clause = f"OPTIONS ({pairs}) " if pairs else ""
    literal = strings.literal(spark, root_in_spark(table.uri, None))
    spark.sql(f"CREATE TABLE {name} USING delta {clause}LOCATION {literal}")


def set_format(spark: SparkSession, name: str, provider: str) -> None:
    """Change the format of a table in the catalog of a classic session; SQL cannot do that."""
    catalog, table = _in_catalog(spark, name)
    jvm = internals.jvm(spark)
    fields = {
        table.productElementName(index): table.productElement(index)
        for index in range(table.productArity())
    }
    fields["provider"] = jvm.scala.Some(provider)
    changed = jvm.org.apache.spark.sql.catalyst.catalog.CatalogTable(*fields.values())
    catalog.alterTable(changed)
    catalog.refreshTable(table.identifier())


def partition_locations(spark: SparkSession, name: str) -> list[str]:
    """Return the Hadoop paths of the partitions of a table in the catalog of a classic session."""
    catalog, table = _in_catalog(spark, name)
    jvm = internals.jvm(spark)
    partitions = catalog.listPartitions(table.identifier(), jvm.scala.Option.empty())
    uris = [partitions.apply(index).location() for index in range(partitions.size())]
    return [jvm.org.apache.hadoop.fs.Path(uri).toString() for uri in uris]


def _in_catalog(spark: SparkSession, name: str) -> tuple[Any, Any]:
    """Return the catalog ``spark_catalog``, and its entry of a table."""
    session = internals.java_session(spark).sessionState()
    schema_and_table = names.dotted(names.table_parts(name)[-2:])
    identifier = session.sqlParser().parseTableIdentifier(schema_and_table)
    return session.catalog(), session.catalog().getTableMetadata(identifier)


def name_of(spark: SparkSession, entry: CatalogEntry) -> str | None:
    """Return the name with catalog and schema; None for a path.

    A name that was registered after the lookup is looked up again.
    """
    is_complete = entry.exists or entry.is_path
    return entry.name if is_complete else lookup.find(spark, entry.parts).name
