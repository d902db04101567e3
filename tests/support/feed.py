"""Tables whose rows change: commits with data files, change data files and deletion vectors."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

import deltareplay as dr
from support import data, logs
from support.actions import Action

#: The configuration that enables the feed.
ON = {"delta.enableChangeDataFeed": "true"}
VECTORS = ("deletionVectors",)

#: The changes of the table of ``write_example``.
EXAMPLE_CHANGES = {
    ("jack", "apple", "insert", 1),
    ("sarah", "orange", "insert", 1),
    ("john", "pineapple", "insert", 1),
    ("jack", "apple", "update_preimage", 2),
    ("jack", "banana", "update_postimage", 2),
    ("john", "pineapple", "delete", 3),
}


def changed_rows(changes: dr.Changes) -> set[tuple[Any, ...]]:
    """Return the changes without timestamps; fails on duplicates."""
    rows = changes.to_arrow().drop_columns(["_commit_timestamp"]).to_pylist()
    result = [tuple(row.values()) for row in rows]
    assert len(result) == len(set(result))
    return set(result)


def removal(add: Action, **extra: Any) -> Action:
    """Return the ``remove`` of the file of an ``add``."""
    body = add["add"]
    return logs.remove(
        body["path"],
        partition_values=body["partitionValues"],
        size=body["size"],
        deletion_vector=body.get("deletionVector"),
        **{k: body[k] for k in ("baseRowId", "defaultRowCommitVersion") if k in body},
        **extra,
    )


def with_vector(add: Action, deleted: Iterable[int]) -> Action:
    """Return the same file with these rows deleted."""
    from support import vectors

    body = {key: value for key, value in add["add"].items() if key != "deletionVector"}
    rows = sorted(set(deleted))
    return {"add": {**body, **({"deletionVector": vectors.inline(rows)} if rows else {})}}


def change_file(
    root: Path,
    name: str,
    rows: dict[str, Any],
    types: list[str],
    partition_values: dict[str, str | None] | None = None,
) -> Action:
    """Write a change data file; return its ``cdc`` action."""
    add = data.write(root, f"_change_data/{name}", pa.table({**rows, "_change_type": types}))
    path, size = add["add"]["path"], add["add"]["size"]
    return logs.cdc(path, size=size, partition_values=partition_values)


def write_example(log: logs.LogBuilder, *, vectors: bool, feed: bool = False) -> None:
    """Write a table with three inserts, an update and a delete.

    Args:
        log: An empty log.
        vectors: Whether to delete rows by deletion vectors instead of rewriting files.
        feed: Whether to enable the change data feed, and write its files.
    """
    root = log.table
    protocol = logs.features(*VECTORS, writer_only=["changeDataFeed"]) if vectors else None
    log.create(
        logs.schema(name="string", fruit="string"),
        protocol_action=protocol or logs.protocol(1, 4),
        configuration=ON if feed else {},
    )
    names, fruits = ["jack", "sarah", "john"], ["apple", "orange", "pineapple"]
    first = data.write(root, "1.parquet", {"name": names, "fruit": fruits})
    log.commit(logs.commit_info("WRITE"), first)

    pair = {"name": ["jack", "jack"], "fruit": ["apple", "banana"]}
    changed = change_file(root, "2.parquet", pair, ["update_preimage", "update_postimage"])
    update = logs.commit_info("UPDATE", operationParameters={"predicate": '["(name#56 = jack)"]'})
    if vectors:
        two = data.write(root, "2.parquet", {"name": ["jack"], "fruit": ["banana"]})
        masked = with_vector(first, [0])
        actions = [removal(first), masked, two]
    else:
        rows = {"name": names, "fruit": ["banana", *fruits[1:]]}
        masked = data.write(root, "2.parquet", rows)
        actions = [removal(first), masked]
    log.commit(update, *actions, *([changed] if feed else []))

    deletes = change_file(root, "3.parquet", {"name": ["john"], "fruit": ["pineapple"]}, ["delete"])
    if vectors:
        actions = [removal(masked), with_vector(first, [0, 2])]
    else:
        rows = {"name": names[:2], "fruit": ["banana", "orange"]}
        actions = [removal(masked), data.write(root, "3.parquet", rows)]
    log.commit(logs.commit_info("DELETE"), *actions, *([deletes] if feed else []))
