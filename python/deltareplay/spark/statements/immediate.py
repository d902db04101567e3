"""``EXECUTE IMMEDIATE``: a statement whose text is a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.statements import arguments
from deltareplay.spark.syntax.parser import Parser
from deltareplay.spark.syntax.tokens import tokens

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class ExecuteImmediate:
    """An ``EXECUTE IMMEDIATE`` statement.

    Attributes:
        text: An expression whose value is the text.
        values: The expressions of its parameters, each with its name, if it has one.
    """

    text: str
    values: tuple[tuple[str, str | None], ...]

    @classmethod
    def read(cls, parser: Parser) -> ExecuteImmediate | None:
        """Parse the statement; return None for another statement.

        Also return None for a statement with ``INTO``, whose variables only Spark can set.
        """
        if not parser.takes("EXECUTE", "IMMEDIATE"):
            return None
        text = parser.until(("INTO",), ("USING",))
        if parser.sees("INTO"):
            parser.index = 0
            return None

        def value() -> tuple[str, str | None]:
            expression = parser.until((",",), ("AS",))
            return expression, parser.identifier() if parser.takes("AS") else None

        values: list[tuple[str, str | None]] = []
        if parser.takes("USING"):
            start = parser.index
            in_parentheses = (  # not only the first value
                parser.sees("(") and parser.skip_parentheses() and parser.token.text in ("", ";")
            )
            parser.index = start
            values = parser.in_parentheses(value) if in_parentheses else parser.list_of(value)
        parser.needs_end()
        return cls(text, tuple(values))

    def statement(self, spark: SparkSession) -> str:
        """Return the text of the statement, with its parameters substituted.

        As in Spark, the names of values do not matter if the parameters of the statement are ``?``.

        Raises:
            InvalidArgumentError: ``sql.arguments``: the text is null; only some of the values have
                names, or two have the same.
        """
        [row] = spark.sql(f"SELECT CAST(({self.text}) AS STRING)").collect()
        if row[0] is None:
            raise InvalidArgumentError(
                "the text of EXECUTE IMMEDIATE is NULL, not a statement", code="sql.arguments"
            )
        if not self.values:
            return arguments.substitute(spark, row[0], None)
        selected = ", ".join(f"({value})" for value, _ in self.values)
        values = list(spark.sql(f"SELECT {selected}").collect()[0])
        names = [name for _, name in self.values if name is not None]
        if not names or any(token.text == "?" for token in tokens(row[0])):
            return arguments.substitute(spark, row[0], values)
        if len(set(names)) < len(values):
            raise InvalidArgumentError(
                "the values of EXECUTE IMMEDIATE are passed by name: give each a name of its own, "
                "as in USING 1 AS a, 2 AS b",
                code="sql.arguments",
            )
        return arguments.substitute(spark, row[0], dict(zip(names, values, strict=True)))
