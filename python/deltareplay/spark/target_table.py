"""The table that rows are written to: created, widened, and whether it takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.schema import Json, field, struct

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from deltareplay.snapshot import Snapshot
    from deltareplay.table import Table


def create(
    table: Table, schema: StructType, partition_by: Sequence[str], properties: Mapping[str, str]
) -> None:
    """Creates the table with the columns of some rows; all may be null, as Delta has it."""
    names = {one.lower(): one for one in schema.fieldNames()}
    partitions = [names.get(one.lower(), one) for one in partition_by]
    fields = [_nullable(one) for one in _fields(schema)]
    table._native.create(struct(fields), partitions, dict(properties), None, None, True)


def widen(table: Table, schema: StructType) -> None:
    """Adds the columns that the table lacks."""
    known = {one["name"].lower() for one in json.loads(table.snapshot().schema_json)["fields"]}
    more = [_nullable(one) for one in _fields(schema) if one["name"].lower() not in known]
    if more:
        table._native.add_columns([], struct(more))


def check(snapshot: Snapshot, partition_by: Sequence[str] | None) -> None:
    """Refuses what cannot be kept while rows are written by Spark.

    Raises:
        InvalidArgumentError: The table is partitioned by other columns.
        UnsupportedFeatureError: A feature that would need more than this.
    """
    own = list(snapshot.partition_columns)
    asked = own if partition_by is None else list(partition_by)
    if [one.lower() for one in asked] != [one.lower() for one in own]:
        raise InvalidArgumentError(
            f"the table is partitioned by {own}, and not by {asked}: leave partition_by out, or "
            "write another table",
            code="write.partitions",
        )
    features = set(snapshot.protocol.writer_features or ())
    named = sorted(one for one in features if one.startswith(("iceberg", "materialize")))
    if named:
        raise UnsupportedFeatureError(
            f"the table has {', '.join(named)}, which wants more in its files than Spark writes: "
            "write it by Delta's own writer",
            code="write.feature",
        )
    for one in json.loads(snapshot.schema_json)["fields"]:
        metadata = one.get("metadata") or {}
        what = None
        if any(key.startswith("delta.identity.") for key in metadata):
            what = "is an identity column (identityColumns)"
        elif "char(" in metadata.get("__CHAR_VARCHAR_TYPE_STRING", "").replace("varchar(", ""):
            what = "is of type CHAR, which is padded"
        if what:
            raise UnsupportedFeatureError(
                f"the column {one['name']} {what}: Spark's own writer knows nothing of that; write "
                "this table by Delta's",
                code="write.feature",
            )


def _fields(schema: StructType) -> list[Json]:
    found: list[Json] = json.loads(schema.json())["fields"]
    return found


def _nullable(one: Json) -> Json:
    comment = (one.get("metadata") or {}).get("comment")
    return field(one["name"], nullable(one["type"]), {"comment": comment} if comment else None)


def nullable(type_: Any) -> Any:
    """A type all of whose parts may be null, without metadata.

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
