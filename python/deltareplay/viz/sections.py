"""The first sections of the report: advice, findings, the table as a whole, and its history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from deltareplay._protocol.schema import Struct
from deltareplay._support import units
from deltareplay.exceptions import DeltaReplayError
from deltareplay.viz import live_files
from deltareplay.viz.advice import advice, command, commit_range, shell_command
from deltareplay.viz.charts import (
    Axes,
    Bar,
    columns,
    legend,
    round_numbers,
    round_sizes,
    round_times,
    sparkline,
)
from deltareplay.viz.facts import MAX_COMMITS, MAX_VERIFIED, Commit, Facts
from deltareplay.viz.markup import Cell, Content, Html, Row, chart_numbers, clip, join, table, tag

#: Columns of a chart over time.
MAX_BARS = 60
#: Series of a chart; the others are combined.
MAX_SERIES = 5


def section(name: str, title: str, *content: Content) -> Html:
    """Return a section of the page."""
    head = tag("h2", title, id=f"{name}-title")
    return tag("section", head, *content, id=name, aria_labelledby=f"{name}-title")


def figure(title: str, summary: str, chart: Html, *more: Content) -> Html:
    """Return a chart with its title and summary."""
    caption = tag("figcaption", tag("strong", title), tag("p", summary) if summary else None)
    return tag("figure", caption, chart, *more)


def pairs(facts: Iterable[tuple[str, Content]]) -> Html:
    """Return a list of names with their values."""
    items = (join([tag("dt", name), tag("dd", value)]) for name, value in facts)
    return tag("dl", *items, class_="pairs")


def source(*locations: str) -> Html:
    """Return a note on the source of the numbers."""
    return tag(
        "p",
        "Source: ",
        join((tag("code", location) for location in locations), ", "),
        class_="source",
    )


def paste(facts: Facts, call: str, verb: str) -> Html:
    """Return a command to paste, for Python and for a shell."""
    shell = tag("p", "or in a shell: ", tag("code", shell_command(facts, verb)), class_="shell")
    python = tag("pre", tag("code", command(facts, call)))
    return join([tag("div", python, class_="paste"), shell])


def failed(problem: str, error: DeltaReplayError) -> Html:
    """Return an error in place of the part of the report that failed."""
    return tag("p", f"{problem}: {clip(str(error), 400)} [{error.code}]", class_="warn")


def header(facts: Facts) -> Html:
    """Return the header: the name of the table and its most important figures."""
    snapshot, files = facts.snapshot, facts.files
    directory = facts.table.uri.rstrip("/").rpartition("/")[2]
    num_rows = units.short(files.num_rows)
    rows = f"≥{units.SPACE}{num_rows}" if files.without_rows else num_rows
    rows_note = (
        f"{units.count(files.num_rows)} by statistics"
        if not files.without_rows
        else f"{units.plural(files.without_rows, 'file')} without a row count"
    )
    average = files.size_in_bytes / files.num_files if files.num_files else 0
    partitions = "0"
    if files.levels < len(snapshot.partition_columns):
        partitions = f">{units.SPACE}{units.count(live_files.MAX_PARTITIONS)}"
    elif files.levels and files.partitions is not None:
        partitions = units.count(files.partitions.num_rows)
    partition_columns = ", ".join(snapshot.partition_columns) or "not partitioned"
    timestamp = facts.timestamp
    age = units.ago(timestamp, facts.now) if timestamp else "at an unknown time"
    figures: list[tuple[str, str, str, str | None]] = [
        ("Version", str(snapshot.version), age, None),
        ("Rows", rows, rows_note, None),
        ("Files", units.short(files.num_files), f"{units.count(files.num_files)} live files", None),
        ("Size", units.size(files.size_in_bytes), f"{units.size(average)} a file on average", None),
        ("Partitions", partitions, clip(partition_columns, 60), None),
        ("Health", *_health(facts)),
    ]
    description = snapshot.metadata.description
    return tag(
        "header",
        tag("h1", clip(snapshot.metadata.name or directory or "Delta table", 200)),
        tag("p", clip(facts.display_uri, 400), class_="uri"),
        tag("p", clip(description, 400), class_="soft") if description else None,
        tag(
            "dl",
            *(
                tag("div", tag("dt", name), tag("dd", value, class_=kind), tag("dd", note))
                for name, value, note, kind in figures
            ),
            class_="figures",
        ),
    )


def _health(facts: Facts) -> tuple[str, str, str]:
    verification = facts.verification
    if isinstance(verification, DeltaReplayError):
        return "Broken", clip(verification.code or "error", 40), "bad"
    if verification is None:
        return "Sound", "the latest version was replayed without findings", "good"
    kinds = Counter(finding.severity for finding in verification.findings)
    least = "at least " if verification.omitted else ""
    if kinds["error"]:
        return f"{least}{units.plural(kinds['error'], 'error')}", "see the findings", "bad"
    if kinds["warning"]:
        return f"{least}{units.plural(kinds['warning'], 'warning')}", "see the findings", "warn"
    return "Sound", "the log was replayed without errors and warnings", "good"


def table_content(facts: Facts) -> list[Content]:
    """Return the content of the section on the table as a whole."""
    snapshot = facts.snapshot
    metadata, protocol = snapshot.metadata, snapshot.protocol
    created = metadata.created_time
    features = sorted({*(protocol.reader_features or ()), *(protocol.writer_features or ())})
    definition: list[tuple[str, Content]] = [
        (
            "Version",
            f"{snapshot.version}, committed "
            + (units.stamp(facts.timestamp) if facts.timestamp else "?")
            + (f"; the latest is {facts.latest}" if facts.latest != snapshot.version else ""),
        ),
        ("Id", tag("code", clip(metadata.id, 80))),
        ("Created", units.stamp(units.clamped_time(created)) if created is not None else "unknown"),
        ("Columns", units.count(len(Struct.parse(snapshot.schema_json).fields))),
        ("Partitioned by", clip(", ".join(snapshot.partition_columns), 200) or "nothing"),
        (
            "Protocol",
            f"reader {protocol.min_reader_version}, writer {protocol.min_writer_version}",
        ),
        ("Features", clip(", ".join(features), 500) or "none listed"),
    ]
    transactions = snapshot.transactions
    rows: list[Row] = [
        (tag("code", clip(name, 100)), Cell(units.count(version), version))
        for name, version in sorted(transactions.items())
    ]
    return [
        pairs(definition),
        source("metaData", "protocol", "commitInfo"),
        table(
            "Applications that commit with a transaction id",
            ("Application", "Its version"),
            rows,
            numbers=(1,),
            name="transactions",
            budget=6000,
        )
        if rows
        else None,
    ]


def advice_content(facts: Facts) -> list[Content]:
    """Return the content of the section with advice, and commands to paste."""
    items = [
        tag(
            "li",
            tag("h3", clip(item.title, 200)),
            tag("p", clip(item.reason, 600)),
            tag("p", clip(item.gain, 600)),
            paste(facts, item.call, item.verb) if item.call and item.verb else None,
            source(item.source),
        )
        for item in advice(facts)
    ]
    content = (
        tag("ol", *items[:20], class_="list")
        if items
        else tag("p", "Nothing: files, log and garbage are in good shape.", class_="good")
    )
    return [content]


def findings_content(facts: Facts) -> list[Content]:
    """Return the content of the section with the findings of ``verify``."""
    verification = facts.verification
    if isinstance(verification, DeltaReplayError):
        return [failed("The log could not be verified", verification)]
    if verification is None:
        return [
            tag(
                "p",
                f"Checked: version {facts.latest} was replayed as a whole and compared with its "
                f"checksum, if there is one. Of a table with more than "
                f"{units.count(MAX_VERIFIED)} files, older commits and checkpoints are checked "
                "only by Table.verify().",
                class_="soft",
            ),
            tag("p", "Nothing is wrong.", class_="good"),
            paste(facts, "verify(data_files=False)", "verify --log-only"),
            source("Table.snapshot(verify=True)"),
        ]
    checked = (
        f"{units.plural(verification.num_commits, 'commit')}, "
        f"{units.plural(verification.num_checkpoints, 'checkpoint')} and "
        f"{units.plural(verification.num_checksums, 'checksum')} of the log"
    )
    files = (
        " and the existence and size of each data file"
        if facts.orphans is not None
        else "; data files were not opened"
    )
    colours = {"error": "bad", "warning": "warn", "info": "soft"}
    rows: list[Row] = [
        (
            tag("span", finding.severity, class_=f"badge {colours[finding.severity]}"),
            tag("code", finding.code, class_="whole"),
            join(
                [clip(finding.message, 300), tag("br"), tag("code", clip(finding.path or "", 160))]
            ),
            clip(finding.remedy, 240),
        )
        for finding in verification.findings[:200]
    ]
    num_findings = len(verification.findings) + verification.omitted
    content = (
        table(
            f"{units.plural(num_findings, 'finding')}, worst first",
            ("Severity", "Code", "What", "Remedy"),
            rows,
            name="found",
            total=num_findings,
        )
        if rows
        else tag("p", "Nothing is wrong.", class_="good")
    )
    return [
        tag("p", f"Checked: {checked}{files}.", class_="soft"),
        content,
        source("Table.verify()"),
    ]


def history_content(facts: Facts) -> list[Content]:
    """Return the content of the section on the commits over time."""
    history = facts.history
    commits = history.commits
    if not commits:
        nothing = (
            failed("The commits could not be read", history.error)
            if history.error
            else tag("p", "The log has no commit any more.")
        )
        return [nothing]
    first, last = commits[0], commits[-1]
    older = f"; older ones are not in the log or not among the last {MAX_COMMITS:,}"
    summary = (
        f"{units.plural(len(commits), 'commit')}, from version {first.version} of "
        f"{units.stamp(first.timestamp)} to version {last.version} of {units.stamp(last.timestamp)}"
        f"{older if history.has_older else ''}."
    )
    return [
        tag("p", summary, class_="soft"),
        failed("Not all commits could be read", history.error) if history.error else None,
        _operations(commits),
        *_flows(facts),
        _writers(commits),
    ]


def date_text(begin: datetime, width: int) -> str:
    """Format the start of a time bucket, as precisely as its width requires."""
    if width >= 86_400_000:
        return f"{begin:%Y-%m-%d}"
    return f"{begin:%Y-%m-%d %H:%M}" if width >= 60_000 else f"{begin:%Y-%m-%d %H:%M:%S}"


class _Timeline:
    """Commits in buckets of time."""

    def __init__(self, commits: Sequence[Commit]) -> None:
        times = [units.milliseconds(commit.timestamp) for commit in commits]
        self.width = next(
            w for w in live_files.WIDTHS if max(times) // w - min(times) // w < MAX_BARS
        )
        self.first = min(times) // self.width
        self.num_buckets = max(times) // self.width - self.first + 1
        self.groups: list[list[Commit]] = [[] for _ in range(self.num_buckets)]
        for commit, time in zip(commits, times, strict=True):
            self.groups[time // self.width - self.first].append(commit)

    def interval(self, index: int) -> tuple[float, float]:
        return index / self.num_buckets, (index + 1) / self.num_buckets

    def label(self, index: int) -> str:
        begin = units.clamped_time((self.first + index) * self.width)
        return date_text(begin, self.width)

    def marks(self) -> list[tuple[float, str]]:
        return marks(self.first * self.width, (self.first + self.num_buckets) * self.width)


def marks(first: int, end: int) -> list[tuple[float, str]]:
    """Return the marks of a time axis, from 0 to 1."""
    return [((time - first) / (end - first), label) for time, label in round_times(first, end)]


def width_name(width: int) -> str:
    """Format the width of a time bucket."""
    seconds = width // 1000
    units_of_time = (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1))
    unit, length = next(item for item in units_of_time if seconds % item[1] == 0)
    return units.plural(seconds // length, unit)


def _operations(commits: Sequence[Commit]) -> Html:
    timeline = _Timeline(commits)
    kinds = Counter(commit.operation for commit in commits)
    operations = [name for name, _ in kinds.most_common(MAX_SERIES)]
    series = [*operations, "others"] if len(kinds) > len(operations) else operations
    bars: list[Bar] = []
    rows: list[Row] = []
    for index, group in enumerate(timeline.groups):
        group_counts = Counter(
            commit.operation if commit.operation in operations else "others" for commit in group
        )
        values = [group_counts[name] for name in series]
        counts = ", ".join(
            f"{clip(name, 40)} {group_counts[name]}" for name in series if group_counts[name]
        )
        begin, end = timeline.interval(index)
        bars.append(Bar(begin, end, values, f"{timeline.label(index)}: {counts or 'no commit'}"))
        if group:
            rows.append([timeline.label(index), *(Cell(units.count(v), v) for v in values)])
    chart = columns(
        bars,
        Axes(round_numbers, units.short, timeline.marks()),
        f"Commits by operation over time: {', '.join(f'{n} {kinds[n]}' for n in operations)}",
    )
    counts = ", ".join(f"{units.count(kinds[name])} {clip(name, 40)}" for name in operations[:3])
    heads = ("From", *(clip(name, 40) for name in series))
    return figure(
        "Commits by operation",
        f"A column is {width_name(timeline.width)}. {counts}.",
        chart,
        legend([(f"s{index + 1}", name) for index, name in enumerate(series)]),
        chart_numbers(
            "commits by operation",
            table(
                "Commits by operation",
                heads,
                rows,
                numbers=range(1, len(heads)),
                budget=8000,
            ),
        ),
        source("commitInfo.operation", commit_range(commits)),
    )


def _flows(facts: Facts) -> list[Html]:
    history = facts.history
    commits = history.read_commits
    if not any(commit.flows for commit in commits):
        return []
    timeline = _Timeline(commits)
    flows = []
    for unit, mark, display, kind in (
        ("Rows", round_numbers, units.short, "rows"),
        ("Bytes", round_sizes, units.size, "bytes"),
    ):
        bars: list[Bar] = []
        rows: list[Row] = []
        total_in = total_out = 0
        for index, group in enumerate(timeline.groups):
            into = sum(commit.flows[f"{kind}_in"] for commit in group if commit.flows)
            out = sum(commit.flows[f"{kind}_out"] for commit in group if commit.flows)
            total_in, total_out = total_in + into, total_out + out
            begin, end = timeline.interval(index)
            title = f"{timeline.label(index)}: {display(into)} in, {display(out)} out"
            bars.append(Bar(begin, end, (max(into, 0),), title, (max(out, 0),)))
            if group:
                rows.append(
                    [timeline.label(index), Cell(display(into), into), Cell(display(out), out)]
                )
        caption = (
            f"{display(total_in)} in, {display(total_out)} out; a column is "
            f"{width_name(timeline.width)}."
        )
        if kind == "rows":
            caption += " Files that were only rewritten (dataChange is false) do not count."
            if history.removed_unknown:
                caption += (
                    f" {units.count(history.removed_unknown)} of "
                    f"{units.plural(history.removed_files, 'removed file')} do not say how many "
                    "rows they had, and are missing here."
                )
        flows.append(
            figure(
                f"{unit} in and out",
                caption,
                columns(
                    bars,
                    Axes(mark, display, timeline.marks()),
                    f"{unit} over time: {display(total_in)} in, {display(total_out)} out",
                    height=200,
                ),
                legend([("s1", "in"), ("d1", "out")]),
                chart_numbers(
                    f"{unit.lower()} in and out",
                    table(
                        f"{unit} in and out",
                        ("From", "In", "Out"),
                        rows,
                        numbers=(1, 2),
                        budget=8000,
                    ),
                ),
                source(
                    "add.stats, remove.stats" if kind == "rows" else "add.size, remove.size",
                    commit_range(commits),
                ),
            )
        )
    return flows


def _writers(commits: Sequence[Commit]) -> Html:
    timeline = _Timeline(commits)
    buckets = {
        commit.version: index for index, group in enumerate(timeline.groups) for commit in group
    }
    groups: dict[tuple[str, str], list[Commit]] = {}
    for commit in commits:
        groups.setdefault((commit.engine, commit.writer), []).append(commit)
    rows: list[Row] = []
    writers = sorted(groups.items(), key=lambda group: -len(group[1]))
    for (engine, writer), entries in writers[:30]:
        counts = [0.0] * timeline.num_buckets
        for commit in entries:
            counts[buckets[commit.version]] += 1
        rows.append(
            (
                clip(engine, 80),
                clip(writer, 60) or "unknown",
                Cell(units.count(len(entries)), len(entries)),
                sparkline(counts),
                *(
                    Cell(
                        tag("span", f"{entry.timestamp:%Y-%m-%d %H:%M}", class_="whole"),
                        entry.version,
                    )
                    for entry in (entries[0], entries[-1])
                ),
            )
        )
    return join(
        [
            tag("h3", "Writers and engines"),
            table(
                "Who committed, and when; the most frequent first",
                ("Engine", "Writer", "Commits", "Over time", "First", "Last"),
                rows,
                numbers=(2,),
                name="writers",
                total=len(groups),
                budget=14_000,
            ),
            source("commitInfo.engineInfo, commitInfo.userName", commit_range(commits)),
        ]
    )
