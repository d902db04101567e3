"""Struct fields matched by name, never by position, and reordered as in the table's schema."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.schema.fields import PARTS, Json, field, fields_of, nullable, spark_type
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
        evolve: The option or statement that would set the type.
        code: The code of the error.
    """
    return InvalidArgumentError(
        f"the column {name} has no type in the table, because it has only nulls: set the type "
        f"{type_} by {evolve}",
        code=code,
    )


def arranged(
    value: Column,
    source: Json,
    target: Json,
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
    more = next(lacking(target["type"], source["type"], target["name"]), None)
    if more is not None:
        raise InvalidArgumentError(
            f"the table has no column {more}: leave it out, or add it "
            + (f"by {evolve}" if evolve else "by Table.add_columns first"),
            code=code,
        )
    less = None if partial else next(lacking(source["type"], target["type"], target["name"]), None)
    if less is not None:
        raise InvalidArgumentError(
            f"the value of {target['name']} lacks {less}: add it, or "
            + (f"use {evolve}" if evolve else "set the other fields one by one"),
            code=code,
        )
    return _arranged(value, source["type"], target["type"])


def evolved(rows: DataFrame, fields: Sequence[Json]) -> DataFrame:
    """Convert rows of a table to its new fields: added fields are null, and types are widened."""
    from pyspark.sql import functions as sf

    known = {field["name"]: field for field in fields_of(rows.schema)}
    changed = {}
    for target in fields:
        source = known.get(target["name"])
        if source is not None and nullable(source["type"]) != nullable(target["type"]):
            changed[target["name"]] = widened(sf.col(quoted(target["name"])), source, target)
    return rows.withColumns(changed) if changed else rows


def widened(value: Column, source: Json, target: Json) -> Column:
    """Convert a value to a type with more struct fields, which are null, or with wider types."""
    value = arranged(value, source, target, code="statement.column", partial=True)
    if nullable(source["type"]) == nullable(target["type"]):
        return value
    return value.cast(spark_type(nullable(target["type"])))


def arranged_type(source: Any, target: Any) -> Any:
    """Return the type of an arranged value: the table's structs, the value's own leaf types."""
    kind = _nested(source, target)
    if kind is None:
        return source
    if kind == "struct":
        by_name = _by_name(source)
        fields = []
        for own in target["fields"]:
            other = by_name.get(own["name"].lower())
            inner = own["type"] if other is None else arranged_type(other["type"], own["type"])
            fields.append(field(own["name"], inner))
        return {"type": "struct", "fields": fields}
    return {**source, **{key: arranged_type(source[key], target[key]) for key in PARTS[kind]}}


def _nested(source: Any, target: Any) -> str | None:
    """Return the kind of two nested types (struct, array or map); None if they differ."""
    if isinstance(source, str) or isinstance(target, str) or source["type"] != target["type"]:
        return None
    kind = str(source["type"])
    return kind if kind == "struct" or kind in PARTS else None


def is_struct(type_: Any) -> bool:
    """Return whether a type is a struct."""
    return isinstance(type_, dict) and type_["type"] == "struct"


def _by_name(struct: Any) -> dict[str, Json]:
    return {field["name"].lower(): field for field in struct["fields"]}


def lacking(there: Any, here: Any, at: str) -> Iterator[str]:
    """Yield the paths of the fields of ``here`` that ``there`` lacks; void fields do not count."""
    kind = _nested(there, here)
    if kind == "struct":
        known = _by_name(there)
        for field in here["fields"]:
            if field["type"] == "void":
                continue
            other = known.get(field["name"].lower())
            name = f"{at}.{field['name']}"
            if other is None:
                yield name
            else:
                yield from lacking(other["type"], field["type"], name)
    elif kind is not None:
        for key in PARTS[kind]:
            yield from lacking(there[key], here[key], f"{at}.{key.removesuffix('Type')}")


def _arranged(value: Column, source: Any, target: Any) -> Column:
    from pyspark.sql import functions as sf

    kind = _nested(source, target)
    if kind is None or _names(source) == _names(target):
        return value
    if kind == "struct":
        by_name = _by_name(source)
        fields = []
        for field in target["fields"]:
            other = by_name.get(field["name"].lower())
            if other is None:
                part = sf.lit(None).cast(spark_type(field["type"]))
            else:
                part = _arranged(value.getField(other["name"]), other["type"], field["type"])
            fields.append(part.alias(field["name"]))
        return sf.when(value.isNotNull(), sf.struct(*fields))
    if kind == "array":
        own, inner = source["elementType"], target["elementType"]
        return sf.transform(value, lambda element: _arranged(element, own, inner))
    keys, values = (
        (source["keyType"], target["keyType"]),
        (source["valueType"], target["valueType"]),
    )
    if _names(keys[0]) != _names(keys[1]):
        value = sf.transform_keys(value, lambda key, _: _arranged(key, *keys))
    if _names(values[0]) != _names(values[1]):
        value = sf.transform_values(value, lambda _, entry: _arranged(entry, *values))
    return value


def _names(type_: Any) -> Any:
    """Return the names of fields at any depth; None for a type without fields."""
    if isinstance(type_, str):
        return None
    if type_["type"] == "struct":
        return [(field["name"], _names(field["type"])) for field in type_["fields"]]
    return [_names(type_[key]) for key in PARTS.get(type_["type"], ())]
