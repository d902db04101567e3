"""Commits as a person reads them: who did what, and how much."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from deltareplay._support.units import whole
from deltareplay.cli._format import plain
from deltareplay.cli._output import Column, Output
from deltareplay.cli._records import records

if TYPE_CHECKING:
    from deltareplay import Table


def commits(table: Table, limit: int | None) -> Iterator[dict[str, Any]]:
    """The commits, newest first, as rows."""
    return records(table.history(limit).to_batches())


def who(commit: Mapping[str, Any]) -> str:
    """The user, or else the engine, that made a commit.

    >>> who({"userName": None, "userId": "7", "engineInfo": "Spark"}), who({})
    ('7 with Spark', '')
    """
    user = commit.get("userName") or commit.get("userId")
    engine = commit.get("engineInfo")
    return plain(f"{user} with {engine}" if user and engine else user or engine)


def effect(commit: Mapping[str, Any]) -> str:
    """How many rows and files a commit wrote (+), changed (~) and removed (-), by its metrics.

    >>> effect({"operationMetrics": {"numOutputRows": "30", "numFiles": "3"}})
    '+30 rows, +3 files'
    >>> effect({"operationMetrics": {"numDeletedRows": "2", "numRemovedFiles": "1"}})
    '-2 rows, -1 file'
    >>> effect({"operationMetrics": {"numRestoredFiles": "1", "numRemovedFiles": "2"}})
    '+1 -2 files'
    """
    metrics = commit.get("operationMetrics") or {}

    def of(*names: str) -> int:
        counts = (whole(metrics.get(name)) for name in names)
        return next((count for count in counts if count is not None), 0)

    changed = {
        "+": of("numTargetRowsInserted"),
        "~": of("numTargetRowsUpdated", "numUpdatedRows"),
        "-": of("numTargetRowsDeleted", "numDeletedRows"),
    }
    if not any(changed.values()):
        changed["+"] = of("numOutputRows")
    files = {
        "+": of("numAddedFiles", "numTargetFilesAdded", "numRestoredFiles", "numFiles"),
        "-": of("numRemovedFiles", "numTargetFilesRemoved"),
    }
    parts = [_signed(changed, "row"), _signed(files, "file")]
    return ", ".join(part for part in parts if part)


def _signed(numbers: Mapping[str, int], noun: str) -> str:
    there = {sign: number for sign, number in numbers.items() if number}
    if not there:
        return ""
    text = " ".join(f"{sign}{number:,}" for sign, number in there.items())
    return f"{text} {noun}{'' if list(there.values()) == [1] else 's'}"


def parameters(arguments: Mapping[str, str | None] | None) -> str:
    """The parameters of an operation, such as its condition, without empty ones.

    >>> parameters({"predicate": '["id = 8"]', "partitionBy": "[]"}), parameters(None)
    ('predicate: id = 8', '')
    """
    texts = {name: _unwrapped(text) for name, text in (arguments or {}).items()}
    return ", ".join(f"{plain(name)}: {text}" for name, text in texts.items() if text)


def _unwrapped(text: str | None) -> str:
    """Texts in a list of JSON, without the list; writers wrap conditions and columns so."""
    if not text or text in ("[]", "{}", "null"):
        return ""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return plain(", ".join(value))
    return plain(text)


def columns(output: Output) -> list[Column]:
    """The columns of commits for people; with their parameters on a wide terminal."""
    operation_parameters = Column("operationParameters", "Parameters", parameters, cut=True)
    return [
        Column("version", "Version", right=True),
        output.times("timestamp", "Time"),
        Column("operation", "Operation"),
        Column("effect", "Rows and files"),
        Column("by", "By", cut=True),
        *([operation_parameters] if output.is_wide else []),
    ]


def with_parameters(commit: dict[str, Any]) -> dict[str, Any]:
    """A commit with what only a person asks for."""
    return {**commit, "effect": effect(commit), "by": who(commit).replace("Apache-", "")}
