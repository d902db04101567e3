"""``write``: writes the rows of a DataFrame into a table, with Spark's own Parquet writer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from deltareplay._snapshot.snapshot import Snapshot
from deltareplay._table.create import WriteLocation
from deltareplay._table.renamed import Old, WrittenVersion, renamed
from deltareplay._table.write import MODES, check_modes, is_kept
from deltareplay._transaction.written import Written
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.catalog import registration
from deltareplay.spark.catalog.table_argument import TableLike, location_of, name_parts, resolved
from deltareplay.spark.dml import overwrite, replace_where
from deltareplay.spark.dml.statement import DmlStatement, analyzed, as_column, record_read
from deltareplay.spark.scan.skipping import skipping_filter
from deltareplay.spark.schema.fields import struct_type
from deltareplay.spark.session import capabilities, settings
from deltareplay.spark.writing import default_properties
from deltareplay.spark.writing.staged_write import FileRows, commit_rows
from deltareplay.spark.writing.target_table import TargetTable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

    from deltareplay._expressions.filters import Filter


@renamed(
    partition_by="partition_columns",
    replace_where="where",
    merge_schema=Old("schema_mode", {True: "merge", False: None}),
    overwrite_schema=Old("schema_mode", {True: "overwrite", False: None}),
)
def write(
    df: DataFrame,
    table: TableLike,
    *,
    mode: Literal["append", "overwrite", "error", "ignore"] = "append",
    where: str | None = None,
    replace_using: Sequence[str] | None = None,
    replace_on: str | Column | None = None,
    target_alias: str = "target",
    partition_overwrite: Literal["static", "dynamic"] | None = None,
    partition_columns: Sequence[str] | None = None,
    schema_mode: Literal["merge", "overwrite"] | None = None,
    txn: tuple[str, int] | None = None,
    properties: Mapping[str, str] | None = None,
    user_metadata: str | None = None,
    root: str | None = None,
) -> Written:
    """Write rows into a table, in one commit.

    The executors write the Parquet files into a separate directory in the table, with Spark's own
    Parquet writer and without Python. Then the driver reads the statistics from the footers and
    commits once. If anything fails before that, readers see nothing, and the files are
    deleted, or left for ``VACUUM``.

    While it writes, Spark checks NOT NULL, CHECK constraints, invariants and the values of
    generated columns. If the rows lack generated columns or columns with a default, these are
    computed.

    ``delta.autoOptimize.optimizeWrite`` adds a shuffle, which collects the rows of a partition in
    files of up to 512 MiB of shuffled data. With ``delta.autoOptimize.autoCompact``, a separate
    commit (``optimize``) packs the small files of the written partitions once there are 50; if it
    fails, that is a warning.

    Args:
        df: The rows. Columns are matched by name, ignoring case; they have the table's types, or
            narrower ones. Missing columns are null, computed, or get their default or identity.
        table: A ``Table``, a ``Snapshot``, or the table's path, URI or name. A new table is
            created in the commit of its first rows; with a name such as ``uc://main.sales.orders``,
            as by ``deltareplay.create_table``. A name such as ``sales.orders`` belongs to the
            session's catalog, and a new table is created at its default path; begin a relative
            path of one part with ``./``. With a ``Snapshot``, later commits are checked for
            conflicts.
        mode: ``append``, or ``overwrite``, which replaces the existing rows. With ``error``, an
            existing table is an error; with ``ignore``, nothing is written into one.
        where: With ``overwrite``, a Spark SQL condition (delta-spark's ``replaceWhere``): only rows
            that satisfy it are replaced, and all new rows must satisfy it. A condition on partition
            columns replaces whole files; any other is evaluated on the rows, as by ``delete``.
        replace_using: With ``overwrite``, columns of the table and the rows (delta-spark's
            ``replaceUsing``): only rows whose values in all of them equal those of a new row are
            replaced. Null equals nothing.
        replace_on: With ``overwrite``, a condition on the table and the rows, as SQL text or a
            column (delta-spark's ``replaceOn``): only rows that satisfy it together with a new row
            are replaced. ``DataFrame.alias`` names the rows.
        target_alias: The name of the table in ``replace_on``.
        partition_overwrite: With ``overwrite``, ``dynamic`` replaces only the partitions of the new
            rows, ``static`` all; the default is ``spark.sql.sources.partitionOverwriteMode``.
        partition_columns: The partition columns of a new table; for an existing table, its own.
        schema_mode: ``merge`` adds columns that the table lacks, in the same commit. With
            ``overwrite`` as both modes, the columns of the rows replace those of the table, and
            ``partition_columns`` may name others.
        txn: Application and version of an idempotent write: if the table already has this version
            of the application, or a later one, nothing is written.
        properties: Table properties of a new table.
        user_metadata: Any text for the commit.
        root: As in ``read``.

    Returns:
        The version and metrics, as from ``Table.append`` and ``Table.overwrite``. The version is
        None if ``txn`` is already in the table, if the table exists and ``mode`` is ``ignore``, or
        if there was nothing to commit: no rows to write or to replace, no new columns, no ``txn``.

    Raises:
        InvalidArgumentError: Rows do not fit the table (``write.columns``, ``write.identity``), or
            break a constraint (``write.constraint``; the message has the first such row of a task);
            with mode ``error``, the table exists (``table.exists``); an append-only table would be
            overwritten (``transaction.append_only``); arguments contradict each other
            (``write.mode``) or the table (``write.partitions``); the DataFrame is a stream
            (``write.stream``); Spark cannot resolve a condition (``statement.expression``); or, for
            a new table, as by ``deltareplay.create_table``.
        TableNotFoundError: ``replace_using`` or ``replace_on`` is set, and there is no table
            (``table.not_found``); the name is that of something else (``name.not_delta``), or its
            schema does not exist (``name.schema``).
        UnsupportedFeatureError: The table has a feature that cannot be written
            (``protocol.writer_features``, ``write.feature``), or an expression that Spark cannot
            evaluate safely (``spark.expression``); the rows have a collation
            (``spark.collation``); the catalog cannot take a new name (``spark.no_delta``); Spark is
            older than 4.0 (``spark.too_old``); or, as by ``read``, Spark cannot use the vended
            credentials. Nothing was written.
        CommitConflictError: Another writer's commit conflicts; nothing was committed.
        CommitStateUnknownError: It is unknown whether the storage took the commit
            (``commit.unknown``).
        StorageError: The storage failed otherwise; or there are files that no committed Spark task
            wrote (``write.uncommitted_files``). Nothing was committed.

    >>> txn = ("nightly", 20260101)
    >>> write(df, "demo/new", partition_columns=["day"], txn=txn).version  # doctest: +SKIP
    0
    """
    matching = None
    if replace_using is not None or replace_on is not None:
        matching = _matching(df, replace_using, replace_on, target_alias)
    if schema_mode is None and settings.merges_schemas(_session(df)):
        schema_mode = "merge"
    return write_rows(
        df,
        table,
        mode=mode,
        where=where,
        matching=matching,
        partition_overwrite=partition_overwrite,
        partition_columns=partition_columns,
        schema_mode=schema_mode,
        txn=txn,
        properties=properties,
        user_metadata=user_metadata,
        root=root,
    )


def write_rows(
    df: DataFrame,
    table: TableLike,
    *,
    mode: str,
    where: str | None = None,
    matching: replace_where.Matching | None = None,
    partition_overwrite: str | None = None,
    partition_columns: Sequence[str] | None = None,
    schema_mode: str | None = None,
    txn: tuple[str, int] | None = None,
    properties: Mapping[str, str] | None = None,
    user_metadata: str | None = None,
    root: str | None = None,
    reads: Sequence[Filter | None] = (),
) -> Written:
    """Write rows as ``write`` does, except that the session does not set ``schema_mode``.

    ``matching`` selects the rows that they replace; ``reads`` are filters of the rows of the table
    from which they were computed.
    """
    spark = _session(df)
    _check(mode, where, matching, partition_overwrite or "static", schema_mode)
    txn = settings.transaction(spark) if txn is None else txn
    table = resolved(spark, table)
    name = name_parts(table)  # of a table that is not in the catalog yet
    location = (
        location_of(table) if name is None else WriteLocation(registration.new_table(spark, name))
    )
    if matching is None and not location.table.native.exists():
        snapshot = None
        table_properties = default_properties.with_defaults(
            settings.default_properties(spark), properties or {}
        )
        target = TargetTable.new(location, df.schema, partition_columns or (), table_properties)
    elif is_kept(location.table.uri, mode):
        return WrittenVersion(None, {})
    else:
        snapshot = table if isinstance(table, Snapshot) else location.table.snapshot()
        target = TargetTable.of(snapshot)
    if partition_overwrite is None:
        all_rows = mode == "overwrite" and where is None and matching is None
        is_dynamic = all_rows and snapshot is not None and settings.overwrites_partitions(spark)
        columns = target.partition_columns if partition_columns is None else partition_columns
        partition_overwrite = "dynamic" if is_dynamic and columns else "static"
        if partition_overwrite == "dynamic" and schema_mode == "overwrite":
            raise InvalidArgumentError(
                "schema_mode='overwrite' replaces all rows and columns, but "
                f"{settings.PARTITION_OVERWRITE} of the session is dynamic: pass "
                "partition_overwrite='static'",
                code="write.mode",
            )
    if schema_mode == "overwrite" and snapshot is not None:
        target, partition_columns = target.with_new_columns(df.schema, partition_columns), None
    elif schema_mode == "merge":
        target = target.with_columns(df.schema)
    target.check(partition_columns)
    parameters = _parameters(mode, where, partition_overwrite, schema_mode, target)
    if matching is not None:
        parameters |= matching.parameters
    if user_metadata is None:
        user_metadata = settings.user_metadata(spark)
    transaction = target.begin(snapshot, "WRITE", parameters, user_metadata)
    if txn is not None and transaction.set_transaction(*txn):
        return WrittenVersion(transaction.commit(), {})
    for read in reads:
        record_read(transaction, read)
    if matching is not None and snapshot is not None:
        statement = DmlStatement(spark, snapshot, target, root)
        return WrittenVersion(*replace_where.replace_matching(statement, matching, transaction))
    if snapshot is None and where is not None:
        empty = spark.createDataFrame([], struct_type(target.fields))
        analyzed(lambda: empty.where(as_column(where)))
    removed, filter = None, None
    if mode == "overwrite" and snapshot is not None and partition_overwrite == "static":
        removed = overwrite.files(spark, snapshot, where)
        filter = skipping_filter(where, spark, snapshot, None, joined=False)
        if removed is None and where is not None:
            statement = DmlStatement(spark, snapshot, target, root)
            return WrittenVersion(*replace_where.replace(statement, df, where, transaction))
    file_rows = FileRows.of(df, target, where)

    def remove(added: pa.Table) -> Mapping[str, int]:
        files = removed
        if snapshot is not None and partition_overwrite == "dynamic":
            added_values: list[Any] = added["partitionValues"].to_pylist()
            values = [dict(entries) for entries in added_values]
            files = overwrite.same_partitions(snapshot, values, capabilities.time_zone(spark))
        if files is not None:
            overwrite.remove(transaction, files, filter)
        return overwrite.metrics(files)

    written = commit_rows(spark, file_rows, location, target, transaction, remove, root)
    if name is not None and written.version is not None:
        registration.add(spark, name, location.table, owns_files=True)
    return written


def _matching(
    df: DataFrame, using: Sequence[str] | None, on: str | Column | None, alias: str
) -> replace_where.Matching:
    """Return the matching condition of the arguments of ``write``."""
    if using is not None and on is not None:
        raise InvalidArgumentError(
            "replace_using and replace_on cannot be combined: pass one of them",
            code="write.mode",
        )
    columns = () if using is None else tuple(using)
    if on is None and not columns:
        raise InvalidArgumentError(
            "replace_using is empty: pass a list of columns, such as ['id']",
            code="argument.type",
        )
    return replace_where.Matching(columns, on, alias, df, lambda rows: rows)


def _session(df: DataFrame) -> SparkSession:
    """Return the session of a DataFrame; check that the DataFrame can be written."""
    spark: SparkSession | None = getattr(df, "sparkSession", None)
    if spark is None:
        raise InvalidArgumentError(
            f"df needs to be a Spark DataFrame but got {type(df).__name__}: pass other rows to "
            "Table.append, or to spark.createDataFrame first",
            code="argument.type",
        )
    capabilities.require_spark_4(spark, "writing")
    if df.isStreaming:
        raise InvalidArgumentError(
            "the DataFrame is a stream: write each of its batches, by df.writeStream.foreachBatch, "
            "or the stream by df.writeStream.format('deltareplay')",
            code="write.stream",
        )
    return spark


def _parameters(
    mode: str,
    where: str | None,
    partition_overwrite: str,
    schema_mode: str | None,
    target: TargetTable,
) -> dict[str, Any]:
    """Return the operation parameters of the commit."""
    parameters: dict[str, Any] = {
        "mode": MODES[mode],
        "partitionBy": list(target.partition_columns),
    }
    if where is not None:
        parameters["predicate"] = where
    if partition_overwrite == "dynamic":
        parameters["isDynamicPartitionOverwrite"] = True
    if schema_mode is not None:
        parameters["canMergeSchema" if schema_mode == "merge" else "canOverwriteSchema"] = True
    return parameters


def _check(
    mode: str,
    where: str | None,
    matching: replace_where.Matching | None,
    partition_overwrite: str,
    schema_mode: str | None,
) -> None:
    check_modes(mode, where, partition_overwrite, schema_mode)
    if matching is not None and (
        mode != "overwrite"
        or where is not None
        or partition_overwrite == "dynamic"
        or schema_mode == "overwrite"
    ):
        raise InvalidArgumentError(
            "replace_using and replace_on require mode='overwrite': pass one of them, and leave "
            "out where, partition_overwrite and schema_mode='overwrite'",
            code="write.mode",
        )
    if schema_mode == "overwrite" and (where is not None or partition_overwrite == "dynamic"):
        raise InvalidArgumentError(
            "schema_mode='overwrite' replaces all rows and columns: leave where and "
            "partition_overwrite out",
            code="write.mode",
        )
