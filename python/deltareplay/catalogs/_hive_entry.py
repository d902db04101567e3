"""``HiveEntry``: the entry of a table in a Hive Metastore or Glue."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from deltareplay._support.uris import CATALOG_SCHEMES
from deltareplay.exceptions import TableNotFoundError

#: The properties that name a table's format: the first of Spark and Trino, the second of Athena,
#: the third of crawlers, the last of others.
_FORMATS = ("spark.sql.sources.provider", "table_type", "classification", "provider")
#: The end of Spark's invented location for a table whose location is a property.
_PLACEHOLDER = "-__PLACEHOLDER__"
#: Characters of the name of a format, and of a location, that an error repeats.
_MAX_FORMAT = 100
_MAX_LOCATION = 1000
#: The directory of Delta's manifests, for engines that do not read its log.
_MANIFESTS = "/_symlink_format_manifest"


@dataclass(frozen=True)
class HiveEntry:
    """The entry of a table in a Hive Metastore or Glue.

    Attributes:
        name: The table's name, for messages.
        kind: The type, e.g. ``EXTERNAL_TABLE`` or ``VIRTUAL_VIEW``.
        location: The location of its storage descriptor.
        input_format: The Java class with which Hive reads it.
        parameters: The properties of the table.
        serde_parameters: The properties of its storage descriptor's serialization.
    """

    name: str
    kind: str = ""
    location: str = ""
    input_format: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    serde_parameters: Mapping[str, str] = field(default_factory=dict)

    def root(self) -> str:
        """Return the table's root, as for ``Table``.

        Spark and Trino store it as ``path`` of the serialization, which takes precedence over the
        location: Spark invents the location of tables outside the warehouse.

        Raises:
            TableNotFoundError: ``catalog.not_delta``: it is not a Delta table, or lists the files
                of one; ``catalog.no_location``: there is no location.

        >>> parameters = {"spark.sql.sources.provider": "delta"}
        >>> HiveEntry("sales.orders", location="s3a://lake/a%b", parameters=parameters).root()
        's3a://lake/a%25b'
        """
        own, serde = _lower(self.parameters), _lower(self.serde_parameters)
        candidates = (serde.get("path", ""), own.get("path", ""), self.location)
        locations = [
            location for location in candidates if location and not location.endswith(_PLACEHOLDER)
        ]
        for location in locations:
            table, separator, _ = location.partition(_MANIFESTS)
            if separator:
                raise self._is_not_delta(
                    f"lists the files of a Delta table, of a version that may be old. Open the "
                    f"table itself: {table[:_MAX_LOCATION]}"
                )
        if "VIEW" in self.kind.upper():
            raise self._is_not_delta("is a view, and not a Delta table")
        formats = [own[key] for key in _FORMATS if own.get(key)]
        handler = own.get("storage_handler", "").rpartition(".")[2]
        if "delta" not in map(str.lower, formats) and handler != "DeltaStorageHandler":
            kinds = [*formats, handler, self.input_format.rpartition(".")[2]]
            kind = next(filter(None, kinds), "unknown")[:_MAX_FORMAT]
            raise self._is_not_delta(f"is a table of the format {kind}, and not a Delta table")
        for location in locations:
            scheme = _scheme(location)
            # a name of a table would lead to a catalog again
            if scheme and f"{scheme}://" not in CATALOG_SCHEMES:
                return _uri(location)
        for location in locations:
            if location.startswith("/"):
                return location
        raise TableNotFoundError(
            f"{self.name} is a Delta table, and the catalog does not have its location. Open it "
            "by its location, or register it with one",
            code="catalog.no_location",
        )

    def _is_not_delta(self, reason: str) -> TableNotFoundError:
        return TableNotFoundError(f"{self.name} {reason}", code="catalog.not_delta")


def _lower(parameters: Mapping[str, str]) -> dict[str, str]:
    return {key.lower(): value for key, value in parameters.items()}


def _scheme(location: str) -> str:
    match = re.match(r"([A-Za-z][A-Za-z0-9+.-]*):", location)
    return match[1].lower() if match else ""


def _uri(location: str) -> str:
    """Return the URI of a Hadoop path, which is not percent-encoded."""
    if _scheme(location) == "s3n":  # s3a has replaced it
        location = f"s3{location[3:]}"
    return location.replace("%", "%25")
