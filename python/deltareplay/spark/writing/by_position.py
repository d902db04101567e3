"""Columns of written rows matched with the table's, by position or by name, as in delta-spark."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltareplay._protocol.schema import Array, Field, Map, Struct, Type, inner_fields, parts
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.schema.alignment import WRITING, converted_parts
from deltareplay.spark.schema.fields import fields_of, nullable, spark_type
from deltareplay.spark.writing.table_rows import assigned, converted
from deltareplay.spark.writing.target_table import TargetTable, is_collated

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

#: Returns whether a column of a primitive type is widened to another.
Widens = Callable[[str, str], bool]


def aligned_rows(
    rows: DataFrame,
    target_names: Sequence[str],
    target: TargetTable,
    *,
    evolves: bool,
    by_name: bool = False,
    has_column_list: bool = False,
) -> DataFrame:
    """Convert rows to the names and types of the table; widened columns keep the type of the rows.

    As in delta-spark, rows with the table's names and types, at any depth, are matched by name;
    others, and the fields in them, by position.

    Args:
        rows: The rows.
        target_names: The columns of the table that the rows have, in order.
        target: The table.
        evolves: Whether the rows may have more columns, and wider types.
        by_name: Whether the columns of the rows are matched by name.
        has_column_list: Whether a statement lists ``target_names``: struct fields are then always
            matched by position.

    Raises:
        InvalidArgumentError: ``write.columns``: there are more or fewer columns, or Spark has no
            cast to the type of one.
    """
    from pyspark.sql import functions as sf

    source_fields = fields_of(rows.schema)
    source_names = [field.name for field in source_fields]
    if by_name:
        target_names = source_names
    num_matched, num_extra = len(target_names), len(source_fields) - len(target_names)
    if num_extra < 0 or (num_extra > 0 and (has_column_list or not evolves)):
        raise wrong_count(rows, target_names)
    names = [*target_names, *source_names[num_matched:]]
    fields_by_key = {field.key: field for field in target.fields}
    target_fields = [fields_by_key.get(name.lower()) for name in target_names]
    target_fields += [None] * num_extra  # added columns have no field in the table yet
    widens: Widens = target.widens if evolves else lambda _old, _new: False
    matched = [
        dataclasses.replace(field, name=name)
        for field, name in zip(source_fields, target_names, strict=False)
    ]
    has_table_names = by_name or has_column_list or source_names[:num_matched] == list(target_names)
    compatible = has_table_names and is_compatible(
        [field for field in target_fields if field is not None], matched, widens
    )
    if compatible and not has_column_list:
        return rows.toDF(*names)
    rows = rows.toDF(*(f"_{index}" for index in range(len(names))))
    values = []
    for index, (source, column) in enumerate(zip(source_fields, target_fields, strict=True)):
        value = sf.col(f"_{index}")
        if column is not None:
            value = converted_by_position(
                rows.sparkSession, value, source, column, widens, only_structs=compatible
            )
        values.append(value.alias(names[index]))
    return _cast(rows, values, names)


def cast_by_name(rows: DataFrame, target: TargetTable) -> DataFrame:
    """Cast the columns of rows to the types of the table's columns with the same names.

    Fields of structs are matched by name, too, at any depth; missing ones are null. Columns that
    the table lacks stay as they are.

    Raises:
        InvalidArgumentError: ``write.columns``: a struct has a field that the table lacks, or Spark
            has no cast to the type of a column; or as by ``assigned``.
    """
    from pyspark.sql import functions as sf

    fields_by_key = {field.key: field for field in target.fields}
    sources = fields_of(rows.schema)
    names = [source.name for source in sources]
    rows = rows.toDF(*(f"_{index}" for index in range(len(names))))
    values = []
    for index, source in enumerate(sources):
        value, field = sf.col(f"_{index}"), fields_by_key.get(source.key)
        if field is not None and field.type != "void":
            value = assigned(
                rows.sparkSession,
                value,
                source,
                field,
                partial=True,
                evolve=WRITING,
                code="write.columns",
            )
        values.append(value.alias(source.name))
    return _cast(rows, values, names)


def _cast(rows: DataFrame, values: Sequence[Column], names: Sequence[str]) -> DataFrame:
    """Select the values; Spark checks their casts now, not when the rows are written.

    The columns of the rows are ``_0``, ``_1`` and so on; errors have the names of the values.
    """
    from pyspark.errors import AnalysisException

    try:
        cast = rows.select(*values)
        _ = cast.schema
    except AnalysisException as error:
        columns = {f"_{index}": name for index, name in enumerate(names)}
        reason = re.sub(
            r"(?<![\w.`])_\d+\b", lambda match: columns.get(match[0], match[0]), str(error)
        )
        raise InvalidArgumentError(
            "Spark cannot cast a column of the rows to the type of the table's column: "
            f"{reason.split(';')[0].strip()}",
            code="write.columns",
        ) from error
    return cast


def wrong_count(rows: DataFrame, columns: Sequence[str]) -> InvalidArgumentError:
    """Return the error for rows with another number of columns."""
    return InvalidArgumentError(
        f"the rows have {len(rows.columns)} columns, but {len(columns)} are required "
        f"({', '.join(columns)}): select these, or match by name (INSERT ... BY NAME)",
        code="write.columns",
    )


def check_positions(using: Sequence[str], rows: DataFrame, target_names: Sequence[str]) -> None:
    """Check that the columns of ``REPLACE USING`` have the same positions in rows and table.

    delta-spark requires this, too.

    Raises:
        InvalidArgumentError: ``write.columns``.
    """
    source, target = ([name.lower() for name in names] for names in (rows.columns, target_names))
    for name in using:
        key = name.lower()  # the write reports missing columns
        if key in source and key in target and source.index(key) != target.index(key):
            raise InvalidArgumentError(
                f"the column {name} is at a different position in the query and the table: use BY "
                "NAME",
                code="write.columns",
            )


def is_compatible(table: Sequence[Field], rows: Sequence[Field], widens: Widens) -> bool:
    """Return whether rows have the table's names and types, at any depth and in any order.

    Such rows are matched by name. They need all columns of the table, and may have more. ``widens``
    returns whether the table's type is widened to that of the rows.
    """
    columns_by_key = {column.key: column for column in table}
    if not set(columns_by_key) <= {column.key for column in rows}:
        return False
    for column in rows:
        table_column = columns_by_key.get(column.key)
        if table_column is None:
            continue
        if column.name != table_column.name or is_collated(column):
            return False
        if not _is_compatible_type(table_column.type, column.type, widens):
            return False
    return True


def _is_compatible_type(table: Type, rows: Type, widens: Widens) -> bool:
    if table == "void":
        return True
    if isinstance(table, str) or isinstance(rows, str):
        return table == rows or _widens(table, rows, widens)
    if isinstance(table, Struct) and isinstance(rows, Struct):
        return is_compatible(table.fields, rows.fields, widens)
    return type(table) is type(rows) and all(
        _is_compatible_type(part, other, widens)
        for part, other in zip(parts(table).values(), parts(rows).values(), strict=True)
    )


def _widens(table: Type, rows: Type, widens: Widens) -> bool:
    return isinstance(table, str) and isinstance(rows, str) and widens(table, rows)


def converted_by_position(
    spark: SparkSession,
    value: Column,
    source: Field,
    target: Field,
    widens: Widens,
    *,
    only_structs: bool = False,
) -> Column:
    """Convert a value to the type of a column; widened parts keep the type of the value.

    Additional fields keep their names. With ``only_structs``, arrays and maps stay unchanged.

    Raises:
        InvalidArgumentError: ``write.columns``: the value lacks fields.
    """
    if is_collated(source):  # deltareplay writes no collations
        source = Field(source.name, nullable(source.type))
        value = value.cast(spark_type(source.type))
    conversion = _ByPosition(spark, widens, only_structs)
    return conversion.convert(value, source.type, target.type, target.name)


@dataclass(frozen=True)
class _ByPosition:
    """The arguments of ``converted_by_position`` that apply at any depth."""

    spark: SparkSession
    widens: Widens
    only_structs: bool

    def convert(self, value: Column, source: Type, target: Type, name: str) -> Column:
        from pyspark.sql import functions as sf

        if (
            target == "void"
            or nullable(source) == nullable(target)
            or _widens(target, source, self.widens)
        ):
            return value
        if isinstance(target, str) or type(target) is not type(source):
            return self._converted(value, source, target, name)
        if isinstance(source, Struct) and isinstance(target, Struct):
            return self._struct(value, source, target, name)
        if self.only_structs:
            return value
        if isinstance(source, Array) and isinstance(target, Array):
            element, other = source.element, target.element
            # as in delta-spark, other arrays are only cast
            if isinstance(element, Struct) and isinstance(other, Struct) and source.contains_null:
                return sf.transform(value, lambda part: self._struct(part, element, other, name))
            return self._converted(value, source, target, name)
        if _shape(source) == _shape(target):
            return self._converted(value, source, target, name)

        def inner(part: Column, old: Type, new: Type, step: str) -> Column:
            return self.convert(part, old, new, f"{name}.{step}")

        return converted_parts(value, source, target, inner, nullable)

    def _struct(self, value: Column, source: Struct, target: Struct, name: str) -> Column:
        from pyspark.sql import functions as sf

        fields, target_fields = source.fields, target.fields
        if len(fields) < len(target_fields):
            raise InvalidArgumentError(
                f"the value of {name} has {len(fields)} fields, and the column has "
                f"{len(target_fields)}: pass all fields, or use BY NAME with schema evolution",
                code="write.columns",
            )
        columns = []
        for index, field in enumerate(fields):
            part = value.getField(field.name)
            if index >= len(target_fields):
                columns.append(part.alias(field.name))
                continue
            other = target_fields[index]
            is_recursive = type(field.type) is type(other.type) and isinstance(
                other.type, (Struct, str)
            )
            convert = self.convert if is_recursive or other.type == "void" else self._converted
            inner = convert(part, field.type, other.type, f"{name}.{other.name}")
            columns.append(inner.alias(other.name))
        return sf.when(value.isNotNull(), sf.struct(*columns))

    def _converted(self, value: Column, source: Type, target: Type, name: str) -> Column:
        if self.only_structs and isinstance(target, (Array, Map)):
            return value
        return converted(self.spark, value, source, target, name, code="write.columns")


def _shape(type_: Type) -> Any:
    """Return a type without names and nullability."""
    if isinstance(type_, str):
        return type_
    return type(type_), [_shape(field.type) for field in inner_fields(type_)]
