"""``ALTER TABLE``: what changes a Delta table, by the methods of ``Table``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark import alter_forms, definitions, names
from deltareplay.spark.alter_forms import several, unsupported
from deltareplay.spark.schema import names as without_metadata
from deltareplay.spark.schema import struct

if TYPE_CHECKING:
    from deltareplay._table import Table
    from deltareplay.spark.reader import Name
    from deltareplay.spark.schema import Json


#: What the JSON of a column has if it, or a part of it, may not be null or has metadata: a comment,
#: or the length of its strings.
_NOT_NULL = '"nullable": false'
_METADATA = '"metadata": {"'

#: What paths call the parts of arrays and maps, and what the log calls them.
_PARTS = {
    ("array", "element"): "elementType",
    ("map", "key"): "keyType",
    ("map", "value"): "valueType",
}


def run(table: Table, form: alter_forms.Form) -> None:
    """Commits one version, or none where there is nothing to do.

    Only ``DROP FEATURE`` and the property ``delta.enableRowTracking`` may commit more.

    Raises:
        InvalidArgumentError: As by the method of ``Table``; or ``alter.column``.
        UnsupportedFeatureError: As by the method; or ``sql.alter``: it would take several commits.
    """
    _RUNS[type(form)](table, form)


def _set_properties(table: Table, asked: alter_forms.SetProperties) -> None:
    comment = asked.properties.get("comment")  # of the table, as in delta-spark
    if comment is None:
        table.set_properties(asked.properties)
    else:
        table.set_comment(comment)


def _unset_properties(table: Table, asked: alter_forms.UnsetProperties) -> None:
    if "comment" in asked.keys:
        table.set_comment(None)
    else:
        table.unset_properties(asked.keys, if_exists=True)


def _add_columns(table: Table, asked: alter_forms.AddColumns) -> None:
    columns = [
        definitions.column(
            one.path[-1],
            one.data_type,
            nullable=one.nullable,
            computed=None,
            identity=None,
            comment=one.comment,
        )
        for one in asked.columns
    ]
    for one in columns:
        if _NOT_NULL in json.dumps(one):
            raise InvalidArgumentError(
                f"the column {names.quoted(one['name'])} has NOT NULL, and the rows that are there "
                "have no value for it: leave NOT NULL out",
                code="alter.column",
            )
    parent = _path(table, asked.columns[0].path[:-1])
    table._native.add_columns(list(parent), struct(columns))


def _rename_column(table: Table, asked: alter_forms.RenameColumn) -> None:
    table.rename_column(_path(table, asked.path), asked.new_name)


def _drop_columns(table: Table, asked: alter_forms.DropColumns) -> None:
    paths = asked.paths
    if asked.if_exists:
        paths = tuple(path for path in paths if _field(table, path) is not None)
    if len(paths) > 1:
        raise several("DROP COLUMNS with several columns")
    for path in paths:
        table.drop_column(_path(table, path))


def _change_column(table: Table, asked: alter_forms.ChangeColumn) -> None:
    path = _path(table, asked.path)
    if asked.data_type is None:
        table.set_comment(asked.comment, path)
        return
    wanted = definitions.column(
        path[-1], asked.data_type, nullable=True, computed=None, identity=None, comment=None
    )
    field = _field(table, path) or {}
    says_more = any(one in json.dumps(wanted) for one in (_NOT_NULL, _METADATA))
    if says_more or "__CHAR_VARCHAR_TYPE_STRING" in field.get("metadata", {}):
        raise unsupported(
            f"ALTER COLUMN ... TYPE {asked.data_type}", "add a column of that type, then UPDATE"
        )
    is_same = bool(field) and without_metadata(field["type"]) == without_metadata(wanted["type"])
    if not is_same and asked.comment is not None:
        raise several("CHANGE COLUMN with another type and a comment")
    if not is_same:
        table._native.widen_column(list(path), struct([wanted]))
    elif asked.comment is not None:
        table.set_comment(asked.comment, path)


def _add_constraint(table: Table, asked: alter_forms.AddConstraint) -> None:
    table.add_constraint(asked.name, asked.expression)


def _drop_constraint(table: Table, asked: alter_forms.DropConstraint) -> None:
    table.drop_constraint(asked.name, if_exists=asked.if_exists)


def _cluster_by(table: Table, asked: alter_forms.ClusterBy) -> None:
    table.cluster_by(asked.columns)


def _drop_feature(table: Table, asked: alter_forms.DropFeature) -> None:
    table.drop_feature(asked.name, truncate_history=asked.truncate_history)


def _path(table: Table, path: Name) -> Name:
    """The path; one name with dots must be that of a column, since methods take it for a path.

    Other columns that do not exist are the method's to refuse.
    """
    if len(path) == 1 and "." in path[0] and _field(table, path) is None:
        raise InvalidArgumentError(
            f"there is no column {names.quoted(path[0])}: to name a part of a column, write each "
            "name in backticks of its own",
            code="alter.column",
        )
    return path


def _field(table: Table, path: Name) -> Json | None:
    """The column that a path leads to, or the part of one; None if there is none."""
    found: Json = {"type": json.loads(table.snapshot().schema_json)}
    for step in path:
        type_, name = found["type"], step.lower()
        if not isinstance(type_, dict):
            return None
        part = _PARTS.get((type_["type"], name))
        parts = type_.get("fields", []) if part is None else [{"name": name, "type": type_[part]}]
        named = [one for one in parts if one["name"].lower() == name]
        if not named:
            return None
        found = named[0]
    return found


_RUNS: dict[type, Callable[[Table, Any], None]] = {
    alter_forms.SetProperties: _set_properties,
    alter_forms.UnsetProperties: _unset_properties,
    alter_forms.AddColumns: _add_columns,
    alter_forms.RenameColumn: _rename_column,
    alter_forms.DropColumns: _drop_columns,
    alter_forms.ChangeColumn: _change_column,
    alter_forms.AddConstraint: _add_constraint,
    alter_forms.DropConstraint: _drop_constraint,
    alter_forms.ClusterBy: _cluster_by,
    alter_forms.DropFeature: _drop_feature,
}
