"""Struct fields matched by name, never by position, and reordered as in the table's schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from deltareplay._protocol.schema import Field, Map, Struct, Type, parts, with_parts
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.schema.fields import fields_of, nullable, spark_type
from deltareplay.spark.syntax.names import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


#: The ways to let a statement evolve the schema, for messages.
MERGING = "schema_mode='merge' or withSchemaEvolution()"
WRITING = "schema_mode='merge'"


def untyped(name: str, type_: str, evolve: str, code: str) -> InvalidArgumentError:
    """Return the error for values of a void column, which has held only nulls so far.

    Args:
        name: The column.
        type_: The type of the values, as Spark shows it.
        evolve: The option or clause that lets the write set the type.
        code: The code of the error.
    """
    return InvalidArgumentError(
        f"the column {name} has no type in the table, because it has only nulls: set the type "
        f"{type_} by {evolve}",
        code=code,
    )


def arranged(
    value: Column,
    source: Field,
    target: Field,
    *,
    code: str,
    partial: bool,
    evolve: str | None = None,
) -> Column:
    """Return a value whose structs, at any depth, have the table's fields in the table's order.

    Args:
        value: The value.
        source: The field of the value.
        target: The field of the table.
        code: The code of errors.
        partial: Whether the value may lack fields, which become null.
        evolve: The option or clause that lets the statement evolve the schema, if any.

    Raises:
        InvalidArgumentError: The value has a field that the table does not have, or lacks one.
    """
    additional = next(lacking(target.type, source.type, target.name), None)
    if additional is not None:
        raise InvalidArgumentError(
            f"the table has no column {additional}: leave it out, or add it "
            + (f"by {evolve}" if evolve else "by Table.add_columns first"),
            code=code,
        )
    missing = None if partial else next(lacking(source.type, target.type, target.name), None)
    if missing is not None:
        raise InvalidArgumentError(
            f"the value of {target.name} lacks {missing}: add it, or "
            + (f"use {evolve}" if evolve else "set the other fields one by one"),
            code=code,
        )
    return _arranged(value, source.type, target.type)


def evolved(rows: DataFrame, fields: Sequence[Field]) -> DataFrame:
    """Convert rows of a table to its new fields: added fields are null, and types are widened."""
    from pyspark.sql import functions as sf

    current = {field.name: field for field in fields_of(rows.schema)}
    changed = {}
    for target in fields:
        source = current.get(target.name)
        if source is not None and nullable(source.type) != nullable(target.type):
            changed[target.name] = widened(sf.col(quoted(target.name)), source, target)
    return rows.withColumns(changed) if changed else rows


def widened(value: Column, source: Field, target: Field) -> Column:
    """Convert a value to a type with more struct fields, which are null, or with wider types."""
    value = arranged(value, source, target, code="statement.column", partial=True)
    if nullable(source.type) == nullable(target.type):
        return value
    return value.cast(spark_type(nullable(target.type)))


def arranged_type(source: Type, target: Type) -> Type:
    """Return the type of an arranged value: the table's structs, the value's own leaf types."""
    if isinstance(source, Struct) and isinstance(target, Struct):
        source_fields = source.by_name
        return Struct(
            tuple(
                Field(field.name, arranged_type(source_fields[field.key].type, field.type))
                if field.key in source_fields
                else Field(field.name, field.type)
                for field in target.fields
            )
        )
    if isinstance(source, (str, Struct)) or type(source) is not type(target):
        return source
    target_parts = parts(target)
    return with_parts(source, lambda step, part: arranged_type(part, target_parts[step]))


def lacking(actual: Type, expected: Type, path: str) -> Iterator[str]:
    """Yield the paths of fields of ``expected`` that ``actual`` lacks, except void fields."""
    if isinstance(actual, Struct) and isinstance(expected, Struct):
        present = actual.by_name
        for field in expected.fields:
            name = f"{path}.{field.name}"
            if field.type == "void":
                continue
            if field.key in present:
                yield from lacking(present[field.key].type, field.type, name)
            else:
                yield name
    elif type(actual) is type(expected):
        actual_parts = parts(actual)
        for step, part in parts(expected).items():
            yield from lacking(actual_parts[step], part, f"{path}.{step}")


def _arranged(value: Column, source: Type, target: Type) -> Column:
    from pyspark.sql import functions as sf

    if type(source) is not type(target) or _names(source) == _names(target):
        return value
    if isinstance(source, Struct) and isinstance(target, Struct):
        fields = []
        for field in target.fields:
            source_field = source.by_name.get(field.key)
            if source_field is None:
                part = sf.lit(None).cast(spark_type(field.type))
            else:
                part = value.getField(source_field.name)
                part = _arranged(part, source_field.type, field.type)
            fields.append(part.alias(field.name))
        return sf.when(value.isNotNull(), sf.struct(*fields))
    return converted_parts(
        value, source, target, lambda part, old, new, _: _arranged(part, old, new), _names
    )


def converted_parts(
    value: Column,
    source: Type,
    target: Type,
    convert: Callable[[Column, Type, Type, str], Column],
    compared: Callable[[Type], object],
) -> Column:
    """Convert the elements of an array, or the keys and values of a map.

    Args:
        value: The array or map.
        source: Its type.
        target: The new type, which is an array or a map, too.
        convert: Converts a part from its type to the new one; it also gets the name of the part.
        compared: Returns the property of a type that a conversion changes; keys and values of a map
            are left as they are if the old and the new type agree in it.
    """
    from pyspark.sql import functions as sf

    if not (isinstance(source, Map) and isinstance(target, Map)):
        [old], [new] = parts(source).values(), parts(target).values()
        return sf.transform(value, lambda part: convert(part, old, new, "element"))
    if compared(source.key) != compared(target.key):
        keys = source.key, target.key, "key"
        value = sf.transform_keys(value, lambda part, _: convert(part, *keys))
    if compared(source.value) != compared(target.value):
        values = source.value, target.value, "value"
        value = sf.transform_values(value, lambda _, part: convert(part, *values))
    return value


def _names(type_: Type) -> Any:
    """Return the names of fields at any depth; None for a type without fields."""
    if isinstance(type_, Struct):
        return [(field.name, _names(field.type)) for field in type_.fields]
    return [_names(part) for part in parts(type_).values()] or None
