"""The alias of a table in the catalog, with the names that columns may have before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deltareplay.spark.session import capabilities, internals

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class TableAlias(str):
    """The last part of a table's name, which columns may also have with the parts before it.

    >>> alias = TableAlias.of(("spark_catalog", "sales", "orders"))
    >>> alias, alias.namespace
    ('orders', ('spark_catalog', 'sales'))
    """

    __slots__ = ("namespace",)

    namespace: tuple[str, ...]

    @classmethod
    def of(cls, table: Sequence[str]) -> TableAlias:
        """Return the alias of a table with these parts."""
        self = cls(table[-1])
        self.namespace = tuple(table[:-1])
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return TableAlias.of, ((*self.namespace, str(self)),)


def aliased(rows: DataFrame, alias: str) -> DataFrame:
    """Give rows an alias; with that of a table, ``sales.orders.id`` is one of their columns.

    Spark's own method has no such aliases. Where this fails, the columns have the last part only.
    """
    if not isinstance(alias, TableAlias) or not alias.namespace:
        return rows.alias(alias)
    is_classic = capabilities.is_classic(rows.sparkSession)
    try:
        return (_on_classic if is_classic else _on_connect)(rows, alias)
    except Exception:  # each build and version of Spark fails in its own way
        return rows.alias(alias)


def _on_classic(rows: DataFrame, alias: TableAlias) -> DataFrame:
    spark = rows.sparkSession
    jvm, plan = internals.jvm(spark), internals.logical_plan(rows)
    catalyst = jvm.org.apache.spark.sql.catalyst
    namespace = jvm.PythonUtils.toSeq(list(alias.namespace))
    identifier = catalyst.AliasIdentifier(str(alias), namespace)
    aliased_plan = catalyst.plans.logical.SubqueryAlias(identifier, plan)
    return internals.frame_of_plan(spark, aliased_plan)


def _on_connect(rows: DataFrame, alias: TableAlias) -> DataFrame:
    from pyspark.sql.connect import plan
    from pyspark.sql.connect.dataframe import DataFrame as ConnectFrame

    class SubqueryAlias(plan.SubqueryAlias):  # type: ignore[misc]
        def plan(self, session: Any) -> Any:
            relation = super().plan(session)
            relation.subquery_alias.qualifier.extend(alias.namespace)
            return relation

    aliased_plan = SubqueryAlias(internals.connect_plan(rows), str(alias))
    frame: DataFrame = ConnectFrame(aliased_plan, rows.sparkSession)
    return frame
