"""Partition values as columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay.exceptions import UnsupportedFeatureError
from deltareplay.spark.scan.files import Constant
from deltareplay.spark.schema.fields import Column
from deltareplay.spark.schema.string_lengths import char_length
from deltareplay.spark.session import zone_names
from deltareplay.spark.session.capabilities import is_utc

#: The end of a timestamp with a time zone. An offset must follow a time: ``2026-01-31`` has none.
_ZONED = r"(Z|z|UTC|GMT|:\d.*[+-]\d\d?(:?\d\d)?)\s*$"


def constants(files: pa.Table, columns: list[Column], zone: str) -> list[Constant]:
    """Return the values of partition columns, by physical name.

    Args:
        files: A table with ``partitionValues`` and ``partitionValues_parsed``.
        columns: Partition columns.
        zone: The session's time zone, for timestamps in the log without a zone.

    Raises:
        UnsupportedFeatureError: ``spark.time_zone``: the log has timestamps without a zone, and the
            session's zone is unknown.
    """
    if not columns:
        return []
    parsed = files.column("partitionValues_parsed").combine_chunks()
    constants = []
    for column in columns:
        values = pc.struct_field(parsed, [parsed.type.get_field_index(column.physical)])
        if pa.types.is_timestamp(values.type):
            values = values.cast(pa.timestamp("us", values.type.tz))
            if values.type.tz is not None and not is_utc(zone):
                values = _in_zone(files, column, values, zone)
        length = char_length(column.metadata)
        if length is not None:
            values = pc.utf8_rpad(values, length)
        # old writers left empty strings, which are null
        nullable = column.nullable or values.null_count > 0
        constants.append(
            Constant.of(column.physical, column.physical_type, values, nullable=nullable)
        )
    return constants


def _in_zone(files: pa.Table, column: Column, values: Any, zone: str) -> Any:
    texts = pc.map_lookup(files.column("partitionValues"), column.physical, "first")
    has_no_zone = pc.invert(pc.match_substring_regex(texts.combine_chunks(), _ZONED))
    has_no_zone = pc.fill_null(has_no_zone, False)
    if not pc.any(has_no_zone).as_py():
        return values
    clock = values.cast(pa.int64()).cast(pa.timestamp("us"))
    try:
        instants = pc.assume_timezone(
            clock, zone_names.iana(zone), ambiguous="earliest", nonexistent="latest"
        )
    except (pa.ArrowInvalid, ValueError) as cause:
        raise UnsupportedFeatureError(
            f"the log has timestamps without a time zone in the column {column.name}, and {zone} "
            "is not in the time zone database: set spark.sql.session.timeZone to a name like "
            "Europe/Berlin",
            code="spark.time_zone",
        ) from cause
    return pc.if_else(has_no_zone, instants.cast(pa.int64()), values.cast(pa.int64())).cast(
        values.type
    )
