"""Interpretation of the options of ``df.write.format("deltareplay")``; runs in Python workers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deltareplay._table.table import Table
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.format.option_values import OPTION, number, path

_STORAGE = "storage."
_PROPERTY = "delta."

#: The options of writing only, in lower case.
KNOWN = frozenset(
    {
        "mergeschema",
        "overwriteschema",
        "replacewhere",
        "partitionoverwritemode",
        "partitionby",
        "txnappid",
        "txnversion",
        "usermetadata",
        "checkpointlocation",
        "queryname",
        OPTION,
    }
)


@dataclass(frozen=True)
class SinkOptions:
    """The options of a write.

    Attributes:
        path: The path of the table.
        storage: Options of the storage.
        roots: Allowed roots.
        partition_by: Partition columns of a new table.
        merge_schema: Whether columns that the table lacks are added.
        overwrite_schema: Whether the columns of the rows replace those of the table.
        properties: Properties of a new table.
        default_properties: The session's defaults of properties of new tables, by setting.
        replace_where: The condition of the rows to replace.
        dynamic: Whether the partitions of the new rows are replaced.
        txn_app_id: The application of an idempotent write.
        txn_version: The version of an idempotent write.
        user_metadata: Any text for the commit.
    """

    path: str
    storage: dict[str, str]
    roots: tuple[str, ...] | None
    partition_by: tuple[str, ...] | None
    merge_schema: bool
    overwrite_schema: bool
    properties: dict[str, str]
    default_properties: dict[str, str]
    replace_where: str | None
    dynamic: bool
    txn_app_id: str | None
    txn_version: int | None
    user_metadata: str | None

    def table(self) -> Table:
        """Return the table."""
        return Table(self.path, self.storage, self.roots)

    @property
    def txn(self) -> tuple[str, int] | None:
        """Application and version, if both are set."""
        if self.txn_app_id is None or self.txn_version is None:
            return None
        return self.txn_app_id, self.txn_version

    def __repr__(self) -> str:
        return f"SinkOptions({self.path!r})"  # storage options are secrets


def parse(options: Mapping[str, str], overwrite: bool) -> SinkOptions:
    """Parse the options of a write.

    Raises:
        InvalidArgumentError: An option is unknown, or options contradict each other.

    >>> parse({"path": "t", "partitionBy": "a, b"}, overwrite=False).partition_by
    ('a', 'b')
    """
    lowered = {name.lower(): value for name, value in options.items()}
    location = path(lowered, "save")
    taken = KNOWN | {"path", "allowedroots"}
    prefixes = (_STORAGE, _PROPERTY)
    unknown = sorted(
        name for name in lowered if name not in taken and not name.startswith(prefixes)
    )
    pairs = [name for name in options if name.lower() in ("replaceusing", "replaceon")]
    if pairs:
        raise UnsupportedFeatureError(
            f"{pairs[0]} is known to df.write in the Python process that called "
            "deltareplay.spark.register, but not to streams and other languages: call "
            "deltareplay.spark.write(df, table, mode='overwrite', replace_using=[...]), or with "
            "replace_on=",
            code="option.replace",
        )
    if unknown:
        raise InvalidArgumentError(
            f"writing takes no option {', '.join(unknown)}: it takes path, mergeSchema, "
            "overwriteSchema, replaceWhere, partitionOverwriteMode, partitionBy, txnAppId, "
            "txnVersion, userMetadata, allowedRoots, delta.<property> and storage.<key>",
            code="option.unknown",
        )
    mode = lowered.get("partitionoverwritemode", "static").lower()
    if mode not in ("static", "dynamic"):
        raise InvalidArgumentError(
            f"partitionOverwriteMode is {mode!r}: pass static or dynamic", code="option.write"
        )
    where = lowered.get("replacewhere")
    if where is not None and (mode == "dynamic" or not overwrite):
        raise InvalidArgumentError(
            "replaceWhere requires .mode('overwrite'), and cannot be combined with "
            "partitionOverwriteMode",
            code="option.write",
        )
    replaces = lowered.get("overwriteschema", "").lower() == "true"
    if replaces and (mode == "dynamic" or where is not None or not overwrite):
        raise InvalidArgumentError(
            "overwriteSchema replaces all rows with their columns, so it takes .mode('overwrite') "
            "without replaceWhere and partitionOverwriteMode",
            code="option.write",
        )
    known: dict[str, Any] = json.loads(lowered.get(OPTION, "{}"))  # what options say comes first
    if "partitionoverwritemode" not in lowered and where is None:
        mode = known.get("partitionOverwriteMode", "static")
    version = lowered.get("txnversion")
    if version is not None and "txnappid" not in lowered:
        raise InvalidArgumentError(
            "txnVersion counts the writes of an application: pass txnAppId with it",
            code="option.write",
        )
    application = lowered.get("txnappid")
    count = None if version is None else number("txnVersion", version)
    if application is None:
        application, count = known.get("txn", (None, None))
    return SinkOptions(
        path=Table(location).uri,  # the executors may be elsewhere
        storage={
            name[len(_STORAGE) :]: value
            for name, value in lowered.items()
            if name.startswith(_STORAGE)
        },
        roots=_names(lowered.get("allowedroots")),
        partition_by=_names(lowered.get("partitionby")) or _listed(known.get("partitionBy")),
        merge_schema=str(lowered.get("mergeschema", known.get("mergeSchema"))).lower() == "true",
        overwrite_schema=replaces,
        # not of the lowered names: those of properties have capitals
        properties={
            name: value for name, value in options.items() if name.lower().startswith(_PROPERTY)
        },
        default_properties=known.get("properties", {}),
        replace_where=where,
        dynamic=overwrite and mode == "dynamic",
        txn_app_id=application,
        txn_version=count,
        user_metadata=lowered.get("usermetadata", known.get("userMetadata")),
    )


def _listed(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


def _names(text: str | None) -> tuple[str, ...] | None:
    return tuple(name.strip() for name in text.split(",")) if text else None
