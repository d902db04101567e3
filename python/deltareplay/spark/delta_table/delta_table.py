"""``DeltaTable``: delta-spark's class of that name, without its jar."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deltareplay._support.uris import without_secrets
from deltareplay._table.table import Table
from deltareplay._table.vacuum import retention_of
from deltareplay.exceptions import InvalidArgumentError, TableNotFoundError
from deltareplay.spark.catalog import lookup, registration
from deltareplay.spark.catalog.timestamps import evaluate_timestamp
from deltareplay.spark.definition import clones
from deltareplay.spark.delta_table import results
from deltareplay.spark.delta_table.expressions import Expressions
from deltareplay.spark.delta_table.merge_builder import DeltaMergeBuilder
from deltareplay.spark.delta_table.optimize_builder import DeltaOptimizeBuilder
from deltareplay.spark.delta_table.table_builder import DeltaTableBuilder
from deltareplay.spark.dml.delete import delete
from deltareplay.spark.dml.update import update
from deltareplay.spark.maintenance.convert import convert_identifier
from deltareplay.spark.maintenance.detail import detail
from deltareplay.spark.maintenance.history import history
from deltareplay.spark.maintenance.vacuum import vacuum
from deltareplay.spark.scan.read import read
from deltareplay.spark.scan.table_alias import aliased
from deltareplay.spark.schema.frames import empty_frame
from deltareplay.spark.session import capabilities, settings
from deltareplay.spark.session.errors import methods_raise_analysis_errors
from deltareplay.spark.syntax import names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from deltareplay.spark.dml.statement import Expression


@methods_raise_analysis_errors
class DeltaTable:
    """A Delta table in a Spark session, with the methods of delta-spark's ``DeltaTable``.

    Instances come from ``forPath``, ``forName``, ``convertToDelta`` and the builders of ``create``.
    Conditions and values are SQL text or columns, and Spark evaluates them. Each method takes the
    newest version of the table at the time of the call.

    >>> from deltareplay.spark import DeltaTable
    >>> orders = DeltaTable.forPath(spark, "demo/orders")  # doctest: +SKIP
    >>> orders.delete("status = 'cancelled'")  # doctest: +SKIP
    """

    def __init__(
        self,
        spark: SparkSession,
        table: Table,
        alias: str | None = None,
        name: str | None = None,
    ) -> None:
        """Use ``forPath`` or ``forName`` instead."""
        self._spark = spark
        self._table = table
        self._alias = alias
        self._name = name
        self._expressions = Expressions.of(alias, name)

    def __repr__(self) -> str:
        return f"DeltaTable({self._table!r})"

    def toDF(self) -> DataFrame:
        """Read the newest version; the DataFrame stays at that version.

        >>> orders.toDF().groupBy("country").count().show()  # doctest: +SKIP
        """
        rows = read(self._spark, self._table)
        is_named = self._alias is not None or self._name is not None
        return aliased(rows, self._expressions.qualifier) if is_named else rows

    def alias(self, aliasName: str) -> DeltaTable:
        """Name the table in conditions and values.

        Args:
            aliasName: The name, as in ``orders.alias("o").delete("o.id = 7")``.

        >>> orders.alias("o").delete("o.id = 7")  # doctest: +SKIP
        """
        _check_type(aliasName, str, "aliasName", "a string")
        return DeltaTable(self._spark, self._table, aliasName, self._name)

    def generate(self, mode: str) -> None:
        """Write manifests of the live files, for engines that cannot read the log.

        Args:
            mode: ``symlink_format_manifest``, in any case.

        Raises:
            DeltaReplayError: As by ``Table.generate``.

        >>> orders.generate("symlink_format_manifest")  # doctest: +SKIP
        """
        _check_type(mode, str, "mode", "a string")
        self._table.generate(mode.lower())

    def delete(self, condition: Expression | None = None) -> None:
        """Delete the rows that satisfy a condition, on the executors.

        Args:
            condition: The condition of the rows; None deletes all.

        Raises:
            TypeError: The condition is neither SQL text nor a column.
            DeltaReplayError: As by ``deltareplay.spark.delete``.

        >>> orders.delete("day < '2026-01-01'")  # doctest: +SKIP
        """
        where, alias = self._expressions.condition(condition), self._expressions.qualifier
        delete(self._spark, self._table, where, target_alias=alias)

    def update(
        self,
        condition: Expression | None = None,
        set: Mapping[str, Expression] | None = None,
    ) -> None:
        """Set columns of the rows that satisfy a condition, on the executors.

        Args:
            condition: The condition of the rows; None updates all.
            set: Columns and their values; required.

        Raises:
            TypeError: An expression is neither SQL text nor a column.
            InvalidArgumentError: ``set`` is missing (``argument.type``).
            DeltaReplayError: As by ``deltareplay.spark.update``.

        >>> orders.update("id = 7", {"status": "'paid'"})  # doctest: +SKIP
        """
        values = self._expressions.assignments(set, "'set'")
        where, alias = self._expressions.condition(condition), self._expressions.qualifier
        update(self._spark, self._table, where, values, target_alias=alias)

    def merge(self, source: DataFrame, condition: Expression) -> DeltaMergeBuilder:
        """Merge rows into the table, clause by clause.

        Args:
            source: The rows; with ``source.alias("s")``, clauses can refer to ``s.id``.
            condition: The condition under which a source row matches a row of the table.

        Returns:
            A builder without clauses: add them by its methods, then call ``execute``.

        Raises:
            TypeError: The source is not a DataFrame, or the condition not an expression.
            InvalidArgumentError: The source or the condition is None (``argument.type``).

        >>> merge = orders.alias("o").merge(new.alias("n"), "o.id = n.id")  # doctest: +SKIP
        >>> merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()  # doctest: +SKIP
        """
        from pyspark.sql import DataFrame

        for argument, value in (("source", source), ("condition", condition)):
            if value is None:
                raise InvalidArgumentError(f"{argument!r} cannot be None", code="argument.type")
        if not isinstance(source, DataFrame):
            raise TypeError(f"'source' must be DataFrame, not {type(source).__name__}")
        return DeltaMergeBuilder(self._spark, self._table, self._expressions, source, condition)

    def vacuum(self, retentionHours: float | None = None) -> DataFrame:
        """Delete files that no version inside the retention period needs.

        Args:
            retentionHours: The period; by default ``delta.deletedFileRetentionDuration`` (a week).
                A shorter one requires the session to have
                ``spark.databricks.delta.retentionDurationCheck.enabled`` = ``false``.

        Returns:
            A DataFrame without rows and columns.

        Raises:
            DeltaReplayError: As by ``deltareplay.spark.vacuum``.

        >>> orders.vacuum(168)  # doctest: +SKIP
        """
        retention = None if retentionHours is None else retention_of(float(retentionHours))
        force = not settings.checks_retention(self._spark)
        vacuum(self._spark, self._table, retention=retention, dry_run=False, force=force)
        return empty_frame(self._spark)

    def history(self, limit: int | None = None) -> DataFrame:
        """List the commits, newest first, with the columns of ``DESCRIBE HISTORY``.

        Args:
            limit: The maximum number; None lists all commits that are still in the log.

        >>> orders.history(1).select("operation").show()  # doctest: +SKIP
        """
        return history(self._spark, self._table, limit=limit)

    def detail(self) -> DataFrame:
        """Describe the table in one row, with the columns of ``DESCRIBE DETAIL``.

        >>> orders.detail().select("numFiles").show()  # doctest: +SKIP
        """
        rows = detail(self._spark, self._table)
        if self._name is None:
            return rows
        from pyspark.sql import functions as sf

        return rows.withColumn("name", sf.lit(self._name))

    @classmethod
    def convertToDelta(
        cls,
        sparkSession: SparkSession,
        identifier: str,
        partitionSchema: str | StructType | None = None,
    ) -> DeltaTable:
        """Convert a directory of Parquet files, or a Parquet table, to a Delta table, in place.

        Args:
            sparkSession: The session.
            identifier: The directory, as ``parquet.`/path```, or the name of a Parquet table.
            partitionSchema: The partition columns, as DDL or as a ``StructType``. Those of a named
                table are in the catalog.

        Raises:
            InvalidArgumentError: The identifier is neither of the two (``name.parquet``), or not a
                name (``name.syntax``).
            DeltaReplayError: As by ``deltareplay.spark.convert``.

        >>> DeltaTable.convertToDelta(spark, "parquet.`/tmp/orders`", "day date")  # doctest: +SKIP
        """
        _check_type(identifier, str, "identifier", "a string")
        parts = names.table_parts(identifier)
        return cls(sparkSession, convert_identifier(sparkSession, parts, partitionSchema))

    @classmethod
    def forPath(
        cls,
        sparkSession: SparkSession,
        path: str,
        hadoopConf: Mapping[str, str] = dict(),  # noqa: C408 delta-spark's default
    ) -> DeltaTable:
        """Open the table at a path.

        Args:
            sparkSession: The session.
            path: A path as Hadoop writes it; or a ``deltareplay.Table``, with whose
                ``storage_options`` the driver reads the log.
            hadoopConf: Settings of the file system (``fs.``, ``dfs.``), for the driver. Spark reads
                data files with its own.

        Raises:
            TableNotFoundError: There is no Delta table (``table.not_found``).
            InvalidArgumentError: A setting is not one of a file system (``argument.hadoop``).
            UnsupportedFeatureError: A setting has no counterpart here (``spark.hadoop``).

        >>> DeltaTable.forPath(spark, "demo/orders").toDF().show()  # doctest: +SKIP
        """
        capabilities.check(sparkSession)
        _check_type(path, (str, Table), "path", "a string")
        table = path if isinstance(path, Table) else lookup.at_path(path, hadoopConf)
        _check_exists(table)
        return cls(sparkSession, table)

    @classmethod
    def forName(cls, sparkSession: SparkSession, tableOrViewName: str) -> DeltaTable:
        """Open a table of the session's catalog.

        Args:
            sparkSession: The session.
            tableOrViewName: A name such as ``sales.orders``, or ``delta.`/path```. Despite the
                argument's name, views are an error, as in delta-spark.

        Raises:
            TableNotFoundError: There is no Delta table of that name (``name.not_delta``) or at that
                path (``table.not_found``).
            InvalidArgumentError: The name is invalid (``name.syntax``).

        >>> DeltaTable.forName(spark, "orders").toDF().show()  # doctest: +SKIP
        """
        capabilities.check(sparkSession)
        _check_type(tableOrViewName, str, "tableOrViewName", "a string")
        entry = lookup.find(sparkSession, names.table_parts(tableOrViewName))
        table = entry.table()
        _check_exists(table)
        return cls(sparkSession, table, None, entry.name)

    @classmethod
    def create(cls, sparkSession: SparkSession | None = None) -> DeltaTableBuilder[DeltaTable]:
        """Return a builder of a new table; it is an error if the table exists.

        Args:
            sparkSession: The session; None takes the active one.

        >>> new = DeltaTable.create(spark).location("/tmp/events")  # doctest: +SKIP
        >>> new.addColumn("id", "bigint").execute()  # doctest: +SKIP
        """
        return DeltaTableBuilder(capabilities.session_or_active(sparkSession), "create", cls)

    @classmethod
    def createIfNotExists(
        cls, sparkSession: SparkSession | None = None
    ) -> DeltaTableBuilder[DeltaTable]:
        """Return a builder of a new table; an existing table is left unchanged.

        Args:
            sparkSession: The session; None takes the active one.

        >>> DeltaTable.createIfNotExists(spark).location("/tmp/events")  # doctest: +SKIP
        """
        return DeltaTableBuilder(
            capabilities.session_or_active(sparkSession), "create_if_not_exists", cls
        )

    @classmethod
    def replace(cls, sparkSession: SparkSession | None = None) -> DeltaTableBuilder[DeltaTable]:
        """Return a builder that replaces an existing table, rows and definition.

        Args:
            sparkSession: The session; None takes the active one.

        >>> DeltaTable.replace(spark).location("/tmp/events")  # doctest: +SKIP
        """
        return DeltaTableBuilder(capabilities.session_or_active(sparkSession), "replace", cls)

    @classmethod
    def createOrReplace(
        cls, sparkSession: SparkSession | None = None
    ) -> DeltaTableBuilder[DeltaTable]:
        """Return a builder that creates a table, or replaces the existing one.

        Args:
            sparkSession: The session; None takes the active one.

        >>> DeltaTable.createOrReplace(spark).location("/tmp/events")  # doctest: +SKIP
        """
        return DeltaTableBuilder(
            capabilities.session_or_active(sparkSession), "create_or_replace", cls
        )

    @classmethod
    def isDeltaTable(cls, sparkSession: SparkSession, identifier: str) -> bool:
        """Return whether a path is the root of a Delta table.

        Args:
            sparkSession: The session.
            identifier: The path.

        >>> DeltaTable.isDeltaTable(spark, "demo/orders")  # doctest: +SKIP
        True
        """
        capabilities.check(sparkSession)
        _check_type(identifier, str, "identifier", "a string")
        return lookup.at_path(identifier).native.exists()

    def upgradeTableProtocol(self, readerVersion: int, writerVersion: int) -> None:
        """Upgrade the protocol versions; they are never lowered.

        Args:
            readerVersion: The version that readers must support.
            writerVersion: The version that writers must support.

        Raises:
            InvalidArgumentError: A version is not an integer (``argument.type``), or does not exist
                (``protocol.version``).

        >>> orders.upgradeTableProtocol(1, 4)  # doctest: +SKIP
        """
        _check_type(readerVersion, int, "readerVersion", "an integer")
        _check_type(writerVersion, int, "writerVersion", "an integer")
        self._table.set_properties(
            {
                "delta.minReaderVersion": str(readerVersion),
                "delta.minWriterVersion": str(writerVersion),
            }
        )

    def addFeatureSupport(self, featureName: str) -> None:
        """Add a table feature.

        Args:
            featureName: The feature.

        Raises:
            DeltaReplayError: As by ``Table.add_feature``.

        >>> orders.addFeatureSupport("deletionVectors")  # doctest: +SKIP
        """
        _check_type(featureName, str, "featureName", "a string")
        self._table.add_feature(featureName)

    def dropFeatureSupport(self, featureName: str, truncateHistory: bool | None = None) -> None:
        """Drop a table feature and its traces, as ``Table.drop_feature`` does.

        Args:
            featureName: The feature.
            truncateHistory: Whether older versions are deleted instead of protected.

        Raises:
            DeltaReplayError: As by ``Table.drop_feature``.

        >>> orders.dropFeatureSupport("deletionVectors")  # doctest: +SKIP
        """
        _check_type(featureName, str, "featureName", "a string")
        if truncateHistory is not None:
            _check_type(truncateHistory, bool, "truncateHistory", "a boolean")
        self._table.drop_feature(featureName, truncate_history=bool(truncateHistory))

    def restoreToVersion(self, version: int) -> DataFrame:
        """Restore the table to an older version, in a new commit.

        Args:
            version: The older version.

        Returns:
            One row of metrics.

        Raises:
            DeltaReplayError: As by ``Table.restore``.

        >>> orders.restoreToVersion(3).show()  # doctest: +SKIP
        """
        _check_type(version, int, "version", "an int")
        return results.restored(self._spark, self._table, self._table.restore(version))

    def restoreToTimestamp(self, timestamp: str) -> DataFrame:
        """Restore the table to its state at a time, in a new commit.

        Args:
            timestamp: A time such as ``2026-01-31`` or ``2026-01-31 12:30:00``, in the session's
                time zone.

        Returns:
            One row of metrics.

        Raises:
            InvalidArgumentError: The timestamp is invalid (``argument.moment``).
            DeltaReplayError: As by ``Table.restore``.

        >>> orders.restoreToTimestamp("2026-01-31").show()  # doctest: +SKIP
        """
        _check_type(timestamp, str, "timestamp", "a string")
        commit = self._table.restore(timestamp=evaluate_timestamp(self._spark, timestamp))
        return results.restored(self._spark, self._table, commit)

    def optimize(self) -> DeltaOptimizeBuilder:
        """Return a builder that compacts small files, or clusters rows for file skipping.

        >>> orders.optimize().where("day = '2026-01-31'").executeCompaction()  # doctest: +SKIP
        """
        return DeltaOptimizeBuilder(self._spark, self._table)

    def clone(
        self,
        target: str,
        isShallow: bool = False,
        replace: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> DeltaTable:
        """Clone the newest version of the table.

        Args:
            target: The absolute path of the clone, or its name in the catalog.
            isShallow: Whether the clone only refers to the data files.
            replace: Whether to replace a table at the target; otherwise it is an error.
            properties: Properties of the clone, in addition to those of the table.

        Returns:
            The clone.

        Raises:
            InvalidArgumentError: The target is neither an absolute path nor a name
                (``name.syntax``).
            TableNotFoundError: The catalog has no such schema (``name.schema``), or something else
                under the name (``name.not_delta``).
            UnsupportedFeatureError: The catalog cannot take the name (``spark.no_delta``).
            DeltaReplayError: As by ``deltareplay.spark.clone``.

        >>> orders.clone("/tmp/orders_backup", isShallow=True)  # doctest: +SKIP
        """
        return self._cloned(target, isShallow, replace, properties)

    def cloneAtVersion(
        self,
        version: int,
        target: str,
        isShallow: bool = False,
        replace: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> DeltaTable:
        """Clone a version of the table.

        Args:
            version: The version.
            target: As for ``clone``.
            isShallow: As for ``clone``.
            replace: As for ``clone``.
            properties: As for ``clone``.

        Raises:
            DeltaReplayError: As by ``clone``.

        >>> orders.cloneAtVersion(3, "/tmp/orders_3", isShallow=True)  # doctest: +SKIP
        """
        _check_type(version, int, "version", "an int")
        return self._cloned(target, isShallow, replace, properties, version=version)

    def cloneAtTimestamp(
        self,
        timestamp: str,
        target: str,
        isShallow: bool = False,
        replace: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> DeltaTable:
        """Clone the table as it was at a time.

        Args:
            timestamp: As for ``restoreToTimestamp``.
            target: As for ``clone``.
            isShallow: As for ``clone``.
            replace: As for ``clone``.
            properties: As for ``clone``.

        Raises:
            InvalidArgumentError: The timestamp is invalid (``argument.moment``).
            DeltaReplayError: As by ``clone``.

        >>> orders.cloneAtTimestamp("2026-01-31", "/tmp/january")  # doctest: +SKIP
        """
        _check_type(timestamp, str, "timestamp", "a string")
        at = evaluate_timestamp(self._spark, timestamp)
        return self._cloned(target, isShallow, replace, properties, timestamp=at)

    def _cloned(
        self, target: str, is_shallow: bool, replace: bool, properties: Any, **time_travel: Any
    ) -> DeltaTable:
        _check_type(target, str, "target", "a string")
        _check_type(is_shallow, bool, "isShallow", "a boolean")
        _check_type(replace, bool, "replace", "a boolean")
        if properties is not None:
            _check_type(properties, dict, "properties", "a dict")
            for key, value in properties.items():
                _check_type(key, str, f"the property {key!r}", "a string")
                _check_type(value, str, f"the value of the property {key!r}", "a string")
        is_path = names.is_absolute(target)
        entry = lookup.find(
            self._spark, ("delta", target) if is_path else names.table_parts(target)
        )
        table, _ = clones.run(
            self._spark,
            self._table.snapshot(**time_travel),
            entry,
            mode="create_or_replace" if replace else "create",
            shallow=is_shallow,
            properties=properties,
        )
        return DeltaTable(self._spark, table, None, registration.name_of(self._spark, entry))


def _check_exists(table: Table) -> None:
    if not table.native.exists():
        raise TableNotFoundError(
            f"there is no Delta table at {without_secrets(table.uri)}", code="table.not_found"
        )


def _check_type(value: object, kind: type | tuple[type, ...], argument: str, expected: str) -> None:
    """Check the type of an argument; as in delta-spark, the error is a ``ValueError``."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise InvalidArgumentError(
            f"{argument} needs to be {expected} but got {type(value).__name__}",
            code="argument.type",
        )
