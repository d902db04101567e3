"""Handwritten Delta logs: every kind of file of the transaction log, from plain dicts.

An action is a dict with one key, as in a line of a commit: ``{"add": {...}}``. The functions
``add``, ``remove``, ``metadata`` and so on (``support.actions``) create them; ``write_commit``,
``write_checkpoint``, ``write_sidecar`` and so on (``support.files``) write them to files of a
table directory. ``LogBuilder`` keeps the history and writes checkpoints, compacted files and
checksums of its state. This module exports all of it: ``from support import logs``.

Nothing is validated: tests can create invalid logs. Nothing here uses deltareplay, so that
expected values are independent of it.

>>> import tempfile
>>> log = LogBuilder(tempfile.mkdtemp())
>>> log.create(schema(id="long"))
0
>>> log.commit(add("a.parquet"), add("b.parquet"))
1
>>> log.commit(remove("a.parquet"))
2
>>> sorted(log.state().live_paths())
['b.parquet']
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from support.actions import *  # noqa: F403
from support.actions import Action, arrow_type, commit_info, metadata, present, protocol
from support.files import *  # noqa: F403
from support.files import (
    checkpoint_schema,
    classic_name,
    commit_name,
    log_dir,
    write_checkpoint,
    write_checksum,
    write_commit,
    write_compacted,
    write_hint,
    write_multipart,
    write_v2,
)


def file_key(body: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return the key of reconciliation: path and unique id of the deletion vector."""
    vector = body.get("deletionVector")
    unique = None
    if vector:
        unique = vector["storageType"] + vector["pathOrInlineDv"]
        if vector.get("offset") is not None:
            unique += f"@{vector['offset']}"
    return body["path"], unique


@dataclass
class State:
    """The state of a log: plain dicts, by their keys, in the order of the log."""

    protocol: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    adds: dict[tuple[str, str | None], dict[str, Any]] = field(default_factory=dict)
    removes: dict[tuple[str, str | None], dict[str, Any]] = field(default_factory=dict)
    txns: dict[str, dict[str, Any]] = field(default_factory=dict)
    domains: dict[str, dict[str, Any]] = field(default_factory=dict)
    removed_domains: dict[str, dict[str, Any]] = field(default_factory=dict)

    def apply(self, actions: Iterable[Action]) -> State:
        """Apply one commit."""
        for action in actions:
            for kind, body in action.items():
                self._apply(kind, body)
        return self

    def _apply(self, kind: str, body: dict[str, Any]) -> None:
        if kind == "protocol":
            self.protocol = body
        elif kind == "metaData":
            self.metadata = body
        elif kind == "txn":
            self.txns[body["appId"]] = body
        elif kind == "domainMetadata":
            domains, opposite = self.domains, self.removed_domains
            if body["removed"]:
                domains, opposite = opposite, domains
            opposite.pop(body["domain"], None)
            domains[body["domain"]] = body
        elif kind == "add":
            self.removes.pop(file_key(body), None)
            self.adds.pop(file_key(body), None)
            self.adds[file_key(body)] = {**body, "dataChange": False}
        elif kind == "remove":
            self.adds.pop(file_key(body), None)
            self.removes[file_key(body)] = {**body, "dataChange": False}

    def live_paths(self) -> list[str]:
        """Return the paths of the live files as in the log."""
        return [body["path"] for body in self.adds.values()]

    def actions(self, *, removed_domains: bool = False) -> list[Action]:
        """Return the state as actions: rows of a checkpoint, or lines of a compacted file."""
        actions: list[Action] = []
        if self.protocol is not None:
            actions.append({"protocol": self.protocol})
        if self.metadata is not None:
            actions.append({"metaData": self.metadata})
        actions += [{"txn": body} for body in self.txns.values()]
        actions += [{"domainMetadata": body} for body in self.domains.values()]
        if removed_domains:
            actions += [{"domainMetadata": body} for body in self.removed_domains.values()]
        actions += [{"add": body} for body in self.adds.values()]
        actions += [{"remove": body} for body in self.removes.values()]
        return actions


class LogBuilder:
    """Write a history, commit by commit, and keep it.

    Attributes:
        table: The table directory.
        commits: The actions of every commit, by version. ``state`` replays these, not the files.
    """

    def __init__(self, table: str | os.PathLike[str]) -> None:
        self.table = Path(table)
        self.commits: list[list[Action]] = []
        log_dir(self.table)

    @property
    def uri(self) -> str:
        """Return the table directory as text, as a user would pass it."""
        return str(self.table)

    @property
    def version(self) -> int:
        """Return the last version written; -1 before the first."""
        return len(self.commits) - 1

    def create(
        self,
        schema_string: str,
        *actions: Action,
        protocol_action: Action | None = None,
        modified: int | None = None,
        **options: Any,
    ) -> int:
        """Write version 0: protocol, metadata (``options`` go to ``metadata``), more actions."""
        first = [
            commit_info("CREATE TABLE"),
            protocol_action or protocol(),
            metadata(schema_string, **options),
            *actions,
        ]
        return self.commit(*first, modified=modified)

    def commit(self, *actions: Action, modified: int | None = None) -> int:
        """Write the next commit with exactly these actions; return its version."""
        self.commits.append(list(actions))
        write_commit(self.table, self.version, actions, modified=modified)
        return self.version

    def state(self, version: int | None = None) -> State:
        """Return the state at ``version``, the last one by default; nothing expires."""
        last = self.version if version is None else version
        return self._replay(0, last)

    def _replay(self, start: int, end: int) -> State:
        state = State()
        for actions in self.commits[start : end + 1]:
            state.apply(actions)
        return state

    def stats_type(self, version: int | None = None) -> pa.DataType:
        """Return the type of ``stats_parsed`` for top-level columns that can have statistics."""
        metadata = self.state(version).metadata or {}
        fields = json.loads(metadata["schemaString"])["fields"]
        data = [f for f in fields if f["name"] not in metadata["partitionColumns"]]
        low = pa.struct(
            [
                (f["name"], arrow_type(f["type"]))
                for f in data
                if isinstance(f["type"], str) and f["type"] not in ("boolean", "binary")
            ]
        )
        nulls = pa.struct([(f["name"], pa.int64()) for f in data if isinstance(f["type"], str)])
        return pa.struct(
            [
                ("numRecords", pa.int64()),
                ("minValues", low),
                ("maxValues", low),
                ("nullCount", nulls),
                ("tightBounds", pa.bool_()),
            ]
        )

    def checkpoint(
        self,
        version: int | None = None,
        *,
        kind: str = "classic",
        parts: int = 2,
        hint: bool = True,
        stats_type: pa.DataType | None = None,
        partition_type: pa.DataType | None = None,
        drop: Sequence[str] = (),
        **parquet: Any,
    ) -> list[Path]:
        """Write a checkpoint of the state at ``version``.

        Args:
            version: The last version by default.
            kind: ``classic``, ``multipart``, ``v2-json``, ``v2-parquet``, ``v2-classic`` (V2
                content, classic name), ``v2-inline-json`` or ``v2-inline-parquet`` (no sidecars).
            parts: Parts or sidecars.
            hint: Writes ``_last_checkpoint`` as well.
            stats_type: Adds ``stats_parsed`` of this type, filled from the JSON statistics;
                ``drop=["add.stats"]`` omits these.
            partition_type: Adds ``partitionValues_parsed``; the ``add`` actions must have its
                values under that key.
            drop: Fields to omit, such as ``"add.stats"``; not for V2.
            parquet: Options of ``pyarrow.parquet.write_table``.

        Returns:
            The files written; for V2 the manifest alone.
        """
        version = self.version if version is None else version
        rows = self.state(version).actions()
        typed = {"stats_type": stats_type, "partition_type": partition_type}
        if kind in ("classic", "multipart"):
            schema = checkpoint_schema(drop=drop, **typed)
            if kind == "classic":
                paths = [write_checkpoint(self.table, version, rows, schema=schema, **parquet)]
            else:
                paths = write_multipart(self.table, version, rows, parts, schema=schema, **parquet)
        else:
            inline = "inline" in kind
            suffix = "json" if kind.endswith("json") else "parquet"
            name = classic_name(version) if kind == "v2-classic" else None
            sidecars = 0 if inline else parts
            paths = [
                write_v2(
                    self.table,
                    version,
                    rows,
                    suffix=suffix,
                    sidecars=sidecars,
                    name=name,
                    **typed,
                    **parquet,
                )
            ]
        if hint:
            extra = {"parts": parts} if kind == "multipart" else {}
            write_hint(self.table, version, len(rows), **extra)
        return paths

    def compact(self, start: int, end: int) -> Path:
        """Write the compacted file of the commits ``start`` to ``end``."""
        return write_compacted(self.table, start, end, self.compacted_actions(start, end))

    def compacted_actions(self, start: int, end: int) -> list[Action]:
        """Return the actions of the compacted file of the commits ``start`` to ``end``."""
        return self._replay(start, end).actions(removed_domains=True)

    def checksum(self, version: int | None = None, **extra: Any) -> Path:
        """Write the checksum of ``version``; ``extra`` overrides fields, None omits one."""
        version = self.version if version is None else version
        return write_checksum(self.table, version, checksum_body(self.state(version), **extra))

    def delete_commits(self, below: int) -> None:
        """Delete the commit files of the versions below ``below``, as log cleanup does."""
        for version in range(below):
            (log_dir(self.table) / commit_name(version)).unlink(missing_ok=True)


def checksum_body(state: State, **extra: Any) -> dict[str, Any]:
    """Return the body of ``<version>.crc`` for a state; ``None`` in ``extra`` omits a field."""
    adds = list(state.adds.values())
    body: dict[str, Any] = {
        "tableSizeBytes": sum(a["size"] for a in adds),
        "numFiles": len(adds),
        "numMetadata": 1,
        "numProtocol": 1,
        "setTransactions": list(state.txns.values()),
        "domainMetadata": list(state.domains.values()),
        "metadata": state.metadata,
        "protocol": state.protocol,
    }
    return present({**body, **extra})
