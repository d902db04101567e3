"""The table that rows are written to, or the new table that the write creates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deltareplay import _native
from deltareplay._protocol.metadata import Metadata
from deltareplay._protocol.properties import is_on, mapping_mode, property_of
from deltareplay._protocol.protocol import Protocol
from deltareplay._protocol.schema import (
    Field,
    Struct,
    Type,
    converted,
    field_of_json,
    inner_fields,
    nested,
    schema_json,
)
from deltareplay._table.create import WriteLocation
from deltareplay._transaction.transaction import Transaction
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.catalog.table_argument import table_of
from deltareplay.spark.scan import hidden_columns
from deltareplay.spark.schema import column_metadata
from deltareplay.spark.schema.fields import fields_of, nullable

if TYPE_CHECKING:
    from pyspark.sql.types import StructField, StructType

    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay._table.table import Table

_GENERATION_EXPRESSION = "delta.generationExpression"
_LENGTH_TYPES = re.compile(r"\b(?:var)?char\(\d+\)")


@dataclass(frozen=True)
class TargetTable:
    """A table as it will be after the commit; plain values, so that it pickles.

    Attributes:
        version: The version that the write starts from; None for a table that the write creates.
        changes_metadata: Whether the write adds, widens or replaces columns.
    """

    table: Table
    version: int | None
    metadata: Metadata
    protocol: Protocol
    changes_metadata: bool = False

    @classmethod
    def of(cls, snapshot: Snapshot) -> TargetTable:
        """Return the target for a version of an existing table."""
        return cls(table_of(snapshot), snapshot.version, snapshot.metadata, snapshot.protocol)

    @classmethod
    def new(
        cls,
        location: WriteLocation,
        schema: StructType,
        partition_by: Sequence[str],
        properties: Mapping[str, str],
    ) -> TargetTable:
        """Return a new table with the columns of rows, and the properties of its catalog.

        All columns are nullable, as with Delta's own writer.

        Raises:
            InvalidArgumentError: A column or a property that no table can have, or a partition
                column is not among the columns.
            UnsupportedFeatureError: A property requires a feature that cannot be written, or a
                column has a collation (``spark.collation``).
        """
        partitions = partitions_among(schema.fieldNames(), partition_by)
        columns = new_columns(schema)
        requested = location.properties(columns, partitions, properties)
        created = cls(location.table, None, *_native.new_table(columns, partitions, requested))
        created.refuse_void()
        return created

    def with_columns(self, schema: StructType) -> TargetTable:
        """Return the table with the columns and struct fields of rows that it lacks.

        A table with type widening also gets the wider types of the rows.

        Raises:
            InvalidArgumentError: A column that no table can have.
            UnsupportedFeatureError: ``spark.collation``: a column has a collation.
        """
        merged = _native.with_columns(self.metadata, new_columns(schema))
        return self if merged is None else self._with_metadata(merged)

    def _with_metadata(self, metadata: Metadata) -> TargetTable:
        protocol = self.protocol.upgrade_for(metadata)
        changed = replace(self, metadata=metadata, protocol=protocol, changes_metadata=True)
        changed.refuse_void()
        return changed

    def with_new_columns(
        self, schema: StructType, partition_by: Sequence[str] | None
    ) -> TargetTable:
        """Return the table with the columns of rows in place of its own.

        With column mapping, columns that stay keep their ids and physical names. Without
        ``partition_by``, the partition columns stay.

        Raises:
            InvalidArgumentError: A column that no table can have, or a partition column is not
                among the new columns.
            UnsupportedFeatureError: ``spark.collation``: a column has a collation.
        """
        partitions = self.partition_columns if partition_by is None else partition_by
        partitions = partitions_among(schema.fieldNames(), partitions)
        metadata = _native.overwritten_metadata(self.metadata, new_columns(schema), partitions)
        return self._with_metadata(metadata)

    def widens(self, old: str, new: str) -> bool:
        """Return whether a column's primitive type is widened to that of rows."""
        return self.is_on("delta.enableTypeWidening") and _native.widens(old, new)

    @property
    def fields(self) -> list[Field]:
        """The columns, without expressions of generated columns that the protocol does not support.

        Old versions of Delta wrote such expressions.
        """
        fields = Struct.parse(self.metadata.schema_string).fields
        column_metadata.check(fields)
        if "generatedColumns" in self.protocol.features:
            return list(fields)
        return [_not_generated(field) for field in fields]

    @property
    def written_fields(self) -> list[Field]:
        """The columns that have values: those that are not void, without void fields."""
        return [field for field in map(_without_void, self.fields) if field is not None]

    @property
    def void_columns(self) -> list[str]:
        """The names of void columns, which have only nulls and are in no file."""
        return [field.name for field in self.fields if field.type == "void"]

    @property
    def written_names(self) -> list[str]:
        """The names of the columns that are not void."""
        return [field.name for field in self.written_fields]

    @property
    def partition_columns(self) -> list[str]:
        """The logical names of the partition columns."""
        return self.metadata.partition_columns

    @property
    def properties(self) -> dict[str, str]:
        """The table properties."""
        return self.metadata.configuration

    @property
    def uses_vectors(self) -> bool:
        """Whether deleted rows are marked by deletion vectors."""
        return self.is_on("delta.enableDeletionVectors")

    @property
    def has_feed(self) -> bool:
        """Whether the table has a change data feed."""
        name = "delta.enableChangeDataFeed"
        if property_of(self.properties, name) is None:
            name = "delta.enableChangeDataCapture"  # its old name
        return self.is_on(name)

    def is_on(self, name: str) -> bool:
        """Return whether a property is true."""
        return is_on(self.properties, name)

    @property
    def definition(self) -> tuple[Metadata, Protocol]:
        """The table's state on which data files depend, as the functions of the core take it."""
        return self.metadata, self.protocol

    def refuse_void(self) -> None:
        """Check that void columns are only where files can leave them out."""
        partitions = {name.lower() for name in self.partition_columns}
        for column in self.fields:
            name = column.name
            if column.type == "void" and name.lower() in partitions:
                raise _untyped(f"the partition column {name} has", name)
            path = _void_in(column.type, name)
            if path is not None:
                raise _untyped(f"{path} has", name)
        if self.fields and not self.written_fields:
            raise _untyped("all columns have", self.fields[0].name)

    def check(self, partition_by: Sequence[str] | None) -> None:
        """Check that Spark can write the table, and that it has these partition columns.

        Raises:
            InvalidArgumentError: The table is partitioned by other columns (``write.partitions``),
                or has a column of a reserved name (``write.columns``).
            UnsupportedFeatureError: The table has a feature that Spark cannot write
                (``write.feature``).
        """
        current = list(self.partition_columns)
        requested = current if partition_by is None else list(partition_by)
        if [column.lower() for column in requested] != [column.lower() for column in current]:
            raise InvalidArgumentError(
                f"the table is partitioned by {current}, not by {requested}: leave "
                "partition_columns out, or write another table",
                code="write.partitions",
            )
        check_writable(self.protocol)
        self.refuse_hidden_names()

    def refuse_hidden_names(self) -> None:
        """Check that no column has the name of a column that a statement adds."""
        mode = mapping_mode(self.properties)
        for field in self.fields:
            for name in (field.name, field.physical_name(mode)):
                if hidden_columns.is_hidden(name):
                    raise InvalidArgumentError(
                        f"deltareplay adds a column named {name} while Spark writes: rename the "
                        "table's column, or write the table without Spark",
                        code="write.columns",
                    )

    def snapshot(self) -> Snapshot | None:
        """Return the version that the write starts from."""
        return None if self.version is None else self.table.snapshot(self.version)

    def begin(
        self,
        snapshot: Snapshot | None,
        operation: str,
        parameters: Mapping[str, Any],
        user_metadata: str | None,
    ) -> Transaction:
        """Begin a transaction that also creates the table or changes its columns, if needed.

        Without a snapshot, the table is new.
        """
        if snapshot is None:
            native = self.table.native.transaction(None, operation)
            transaction = Transaction.from_native(
                self.table, None, native, parameters=parameters, user_metadata=user_metadata
            )
        else:
            transaction = self.table.transaction(
                operation, parameters=parameters, user_metadata=user_metadata, snapshot=snapshot
            )
        if snapshot is None or self.changes_metadata:
            transaction.set_metadata(self.metadata)
        if snapshot is None:
            transaction.set_protocol(self.protocol)
        return transaction


def _not_generated(field: Field) -> Field:
    if _GENERATION_EXPRESSION not in field.metadata:
        return field
    metadata = {k: v for k, v in field.metadata.items() if k != _GENERATION_EXPRESSION}
    return replace(field, metadata=metadata)


def check_writable(protocol: Protocol) -> None:
    """Check that files written by Spark support the features of a protocol."""
    features = set(protocol.writer_features or ())
    unsupported = sorted(
        feature for feature in features if feature.startswith(("iceberg", "materialize"))
    )
    if unsupported:
        raise UnsupportedFeatureError(
            f"the table has {', '.join(unsupported)}, which Spark's Parquet writer does not "
            "support: write it with Delta's own writer",
            code="write.feature",
        )


def partitions_among(columns: Sequence[str], partition_by: Sequence[str]) -> list[str]:
    """Return the partition columns in the spelling of the columns.

    Raises:
        InvalidArgumentError: ``transaction.partition_columns``: a column is missing.

    >>> partitions_among(["id", "day"], ["DAY"])
    ['day']
    """
    names = {column.lower(): column for column in columns}
    lacking = [name for name in partition_by if name.lower() not in names]
    if lacking:
        raise InvalidArgumentError(
            f"there is no column {', '.join(lacking)} to partition the table by: the columns are "
            f"{', '.join(names.values())}; name other partition columns, or none",
            code="transaction.partition_columns",
        )
    return [names[name.lower()] for name in partition_by]


def _untyped(subject: str, name: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"{subject} only nulls and no type, which cannot be written: set a type, e.g. by "
        f"CAST({name} AS ...), or leave the column out",
        code="write.columns",
    )


def _void_in(type_: Type, path: str) -> str | None:
    """Return the path of a void part that data files cannot leave out; None if there is none."""
    fields = inner_fields(type_)
    if isinstance(type_, Struct):
        if fields and all(field.type == "void" for field in fields):
            return path
        parts = (_void_in(field.type, f"{path}.{field.name}") for field in fields)
        return next((part for part in parts if part is not None), None)
    return path if any(field.type == "void" for field in nested(fields)) else None


#: Prefixes of metadata that Delta and Spark set themselves; a new column gets its own.
_INTERNAL_METADATA = (
    "delta.",
    "CURRENT_DEFAULT",
    "EXISTS_DEFAULT",
    "parquet.field.",
    "__DELTA",
    "__autoGeneratedAlias",
    "__qualified_access_only",
    "__metadata_col",
)


def _without_void(field: Field) -> Field | None:
    """Return a field without void fields in its structs; None for a void field."""
    if field.type == "void":
        return None
    return replace(field, type=converted(field.type, _without_void))


def new_field(source_field: Field) -> Field:
    """Return the column of a new table for a column of rows: nullable, with its metadata.

    Comments, lengths of strings and metadata of users are kept, also in structs.

    Raises:
        UnsupportedFeatureError: ``spark.collation``: the column has a collation.
    """
    refuse_collation(source_field)
    metadata = {
        key: value
        for key, value in source_field.metadata.items()
        if not key.startswith(_INTERNAL_METADATA)
    }
    return Field(source_field.name, nullable(source_field.type, new_field), metadata=metadata)


def new_columns(schema: StructType) -> str:
    """Return the schema of a new table, as JSON, for the schema of rows."""
    return schema_json([new_field(field) for field in fields_of(schema)])


def column_of(field: StructField) -> Field:
    """Convert a DataFrame's field to the log's schema; lengths of strings become metadata.

    Raises:
        UnsupportedFeatureError: ``spark.collation``: the type has a collation.
    """
    defined = field_of_json(field.jsonValue())
    refuse_collation(defined)
    declared = field.dataType.simpleString()
    if not _LENGTH_TYPES.search(declared):
        return defined
    metadata = {**defined.metadata, "__CHAR_VARCHAR_TYPE_STRING": declared}
    return replace(_without_lengths(defined), metadata=metadata)


def _without_lengths(field: Field) -> Field:
    """Return a field with ``string`` in place of ``char`` and ``varchar``."""

    def without_length(name: str) -> str:
        return "string" if _LENGTH_TYPES.fullmatch(name) else name

    return replace(field, type=converted(field.type, _without_lengths, without_length))


def refuse_collation(field: Field) -> None:
    """Check that the strings of a column have no collation."""
    name = _collated(field)
    if name is not None:
        raise UnsupportedFeatureError(
            f"the column {name} has a collation, which deltareplay cannot write: cast it to "
            "STRING, which compares by bytes",
            code="spark.collation",
        )


def is_collated(field: Field) -> bool:
    """Return whether a column, or a nested field, has a collation."""
    return _collated(field) is not None


def _collated(field: Field) -> str | None:
    """Return the path of a field that has a collation; None if there is none."""
    if "__COLLATIONS" in field.metadata:
        return field.name
    paths = map(_collated, inner_fields(field.type))
    path = next((path for path in paths if path is not None), None)
    return None if path is None else f"{field.name}.{path}"
