"""``sql``: runs Delta's statements by deltareplay, and all others by Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from deltareplay._support.arguments import checked
from deltareplay._table.table import Table
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.catalog import lookup
from deltareplay.spark.catalog.timestamps import moment
from deltareplay.spark.definition import clones
from deltareplay.spark.delta_table import optimize_result, results
from deltareplay.spark.delta_table.delta_table import DeltaTable
from deltareplay.spark.dml import overwrite
from deltareplay.spark.dml.delete import delete
from deltareplay.spark.dml.expressions import of_table
from deltareplay.spark.dml.merge.builder import merge
from deltareplay.spark.dml.statement import Statement
from deltareplay.spark.dml.update import update
from deltareplay.spark.maintenance.detail import location
from deltareplay.spark.maintenance.vacuum import vacuum
from deltareplay.spark.query import queries, subqueries, target_views
from deltareplay.spark.schema.frames import nothing
from deltareplay.spark.session import capabilities, settings, strings
from deltareplay.spark.statements import (
    alter_forms,
    alter_table,
    arguments,
    before_statements,
    cached_tables,
    create_forms,
    create_table,
    describe,
    drop_table,
    forms,
    immediate,
    insert,
    show_partitions,
)
from deltareplay.spark.syntax import names, tokens
from deltareplay.spark.syntax.parser import Name, Reader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@checked
def sql(spark: SparkSession, text: str, args: arguments.Arguments | None = None) -> DataFrame:
    """Run a SQL statement on Delta tables and others, without delta-spark's jar.

    ``MERGE INTO``, ``UPDATE``, ``DELETE FROM``, ``TRUNCATE TABLE``, ``INSERT``, ``ALTER TABLE``,
    ``COMMENT ON TABLE``, ``CREATE TABLE``, ``REPLACE TABLE``, ``OPTIMIZE``,
    ``REORG TABLE ... APPLY (PURGE)``, ``VACUUM``, ``DESCRIBE HISTORY``, ``DESCRIBE DETAIL``,
    ``RESTORE``, ``CONVERT TO DELTA``, ``GENERATE`` and ``CREATE TABLE ... SHALLOW CLONE`` run here,
    on ``delta.`/path``` and on Delta tables in the session's catalog. Everything else is passed to
    ``spark.sql``. deltareplay parses the statement; Spark parses and evaluates the expressions.

    Queries, also those of other statements, read Delta tables by path, by name and by version
    (``VERSION AS OF``, ``TIMESTAMP AS OF``), as ``read`` does: each stays at the version that it
    has now. ``WHERE`` skips files by statistics, except in queries with outer, semi and anti joins.
    A temporary view stays at these versions, too. A view in the catalog is an error, because Spark
    stores only its text.

    ``ALTER TABLE`` has these forms, each of which is one commit, as by the method of ``Table``
    (``DROP FEATURE`` and ``delta.enableRowTracking`` may take more):

    - ``SET TBLPROPERTIES``, ``UNSET TBLPROPERTIES [IF EXISTS]``;
    - ``ADD COLUMNS`` without ``DEFAULT``, ``RENAME COLUMN``, ``DROP COLUMNS [IF EXISTS]``;
    - ``ALTER COLUMN`` and ``CHANGE COLUMN``, with ``TYPE``, ``COMMENT``, ``SET DEFAULT``,
      ``DROP DEFAULT``, ``DROP NOT NULL``, ``FIRST`` or ``AFTER``;
    - ``ADD CONSTRAINT ... CHECK``, ``DROP CONSTRAINT [IF EXISTS]``;
    - ``CLUSTER BY``, ``DROP FEATURE [TRUNCATE HISTORY]``;
    - ``RENAME TO``, which Spark runs: it changes the name in the catalog.

    ``CREATE TABLE`` and ``REPLACE TABLE`` of format delta, with columns or ``AS`` a query, are one
    commit, as delta-spark's: with ``NOT NULL``, ``DEFAULT``, ``GENERATED``, ``IDENTITY`` and
    ``COMMENT`` of columns, ``PARTITIONED BY``, ``CLUSTER BY``, ``COMMENT``, ``LOCATION``,
    ``TBLPROPERTIES`` and ``OPTIONS``. A new name for an existing table commits nothing. With
    delta-spark's jar, Spark runs them.

    Without delta-spark's jar, Spark's catalog does not know a table's columns and properties:
    ``DESCRIBE TABLE``, ``SHOW COLUMNS`` and ``SHOW TBLPROPERTIES`` take them from the log.
    ``ALTER TABLE ... SET LOCATION`` is an error. ``DROP TABLE`` deletes the files of a table that
    was made without ``LOCATION``, and no others.

    ``INSERT INTO``, ``INSERT OVERWRITE`` and ``INSERT INTO ... REPLACE`` write the rows of their
    query, as ``write`` does, cast to the table's types. Columns are matched by position, to the
    columns listed after the table's name, or ``BY NAME``. ``WITH SCHEMA EVOLUTION`` adds columns.
    ``PARTITION (day = '2026-01-31', country)`` sets values of partition columns, and ``OVERWRITE``
    then replaces these partitions. ``DEFAULT`` in ``VALUES`` is the default of the column.
    ``REPLACE WHERE condition`` replaces rows as ``write(where=)`` does, ``REPLACE USING (columns)``
    and ``REPLACE ON condition`` as its arguments ``replace_using`` and ``replace_on``.

    ``WITH`` may precede ``INSERT``, ``MERGE``, ``UPDATE`` and ``DELETE``, and ``FROM`` may precede
    ``INSERT``. ``EXECUTE IMMEDIATE``, ``IDENTIFIER``, ``CACHE TABLE``, ``REFRESH TABLE`` and
    ``SHOW PARTITIONS`` work on Delta tables; queries may use ``table_changes``,
    ``table_changes_by_path`` and ``_metadata``.

    Without the jar, ``spark.sql`` and ``spark.table`` themselves read no Delta table by its name,
    because Spark does not pass the path on.

    Args:
        spark: The session.
        text: One statement.
        args: Values of its parameters, ``:name`` or ``?``: strings, numbers, booleans, bytes,
            dates, timestamps and None.

    Returns:
        The result of delta-spark, such as ``num_affected_rows``; otherwise the result of Spark.

    Raises:
        InvalidArgumentError: The statement is invalid (``sql.syntax``, ``sql.token``; the message
            has the position), or as by the function that runs it.
        UnsupportedFeatureError: A form of ``ALTER TABLE`` (``sql.alter``) or a clause of
            ``CREATE TABLE`` (``sql.create``) is not supported; ``SHOW CREATE TABLE``
            (``sql.catalog``); a script (``sql.script``); the statement creates a view in the
            catalog (``sql.view``), or changes a view (``sql.target``); a parameter has no literal
            (``sql.arguments``).
        TableNotFoundError: There is no Delta table of that name or at that path.

    >>> sql(spark, "DELETE FROM delta.`/tmp/orders` WHERE id = 7").show()  # doctest: +SKIP
    +-----------------+
    |num_affected_rows|
    +-----------------+
    |                1|
    +-----------------+
    """
    capabilities.check(spark)
    return _run(spark, arguments.filled(spark, text, args))


def _run(spark: SparkSession, text: str) -> DataFrame:
    with tokens.strings(raw="\\" in text and strings.are_raw(spark)):
        return _read(spark, text)


def _read(spark: SparkSession, text: str) -> DataFrame:
    reader = Reader(text)
    if _is_script(reader) and not capabilities.has_delta(spark):
        raise UnsupportedFeatureError(
            "this is a script, BEGIN ... END, and a call runs one statement: pass each of them, "
            "with conditions and loops of Python; spark.sql runs scripts without Delta tables",
            code="sql.script",
        )
    immediately = immediate.read(reader)
    if immediately is not None:
        return _run(spark, immediate.statement(spark, immediately))
    several = before_statements.split(reader.again())
    if several is None:
        return _one(spark, reader)
    parsed = [(before, forms.parse(part)) for before, part in several]
    are_delta = {
        statement is not None and lookup.is_delta(spark, statement.table) for _, statement in parsed
    }
    if are_delta == {True, False}:
        raise UnsupportedFeatureError(
            "this statement inserts into Delta tables and others: write two statements",
            code="sql.inserts",
        )
    if are_delta == {False}:
        return queries.run(spark, text)
    for before, statement in parsed:
        if isinstance(statement, (forms.Insert, forms.Merge)):
            statement = replace(statement, before=before)
        with subqueries.after(before.queries):
            done = _RUNS[type(statement)](spark, statement)
    return done


def _is_script(reader: Reader) -> bool:
    """Return whether the text is a script, which may have a label."""
    words = [token.text.upper() for token in reader.tokens[:3]]
    return words[0] == "BEGIN" or words[1:] == [":", "BEGIN"]


def _one(spark: SparkSession, reader: Reader) -> DataFrame:
    text = reader.text
    for unit in _UNITS:
        own_statement = unit.read(reader.again())
        if own_statement is not None:
            return unit.run(spark, own_statement)
    statement = forms.parse(text)
    if statement is None:
        return queries.run(spark, text)
    if isinstance(statement, _OF_ANY_TABLE) and not lookup.is_delta(spark, statement.table):
        if isinstance(statement, _OF_VIEWS) and not capabilities.has_delta(spark):
            table = target_views.table_behind(spark, statement.table)
            if table is not None:
                return _through_view(spark, statement, table)
        return queries.run(spark, text)  # of another format, or Spark raises an error
    return _RUNS[type(statement)](spark, statement)


def _through_view(
    spark: SparkSession,
    statement: forms.Merge | forms.Update | forms.Delete,
    table: Name,
) -> DataFrame:
    done = _RUNS[type(statement)](spark, replace(statement, table=table, alias=_called(statement)))
    rows = queries.read_here(spark, f"SELECT * FROM {names.dotted(table)}")
    target_views.show_newest(spark, statement.table, rows)
    return done


def _merge(spark: SparkSession, statement: forms.Merge) -> DataFrame:
    evolves = statement.evolves or settings.merges_schemas(spark)
    run = merge(
        spark,
        _table(spark, statement.table),
        _source(spark, statement),
        statement.on,
        schema_mode="merge" if evolves else None,
        target_alias=_called(statement),
    )
    for clause in statement.clauses:
        values = () if clause.values is None else (of_table(clause.values, _called(statement)),)
        getattr(run, clause.method)(*values, clause.condition)
    return results.merged(spark, run.execute().metrics)


def _source(spark: SparkSession, statement: forms.Merge) -> DataFrame:
    source = statement.source
    rows = queries.read_here(spark, statement.before.query(f"SELECT * FROM {source.text}"))
    return rows if source.alias is None else rows.alias(source.alias)


def _insert(spark: SparkSession, statement: forms.Insert) -> DataFrame:
    insert.run(
        spark, _table(spark, statement.table), insert.parse(statement.text), statement.before
    )
    return nothing(spark)


def _update(spark: SparkSession, statement: forms.Update) -> DataFrame:
    table, called = _table(spark, statement.table), _called(statement)
    values = of_table(statement.values, called)
    done = update(spark, table, statement.where, values, target_alias=called)
    return results.affected(spark, done.metrics, "numUpdatedRows")


def _delete(spark: SparkSession, statement: forms.Delete) -> DataFrame:
    done = delete(
        spark, _table(spark, statement.table), statement.where, target_alias=_called(statement)
    )
    return results.affected(spark, done.metrics, "numDeletedRows")


def _truncate(spark: SparkSession, statement: forms.Truncate) -> DataFrame:
    reader = Reader(statement.text)
    reader.needs("TRUNCATE", "TABLE")
    reader.name()
    reader.ends()  # delta-spark takes no partitions, either
    overwrite.truncate(Statement.of(spark, _table(spark, statement.table), None))
    return nothing(spark)


def _optimize(spark: SparkSession, statement: forms.Optimize) -> DataFrame:
    table = _table(spark, statement.table)
    if statement.full and "delta.clustering" not in table.snapshot().domain_metadata:
        raise InvalidArgumentError("OPTIMIZE FULL requires clustering columns", code="sql.full")
    return optimize_result.run(
        spark, table, statement.where, statement.z_order_by or None, purge=statement.purge
    )


def _vacuum(spark: SparkSession, statement: forms.Vacuum) -> DataFrame:
    table = _table(spark, statement.table)
    done = vacuum(
        spark,
        table,
        retention=None if statement.hours is None else timedelta(hours=statement.hours),
        lite=statement.lite,
        dry_run=statement.dry_run,
        force=not settings.checks_retention(spark),
    )
    root = location(table.uri)
    paths = [f"{root}/{file}" for file in done.files] if statement.dry_run else [root]
    return results.paths(spark, paths)


def _describe(spark: SparkSession, statement: forms.Describe) -> DataFrame:
    table = DeltaTable.forName(spark, names.dotted(statement.table))
    return table.history(statement.limit) if statement.history else table.detail()


def _restore(spark: SparkSession, statement: forms.Restore) -> DataFrame:
    table = _table(spark, statement.table)
    at = None if statement.timestamp is None else moment(spark, statement.timestamp)
    return results.restored(spark, table, table.restore(statement.version, timestamp=at))


def _convert(spark: SparkSession, statement: forms.Convert) -> DataFrame:
    DeltaTable.convertToDelta(spark, names.dotted(statement.table), statement.partition_schema)
    return nothing(spark)


def _generate(spark: SparkSession, statement: forms.Generate) -> DataFrame:
    DeltaTable.forName(spark, names.dotted(statement.table)).generate(statement.mode)
    return nothing(spark)


def _clone(spark: SparkSession, statement: forms.Clone) -> DataFrame:
    source = _table(spark, statement.source)
    at = None if statement.timestamp is None else moment(spark, statement.timestamp)
    clone, _, is_new = clones.run(
        spark,
        source,
        statement.table,
        mode=statement.mode,
        shallow=True,
        location=statement.location,
        properties=statement.properties,
        version=statement.version,
        timestamp=at,
    )
    metrics: dict[str, int] = {}
    if is_new:
        [commit] = clone.history(1).to_pylist()
        metrics = {name: int(value) for name, value in commit["operationMetrics"]}
    return results.cloned(spark, metrics)


def _create(spark: SparkSession, statement: forms.Create) -> DataFrame:
    provider = statement.provider
    if provider is None and names.path_of(statement.table) is not None:
        provider = statement.table[0]
    if provider is None:
        provider = str(spark.conf.get("spark.sql.sources.default"))
    if provider.lower() != "delta" or capabilities.has_delta(spark):
        return queries.run(spark, statement.text)
    form = create_forms.parse(statement.text)
    if form.only_names and lookup.at_path(str(form.location)).native.exists():
        return spark.sql(statement.text)
    capabilities.check_writing(spark, "CREATE TABLE")
    create_table.run(spark, form)
    return nothing(spark)


def _alter(spark: SparkSession, statement: forms.Alter) -> DataFrame:
    form = alter_forms.parse(statement.text)
    if not isinstance(form, alter_forms.ChangeEntry):
        capabilities.check_writing(spark, "ALTER TABLE")
        alter_table.run(_table(spark, statement.table), form)
        return nothing(spark)
    if names.path_of(statement.table) is not None:
        raise alter_forms.unsupported(form.what, "a path has no entry in the catalog")
    if form.what == "SET LOCATION" and not capabilities.has_delta(spark):
        raise alter_forms.unsupported(
            form.what,
            "Spark would take any path, so DROP TABLE, which leaves the files, and then "
            "CREATE TABLE ... USING delta LOCATION",
        )
    return spark.sql(statement.text)


def _comment(spark: SparkSession, statement: forms.Comment) -> DataFrame:
    _table(spark, statement.table).set_comment(statement.comment)
    return nothing(spark)


def _show(spark: SparkSession, statement: forms.Show) -> DataFrame:
    if capabilities.has_delta(spark):
        return spark.sql(statement.text)
    return describe.run(spark, statement.table, statement.text)


def _table(spark: SparkSession, name: Name) -> Table:
    table, _ = lookup.table_named(spark, name)
    return table


def _called(statement: forms.Merge | forms.Update | forms.Delete) -> str:
    """Return the qualifier of the table in expressions: its alias, or the last part of its name."""
    is_path = names.path_of(statement.table) is not None
    return statement.alias or ("target" if is_path else statement.table[-1])


_RUNS: dict[type, Callable[[SparkSession, Any], DataFrame]] = {
    forms.Merge: _merge,
    forms.Update: _update,
    forms.Delete: _delete,
    forms.Truncate: _truncate,
    forms.Optimize: _optimize,
    forms.Vacuum: _vacuum,
    forms.Describe: _describe,
    forms.Restore: _restore,
    forms.Convert: _convert,
    forms.Generate: _generate,
    forms.Clone: _clone,
    forms.Create: _create,
    forms.Insert: _insert,
    forms.Alter: _alter,
    forms.Comment: _comment,
    forms.Show: _show,
}

#: Modules that parse and run statements; each returns None for statements of other modules.
_UNITS: tuple[Any, ...] = (cached_tables, drop_table, show_partitions)

#: Statements that change tables through views.
_OF_VIEWS = (forms.Merge, forms.Update, forms.Delete)

#: Statements that Spark runs for tables of other formats.
_OF_ANY_TABLE = (
    forms.Merge,
    forms.Update,
    forms.Delete,
    forms.Truncate,
    forms.Insert,
    forms.Alter,
    forms.Comment,
    forms.Show,
)
