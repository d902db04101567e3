"""``TargetTable``: the table that rows are written to; a new one appears with its first rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from deltareplay import _native
from deltareplay._metadata import Metadata
from deltareplay._protocol import Protocol
from deltareplay._table import Place
from deltareplay._transaction import Transaction
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.schema import Json, field, fields_of, stored, struct
from deltareplay.spark.source import table_of

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from deltareplay._snapshot import Snapshot
    from deltareplay._table import Table


@dataclass(frozen=True)
class TargetTable:
    """A table as it will be after the commit; plain values, so that it pickles.

    Attributes:
        table: The table.
        version: The version that the write starts from; None for a table that the write creates.
        metadata: The metadata of the new version.
        protocol: The protocol of the new version.
        adds_columns: Whether the write adds columns, or replaces them.
    """

    table: Table
    version: int | None
    metadata: Metadata
    protocol: Protocol
    adds_columns: bool = False

    @classmethod
    def of(cls, snapshot: Snapshot) -> TargetTable:
        """A version of an existing table."""
        return cls(table_of(snapshot), snapshot.version, snapshot.metadata, snapshot.protocol)

    @classmethod
    def new(
        cls,
        place: Place,
        schema: StructType,
        partition_by: Sequence[str],
        properties: Mapping[str, str],
    ) -> TargetTable:
        """A new table, with the columns of some rows, and what its catalog requires.

        All columns are nullable, as with Delta's own writer.

        Raises:
            InvalidArgumentError: A column or a property that no table can have.
            UnsupportedFeatureError: A property requires a feature that cannot be written.
        """
        partitions = partitions_among(schema.fieldNames(), partition_by)
        columns = struct([nullable_field(one) for one in fields_of(schema)])
        wanted = place.properties(columns, partitions, properties)
        metadata, facts = _native.new_table(columns, partitions, wanted)
        return cls(place.table, None, Metadata._of_json(metadata), Protocol(*facts))

    def with_columns(self, schema: StructType) -> TargetTable:
        """The table with those columns, and fields of structs, of some rows that it lacks."""
        given = [nullable_field(one) for one in fields_of(schema)]
        found = _native.with_columns(self.metadata._json(), struct(given))
        if found is None:
            return self
        metadata = Metadata._of_json(found)
        protocol = self.protocol.upgrade_for(metadata)
        return replace(self, metadata=metadata, protocol=protocol, adds_columns=True)

    def with_new_columns(
        self, schema: StructType, partition_by: Sequence[str] | None
    ) -> TargetTable:
        """The table with the columns of some rows in place of its own.

        Args:
            schema: The columns of the rows.
            partition_by: The new partition columns; None keeps those that there are.

        Raises:
            InvalidArgumentError: A column that no table can have, or a partition column is not
                among the new columns.
        """
        old = dict(self.properties)
        partitions = self.partition_columns if partition_by is None else partition_by
        mode = {key: value for key, value in old.items() if key == "delta.columnMapping.mode"}
        new = TargetTable.new(Place(self.table), schema, partitions, mode).metadata
        fields = json.loads(new.schema_string)["fields"]
        if mode:  # ids of columns are never used again
            taken = int(old.get(_NEWEST_ID, 0))
            fields = _with_later_ids(fields, taken)
            old[_NEWEST_ID] = str(taken + int(new.configuration.get(_NEWEST_ID, 0)))
        metadata = replace(
            self.metadata,
            schema_string=struct(fields),
            partition_columns=new.partition_columns,
            configuration=old,
        )
        protocol = self.protocol.upgrade_for(metadata)
        return replace(self, metadata=metadata, protocol=protocol, adds_columns=True)

    @property
    def fields(self) -> list[Json]:
        """The columns, as the JSON of Spark's fields."""
        found: list[Json] = stored(json.loads(self.metadata.schema_string))["fields"]
        return found

    @property
    def written_fields(self) -> list[Json]:
        """The columns that have values in data files; nothing in them is void."""
        return _with_values(self.fields)

    @property
    def void_columns(self) -> list[str]:
        """The names of the columns that hold nothing but nulls, and are in no file."""
        return [one["name"] for one in self.fields if one["type"] == "void"]

    @property
    def written_names(self) -> list[str]:
        """Their names."""
        return [one["name"] for one in self.written_fields]

    @property
    def partition_columns(self) -> list[str]:
        """Logical names of the partition columns."""
        return self.metadata.partition_columns

    @property
    def properties(self) -> dict[str, str]:
        """The table properties."""
        return self.metadata.configuration

    @property
    def uses_vectors(self) -> bool:
        """Whether deletion vectors mark the rows that leave a file."""
        return self._is_on("delta.enableDeletionVectors")

    @property
    def has_feed(self) -> bool:
        """Whether the table has a change data feed."""
        return self._is_on("delta.enableChangeDataFeed")

    def _is_on(self, name: str) -> bool:
        return self.properties.get(name, "").lower() == "true"

    @property
    def facts(self) -> tuple[Any, ...]:
        """What data files depend on, as an argument of ``_native.stage_rows``."""
        metadata = self.metadata
        return (
            metadata.schema_string,
            list(metadata.partition_columns),
            dict(metadata.configuration),
            self.protocol._facts(),
        )

    def check(self, partition_by: Sequence[str] | None) -> None:
        """Refuses features that a write by Spark cannot maintain.

        Raises:
            InvalidArgumentError: The table is partitioned by other columns.
            UnsupportedFeatureError: The table has such a feature.
        """
        own = list(self.partition_columns)
        asked = own if partition_by is None else list(partition_by)
        if [one.lower() for one in asked] != [one.lower() for one in own]:
            raise InvalidArgumentError(
                f"the table is partitioned by {own}, not by {asked}: leave partition_columns out, "
                "or write another table",
                code="write.partitions",
            )
        self.check_features()

    def check_features(self) -> None:
        """Refuses features that files written by Spark cannot have.

        Raises:
            UnsupportedFeatureError: The table has such a feature.
        """
        features = set(self.protocol.writer_features or ())
        named = sorted(one for one in features if one.startswith(("iceberg", "materialize")))
        if named:
            raise UnsupportedFeatureError(
                f"the table has {', '.join(named)}, which requires more in its files than "
                "Spark writes: write it with Delta's own writer",
                code="write.feature",
            )

    def snapshot(self) -> Snapshot | None:
        """The version that the write starts from."""
        return None if self.version is None else self.table.snapshot(self.version)

    def begin(
        self,
        snapshot: Snapshot | None,
        operation: str,
        parameters: Mapping[str, Any],
        user_metadata: str | None,
    ) -> Transaction:
        """A transaction that also creates the table or adds columns, if needed.

        Args:
            snapshot: The version that the write starts from; None for a new table.
            operation: As in ``Table.transaction``.
            parameters: As in ``Table.transaction``.
            user_metadata: As in ``Table.transaction``.
        """
        if snapshot is None:
            native = self.table._native.transaction(None, operation)
            described = Transaction._description_of(parameters, user_metadata=user_metadata)
            transaction = Transaction._begun(self.table, None, native, described)
        else:
            transaction = self.table.transaction(
                operation, parameters=parameters, user_metadata=user_metadata, snapshot=snapshot
            )
        if snapshot is None or self.adds_columns:
            transaction.set_metadata(self.metadata)
        if snapshot is None:
            transaction.set_protocol(self.protocol)
        return transaction


#: The property that has the highest id that a column ever had.
_NEWEST_ID = "delta.columnMapping.maxColumnId"


def _with_later_ids(type_: Any, taken: int) -> Any:
    """A field, or a part of its type, with ids after those that were taken."""
    if isinstance(type_, list):
        return [_with_later_ids(one, taken) for one in type_]
    if not isinstance(type_, dict):
        return type_
    key = "delta.columnMapping.id"
    return {
        name: one + taken if name == key else _with_later_ids(one, taken)
        for name, one in type_.items()
    }


def partitions_among(columns: Sequence[str], partition_by: Sequence[str]) -> list[str]:
    """The partition columns, as the columns are written.

    Raises:
        InvalidArgumentError: ``transaction.partition_columns``: a column is missing.

    >>> partitions_among(["id", "day"], ["DAY"])
    ['day']
    """
    names = {one.lower(): one for one in columns}
    lacking = [one for one in partition_by if one.lower() not in names]
    if lacking:
        raise InvalidArgumentError(
            f"there is no column {', '.join(lacking)} to partition the table by: the columns are "
            f"{', '.join(names.values())}; name other partition columns, or none",
            code="transaction.partition_columns",
        )
    return [names[one.lower()] for one in partition_by]


def nullable_field(one: Json) -> Json:
    """A column of rows as one of a table: nullable, with its comment."""
    comment = (one.get("metadata") or {}).get("comment")
    return field(one["name"], nullable(one["type"]), {"comment": comment} if comment else None)


def _with_values(fields: list[Json]) -> list[Json]:
    """The fields that are not void, without those parts of structs that are."""
    return [{**one, "type": _type_in_files(one["type"])} for one in fields if one["type"] != "void"]


def _type_in_files(type_: Any) -> Any:
    if isinstance(type_, str):
        return type_
    if type_["type"] == "struct":
        return {**type_, "fields": _with_values(type_["fields"])}
    inner = ("elementType",) if type_["type"] == "array" else ("keyType", "valueType")
    return {**type_, **{key: _type_in_files(type_[key]) for key in inner}}


def nullable(type_: Any) -> Any:
    """A type with all parts nullable, without metadata.

    >>> nullable({"type": "array", "elementType": "long", "containsNull": False})
    {'type': 'array', 'elementType': 'long', 'containsNull': True}
    """
    if isinstance(type_, str):
        return type_
    if type_["type"] == "struct":
        fields = [field(one["name"], nullable(one["type"])) for one in type_["fields"]]
        return {"type": "struct", "fields": fields}
    if type_["type"] == "array":
        element = nullable(type_["elementType"])
        return {"type": "array", "elementType": element, "containsNull": True}
    return {
        "type": "map",
        "keyType": nullable(type_["keyType"]),
        "valueType": nullable(type_["valueType"]),
        "valueContainsNull": True,
    }
