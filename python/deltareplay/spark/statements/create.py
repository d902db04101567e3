"""``CREATE TABLE`` and ``REPLACE TABLE`` of Delta tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltareplay import _native
from deltareplay._protocol.schema import Field, Struct
from deltareplay._snapshot.clustering import clustering_columns
from deltareplay._support.uris import without_secrets
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.catalog import lookup, registration
from deltareplay.spark.definition import definition as definitions
from deltareplay.spark.definition.definition import Definition, Mode
from deltareplay.spark.schema.frames import empty_frame
from deltareplay.spark.session import capabilities
from deltareplay.spark.statements.statement import Statement
from deltareplay.spark.syntax import names
from deltareplay.spark.syntax.parser import QUERY_BEGINNINGS, Name, Parser
from deltareplay.spark.writing.target_table import partitions_among

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from deltareplay._table.table import Table
    from deltareplay.spark.catalog.lookup import CatalogEntry

_DEFAULTS = "delta.feature.allowColumnDefaults"

#: The first letters of properties that select the protocol, or that writers derive.
_DERIVED = (
    *("delta.feature.", "delta.minReaderVersion", "delta.minWriterVersion"),
    *("delta.rowTracking.materialized", "delta.columnMapping.maxColumnId"),
)

#: The first words of clauses; the last three are not supported for Delta tables.
_CLAUSES = (
    *("PARTITIONED", "CLUSTER", "COMMENT", "LOCATION", "TBLPROPERTIES", "OPTIONS"),
    *("CLUSTERED", "SKEWED", "DEFAULT"),
)

#: The first words of constraints, after their names.
_CONSTRAINED = ("PRIMARY", "UNIQUE", "FOREIGN", "REFERENCES", "CHECK")

#: The first words of constraints without names, among the columns.
_CONSTRAINTS = (("PRIMARY", "KEY", "("), ("UNIQUE", "("), ("FOREIGN", "KEY", "("), ("CHECK", "("))


@dataclass(frozen=True)
class NewColumn:
    """A column of a new table.

    Attributes:
        data_type: The SQL name of the type.
        nullable: Whether the column may be null.
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


def head(parser: Parser) -> tuple[Mode, Name] | None:
    """Parse what follows ``CREATE`` or ``REPLACE``, up to the name; None for other statements."""
    mode: Mode = "replace" if parser.tokens[0].is_word("REPLACE") else "create"
    if parser.takes("OR", "REPLACE"):
        mode = "create_or_replace"
    parser.takes("EXTERNAL")
    if not parser.takes("TABLE"):
        return None
    if mode == "create" and parser.takes("IF", "NOT", "EXISTS"):
        mode = "create_if_not_exists"
    table = parser.optional_name()
    return (mode, table) if table else None


@dataclass
class CreateTable(Statement):
    """A ``CREATE TABLE`` or ``REPLACE TABLE`` statement.

    Attributes:
        mode: What to do if the table exists, and if it does not.
        provider: The format, if the statement names it.
        text: The whole statement, for Spark.
        columns: The columns; none if there is a query.
        location: The Hadoop path.
        options: Options of the format, except ``path``, which is the location.
        query: The query of CREATE TABLE AS SELECT.
    """

    WORDS = (("CREATE",), ("REPLACE",))

    mode: Mode = "create"
    provider: str | None = dataclasses.field(default=None, compare=False)
    text: str = dataclasses.field(default="", compare=False)
    columns: tuple[NewColumn, ...] = ()
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    comment: str | None = None
    location: str | None = None
    properties: dict[str, str] = dataclasses.field(default_factory=dict)
    options: dict[str, str] = dataclasses.field(default_factory=dict)
    query: str | None = None

    @property
    def only_registers(self) -> bool:
        """Whether it only registers a name: ``CREATE`` with a location and no definition."""
        if self.mode not in ("create", "create_if_not_exists"):
            return False
        clauses = (self.columns, self.partition_by, self.cluster_by, self.properties, self.query)
        return self.location is not None and self.comment is None and not any(clauses)

    @classmethod
    def read(cls, parser: Parser) -> Statement | None:
        start = head(parser)
        if start is None:
            return None
        mode, table = start
        return cls(table, mode, provider(parser), parser.text)

    def read_clauses(self, parser: Parser) -> None:
        """Parse the definition of the table.

        Raises:
            UnsupportedFeatureError: ``sql.create``: a clause is not supported for Delta tables.
        """
        if parser.takes("("):
            self.columns = _columns(parser)
        if parser.takes("USING"):
            parser.name()
        _table_clauses(parser, self)
        if parser.sees("AS") or parser.sees_any(QUERY_BEGINNINGS):
            if self.columns:
                raise parser.invalid("CREATE TABLE ... AS takes its columns from the query")
            parser.takes("AS")
            self.query = parser.query()

    def entry(self, spark: SparkSession) -> CatalogEntry | None:
        provider = self.provider
        if provider is None and names.path_of(self.table) is not None:
            provider = self.table[0]
        if provider is None:
            provider = str(spark.conf.get("spark.sql.sources.default"))
        if provider.lower() != "delta" or capabilities.has_delta(spark):
            return None
        return super().entry(spark)

    def run(self, spark: SparkSession, entry: CatalogEntry) -> DataFrame:
        """Create or replace the table in one commit, and register its name in the catalog.

        A table that exists at the location, with this definition, is only registered.

        Raises:
            InvalidArgumentError: ``definition.default``: a column has a default, and the statement
                does not enable the feature for defaults; ``definition.differs``: the existing table
                at the location has another definition; ``table.exists``: there is a table at the
                location, and the statement has a query.
        """
        if self.only_registers and lookup.at_path(str(self.location)).native.exists():
            registration.check_takes_delta(spark)
            return spark.sql(self.text)
        capabilities.require_spark_4(spark, "CREATE TABLE")
        if self.mode == "create_if_not_exists" and entry.exists and not entry.is_view:
            return empty_frame(spark)
        defaults = [column.name for column in self.columns if column.default is not None]
        if defaults and self.properties.get(_DEFAULTS) not in ("supported", "enabled"):
            raise InvalidArgumentError(
                f"{', '.join(defaults)} with DEFAULT requires TBLPROPERTIES "
                f"('{_DEFAULTS}' = 'supported')",
                code="definition.default",
            )
        columns = [definitions.column(**vars(column)) for column in self.columns]
        existing = None if entry.exists or entry.is_path else _at_location(self)
        if existing is not None:
            _check_matches(existing, self, columns)
            registration.check_takes_delta(spark)
            registration.add(spark, self.table, existing)
            return empty_frame(spark)
        definition = Definition(
            self.mode,
            name=names.dotted(self.table),
            location=self.location,
            comment=self.comment,
            columns=columns,
            partition_by=_partitioned_by(self),
            cluster_by=list(self.cluster_by),
            properties=_properties(self),
            query=self.query,
        )
        definitions.create(spark, definition, entry)
        return empty_frame(spark)


def provider(parser: Parser) -> str | None:
    """Return the format of a new table, without moving."""
    start, name, depth = parser.index, None, 0
    while parser.token.kind != "end":
        depth += parser.sees("(") - parser.sees(")")
        if depth == 0 and parser.token.is_word("STORED", "ROW"):  # Hive's clauses
            name = "hive"
            break
        if depth == 0 and parser.token.is_word("AS", "SELECT", "WITH"):
            break
        if depth == 0 and parser.takes("USING"):
            name = ".".join(parser.optional_name())
        else:
            parser.index += 1
    parser.index = start
    return name


def _unsupported(clause: str, remedy: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"CREATE TABLE ... {clause} is not supported for Delta tables: {remedy}", code="sql.create"
    )


def _table_clauses(parser: Parser, created: CreateTable) -> None:
    """Parse the clauses after the format, each at most once, in any order."""
    clauses: set[str] = set()
    while parser.token.is_word(*_CLAUSES):
        clause, start = parser.token.text.upper(), parser.index
        if clause in clauses:
            raise parser.invalid(f"duplicate clause {clause}")
        clauses.add(clause)
        parser.index += 1
        if clause == "PARTITIONED":
            _partitions(parser, created)
        elif clause == "CLUSTER":
            parser.needs("BY")
            created.cluster_by = parser.column_list()
        elif clause == "COMMENT":
            created.comment = parser.string()
        elif clause == "LOCATION":
            created.location = parser.string()
        elif clause == "TBLPROPERTIES":
            created.properties = parser.table_properties()
        elif clause == "OPTIONS":
            created.options = parser.properties()
        else:
            raise _unsupported(clause, "leave it out")
        if {"PARTITIONED", "CLUSTER"} <= clauses:
            parser.index = start
            raise parser.invalid("use only one of PARTITIONED BY and CLUSTER BY")
        has_path = any(key.lower() == "path" for key in created.options)
        if has_path and created.location is not None:
            parser.index = start
            raise parser.invalid("the path is set twice, by LOCATION and by OPTIONS")
    for key in [key for key in created.options if key.lower() == "path"]:
        created.location = created.options.pop(key)
    comment = created.properties.pop("comment", None)
    created.comment = comment if created.comment is None else created.comment


def _partitions(parser: Parser, created: CreateTable) -> None:
    """Parse ``PARTITIONED BY``: names or, as in Hive, additional columns with types."""
    parser.needs("BY", "(")
    start = parser.index
    parser.identifier()
    is_typed = parser.token.is_name
    parser.index = start
    if is_typed:
        added = _columns(parser)
        created.columns += added
        created.partition_by = tuple(column.name for column in added)
        return
    columns = parser.names()
    if parser.sees("(") or any(len(column) > 1 for column in columns):
        raise _unsupported(
            "PARTITIONED BY with an expression",
            "name columns; instead of an expression, name a generated column",
        )
    parser.needs(")")
    created.partition_by = tuple(name for (name,) in columns)


def _columns(parser: Parser) -> tuple[NewColumn, ...]:
    """Parse columns, up to the closing parenthesis."""
    columns = parser.list_of(lambda: _column(parser))
    parser.needs(")")
    return tuple(columns)


def _column(parser: Parser) -> NewColumn:
    after_name = parser.tokens[parser.index + 2 : parser.index + 3]
    has_name = parser.sees("CONSTRAINT") and any(t.is_word(*_CONSTRAINED) for t in after_name)
    if has_name or parser.sees_any(_CONSTRAINTS):
        raise _unsupported_constraint()
    name = parser.identifier()
    data_type = parser.data_type()
    options: dict[str, Any] = {}
    while True:
        start = parser.index
        key, value = _column_property(parser)
        if key is None:
            if len({"default", "computed", "identity"} & set(options)) > 1:
                raise parser.invalid(
                    f"column {name}: use only one of DEFAULT, GENERATED AS and IDENTITY"
                )
            return NewColumn(name, data_type, **options)
        if key in options:
            parser.index = start
            raise parser.invalid(f"duplicate {parser.token.text.upper()} of column {name}")
        options[key] = value


def _column_property(parser: Parser) -> tuple[str | None, Any]:
    """Parse one property of a column; return its name, None if there is none, and its value."""
    if parser.takes("NOT", "NULL"):
        return "nullable", False
    if parser.takes("COMMENT"):
        return "comment", parser.string()
    if parser.takes("DEFAULT"):
        return "default", parser.expression_for_log(
            (",",), ("COMMENT",), ("NOT", "NULL"), ("GENERATED",)
        )
    if parser.token.is_word("CONSTRAINT", *_CONSTRAINED):
        raise _unsupported_constraint()
    if not parser.takes("GENERATED"):
        return None, None
    is_always = parser.takes("ALWAYS")
    if not is_always:
        parser.needs("BY", "DEFAULT")
    parser.needs("AS")
    if is_always and parser.takes("("):
        computed = parser.expression_for_log()
        parser.needs(")")
        return "computed", computed
    parser.needs("IDENTITY")
    start, step = _steps(parser)
    return "identity", (start, step, not is_always)


def _steps(parser: Parser) -> tuple[int, int]:
    """Parse the start and the step of an identity column."""
    steps: dict[str, int] = {}
    if parser.takes("("):
        while not parser.takes(")"):
            word = "START" if parser.sees("START") else "INCREMENT"
            if word in steps:
                raise parser.invalid(f"duplicate {word}")
            parser.needs(word, "WITH" if word == "START" else "BY")
            sign = -1 if parser.takes("-") else 1
            steps[word] = sign * parser.integer()
    return steps.get("START", 1), steps.get("INCREMENT", 1)


def _unsupported_constraint() -> UnsupportedFeatureError:
    return _unsupported("with a constraint", "use ALTER TABLE ... ADD CONSTRAINT ... CHECK")


def _at_location(statement: CreateTable) -> Table | None:
    """Return the existing table that the statement registers under a new name."""
    if statement.location is None or statement.mode not in ("create", "create_if_not_exists"):
        return None
    table = lookup.at_path(statement.location)
    return table if table.native.exists() else None


def _check_matches(table: Table, statement: CreateTable, columns: list[Field]) -> None:
    """Check that an existing table matches the definition of the statement, as in delta-spark."""
    if statement.query is not None:
        raise InvalidArgumentError(
            f"there is a table at {without_secrets(table.uri)} already, and CREATE TABLE ... AS "
            "does not add rows to it: register it without AS, and use INSERT INTO",
            code="table.exists",
        )
    snapshot = table.snapshot()
    properties = {
        _native.checked_property(key, value): value for key, value in _properties(statement).items()
    }
    fields = [definitions.declared(field) for field in Struct.parse(snapshot.schema_json).fields]
    differences = {
        "columns": columns and columns != fields,
        "partition columns": columns and _partitioned_by(statement) != snapshot.partition_columns,
        "clustering columns": columns and [*statement.cluster_by] != clustering_columns(snapshot),
        "properties": properties
        and defining_properties(properties) != defining_properties(snapshot.properties),
    }
    differing = [part for part, differs in differences.items() if differs]
    if differing:
        raise InvalidArgumentError(
            f"the table at {without_secrets(table.uri)} has other {' and '.join(differing)}: leave "
            "them out to register the table, or use CREATE OR REPLACE TABLE",
            code="definition.differs",
        )


def defining_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of a definition, without those of the protocol and of writers."""
    return {key: value for key, value in properties.items() if not key.startswith(_DERIVED)}


def _properties(statement: CreateTable) -> dict[str, str]:
    """Return the table properties, with the options that delta-spark stores as properties.

    ``CREATE TABLE`` without a query stores each option twice, as ``key`` and ``option.key``; other
    statements store the options ``delta.*``. An option overrides the property of the same key.
    """
    kept = {k: v for k, v in statement.options.items() if k.lower().startswith("delta.")}
    if statement.query is None and statement.mode in ("create", "create_if_not_exists"):
        named = {f"option.{key}": value for key, value in statement.options.items()}
        kept = statement.options | named
    return statement.properties | kept


def _partitioned_by(statement: CreateTable) -> list[str]:
    """Return the partition columns; those of a query are checked later."""
    if statement.query is not None:
        return list(statement.partition_by)
    return partitions_among([column.name for column in statement.columns], statement.partition_by)
