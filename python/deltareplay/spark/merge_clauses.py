"""``Clauses``: what a merge does with each row, as Spark expressions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark import feed, identities, names
from deltareplay.spark.assignments import Assignments
from deltareplay.spark.outgoing import default
from deltareplay.spark.schema import Json, spark_type
from deltareplay.spark.statement import as_column, shown

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

When = Literal["matched", "not_matched", "not_matched_by_source"]


@dataclass(frozen=True)
class Clause:
    """One clause, as it was given.

    Attributes:
        when: Of which rows it speaks.
        then: What it does: a kind of ``feed``.
        condition: SQL text or a column; None means all.
        values: The columns that it sets; None sets all.
    """

    when: When
    then: str
    condition: Any
    values: Mapping[str, Any] | None

    def shown(self) -> dict[str, str]:
        """The clause as the history has it."""
        told = {"actionType": self.then}
        if self.condition is not None:
            told["predicate"] = shown(self.condition)
        return told


def check(clauses: Sequence[Clause]) -> None:
    """Refuses clauses that cannot apply.

    Raises:
        InvalidArgumentError: ``rows.merge``.
    """
    if not clauses:
        raise InvalidArgumentError(
            "a merge needs a clause that says what becomes of the rows", code="rows.merge"
        )
    for at, one in enumerate(clauses):
        if one.condition is None and any(later.when == one.when for later in clauses[at + 1 :]):
            raise InvalidArgumentError(
                "only the last of the clauses of a kind may have no condition", code="rows.merge"
            )


def takes_several(clauses: Sequence[Clause]) -> bool:
    """Whether several rows of the source may match one of the table: nothing depends on which."""
    matched = [one for one in clauses if one.when == "matched"]
    if not matched:
        return True
    return len(matched) == 1 and matched[0].then == feed.DELETE and matched[0].condition is None


@dataclass(frozen=True)
class Sides:
    """The names of a merge's rows: the table's, and those of the source.

    Attributes:
        target: The alias of the table.
        fields: The columns of the table after the merge.
        known: The names of those that its files have.
        source: For each column of the source in small letters its name in the joined rows.
    """

    target: str
    fields: list[Json]
    known: set[str]
    source: dict[str, str]

    def old(self, one: Json) -> Column:
        """A column before the merge."""
        from pyspark.sql import functions as sf

        if one["name"] not in self.known:
            return sf.lit(None).cast(spark_type(one["type"]))
        return sf.col(feed.of(self.target, one["name"]))

    def assignments(self, clause: Clause, *, evolves: bool) -> Assignments:
        """What a clause sets.

        Raises:
            InvalidArgumentError: The table has no such column; or a clause for all columns misses
                one of them in the source.
        """
        from pyspark.sql import functions as sf

        if clause.values is not None:
            return Assignments.of(clause.values, self.fields)
        values: dict[tuple[str, ...], Column] = {}
        for one in self.fields:
            name = self.source.get(one["name"].lower())
            if name is not None:
                identities.refuse(one)
                values[(one["name"],)] = sf.col(name)
            elif not evolves and not _computed(one):
                raise InvalidArgumentError(
                    f"the source has no column {one['name']}, which a clause for all columns "
                    "sets: name the columns, or merge with schema_mode='merge'",
                    code="statement.column",
                )
        return Assignments(values)


def number(clauses: Sequence[Clause], whens: Mapping[str, Column]) -> Column:
    """The number of the clause that applies to a row, -1 if none does.

    Args:
        clauses: The clauses, in their order.
        whens: For each kind of clause that is asked for the condition that rows are of this kind.
    """
    from pyspark.sql import functions as sf

    found = None
    for at, clause in enumerate(clauses):
        if clause.when not in whens:
            continue
        applies = whens[clause.when]
        if clause.condition is not None:
            applies = applies & sf.coalesce(as_column(clause.condition), sf.lit(False))
        found = sf.when(applies, at) if found is None else found.when(applies, at)
    return sf.lit(-1) if found is None else found.otherwise(-1)


def changed(
    rows: DataFrame,
    clauses: Sequence[Clause],
    sides: Sides,
    which: Collection[str],
    *,
    evolves: bool,
    beside: Sequence[Column],
) -> DataFrame:
    """The columns of the table after the merge, of rows to which a clause applies.

    Generated columns that no clause sets are left out: they are computed of the others.

    Args:
        rows: The joined rows, with ``names.CLAUSE``.
        clauses: The clauses.
        sides: The names.
        which: The kinds of clauses whose rows these are.
        evolves: Whether the schema evolves.
        beside: More columns that the result has.
    """
    from pyspark.sql import functions as sf

    set_by: dict[int, Assignments] = {}
    for at, clause in enumerate(clauses):
        if clause.when in which and clause.then != feed.DELETE:
            given = sides.assignments(clause, evolves=evolves)
            set_by[at] = given.typed(rows, sides.fields)
    number = sf.col(names.CLAUSE)
    columns, partly = [], []
    for one in sides.fields:
        name, old = one["name"], sides.old(one)
        setting = [at for at, each in set_by.items() if each.sets(name)]
        if _is_generated(one):
            if not setting:
                continue
            partly.append((one, setting))
        value = old
        for at, each in set_by.items():
            base = default(one) if clauses[at].then == feed.INSERT else old
            value = sf.when(number == at, each.value(one, base)).otherwise(value)
        columns.append(value.alias(name))
    found = rows.select(*columns, *beside)
    for one, setting in partly:
        computed = sf.expr(one["metadata"]["delta.generationExpression"])
        computed = computed.cast(spark_type(one["type"]))
        own = sf.col(names.quoted(one["name"]))
        keeps = number.isin(setting) | (sf.col(names.KIND) == feed.DELETE)
        found = found.withColumn(one["name"], sf.when(keeps, own).otherwise(computed))
    return found


def _is_generated(one: Json) -> bool:
    return "delta.generationExpression" in (one.get("metadata") or {})


def _computed(one: Json) -> bool:
    metadata = one.get("metadata") or {}
    return _is_generated(one) or identities.is_identity(one) or "CURRENT_DEFAULT" in metadata
