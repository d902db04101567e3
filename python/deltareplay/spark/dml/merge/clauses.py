"""The clauses of a merge as Spark expressions."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deltareplay._names import parts_of
from deltareplay._protocol.schema import Field, Struct, Type
from deltareplay._table.merge import Clause as MergeClause
from deltareplay._table.merge import When
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.dml.assignments import Assignments, without_alias
from deltareplay.spark.dml.statement import (
    as_column,
    condition_text,
    predicate_parameter,
    qualified,
)
from deltareplay.spark.scan import hidden_columns
from deltareplay.spark.scan.table_alias import aliased
from deltareplay.spark.schema.alignment import MERGING, lacking, untyped, widened
from deltareplay.spark.schema.fields import spark_type
from deltareplay.spark.session import settings
from deltareplay.spark.syntax import names
from deltareplay.spark.writing import identity_columns, log_expressions
from deltareplay.spark.writing.table_rows import default

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from deltareplay.spark.dml.merge.repeatability import MergeSource
    from deltareplay.spark.dml.statement import DmlStatement

#: A clause: conditions and values are SQL text or columns.
Clause = MergeClause[Any, Any]


def parameters(on: Any, clauses: Sequence[Clause]) -> dict[str, str]:
    """Return the operation parameters of MERGE."""

    def predicates(when: When) -> str:
        return json.dumps([_parameters(clause) for clause in clauses if clause.when == when])

    return {
        "predicate": predicate_parameter(on),
        "matchedPredicates": predicates("matched"),
        "notMatchedPredicates": predicates("not_matched"),
        "notMatchedBySourcePredicates": predicates("not_matched_by_source"),
    }


def _parameters(clause: Clause) -> dict[str, str]:
    parameters: dict[str, str] = {"actionType": clause.then}
    if clause.condition is not None:
        parameters["predicate"] = condition_text(clause.condition)
    return parameters


def check(clauses: Sequence[Clause]) -> None:
    """Check that there are clauses, and that each of them can apply."""
    if not clauses:
        raise InvalidArgumentError("a merge needs at least one clause", code="rows.merge")
    for index, clause in enumerate(clauses, 1):
        if clause.condition is None and any(later.when == clause.when for later in clauses[index:]):
            raise InvalidArgumentError(
                "only the last clause of a kind may lack a condition", code="rows.merge"
            )


def unqualified(statement: DmlStatement, clauses: Sequence[Clause], alias: str) -> list[Clause]:
    """Remove the alias of the table from the columns that clauses set.

    Raises:
        InvalidArgumentError: As by ``without_alias``.
    """
    columns = [field.name for field in statement.fields_before]
    key = settings.name_key(statement.spark)
    return [
        replace(clause, values=without_alias(clause.values, alias, columns, key))
        if clause.values
        else clause
        for clause in clauses
    ]


def allows_several_matches(clauses: Sequence[Clause]) -> bool:
    """Return whether a target row may match several source rows, as in delta-spark.

    It may if the merge only inserts, or if its only clause for matches always deletes.
    """
    matched = [clause for clause in clauses if clause.when == "matched"]
    if not matched:
        return all(clause.when == "not_matched" for clause in clauses)
    return len(matched) == 1 and matched[0].then == "delete" and matched[0].condition is None


def source_fields_to_add(fields: Sequence[Field], clauses: Sequence[Clause]) -> list[Field]:
    """Return the fields of the source that the merge may add to the table."""
    assigning = [
        clause
        for clause in clauses
        if clause.then != "delete" and clause.when != "not_matched_by_source"
    ]
    if any(clause.values is None for clause in assigning):
        return list(fields)
    keys = {field.key for field in fields}
    assigned = {name.lower() for clause in assigning for name in clause.values or ()}
    return _selected(fields, [[name] if name in keys else parts_of(name) for name in assigned])


def refuse_untyped(
    fields: Sequence[Field], clauses: Sequence[Clause], void_columns: Sequence[str]
) -> None:
    """Check that no clause sets a void column to values, which could not be stored."""
    void = set(map(str.lower, void_columns))
    for field in source_fields_to_add(fields, clauses):
        if field.key in void and field.type != "void":
            type_ = spark_type(field.type).simpleString()
            raise untyped(field.name, type_, MERGING, "statement.column")


def _selected(fields: Sequence[Field], paths: Sequence[Sequence[str]]) -> list[Field]:
    """Select the fields that paths name; of structs, only the nested fields that paths name."""
    selected = []
    for field in fields:
        inner, type_ = [path[1:] for path in paths if path[0] == field.key], field.type
        if not all(inner):
            selected.append(field)
        elif inner and isinstance(type_, Struct):
            selected.append(replace(field, type=Struct(tuple(_selected(type_.fields, inner)))))
    return selected


@dataclass(frozen=True)
class JoinedColumns:
    """The columns of joined rows: each has a copy, whose name is the same in all queries.

    Clauses for unmatched rows can refer to one side only, because the other has no values.

    Attributes:
        target_alias: The alias of the table.
        all_fields: The columns of the table after the merge, including void ones.
        written_fields: Those that are not void, without void fields.
        target: The columns of the table before the merge, and the names of their copies.
        source_alias: The alias of the source; None if its columns have several aliases.
        source: The columns of the source, and the names of their copies.
    """

    target_alias: str
    all_fields: list[Field]
    written_fields: list[Field]
    target: list[tuple[Field, str]]
    source_alias: str | None
    source: list[tuple[Field, str]]

    @classmethod
    def of(cls, statement: DmlStatement, source: MergeSource, target_alias: str) -> JoinedColumns:
        """Return the columns of a statement's table and of a source."""
        return cls(
            target_alias,
            statement.target.fields,
            statement.target.written_fields,
            [
                (field, f"{hidden_columns.PREFIX}target_{index}")
                for index, field in enumerate(statement.fields_before)
            ],
            source.alias,
            source.columns,
        )

    def with_copies(self, joined: DataFrame) -> DataFrame:
        """Add copies of the table's columns to joined rows; the source already has copies."""
        from pyspark.sql import functions as sf

        alias = self.target_alias
        columns = {copy: sf.col(qualified(alias, field.name)) for field, copy in self.target}
        return joined.withColumns(columns)

    def old(self, field: Field) -> Column:
        """Return a column before the merge, converted to its type after the merge."""
        from pyspark.sql import functions as sf

        for column, copy in self.target:
            if column.name == field.name:
                return widened(sf.col(copy), column, field)
        return sf.lit(None).cast(spark_type(field.type))

    def visible(self, rows: DataFrame, when: When) -> DataFrame:
        """Drop the columns that a kind of clause cannot refer to, but no copy or hidden column."""
        from pyspark.sql import functions as sf

        alias = self.source_alias if when == "not_matched" else self.target_alias
        if when == "matched" or alias is None:
            return rows
        pairs = self.source if when == "not_matched" else self.target
        columns = [sf.col(copy).alias(field.name) for field, copy in pairs]
        hidden = [sf.col(name) for name in rows.columns if name.startswith(hidden_columns.PREFIX)]
        return aliased(rows.select(*columns, *hidden), alias)

    def _visible_names(self, when: When) -> list[str]:
        pairs = [] if when == "not_matched" else list(self.target)
        if when != "not_matched_by_source":
            pairs += self.source
        return [field.name for field, _ in pairs]

    def assignments(self, spark: SparkSession, clause: Clause, *, evolves: bool) -> Assignments:
        """Return the assignments of a clause.

        Raises:
            InvalidArgumentError: ``statement.column``: the source lacks a column that a clause for
                all columns sets.
        """
        from pyspark.sql import functions as sf

        inserts = clause.then == "insert"
        if clause.values is not None:
            visible = self._visible_names(clause.when)
            return Assignments.of(spark, clause.values, self.all_fields, visible, inserts=inserts)
        key = settings.name_key(spark)
        sources = {key(other.name): (other, copy) for other, copy in self.source}
        source_keys = {other.key for other, _ in self.source}
        values: dict[tuple[str, ...], Column] = {}
        for field in self.written_fields:
            other, copy = sources.get(key(field.name), (None, ""))
            if other is not None:
                identity_columns.check_set(field, inserts=inserts)
                value = sf.col(copy)
                if evolves and clause.then == "update":
                    value = _completed(value, other.type, self.old(field), field.type)
                values[(field.name,)] = value
            elif field.key in source_keys or not (evolves or _is_computed(field)):
                raise InvalidArgumentError(
                    f"the source has no column {field.name}, which a clause for all columns "
                    f"sets: name the columns, or evolve the schema by {MERGING}",
                    code="statement.column",
                )
        return Assignments(values)


def _completed(value: Column, source: Type, old: Column, target: Type) -> Column:
    """Fill the fields that a struct value lacks from the old value; return other values unchanged.

    For a null value, the result is null, unless the old struct has fields that the value lacks.
    """
    from pyspark.sql import functions as sf

    if not (isinstance(source, Struct) and isinstance(target, Struct)):
        return value
    fields = []
    for inner in target.fields:
        other, part = source.by_name.get(inner.key), old.getField(inner.name)
        if other is not None:
            part = _completed(value.getField(other.name), other.type, part, inner.type)
        fields.append(part.alias(inner.name))
    keeps_old = old.isNotNull() if any(lacking(source, target, "")) else sf.lit(False)
    return sf.when(value.isNotNull() | keeps_old, sf.struct(*fields))


def _with_clause_of_kind(
    rows: DataFrame, clauses: Sequence[Clause], when: When, is_kind: Column, columns: JoinedColumns
) -> DataFrame:
    """Add the index of the clause of a kind that applies to a row, or -1."""
    from pyspark.sql import functions as sf

    rows = columns.visible(rows, when)
    clause_index: Any = sf  # ``sf.when`` begins the chain that ``Column.when`` continues
    for index, clause in enumerate(clauses):
        if clause.when == when:
            applies = is_kind
            if clause.condition is not None:
                applies = applies & sf.coalesce(as_column(clause.condition), sf.lit(False))
            clause_index = clause_index.when(applies, index)
    clause_index = sf.lit(-1) if clause_index is sf else clause_index.otherwise(-1)
    return rows.withColumn(_clause_column(when), clause_index)


def _clause_column(when: When) -> str:
    return f"{hidden_columns.CLAUSE}_{when}"


def _with_clause(rows: DataFrame, kinds: Mapping[When, Column]) -> DataFrame:
    """Add the index of the clause of any kind that applies to a row, or -1."""
    from pyspark.sql import functions as sf

    none = sf.lit(-1)
    clause_index = sf.greatest(none, *[sf.col(_clause_column(when)) for when in kinds], none)
    return rows.withColumn(hidden_columns.CLAUSE, clause_index)


def with_clause(
    joined: DataFrame,
    clauses: Sequence[Clause],
    kinds: Mapping[When, Column],
    columns: JoinedColumns,
) -> DataFrame:
    """Add the index of the clause that applies to joined rows as ``hidden_columns.CLAUSE``, or -1.

    ``kinds`` has the kinds of clauses to evaluate, each with the condition that a row is of it;
    ``matched`` comes first, because the columns that it refers to are dropped for the others.
    """
    rows = joined
    for when, is_kind in kinds.items():
        rows = _with_clause_of_kind(rows, clauses, when, is_kind, columns)
    return _with_clause(rows, kinds)


def changed(
    joined: DataFrame,
    clauses: Sequence[Clause],
    kinds: Mapping[When, Column],
    columns: JoinedColumns,
    returned: Collection[int],
    *,
    evolves: bool,
) -> DataFrame:
    """Return the changed rows: the table's columns after the merge, and hidden columns.

    Generated columns that no clause sets are left out: they are computed from the others.

    Args:
        joined: The joined rows.
        clauses: The clauses.
        kinds: As for ``with_clause``.
        columns: The columns of the rows.
        returned: The indexes of the clauses whose rows are returned.
        evolves: Whether the schema evolves.
    """
    from pyspark.sql import functions as sf

    spark, rows = joined.sparkSession, joined
    by_clause: dict[int, Assignments] = {}
    for when, is_kind in kinds.items():
        rows = _with_clause_of_kind(rows, clauses, when, is_kind, columns)
        clause_index = sf.col(_clause_column(when))
        rows = rows.where(~is_kind | clause_index.isin(list(returned)))
        values: dict[str, Any] = {}
        for index, clause in enumerate(clauses):
            if clause.when != when or clause.then == "delete":
                continue
            assignments = columns.assignments(spark, clause, evolves=evolves).typed(
                rows, columns.written_fields, partial=evolves, evolve=MERGING
            )
            by_clause[index] = assignments
            for position, field in enumerate(columns.written_fields):
                if assignments.sets(field.name):
                    is_new = clause.then == "insert" and (field.name,) not in assignments.values
                    old = default(spark, field) if is_new else columns.old(field)
                    value, name = assignments.value(field, old), _value_column(when, position)
                    values[name] = values.get(name, sf).when(clause_index == index, value)
        rows = rows.withColumns(values) if values else rows
    rows = _with_clause(rows, kinds)
    rows = rows.where(sf.col(hidden_columns.CLAUSE) >= 0)
    return _combined(rows, clauses, columns, by_clause)


def _value_column(when: When, position: int) -> str:
    """Return the name of the values that clauses of a kind compute for a column."""
    return f"{hidden_columns.PREFIX}value_{when}_{position}"


def _combined(
    rows: DataFrame,
    clauses: Sequence[Clause],
    columns: JoinedColumns,
    by_clause: Mapping[int, Assignments],
) -> DataFrame:
    """Combine the values that clauses have computed into the columns of the table."""
    from pyspark.sql import functions as sf

    spark = rows.sparkSession
    clause_index = sf.col(hidden_columns.CLAUSE)
    selected, generated, usable = [], [], []
    for position, field in enumerate(columns.written_fields):
        setting = [
            index for index, assignments in by_clause.items() if assignments.sets(field.name)
        ]
        if field.generation_expression is not None:
            if not setting:
                continue
            generated.append((field, setting))
        value = columns.old(field)
        for when in dict.fromkeys(clauses[index].when for index in setting):
            of_kind = [index for index in setting if clauses[index].when == when]
            new = sf.col(_value_column(when, position))
            value = sf.when(clause_index.isin(of_kind), new).otherwise(value)
        defaulting = [
            index for index in by_clause if index not in setting and clauses[index].then == "insert"
        ]
        if defaulting:
            # a single expression, so that an identity column counts the rows of all clauses
            value = sf.when(clause_index.isin(defaulting), default(spark, field)).otherwise(value)
        selected.append(value.alias(field.name))
        usable.append(field.name)
    hidden = [sf.col(name) for name in rows.columns if name.startswith(hidden_columns.PREFIX)]
    result = rows.select(*selected, *hidden)
    deleting = [index for index, clause in enumerate(clauses) if clause.then == "delete"]
    for field, setting in generated:
        computed = log_expressions.generated(spark, field, usable)
        log_expressions.check(result, {log_expressions.generated_by(field): computed})
        value = sf.col(names.quoted(field.name))
        is_kept = clause_index.isin([*setting, *deleting])
        result = result.withColumn(field.name, sf.when(is_kept, value).otherwise(computed))
    return result


def _is_computed(field: Field) -> bool:
    has_expression = field.generation_expression is not None or field.default is not None
    return has_expression or field.is_identity
