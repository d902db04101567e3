"""``UnityStaging``: a table of a Unity Catalog server while it is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from deltareplay import _native
from deltareplay._row_sources import schema_string
from deltareplay.catalogs import _unity_columns as spelled
from deltareplay.catalogs._credentials import Credentials
from deltareplay.catalogs._log_tail import LogTail
from deltareplay.catalogs._rest import Json, RestClient, RestError
from deltareplay.catalogs._staged_commit import Ratification, StagedCommit
from deltareplay.catalogs._unity_credentials import best_of
from deltareplay.catalogs._unity_errors import refused
from deltareplay.catalogs._unity_table import UnityTable
from deltareplay.exceptions import DeltaReplayError, StorageError

if TYPE_CHECKING:
    import pyarrow as pa

    from deltareplay._table import Table


class UnityStaging:
    """A table of a Unity Catalog server while it is made: the ``Catalog`` of its first version."""

    def __init__(self, client: RestClient, parts: list[str]) -> None:
        self._client = client
        self._parts = parts
        self._name = ".".join(parts)
        self._schema_path = "/delta/v1" + client.path("catalogs", parts[0], "schemas", parts[1])
        self._staged: Json = {}
        self._asked_before = False
        self._is_written = False

    def create(
        self,
        schema: pa.Schema,
        partition_columns: list[str],
        properties: Mapping[str, str],
        description: str | None,
        storage_options: Mapping[str, str] | None,
    ) -> Table:
        """Makes the table: its place, its first version, its entry in the catalog."""
        from deltareplay._table import Table, create_table

        staged = self._post("/staging-tables", {"name": self._parts[2]})
        try:
            location = str(staged["location"])
            wanted = self._properties(schema, partition_columns, properties, staged)
            self._staged = staged
        except (KeyError, TypeError) as error:
            raise StorageError(
                f"the catalog's answer about {self._name} lacks {error}", code="catalog.response"
            ) from error
        made = create_table(
            location,
            schema,
            partition_columns,
            wanted,
            description=description,
            storage_options=storage_options,
            catalog=self,
        )
        first = made.snapshot()
        body: Json = {
            "name": self._parts[2],
            "location": location,
            "table-type": "MANAGED",
            "columns": spelled.columns(first.metadata.schema_string),
            "partition-columns": list(first.metadata.partition_columns),
            "protocol": spelled.protocol(first.protocol),
            "properties": first.metadata.configuration,
            "last-commit-timestamp-ms": round(first.timestamp.timestamp() * 1000),
        }
        if description is not None:
            body["comment"] = description
        domains, _ = spelled.domains(first.domain_metadata)
        if domains:
            body["domain-metadata"] = domains
        self._post("/tables", body)
        return Table(location, storage_options, catalog=UnityTable(self._client, self._parts))

    def _properties(
        self,
        schema: pa.Schema,
        partition_columns: list[str],
        own: Mapping[str, str],
        staged: Json,
    ) -> dict[str, str]:
        """What the catalog requires, the user wants, and the catalog suggests, in this order."""
        features = staged["required-protocol"].get("writer-features") or []
        found = {f"delta.feature.{name}": "supported" for name in features}
        given = dict(own)
        for key, value in (staged.get("required-properties") or {}).items():
            if value is not None:
                found[key] = str(value)
                given.pop(key, None)
        found |= given
        suggested = staged.get("suggested-properties") or {}
        for key, value in suggested.items():
            if value is None or key in found:
                continue
            try:
                tried = {**found, key: str(value)}
                _native.new_table(schema_string(schema), partition_columns, tried)
            except DeltaReplayError:
                continue  # it suggests what cannot be written here
            found = tried
        return found

    def _post(self, path: str, body: Json) -> Json:
        try:
            return self._client.post(self._schema_path + path, body)
        except RestError as error:
            raise refused(error, self._name) from error

    def load(self) -> LogTail:
        return LogTail(0 if self._is_written else None, allowed=["take_over"])

    def commit(self, staged: StagedCommit) -> Ratification:
        raise AssertionError(f"version {staged.version} comes after the table was made")

    def published(self, version: int) -> None:
        self._is_written = version >= 0

    def credentials(self, _: Literal["READ", "READ_WRITE"]) -> Credentials | None:
        answer = self._staged
        if self._asked_before:  # they have expired
            path = "/delta/v1" + self._client.path(
                "staging-tables", str(answer["table-id"]), "credentials"
            )
            try:
                answer = self._client.get(path)
            except RestError as error:
                raise refused(error, self._name) from error
        self._asked_before = True
        return best_of(answer, str(self._staged["location"]))
