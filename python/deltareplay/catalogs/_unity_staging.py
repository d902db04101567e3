"""``UnityStaging``: a table of a Unity Catalog server while it is created."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from deltareplay import _native
from deltareplay.catalogs import _unity_columns
from deltareplay.catalogs._catalog import Credentials, LogTail, Ratification, StagedCommit
from deltareplay.catalogs._response_values import location_of
from deltareplay.catalogs._rest import Json, RestClient
from deltareplay.catalogs._unity_credentials import best_of
from deltareplay.catalogs._unity_errors import call_catalog
from deltareplay.catalogs._unity_table import UnityTable
from deltareplay.exceptions import DeltaReplayError

if TYPE_CHECKING:
    import datetime

    from deltareplay._protocol.metadata import Metadata
    from deltareplay._protocol.protocol import Protocol


class UnityStaging:
    """A table of a Unity Catalog server while it is created: the ``Catalog`` of version 0."""

    def __init__(self, client: RestClient, parts: list[str]) -> None:
        self._client = client
        self._parts = parts
        self._name = ".".join(parts)
        self._schema_path = "/delta/v1" + client.path("catalogs", parts[0], "schemas", parts[1])
        self._staged = self._post("/staging-tables", {"name": parts[2]})
        self._has_used_credentials = False
        self._is_written = False
        #: The location that the catalog chose.
        self.location = call_catalog(lambda: location_of(self._staged["location"]), self._name)

    def properties(
        self, schema: str, partition_columns: list[str], own: Mapping[str, str]
    ) -> dict[str, str]:
        """Merge the required, the user's and the suggested properties, in this order."""
        return call_catalog(lambda: self._properties(schema, partition_columns, own), self._name)

    def _properties(
        self, schema: str, partition_columns: list[str], own: Mapping[str, str]
    ) -> dict[str, str]:
        features = self._staged["required-protocol"].get("writer-features") or []
        properties = {f"delta.feature.{name}": "supported" for name in features}
        remaining = dict(own)
        for key, value in (self._staged.get("required-properties") or {}).items():
            if value is not None:
                properties[key] = str(value)
                remaining.pop(key, None)
        properties |= remaining
        suggested = self._staged.get("suggested-properties") or {}
        for key, value in suggested.items():
            if value is None or key in properties:
                continue
            try:
                extended = {**properties, key: str(value)}
                _native.new_table(schema, partition_columns, extended)
            except DeltaReplayError:
                continue  # this release cannot write a table with the suggested property
            properties = extended
        return properties

    def register(
        self,
        metadata: Metadata,
        protocol: Protocol,
        domain_metadata: Mapping[str, str],
        timestamp: datetime.datetime,
    ) -> UnityTable:
        """Register the table after its first version is written: one request."""
        body: Json = {
            "name": self._parts[2],
            "location": self.location,
            "table-type": "MANAGED",
            "columns": _unity_columns.columns(metadata.schema_string),
            "partition-columns": list(metadata.partition_columns),
            "protocol": _unity_columns.protocol(protocol),
            "properties": metadata.configuration,
            "last-commit-timestamp-ms": round(timestamp.timestamp() * 1000),
        }
        if metadata.description is not None:
            body["comment"] = metadata.description
        domains, _ = _unity_columns.domains(domain_metadata)
        if domains:
            body["domain-metadata"] = domains
        self._post("/tables", body)
        return UnityTable(self._client, self._parts)

    def _post(self, path: str, body: Json) -> Json:
        return call_catalog(lambda: self._client.post(self._schema_path + path, body), self._name)

    def load(self) -> LogTail:
        return LogTail(0 if self._is_written else None, allowed=["take_over"])

    def commit(self, staged: StagedCommit) -> Ratification:
        raise AssertionError(
            f"version {staged.version} cannot be committed before the table is registered"
        )

    def published(self, version: int) -> None:
        self._is_written = version >= 0

    def credentials(self, _: Literal["READ", "READ_WRITE"]) -> Credentials | None:
        answer = self._staged
        if self._has_used_credentials:  # they have expired
            path = "/delta/v1" + self._client.path(
                "staging-tables", str(answer["table-id"]), "credentials"
            )
            answer = call_catalog(lambda: self._client.get(path), self._name)
        self._has_used_credentials = True
        return call_catalog(lambda: best_of(answer, self.location), self._name)
