"""Execution of a merge."""

from __future__ import annotations

import datetime
import functools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay._table.merge import Then, When
from deltareplay._transaction.written import Written
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.catalog.table_argument import TableLike
from deltareplay.spark.dml.merge import clauses as merge_clauses
from deltareplay.spark.dml.merge.clauses import Clause, JoinedColumns
from deltareplay.spark.dml.merge.repeatability import MergeSource, repeatable
from deltareplay.spark.dml.rewrite import Rewrite, with_images
from deltareplay.spark.dml.statement import (
    DmlStatement,
    analyzed,
    as_column,
    milliseconds_since,
    record_read,
)
from deltareplay.spark.dml.target_rows import EXTRA_ROW, RowSets, bit, words
from deltareplay.spark.query import subqueries
from deltareplay.spark.scan import hidden_columns
from deltareplay.spark.scan.skipping import target_filter
from deltareplay.spark.scan.table_alias import aliased
from deltareplay.spark.session import settings
from deltareplay.spark.syntax import names
from deltareplay.spark.writing.table_rows import table_rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from deltareplay._transaction.transaction import Transaction
    from deltareplay.spark.dml.target_rows import Candidates

_MATCHED: When = "matched"
_INSERTED: When = "not_matched"
_NOT_BY_SOURCE: When = "not_matched_by_source"


@dataclass(frozen=True)
class MergeArguments:
    """The arguments of ``merge``, without its clauses.

    Attributes:
        evolves: Whether the schema evolves whatever the session's settings.
    """

    spark: SparkSession
    table: TableLike
    source: MergeSource
    on: Any
    target_alias: str
    evolves: bool = False
    txn: tuple[str, int] | None = None
    user_metadata: str | None = None
    root: str | None = None


def execute(arguments: MergeArguments, clauses: Sequence[Clause]) -> Written:
    """Execute a merge; see ``Merge.execute``."""
    merge_clauses.check(clauses)
    source, target_alias = arguments.source, arguments.target_alias
    statement = DmlStatement.of(
        arguments.spark,
        arguments.table,
        arguments.root,
        arguments.txn,
        arguments.user_metadata,
    )
    if any(clause.then != "insert" for clause in clauses):
        statement.refuse_append_only()
    clauses = merge_clauses.unqualified(statement, clauses, target_alias)
    evolves = arguments.evolves or settings.merges_schemas(arguments.spark)
    if evolves:
        statement = statement.evolved(merge_clauses.source_fields_to_add(source.fields, clauses))
    merge_clauses.refuse_untyped(source.fields, clauses, statement.target.void_columns)
    transaction = statement.begin("MERGE", merge_clauses.parameters(arguments.on, clauses))
    if statement.is_repeated(transaction):
        return Written(transaction.commit(), {})
    columns = JoinedColumns.of(statement, source, target_alias)
    empty = statement.empty(target_alias)
    with subqueries.views(arguments.spark) as views:
        clauses = [
            replace(
                clause,
                condition=views.substitute(clause.condition),
                values=None if clause.values is None else views.substitute_values(clause.values),
            )
            for clause in clauses
        ]
        pairs = analyzed(lambda: columns.with_copies(empty.crossJoin(source.rows)))
        on, clauses = _repeatable(views.substitute(arguments.on), clauses, columns, pairs)
        execution = MergeExecution(statement, transaction, on, clauses, columns, evolves)
        joined = execution.check(empty, source.rows)
        filter = None
        if not any(clause.when == _NOT_BY_SOURCE for clause in clauses):
            filter = target_filter(on, statement.snapshot, target_alias, joined, joined=True)
        record_read(transaction, filter)
        storing_from = time.monotonic()
        with source.stable(statement.target, arguments.root) as rows:
            stored_in = milliseconds_since(storing_from)
            return execution.run(rows, statement.candidates(filter), stored_in)


def _repeatable(
    on: Any, clauses: Sequence[Clause], columns: JoinedColumns, pairs: DataFrame
) -> tuple[Any, list[Clause]]:
    """Return the conditions in a form that can be evaluated twice.

    ``pairs`` is an empty frame of joined rows.
    """
    now = datetime.datetime.now(datetime.timezone.utc)
    repeatable_clauses = [
        replace(
            clause,
            condition=repeatable(clause.condition, columns.visible(pairs, clause.when), now),
        )
        for clause in clauses
    ]
    return repeatable(on, pairs, now), repeatable_clauses


@dataclass(frozen=True)
class MergeExecution:
    """The queries and the commit of a merge.

    Attributes:
        on: The condition of matching rows.
        clauses: The clauses, with conditions that can be evaluated twice.
        columns: The columns of joined rows.
        evolves: Whether the schema evolves.
    """

    statement: DmlStatement
    transaction: Transaction
    on: Any
    clauses: Sequence[Clause]
    columns: JoinedColumns
    evolves: bool

    def _has(self, when: When, *actions: Then) -> bool:
        return any(clause.when == when and clause.then in actions for clause in self.clauses)

    def check(self, empty: DataFrame, source: DataFrame) -> DataFrame:
        """Let Spark analyze the merge before the first job; return the empty joined frame.

        ``empty`` is an empty frame with the table's columns.
        """
        pairs = analyzed(lambda: empty.join(source, as_column(self.on), "full"))
        joined = self.columns.with_copies(pairs)
        analyzed(lambda: self._changed(joined, _kinds(_MATCHED, _INSERTED, _NOT_BY_SOURCE)))
        return pairs

    def run(self, source: DataFrame, candidates: Candidates, stored_in: int) -> Written:
        """Find the rows that change, write their new values, and commit.

        ``stored_in`` is the time in milliseconds that it took to store the source.
        """
        target = self.statement.target
        rewrite = Rewrite(
            candidates,
            target,
            self.transaction,
            self._supplied(),
            by_partition=settings.repartitions_merges(self.statement.spark),
        )
        with rewrite.discarded_on_error():
            matches = self._matches(source, candidates)
            rows = self._rows(source, candidates, matches)
            rewrite.stage(matches.modified, rows)
            metrics = _metrics(rewrite, matches)
            self._check_counts(metrics)
            times = self.statement.times(rewrite.staged_from)
            times["materializeSourceTimeMs"] = stored_in
            self.transaction.set_metrics(metrics | times)
        changes_rows = matches.modified or rewrite.metrics["output_rows"]
        if not changes_rows and not target.changes_metadata and not self.statement.is_idempotent:
            rewrite.discard()
            self.transaction.abort()
            return Written(None, metrics)
        return Written(rewrite.commit(), metrics)

    def _supplied(self) -> list[str]:
        """Return the columns that every clause for new rows sets."""
        set_by_clause = [
            self.columns.assignments(self.statement.spark, clause, evolves=self.evolves)
            for clause in self.clauses
            if clause.then == "insert"
        ]
        return [
            field.name
            for field in self.columns.written_fields
            if all(assignments.sets(field.name) for assignments in set_by_clause)
        ]

    def _check_counts(self, metrics: Mapping[str, int]) -> None:
        """Check that conditions gave the same results in both queries, by the row counts."""
        inserted = metrics["numTargetRowsInserted"]
        if inserted < 0 or (inserted and not self._has(_INSERTED, "insert")):
            written = inserted + metrics["numTargetRowsUpdated"]
            raise InvalidArgumentError(
                f"the merge found {metrics['numTargetRowsUpdated']} rows to update, and wrote "
                f"{written}: a condition is not deterministic, such as a UDF that is not marked "
                "by asNondeterministic; nothing was committed",
                code="statement.unrepeatable",
            )

    def _joined(self, target: DataFrame, source: DataFrame, how: str) -> DataFrame:
        return self.columns.with_copies(target.join(source, as_column(self.on), how))

    def _target(self, rows: DataFrame) -> DataFrame:
        """Give rows of the table the alias that conditions refer to."""
        return aliased(rows, self.columns.target_alias)

    def _matches(self, source: DataFrame, candidates: Candidates) -> _Matches:
        """Find the rows of the table that match, and those that each clause changes."""
        from pyspark.sql import functions as sf

        spark = self.statement.spark
        has_unmatched = self._has(_NOT_BY_SOURCE, "update", "delete")
        if not has_unmatched and not self._has(_MATCHED, "update", "delete"):
            return _Matches.of_inserts(spark, source.count())
        target = self._target(candidates.rows())
        joined = self._joined(target, source, "left" if has_unmatched else "inner")
        matched = sf.col(hidden_columns.FROM_SOURCE).isNotNull()
        kinds: dict[When, Column] = {_MATCHED: matched, _NOT_BY_SOURCE: ~matched}
        rows = merge_clauses.with_clause(joined, self.clauses, kinds, self.columns)
        bits = {"matched": _bits(matched)}
        for when, action in _CHANGES:
            indexes = [
                index
                for index, clause in enumerate(self.clauses)
                if (clause.when, clause.then) == (when, action)
            ]
            bits[f"{when} {action}"] = _bits(sf.col(hidden_columns.CLAUSE).isin(indexes))
        pairs = sf.count_if(matched).alias(_PAIRS)
        source_count = source.agg(sf.count(sf.lit(1)).alias(_PAIRS))
        matches = _Matches.of(spark, words(rows, bits, pairs, extra_row=source_count))
        has_several_matches = matches.pairs > len(matches.matched or ())
        if has_several_matches and not merge_clauses.allows_several_matches(self.clauses):
            self._refuse_several_matches(joined)
        return matches

    def _refuse_several_matches(self, joined: DataFrame) -> None:
        from pyspark.sql import functions as sf

        keys = [hidden_columns.FILE, hidden_columns.ROW_NUMBER]
        row = sf.struct(
            *[self.columns.old(field).alias(field.name) for field in self.statement.fields_before]
        )
        pairs = joined.where(sf.col(hidden_columns.FROM_SOURCE)).groupBy(*keys)
        counted = pairs.agg(
            sf.count(sf.lit(1)).alias("n"), sf.first(row.cast("string")).alias("row")
        )
        example = counted.where("n > 1").head()
        detail = "" if example is None else f", such as {example['n']} the row {example['row']}"
        raise InvalidArgumentError(
            f"several source rows match one target row{detail}; a target row may match at most "
            "one source row. Make the keys of the source unique, or narrow `on`; nothing was "
            "written",
            code="rows.ambiguous",
        )

    def _rows(
        self, source: DataFrame, candidates: Candidates, matches: _Matches
    ) -> DataFrame | None:
        """Return the rows to write; None if there are none."""
        has_feed = self.statement.target.has_feed
        actions = ("update", "delete") if has_feed else ("update",)
        inserts = self._has(_INSERTED, "insert")
        allows_several = merge_clauses.allows_several_matches(self.clauses)
        parts = []
        if inserts or any(matches.changed[_MATCHED, action] for action in actions):
            target = candidates.rows()
            if matches.matched is not None:
                target = matches.matched.only(candidates.rows(matches.matched.counts))
            joined = self._joined(self._target(target), source, "right" if inserts else "inner")
            # several pairs of a deleted row are a single change
            kinds = _kinds(_INSERTED) if allows_several else _kinds(_MATCHED, _INSERTED)
            parts.append(self._changed(joined, kinds))
        if allows_several and has_feed and (deleted := matches.changed[_MATCHED, "delete"]):
            parts.append(self._of_target(deleted, candidates, source, _MATCHED))
        unmatched = [matches.changed[_NOT_BY_SOURCE, action] for action in actions]
        parts += [
            self._of_target(rows, candidates, source, _NOT_BY_SOURCE) for rows in unmatched if rows
        ]
        if not parts:
            return None
        changed = functools.reduce(lambda left, right: left.unionByName(right), parts)
        hidden = [column for column in _EXTRA_COLUMNS if column in changed.columns]
        rows = table_rows(changed, self.statement.target, hidden)
        if has_feed:
            return with_images(rows, self.columns.written_fields)
        return rows.drop(hidden_columns.KIND)

    def _of_target(
        self, marked: RowSets, candidates: Candidates, source: DataFrame, when: When
    ) -> DataFrame:
        """Apply clauses to rows of the table without joining the source.

        Matched rows (``_MATCHED``) are allowed only if no clause for them reads the source.
        """
        from pyspark.sql import functions as sf

        rows = self._target(marked.only(candidates.rows(marked.counts)))
        joined = self._joined(rows, source.limit(0), "left")
        return self._changed(joined, {when: sf.lit(True)})

    def _changed(self, joined: DataFrame, kinds: Mapping[When, Column]) -> DataFrame:
        """Apply kinds of clauses to joined rows; return the table's columns, and hidden columns."""
        from pyspark.sql import functions as sf

        has_feed = self.statement.target.has_feed
        actions = [clause.then for clause in self.clauses]
        changed = merge_clauses.changed(
            joined,
            self.clauses,
            kinds,
            self.columns,
            [index for index, action in enumerate(actions) if has_feed or action != "delete"],
            evolves=self.evolves,
        )
        kind: Any = sf
        for index, action in enumerate(actions):
            kind = kind.when(sf.col(hidden_columns.CLAUSE) == index, action)
        extra_columns = [kind.alias(hidden_columns.KIND)]
        if hidden_columns.OLD_ROW_ID in changed.columns:
            extra_columns.append(sf.col(hidden_columns.OLD_ROW_ID))
            extra_columns.append(sf.lit(None).cast("bigint").alias(hidden_columns.OLD_VERSION))
        if has_feed:
            fields = self.columns.written_fields
            before = [self.columns.old(field).alias(field.name) for field in fields]
            extra_columns.append(sf.struct(*before).alias(hidden_columns.BEFORE))
        table_columns = [
            sf.col(names.quoted(column))
            for column in changed.columns
            if not column.startswith(hidden_columns.PREFIX)
        ]
        return changed.select(*table_columns, *extra_columns)


def _kinds(*whens: When) -> dict[When, Column]:
    """Return the condition that a joined row is of a kind, for each of these kinds."""
    from pyspark.sql import functions as sf

    from_source = sf.col(hidden_columns.FROM_SOURCE).isNotNull()
    from_table = sf.col(hidden_columns.FILE).isNotNull()
    conditions = {
        _MATCHED: from_source & from_table,
        _INSERTED: from_source & ~from_table,
        _NOT_BY_SOURCE: ~from_source,
    }
    return {when: conditions[when] for when in whens}


@dataclass(frozen=True)
class _Matches:
    """The rows of the table that the first query found.

    Attributes:
        matched: Rows that match a source row; None if no clause needs them.
        changed: Rows that clauses change, by the kind of clause and its action.
        modified: All rows that clauses change.
        source_rows: The number of source rows.
        pairs: The number of pairs of matching rows.
    """

    matched: RowSets | None
    changed: Mapping[tuple[When, str], RowSets]
    modified: RowSets
    source_rows: int
    pairs: int

    @classmethod
    def of_inserts(cls, spark: SparkSession, source_rows: int) -> _Matches:
        """Return the result of a merge that only inserts, which does not run the first query."""
        empty = RowSets.empty(spark)
        return cls(None, dict.fromkeys(_CHANGES, empty), empty, source_rows, 0)

    @classmethod
    def of(cls, spark: SparkSession, table: pa.Table) -> _Matches:
        """Create the result from the output of the first query."""
        is_extra = pc.equal(table["file"], pa.scalar(EXTRA_ROW))
        source_rows = pc.sum(table.filter(is_extra)[_PAIRS]).as_py()
        table = table.filter(pc.invert(is_extra))
        pairs = pc.sum(table[_PAIRS]).as_py() or 0
        columns = {change: f"{change[0]} {change[1]}" for change in _CHANGES}
        changed = {change: RowSets.of_words(spark, table, name) for change, name in columns.items()}
        modified = RowSets.of_words(spark, table, *columns.values())
        matched = RowSets.of_words(spark, table, "matched")
        return cls(matched, changed, modified, source_rows, pairs)

    def count(self, action: str, *whens: When) -> int:
        """Return the number of rows that clauses update, or delete."""
        return sum(len(self.changed[when, action]) for when in whens or (_MATCHED, _NOT_BY_SOURCE))


#: The column that counts pairs of rows; in the extra row, the rows of the source.
_PAIRS = "pairs"

_CHANGES = [
    (when, action) for when in (_MATCHED, _NOT_BY_SOURCE) for action in ("update", "delete")
]


def _bits(condition: Column) -> Column:
    from pyspark.sql import functions as sf

    return sf.when(condition, bit()).otherwise(sf.lit(0).cast("bigint"))


_EXTRA_COLUMNS = (
    hidden_columns.OLD_ROW_ID,
    hidden_columns.OLD_VERSION,
    hidden_columns.BEFORE,
    hidden_columns.KIND,
)


def _metrics(rewrite: Rewrite, matches: _Matches) -> dict[str, int]:
    """Return the metrics of MERGE, by delta-spark's names."""
    files = rewrite.metrics
    updated, deleted = matches.count("update"), matches.count("delete")
    return {
        "numSourceRows": matches.source_rows,
        "numTargetRowsInserted": files["output_rows"] - files["copied_rows"] - updated,
        "numTargetRowsUpdated": updated,
        "numTargetRowsMatchedUpdated": matches.count("update", _MATCHED),
        "numTargetRowsNotMatchedBySourceUpdated": matches.count("update", _NOT_BY_SOURCE),
        "numTargetRowsDeleted": deleted,
        "numTargetRowsMatchedDeleted": matches.count("delete", _MATCHED),
        "numTargetRowsNotMatchedBySourceDeleted": matches.count("delete", _NOT_BY_SOURCE),
        "numTargetRowsCopied": files["copied_rows"],
        "numOutputRows": files["output_rows"],
        "numTargetFilesAdded": files["added_files"],
        "numTargetBytesAdded": files["added_bytes"],
        "numTargetFilesRemoved": files["removed_files"],
        "numTargetBytesRemoved": files["removed_bytes"],
        "numTargetChangeFilesAdded": files["change_files"],
        "numTargetDeletionVectorsAdded": files["vectors_added"] + files["vectors_updated"],
        "numTargetDeletionVectorsUpdated": files["vectors_updated"],
        "numTargetDeletionVectorsRemoved": files["vectors_removed"] + files["vectors_updated"],
    }
