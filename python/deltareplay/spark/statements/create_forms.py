"""Parsing of ``CREATE TABLE`` and ``REPLACE TABLE`` for Delta tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.definition.definition import Mode
from deltareplay.spark.syntax.names import name_at
from deltareplay.spark.syntax.parser import QUERY, Name, Reader


@dataclass(frozen=True)
class NewColumn:
    """A column of a new table.

    Attributes:
        name: The name.
        data_type: The SQL name of the type.
        nullable: Whether it may be null.
        comment: The comment.
        default: The SQL expression of the default.
        computed: The SQL expression of a generated column.
        identity: Start and step of an identity column, and whether writers may set values.
    """

    name: str
    data_type: str
    nullable: bool = True
    comment: str | None = None
    default: str | None = None
    computed: str | None = None
    identity: tuple[int, int, bool] | None = None


@dataclass
class CreateTable:
    """A statement ``CREATE TABLE`` or ``REPLACE TABLE``.

    Attributes:
        mode: What to do if the table exists or does not.
        table: The name.
        columns: The columns; none if there is a query.
        partition_by: The partition columns.
        cluster_by: The clustering columns.
        comment: The comment of the table.
        location: The Hadoop path.
        properties: Table properties.
        options: Options of the format, but for ``path``, which is the location.
        query: The query of CREATE TABLE AS SELECT.
    """

    mode: Mode
    table: Name
    columns: tuple[NewColumn, ...] = ()
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    comment: str | None = None
    location: str | None = None
    properties: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    query: str | None = None

    @property
    def only_names(self) -> bool:
        """Whether the statement has a location and no definition."""
        clauses = (self.columns, self.partition_by, self.cluster_by, self.properties, self.query)
        return self.location is not None and self.comment is None and not any(clauses)


def head(reader: Reader) -> tuple[Mode, Name] | None:
    """Parse ``CREATE`` or ``REPLACE`` up to the name; return None if it does not create a table."""
    mode: Mode = "replace" if reader.tokens[0].is_word("REPLACE") else "create"
    if reader.takes("OR", "REPLACE"):
        mode = "create_or_replace"
    reader.takes("EXTERNAL")
    if not reader.takes("TABLE"):
        return None
    if mode == "create" and reader.takes("IF", "NOT", "EXISTS"):
        mode = "create_if_not_exists"
    table, reader.at = name_at(reader.tokens, reader.at)
    return (mode, table) if table else None


def parse(text: str) -> CreateTable:
    """Parse a statement ``CREATE TABLE`` or ``REPLACE TABLE``.

    Raises:
        InvalidArgumentError: ``sql.syntax``; ``column.generated``: the step of an identity column
            is 0.
        UnsupportedFeatureError: ``sql.create``: a clause is not supported for Delta tables.

    >>> parse("CREATE TABLE t (id INT NOT NULL) USING delta").columns
    (NewColumn(name='id', data_type='INT', nullable=False, ...),)
    """
    reader = Reader(text)
    if not reader.takes("CREATE"):
        reader.needs("REPLACE")
    begun = head(reader)
    if begun is None:
        raise reader.wrong("TABLE and a name")
    created = CreateTable(*begun)
    if reader.sees("LIKE"):
        raise unsupported("LIKE", "list the columns, or use CREATE TABLE ... SHALLOW CLONE")
    if reader.takes("("):
        created.columns = _columns(reader)
    if reader.takes("USING"):
        reader.name()
    _clauses(reader, created)
    if any(reader.sees(*words) for words in (("AS",), *QUERY)):
        if created.columns:
            raise reader.invalid("CREATE TABLE ... AS takes its columns from the query")
        reader.takes("AS")
        created.query = reader.query()
    reader.ends()
    return created


def unsupported(what: str, instead: str) -> UnsupportedFeatureError:
    """Return the error for a clause that is not supported.

    Args:
        what: The clause.
        instead: What to do instead.
    """
    return UnsupportedFeatureError(
        f"CREATE TABLE ... {what} is not supported for Delta tables: {instead}", code="sql.create"
    )


def _clauses(reader: Reader, created: CreateTable) -> None:
    """Parse the clauses after the format, each at most once, in any order."""
    seen: set[str] = set()
    while reader.token.is_word(*_CLAUSES):
        clause, start = reader.token.text.upper(), reader.at
        if clause in seen:
            raise reader.invalid(f"duplicate clause {clause}")
        seen.add(clause)
        reader.at += 1
        if clause == "PARTITIONED":
            _partitions(reader, created)
        elif clause == "CLUSTER":
            reader.needs("BY")
            created.cluster_by = reader.names_in_parentheses()
        elif clause == "COMMENT":
            created.comment = reader.string()
        elif clause == "LOCATION":
            created.location = reader.string()
        elif clause == "TBLPROPERTIES":
            created.properties = reader.own_properties()
        elif clause == "OPTIONS":
            created.options = reader.properties()
        else:
            raise unsupported(clause, "leave it out")
        if {"PARTITIONED", "CLUSTER"} <= seen:
            reader.at = start
            raise reader.invalid("use only one of PARTITIONED BY and CLUSTER BY")
        paths = [key for key in created.options if key.lower() == "path"]
        if paths and created.location is not None:
            reader.at = start
            raise reader.invalid("the path is set twice, by LOCATION and by OPTIONS")
    for key in [key for key in created.options if key.lower() == "path"]:
        created.location = created.options.pop(key)
    comment = created.properties.pop("comment", None)
    created.comment = comment if created.comment is None else created.comment


#: The first words of clauses; the last are not supported for Delta tables.
_CLAUSES = (
    "PARTITIONED",
    "CLUSTER",
    "COMMENT",
    "LOCATION",
    "TBLPROPERTIES",
    "OPTIONS",
    "CLUSTERED",
    "SKEWED",
    "DEFAULT",
)


def _partitions(reader: Reader, created: CreateTable) -> None:
    """Parse ``PARTITIONED BY``: names or, as in Hive, additional columns with types."""
    reader.needs("BY", "(")
    start, names = reader.at, [reader.identifier()]
    if reader.token.kind in ("word", "quoted"):
        reader.at = start
        added = _columns(reader)
        created.columns += added
        names = [column.name for column in added]
    else:
        _named(reader)
        while reader.takes(","):
            names.append(reader.identifier())
            _named(reader)
        reader.needs(")")
    created.partition_by = tuple(names)


def _named(reader: Reader) -> None:
    """Check that a partition column is a name, and not an expression or a struct field."""
    if reader.sees("(") or reader.sees("."):
        raise unsupported(
            "PARTITIONED BY with an expression",
            "name columns; a generated column can have the value of the expression",
        )


def _columns(reader: Reader) -> tuple[NewColumn, ...]:
    """Parse columns, up to the closing parenthesis."""
    columns = [_column(reader)]
    while reader.takes(","):
        columns.append(_column(reader))
    reader.needs(")")
    return tuple(columns)


def _column(reader: Reader) -> NewColumn:
    if any(reader.sees(*words) for words in _CONSTRAINTS) or (
        reader.sees("CONSTRAINT")
        and any(
            token.is_word(*_CONSTRAINED) for token in reader.tokens[reader.at + 2 : reader.at + 3]
        )
    ):
        raise _constraint()
    name = reader.identifier()
    data_type = reader.data_type()
    options: dict[str, Any] = {}
    while True:
        start = reader.at
        key, value = _column_property(reader, name)
        if key is None:
            if len({"default", "computed", "identity"} & set(options)) > 1:
                raise reader.invalid(
                    f"column {name}: use only one of DEFAULT, GENERATED AS and IDENTITY"
                )
            return NewColumn(name, data_type, **options)
        if key in options:
            reader.at = start
            raise reader.invalid(f"duplicate {reader.token.text.upper()} of column {name}")
        options[key] = value


def _column_property(reader: Reader, column: str) -> tuple[str | None, Any]:
    """Parse one property of a column; return its name and value."""
    if reader.takes("NOT", "NULL"):
        return "nullable", False
    if reader.takes("COMMENT"):
        return "comment", reader.string()
    if reader.takes("DEFAULT"):
        return "default", reader.logged((",",), ("COMMENT",), ("NOT", "NULL"), ("GENERATED",))
    if reader.token.is_word("CONSTRAINT", *_CONSTRAINED):
        raise _constraint()
    if not reader.takes("GENERATED"):
        return None, None
    always = reader.takes("ALWAYS")
    if not always:
        reader.needs("BY", "DEFAULT")
    reader.needs("AS")
    if always and reader.takes("("):
        computed = reader.logged()
        reader.needs(")")
        return "computed", computed
    reader.needs("IDENTITY")
    start, step = _steps(reader, column)
    return "identity", (start, step, not always)


def _steps(reader: Reader, column: str) -> tuple[int, int]:
    """Parse start and step of an identity column."""
    steps: dict[str, int] = {}
    if reader.takes("("):
        while not reader.takes(")"):
            word = "START" if reader.sees("START") else "INCREMENT"
            if word in steps:
                raise reader.invalid(f"duplicate {word}")
            reader.needs(word, "WITH" if word == "START" else "BY")
            sign = -1 if reader.takes("-") else 1
            steps[word] = sign * reader.whole()
    if steps.get("INCREMENT") == 0:
        raise InvalidArgumentError(
            f"the step of the identity column {column} must not be 0", code="column.generated"
        )
    return steps.get("START", 1), steps.get("INCREMENT", 1)


#: The first words of constraints, after their names.
_CONSTRAINED = ("PRIMARY", "UNIQUE", "FOREIGN", "REFERENCES", "CHECK")

#: The first words of constraints without names, among the columns.
_CONSTRAINTS = (("PRIMARY", "KEY", "("), ("UNIQUE", "("), ("FOREIGN", "KEY", "("), ("CHECK", "("))


def _constraint() -> UnsupportedFeatureError:
    return unsupported("with a constraint", "use ALTER TABLE ... ADD CONSTRAINT ... CHECK")
