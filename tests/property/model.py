"""A slow and simple replay of actions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

WEEK = 7 * 24 * 3600 * 1000
Body = dict[str, Any]


def vector_id(vector: Body | None) -> str | None:
    """Return the id of a deletion vector: kind, path and, if there is one, offset."""
    if not vector:
        return None
    offset = vector.get("offset")
    name = str(vector["storageType"]) + str(vector["pathOrInlineDv"])
    return name if offset is None else f"{name}@{offset}"


def key(body: Body) -> tuple[str, str | None]:
    """Return the key of a logical file."""
    return body["path"], vector_id(body.get("deletionVector"))


@dataclass
class Model:
    """The state of a table after its commits."""

    protocol: Body | None = None
    metadata: Body | None = None
    files: dict[tuple[str, str | None], Body] = field(default_factory=dict)
    removed: dict[tuple[str, str | None], Body] = field(default_factory=dict)
    txns: dict[str, Body] = field(default_factory=dict)
    domains: dict[str, Body] = field(default_factory=dict)

    def replay(self, actions: Iterable[dict[str, Any]]) -> Model:
        """Apply the actions of one commit; their order does not matter."""
        for kind, body in (item for action in actions for item in action.items()):
            if kind == "protocol":
                self.protocol = body
            elif kind == "metaData":
                self.metadata = body
            elif kind == "txn":
                self.txns[body["appId"]] = body
            elif kind == "domainMetadata":
                self.domains[body["domain"]] = body
            elif kind == "add":
                self.files[key(body)] = body
                self.removed.pop(key(body), None)
            elif kind == "remove":
                self.removed[key(body)] = body
                self.files.pop(key(body), None)
        return self

    def tombstones(self, now: int) -> list[Body]:
        """Return the removed files that are younger than a week."""
        removed = self.removed.values()
        return [body for body in removed if (body.get("deletionTimestamp") or 0) > now - WEEK]

    def live_domains(self) -> dict[str, str]:
        """Return the domains that were not removed."""
        live = (body for body in self.domains.values() if not body.get("removed"))
        return {body["domain"]: body["configuration"] for body in live}
