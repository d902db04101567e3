"""Execution of ``ALTER TABLE`` on Delta tables, by the methods of ``Table``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from deltareplay._protocol.schema import Field, Struct, Type, inner_fields, nested, schema_json
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.definition import definition
from deltareplay.spark.schema.fields import nullable
from deltareplay.spark.statements import alter_forms
from deltareplay.spark.statements.alter_forms import unsupported
from deltareplay.spark.syntax import names

if TYPE_CHECKING:
    from deltareplay._table.table import Table
    from deltareplay.spark.syntax.parser import Name


#: The changed property of a column, and its new value.
Change = tuple[str, str | None]


def run(table: Table, form: alter_forms.Form) -> None:
    """Execute the statement in one commit, or none if nothing changes.

    Only ``DROP FEATURE`` and the property ``delta.enableRowTracking`` may commit more.

    Raises:
        InvalidArgumentError: As by the method of ``Table``; or ``alter.column``.
        UnsupportedFeatureError: As by the method; or ``sql.alter``: a type that needs an UPDATE.
    """
    _RUNS[type(form)](table, form)


def _set_properties(table: Table, statement: alter_forms.SetProperties) -> None:
    table.set_properties(statement.properties)


def _unset_properties(table: Table, statement: alter_forms.UnsetProperties) -> None:
    table.unset_properties(statement.keys, if_exists=True)


def _add_columns(table: Table, statement: alter_forms.AddColumns) -> None:
    schema = _schema(table)
    added = []
    for new_column in statement.columns:
        column = definition.column(
            new_column.path[-1],
            new_column.data_type,
            nullable=new_column.nullable,
            computed=None,
            identity=None,
            comment=new_column.comment,
        )
        if not all(part.nullable for part in nested([column])):
            raise InvalidArgumentError(
                f"the column {names.quoted(column.name)} is NOT NULL, and existing rows have no "
                "value for it: leave NOT NULL out",
                code="alter.column",
            )
        position = None if new_column.position is None else _move(new_column.position)
        added.append((_path(schema, new_column.path[:-1]), schema_json([column]), position))
    table.native.add_columns(added)


def _rename_column(table: Table, statement: alter_forms.RenameColumn) -> None:
    table.rename_column(_path(_schema(table), statement.path), statement.new_name)


def _drop_columns(table: Table, statement: alter_forms.DropColumns) -> None:
    schema, paths = _schema(table), statement.paths
    if statement.if_exists:
        paths = tuple(path for path in paths if _field(schema, path) is not None)
    if paths:
        table.native.drop_columns([_path(schema, path) for path in paths])


def _change_columns(table: Table, statement: alter_forms.ChangeColumns) -> None:
    schema = _schema(table)
    changes = [
        (_path(schema, column.path), _changes(schema, column)) for column in statement.columns
    ]
    if any(new for _, new in changes):
        table.native.change_columns(changes)


def _changes(schema: Struct, column: alter_forms.ChangeColumn) -> list[Change]:
    """Return the changes of a column, as the core names them."""
    new: list[Change] = []
    if column.data_type is not None:
        new += _type(schema, column.path, column.data_type)
    if column.comment is not None:
        new.append(("comment", column.comment))
    if column.default is not None or column.drops == "DEFAULT":
        new.append(("default", column.default))
    if column.drops == "NOT NULL":
        new.append(("drop not null", None))
    if column.position is not None:
        new.append(_move(column.position))
    return new


def _type(schema: Struct, path: Name, data_type: str) -> list[Change]:
    """Return the change to another type; nothing if the type is the same."""
    declared = definition.column(
        path[-1], data_type, nullable=True, computed=None, identity=None, comment=None
    )
    field = _field(schema, path)
    # a part is NOT NULL, or has a comment or the length of its strings
    says_more = any(part.metadata or not part.nullable for part in nested([declared]))
    if says_more or (field is not None and field.limit):
        raise unsupported(
            f"ALTER COLUMN ... TYPE {data_type}", "add a column of that type, then UPDATE"
        )
    is_same = field is not None and nullable(field.type) == nullable(declared.type)
    return [] if is_same else [("type", schema_json([declared]))]


def _move(to: alter_forms.Position) -> Change:
    return ("first" if to.after is None else "after", to.after)


def _add_constraint(table: Table, statement: alter_forms.AddConstraint) -> None:
    table.add_constraint(statement.name, statement.expression)


def _drop_constraint(table: Table, statement: alter_forms.DropConstraint) -> None:
    table.drop_constraint(statement.name, if_exists=statement.if_exists)


def _cluster_by(table: Table, statement: alter_forms.ClusterBy) -> None:
    table.cluster_by(statement.columns)


def _drop_feature(table: Table, statement: alter_forms.DropFeature) -> None:
    table.drop_feature(statement.name, truncate_history=statement.truncate_history)


def _schema(table: Table) -> Struct:
    return Struct.parse(table.snapshot().schema_json)


def _path(schema: Struct, path: Name) -> Name:
    """Check that a single name with dots is a column, since ``Table`` would take it for a path.

    The method of ``Table`` checks that other columns exist.
    """
    if len(path) == 1 and "." in path[0] and _field(schema, path) is None:
        raise InvalidArgumentError(
            f"there is no column {names.quoted(path[0])}: to name a part of a column, write each "
            "name in backticks of its own",
            code="alter.column",
        )
    return path


def _field(schema: Struct, path: Name) -> Field | None:
    """Return the column or nested field of a path; None if there is none."""
    field: Field | None = None
    type_: Type = schema
    for step in path:
        field = next((field for field in inner_fields(type_) if field.key == step.lower()), None)
        if field is None:
            return None
        type_ = field.type
    return field


_RUNS: dict[type, Callable[[Table, Any], None]] = {
    alter_forms.SetProperties: _set_properties,
    alter_forms.UnsetProperties: _unset_properties,
    alter_forms.AddColumns: _add_columns,
    alter_forms.RenameColumn: _rename_column,
    alter_forms.DropColumns: _drop_columns,
    alter_forms.ChangeColumns: _change_columns,
    alter_forms.AddConstraint: _add_constraint,
    alter_forms.DropConstraint: _drop_constraint,
    alter_forms.ClusterBy: _cluster_by,
    alter_forms.DropFeature: _drop_feature,
}
