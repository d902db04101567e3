"""All facts that a report shows, measured once: live files, commits, the cost of the log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from deltareplay import _native
from deltareplay._protocol.schema import Struct, fields_with_paths, type_text
from deltareplay._support.units import clamped_time
from deltareplay._support.uris import without_secrets
from deltareplay.exceptions import CorruptTableError, DeltaReplayError, UnsupportedFeatureError
from deltareplay.viz.live_files import LiveFiles, live_files, pc, to_floats, total_of

if TYPE_CHECKING:
    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay._table.log import LogAdvice, LogCleanup
    from deltareplay._table.table import Table
    from deltareplay._table.vacuum import Vacuumed
    from deltareplay._table.verify import Verification

T = TypeVar("T")

#: Older commits are not read.
MAX_COMMITS = 10_000
#: Older actions are not read: about a second for each million.
MAX_ACTIONS = 1_000_000
#: Commits whose actions are read at once.
CHUNK = 200
#: Changes of the definition that are listed.
MAX_CHANGES = 200
#: With more files, only the latest version is verified: the whole log takes 600 MB per million
#: files.
MAX_VERIFIED = 300_000
#: The sums of a commit; `in` and `out` are added and removed files.
FLOWS = ("files_in", "bytes_in", "rows_in", "files_out", "bytes_out", "rows_out")

#: The version, the kind (``metaData`` or ``protocol``) and the fields of an action.
Definition = tuple[int, str, dict[str, Any]]


@dataclass
class Commit:
    """A commit in the history."""

    version: int
    timestamp: datetime
    operation: str
    engine: str
    writer: str
    flows: dict[str, int] | None = None  # None: its actions were not read


@dataclass(frozen=True)
class DefinitionChange:
    """A change of the table's definition."""

    version: int
    kind: str
    name: str
    before: str | None
    after: str | None


@dataclass
class History:
    """The commits, oldest first.

    Attributes:
        commits: The commits in the log, at most 10,000.
        num_read: The number of newest commits whose actions were read.
        error: The error that ended the reading; None if all required actions were read.
        has_older: Whether there are older commits.
        removed_unknown: The number of those in ``removed_files`` without a row count.
        removed_files: The number of files that were removed by changes of data.
        tombstones: The number of files that were removed before the cutoff, and their bytes.
        changes: Changes of the definition, oldest first.
        more_changes: The number of older changes that are not listed.
    """

    commits: list[Commit] = field(default_factory=list)
    num_read: int = 0
    error: DeltaReplayError | None = None
    has_older: bool = False
    removed_unknown: int = 0
    removed_files: int = 0
    tombstones: tuple[int, int] = (0, 0)
    changes: list[DefinitionChange] = field(default_factory=list)
    more_changes: int = 0

    @property
    def read_commits(self) -> list[Commit]:
        """The commits whose actions were read."""
        return self.commits[len(self.commits) - self.num_read :]


def read_history(table: Table, snapshot: Snapshot, latest: int, cutoff: int) -> History:
    """Read the history up to a snapshot of the table, whose latest version is ``latest``.

    Files that were removed before ``cutoff``, in milliseconds, count as expired.
    """
    history = History()
    try:
        commits = table.history(latest - snapshot.version + MAX_COMMITS)
    except DeltaReplayError as error:  # a snapshot may not need the damaged commit
        history.error = error
        return history
    commits = commits.filter(pc.less_equal(commits["version"], pa.scalar(snapshot.version)))
    # as numbers: a damaged log may have times that are out of Python's range
    times = pc.cast(commits["timestamp"], pa.int64()).to_pylist()
    names = ["version", "operation", "engineInfo", "userName", "userId"]
    for row, microseconds in zip(commits.select(names).to_pylist(), times, strict=True):
        history.commits.append(
            Commit(
                row["version"],
                clamped_time(microseconds // 1000),
                row["operation"] or "unknown",
                row["engineInfo"] or "unknown",
                row["userName"] or row["userId"] or "",
            )
        )
    history.commits.sort(key=lambda commit: commit.version)
    history.has_older = bool(history.commits) and history.commits[0].version > 0
    _read_actions(table, history, cutoff)
    return history


def _read_actions(table: Table, history: History, cutoff: int) -> None:
    commits = {commit.version: commit for commit in history.commits}
    definitions: list[Definition] = []
    num_actions = 0
    end = len(history.commits)
    while end and num_actions < MAX_ACTIONS:
        begin = end - 1
        while begin and end - begin < CHUNK and _follows(history.commits, begin):
            begin -= 1
        chunk = history.commits[begin:end]
        chunk_definitions: list[Definition] = []
        counts = history.removed_files, history.removed_unknown, history.tombstones
        try:
            for files in _whole_commits(
                table, chunk[0].version, chunk[-1].version, chunk_definitions
            ):
                num_actions += files.num_rows
                _add_flows(commits, history, files, cutoff)
        except DeltaReplayError as error:  # no commit of the chunk counts as read
            history.error = error
            history.removed_files, history.removed_unknown, history.tombstones = counts
            for commit in chunk:
                commit.flows = None
            break
        definitions = [*chunk_definitions, *definitions]
        end -= len(chunk)
    history.num_read = len(history.commits) - end
    definitions.sort(key=lambda definition: definition[0])  # each batch lists its kinds in turn
    changes = list(_changes(definitions))
    history.changes = changes[-MAX_CHANGES:]
    history.more_changes = len(changes) - len(history.changes)


def _follows(commits: list[Commit], index: int) -> bool:
    """Return whether a commit directly follows the one before it in the list."""
    return commits[index].version == commits[index - 1].version + 1


def _whole_commits(
    table: Table, first: int, last: int, definitions: list[Definition]
) -> Iterator[pa.Table]:
    """Yield the files that commits added and removed, with whole commits in each table.

    The definitions of these commits are appended to ``definitions``.
    """
    pending: list[pa.Table] = []
    newest = first
    for batch in table.actions(first, last):
        for kind in ("metaData", "protocol"):
            column = batch.column(kind)
            if column.null_count < len(column):
                rows = batch.select(["version", kind]).filter(pc.is_valid(column)).to_pylist()
                definitions += [(row["version"], kind, row[kind]) for row in rows]
        files = _files_of(batch)
        if not files.num_rows:
            continue
        oldest, latest = files["version"][0].as_py(), files["version"][-1].as_py()
        if pending and oldest > newest:
            yield pa.concat_tables(pending)
            pending = []
        if latest > oldest:
            complete = pc.less(files["version"], pa.scalar(latest))
            pending.append(files.filter(complete))
            yield pa.concat_tables(pending)
            pending, files = [], files.filter(pc.invert(complete))
        pending.append(files)
        newest = latest
    if pending:
        yield pa.concat_tables(pending)


def _files_of(batch: pa.RecordBatch) -> pa.Table:
    """Return the added and removed files of a batch of actions."""
    parts = []
    for kind, sign in (("add", 1), ("remove", -1)):
        column = batch.column(kind)
        if column.null_count == len(column):
            continue
        actions = batch.filter(pc.is_valid(column))
        body = actions.column(kind)
        deleted = pc.struct_field(body, ["deletionVector", "cardinality"])
        deletion_time = (
            pc.struct_field(body, "deletionTimestamp")
            if kind == "remove"
            else pa.nulls(actions.num_rows, pa.int64())
        )
        parts.append(
            pa.table(
                {
                    "version": actions.column("version"),
                    "sign": pa.repeat(pa.scalar(sign), actions.num_rows),
                    "path": pc.struct_field(body, "path"),
                    "dataChange": pc.struct_field(body, "dataChange"),
                    "size": to_floats(pc.struct_field(body, "size")),
                    "rows": _num_records(pc.struct_field(body, "stats")),
                    "deleted": to_floats(deleted),
                    "deletion_time": deletion_time,
                }
            )
        )
    if not parts:
        return pa.table({"version": pa.array([], pa.int64())})
    combined = pa.concat_tables(parts)
    return combined.take(pc.sort_indices(combined["version"]))


def _num_records(statistics: pa.Array[Any]) -> pa.Array[Any]:
    """Return ``numRecords`` of JSON statistics, without parsing them; null if ambiguous."""
    first = pc.extract_regex(statistics, r'^\s*\{\s*"numRecords"\s*:\s*(?P<n>[0-9]{1,15})')
    anywhere = pc.extract_regex(statistics, r'"numRecords"\s*:\s*(?P<n>[0-9]{1,15})')
    once = pc.equal(pc.count_substring(statistics, '"numRecords"'), pa.scalar(1, pa.int32()))
    only = pc.if_else(once, pc.struct_field(anywhere, "n"), pa.scalar(None, pa.string()))
    records: pa.Array[Any] = pc.cast(pc.coalesce(pc.struct_field(first, "n"), only), pa.float64())
    return records


def _add_flows(commits: dict[int, Commit], history: History, files: pa.Table, cutoff: int) -> None:
    """Add the sums of each commit.

    A file that a commit removes and adds got another deletion vector: only the vector was written,
    and the rows are the difference of the vectors.
    """
    key = pc.binary_join_element_wise(pc.cast(files["version"], pa.string()), files["path"], "/")
    added = pc.greater(files["sign"], pa.scalar(0))
    changed = pc.if_else(
        added,
        pc.is_in(key, value_set=key.filter(pc.invert(added))),
        pc.is_in(key, value_set=key.filter(added)),
    )
    changes = pc.fill_null(files["dataChange"], True)
    zero = pa.scalar(0.0)
    is_whole = pc.invert(changed)
    live = pc.fill_null(pc.subtract(files["rows"], files["deleted"]), 0.0)
    vector_rows = pc.multiply(files["deleted"], pc.cast(files["sign"], pa.float64()))
    columns: dict[str, Any] = {"version": files["version"]}
    for direction, selected in (("in", added), ("out", pc.invert(added))):
        counted = pc.and_(selected, is_whole)
        columns[f"files_{direction}"] = pc.if_else(counted, pa.scalar(1.0), zero)
        columns[f"bytes_{direction}"] = pc.if_else(counted, files["size"], zero)
        columns[f"rows_{direction}"] = pc.if_else(pc.and_(counted, changes), live, zero)
    columns["vector_rows"] = pc.if_else(pc.and_(changed, changes), vector_rows, zero)
    names = [*FLOWS, "vector_rows"]
    sums = pa.table(columns).group_by("version").aggregate([(name, "sum") for name in names])
    for row in sums.to_pylist():
        flows = {name: int(row[f"{name}_sum"]) for name in FLOWS}
        rows = int(row["vector_rows_sum"])
        flows["rows_out" if rows > 0 else "rows_in"] += abs(rows)
        commits[row["version"]].flows = flows
    removed = pc.and_(pc.and_(pc.invert(added), is_whole), changes)
    history.removed_files += total_of(removed)
    history.removed_unknown += total_of(pc.and_(removed, pc.is_null(files["rows"])))
    expired = pc.and_(
        pc.and_(pc.invert(added), is_whole),
        pc.fill_null(pc.less(files["deletion_time"], pa.scalar(cutoff)), False),
    )
    history.tombstones = (
        history.tombstones[0] + total_of(expired),
        history.tombstones[1] + total_of(pc.if_else(expired, files["size"], zero)),
    )


def _changes(definitions: list[Definition]) -> Iterator[DefinitionChange]:
    """Yield the differences between each definition and the one before it."""
    before: dict[str, dict[tuple[str, str], str]] = {}
    for version, kind, body in definitions:
        after = _metadata_facts(body) if kind == "metaData" else _protocol_facts(body)
        if kind in before:
            yield from _differences(version, before[kind], after)
        elif version > 0:
            yield DefinitionChange(version, kind, "", None, "the oldest definition in the log")
        before[kind] = after


def _differences(
    version: int, before: dict[tuple[str, str], str], after: dict[tuple[str, str], str]
) -> Iterator[DefinitionChange]:
    for key in [*before, *(key for key in after if key not in before)]:
        if before.get(key) != after.get(key):
            yield DefinitionChange(version, *key, before.get(key), after.get(key))


def _metadata_facts(body: dict[str, Any]) -> dict[tuple[str, str], str]:
    facts: dict[tuple[str, str], str] = {}
    try:
        for path, field in fields_with_paths(Struct.parse(body["schemaString"]).fields):
            kind = type_text(field.type)
            facts["column", path] = kind if field.nullable else f"{kind} not null"
    except (ValueError, TypeError, KeyError, RecursionError, UnsupportedFeatureError):
        facts["schema", ""] = "not readable"
    facts |= {("property", key): str(value) for key, value in body["configuration"] or ()}
    if body["partitionColumns"]:
        facts["partition columns", ""] = ", ".join(body["partitionColumns"])
    return facts | {(name, ""): body[name] for name in ("name", "description") if body[name]}


def _protocol_facts(body: dict[str, Any]) -> dict[tuple[str, str], str]:
    facts = {
        ("protocol", name): str(body[name]) for name in ("minReaderVersion", "minWriterVersion")
    }
    for kind in ("reader", "writer"):
        facts |= {(f"{kind} feature", name): "on" for name in body[f"{kind}Features"] or ()}
    return facts


@dataclass
class Facts:
    """The measurements for a report; a failed measurement is its error.

    Attributes:
        snapshot: The version that is reported.
        latest: The latest version.
        now: The time of the measurement.
        history: The commits.
        tombstones: Removed files whose retention has not passed, and their bytes.
        log: The cost of the log of the latest version.
        cleanup: Files of the log that have expired.
        verification: The findings on the log; with ``orphans``, on the files too. None if the table
            is too large for that: only the latest version was replayed, and is valid.
        orphans: The files that vacuum would delete; None if not requested.
        seconds: The duration of the measurement.
    """

    table: Table
    snapshot: Snapshot
    latest: int
    now: datetime
    files: LiveFiles
    history: History
    tombstones: tuple[int, int]
    log: LogAdvice | DeltaReplayError
    cleanup: LogCleanup | DeltaReplayError
    verification: Verification | DeltaReplayError | None
    orphans: Vacuumed | DeltaReplayError | None
    seconds: float

    @property
    def timestamp(self) -> datetime | None:
        """The commit time of the version; None if it is out of range."""
        try:
            return self.snapshot.timestamp
        except CorruptTableError:
            return None

    @property
    def display_uri(self) -> str:
        """The URI of the table, without secrets."""
        return without_secrets(self.table.uri)


def measure(table: Table, version: int | None, orphans: bool) -> Facts:
    """Measure a table for its report: its log is read several times, in bounded memory."""
    began = time.monotonic()
    now = datetime.now(timezone.utc)
    newest = table.snapshot()
    snapshot = newest if version is None else table.snapshot(version)
    cutoff = _vacuum_cutoff(table, newest)
    # first the part that needs most memory, which the others then reuse
    log = _or_error(table.optimize_log)
    verification = _or_error(lambda: _verified(table, newest, orphans))
    files = live_files(snapshot)
    return Facts(
        table=table,
        snapshot=snapshot,
        latest=newest.version,
        now=now,
        files=files,
        history=read_history(table, snapshot, newest.version, cutoff),
        tombstones=_tombstones(snapshot),
        log=log,
        cleanup=_or_error(table.cleanup_log),
        verification=verification,
        orphans=_or_error(table.vacuum) if orphans else None,
        seconds=time.monotonic() - began,
    )


def _or_error(work: Callable[[], T]) -> T | DeltaReplayError:
    """Return the result, or the error, so that the rest of the report can be written."""
    try:
        return work()
    except DeltaReplayError as error:
        return error


def _verified(table: Table, newest: Snapshot, orphans: bool) -> Verification | None:
    if newest.num_files <= MAX_VERIFIED or orphans:
        return table.verify(data_files=orphans)
    table.snapshot(newest.version, verify=True)
    return None


def _vacuum_cutoff(table: Table, newest: Snapshot) -> int:
    """Return the time before which removed files are garbage; 0 without vacuum support."""
    try:
        return _native.vacuum_cutoff(table.native, newest.native)
    except UnsupportedFeatureError:
        return 0


def _tombstones(snapshot: Snapshot) -> tuple[int, int]:
    tombstones = snapshot.tombstones()
    return tombstones.num_rows, int(pc.sum(tombstones["size"]).as_py() or 0)
