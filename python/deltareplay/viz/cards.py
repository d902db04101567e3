"""Cards for notebooks: the most important facts on a small piece of HTML.

Colours are those of the notebook, so that a card fits a light and a dark page; nothing has an id or
a script. A card shows an error of deltareplay instead of raising it.
"""

from __future__ import annotations

import functools
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from deltareplay._protocol.schema import Struct, type_text
from deltareplay._support import units
from deltareplay._support.uris import without_secrets
from deltareplay.exceptions import DeltaReplayError, DeltaReplayWarning
from deltareplay.viz.live_files import columns_of
from deltareplay.viz.markup import Content, Html, clip, join, tag

if TYPE_CHECKING:
    from deltareplay._changes.changes import Changes
    from deltareplay._protocol.protocol import Obstacle, Protocol
    from deltareplay._snapshot.replay_plan import ReplayPlan
    from deltareplay._snapshot.scan import Scan
    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay._snapshot.snapshot_diff import SnapshotDiff
    from deltareplay._table.table import Table
    from deltareplay._table.verify import Verification

T = TypeVar("T")

#: Rows of a list on a card; the others are counted.
MAX_ROWS = 12

_LINE = "rgba(128,128,128,.35)"
_CARD = (
    f"display:inline-block;max-width:60em;border:1px solid {_LINE};border-radius:8px;"
    "padding:.7em 1em;margin:.2em 0;font-family:system-ui,sans-serif;font-size:13px;"
    "line-height:1.5;font-variant-numeric:tabular-nums;text-align:left"
)
_SOFT = "opacity:.65"
_TABLE = "border-collapse:collapse;border:0;color:inherit;font-size:inherit"
_CELL = "text-align:left;padding:.1em 1.2em .1em 0;border:0;vertical-align:top"
_MARK = {"bad": "#c8475a", "warn": "#b97a1a", "good": "#2b8a66"}


def card(kind: str, title: str, *content: Content) -> str:
    """Return a card of a kind, with its title and content."""
    head = tag(
        "div",
        tag("span", f"{kind} ", style=_SOFT),
        tag("b", clip(title, 160)),
        style="margin-bottom:.35em;overflow-wrap:anywhere",
    )
    return str(tag("div", head, *content, style=_CARD))


def pairs(facts: Sequence[tuple[str, Content]]) -> Html:
    """Return a table of names with their values."""
    return tag(
        "table",
        *(
            tag(
                "tr",
                tag("td", name, style=f"{_CELL};{_SOFT};white-space:nowrap"),
                tag("td", value, style=f"{_CELL};overflow-wrap:anywhere"),
                style="background:none",
            )
            for name, value in facts
        ),
        style=f"{_TABLE};margin:0",
    )


def rows(
    heads: Sequence[str], entries: Sequence[Sequence[Content]], total: int | None = None
) -> Html:
    """Return a table with headings, and the first rows of many."""
    visible = entries[:MAX_ROWS]
    more = (len(entries) if total is None else total) - len(visible)
    body = [
        tag("tr", *(tag("td", cell, style=_CELL) for cell in row), style="background:none")
        for row in visible
    ]
    head = tag("tr", *(tag("th", name, scope="col", style=f"{_CELL};{_SOFT}") for name in heads))
    listed = tag(
        "table",
        tag("thead", head),
        tag("tbody", *body),
        style=f"{_TABLE};border-top:1px solid {_LINE};margin:.5em 0 0",
    )
    return join([listed, tag("div", f"and {more:,} more", style=_SOFT) if more > 0 else None])


def verdict(kind: str, text: str) -> Html:
    """Return a verdict in its colour."""
    return tag("b", text, style=f"color:{_MARK[kind]}")


def errors_as_cards(kind: str) -> Callable[[Callable[[T], str]], Callable[[T], str]]:
    """Decorate a card so that it shows an error instead of raising it."""

    def decorate(render: Callable[[T], str]) -> Callable[[T], str]:
        @functools.wraps(render)
        def render_card(value: T) -> str:
            try:
                return render(value)
            except DeltaReplayError as error:
                message = verdict("bad", clip(f"{error} [{error.code}]", 600))
                return card(kind, "", tag("div", message))

        return render_card

    return decorate


def table_card(table: Table) -> str:
    """Return the card of a table: its location and latest version."""
    try:
        with warnings.catch_warnings():  # the card itself mentions warnings
            warnings.simplefilter("ignore", DeltaReplayWarning)
            snapshot = table.snapshot()
        return _version_card("Table", snapshot)
    except DeltaReplayError as error:
        message = verdict("bad", clip(f"{error} [{error.code}]", 600))
        return card("Table", without_secrets(table.uri), message)


@errors_as_cards("Snapshot")
def snapshot_card(snapshot: Snapshot) -> str:
    """Return the card of a snapshot: its version, size and columns."""
    return _version_card("Snapshot", snapshot)


def _version_card(kind: str, snapshot: Snapshot) -> str:
    location = without_secrets(snapshot.table.uri)
    name = snapshot.metadata.name
    facts: list[tuple[str, Content]] = [("location", location)] if name else []
    fields = Struct.parse(snapshot.schema_json).fields
    columns = [(path, type_text(field.type)) for path, field in columns_of(fields)]
    return card(kind, name or location, pairs([*facts, *_state(snapshot)]), _columns(columns))


def _state(snapshot: Snapshot) -> list[tuple[str, Content]]:
    # the properties would issue warnings, which no call of the user has caused
    native = snapshot.native
    num_rows = native.num_rows()  # first: it also reads the number of files and bytes
    num_files = native.num_files()
    num_warnings = len(native.warnings(0))
    row_count = units.count(num_rows) if num_rows is not None else "unknown by statistics alone"
    protocol = snapshot.protocol
    committed = units.stamp(units.clamped_time(native.timestamp))
    obstacles: list[Content] = [_obstacle(obstacle) for obstacle in protocol.why_not_readable()]
    facts: list[tuple[str, Content]] = [
        ("version", f"{snapshot.version}, committed {committed}"),
        ("rows", row_count),
        ("files", f"{units.count(num_files)}, {units.size(native.size_in_bytes())}"),
        ("partitioned by", clip(", ".join(snapshot.partition_columns), 200) or "nothing"),
        (
            "protocol",
            f"reader {protocol.min_reader_version}, writer {protocol.min_writer_version}",
        ),
    ]
    if snapshot.properties:
        facts.append(("properties", clip(", ".join(sorted(snapshot.properties)), 300)))
    if num_warnings:
        message = f"{units.plural(num_warnings, 'warning')}: see snapshot.warnings"
        facts.append(("warnings", verdict("warn", message)))
    if obstacles:
        facts.append(("readable", join(obstacles)))
    return facts


def _columns(fields: Sequence[tuple[str, str]]) -> Html:
    listed = [(clip(name, 80), tag("code", clip(kind, 60))) for name, kind in fields[:MAX_ROWS]]
    return rows(("column", "type"), listed, total=len(fields))


@errors_as_cards("Scan")
def scan_card(scan: Scan) -> str:
    """Return the card of a scan: the files that it reads and skips."""
    (all_files, all_bytes), _, (some_files, some_bytes) = scan.native.explain()
    keywords = scan.keywords
    facts: list[tuple[str, Content]] = [
        (
            "reads",
            f"{units.count(some_files)} of {units.plural(all_files, 'file')}, "
            f"{units.size(some_bytes)} of {units.size(all_bytes)}",
        ),
        ("filter", "none" if keywords["filter"] is None else clip(str(keywords["filter"]), 300)),
        ("on an error", "skips the file" if keywords["on_error"] == "skip" else "raises it"),
    ]
    if all_files:
        facts.insert(
            1, ("skips", units.percent(all_files - some_files, all_files) + " of the files")
        )
    fields = [(field.name, str(field.type)) for field in scan.schema]
    return card("Scan", repr(scan.table), pairs(facts), _columns(fields))


@errors_as_cards("SnapshotDiff")
def snapshot_diff_card(diff: SnapshotDiff) -> str:
    """Return the card of a diff: changes of files, rows, bytes and definition."""
    kinds = Counter(diff.files["change"].to_pylist())
    before, after = diff.num_rows
    facts: list[tuple[str, Content]] = [
        ("files", _from_to(*diff.num_files, units.count)),
        (
            "changed files",
            f"{units.count(kinds['added'])} added, {units.count(kinds['removed'])} removed, "
            f"{units.count(kinds['vector'])} with another deletion vector",
        ),
        ("bytes", _from_to(*diff.size_in_bytes, units.size)),
    ]
    if before is not None and after is not None:
        facts.insert(0, ("rows", _from_to(before, after, units.count)))
    changed = [
        (clip(f"{kind} {name}".strip(), 80), clip(old or "none", 80), clip(new or "none", 80))
        for kind, name, old, new in zip(*diff.definition.to_pydict().values(), strict=True)
    ]
    first, last = diff.versions
    return card(
        "SnapshotDiff",
        f"versions {first} and {last}",
        pairs(facts),
        rows(("definition", "before", "after"), changed) if changed else None,
    )


def _from_to(before: int, after: int, display: Callable[[float], str]) -> str:
    if before == after:
        return f"{display(after)}, as before"
    sign = "+" if after > before else "\u2212"
    return f"{display(before)} \u2192 {display(after)} ({sign}{display(abs(after - before))})"


@errors_as_cards("Changes")
def changes_card(changes: Changes) -> str:
    """Return the card of changes: the range, and how its commits are compared."""
    if changes.versions is None:
        return card("Changes", repr(changes.table), "no commit in the range")
    methods: dict[str, list[int]] = {}
    for commit in changes.explain().to_pylist():
        sums = methods.setdefault(commit["way"], [0, 0, 0])
        for index, value in enumerate((1, commit["files"], commit["bytes"])):
            sums[index] += value
    first, last = changes.versions
    facts: list[tuple[str, Content]] = [
        ("versions", f"{first} to {last}"),
        ("kind", changes.kind),
        ("columns", clip(", ".join(changes.schema.names), 300)),
    ]
    listed = [
        (method, units.count(number), units.count(files), units.size(size))
        for method, (number, files, size) in methods.items()
    ]
    return card(
        "Changes",
        repr(changes.table),
        pairs(facts),
        rows(("found by", "commits", "files", "bytes at most"), listed),
    )


def verification_card(verification: Verification) -> str:
    """Return the card of a verification: the verdict, then the findings."""
    kinds = Counter(finding.severity for finding in verification.findings)
    least = "at least " if verification.omitted else ""
    result = (
        verdict("bad", f"{least}{units.plural(kinds['error'], 'error')}")
        if kinds["error"]
        else verdict("warn", f"{least}{units.plural(kinds['warning'], 'warning')}")
        if kinds["warning"]
        else verdict("good", "nothing is wrong")
    )
    files = "unknown" if verification.num_files is None else units.count(verification.num_files)
    facts: list[tuple[str, Content]] = [
        ("verdict", result),
        ("commits", units.count(verification.num_commits)),
        ("checkpoints", units.count(verification.num_checkpoints)),
        ("checksums", units.count(verification.num_checksums)),
        ("files", files),
    ]
    colours = {"error": "bad", "warning": "warn", "info": "good"}
    listed = [
        (
            verdict(colours[finding.severity], finding.severity),
            tag("code", finding.code),
            clip(f"{finding.message} ({finding.path})" if finding.path else finding.message, 240),
            clip(finding.remedy, 160),
        )
        for finding in verification.findings[:MAX_ROWS]
    ]
    number = len(verification.findings) + verification.omitted
    return card(
        "Verification",
        f"version {verification.version}",
        pairs(facts),
        rows(("severity", "code", "what", "remedy"), listed, total=number) if listed else None,
    )


def replay_plan_card(plan: ReplayPlan) -> str:
    """Return the card of a replay plan: its pieces and its files."""
    size = sum(piece.size_in_bytes for piece in plan.pieces)
    facts: list[tuple[str, Content]] = [
        ("pieces", f"{units.count(len(plan.pieces))}, {units.size(size)} of the log"),
        ("files of the tail", units.count(plan.files.num_rows)),
    ]
    return card("ReplayPlan", f"version {plan.tail.version}", pairs(facts))


def protocol_card(protocol: Protocol) -> str:
    """Return the card of a protocol: versions, obstacles and features."""
    reader = set(protocol.reader_features or ())
    if protocol.min_reader_version == 2:
        reader.add("columnMapping")  # implied by this version
    listed: list[tuple[Content, ...]] = [
        (tag("code", clip(name, 80)), "readers and writers" if name in reader else "writers")
        for name in protocol.features
    ]
    facts: list[tuple[str, Content]] = [
        (
            access,
            join([_obstacle(obstacle) for obstacle in obstacles])
            if obstacles
            else verdict("good", "yes"),
        )
        for access, obstacles in (
            ("readable", protocol.why_not_readable()),
            ("writable", protocol.why_not_writable()),
        )
    ]
    return card(
        "Protocol",
        f"reader {protocol.min_reader_version}, writer {protocol.min_writer_version}",
        pairs(facts),
        rows(("feature", "concerns"), listed) if listed else None,
    )


def _obstacle(obstacle: Obstacle) -> Html:
    return tag("div", verdict("bad", "no: "), clip(str(obstacle), 400))


_CARDS: dict[str, Callable[[Any], str]] = {
    "Changes": changes_card,
    "Protocol": protocol_card,
    "ReplayPlan": replay_plan_card,
    "Scan": scan_card,
    "Snapshot": snapshot_card,
    "SnapshotDiff": snapshot_diff_card,
    "Table": table_card,
    "Verification": verification_card,
}


def card_of(value: object) -> str:
    """Return the card of an object of this package, or of a derived class."""
    cards = (_CARDS[base.__name__] for base in type(value).__mro__ if base.__name__ in _CARDS)
    return next(cards)(value)
