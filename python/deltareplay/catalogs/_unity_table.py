"""``UnityTable``: the ``Catalog`` of a table of a Unity Catalog server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from deltareplay.catalogs import _unity_columns
from deltareplay.catalogs._catalog import (
    Credentials,
    LogTail,
    Ratification,
    RatifiedCommit,
    StagedCommit,
)
from deltareplay.catalogs._response_values import location_of, number_of
from deltareplay.catalogs._rest import Json, RestClient, RestError
from deltareplay.catalogs._unity_credentials import best_of
from deltareplay.catalogs._unity_errors import UNSUPPORTED_FORMAT, call_catalog, to_exception
from deltareplay.catalogs._unity_older import OlderTable

T = TypeVar("T")

#: The path of the API on a server.
API = "/api/2.1/unity-catalog"

#: The errors if another commit has the version.
_TAKEN = ("CommitVersionConflictException", "ALREADY_EXISTS", "ABORTED")
#: The errors if too many commits wait for their publication.
_EXHAUSTED = ("ResourceExhaustedException", "RESOURCE_EXHAUSTED")


@dataclass(frozen=True)
class Access:
    """The address and token for another client of the catalog, and the parts of the name."""

    uri: str
    parts: list[str]
    token: str = field(repr=False)


class UnityTable:
    """The catalog of a table of a Unity Catalog server; returned by ``UnityCatalog.locate``."""

    def __init__(self, client: RestClient, parts: list[str]) -> None:
        self._client = client
        self._parts = parts
        self._name = ".".join(parts)
        self._path = "/delta/v1" + client.path(
            "catalogs", parts[0], "schemas", parts[1], "tables", parts[2]
        )
        self._older: OlderTable | None = None
        self._metadata: dict[str, Any] = {}
        self._root = ""
        self._must_publish = False

    def find(self) -> str:
        """Return the table's root; only the first call makes a request."""
        if not self._metadata and self._older is None:
            self.load()
        return self._older.uri if self._older else self._root

    def load(self) -> LogTail:
        if self._older is not None:
            return self._call(self._older.load)
        try:
            answer = self._client.get(self._path)
        except RestError as error:
            if error.kind != UNSUPPORTED_FORMAT:
                raise to_exception(error, self._name) from error
            self._older = self._call(lambda: OlderTable(self._client, self._parts))
            return self._call(self._older.load)
        return self._call(lambda: self._tail(answer))

    def _tail(self, answer: Json) -> LogTail:
        metadata = answer["metadata"]
        root = location_of(metadata["location"])
        latest = answer.get("latest-table-version")
        commits = [
            RatifiedCommit(
                number_of(commit["version"]),
                str(commit["file-name"]),
                number_of(commit["file-size"]),
                number_of(commit["file-modification-timestamp"]),
            )
            for commit in answer.get("commits") or []
        ]
        tail = sorted(commits, key=lambda commit: commit.version)
        managed = metadata["table-type"] == "MANAGED" and latest is not None
        # -1: only version 0 exists, and it is published
        newest = max(number_of(latest, -1), 0) if managed else None
        table_id = str(metadata["table-uuid"])
        self._metadata, self._root = metadata, root
        return LogTail(newest, tail if managed else (), table_id)

    def commit(self, staged: StagedCommit) -> Ratification:
        self.find()
        try:
            if self._older is not None:
                self._older.commit(staged)
            else:
                self._client.post_commit(self._path, self._body(self._updates(staged)))
        except RestError as error:
            if error.kind in _TAKEN:
                return "taken"
            if error.kind in _EXHAUSTED:
                self._must_publish = True
                return "publish-first"
            raise to_exception(error, self._name) from error
        return "ratified"

    def published(self, version: int) -> None:
        if not self._must_publish:
            return  # the next commit reports the version, in the same request
        self._must_publish = False
        if self._older is not None:
            older = self._older
            self._call(lambda: older.published(version))
            return
        self._call(lambda: self._client.post(self._path, self._body([_published(version)])))

    def credentials(self, operation: Literal["READ", "READ_WRITE"]) -> Credentials | None:
        location = self.find()
        if self._older is not None:
            older = self._older
            return self._call(lambda: older.credentials(operation))
        path, query = f"{self._path}/credentials", {"operation": operation}
        return self._call(lambda: best_of(self._client.get(path, query), location))

    def access(self) -> Access | None:
        """Return the address and token for other clients; None for a table of the older API."""
        self.find()
        if self._older is not None:
            return None
        return Access(self._client.base.removesuffix(API), self._parts, self._client.token())

    def _updates(self, staged: StagedCommit) -> list[Json]:
        commit = {
            "version": staged.version,
            "timestamp": staged.timestamp,
            "file-name": staged.file_name,
            "file-size": staged.size,
            "file-modification-timestamp": staged.modification_time,
        }
        actions: list[Json] = [{"action": "add-commit", "commit": commit}]
        if staged.published_version is not None:
            actions.append(_published(staged.published_version))
        if staged.protocol is not None:
            actions.append(
                {"action": "set-protocol", "protocol": _unity_columns.protocol(staged.protocol)}
            )
        if staged.metadata is not None:
            actions += _unity_columns.metadata_updates(staged.metadata, self._metadata)
        updates, removals = _unity_columns.domains(staged.domain_metadata)
        if updates:
            actions.append({"action": "set-domain-metadata", "updates": updates})
        if removals:
            actions.append({"action": "remove-domain-metadata", "domains": removals})
        return actions

    def _body(self, updates: list[Json]) -> Json:
        uuid = self._metadata["table-uuid"]
        return {"requirements": [{"type": "assert-table-uuid", "uuid": uuid}], "updates": updates}

    def _call(self, call: Callable[[], T]) -> T:
        """Call ``call_catalog`` with the name of this table."""
        return call_catalog(call, self._name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnityTable) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[str, str]:
        return self._client.base, self._name

    def __reduce__(self) -> tuple[object, ...]:
        return UnityTable, (self._client, self._parts)

    def __repr__(self) -> str:
        return f"UnityTable({self._name!r})"


def _published(version: int) -> Json:
    return {"action": "set-latest-backfilled-version", "latest-published-version": version}
