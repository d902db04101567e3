"""The spelling of column names in a session that distinguishes upper and lower case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from deltareplay._protocol.schema import Field, Struct, Type, inner_fields
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.session import settings
from deltareplay.spark.syntax import names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._table.table import Table


def check_spelling(
    spark: SparkSession, table: Table, paths: Iterable[Sequence[str]], code: str
) -> None:
    """Check that names are spelled as in the schema, if the session has ``caseSensitive``.

    Names of columns that do not exist in any spelling are left to the caller.

    Args:
        spark: The session.
        table: The table.
        paths: The columns: the names of the enclosing structs, and of the column.
        code: The code of the error.

    Raises:
        InvalidArgumentError: A name has another spelling.
    """
    paths = list(paths)
    if not paths or settings.name_key(spark) is str.lower:
        return
    schema = Struct.parse(table.snapshot().schema_json)
    for path in paths:
        exact = [field.name for field in fields_on_path(schema, path)]
        if exact and exact != list(path):
            raise InvalidArgumentError(
                f"there is no column {names.dotted(path)}, but {names.dotted(exact)}: write it "
                "like this, or set spark.sql.caseSensitive to false",
                code=code,
            )


def fields_on_path(schema: Struct, path: Sequence[str]) -> list[Field]:
    """Return the fields on a path, in any spelling; none if there is no such column.

    >>> schema = Struct.parse('{"fields": [{"name": "Id", "type": "long"}]}')
    >>> [field.name for field in fields_on_path(schema, ["ID"])]
    ['Id']
    """
    type_: Type = schema
    fields: list[Field] = []
    for step in path:
        parts = inner_fields(type_)
        field = next((field for field in parts if field.key == step.lower()), None)
        if field is None:
            return []
        fields.append(field)
        type_ = field.type
    return fields
