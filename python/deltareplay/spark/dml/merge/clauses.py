"""The clauses of a merge as Spark expressions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from deltareplay._protocol.schema import Field, Struct, Type
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.dml import change_data
from deltareplay.spark.dml.assignments import Assignments
from deltareplay.spark.dml.statement import as_column, condition_text
from deltareplay.spark.scan import hidden_columns
from deltareplay.spark.schema.alignment import MERGING, lacking, widened
from deltareplay.spark.schema.fields import spark_type
from deltareplay.spark.syntax import names
from deltareplay.spark.writing import identity_columns, log_expressions
from deltareplay.spark.writing.table_rows import default

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

When = Literal["matched", "not_matched", "not_matched_by_source"]


@dataclass(frozen=True)
class Clause:
    """A clause of a merge.

    Attributes:
        when: The rows it applies to: matched, not matched, or not matched by source.
        then: The kind of change, as in ``change_data``.
        condition: SQL text or a column; None applies to all rows.
        values: The columns that it sets; None sets all.
    """

    when: When
    then: str
    condition: Any
    values: Mapping[str, Any] | None

    def parameters(self) -> dict[str, str]:
        """Return the clause as the table's history records it."""
        parameters = {"actionType": self.then}
        if self.condition is not None:
            parameters["predicate"] = condition_text(self.condition)
        return parameters


def check(clauses: Sequence[Clause]) -> None:
    """Check that there are clauses, and that each of them can apply.

    Raises:
        InvalidArgumentError: ``rows.merge``.
    """
    if not clauses:
        raise InvalidArgumentError("a merge needs at least one clause", code="rows.merge")
    for at, clause in enumerate(clauses):
        if clause.condition is None and any(
            later.when == clause.when for later in clauses[at + 1 :]
        ):
            raise InvalidArgumentError(
                "only the last clause of a kind may lack a condition", code="rows.merge"
            )


def takes_several(clauses: Sequence[Clause]) -> bool:
    """Return whether the result does not depend on which source row matches a target row."""
    matched = [clause for clause in clauses if clause.when == "matched"]
    if not matched:
        return True
    return (
        len(matched) == 1 and matched[0].then == change_data.DELETE and matched[0].condition is None
    )


@dataclass(frozen=True)
class Sides:
    """The names of the columns of joined rows, from the table and from the source.

    Clauses for unmatched rows see one side only, as the other has no values.

    Attributes:
        target: The alias of the table.
        fields: The columns of the table after the merge.
        known: The columns in the data files, with their types there, and the name of each copy in
            the joined rows.
        origin: The alias of the source; None if its columns have several.
        source: The columns of the source, and the name of each copy.
    """

    target: str
    fields: list[Field]
    known: list[tuple[Field, str]]
    origin: str | None
    source: list[tuple[Field, str]]

    def with_copies(self, joined: DataFrame) -> DataFrame:
        """Add copies of the table's columns to joined rows; the source already has copies."""
        from pyspark.sql import functions as sf

        columns = {
            copy: sf.col(change_data.of(self.target, field.name)) for field, copy in self.known
        }
        return joined.withColumns(columns)

    def old(self, field: Field) -> Column:
        """Return a column before the merge, with the fields and the type that it has afterwards."""
        from pyspark.sql import functions as sf

        for known, copy in self.known:
            if known.name == field.name:
                return widened(sf.col(copy), known, field)
        return sf.lit(None).cast(spark_type(field.type))

    def seen(self, rows: DataFrame, when: When) -> DataFrame:
        """Return joined rows with the columns that clauses of a kind may refer to, and hidden ones.

        Other columns are dropped, so evaluate kinds in the order of ``KINDS``.
        """
        from pyspark.sql import functions as sf

        alias = self.origin if when == "not_matched" else self.target
        if when == "matched" or alias is None:
            return rows
        pairs = self.source if when == "not_matched" else self.known
        columns = [sf.col(copy).alias(field.name) for field, copy in pairs]
        kept = [sf.col(name) for name in rows.columns if name.startswith(hidden_columns.OWN)]
        return rows.select(*columns, *kept).alias(alias)

    def _seen_names(self, when: When) -> list[str]:
        pairs = [] if when == "not_matched" else list(self.known)
        if when != "not_matched_by_source":
            pairs += self.source
        return [field.name for field, _ in pairs]

    def assignments(self, spark: SparkSession, clause: Clause, *, evolves: bool) -> Assignments:
        """Return the assignments of a clause.

        Raises:
            InvalidArgumentError: The table has no such column; or the source lacks a column that a
                clause for all columns sets.
        """
        from pyspark.sql import functions as sf

        if clause.values is not None:
            seen = self._seen_names(clause.when)
            return Assignments.of(spark, clause.values, self.fields, seen)
        sources = {other.key: (other, copy) for other, copy in self.source}
        values: dict[tuple[str, ...], Column] = {}
        for field in self.fields:
            other, copy = sources.get(field.key, (None, ""))
            if other is not None:
                identity_columns.refuse(field)
                value = sf.col(copy)
                if evolves and clause.then == change_data.UPDATE:
                    value = _over(value, other.type, self.old(field), field.type)
                values[(field.name,)] = value
            elif not evolves and not _computed(field):
                raise InvalidArgumentError(
                    f"the source has no column {field.name}, which a clause for all columns "
                    f"sets: name the columns, or evolve the schema by {MERGING}",
                    code="statement.column",
                )
        return Assignments(values)


def _over(value: Column, source: Type, old: Column, target: Type) -> Column:
    """Fill the fields that a struct value lacks from the old value; return other values unchanged.

    The result is null if the value is, unless the old struct has fields that the value lacks.
    """
    from pyspark.sql import functions as sf

    if not (isinstance(source, Struct) and isinstance(target, Struct)):
        return value
    fields = []
    for inner in target.fields:
        other, part = source.by_name.get(inner.key), old.getField(inner.name)
        if other is not None:
            part = _over(value.getField(other.name), other.type, part, inner.type)
        fields.append(part.alias(inner.name))
    is_left = old.isNotNull() if any(lacking(source, target, "")) else sf.lit(False)
    return sf.when(value.isNotNull() | is_left, sf.struct(*fields))


#: The kinds of clauses; the first sees most.
KINDS: tuple[When, ...] = ("matched", "not_matched", "not_matched_by_source")


def _number(clauses: Sequence[Clause], when: When, is_kind: Column) -> Column:
    """Return the number of the clause of a kind that applies to a row, or -1."""
    from pyspark.sql import functions as sf

    number: Any = None
    for at, clause in enumerate(clauses):
        if clause.when != when:
            continue
        applies = is_kind
        if clause.condition is not None:
            applies = applies & sf.coalesce(as_column(clause.condition), sf.lit(False))
        number = sf.when(applies, at) if number is None else number.when(applies, at)
    return sf.lit(-1) if number is None else number.otherwise(-1)


def numbered(
    joined: DataFrame, clauses: Sequence[Clause], whens: Mapping[When, Column], sides: Sides
) -> DataFrame:
    """Add the number of the clause that applies to joined rows as ``names.CLAUSE``, or -1.

    Args:
        joined: The rows.
        clauses: The clauses, in their order.
        whens: The kinds of clauses to evaluate, each with the condition that rows are of this kind.
        sides: The names.
    """
    rows = joined
    for when in (kind for kind in KINDS if kind in whens):
        rows = sides.seen(rows, when)
        rows = rows.withColumn(_own_number(when), _number(clauses, when, whens[when]))
    return rows.withColumn(hidden_columns.CLAUSE, _united(whens))


def _own_number(when: When) -> str:
    return f"{hidden_columns.CLAUSE}_{when}"


def _united(whens: Mapping[When, Column]) -> Column:
    from pyspark.sql import functions as sf

    return sf.greatest(sf.lit(-1), *[sf.col(_own_number(when)) for when in whens], sf.lit(-1))


def changed(
    joined: DataFrame,
    clauses: Sequence[Clause],
    whens: Mapping[When, Column],
    sides: Sides,
    numbers: Collection[int],
    *,
    evolves: bool,
) -> DataFrame:
    """Return the changed rows: the table's columns after the merge, and hidden columns.

    Generated columns that no clause sets are left out: they are computed from the others.

    Args:
        joined: The joined rows.
        clauses: The clauses.
        whens: The kinds of clauses to evaluate, each with the condition that rows are of this kind.
        sides: The names.
        numbers: The numbers of the clauses whose rows are returned.
        evolves: Whether the schema evolves.
    """
    from pyspark.sql import functions as sf

    rows = joined
    set_by: dict[int, Assignments] = {}
    for when in (kind for kind in KINDS if kind in whens):
        rows = sides.seen(rows, when)
        number = sf.col(_own_number(when))
        rows = rows.withColumn(_own_number(when), _number(clauses, when, whens[when]))
        rows = rows.where(~whens[when] | number.isin(list(numbers)))
        values = {}
        for at, clause in enumerate(clauses):
            if clause.when != when or clause.then == change_data.DELETE:
                continue
            assignments = sides.assignments(joined.sparkSession, clause, evolves=evolves)
            assignments = assignments.typed(rows, sides.fields, partial=evolves, evolve=MERGING)
            set_by[at] = assignments
            for which, field in enumerate(sides.fields):
                if assignments.sets(field.name):
                    new_part = (
                        clause.then == change_data.INSERT
                        and (field.name,) not in assignments.values
                    )
                    old = default(joined.sparkSession, field) if new_part else sides.old(field)
                    value = assignments.value(field, old)
                    values[_value(at, which)] = sf.when(number == at, value)
        rows = rows.withColumns(values) if values else rows
    rows = rows.withColumn(hidden_columns.CLAUSE, _united(whens))
    rows = rows.where(sf.col(hidden_columns.CLAUSE) >= 0)
    return _set(rows, clauses, sides, set_by)


def _value(clause: int, which: int) -> str:
    return f"{hidden_columns.OWN}value_{clause}_{which}"


def _set(
    rows: DataFrame, clauses: Sequence[Clause], sides: Sides, set_by: Mapping[int, Assignments]
) -> DataFrame:
    """Combine the values that clauses have computed into the columns of the table."""
    from pyspark.sql import functions as sf

    number = sf.col(hidden_columns.CLAUSE)
    columns, partly = [], []
    for which, field in enumerate(sides.fields):
        setting = [at for at, each in set_by.items() if each.sets(field.name)]
        if field.generation_expression is not None:
            if not setting:
                continue
            partly.append((field, setting))
        value = sides.old(field)
        for at in setting:
            value = sf.when(number == at, sf.col(_value(at, which))).otherwise(value)
        lacking = [
            at for at in set_by if at not in setting and clauses[at].then == change_data.INSERT
        ]
        if (
            lacking
        ):  # a single expression, so that an identity column counts the rows of all clauses
            filled = default(rows.sparkSession, field)
            value = sf.when(number.isin(lacking), filled).otherwise(value)
        columns.append(value.alias(field.name))
    own = [sf.col(name) for name in rows.columns if name.startswith(hidden_columns.OWN)]
    result = rows.select(*columns, *own)
    known = [field.name for field in sides.fields]
    for field, setting in partly:
        computed = log_expressions.generated(rows.sparkSession, field, known)
        own_value = sf.col(names.quoted(field.name))
        is_deleted = [at for at, clause in enumerate(clauses) if clause.then == change_data.DELETE]
        keeps = number.isin([*setting, *is_deleted])
        result = result.withColumn(field.name, sf.when(keeps, own_value).otherwise(computed))
    return result


def _computed(field: Field) -> bool:
    has_expression = field.generation_expression is not None or field.default is not None
    return has_expression or field.is_identity
