"""Values of INSERT matched by position, also in struct fields, as in delta-spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.schema.alignment import is_struct
from deltareplay.spark.schema.fields import PARTS, Json, field, nullable, spark_type
from deltareplay.spark.writing.conversion import converted
from deltareplay.spark.writing.target_table import is_collated

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

#: Returns whether a column of a primitive type is widened to another.
Widens = Callable[[str, str], bool]


def is_compatible(table: Sequence[Json], rows: Sequence[Json], widens: Widens) -> bool:
    """Return whether rows have the table's names and types, at any depth and in any order.

    Such rows are matched by name. They may have additional columns and fields.

    Args:
        table: The columns of the table, all of which the rows must have.
        rows: The columns of the rows.
        widens: Returns whether the table's type is widened to that of the rows.
    """
    own = {column["name"].lower(): column for column in table}
    if not set(own) <= {column["name"].lower() for column in rows}:
        return False
    for column in rows:
        known = own.get(column["name"].lower())
        if known is None:
            continue
        if column["name"] != known["name"] or is_collated(column):
            return False
        if not _is_compatible_type(known["type"], column["type"], widens):
            return False
    return True


def _is_compatible_type(table: Any, rows: Any, widens: Widens) -> bool:
    if table == "void":
        return True
    if isinstance(table, str) or isinstance(rows, str):
        return bool(table == rows) or _widens(table, rows, widens)
    if table["type"] != rows["type"]:
        return False
    if table["type"] == "struct":
        return is_compatible(table["fields"], rows["fields"], widens)
    parts = PARTS[table["type"]]
    return all(_is_compatible_type(table[part], rows[part], widens) for part in parts)


def _widens(table: Any, rows: Any, widens: Widens) -> bool:
    return isinstance(table, str) and isinstance(rows, str) and widens(table, rows)


def placed(
    spark: SparkSession,
    value: Column,
    source: Json,
    own: Json,
    widens: Widens,
    *,
    only_structs: bool = False,
) -> Column:
    """Convert a value to the names of a column's fields, and to its types unless they are widened.

    Additional fields keep their names.

    Args:
        spark: The session.
        value: The value.
        source: The field of the value.
        own: The column of the table.
        widens: Returns whether the column's type is widened to that of the value.
        only_structs: Whether to leave arrays and maps unchanged, with the names in them.

    Raises:
        InvalidArgumentError: ``write.columns``: the value lacks fields, or is not a struct.
    """
    if is_collated(source):  # strings of a table compare by bytes
        source = field(source["name"], nullable(source["type"]))
        value = value.cast(spark_type(source["type"]))
    placing = _Placing(spark, widens, only_structs)
    return placing.placed(value, source["type"], own["type"], own["name"])


@dataclass(frozen=True)
class _Placing:
    """The arguments of ``placed`` that apply at any depth."""

    spark: SparkSession
    widens: Widens
    only_structs: bool

    def placed(self, value: Column, source: Any, own: Any, name: str) -> Column:
        from pyspark.sql import functions as sf

        if own == "void" or nullable(source) == nullable(own) or _widens(own, source, self.widens):
            return value
        if isinstance(own, str) or isinstance(source, str) or own["type"] != source["type"]:
            return self._converted(value, source, own, name)
        kind = own["type"]
        if kind == "struct":
            return self._struct(value, source, own, name)
        if self.only_structs:
            return value
        if kind == "array":
            source_element, other = source["elementType"], own["elementType"]
            # as delta-spark: other arrays are only cast
            if is_struct(source_element) and is_struct(other) and source["containsNull"]:
                return sf.transform(
                    value, lambda part: self._struct(part, source_element, other, name)
                )
            return self._converted(value, source, own, name)
        if _shape(source) == _shape(own):
            return self._converted(value, source, own, name)
        if nullable(source["keyType"]) != nullable(own["keyType"]):
            keys = (source["keyType"], own["keyType"], f"{name}.key")
            value = sf.transform_keys(value, lambda key, _: self.placed(key, *keys))
        if nullable(source["valueType"]) != nullable(own["valueType"]):
            values = (source["valueType"], own["valueType"], f"{name}.value")
            value = sf.transform_values(value, lambda _, part: self.placed(part, *values))
        return value

    def _struct(self, value: Column, source: Any, own: Any, name: str) -> Column:
        from pyspark.sql import functions as sf

        fields, known = source["fields"], own["fields"]
        if len(fields) < len(known):
            raise InvalidArgumentError(
                f"the value of {name} has {len(fields)} fields, and the table {len(known)}: pass "
                "all fields, or use BY NAME with schema evolution",
                code="write.columns",
            )
        parts = []
        for at, source_field in enumerate(fields):
            part = value.getField(source_field["name"])
            if at >= len(known):
                parts.append(part.alias(source_field["name"]))
                continue
            other = known[at]
            kept = all(map(is_struct, (source_field["type"], other["type"])))
            kept = kept or (
                isinstance(source_field["type"], str) and isinstance(other["type"], str)
            )
            convert = self.placed if kept or other["type"] == "void" else self._converted
            inner = f"{name}.{other['name']}"
            parts.append(
                convert(part, source_field["type"], other["type"], inner).alias(other["name"])
            )
        return sf.when(value.isNotNull(), sf.struct(*parts))

    def _converted(self, value: Column, source: Any, own: Any, name: str) -> Column:
        if self.only_structs and isinstance(own, dict) and own["type"] != "struct":
            return value
        return converted(self.spark, value, source, own, name, code="write.columns")


def _shape(type_: Any) -> Any:
    """Return a type without names and nullability."""
    if isinstance(type_, str):
        return type_
    if type_["type"] == "struct":
        return [_shape(field["type"]) for field in type_["fields"]]
    return [type_["type"], *(_shape(type_[part]) for part in PARTS[type_["type"]])]
