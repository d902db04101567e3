"""``CREATE TABLE ... LIKE``: a new table with the definition of another, without its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay._protocol.schema import Struct
from deltareplay._snapshot.clustering import clustering_columns
from deltareplay.spark.catalog import lookup
from deltareplay.spark.definition import definition as definitions
from deltareplay.spark.definition.definition import Definition
from deltareplay.spark.schema.frames import empty_frame
from deltareplay.spark.session import capabilities
from deltareplay.spark.statements import create
from deltareplay.spark.statements.show import protocol_properties
from deltareplay.spark.statements.statement import Statement
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.parser import Name, Parser
from deltareplay.spark.writing.target_table import column_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay.spark.catalog.lookup import CatalogEntry


@dataclass
class CreateTableLike(create.CreateTable):
    """A ``CREATE TABLE ... LIKE`` statement.

    Attributes:
        source: The table whose definition is copied.
    """

    source: Name = ()

    @classmethod
    def read(cls, parser: Parser) -> Statement | None:
        start = create.head(parser)
        if start is None or not parser.takes("LIKE"):
            return None
        mode, table = start
        source = parser.optional_name()
        return cls(table, mode, create.provider(parser), parser.text, source=source)

    def read_clauses(self, parser: Parser) -> None:
        """Parse the clauses after the source: ``USING``, ``LOCATION`` and ``TBLPROPERTIES``."""
        start = parser.index
        super().read_clauses(parser)
        others = self.columns, self.partition_by, self.cluster_by, self.comment, self.options
        if any(others) or self.query is not None:
            parser.index = start
            raise parser.expected("USING, LOCATION or TBLPROPERTIES")

    def entry(self, spark: SparkSession) -> CatalogEntry | None:
        """Look up the table; as in delta-spark, its format defaults to that of the source."""
        if capabilities.has_delta(spark) or not self.source:
            return None
        source = lookup.find(spark, self.source)
        provider = self.provider or source.provider
        is_delta = provider is not None and provider.lower() == "delta"
        return lookup.find(spark, self.table) if is_delta else None

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        """Create the table in one commit, and register its name in the catalog."""
        capabilities.require_spark_4(spark, "CREATE TABLE")
        if self.mode == "create_if_not_exists" and entry.exists and not entry.is_view:
            return empty_frame(spark)
        source = lookup.find(spark, self.source)
        if source.is_delta:
            definition = _of_delta_table(source.table().snapshot())
        else:
            definition = _of_other(spark, self.source)
        definition.mode = self.mode
        definition.name, definition.location = names.dotted(self.table), self.location
        definition.properties |= self.properties
        definitions.create(spark, definition, entry)
        return empty_frame(spark)


def _of_delta_table(snapshot: Snapshot) -> Definition:
    """Return the definition of a Delta table, with the features of its protocol."""
    properties = create.defining_properties(snapshot.metadata.configuration)
    return Definition(
        "create",
        comment=snapshot.metadata.description,
        columns=list(Struct.parse(snapshot.schema_json).fields),
        partition_by=snapshot.partition_columns,
        cluster_by=clustering_columns(snapshot),
        properties=properties | protocol_properties(snapshot.protocol),
    )


def _of_other(spark: SparkSession, source: Name) -> Definition:
    """Return the columns and the partition columns of a view, or a table of another format."""
    name = names.dotted(source)
    columns = [column_of(field) for field in spark.table(name).schema]
    listed = spark.catalog.listColumns(name)
    partitions = [column.name for column in listed if column.isPartition]
    return Definition("create", columns=columns, partition_by=partitions)
