"""Random logs: histories of a table, and the many ways to store one in files."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from property.model import Model, key, vector_id
from support import logs

Body = dict[str, Any]
Key = tuple[str, str | None]

NOW = int(time.time() * 1000)
DAY = 24 * 3600 * 1000
# expired long ago, unknown, a day old, older than a week, in the future
DELETIONS = [1000, None, NOW - DAY, NOW - 8 * DAY, logs.NEVER_EXPIRES]
# pairs that decode to one path but are two files, and special characters
PATHS = [
    "a.parquet",
    "b.parquet",
    "%63.parquet",
    "c.parquet",
    "d=1/e%20f.parquet",
    "d=%25/g.parquet",
    "d=2/%E7%8C%AB.parquet",
    "deep/er/h+i.parquet",
    "j%2Fk.parquet",
]
VECTORS = [
    logs.deletion_vector(),
    logs.deletion_vector(offset=None),
    logs.deletion_vector(offset=0),
    logs.deletion_vector("abvBn[lx{q8@P<9BNH/isA", offset=47, size=40, cardinality=9),
    logs.deletion_vector("^Bg9^0rr910000000000iXQKl0rr91000f", storage_type="i", offset=None),
    logs.deletion_vector("file:///elsewhere/deletion_vector_x.bin", storage_type="p"),
]
CHECKPOINTS = [
    "classic",
    "multipart",
    "v2-json",
    "v2-parquet",
    "v2-classic",
    "v2-inline-json",
    "v2-inline-parquet",
]


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint and how it is written."""

    version: int
    kind: str
    parts: int
    row_group_size: int
    stats: str  # json, both or struct


@dataclass
class History:
    """The commits of a table, and the other files of its log."""

    commits: list[list[logs.Action]]
    checkpoints: list[Checkpoint]
    compactions: list[tuple[int, int]]
    checksums: dict[int, list[str]]  # version: the fields that it omits
    hint: str
    cleaned: bool
    leftovers: list[str] = field(default_factory=list)

    @property
    def latest(self) -> int:
        return len(self.commits) - 1

    @property
    def earliest(self) -> int:
        """Return the oldest readable version: the oldest checkpoint's after a cleanup."""
        if not self.cleaned or not self.checkpoints:
            return 0
        return min(checkpoint.version for checkpoint in self.checkpoints)

    def model(self, version: int) -> Model:
        """Return the state of the commits up to ``version``."""
        model = Model()
        for actions in self.commits[: version + 1]:
            model.replay(actions)
        return model

    def write(self, table: Path) -> None:
        """Write the history below ``table``."""
        log = logs.LogBuilder(table)
        for actions in self.commits:
            log.commit(*actions)
        for checkpoint in self.checkpoints:
            self._write_checkpoint(log, checkpoint)
        for start, end in self.compactions:
            log.compact(start, end)
        for version, without in self.checksums.items():
            sizes = [body["size"] for body in log.state(version).adds.values()]
            histogram = {
                "sortedBinBoundaries": [0],
                "fileCounts": [len(sizes)],
                "totalBytes": [sum(sizes)],
            }
            absent = dict.fromkeys(without)
            log.checksum(version, **{"histogramOpt": histogram, **absent})
        self._add_leftovers(log)
        log.delete_commits(self.earliest)
        self._write_hint(log)

    def _write_checkpoint(self, log: logs.LogBuilder, checkpoint: Checkpoint) -> None:
        options: dict[str, Any] = {"row_group_size": checkpoint.row_group_size}
        if checkpoint.stats != "json":
            options["stats_type"] = log.stats_type(checkpoint.version)
        if checkpoint.stats == "struct" and not checkpoint.kind.startswith("v2"):
            options["drop"] = ["add.stats"]
        log.checkpoint(
            checkpoint.version,
            kind=checkpoint.kind,
            parts=checkpoint.parts,
            hint=False,
            **options,
        )

    def _add_leftovers(self, log: logs.LogBuilder) -> None:
        """Add the leftovers of crashed writers."""
        for leftover in self.leftovers:
            version = self.latest
            if leftover == "empty checkpoint":
                logs.write_file(log.table, logs.classic_name(version), b"")
            elif leftover == "incomplete multipart":
                rows = log.state(version).actions()
                parts = logs.write_multipart(log.table, version, rows, 3)
                parts[1].unlink()
            elif leftover == "hadoop checksum":
                logs.write_file(log.table, f".{logs.commit_name(version)}.crc", b"crc\0\0\0")
            elif leftover == "temporary":
                logs.write_file(log.table, f".{logs.commit_name(version + 1)}.0.tmp", b'{"add"')
            elif leftover == "staged":
                name = f"_staged_commits/{version + 1:020}.0b1c.json"
                logs.write_file(log.table, name, b'{"add":{"path":"never"}}\n')

    def _write_hint(self, log: logs.LogBuilder) -> None:
        newest = max((c.version for c in self.checkpoints), default=None)
        oldest = min((c.version for c in self.checkpoints), default=None)
        if self.hint == "newest" and newest is not None:
            logs.write_hint(log.table, newest)
        elif self.hint == "oldest" and oldest is not None:
            logs.write_hint(log.table, oldest)
        elif self.hint == "checksum" and newest is not None:
            body = {"version": newest, "size": 3, "tags": {"a b": "ü"}}
            checksum = logs.hint_checksum(body)
            logs.write_hint(log.table, newest, 3, tags={"a b": "ü"}, checksum=checksum)
        elif self.hint == "wrong checksum" and newest is not None:
            logs.write_hint(log.table, newest, 3, checksum="0" * 32)
        elif self.hint == "ahead":
            logs.write_hint(log.table, self.latest + 10)
        elif self.hint == "no such checkpoint":
            logs.write_hint(log.table, self.latest)
        elif self.hint == "garbage":
            logs.write_file(log.table, "_last_checkpoint", b"\xff\x00{]")
        elif self.hint == "truncated":
            logs.write_file(log.table, "_last_checkpoint", b'{"version":')
        elif self.hint == "empty":
            logs.write_file(log.table, "_last_checkpoint", b"")


HINTS = [
    "none",
    "newest",
    "oldest",
    "checksum",
    "wrong checksum",
    "ahead",
    "no such checkpoint",
    "garbage",
    "truncated",
    "empty",
]
LEFTOVERS = ["empty checkpoint", "incomplete multipart", "hadoop checksum", "temporary", "staged"]
# correct hints, which raise no warning
CORRECT_HINTS = {"newest", "checksum"}


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Generate histories of at most 11 commits."""
    partitioned = draw(st.booleans())
    count = draw(st.integers(0, 10))
    live: dict[Key, Body] = {}
    commits = [_first(partitioned)]
    for version in range(1, count + 1):
        commits.append(_commit(draw, live, partitioned, version))
    versions = st.integers(0, count)
    checkpoints = draw(
        st.lists(
            st.builds(
                Checkpoint,
                version=versions,
                kind=st.sampled_from(CHECKPOINTS),
                parts=st.integers(2, 3),
                row_group_size=st.sampled_from([1, 2, 1000]),
                stats=st.sampled_from(["json", "both", "struct"]),
            ),
            max_size=3,
            unique_by=lambda checkpoint: (checkpoint.version, checkpoint.kind),
        )
    )
    pairs = st.tuples(versions, versions).filter(lambda pair: pair[0] < pair[1])
    compactions = draw(st.lists(pairs, max_size=3, unique=True)) if count > 0 else []
    optional = st.lists(
        st.sampled_from(["setTransactions", "domainMetadata", "histogramOpt", "numProtocol"]),
        unique=True,
    )
    return History(
        commits=commits,
        checkpoints=checkpoints,
        compactions=compactions,
        checksums=draw(st.dictionaries(versions, optional, max_size=3)),
        hint=draw(st.sampled_from(HINTS)),
        cleaned=draw(st.booleans()),
        leftovers=_leftovers(draw, checkpoints, count),
    )


def _leftovers(draw: st.DrawFn, checkpoints: list[Checkpoint], latest: int) -> list[str]:
    at_latest = {c.kind for c in checkpoints if c.version == latest}
    possible = [
        leftover
        for leftover in LEFTOVERS
        if not (leftover == "empty checkpoint" and at_latest & {"classic", "v2-classic"})
        and not (leftover == "incomplete multipart" and "multipart" in at_latest)
    ]
    return draw(st.lists(st.sampled_from(possible), max_size=2, unique=True))


def _first(partitioned: bool) -> list[logs.Action]:
    names = ["deletionVectors", "v2Checkpoint"]
    return [
        logs.commit_info("CREATE TABLE"),
        logs.features(*names, writer_only=["domainMetadata", "rowTracking"]),
        logs.metadata(
            logs.schema(id="long", d="string"),
            partition_columns=["d"] if partitioned else [],
            configuration={"version": "0"},
        ),
    ]


def _commit(
    draw: st.DrawFn, live: dict[Key, Body], partitioned: bool, version: int
) -> list[logs.Action]:
    actions: list[logs.Action] = []
    if draw(st.booleans()):
        actions.append(logs.commit_info("WRITE", operationMetrics={"numFiles": "1"}))
    touched: set[str] = set()
    for _ in range(draw(st.integers(0, 4))):
        actions += _file_step(draw, live, partitioned, version, touched)
    for app in draw(st.lists(st.sampled_from(["app", "öther", ""]), max_size=2, unique=True)):
        updated = draw(st.sampled_from([None, 5, NOW]))
        actions.append(logs.txn(app, draw(st.integers(-1, 2**62)), updated))
    for name in draw(st.lists(st.sampled_from(["d1", "delta.x", "d3"]), max_size=2, unique=True)):
        body = json.dumps({"at": version})
        actions.append(logs.domain(name, body, removed=draw(st.booleans())))
    if draw(st.integers(0, 6)) == 0:
        actions.append(
            logs.metadata(
                logs.schema(id="long", d="string", more="double"),
                partition_columns=["d"] if partitioned else [],
                configuration={"version": str(version)},
                name=draw(st.sampled_from([None, "naïve", ""])),
            )
        )
    if draw(st.integers(0, 6)) == 0:
        actions.append(
            logs.features("deletionVectors", "v2Checkpoint", writer_only=["domainMetadata"])
        )
    if draw(st.integers(0, 3)) == 0:
        actions.append(logs.cdc("_change_data/cdc-0.parquet"))
        actions.append({"somethingNew": {"add": {"path": "not-a-file"}}})
    return draw(st.permutations(actions)) if len(actions) < 6 else actions


def _file_step(
    draw: st.DrawFn, live: dict[Key, Body], partitioned: bool, version: int, touched: set[str]
) -> list[logs.Action]:
    """Generate one change of files; no path twice in one commit, except for a new vector."""
    step = draw(
        st.sampled_from(["add", "add", "again", "remove", "vector", "unknown", "no vector"])
    )
    path = draw(st.sampled_from(PATHS))
    if step in ("again", "remove", "vector", "no vector") and live:
        chosen = draw(st.sampled_from(sorted(live, key=repr)))
        body = live[chosen]
        path, vector = body["path"], body.get("deletionVector")
    else:
        body, vector = None, draw(st.sampled_from([None, None, *VECTORS]))
    decoded = key({"path": path})[0]
    if decoded in touched:
        return []
    if body is None and any(existing == decoded for existing, _ in live) and step != "unknown":
        return []  # a second vector for a live file, without removing the first, is illegal
    touched.add(decoded)
    removal = logs.remove(
        path,
        deletion_timestamp=draw(st.sampled_from(DELETIONS)),
        deletion_vector=vector,
        partition_values=_values(draw, partitioned),
        extended=draw(st.sampled_from([True, None])),
    )
    if step == "unknown":
        live.pop(key(removal["remove"]), None)
        return [removal]
    if body is None or step == "again":
        return [_added(draw, live, path, vector, partitioned, version)]
    live.pop(key(body), None)
    if step == "remove":
        return [removal]
    other = None
    if step == "vector" or vector is None:
        others = [v for v in VECTORS if vector_id(v) != vector_id(vector)]
        other = draw(st.sampled_from(others))
    return [removal, _added(draw, live, path, other, partitioned, version)]


def _added(
    draw: st.DrawFn,
    live: dict[Key, Body],
    path: str,
    vector: Body | None,
    partitioned: bool,
    version: int,
) -> logs.Action:
    records = draw(st.integers(0, 2**40))
    stats: str | None = logs.stats(records, id=(version, 2**53 + records, 0))
    action = logs.add(
        path,
        partition_values=_values(draw, partitioned),
        size=draw(st.sampled_from([0, 1, 100, 2**40])),
        modification_time=logs.T0 + version,
        data_change=draw(st.booleans()),
        stats=draw(st.sampled_from([stats, stats, None])) if vector is None else stats,
        tags=draw(st.sampled_from([None, {}, {"k": "v", "ü": None}])),
        deletion_vector=vector,
        base_row_id=draw(st.sampled_from([None, 0, 2**60])),
        default_row_commit_version=draw(st.sampled_from([None, version])),
        clustering_provider=draw(st.sampled_from([None, "liquid"])),
    )
    live[key(action["add"])] = action["add"]
    return action


def _values(draw: st.DrawFn, partitioned: bool) -> dict[str, str | None]:
    if not partitioned:
        return {}
    return {"d": draw(st.sampled_from(["1", "", None, "a b/c%", "猫"]))}
