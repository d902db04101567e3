"""``Outgoing``: rows in the form of the table's data files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.scan import hidden_columns
from deltareplay.spark.schema.alignment import WRITING, arranged, arranged_type, untyped
from deltareplay.spark.schema.fields import PARTS, Json, fields_of, nullable, spark_type
from deltareplay.spark.schema.fitting import fits
from deltareplay.spark.syntax import names
from deltareplay.spark.writing import (
    constraints,
    identity_columns,
    log_expressions,
)
from deltareplay.spark.writing.conversion import converted
from deltareplay.spark.writing.target_table import is_collated, refuse_collation

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from deltareplay.spark.writing.target_table import TargetTable


@dataclass(frozen=True)
class Outgoing:
    """Rows with the names of the data files, checked as they are evaluated.

    Attributes:
        rows: The columns of the files, and the partition columns as strings of the log.
        partitions: The partition columns, by their names in the log.
        counted: Identity columns whose values the table gives, by their names in the files.
    """

    rows: DataFrame
    partitions: tuple[str, ...]
    counted: Mapping[str, Json]

    @classmethod
    def of(cls, df: DataFrame, target: TargetTable, replace_where: str | None) -> Outgoing:
        """Converts rows to a table's columns.

        Args:
            df: The rows.
            target: The table.
            replace_where: A condition that all rows must satisfy.

        Raises:
            InvalidArgumentError: The table has no such column, or it has another type; or a column
                that must not be null is missing.
        """
        identity_columns.refuse_given(df, target)
        rows = table_rows(df, target, replace_where=replace_where)
        return cls.as_stored(rows, target, supplied=df.columns)

    @classmethod
    def as_stored(
        cls,
        rows: DataFrame,
        target: TargetTable,
        beside: Mapping[str, str] | None = None,
        supplied: Collection[str] = (),
    ) -> Outgoing:
        """Rows with the table's columns and types, checked, under the names of the data files.

        Args:
            rows: The rows; with ``names.CHANGE`` if some belong to the change data feed.
            target: The table.
            beside: More columns of the files, and their names in the rows.
            supplied: The columns whose values do not come from the table.
        """
        from pyspark.sql import functions as sf

        mode = target.properties.get("delta.columnMapping.mode", "none").lower()
        partitions = {column.lower() for column in target.partition_columns}
        columns, texts, counted = [], {}, {}
        known = {name.lower() for name in supplied}
        for field in target.written_fields:
            name = _physical(field, mode)
            column = sf.col(names.quoted(field["name"]))
            if identity_columns.is_identity(field) and field["name"].lower() not in known:
                counted[name] = field
            if field["name"].lower() in partitions:
                texts[field["name"].lower()] = name
                columns.append(_text(column, field).alias(name))
            else:
                if mode != "none" and not isinstance(field["type"], str):
                    column = column.cast(spark_type(_in_files(field["type"], mode)))
                columns.append(column.alias(name, metadata=_ids(field, mode)))
        ordered = tuple(texts[column.lower()] for column in target.partition_columns)
        if len(ordered) == len(columns):
            raise InvalidArgumentError(
                "all columns of the table are partition columns: Spark writes no such files",
                code="write.columns",
            )
        columns += [sf.col(own).alias(name) for name, own in (beside or {}).items()]
        if hidden_columns.CHANGE in rows.columns:
            columns.append(sf.col(hidden_columns.CHANGE).alias("_change_type"))
            columns.append(
                sf.col(hidden_columns.CHANGE).isNotNull().alias(hidden_columns.IS_CHANGE)
            )
            ordered = (hidden_columns.IS_CHANGE, *ordered)
        return cls(rows.select(*columns), ordered, counted)


def table_rows(
    df: DataFrame,
    target: TargetTable,
    beside: Sequence[str] = (),
    replace_where: str | None = None,
    only: str | None = None,
) -> DataFrame:
    """Rows with the table's columns and types, which a task checks as it evaluates them.

    Args:
        df: The rows.
        target: The table.
        beside: Columns of the rows that the table does not have, and that stay.
        replace_where: A condition that all rows must satisfy.
        only: The one of ``beside`` that tells which rows are checked; None for all.

    Raises:
        InvalidArgumentError: As ``Outgoing.of``.
    """
    rows = _without_void(df, target)
    logical, computed = _logical(rows, target.written_fields, beside)
    return constraints.checked(logical, target, computed, replace_where, only)


def _without_void(df: DataFrame, target: TargetTable) -> DataFrame:
    """Rows without the columns that hold nothing but nulls, here and in the table."""
    void = set(map(str.lower, target.void_columns))
    if not void:
        return df
    dropped = [field for field in fields_of(df.schema) if field["name"].lower() in void]
    for field in dropped:
        if field["type"] != "void":
            type_ = spark_type(field["type"]).simpleString()
            raise untyped(field["name"], type_, WRITING, "write.columns")
    return df.drop(*(field["name"] for field in dropped))


def _logical(
    df: DataFrame, fields: list[Json], beside: Sequence[str]
) -> tuple[DataFrame, list[str]]:
    """The rows with the table's columns and types, and which columns were generated here."""
    from pyspark.sql import functions as sf

    source = _given(df.drop(*beside), fields)
    columns, generated = [], []
    for field in fields:
        name, metadata = field["name"], field.get("metadata") or {}
        source_field = source.get(name.lower())
        if source_field is not None:
            value = _fitted(sf.col(names.quoted(source_field["name"])), source_field, field)
            columns.append(_padded(value, metadata).alias(name))
        elif "delta.generationExpression" in metadata:
            generated.append(field)
        else:
            columns.append(default(df.sparkSession, field).alias(name))
    rows = df.select(*columns, *beside)
    known = [field["name"] for field in fields]
    for field in generated:
        value = log_expressions.generated(df.sparkSession, field, known)
        rows = rows.withColumn(field["name"], value)
    return rows, [field["name"] for field in generated]


def default(spark: SparkSession, field: Json) -> Column:
    """The value of a column that rows lack.

    Raises:
        UnsupportedFeatureError: Its default is not for Spark to evaluate.
    """
    from pyspark.sql import functions as sf

    if identity_columns.is_identity(field):
        return identity_columns.value(field)
    value = sf.expr(log_expressions.default(spark, field))
    return value.cast(spark_type(field["type"]))


def _padded(value: Column, metadata: Json) -> Column:
    """A value of ``char(n)``, filled up with blanks; others as they are."""
    from pyspark.sql import functions as sf

    limit = metadata.get("__CHAR_VARCHAR_TYPE_STRING", "")
    if not limit.startswith("char("):
        return value
    length = int(limit[5:-1])
    # a longer one stays, and breaks the rule of its length
    return sf.when(sf.char_length(value) < length, sf.rpad(value, length, " ")).otherwise(value)


def check_types(schema: StructType, target: TargetTable) -> None:
    """Refuse rows whose columns have types that do not fit the table's.

    Raises:
        InvalidArgumentError: ``write.columns``.
        UnsupportedFeatureError: ``spark.collation``.
    """
    own = {field["name"].lower(): field for field in target.written_fields}
    for field in fields_of(schema):
        refuse_collation(field)
        if field["name"].lower() in own:
            _check_fits(field, own[field["name"].lower()])


def _given(df: DataFrame, fields: list[Json]) -> dict[str, Json]:
    sources: dict[str, Json] = {}
    for field in fields_of(df.schema):
        if field["name"].lower() in sources:
            raise InvalidArgumentError(
                f"the rows have two columns {field['name']}: give one of them another name",
                code="write.columns",
            )
        refuse_collation(field)
        sources[field["name"].lower()] = field
    unknown = sorted(set(sources) - {field["name"].lower() for field in fields})
    if unknown:
        raise InvalidArgumentError(
            f"the table has no column {', '.join(unknown)}: leave it out, or add it by {WRITING}",
            code="write.columns",
        )
    return sources


def _fitted(column: Column, source: Json, target: Json) -> Column:
    own, other = nullable(target["type"]), nullable(source["type"])
    if own == other:
        return column
    column = arranged(column, source, target, code="write.columns", partial=True, evolve=WRITING)
    _check_fits(source, target)
    return column.cast(spark_type(own))


def _check_fits(source: Json, target: Json) -> None:
    own = nullable(target["type"])
    other = arranged_type(nullable(source["type"]), own)
    if not fits(other, own):
        raise InvalidArgumentError(
            f"the column {target['name']} is {spark_type(own).simpleString()} in the table, and "
            f"{spark_type(other).simpleString()} in the rows: cast it",
            code="write.columns",
        )


def assigned(
    spark: SparkSession,
    column: Column,
    source: Json,
    target: Json,
    *,
    partial: bool,
    evolve: str | None,
) -> Column:
    """A value as a statement stores it: cast, whatever its type; one that does not fit is an error.

    Args:
        spark: The session.
        column: The value.
        source: The field of the value.
        target: The field of the table.
        partial: Whether fields of structs may be missing.
        evolve: How the statement lets the schema evolve; None if it has no such way.

    Raises:
        InvalidArgumentError: As by ``arranged`` and ``converted``.
    """
    own, other = nullable(target["type"]), nullable(source["type"])
    if is_collated(source):
        column = column.cast(spark_type(other))
    if own == other:
        return column
    code = "statement.column"
    column = arranged(column, source, target, code=code, partial=partial, evolve=evolve)
    return converted(spark, column, arranged_type(other, own), own, target["name"], code=code)


def _text(column: Column, field: Json) -> Column:
    """A partition value as the log has it.

    Source: Delta protocol, "Partition Value Serialization".
    """
    from pyspark.sql import functions as sf

    type_ = field["type"]
    if type_ == "binary" or not isinstance(type_, str):
        raise UnsupportedFeatureError(
            f"the partition column {field['name']} has a type whose values cannot be written as "
            "text: write this table with Delta's own writer",
            code="write.feature",
        )
    if type_ == "string":
        text = column.cast("string")
        return sf.when(sf.length(text) == 0, sf.lit(hidden_columns.EMPTY)).otherwise(text)
    if type_ != "timestamp":
        return column.cast("string")
    # in UTC, whatever the session's time zone
    micros = sf.unix_micros(column)
    fraction = sf.pmod(micros, sf.lit(1_000_000))
    seconds = ((micros - fraction) / 1_000_000).cast("decimal(18, 6)")
    zero = sf.lit(0)
    epoch = sf.lit("1970-01-01 00:00:00").cast("timestamp_ntz")
    clock = (epoch + sf.make_dt_interval(zero, zero, zero, seconds)).cast("string")
    digits = sf.lpad(fraction.cast("string"), 6, "0")
    return sf.concat(sf.translate(clock, " ", "T"), sf.lit("."), digits, sf.lit("Z"))


def _physical(field: Json, mode: str) -> str:
    name: str = field["name"]
    metadata = field.get("metadata") or {}
    if mode == "none":
        return name
    return str(metadata.get("delta.columnMapping.physicalName", name))


def _ids(field: Json, mode: str) -> Json:
    """The metadata from which Spark's Parquet writer takes a field's id."""
    column_id = (field.get("metadata") or {}).get("delta.columnMapping.id")
    return {} if mode == "none" or column_id is None else {"parquet.field.id": column_id}


def _in_files(type_: Any, mode: str) -> Any:
    """A type with the names and ids of the files."""
    if isinstance(type_, str):
        return type_
    if type_["type"] == "struct":
        fields = [
            {
                "name": _physical(field, mode),
                "type": _in_files(field["type"], mode),
                "nullable": True,
                "metadata": _ids(field, mode),
            }
            for field in type_["fields"]
        ]
        return {"type": "struct", "fields": fields}
    return {**nullable(type_), **{key: _in_files(type_[key], mode) for key in PARTS[type_["type"]]}}
