"""Assignments of UPDATE and MERGE to columns and struct fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltareplay._names import parts_of
from deltareplay._protocol.schema import Field, Struct, Type
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.dml.statement import as_column, condition_text, is_expression
from deltareplay.spark.scan import connect_sql
from deltareplay.spark.schema.alignment import WRITING, untyped
from deltareplay.spark.schema.fields import fields_of, spark_type
from deltareplay.spark.session import settings
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.qualifiers import Aliases, with_aliases
from deltareplay.spark.syntax.tokens import tokens
from deltareplay.spark.writing import identity_columns
from deltareplay.spark.writing.table_rows import assigned, default

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from deltareplay.spark.dml.statement import Expression

#: The keyword for the default of a column; as in Spark, it may be in backticks.
_DEFAULT = re.compile(r"[\s(]*(`?)DEFAULT\1[\s)]*", re.IGNORECASE)


@dataclass(frozen=True)
class Assignments:
    """The assignments of a clause.

    Attributes:
        values: The values, by the path of the column or field, as the table spells it.
    """

    values: dict[tuple[str, ...], Column]

    @classmethod
    def of(
        cls,
        spark: SparkSession,
        set: Mapping[str, Any],  # noqa: A002
        fields: Sequence[Field],
        visible: Collection[str],
        *,
        inserts: bool = False,
    ) -> Assignments:
        """Resolve the columns of assignments, and the keyword ``DEFAULT``.

        Args:
            spark: The session.
            set: Columns and their values. ``DEFAULT`` alone is the default of the column.
            fields: The columns of the table.
            visible: The columns that values may refer to. A column ``default`` hides the keyword.
            inserts: Whether the values are those of new rows.

        Raises:
            InvalidArgumentError: ``statement.column``: the table has no such column, or it is set
                twice. ``write.identity``: it is an identity column, which may not be set.
        """
        values: dict[tuple[str, ...], Column] = {}
        key = settings.name_key(spark)
        is_keyword_hidden = any(name.lower() == "default" for name in visible)
        for name, value in set.items():
            path = _field_path(parts_of(name) or (name,), fields, name, key)
            for other in values:
                if other[: len(path)] == path or path[: len(other)] == other:
                    raise _set_twice(name)
            column = next(field for field in fields if field.name == path[0])
            identity_columns.check_set(column, inserts=inserts)
            if len(path) == 1 and not is_keyword_hidden and is_default(value):
                values[path] = default_of(spark, column)
            else:
                values[path] = as_column(value)
        return cls(values)

    def sets(self, name: str) -> bool:
        """Return whether a column, or a field in it, is set."""
        return any(path[0] == name for path in self.values)

    def typed(
        self,
        rows: DataFrame,
        fields: Sequence[Field],
        *,
        partial: bool = False,
        evolve: str | None = None,
    ) -> Assignments:
        """Return the assignments with their values converted to the columns' types.

        Args:
            rows: The rows from which the values are computed.
            fields: The columns that are not void, without void fields: nulls for those are left
                out.
            partial: Whether struct values may lack fields.
            evolve: The option or clause that lets the statement evolve the schema, if any.

        Raises:
            InvalidArgumentError: ``statement.column``: a void column is set to values.
        """
        from pyspark.sql import functions as sf

        paths = list(self.values)
        # in filters, Spark rejects window functions and functions that return several rows
        filter = sf.struct(*self.values.values()).isNotNull() if paths else sf.lit(True)
        values = rows.where(filter).select(
            *[self.values[path].alias(f"_{index}") for index, path in enumerate(paths)]
        )
        sources = fields_of(values.schema)
        typed = {}
        for path, source in zip(paths, sources, strict=True):
            target = _field(path, fields)
            if target is not None:
                typed[path] = assigned(
                    rows.sparkSession,
                    self.values[path],
                    source,
                    target,
                    partial=partial,
                    evolve=evolve,
                )
            elif source.type != "void":
                name, type_ = ".".join(path), spark_type(source.type).simpleString()
                raise untyped(name, type_, evolve or WRITING, "statement.column")
        return Assignments(typed)

    def value(self, field: Field, old: Column) -> Column:
        """Return the new value of a column: its assigned parts, and the old value of the rest."""
        return self._value((field.name,), field.type, old)

    def _value(self, path: tuple[str, ...], type_: Type, old: Column) -> Column:
        from pyspark.sql import functions as sf

        if path in self.values:
            return self.values[path]
        if not any(other[: len(path)] == path for other in self.values):
            return old
        assert isinstance(type_, Struct)  # a longer path was set
        return sf.struct(
            *[
                self._value((*path, part.name), part.type, old.getField(part.name)).alias(part.name)
                for part in type_.fields
            ]
        )


def is_default(value: Any) -> bool:
    """Return whether a value is the keyword ``DEFAULT``, as SQL text or as a column.

    >>> is_default("(default)"), is_default("`DEFAULT`"), is_default("DEFAULT()")
    (True, True, False)
    """
    if not isinstance(value, str):
        if connect_sql.is_literal(value):
            return False
        value = condition_text(value)
    return _DEFAULT.fullmatch(value) is not None and value.count("(") == value.count(")")


def default_of(spark: SparkSession, field: Field) -> Column:
    """Return the value of the keyword ``DEFAULT`` for a column.

    Raises:
        InvalidArgumentError: ``statement.column``: the column is NOT NULL and has no default.
            ``write.identity``: it is an identity column.
    """
    if field.is_identity:
        raise InvalidArgumentError(
            f"{field.name} is an identity column, which has no default: leave it out",
            code="write.identity",
        )
    if not field.nullable and field.default is None:
        raise InvalidArgumentError(
            f"{field.name} is NOT NULL and has no default: give it a value",
            code="statement.column",
        )
    return default(spark, field)


def _field_path(
    steps: Sequence[str], fields: Sequence[Field], name: str, key: Callable[[str], str]
) -> tuple[str, ...]:
    matches = [field for field in fields if key(field.name) == key(name)]
    if matches:  # a column may have dots in its name
        return (matches[0].name,)
    path: tuple[str, ...] = ()
    for step in steps:
        field = next((field for field in fields if key(field.name) == key(step)), None)
        if field is None:
            available = ", ".join(names.quoted(field.name) for field in fields)
            raise InvalidArgumentError(
                f"the table has no column {name}: it has {available or 'no fields there'}",
                code="statement.column",
            )
        path = (*path, field.name)
        fields = _fields(field)
    return path


def _field(path: tuple[str, ...], fields: Sequence[Field]) -> Field | None:
    """Return the column or field at a path; None if no data file has it, because it is void."""
    field = None
    for part in path:
        field = next((field for field in fields if field.name == part), None)
        if field is None:
            return None
        fields = _fields(field)
    assert field is not None  # a path has at least a column
    return Field(".".join(path), field.type, metadata=field.metadata)


def _fields(field: Field) -> Sequence[Field]:
    return field.type.fields if isinstance(field.type, Struct) else ()


def checked_assignments(value: Any, argument: str) -> dict[str, Expression]:
    """Check the types of assignments, and return them.

    Raises:
        InvalidArgumentError: ``argument.type``: the assignments are None; also a ``ValueError``.
        TypeError: They are not a dict of strings to SQL text or columns.
    """
    if value is None:
        raise InvalidArgumentError(f"{argument} cannot be None", code="argument.type")
    if not isinstance(value, Mapping):
        raise TypeError(f"{argument} must be a dict, not {type(value).__name__}")
    for key, item in value.items():
        if not isinstance(key, str):
            raise TypeError(
                f"Keys of dict in {argument} must contain only strings with column names, not "
                f"{key!r} of type {type(key).__name__}"
            )
        if not is_expression(item):
            raise TypeError(
                f"Values of dict in {argument} must contain only Spark SQL Columns or strings "
                f"(expressions in SQL), not {item!r} of type {type(item).__name__}"
            )
    return dict(value)


def renamed_tables(values: Mapping[str, Expression], aliases: Aliases) -> dict[str, Expression]:
    """Replace names of tables by their aliases in assignments, as ``with_aliases`` does.

    Raises:
        InvalidArgumentError: ``statement.column``: a column is set twice.
    """
    return _renamed(
        {name: with_aliases(value, aliases) for name, value in values.items()},
        lambda name: with_aliases(name, aliases),
    )


def without_alias(
    values: Mapping[str, Expression], alias: str, columns: Iterable[str], key: Callable[[str], str]
) -> dict[str, Expression]:
    """Remove the alias of the table from the columns of assignments.

    A name that begins with the alias may also be a field of a column of that name. As in Spark, it
    is one only if the table has no column of the name that follows.

    Raises:
        InvalidArgumentError: ``statement.column``: a column is set twice, with and without it.

    >>> values = {"t.a": "1", "`T`.`b c`": "2", "s.c": "3"}
    >>> without_alias(values, "t", ["a", "b c"], str.lower)
    {'a': '1', '`b c`': '2', 's.c': '3'}
    >>> without_alias(values, "t", ["T", "b c"], str.lower)
    {'t.a': '1', '`b c`': '2', 's.c': '3'}
    """
    keys = {key(column) for column in columns}

    def unqualified(name: str) -> str:
        if "." not in name or len(parsed := tokens(name)) < 4:  # a name, perhaps in backticks
            return name
        first, dot, after, *_ = parsed
        is_alias = first.is_name and key(first.name) == key(alias)
        is_field = key(alias) in keys and key(after.name) not in keys
        return name[after.start :] if is_alias and dot.text == "." and not is_field else name

    return _renamed(values, unqualified)


def _renamed(
    values: Mapping[str, Expression], rename: Callable[[str], str]
) -> dict[str, Expression]:
    renamed: dict[str, Expression] = {}
    for name, value in values.items():
        column = rename(name)
        if column in renamed:
            raise _set_twice(name)
        renamed[column] = value
    return renamed


def _set_twice(name: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{name} is set twice: leave one of the values out", code="statement.column"
    )
