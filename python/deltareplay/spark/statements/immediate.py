"""``EXECUTE IMMEDIATE``: a statement whose text is a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.statements import arguments
from deltareplay.spark.syntax.parser import Reader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Immediate:
    """A statement ``EXECUTE IMMEDIATE``.

    Attributes:
        text: An expression for the text.
        values: Expressions of its parameters, each with a name or None.
    """

    text: str
    values: tuple[tuple[str, str | None], ...]


def read(reader: Reader) -> Immediate | None:
    """Parse the statement; return None for another statement, or one with ``INTO``.

    Spark itself stores results in variables.
    """
    if not reader.takes("EXECUTE", "IMMEDIATE"):
        return None
    text = reader.until(("INTO",), ("USING",))
    if reader.sees("INTO"):
        return None
    values = []
    if reader.takes("USING"):
        closes = reader.takes("(")
        while True:
            value = reader.until((",",), ("AS",))
            values.append((value, reader.identifier() if reader.takes("AS") else None))
            if not reader.takes(","):
                break
        if closes:
            reader.needs(")")
    reader.ends()
    return Immediate(text, tuple(values))


def statement(spark: SparkSession, immediate: Immediate) -> str:
    """Return the text of the statement, with its parameters substituted.

    Raises:
        InvalidArgumentError: ``sql.arguments``: the text is null, or has other parameters.
    """
    [row] = spark.sql(f"SELECT CAST(({immediate.text}) AS STRING)").collect()
    if row[0] is None:
        raise InvalidArgumentError(
            "the text of EXECUTE IMMEDIATE is NULL, not a statement", code="sql.arguments"
        )
    if not immediate.values:
        return str(row[0])
    selected = ", ".join(f"({value})" for value, _ in immediate.values)
    values = list(spark.sql(f"SELECT {selected}").collect()[0])
    names = [name for _, name in immediate.values]
    if all(name is None for name in names):
        return arguments.filled(spark, row[0], values)
    return arguments.filled(spark, row[0], {str(k): v for k, v in zip(names, values, strict=True)})
