"""``sql``: runs Delta's statements by deltareplay, and all others by Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltareplay._support.arguments import checked
from deltareplay.exceptions import UnsupportedFeatureError
from deltareplay.spark.catalog import lookup
from deltareplay.spark.query import queries, subqueries
from deltareplay.spark.session import capabilities, strings
from deltareplay.spark.session.errors import raises_analysis_errors
from deltareplay.spark.statements import (
    alter,
    arguments,
    cache,
    clone,
    comment,
    convert,
    create,
    create_like,
    delete,
    describe,
    drop,
    generate,
    insert,
    merge,
    optimize,
    restore,
    show,
    show_partitions,
    truncate,
    update,
    vacuum,
)
from deltareplay.spark.statements.immediate import ExecuteImmediate
from deltareplay.spark.statements.prefix import Prefix, split
from deltareplay.spark.statements.statement import Statement
from deltareplay.spark.syntax import tokens
from deltareplay.spark.syntax.parser import Parser
from deltareplay.spark.syntax.tokens import Sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: The statements; of those with the same first words, the more specific ones come first.
_STATEMENTS: tuple[type[Statement], ...] = (
    *(merge.Merge, insert.Insert, update.Update, delete.Delete, truncate.Truncate),
    *(optimize.Optimize, optimize.Reorg, vacuum.Vacuum, restore.Restore, generate.Generate),
    *(describe.DescribeHistory, describe.DescribeDetail, convert.Convert),
    *(clone.Clone, create_like.CreateTableLike, create.CreateTable),
    *(alter.Alter, drop.DropTable, comment.Comment),
    *(show.ShowProperties, show.ShowCreate, show.ShowColumns, show.DescribeTable),
    *(show_partitions.ShowPartitions, cache.Cache, cache.Uncache, cache.Refresh),
)

#: The statements that ``EXPLAIN`` does not take for Delta tables.
_CHANGES = (
    *(merge.Merge, insert.Insert, update.Update, delete.Delete, truncate.Truncate),
    *(alter.Alter, optimize.Optimize, optimize.Reorg, restore.Restore),
)


@raises_analysis_errors
@checked
def sql(
    spark: SparkSession, text: str, args: arguments.Arguments | None = None, **values: Any
) -> DataFrame:
    """Run an SQL statement on Delta tables and others, without delta-spark's jar.

    ``MERGE INTO``, ``UPDATE``, ``DELETE FROM``, ``TRUNCATE TABLE``, ``INSERT``, ``ALTER TABLE``,
    ``COMMENT ON TABLE``, ``CREATE TABLE``, ``REPLACE TABLE``, ``OPTIMIZE``,
    ``REORG TABLE ... APPLY (PURGE)``, ``VACUUM``, ``DESCRIBE HISTORY``, ``DESCRIBE DETAIL``,
    ``RESTORE``, ``CONVERT TO DELTA``, ``GENERATE`` and ``CREATE TABLE ... SHALLOW CLONE`` run here,
    on ``delta.`/path``` and on Delta tables in the session's catalog. Everything else is passed to
    ``spark.sql``. deltareplay parses the statement; Spark parses and evaluates the expressions.

    Queries, also those of other statements, read Delta tables by path, by name and by version
    (``VERSION AS OF``, ``TIMESTAMP AS OF``), as ``read`` does: the result stays at the versions
    that the tables have now, and so does a temporary view. ``WHERE`` skips files by statistics,
    except in queries with an outer, semi or anti join, or with ``PIVOT``. A view in the catalog is
    an error, because Spark stores only its text.

    ``ALTER TABLE`` takes these clauses, each in one commit, as the methods of ``Table`` do
    (``DROP FEATURE`` and ``delta.enableRowTracking`` may make more):

    - ``SET TBLPROPERTIES``, ``UNSET TBLPROPERTIES [IF EXISTS]``;
    - ``ADD COLUMNS`` without ``DEFAULT``, ``RENAME COLUMN``, ``DROP COLUMNS [IF EXISTS]``;
    - ``REPLACE COLUMNS``, which adds, drops, moves and widens columns at once;
    - ``ALTER COLUMN`` and ``CHANGE COLUMN``, with ``TYPE``, ``COMMENT``, ``SET DEFAULT``,
      ``DROP DEFAULT``, ``DROP NOT NULL``, ``FIRST``, ``AFTER`` or ``SYNC IDENTITY``;
    - ``ADD CONSTRAINT ... CHECK``, ``DROP CONSTRAINT [IF EXISTS]``;
    - ``CLUSTER BY``, ``DROP FEATURE [TRUNCATE HISTORY]``;
    - ``RENAME TO``, which Spark runs: it changes the name in the catalog.

    ``CREATE TABLE`` and ``REPLACE TABLE`` of format delta, with columns, ``AS`` a query or ``LIKE``
    another table, make one commit, as in delta-spark. They take ``NOT NULL``, ``DEFAULT``,
    ``GENERATED``, ``IDENTITY`` and ``COMMENT`` of columns, ``PARTITIONED BY``, ``CLUSTER BY``,
    ``COMMENT``, ``LOCATION``, ``TBLPROPERTIES`` and ``OPTIONS``. A new name for an existing table
    commits nothing. With delta-spark's jar, Spark runs them.

    Without delta-spark's jar, Spark's catalog does not know a table's columns and properties:
    ``DESCRIBE TABLE``, ``SHOW COLUMNS`` and ``SHOW TBLPROPERTIES`` take them from the log.
    ``ALTER TABLE ... SET LOCATION`` is an error. ``DROP TABLE`` deletes the files of a table that
    was made without ``LOCATION``, and no others.

    ``INSERT INTO``, ``INSERT OVERWRITE`` and ``INSERT INTO ... REPLACE`` write the rows of their
    query, as ``write`` does, cast to the table's types. Columns are matched by position, to the
    columns listed after the table's name, or ``BY NAME``. ``WITH SCHEMA EVOLUTION`` adds columns.
    ``PARTITION (day = '2026-01-31', country)`` sets values of partition columns, and ``OVERWRITE``
    then replaces these partitions. ``DEFAULT`` in ``VALUES``, or as a whole expression after
    ``SELECT``, is the default of the column.
    ``REPLACE WHERE condition`` replaces rows as ``write(where=)`` does, ``REPLACE USING (columns)``
    and ``REPLACE ON condition`` as its arguments ``replace_using`` and ``replace_on``.

    ``WITH`` may precede ``INSERT``, ``MERGE``, ``UPDATE`` and ``DELETE``, and ``FROM`` may precede
    ``INSERT``. ``EXECUTE IMMEDIATE``, ``IDENTIFIER``, ``CACHE TABLE``, ``REFRESH TABLE`` and
    ``SHOW PARTITIONS`` work on Delta tables; queries may use ``table_changes``,
    ``table_changes_by_path`` and ``_metadata``.

    Without the jar, ``spark.sql`` itself reads no Delta table by its name, because Spark does not
    pass the path on.

    Args:
        spark: The session.
        text: One statement.
        args: Values of its parameters, ``:name`` or ``?``: strings, numbers, booleans, bytes,
            dates, timestamps and None.
        **values: Values for ``{name}`` in the text: DataFrames, columns, and literals, as
            ``SparkSession.sql`` takes them. Without values, braces have no meaning.

    Returns:
        The result of delta-spark, such as ``num_affected_rows``; otherwise the result of Spark.

    Raises:
        InvalidArgumentError: The statement is invalid (``sql.syntax``, ``sql.token``; the message
            has the position), or parameters and values do not match (``sql.arguments``).
        UnsupportedFeatureError: A clause of ``ALTER TABLE`` (``sql.alter``) or of
            ``CREATE TABLE`` (``sql.create``) is not supported; ``SHOW CREATE TABLE``
            (``sql.catalog``); a script (``sql.script``); ``EXPLAIN`` of a change of a Delta table,
            without the jar (``sql.explain``); the statement creates a view in the
            catalog, or a function with a query of Delta tables (``sql.view``), changes a view
            (``sql.target``), or inserts into Delta tables and others (``sql.inserts``); a query
            with ``_metadata`` uses all columns of a table in a way other than ``*``
            (``sql.metadata``); a parameter has no literal (``sql.arguments``).
        TableNotFoundError: There is no Delta table of that name (``name.not_delta``) or at that
            path (``table.not_found``).
        DeltaReplayError: As by the function that runs the statement.

    >>> sql(spark, "DELETE FROM delta.`/tmp/orders` WHERE id = 7").show()  # doctest: +SKIP
    +-----------------+
    |num_affected_rows|
    +-----------------+
    |                1|
    +-----------------+
    """
    capabilities.check(spark)
    with arguments.formatted(spark, text, values) as plain:
        return _run(spark, arguments.substitute(spark, plain, args))


def _run(spark: SparkSession, text: Sql) -> DataFrame:
    is_raw = "\\" in text and strings.are_raw(spark)
    with tokens.raw_strings(enabled=is_raw), lookup.cached_lookups():
        parser = Parser(text)
        if _is_script(parser) and not capabilities.has_delta(spark):
            raise UnsupportedFeatureError(
                "the text is a script, BEGIN ... END, and sql runs single statements: pass its "
                "statements one by one, with conditions and loops of Python; spark.sql runs "
                "scripts without Delta tables",
                code="sql.script",
            )
        immediate = ExecuteImmediate.read(parser)
        if immediate is None:
            return _run_all(spark, parser)
        statement = immediate.statement(spark)
    return _run(spark, Sql.of(statement))


def _is_script(parser: Parser) -> bool:
    """Return whether the text is a script, which may have a label."""
    words = [token.text.upper() for token in parser.tokens[:3]]
    return words[0] == "BEGIN" or words[1:] == [":", "BEGIN"]


def _run_all(spark: SparkSession, parser: Parser) -> DataFrame:
    """Run the statement, or each of several inserts from one query."""
    text = parser.text
    _refuse_explained(spark, parser)
    parts = split(parser)
    if parts is None:
        parser.index = 0
        parts = [(Prefix(), parser)]
    runs = []
    for prefix, part in parts:
        statement = read(part)
        entry = None if statement is None else statement.entry(spark)
        if statement is not None and entry is not None:
            statement.prefix = prefix
            statement.read_clauses(part)
            part.needs_end()
            runs.append((statement, entry))
    if not runs:
        return queries.run(spark, text)  # a query, another format, or Spark raises an error
    if len(runs) < len(parts):
        raise UnsupportedFeatureError(
            "this statement inserts into Delta tables and others: write two statements",
            code="sql.inserts",
        )
    for statement, entry in runs:
        with subqueries.defining(statement.prefix.queries):
            result = statement.run(spark, entry)
    return result


def _refuse_explained(spark: SparkSession, parser: Parser) -> None:
    """Refuse ``EXPLAIN`` of a change of a Delta table; without the jar, Spark has no plan of it."""
    start = parser.index
    if parser.takes("EXPLAIN") and not capabilities.has_delta(spark):
        if parser.token.is_word("EXTENDED", "CODEGEN", "COST", "FORMATTED"):
            parser.index += 1
        explained = Parser(parser.text.part(parser.token.start))
        parts = split(explained)
        explained.index = 0
        for part in [explained] if parts is None else [part for _, part in parts]:
            statement = read(part)
            if isinstance(statement, _CHANGES) and lookup.find(spark, statement.table).is_delta:
                raise UnsupportedFeatureError(
                    "a change of a Delta table has no plan of Spark's, since deltareplay runs "
                    "several queries for it: EXPLAIN a SELECT with its condition or source",
                    code="sql.explain",
                )
    parser.index = start


def read(parser: Parser) -> Statement | None:
    """Parse a statement up to the name of its table; return None if Spark runs it.

    Raises:
        InvalidArgumentError: ``sql.syntax``: the statement is invalid up to the name of its table;
            the message has the position.

    >>> read(Parser("DELETE FROM a.t WHERE id = 7")).table
    ('a', 't')
    >>> read(Parser("SELECT 1")) is None
    True
    """
    start = parser.index
    for kind in _STATEMENTS:
        for words in kind.WORDS:
            if parser.takes(*words):
                statement = kind.read(parser)
                if statement is not None:
                    return statement
                parser.index = start
    return None
