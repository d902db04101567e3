"""Parsing of ``ALTER TABLE`` for Delta tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from deltareplay.exceptions import UnsupportedFeatureError
from deltareplay.spark.syntax.parser import Name, Reader

_WITH_JAR = "spark.sql does it in a session that has delta-spark's jar"


@dataclass(frozen=True)
class SetProperties:
    """The clause ``SET TBLPROPERTIES``."""

    properties: dict[str, str]


@dataclass(frozen=True)
class UnsetProperties:
    """The clause ``UNSET TBLPROPERTIES``.

    ``IF EXISTS`` makes no difference, as in delta-spark.
    """

    keys: tuple[str, ...]


@dataclass(frozen=True)
class Position:
    """The position ``FIRST``, or ``AFTER`` another column of the same struct."""

    after: str | None = None


@dataclass(frozen=True)
class NewColumn:
    """A column to add.

    Attributes:
        path: The names of the enclosing structs and of the column.
        data_type: The SQL name of the type.
        nullable: Whether it may be null.
        comment: The comment.
        position: The position; None appends the column.
    """

    path: Name
    data_type: str
    nullable: bool = True
    comment: str | None = None
    position: Position | None = None


@dataclass(frozen=True)
class AddColumns:
    """The clause ``ADD COLUMNS``."""

    columns: tuple[NewColumn, ...]


@dataclass(frozen=True)
class RenameColumn:
    """The clause ``RENAME COLUMN``."""

    path: Name
    new_name: str


@dataclass(frozen=True)
class DropColumns:
    """The clause ``DROP COLUMNS``."""

    paths: tuple[Name, ...]
    if_exists: bool = False


@dataclass(frozen=True)
class ChangeColumn:
    """A changed column of ``ALTER COLUMN``.

    Attributes:
        path: The names of the enclosing structs and of the column.
        data_type: The SQL name of the new type.
        comment: The new comment.
        default: The SQL expression of the new default.
        drops: The constraint or default to drop.
        position: The new position.
    """

    path: Name
    data_type: str | None = None
    comment: str | None = None
    default: str | None = None
    drops: Literal["DEFAULT", "NOT NULL"] | None = None
    position: Position | None = None


@dataclass(frozen=True)
class ChangeColumns:
    """The clause ``ALTER COLUMN`` or ``CHANGE COLUMN``, with each column once."""

    columns: tuple[ChangeColumn, ...]


@dataclass(frozen=True)
class AddConstraint:
    """The clause ``ADD CONSTRAINT ... CHECK``."""

    name: str
    expression: str


@dataclass(frozen=True)
class DropConstraint:
    """The clause ``DROP CONSTRAINT``."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True)
class ClusterBy:
    """The clause ``CLUSTER BY``; no columns for ``NONE``."""

    columns: tuple[str, ...]


@dataclass(frozen=True)
class DropFeature:
    """The clause ``DROP FEATURE``."""

    name: str
    truncate_history: bool = False


@dataclass(frozen=True)
class ChangeEntry:
    """A change of the name or location in the catalog."""

    what: Literal["RENAME TO", "SET LOCATION"]


Form = (
    SetProperties
    | UnsetProperties
    | AddColumns
    | RenameColumn
    | DropColumns
    | ChangeColumns
    | AddConstraint
    | DropConstraint
    | ClusterBy
    | DropFeature
    | ChangeEntry
)


def parse(text: str) -> Form:
    """Parse a statement ``ALTER TABLE``.

    Raises:
        InvalidArgumentError: ``sql.syntax``.
        UnsupportedFeatureError: ``sql.alter``: the form is not supported.

    >>> parse("ALTER TABLE t DROP COLUMN IF EXISTS a.b")
    DropColumns(paths=(('a', 'b'),), if_exists=True)
    """
    reader = Reader(text)
    reader.needs("ALTER", "TABLE")
    reader.name()
    for words, reads in _FORMS:
        if reader.takes(*words):
            form = reads(reader)
            reader.ends()
            return form
    ahead = reader.tokens[reader.at : reader.at + 2]
    words = tuple(token.text.upper() for token in ahead if token.kind == "word")
    if not words:
        raise reader.wrong("a clause of ALTER TABLE")
    raise unsupported(" ".join(words), "the docstring of deltareplay.spark.sql lists the forms")


def unsupported(what: str, instead: str) -> UnsupportedFeatureError:
    """Return the error for a form that is not supported.

    Args:
        what: The clause after the name of the table.
        instead: What to do instead.
    """
    return UnsupportedFeatureError(
        f"ALTER TABLE ... {what} is not supported for Delta tables: {instead}", code="sql.alter"
    )


def _set_properties(reader: Reader) -> SetProperties:
    return SetProperties(reader.own_properties())


def _unset_properties(reader: Reader) -> UnsetProperties:
    reader.takes("IF", "EXISTS")
    reader.needs("(")
    keys = [reader.key()]
    while reader.takes(","):
        keys.append(reader.key())
    reader.needs(")")
    return UnsetProperties(tuple(keys))


def _add_columns(reader: Reader) -> AddColumns:
    closes = reader.takes("(")
    columns = [_new_column(reader)]
    while reader.takes(","):
        columns.append(_new_column(reader))
    if closes:
        reader.needs(")")
    return AddColumns(tuple(columns))


def _new_column(reader: Reader) -> NewColumn:
    path = reader.name()
    data_type = reader.data_type()
    nullable, comment, position = True, None, None
    while True:
        if reader.takes("NOT", "NULL"):
            nullable = False
        elif reader.takes("COMMENT"):
            comment = reader.string()
        elif reader.takes("DEFAULT"):
            instead = "add the column without it, then ALTER COLUMN ... SET DEFAULT"
            raise unsupported("ADD COLUMN ... DEFAULT", instead)
        elif position is None and (position := _position(reader)) is not None:
            continue
        else:
            return NewColumn(path, data_type, nullable, comment, position)


def _position(reader: Reader) -> Position | None:
    if reader.takes("FIRST"):
        return Position()
    return Position(reader.identifier()) if reader.takes("AFTER") else None


def _rename_column(reader: Reader) -> RenameColumn:
    path = reader.name()
    reader.needs("TO")
    return RenameColumn(path, reader.identifier())


def _drop_columns(reader: Reader) -> DropColumns:
    if_exists = reader.takes("IF", "EXISTS")
    closes = reader.takes("(")
    paths = [reader.name()]
    while reader.takes(","):
        paths.append(reader.name())
    if closes:
        reader.needs(")")
    return DropColumns(tuple(paths), if_exists)


def _alter_column(reader: Reader) -> ChangeColumns:
    columns = []
    while True:
        change = _column_change(reader)
        if change is None:
            raise reader.wrong("TYPE, COMMENT, SET, DROP, FIRST or AFTER")
        columns.append(change)
        if not reader.takes(","):
            return ChangeColumns(tuple(columns))


def _change_column(reader: Reader) -> ChangeColumns:
    """Parse ``CHANGE COLUMN``, also in Hive's form: the name again, then the type."""
    start = reader.at
    is_hive = _column_change(reader) is None
    reader.at = start
    if not is_hive:
        return _alter_column(reader)
    path = reader.name()
    at, name = reader.at, reader.identifier()
    if name.lower() != path[-1].lower():
        reader.at = at
        raise reader.invalid(f"CHANGE COLUMN does not rename {path[-1]}: use RENAME COLUMN")
    data_type = reader.data_type()
    comment = reader.string() if reader.takes("COMMENT") else None
    return ChangeColumns((ChangeColumn(path, data_type, comment, position=_position(reader)),))


def _column_change(reader: Reader) -> ChangeColumn | None:
    path = reader.name()
    if reader.takes("TYPE"):
        return ChangeColumn(path, data_type=reader.data_type())
    if reader.takes("COMMENT"):
        return ChangeColumn(path, comment=reader.string())
    if reader.takes("SET", "DEFAULT"):
        return ChangeColumn(path, default=reader.logged((",",)))
    if reader.takes("DROP", "DEFAULT"):
        return ChangeColumn(path, drops="DEFAULT")
    if reader.takes("DROP", "NOT", "NULL"):
        return ChangeColumn(path, drops="NOT NULL")
    if reader.takes("SET", "NOT", "NULL"):
        instead = f"use ADD CONSTRAINT ... CHECK ({'.'.join(path)} IS NOT NULL)"
        raise unsupported("ALTER COLUMN ... SET NOT NULL", instead)
    if reader.sees("SYNC"):
        raise unsupported("ALTER COLUMN ... SYNC IDENTITY", _WITH_JAR)
    position = _position(reader)
    return None if position is None else ChangeColumn(path, position=position)


def _add_constraint(reader: Reader) -> AddConstraint:
    name = reader.identifier()
    if not reader.takes("CHECK"):
        raise unsupported(
            "ADD CONSTRAINT without CHECK", "Delta tables have CHECK constraints only"
        )
    reader.needs("(")
    expression = reader.logged()
    reader.needs(")")
    return AddConstraint(name, expression)


def _drop_constraint(reader: Reader) -> DropConstraint:
    if_exists = reader.takes("IF", "EXISTS")
    return DropConstraint(reader.identifier(), if_exists)


def _cluster_by(reader: Reader) -> ClusterBy:
    if reader.takes("NONE"):
        return ClusterBy(())
    return ClusterBy(reader.names_in_parentheses())


def _drop_feature(reader: Reader) -> DropFeature:
    name = reader.string() if reader.token.kind == "string" else reader.identifier()
    return DropFeature(name, reader.takes("TRUNCATE", "HISTORY"))


def _rename_table(reader: Reader) -> ChangeEntry:
    reader.name()
    return ChangeEntry("RENAME TO")


def _set_location(reader: Reader) -> ChangeEntry:
    reader.string()
    return ChangeEntry("SET LOCATION")


#: The words after the name of the table, and the parser of the rest.
_FORMS: tuple[tuple[tuple[str, ...], Callable[[Reader], Form]], ...] = (
    (("SET", "TBLPROPERTIES"), _set_properties),
    (("UNSET", "TBLPROPERTIES"), _unset_properties),
    (("ADD", "COLUMN"), _add_columns),
    (("ADD", "COLUMNS"), _add_columns),
    (("RENAME", "COLUMN"), _rename_column),
    (("DROP", "COLUMN"), _drop_columns),
    (("DROP", "COLUMNS"), _drop_columns),
    (("ALTER", "COLUMN"), _alter_column),
    (("ALTER",), _alter_column),
    (("CHANGE", "COLUMN"), _change_column),
    (("CHANGE",), _change_column),
    (("ADD", "CONSTRAINT"), _add_constraint),
    (("DROP", "CONSTRAINT"), _drop_constraint),
    (("CLUSTER", "BY"), _cluster_by),
    (("DROP", "FEATURE"), _drop_feature),
    (("RENAME", "TO"), _rename_table),
    (("SET", "LOCATION"), _set_location),
)
