"""The expected changes of each kind, from the rows of each version and their events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

from property.changing import Commit, Event, Row, Writer

RowCounts = Counter[tuple[Any, ...]]
Identity = Callable[[Row], Hashable]

ARRIVALS = ("insert", "update_postimage")


def number(row: Row) -> Hashable:
    return row.number


def key(row: Row) -> Hashable:
    return row.k


def values(row: Row) -> Hashable:
    return row.values


def counted(events: list[Event], version: int) -> RowCounts:
    return Counter((*event.row.values, event.change, version) for event in events)


def sides(commit: Commit) -> tuple[list[Row], list[Row]]:
    """Return the removed rows, and the added ones."""
    arrived = [event.row for event in commit.events if event.change in ARRIVALS]
    return [event.row for event in commit.events if event.change not in ARRIVALS], arrived


def matched(commit: Commit, identity: Identity) -> list[Event]:
    """Return the changes of a commit whose rows are identified by ``identity`` and their values."""
    removed, arrived = sides(commit)
    same = Counter((identity(row), row.values) for row in removed) & Counter(
        (identity(row), row.values) for row in arrived
    )
    left, new = [], []
    for rows, kept, result in ((removed, Counter(same), left), (arrived, Counter(same), new)):
        for row in rows:
            if kept[identity(row), row.values]:
                kept[identity(row), row.values] -= 1
            else:
                result.append(row)
    pairs = {identity(row) for row in left} & {identity(row) for row in new}
    return [
        *(Event("update_preimage" if identity(row) in pairs else "delete", row) for row in left),
        *(Event("update_postimage" if identity(row) in pairs else "insert", row) for row in new),
    ]


def events_of(writer: Writer, commit: Commit, by_key: bool) -> list[Event]:
    """Return every change that the table records."""
    if commit.recorded or not commit.rewrites:
        return commit.events
    if writer.config.feed:
        removed, arrived = sides(commit)  # an overwrite: removed and added rows
        return [*(Event("delete", r) for r in removed), *(Event("insert", r) for r in arrived)]
    if writer.config.tracking:
        return commit.events
    return matched(commit, key if by_key else values)


def full(writer: Writer, start: int, end: int, by_key: bool) -> RowCounts:
    """Return the changes of the kind ``full-delta``."""
    result: RowCounts = Counter()
    for version in range(start, end + 1):
        result += counted(events_of(writer, writer.commits[version], by_key), version)
    return result


def way_of(writer: Writer, start: int, end: int, by_key: bool) -> str:
    """Return the way in which rows are identified over a range."""
    if writer.config.tracking:
        return "row tracking"
    if by_key:
        return "key"
    commits = writer.commits[start : end + 1]
    in_place = not any(commit.rewrites or commit.moved for commit in commits)
    return "files" if in_place else "rows"


def net(
    writer: Writer, start: int, end: int, by_key: bool, kind: str, deleted: bool
) -> RowCounts | None:
    """Return net changes; None if the kind needs the identity of rows, which is unknown."""
    way = way_of(writer, start, end, by_key)
    if not any(commit.events for commit in writer.commits[start : end + 1]):
        return Counter()
    if way == "rows" and kind != "min-delta":
        return None
    identity = {"row tracking": number, "files": number, "key": key, "rows": values}[way]
    first = writer.states[start - 1].values() if start else ()
    before = {identity(row): row for row in first}
    now = {identity(row): row for row in writer.states[end].values()}
    last: dict[Hashable, int] = {}
    images: dict[Hashable, tuple[Row, int]] = {}
    for version in range(start, end + 1):
        commit = writer.commits[version]
        events = commit.events
        if way in ("rows", "key") and not commit.recorded:
            events = matched(commit, identity)
        for event in events:
            last[identity(event.row)] = version
            if event.change in ARRIVALS:
                images[identity(event.row)] = event.row, version
    result: RowCounts = Counter()

    def show(row: Row, change: str, version: int) -> None:
        result[(*row.values, change, version)] += 1

    for item, version in last.items():
        old, new = before.get(item), now.get(item)
        if kind == "min-delta":
            if old and new and old.values != new.values:
                show(old, "update_preimage", version)
                show(new, "update_postimage", version)
            elif old and not new:
                show(old, "delete", version)
            elif new and not old:
                show(new, "insert", version)
        elif kind == "upsert":
            if new:
                show(new, "update_postimage" if old else "insert", version)
            elif old and deleted:
                show(old, "delete", version)
        elif not old and new:
            show(new, "insert", version)
        elif not old and deleted:
            image, since = images[item]
            show(image, "insert", since)
    return result


def applied(state: dict[int, Row], changes: RowCounts) -> Counter[tuple[Any, ...]]:
    """Return a state after changes."""
    rows = Counter(row.values for row in state.values())
    for (*image, change, _), count in sorted(changes.items(), key=lambda entry: entry[0][-1]):
        rows[tuple(image)] += count if change in ARRIVALS else -count
    return Counter({row: count for row, count in rows.items() if count})
