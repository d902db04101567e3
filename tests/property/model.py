"""Replay in fifty lines of code: what a log says, read in the slowest and plainest way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

WEEK = 7 * 24 * 3600 * 1000
Body = dict[str, Any]


def vector_id(vector: Body | None) -> str | None:
    """The name of a deletion vector: kind, place and, where there is one, offset."""
    if not vector:
        return None
    offset = vector.get("offset")
    name = str(vector["storageType"]) + str(vector["pathOrInlineDv"])
    return name if offset is None else f"{name}@{offset}"


def key(body: Body) -> tuple[str, str | None]:
    """What tells one logical file from another."""
    return body["path"], vector_id(body.get("deletionVector"))


@dataclass
class Model:
    """The state of a table after the commits that it was given."""

    protocol: Body | None = None
    metadata: Body | None = None
    files: dict[tuple[str, str | None], Body] = field(default_factory=dict)
    removed: dict[tuple[str, str | None], Body] = field(default_factory=dict)
    txns: dict[str, Body] = field(default_factory=dict)
    domains: dict[str, Body] = field(default_factory=dict)

    def replay(self, actions: Iterable[dict[str, Any]]) -> Model:
        """Takes in the actions of one commit; within it their order does not matter."""
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
        """The removed files that are younger than a week."""
        removed = self.removed.values()
        return [body for body in removed if (body.get("deletionTimestamp") or 0) > now - WEEK]

    def live_domains(self) -> dict[str, str]:
        """The domains that nobody took away."""
        live = (body for body in self.domains.values() if not body.get("removed"))
        return {body["domain"]: body["configuration"] for body in live}
