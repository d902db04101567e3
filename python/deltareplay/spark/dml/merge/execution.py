"""Execution of a merge, step by step."""

from __future__ import annotations

import datetime
import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay._names import parts_of
from deltareplay._protocol.schema import Field, Struct
from deltareplay._transaction.written import Written
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.catalog.table_argument import TableLike
from deltareplay.spark.dml import change_data
from deltareplay.spark.dml.merge import clauses as merge_clauses
from deltareplay.spark.dml.merge.clauses import Clause, Sides, When
from deltareplay.spark.dml.merge.determinism import repeatable
from deltareplay.spark.dml.merge.source import MergeSource
from deltareplay.spark.dml.rewrite import Rewrite
from deltareplay.spark.dml.row_sets import BESIDE, RowSets, bit, words
from deltareplay.spark.dml.statement import (
    Statement,
    analyzed,
    as_column,
    condition_text,
    note_read,
)
from deltareplay.spark.query import subqueries
from deltareplay.spark.scan import hidden_columns
from deltareplay.spark.scan.skipping import target_filter
from deltareplay.spark.schema.alignment import MERGING, untyped
from deltareplay.spark.schema.fields import spark_type
from deltareplay.spark.session import settings
from deltareplay.spark.syntax import names
from deltareplay.spark.writing.table_rows import table_rows

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from deltareplay._transaction.transaction import Transaction
    from deltareplay.spark.scan.candidates import Candidates

_MATCHED: When = "matched"
_INSERTED: When = "not_matched"
_ALONE: When = "not_matched_by_source"
_COLUMN = f"{hidden_columns.OWN}target_"


@dataclass(frozen=True)
class Merging:
    """The arguments of ``merge``; ``run`` executes it."""

    spark: SparkSession
    table: TableLike
    source: MergeSource
    on: Any
    target_alias: str
    root: str | None
    options: Mapping[str, Any]

    def run(self, clauses: Sequence[Clause]) -> Written:
        """Execute the merge; see ``Merge.execute``."""
        merge_clauses.check(clauses)
        statement = Statement.of(self.spark, self.table, self.root)
        if any(clause.then != change_data.INSERT for clause in clauses):
            statement.refuse_append_only()
        source = self.source
        if self.options["evolves"]:
            statement = statement.evolved(_joining(source.fields, clauses))
        _refuse_untyped(source.fields, clauses, statement.target.void_columns)
        transaction = statement.begin(
            "MERGE", _parameters(self.on, clauses), self.options["user_metadata"]
        )
        txn = self.options["txn"]
        if txn is None:
            txn = settings.transaction(self.spark)
        if txn is not None and transaction.set_transaction(*txn):
            return Written(transaction.commit(), {})
        with subqueries.of(self.spark) as known:
            merging = replace(self, on=known.opened(self.on), options={**self.options, "txn": txn})
            opened = [
                replace(
                    clause,
                    condition=known.opened(clause.condition),
                    values=None if clause.values is None else known.values(clause.values),
                )
                for clause in clauses
            ]
            return merging._run(statement, transaction, opened)

    def _run(
        self, statement: Statement, transaction: Transaction, clauses: Sequence[Clause]
    ) -> Written:
        source = self.source
        sides = Sides(
            self.target_alias,
            statement.target.written_fields,
            [(field, f"{_COLUMN}{at}") for at, field in enumerate(statement.known_fields)],
            source.alias,
            source.columns,
        )
        none = statement.empty(self.target_alias)
        merging, clauses = self._repeatable(clauses, sides, none)
        run = _Run(merging, clauses, statement, sides, source, transaction)
        pairs = run.check(none)
        filter = None
        if not any(clause.when == _ALONE for clause in clauses):
            filter = target_filter(
                merging.on, statement.snapshot, self.target_alias, lambda: pairs, joined=True
            )
        note_read(transaction, filter)
        with source.stable(statement.target, self.root) as rows:
            return run.merge(rows, statement.candidates(filter))

    def _repeatable(
        self, clauses: Sequence[Clause], sides: Sides, none: DataFrame
    ) -> tuple[Merging, list[Clause]]:
        """Return the merge and its clauses with conditions that can be evaluated twice.

        ``none`` is an empty frame with the table's columns.
        """
        moment = datetime.datetime.now(datetime.timezone.utc)
        pairs = analyzed(lambda: sides.with_copies(none.crossJoin(self.source.rows)))
        fixed = [
            replace(
                clause,
                condition=repeatable(clause.condition, sides.seen(pairs, clause.when), moment),
            )
            for clause in clauses
        ]
        return replace(self, on=repeatable(self.on, pairs, moment)), fixed


def _parameters(on: str | Column, clauses: Sequence[Clause]) -> dict[str, Any]:
    def predicates(when: str) -> str:
        return json.dumps([clause.parameters() for clause in clauses if clause.when == when])

    return {
        "predicate": json.dumps([condition_text(on)]),
        "matchedPredicates": predicates(_MATCHED),
        "notMatchedPredicates": predicates(_INSERTED),
        "notMatchedBySourcePredicates": predicates(_ALONE),
    }


def _joining(fields: Sequence[Field], clauses: Sequence[Clause]) -> list[Field]:
    """Return the columns of the source that the merge may add to the table."""
    setting = [
        clause for clause in clauses if clause.then != change_data.DELETE and clause.when != _ALONE
    ]
    if any(clause.values is None for clause in setting):
        return list(fields)
    whole = {field.key for field in fields}
    named = {name.lower() for clause in setting for name in clause.values or ()}
    return _chosen(fields, [[name] if name in whole else parts_of(name) for name in named])


def _refuse_untyped(
    fields: Sequence[Field], clauses: Sequence[Clause], void_columns: Sequence[str]
) -> None:
    """Check that no clause sets a void column to values, which could not be stored."""
    void = set(map(str.lower, void_columns))
    void_fields = [field for field in _joining(fields, clauses) if field.key in void]
    for field in void_fields:
        if field.type != "void":
            type_ = spark_type(field.type).simpleString()
            raise untyped(field.name, type_, MERGING, "statement.column")


def _chosen(fields: Sequence[Field], paths: Sequence[Sequence[str]]) -> list[Field]:
    """Select the fields that paths name; from structs, only the nested fields that paths name."""
    chosen = []
    for field in fields:
        inner, type_ = [path[1:] for path in paths if path[0] == field.key], field.type
        if not all(inner):
            chosen.append(field)
        elif inner and isinstance(type_, Struct):
            chosen.append(replace(field, type=Struct(tuple(_chosen(type_.fields, inner)))))
    return chosen


@dataclass(frozen=True)
class _Run:
    """One run of a merge."""

    merging: Merging
    clauses: Sequence[Clause]
    statement: Statement
    sides: Sides
    source: MergeSource
    transaction: Transaction

    def _has(self, when: str, *kinds: str) -> bool:
        return any(clause.when == when and clause.then in kinds for clause in self.clauses)

    def check(self, none: DataFrame) -> DataFrame:
        """Let Spark analyze the merge before the first job; return the joined frame.

        Args:
            none: An empty frame with the table's columns.

        Raises:
            InvalidArgumentError: Spark cannot resolve an expression.
        """
        source = self.source.rows
        pairs = analyzed(lambda: none.join(source, as_column(self.merging.on), "full"))
        joined = self.sides.with_copies(pairs)
        analyzed(lambda: self._changed(joined, (_MATCHED, _INSERTED, _ALONE)))
        return pairs

    def merge(self, source: DataFrame, candidates: Candidates) -> Written:
        """Find the rows that change, write their new values, and commit."""
        inserted = () if self._has(_INSERTED, change_data.INSERT) else None
        rewrite = Rewrite(candidates, self.statement.target, self.transaction, inserted)
        try:
            marks = self._found(source, candidates)
            rows = self._rows(source, candidates, marks)
            rewrite.stage(marks.modified, rows)
            metrics = _metrics(rewrite, marks)
            self._check_counts(metrics)
            self.transaction.set_metrics(metrics)
        except BaseException:
            rewrite.discard()
            raise
        idle = not marks.modified and not rewrite.metrics["output_rows"]
        if idle and not self.statement.target.adds_columns and self.merging.options["txn"] is None:
            rewrite.discard()
            self.transaction.abort()
            return Written(None, metrics)
        return Written(rewrite.commit(), metrics)

    def _check_counts(self, metrics: Mapping[str, int]) -> None:
        """Check that conditions gave the same results in both queries, by the row counts."""
        inserted = metrics["numTargetRowsInserted"]
        if inserted < 0 or (inserted and not self._has(_INSERTED, change_data.INSERT)):
            written = inserted + metrics["numTargetRowsUpdated"]
            raise InvalidArgumentError(
                f"the merge found {metrics['numTargetRowsUpdated']} rows to update, and wrote "
                f"{written}: a condition is not deterministic, such as a UDF that is not marked "
                "by asNondeterministic; nothing was committed",
                code="statement.unrepeatable",
            )

    def _joined(self, target: DataFrame, source: DataFrame, how: str) -> DataFrame:
        return self.sides.with_copies(target.join(source, as_column(self.merging.on), how))

    def _found(self, source: DataFrame, candidates: Candidates) -> _TargetRows:
        """Find the rows of the table that match, and those that each clause changes."""
        from pyspark.sql import functions as sf

        spark = self.merging.spark
        alone = self._has(_ALONE, change_data.UPDATE, change_data.DELETE)
        if not alone and not self._has(_MATCHED, change_data.UPDATE, change_data.DELETE):
            return _TargetRows.none(spark, source.count())
        target = candidates.rows().alias(self.merging.target_alias)
        joined = self._joined(target, source, "left" if alone else "inner")
        matched = sf.col(hidden_columns.FROM_SOURCE).isNotNull()
        whens: dict[When, Column] = {_MATCHED: matched, _ALONE: ~matched}
        numbered = merge_clauses.numbered(joined, self.clauses, whens, self.sides)
        bits = {"matched": _bits(matched)}
        for when, kind in _CHANGES:
            which = [
                at
                for at, clause in enumerate(self.clauses)
                if (clause.when, clause.then) == (when, kind)
            ]
            bits[f"{when} {kind}"] = _bits(sf.col(hidden_columns.CLAUSE).isin(which))
        pairs = sf.count_if(matched).alias(_PAIRS)
        table = words(numbered, bits, pairs, beside=source.agg(sf.count(sf.lit(1)).alias(_PAIRS)))
        marks = _TargetRows.of(spark, table)
        several = marks.pairs > len(marks.matched or ())
        if several and not merge_clauses.takes_several(self.clauses):
            self._refuse_several(joined)
        return marks

    def _refuse_several(self, joined: DataFrame) -> None:
        from pyspark.sql import functions as sf

        keys = [hidden_columns.FILE, hidden_columns.ROW_NUMBER]
        row = sf.struct(
            *[self.sides.old(field).alias(field.name) for field in self.statement.known_fields]
        )
        pairs = joined.where(sf.col(hidden_columns.FROM_SOURCE)).groupBy(*keys)
        several = pairs.agg(
            sf.count(sf.lit(1)).alias("n"), sf.first(row.cast("string")).alias("row")
        )
        duplicate = several.where("n > 1").head()
        example = (
            "" if duplicate is None else f", such as {duplicate['n']} the row {duplicate['row']}"
        )
        raise InvalidArgumentError(
            f"several source rows match one target row{example}; a target row may match at most "
            "one source row. Make the keys of the source unique, or narrow `on`; nothing was "
            "written",
            code="rows.ambiguous",
        )

    def _rows(
        self, source: DataFrame, candidates: Candidates, marks: _TargetRows
    ) -> DataFrame | None:
        """Return the rows to write; None if there are none."""
        has_feed = self.statement.target.has_feed
        kinds = (change_data.UPDATE, change_data.DELETE) if has_feed else (change_data.UPDATE,)
        inserts = self._has(_INSERTED, change_data.INSERT)
        several = merge_clauses.takes_several(self.clauses)
        parts = []
        if inserts or any(marks.changed[_MATCHED, kind] for kind in kinds):
            target = candidates.rows()
            if marks.matched is not None:
                target = marks.matched.only(candidates.rows(marks.matched.counts))
            target = target.alias(self.merging.target_alias)
            joined = self._joined(target, source, "right" if inserts else "inner")
            # several pairs of a deleted row are a single change
            which = (_INSERTED,) if several else (_MATCHED, _INSERTED)
            parts.append(self._changed(joined, which))
        if several and has_feed and (deleted := marks.changed[_MATCHED, change_data.DELETE]):
            parts.append(self._of_target(deleted, candidates, source, _MATCHED))
        alone = [marks.changed[_ALONE, kind] for kind in kinds]
        if any(alone):
            parts += [self._of_target(rows, candidates, source, _ALONE) for rows in alone if rows]
        if not parts:
            return None
        changed = functools.reduce(lambda left, right: left.unionByName(right), parts)
        kept = [column for column in _BESIDE if column in changed.columns]
        rows = table_rows(changed, self.statement.target, kept)
        if has_feed:
            return change_data.with_images(rows, self.sides.fields)
        return rows.drop(hidden_columns.KIND)

    def _of_target(
        self, marked: RowSets, candidates: Candidates, source: DataFrame, when: When
    ) -> DataFrame:
        """Apply clauses to rows of the table without joining the source.

        Matched rows (``_MATCHED``) are allowed only if no clause reads columns of the source.
        """
        from pyspark.sql import functions as sf

        rows = marked.only(candidates.rows(marked.counts)).alias(self.merging.target_alias)
        joined = self._joined(rows, source.limit(0), "left")
        return self._changed(joined, (when,), {when: sf.lit(True)})

    def _changed(
        self,
        joined: DataFrame,
        which: Sequence[When],
        known: Mapping[When, Column] | None = None,
    ) -> DataFrame:
        """Apply clauses to joined rows; return the table's columns, the kind, ids and old row.

        Args:
            joined: The rows.
            which: The kinds of clauses that apply to them.
            known: The rows to which each kind applies; by default as the join determines.
        """
        from pyspark.sql import functions as sf

        from_source = sf.col(hidden_columns.FROM_SOURCE).isNotNull()
        from_table = sf.col(hidden_columns.FILE).isNotNull()
        whens = {
            _MATCHED: from_source & from_table,
            _INSERTED: from_source & ~from_table,
            _ALONE: ~from_source,
        }
        feed_too = self.statement.target.has_feed
        kinds = {at: clause.then for at, clause in enumerate(self.clauses)}
        changed = merge_clauses.changed(
            joined,
            self.clauses,
            known or {when: whens[when] for when in which},
            self.sides,
            [at for at, kind in kinds.items() if feed_too or kind != change_data.DELETE],
            evolves=self.merging.options["evolves"],
        )
        kind = None
        for at, then in kinds.items():
            is_this = sf.col(hidden_columns.CLAUSE) == at
            kind = sf.when(is_this, then) if kind is None else kind.when(is_this, then)
        assert kind is not None  # a merge has clauses
        beside = [kind.alias(hidden_columns.KIND)]
        if hidden_columns.OLD_ROW_ID in changed.columns:
            beside.append(sf.col(hidden_columns.OLD_ROW_ID))
            beside.append(sf.lit(None).cast("bigint").alias(hidden_columns.OLD_VERSION))
        if feed_too:
            before = [self.sides.old(field).alias(field.name) for field in self.sides.fields]
            beside.append(sf.struct(*before).alias(hidden_columns.BEFORE))
        own = [column for column in changed.columns if not column.startswith(hidden_columns.OWN)]
        return changed.select(*[sf.col(names.quoted(column)) for column in own], *beside)


@dataclass(frozen=True)
class _TargetRows:
    """The rows of the table that the first query found.

    Attributes:
        matched: Rows that match a source row; None if no clause needs them.
        changed: Rows that clauses change, by the kind of clause and the kind of change.
        modified: All rows that clauses change.
        source_rows: The number of source rows.
        pairs: The number of matching pairs of rows.
    """

    matched: RowSets | None
    changed: Mapping[tuple[When, str], RowSets]
    modified: RowSets
    source_rows: int
    pairs: int

    @classmethod
    def none(cls, spark: SparkSession, source_rows: int) -> _TargetRows:
        """Return the result of a merge that only inserts, which does not run the first query."""
        nothing = RowSets.none(spark)
        return cls(None, dict.fromkeys(_CHANGES, nothing), nothing, source_rows, 0)

    @classmethod
    def of(cls, spark: SparkSession, table: pa.Table) -> _TargetRows:
        """Create the result from the output of the first query."""
        beside = pc.equal(table["file"], pa.scalar(BESIDE))
        source_rows = pc.sum(table.filter(beside)[_PAIRS]).as_py()
        table = table.filter(pc.invert(beside))
        pairs = pc.sum(table[_PAIRS]).as_py() or 0
        columns = {change: f"{change[0]} {change[1]}" for change in _CHANGES}
        changed = {change: RowSets.of_words(spark, table, name) for change, name in columns.items()}
        every = RowSets.of_words(spark, table, *columns.values())
        matched = RowSets.of_words(spark, table, "matched")
        return cls(matched, changed, every, source_rows, pairs)

    def count(self, kind: str, *whens: When) -> int:
        """Return the number of rows that clauses update, or delete."""
        return sum(len(self.changed[when, kind]) for when in whens or (_MATCHED, _ALONE))


#: The column that counts pairs of rows; beside the words, the rows of the source.
_PAIRS = "pairs"

_CHANGES = [
    (when, kind) for when in (_MATCHED, _ALONE) for kind in (change_data.UPDATE, change_data.DELETE)
]


def _bits(condition: Column) -> Column:
    from pyspark.sql import functions as sf

    return sf.when(condition, bit()).otherwise(sf.lit(0).cast("bigint"))


_BESIDE = (
    hidden_columns.OLD_ROW_ID,
    hidden_columns.OLD_VERSION,
    hidden_columns.BEFORE,
    hidden_columns.KIND,
)


def _metrics(rewrite: Rewrite, marks: _TargetRows) -> dict[str, int]:
    """Return the metrics of MERGE, by delta-spark's names."""
    files = rewrite.metrics
    updated, deleted = marks.count(change_data.UPDATE), marks.count(change_data.DELETE)
    return {
        "numSourceRows": marks.source_rows,
        "numTargetRowsInserted": files["output_rows"] - files["copied"] - updated,
        "numTargetRowsUpdated": updated,
        "numTargetRowsMatchedUpdated": marks.count(change_data.UPDATE, _MATCHED),
        "numTargetRowsNotMatchedBySourceUpdated": marks.count(change_data.UPDATE, _ALONE),
        "numTargetRowsDeleted": deleted,
        "numTargetRowsMatchedDeleted": marks.count(change_data.DELETE, _MATCHED),
        "numTargetRowsNotMatchedBySourceDeleted": marks.count(change_data.DELETE, _ALONE),
        "numTargetRowsCopied": files["copied"],
        "numOutputRows": files["output_rows"],
        "numTargetFilesAdded": files["added"],
        "numTargetBytesAdded": files["added_bytes"],
        "numTargetFilesRemoved": files["removed"],
        "numTargetBytesRemoved": files["removed_bytes"],
        "numTargetChangeFilesAdded": files["change_files"],
        "numTargetDeletionVectorsAdded": files["vectors_added"] + files["vectors_updated"],
        "numTargetDeletionVectorsUpdated": files["vectors_updated"],
        "numTargetDeletionVectorsRemoved": files["vectors_updated"],
    }
