"""``DeltaTableBuilder``: the definition of a new table, with delta-spark's methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.definition import definition
from deltareplay.spark.definition.definition import Definition
from deltareplay.spark.session import capabilities
from deltareplay.spark.session.errors import methods_raise_analysis_errors
from deltareplay.spark.writing.target_table import column_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession
    from pyspark.sql.types import DataType, StructField, StructType

    from deltareplay._table.table import Table


#: ``DeltaTable``, which this module cannot import.
_Opened = TypeVar("_Opened")


@dataclass
class IdentityGenerator:
    """The values of an identity column: ``start``, ``start + step``, and so on.

    Attributes:
        start: The first value.
        step: The difference to the next value; may be negative, but not 0.

    >>> IdentityGenerator(step=2)
    IdentityGenerator(start=1, step=2)
    """

    start: int = 1
    step: int = 1


@methods_raise_analysis_errors
class DeltaTableBuilder(Generic[_Opened]):
    """The definition of a table; returned by ``DeltaTable.create`` and its siblings.

    A name or a path is required, everything else is optional. Methods change the builder, and
    return it. Without ``location``, the catalog chooses the path.

    >>> new = DeltaTable.createIfNotExists(spark).location("/tmp/events")  # doctest: +SKIP
    >>> new = new.addColumn("id", "bigint", nullable=False)  # doctest: +SKIP
    >>> new.addColumn("day", "date").partitionedBy("day").execute()  # doctest: +SKIP
    """

    def __init__(
        self,
        spark: SparkSession,
        mode: definition.Mode,
        opened: Callable[[SparkSession, Table, None, str | None], _Opened],
    ) -> None:
        """Use ``DeltaTable.create`` and its siblings instead."""
        capabilities.require_spark_4(spark, "creating a table")
        self._spark = spark
        self._definition = Definition(mode)
        self._opened = opened

    def tableName(self, identifier: str) -> DeltaTableBuilder[_Opened]:
        """Set the name of the table in the session's catalog.

        Args:
            identifier: The name, qualified if not in the current schema; or ``delta.`/path```.

        Raises:
            TypeError: The name is not a string.
        """
        self._definition.name = _text(identifier, "the identifier")
        return self

    def location(self, location: str) -> DeltaTableBuilder[_Opened]:
        """Set the path of the table.

        Args:
            location: A Hadoop path, or a name such as ``uc://main.sales.orders``.

        Raises:
            TypeError: The path is not a string.
        """
        self._definition.location = _text(location, "the location")
        return self

    def comment(self, comment: str) -> DeltaTableBuilder[_Opened]:
        """Set the comment of the table.

        Args:
            comment: The comment.

        Raises:
            TypeError: The comment is not a string.
        """
        self._definition.comment = _text(comment, "the comment of the table")
        return self

    def addColumn(
        self,
        colName: str,
        dataType: str | DataType,
        nullable: bool = True,
        generatedAlwaysAs: str | IdentityGenerator | None = None,
        generatedByDefaultAs: IdentityGenerator | None = None,
        comment: str | None = None,
    ) -> DeltaTableBuilder[_Opened]:
        """Add a column.

        Args:
            colName: Its name.
            dataType: Its type, as DDL or as a ``DataType``.
            nullable: Whether it may be null.
            generatedAlwaysAs: The SQL expression of a generated column; or an
                ``IdentityGenerator``, if writers must not set values.
            generatedByDefaultAs: An ``IdentityGenerator``, if writers may set values.
            comment: The comment.

        Raises:
            TypeError: An argument has the wrong type.
            InvalidArgumentError: A step is 0, a start or step does not fit into a bigint, or both
                kinds of generation are passed (``column.generated``); or an identity column is not
                of type bigint (``column.identity``).
            UnsupportedFeatureError: The type has a collation (``spark.collation``).
        """
        from pyspark.sql.types import DataType

        _text(colName, "the name of a column")
        if not isinstance(dataType, (str, DataType)):
            raise _type_error("the type of a column", "a str or a DataType", dataType)
        if not isinstance(nullable, bool):
            raise _type_error("nullable", "a bool", nullable)
        if generatedAlwaysAs is not None and generatedByDefaultAs is not None:
            raise InvalidArgumentError(
                f"the column {colName} cannot be both generatedAlwaysAs and generatedByDefaultAs",
                code="column.generated",
            )
        if not isinstance(generatedAlwaysAs, (str, IdentityGenerator, type(None))):
            raise _type_error(
                "generatedAlwaysAs", "a str or an IdentityGenerator", generatedAlwaysAs
            )
        if not isinstance(generatedByDefaultAs, (IdentityGenerator, type(None))):
            raise _type_error("generatedByDefaultAs", "an IdentityGenerator", generatedByDefaultAs)
        if comment is not None:
            _text(comment, "the comment of a column")
        computed = generatedAlwaysAs if isinstance(generatedAlwaysAs, str) else None
        self._definition.columns.append(
            definition.column(
                colName,
                dataType,
                nullable=nullable,
                computed=computed,
                identity=_identity(colName, generatedAlwaysAs, generatedByDefaultAs),
                comment=comment,
            )
        )
        return self

    def addColumns(self, cols: StructType | list[StructField]) -> DeltaTableBuilder[_Opened]:
        """Add the columns of a schema, such as ``df.schema``.

        Args:
            cols: The schema, or a list of its fields.

        Raises:
            TypeError: ``cols`` are not fields.
            UnsupportedFeatureError: A column has a collation (``spark.collation``).
        """
        from pyspark.sql.types import StructField, StructType

        if not isinstance(cols, (StructType, list)):
            raise _type_error("a schema", "a StructType or a list of StructField", cols)
        for col in cols:
            if not isinstance(col, StructField):
                raise _type_error("a column of a schema", "a StructField", col)
        self._definition.columns.extend(column_of(col) for col in cols)
        return self

    def partitionedBy(self, *cols: str | list[str] | tuple[str, ...]) -> DeltaTableBuilder[_Opened]:
        """Set the partition columns.

        Args:
            cols: Their names, or one list of them.

        Raises:
            TypeError: A name is not a string.
        """
        self._definition.partition_by = _names(cols, "a partition column")
        return self

    def clusterBy(self, *cols: str | list[str] | tuple[str, ...]) -> DeltaTableBuilder[_Opened]:
        """Set the columns by which rows are clustered.

        Args:
            cols: Their names, or one list of them.

        Raises:
            TypeError: A name is not a string.
        """
        self._definition.cluster_by = _names(cols, "a clustering column")
        return self

    def property(self, key: str, value: str) -> DeltaTableBuilder[_Opened]:
        """Set a table property.

        Args:
            key: Its name.
            value: Its value.

        Raises:
            TypeError: The name or the value is not a string.
        """
        key = _text(key, "the name of a property")
        self._definition.properties[key] = _text(value, f"the value of the property {key}")
        return self

    def execute(self) -> _Opened:
        """Create or replace the table.

        Returns:
            The table.

        Raises:
            InvalidArgumentError: Neither name nor path is set, or the name has another path
                (``definition.place``); the name (``name.syntax``), a clustering column
                (``alter.clustering``, ``alter.column``) or the value of a generated column
                (``definition.generated``) is invalid.
            TableNotFoundError: There is no table to replace (``table.not_found`` at a path,
                ``name.not_delta`` for a name); the name is not that of a Delta table
                (``name.not_delta``); or the schema of a new name does not exist, or has no location
                (``name.schema``).
            UnsupportedFeatureError: The catalog cannot take the name (``spark.no_delta``): see
                ``deltareplay.spark.register``.
            DeltaReplayError: As by ``deltareplay.create_table``.
        """
        table, name = definition.execute(self._spark, self._definition)
        return self._opened(self._spark, table, None, name)


def _identity(
    name: str, always: str | IdentityGenerator | None, by_default: IdentityGenerator | None
) -> tuple[int, int, bool] | None:
    """Return the start, the step and whether writers may set values; None without a generator."""
    generator = by_default if by_default is not None else always
    if not isinstance(generator, IdentityGenerator):
        return None
    for part, number in (("start", generator.start), ("step", generator.step)):
        if type(number) is not int:  # a bool is an instance of int
            raise _type_error(f"the {part} of the identity column {name}", "an int", number)
    return generator.start, generator.step, by_default is not None


def _names(cols: tuple[Any, ...], argument: str) -> list[str]:
    names = cols[0] if len(cols) == 1 and isinstance(cols[0], (list, tuple)) else cols
    return [_text(name, argument) for name in names]


def _text(value: Any, argument: str) -> str:
    if isinstance(value, str):
        return value
    raise _type_error(argument, "a str", value)


def _type_error(argument: str, expected: str, value: object) -> TypeError:
    return TypeError(f"{argument} must be {expected}, not {value!r} of type {type(value).__name__}")
