"""Expressions about a ``DeltaTable``: their types, and the names of the table in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deltareplay.spark.dml.assignments import checked_assignments, renamed_tables
from deltareplay.spark.dml.statement import checked_condition
from deltareplay.spark.scan.table_alias import TableAlias
from deltareplay.spark.syntax import names, qualifiers

if TYPE_CHECKING:
    from deltareplay.spark.dml.statement import Expression


@dataclass(frozen=True)
class Expressions:
    """The expressions of a table's methods.

    Attributes:
        qualifier: The qualifier of the table.
        aliases: The qualifier by the other names of the table that may qualify columns.
    """

    qualifier: str = "target"
    aliases: qualifiers.Aliases = field(default_factory=dict)

    @classmethod
    def of(cls, alias: str | None, name: str | None) -> Expressions:
        """Return the expressions of a table with an alias, or with a name in the catalog.

        >>> Expressions.of(None, "sales.orders").condition("sales.orders.id = target.id")
        '`orders`.id = `orders`.id'
        """
        if alias is not None:
            return cls(alias)
        if name is None:
            return cls()
        table = names.table_parts(name)
        alias = TableAlias.of(table)
        return cls(alias, {**qualifiers.aliases(table, alias), ("target",): alias})

    def condition(self, value: Any) -> Expression | None:
        """Check the type of a condition, and return it with the qualifier; it may be None."""
        return qualifiers.with_aliases(checked_condition(value), self.aliases)

    def assignments(self, value: Any, argument: str) -> dict[str, Expression]:
        """Check the types of assignments, and return them with the qualifier."""
        return renamed_tables(checked_assignments(value, argument), self.aliases)
