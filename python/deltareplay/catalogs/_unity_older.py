"""The API of Unity Catalog servers before the one for Delta tables."""

from __future__ import annotations

from typing import Literal

from deltareplay.catalogs._catalog import Credentials, LogTail, RatifiedCommit, StagedCommit
from deltareplay.catalogs._response_values import location_of, number_of
from deltareplay.catalogs._rest import Json, RestClient
from deltareplay.catalogs._unity_credentials import of_older

#: Unpublished commits usually fill one or two pages.
_MAX_PAGES = 100
_COMMITS = "/delta/preview/commits"
_MANAGED = ("delta.feature.catalogManaged", "delta.feature.catalogOwned-preview")


class OlderTable:
    """A table of the older API.

    Attributes:
        uri: Its root.
    """

    def __init__(self, client: RestClient, parts: list[str]) -> None:
        self._client = client
        table = client.get(client.path("tables", ".".join(parts)))
        self.uri = location_of(table["storage_location"])
        self._id = str(table["table_id"])
        properties = table.get("properties") or {}
        self._is_managed = any(properties.get(key) == "supported" for key in _MANAGED)

    def load(self) -> LogTail:
        if not self._is_managed:
            return LogTail(None, table_id=self._id)
        commits: dict[int, RatifiedCommit] = {}
        start = 0
        for _page in range(_MAX_PAGES):
            request = {"table_id": self._id, "table_uri": self.uri, "start_version": start}
            answer = self._client.get(_COMMITS, body=request)
            page = [_commit(commit) for commit in answer.get("commits") or []]
            commits.update({commit.version: commit for commit in page})
            latest = number_of(answer.get("latest_table_version", -1), -1)
            newest = max((commit.version for commit in page), default=latest)
            if newest >= latest or newest < start:
                break
            start = newest + 1
        else:
            raise ValueError(f"its list of commits has more than {_MAX_PAGES} pages")
        tail = [commits[version] for version in sorted(commits)]
        # -1: nothing was committed since the first version, which is published
        return LogTail(max(latest, 0), tail, self._id)

    def commit(self, staged: StagedCommit) -> None:
        """Commit a staged file.

        Raises:
            RestError: The server rejects the commit.
        """
        body = self._identity()
        body["commit_info"] = {
            "version": staged.version,
            "timestamp": staged.timestamp,
            "file_name": staged.file_name,
            "file_size": staged.size,
            "file_modification_timestamp": staged.modification_time,
        }
        if staged.published_version is not None:
            body["latest_backfilled_version"] = staged.published_version
        if staged.metadata is not None:
            body["metadata"] = {
                "description": staged.metadata.description,
                "properties": {"properties": staged.metadata.configuration},
            }
        self._client.post_commit(_COMMITS, body)

    def published(self, version: int) -> None:
        self._client.post(_COMMITS, {**self._identity(), "latest_backfilled_version": version})

    def credentials(self, operation: Literal["READ", "READ_WRITE"]) -> Credentials | None:
        request = {"table_id": self._id, "operation": operation}
        return of_older(self._client.post("/temporary-table-credentials", request))

    def _identity(self) -> Json:
        return {"table_id": self._id, "table_uri": self.uri}


def _commit(commit: Json) -> RatifiedCommit:
    return RatifiedCommit(
        number_of(commit["version"]),
        str(commit["file_name"]),
        number_of(commit["file_size"]),
        number_of(commit["file_modification_timestamp"]),
    )
