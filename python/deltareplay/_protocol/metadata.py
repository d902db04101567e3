"""``Metadata``: the ``metaData`` action of one version."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field


def _new_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Metadata:
    """Identity, schema and properties of a table, as in the ``metaData`` action.

    Attributes:
        id: The table id, a GUID; by default a new one. A replaced table gets another id.
        name: The name that a user has set, or None.
        description: The description that a user has set, or None.
        schema_string: The schema as JSON, character for character.
        partition_columns: Logical names of the partition columns, in order.
        configuration: The table properties.
        created_time: Milliseconds since the epoch, or None.
        format_provider: ``parquet``.
        format_options: Options of the format; usually empty.

    Source: Delta protocol, "Change Metadata".

    >>> table.snapshot().metadata.partition_columns
    ['day']
    """

    id: str = field(default_factory=_new_id)
    name: str | None = None
    description: str | None = None
    schema_string: str = ""
    partition_columns: list[str] = field(default_factory=list)
    configuration: dict[str, str] = field(default_factory=dict)
    created_time: int | None = None
    format_provider: str = "parquet"
    format_options: dict[str, str] = field(default_factory=dict)
