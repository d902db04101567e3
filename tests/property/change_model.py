"""What each kind of changes has to be, from the rows of each version and what happened to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

from property.changing import Commit, Event, Row, Writer

Told = Counter[tuple[Any, ...]]
Who = Callable[[Row], Hashable]

CAME = ("insert", "update_postimage")


def number(row: Row) -> Hashable:
    return row.number


def key(row: Row) -> Hashable:
    return row.k


def values(row: Row) -> Hashable:
    return row.values


def told(events: list[Event], version: int) -> Told:
    return Counter((*event.row.values, event.change, version) for event in events)


def sides(commit: Commit) -> tuple[list[Row], list[Row]]:
    """The rows that left, and those that came."""
    came = [event.row for event in commit.events if event.change in CAME]
    return [event.row for event in commit.events if event.change not in CAME], came


def matched(commit: Commit, who: Who) -> list[Event]:
    """What can be told of a commit whose rows are known by ``who`` and their values alone."""
    gone, came = sides(commit)
    same = Counter((who(row), row.values) for row in gone) & Counter(
        (who(row), row.values) for row in came
    )
    left, new = [], []
    for rows, kept, found in ((gone, Counter(same), left), (came, Counter(same), new)):
        for row in rows:
            if kept[who(row), row.values]:
                kept[who(row), row.values] -= 1
            else:
                found.append(row)
    pairs = {who(row) for row in left} & {who(row) for row in new}
    return [
        *(Event("update_preimage" if who(row) in pairs else "delete", row) for row in left),
        *(Event("update_postimage" if who(row) in pairs else "insert", row) for row in new),
    ]


def events_of(writer: Writer, commit: Commit, by_key: bool) -> list[Event]:
    """Every change that the table tells."""
    if commit.told or not commit.rewrites:
        return commit.events
    if writer.config.feed:
        gone, came = sides(commit)  # an overwrite: what left, and what came
        return [*(Event("delete", r) for r in gone), *(Event("insert", r) for r in came)]
    if writer.config.tracking:
        return commit.events
    return matched(commit, key if by_key else values)


def full(writer: Writer, start: int, end: int, by_key: bool) -> Told:
    """Full changes."""
    found: Told = Counter()
    for version in range(start, end + 1):
        found += told(events_of(writer, writer.commits[version], by_key), version)
    return found


def way_of(writer: Writer, start: int, end: int, by_key: bool) -> str:
    """How rows are known over a range."""
    if writer.config.tracking:
        return "row tracking"
    if by_key:
        return "key"
    commits = writer.commits[start : end + 1]
    in_place = not any(commit.rewrites or commit.moved for commit in commits)
    return "files" if in_place else "rows"


def net(
    writer: Writer, start: int, end: int, by_key: bool, kind: str, deleted: bool
) -> Told | None:
    """Net changes; None where nothing says which row is which and the kind needs to know."""
    way = way_of(writer, start, end, by_key)
    if not any(commit.events for commit in writer.commits[start : end + 1]):
        return Counter()
    if way == "rows" and kind != "min-delta":
        return None
    who = {"row tracking": number, "files": number, "key": key, "rows": values}[way]
    first = writer.states[start - 1].values() if start else ()
    before = {who(row): row for row in first}
    now = {who(row): row for row in writer.states[end].values()}
    last: dict[Hashable, int] = {}
    images: dict[Hashable, tuple[Row, int]] = {}
    for version in range(start, end + 1):
        commit = writer.commits[version]
        events = commit.events
        if way in ("rows", "key") and not commit.told:
            events = matched(commit, who)
        for event in events:
            last[who(event.row)] = version
            if event.change in CAME:
                images[who(event.row)] = event.row, version
    found: Told = Counter()

    def show(row: Row, change: str, version: int) -> None:
        found[(*row.values, change, version)] += 1

    for one, version in last.items():
        old, new = before.get(one), now.get(one)
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
            image, since = images[one]
            show(image, "insert", since)
    return found


def applied(state: dict[int, Row], changes: Told) -> Counter[tuple[Any, ...]]:
    """A state after changes."""
    rows = Counter(row.values for row in state.values())
    for (*image, change, _), count in sorted(changes.items(), key=lambda one: one[0][-1]):
        rows[tuple(image)] += count if change in CAME else -count
    return Counter({row: count for row, count in rows.items() if count})
