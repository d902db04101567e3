"""``ALTER TABLE`` of Delta tables, by the methods of ``Table``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from deltareplay._names import column_path
from deltareplay._protocol.schema import Field, Struct, Type, nested, parts, schema_json
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.definition import definition
from deltareplay.spark.schema import column_metadata
from deltareplay.spark.schema.fields import nullable
from deltareplay.spark.schema.frames import empty_frame
from deltareplay.spark.schema.spelling import check_spelling, fields_on_path
from deltareplay.spark.schema.string_lengths import declared_type, is_wider
from deltareplay.spark.session import capabilities
from deltareplay.spark.statements.statement import SharedStatement, Statement
from deltareplay.spark.statements.sync_identity import SyncIdentity
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.parser import Name, Parser

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._table.table import Table
    from deltareplay.spark.catalog.lookup import CatalogEntry

#: The changed property of a column, and its new value.
Change = tuple[str, str | None]


@dataclass
class Alter(SharedStatement):
    """An ``ALTER TABLE`` statement.

    Attributes:
        text: The whole statement, for changes of the catalog by Spark.
        clause: What follows the name.
    """

    WORDS = (("ALTER", "TABLE"),)

    text: str = ""
    clause: Any = None

    @classmethod
    def read(cls, parser: Parser) -> Statement | None:
        name = parser.optional_name()
        return cls(name, parser.text) if name else None

    def read_clauses(self, parser: Parser) -> None:
        """Parse what follows the name.

        Raises:
            UnsupportedFeatureError: ``sql.alter``: the clause is not supported.
        """
        for words, parse in _CLAUSES:
            if parser.takes(*words):
                self.clause = parse(parser)
                return
        ahead = parser.tokens[parser.index : parser.index + 2]
        words = tuple(token.text.upper() for token in ahead if token.kind == "word")
        if not words:
            raise parser.expected("a clause of ALTER TABLE")
        raise unsupported(
            " ".join(words), "the docstring of deltareplay.spark.sql lists the clauses"
        )

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        """Change the table in one commit at most.

        Only ``DROP FEATURE`` and the property ``delta.enableRowTracking`` may make more commits.
        """
        if isinstance(self.clause, CatalogChange):
            self.clause.check(spark, entry)
            return spark.sql(self.text)
        capabilities.require_spark_4(spark, "ALTER TABLE")
        table = entry.table()
        check_spelling(spark, table, self.clause.columns, "alter.column")
        if isinstance(self.clause, SyncIdentity):
            self.clause.run(spark, table)
        else:
            self.clause.run(table)
        return empty_frame(spark)


def unsupported(clause: str, remedy: str) -> UnsupportedFeatureError:
    """Return the error for a clause of ``ALTER TABLE``, with what to do instead."""
    return UnsupportedFeatureError(
        f"ALTER TABLE ... {clause} is not supported for Delta tables: {remedy}", code="sql.alter"
    )


class Call:
    """A clause that calls a method of ``Table``.

    Attributes:
        arguments: The positional arguments.
        columns: The paths of the columns that the clause names.
        options: The keyword arguments.
    """

    def __init__(
        self, method: str, *arguments: Any, columns: Sequence[Name] = (), **options: Any
    ) -> None:
        self.method, self.arguments, self.options = method, arguments, options
        self.columns = columns

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Call) and vars(self) == vars(other)

    def run(self, table: Table) -> None:
        getattr(table, self.method)(*self.arguments, **self.options)


def _set_properties(parser: Parser) -> Call:
    return Call("set_properties", parser.table_properties())


def _unset_properties(parser: Parser) -> Call:
    parser.takes("IF", "EXISTS")  # which makes no difference, as in delta-spark
    return Call("unset_properties", parser.in_parentheses(parser.key), if_exists=True)


def _add_constraint(parser: Parser) -> Call:
    name = parser.identifier()
    if not parser.takes("CHECK"):
        raise unsupported(
            "ADD CONSTRAINT without CHECK", "Delta tables have CHECK constraints only"
        )
    parser.needs("(")
    expression = parser.expression_for_log()
    parser.needs(")")
    return Call("add_constraint", name, expression)


def _drop_constraint(parser: Parser) -> Call:
    if_exists = parser.takes("IF", "EXISTS")
    return Call("drop_constraint", parser.identifier(), if_exists=if_exists)


def _cluster_by(parser: Parser) -> Call:
    columns = () if parser.takes("NONE") else tuple(parser.in_parentheses(parser.name))
    return Call("cluster_by", tuple(map(column_path, columns)), columns=columns)


def _drop_feature(parser: Parser) -> Call:
    name = parser.string() if parser.token.kind == "string" else parser.identifier()
    return Call("drop_feature", name, truncate_history=parser.takes("TRUNCATE", "HISTORY"))


@dataclass(frozen=True)
class Position:
    """The position ``FIRST``, or ``AFTER`` another column of the same struct."""

    after: str | None = None

    @classmethod
    def read(cls, parser: Parser) -> Position | None:
        if parser.takes("FIRST"):
            return cls()
        return cls(parser.identifier()) if parser.takes("AFTER") else None

    @property
    def change(self) -> Change:
        return ("first" if self.after is None else "after", self.after)


@dataclass(frozen=True)
class AddedColumn:
    """A column to add.

    Attributes:
        path: The names of the enclosing structs and of the column.
        data_type: The SQL name of the type.
        nullable: Whether it may be null.
        position: The position; None appends the column.
    """

    path: Name
    data_type: str
    nullable: bool = True
    comment: str | None = None
    position: Position | None = None

    @classmethod
    def read(cls, parser: Parser) -> AddedColumn:
        path, data_type = parser.name(), parser.data_type()
        nullable, comment, position = True, None, None
        while True:
            if parser.takes("NOT", "NULL"):
                nullable = False
            elif parser.takes("COMMENT"):
                comment = parser.string()
            elif parser.takes("DEFAULT"):
                remedy = "add the column without it, then ALTER COLUMN ... SET DEFAULT"
                raise unsupported("ADD COLUMN ... DEFAULT", remedy)
            elif position is None and (position := Position.read(parser)) is not None:
                continue
            else:
                return cls(path, data_type, nullable, comment, position)


@dataclass(frozen=True)
class AddColumns:
    """The clause ``ADD COLUMNS``."""

    added: tuple[AddedColumn, ...]

    @classmethod
    def read(cls, parser: Parser) -> AddColumns:
        columns = parser.in_parentheses(lambda: AddedColumn.read(parser), optional=True)
        return cls(tuple(columns))

    @property
    def columns(self) -> list[Name]:
        """The paths of existing columns that the clause names."""
        structs = [added.path[:-1] for added in self.added if len(added.path) > 1]
        return structs + _columns_before(self.added)

    def run(self, table: Table) -> None:
        schema = _schema(table)
        columns = []
        for added in self.added:
            path = added.path
            column = _column(path, added.data_type, nullable=added.nullable, comment=added.comment)
            if len(path) > 1 and column.type_with_lengths:
                # the limit would belong to the metadata of the outermost column
                remedy = "add it as STRING, and ADD CONSTRAINT for its length"
                raise unsupported(f"ADD COLUMN {'.'.join(path)} {added.data_type}", remedy)
            if not all(part.nullable for part in nested([column])):
                raise InvalidArgumentError(
                    f"the column {names.quoted(column.name)} is NOT NULL, and existing rows "
                    "have no value for it: leave NOT NULL out",
                    code="alter.column",
                )
            position = None if added.position is None else added.position.change
            columns.append((_path(schema, path[:-1]), schema_json([column]), position))
        table.native.add_columns(columns)


@dataclass(frozen=True)
class ReplaceColumns:
    """The clause ``REPLACE COLUMNS``: the new columns, without positions."""

    replacement: tuple[AddedColumn, ...]

    @classmethod
    def read(cls, parser: Parser) -> ReplaceColumns:
        start = parser.index
        columns = parser.in_parentheses(lambda: AddedColumn.read(parser))
        for column in columns:
            if len(column.path) > 1 or column.position is not None or not column.nullable:
                parser.index = start
                raise parser.invalid(
                    "REPLACE COLUMNS takes columns with a type and a comment, without position and "
                    "NOT NULL"
                )
        return cls(tuple(columns))

    @property
    def columns(self) -> list[Name]:
        """The columns of the table after the clause, which may exist."""
        return [column.path for column in self.replacement]

    def run(self, table: Table) -> None:
        columns = [
            _column(column.path, column.data_type, nullable=True, comment=column.comment)
            for column in self.replacement
        ]
        table.native.replace_columns(schema_json(columns))


@dataclass(frozen=True)
class RenameColumn:
    """The clause ``RENAME COLUMN``."""

    path: Name
    new_name: str

    @classmethod
    def read(cls, parser: Parser) -> RenameColumn:
        path = parser.name()
        parser.needs("TO")
        return cls(path, parser.identifier())

    @property
    def columns(self) -> list[Name]:
        """The paths of existing columns that the clause names."""
        return [self.path]

    def run(self, table: Table) -> None:
        table.rename_column(_path(_schema(table), self.path), self.new_name)


@dataclass(frozen=True)
class DropColumns:
    """The clause ``DROP COLUMNS``."""

    columns: tuple[Name, ...]
    if_exists: bool = False

    @classmethod
    def read(cls, parser: Parser) -> DropColumns:
        if_exists = parser.takes("IF", "EXISTS")
        return cls(tuple(parser.in_parentheses(parser.name, optional=True)), if_exists)

    def run(self, table: Table) -> None:
        schema, paths = _schema(table), self.columns
        if self.if_exists:
            paths = tuple(path for path in paths if _field(schema, path) is not None)
        if paths:
            table.native.drop_columns([_path(schema, path) for path in paths])


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

    @classmethod
    def read(cls, parser: Parser) -> ChangeColumn | None:
        path = parser.name()
        if parser.takes("TYPE"):
            return cls(path, data_type=parser.data_type())
        if parser.takes("COMMENT"):
            return cls(path, comment=parser.string())
        if parser.takes("SET", "DEFAULT"):
            return cls(path, default=parser.expression_for_log((",",)))
        if parser.takes("DROP", "DEFAULT"):
            return cls(path, drops="DEFAULT")
        if parser.takes("DROP", "NOT", "NULL"):
            return cls(path, drops="NOT NULL")
        if parser.takes("SET", "NOT", "NULL"):
            remedy = f"use ADD CONSTRAINT ... CHECK ({'.'.join(path)} IS NOT NULL)"
            raise unsupported("ALTER COLUMN ... SET NOT NULL", remedy)
        position = Position.read(parser)
        return None if position is None else cls(path, position=position)

    def changes(self, schema: Struct) -> list[Change]:
        """Return the changes of the column, as the core names them."""
        changes: list[Change] = []
        if self.data_type is not None:
            changes += _type_change(schema, self.path, self.data_type)
        if self.comment is not None:
            changes.append(("comment", self.comment))
        if self.default is not None or self.drops == "DEFAULT":
            changes.append(("default", self.default))
        if self.drops == "NOT NULL":
            changes.append(("drop not null", None))
        if self.position is not None:
            changes.append(self.position.change)
        return changes


@dataclass(frozen=True)
class ChangeColumns:
    """The clause ``ALTER COLUMN`` or ``CHANGE COLUMN``, with each column once."""

    changed: tuple[ChangeColumn, ...]

    @classmethod
    def read(cls, parser: Parser, *, is_hive: bool) -> ChangeColumns:
        """Parse the clause; ``CHANGE COLUMN`` also takes Hive's syntax."""
        start = parser.index
        columns = []
        while (change := ChangeColumn.read(parser)) is not None:
            columns.append(change)
            if not parser.takes(","):
                return cls(tuple(columns))
        if columns or not is_hive:
            raise parser.expected("TYPE, COMMENT, SET, DROP, FIRST or AFTER")
        parser.index = start
        path = parser.name()
        start, name = parser.index, parser.identifier()
        if name.lower() != path[-1].lower():
            parser.index = start
            raise parser.invalid(f"CHANGE COLUMN does not rename {path[-1]}: use RENAME COLUMN")
        data_type = parser.data_type()
        comment = parser.string() if parser.takes("COMMENT") else None
        position = Position.read(parser)
        return cls((ChangeColumn(path, data_type, comment, position=position),))

    @property
    def columns(self) -> list[Name]:
        """The paths of existing columns that the clause names."""
        return [change.path for change in self.changed] + _columns_before(self.changed)

    def run(self, table: Table) -> None:
        schema = _schema(table)
        changes = [(_path(schema, column.path), column.changes(schema)) for column in self.changed]
        if any(column_changes for _, column_changes in changes):
            table.native.change_columns(changes)


def _change_columns(parser: Parser, *, is_hive: bool = False) -> ChangeColumns | SyncIdentity:
    start = parser.index
    path = parser.name()
    if parser.takes("SYNC", "IDENTITY"):
        return SyncIdentity(path)
    parser.index = start
    return ChangeColumns.read(parser, is_hive=is_hive)


@dataclass(frozen=True)
class CatalogChange:
    """A change of the name or location in the catalog, by Spark."""

    clause: Literal["RENAME TO", "SET LOCATION"]

    def check(self, spark: SparkSession, entry: CatalogEntry) -> None:
        """Check that the catalog accepts the change."""
        if entry.is_path:
            raise unsupported(self.clause, "a path has no entry in the catalog")
        if self.clause == "SET LOCATION" and not capabilities.has_delta(spark):
            raise unsupported(
                self.clause,
                "Spark would accept any path; use spark.sql('DROP TABLE ...'), which keeps the "
                "files, and then CREATE TABLE ... USING delta LOCATION",
            )


def _rename_to(parser: Parser) -> CatalogChange:
    parser.name()
    return CatalogChange("RENAME TO")


def _set_location(parser: Parser) -> CatalogChange:
    parser.string()
    return CatalogChange("SET LOCATION")


#: The words after the name of the table, and the parser of what follows them.
_CLAUSES: tuple[tuple[tuple[str, ...], Callable[[Parser], Any]], ...] = (
    (("SET", "TBLPROPERTIES"), _set_properties),
    (("UNSET", "TBLPROPERTIES"), _unset_properties),
    (("ADD", "COLUMN"), AddColumns.read),
    (("ADD", "COLUMNS"), AddColumns.read),
    (("RENAME", "COLUMN"), RenameColumn.read),
    (("DROP", "COLUMN"), DropColumns.read),
    (("DROP", "COLUMNS"), DropColumns.read),
    (("ALTER", "COLUMN"), _change_columns),
    (("ALTER",), _change_columns),
    (("CHANGE", "COLUMN"), functools.partial(_change_columns, is_hive=True)),
    (("CHANGE",), functools.partial(_change_columns, is_hive=True)),
    (("ADD", "CONSTRAINT"), _add_constraint),
    (("DROP", "CONSTRAINT"), _drop_constraint),
    (("REPLACE", "COLUMNS"), ReplaceColumns.read),
    (("CLUSTER", "BY"), _cluster_by),
    (("DROP", "FEATURE"), _drop_feature),
    (("RENAME", "TO"), _rename_to),
    (("SET", "LOCATION"), _set_location),
)


def _columns_before(columns: Sequence[AddedColumn | ChangeColumn]) -> list[Name]:
    """Return the paths of the columns in ``AFTER``."""
    return [
        (*column.path[:-1], column.position.after)
        for column in columns
        if column.position is not None and column.position.after is not None
    ]


def _column(path: Name, data_type: str, *, nullable: bool, comment: str | None) -> Field:
    return definition.column(
        path[-1], data_type, nullable=nullable, computed=None, identity=None, comment=comment
    )


def _type_change(schema: Struct, path: Name, data_type: str) -> list[Change]:
    """Return the change to another type; none if the type is the same."""
    declared = _column(path, data_type, nullable=True, comment=None)
    field = _field(schema, path)
    problem = unsupported(
        f"ALTER COLUMN ... TYPE {data_type}", "add a column of that type, then UPDATE"
    )
    # NOT NULL or a comment
    if any(part.metadata or not part.nullable for part in nested([declared]) if part != declared):
        raise problem
    new = nullable(declared_type(declared))
    old = None if field is None else nullable(_declared(schema, path))
    if old == new:
        return []
    if field is None or (not declared.type_with_lengths and old == nullable(field.type)):
        return [("type", schema_json([declared]))]
    is_string = field.type == declared.type == "string"
    if len(path) == 1 and is_string and is_wider(str(old), str(new)):
        return [("length", declared.type_with_lengths or None)]
    raise problem


def _declared(schema: Struct, path: Name) -> Type:
    """Return the type of an existing column, with the limits of its strings."""
    column = fields_on_path(schema, path)[0]
    column_metadata.check([column])
    type_ = declared_type(column)
    for step in path[1:]:
        if isinstance(type_, Struct):
            type_ = type_.by_name[step.lower()].type
        else:
            type_ = parts(type_)[step.lower()]
    return type_


def _schema(table: Table) -> Struct:
    return Struct.parse(table.snapshot().schema_json)


def _path(schema: Struct, path: Name) -> Name:
    """Check that a name with dots is a column, because ``Table`` would take it for a path.

    The methods of ``Table`` check that other columns exist.
    """
    if len(path) == 1 and "." in path[0] and _field(schema, path) is None:
        raise InvalidArgumentError(
            f"there is no column {names.quoted(path[0])}: to name a field of a struct, write "
            "each name in separate backticks",
            code="alter.column",
        )
    return path


def _field(schema: Struct, path: Name) -> Field | None:
    """Return the column or nested field of a path; None if there is none."""
    fields = fields_on_path(schema, path)
    return fields[-1] if fields else None
