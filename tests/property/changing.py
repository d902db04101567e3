"""Tables whose rows change at random, written as Delta writers do, with the events.

Every row has a number, which the table keeps only if it tracks rows. ``Writer`` keeps the rows of
each version by that number, and every event; ``change_model`` computes the expected changes of
each kind from those alone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from support import data, feed, logs
from support.actions import Action

ROW_ID, ROW_VERSION = "_row-id-col-1", "_row-commit-version-col-1"
OPERATIONS = (
    *("delete", "update", "merge", "insert") * 2,
    *("overwrite", "optimize", "restore", "rollback", "rewrite", "nothing"),
)


@dataclass(frozen=True)
class Row:
    """A row: its number, its values, and the version that last changed them."""

    number: int
    k: int
    v: int
    since: int

    @property
    def values(self) -> tuple[int, int]:
        """Return the values that a reader sees."""
        return self.k, self.v


@dataclass(frozen=True)
class Event:
    """An event of one row."""

    change: str
    row: Row


@dataclass(frozen=True)
class Config:
    """The configuration of the table."""

    vectors: bool
    tracking: bool
    feed: bool
    partitioned: bool


@dataclass
class File:
    """A live data file: its ``add`` without vector, its rows, the deleted ones."""

    add: Action
    rows: list[Row]
    deleted: set[int] = field(default_factory=set)

    @property
    def name(self) -> str:
        """Return the path."""
        return str(self.add["add"]["path"])

    def same(self, other: File) -> bool:
        """Return whether the same rows are deleted."""
        return self.deleted == other.deleted

    def live(self) -> list[Row]:
        """Return the remaining rows."""
        return [row for at, row in enumerate(self.rows) if at not in self.deleted]

    def action(self) -> Action:
        """Return its current ``add``."""
        return feed.with_vector(self.add, self.deleted)


@dataclass
class Commit:
    """The events of a version."""

    events: list[Event]
    #: It has change data files.
    recorded: bool = False
    #: Rows were removed and whole files added.
    rewrites: bool = False
    #: Rows were moved to other files without a change.
    moved: bool = False


class Writer:
    """Writes a history into a directory."""

    def __init__(self, root: Path, config: Config) -> None:
        self.config = config
        self.log = logs.LogBuilder(root)
        self.files: list[File] = []
        self.commits: list[Commit] = []
        self.states: list[dict[int, Row]] = []
        #: The live files of each version.
        self.layouts: list[list[File]] = []
        #: How many rows, keys and data files were created.
        self.numbers = self.keys = self.names = 0
        #: The ids of rows, by their numbers; the next free one.
        self.ids: dict[int, int] = {}
        self.next_id = 0
        features = ["changeDataFeed", "rowTracking", "domainMetadata"]
        configuration = {"delta.enableChangeDataFeed": str(config.feed).lower()}
        if config.tracking:
            configuration |= {
                "delta.enableRowTracking": "true",
                "delta.rowTracking.materializedRowIdColumnName": ROW_ID,
                "delta.rowTracking.materializedRowCommitVersionColumnName": ROW_VERSION,
            }
        self.log.create(
            logs.schema(k="long", v="long"),
            protocol_action=logs.features("deletionVectors", writer_only=features),
            configuration=configuration,
            partition_columns=["v"] if config.partitioned else [],
        )
        self._done(Commit([]), {})

    @property
    def version(self) -> int:
        """Return the next version."""
        return len(self.commits)

    def _done(self, commit: Commit, state: dict[int, Row]) -> None:
        self.commits.append(commit)
        self.states.append(state)
        self.layouts.append([replace(file, deleted=set(file.deleted)) for file in self.files])

    def step(self, operation: str, rng: random.Random) -> None:
        """Write one commit."""
        live = [row for file in self.files for row in file.live()]
        chosen = [row for row in live if rng.random() < 0.4]
        if operation == "insert":
            self._change([], [], self._new_rows(self._new_keys(rng), rng), rng)
        elif operation == "update":
            self._change([], chosen, [], rng)
        elif operation == "delete":
            self._change(chosen, [], [], rng)
        elif operation == "merge":
            half = len(chosen) // 2
            inserts = self._new_rows(self._new_keys(rng), rng)
            self._change(chosen[:half], chosen[half:], inserts, rng)
        elif operation == "overwrite":
            self._overwrite(live, rng)
        elif operation == "optimize":
            self._optimize()
        elif operation == "restore":
            self._restore(rng)
        elif operation == "rollback":
            self._rollback(rng)
        elif operation == "rewrite":
            self._rewrite()
        else:
            self.log.commit(logs.commit_info("SET TBLPROPERTIES"))
            self._done(Commit([]), self.states[-1])

    def _new_keys(self, rng: random.Random) -> list[int]:
        """Return free keys; some of them existed before."""
        free = set(range(self.keys)) - {row.k for file in self.files for row in file.live()}
        keys: list[int] = []
        for _ in range(rng.randint(1, 5)):
            if free and rng.random() < 0.3:
                key = rng.choice(sorted(free))
                free.remove(key)
            else:
                key, self.keys = self.keys, self.keys + 1
            keys.append(key)
        return keys

    def _new_rows(self, keys: list[int], rng: random.Random) -> list[Row]:
        rows = []
        for key in keys:
            rows.append(Row(self.numbers, key, rng.randint(0, 2), self.version))
            self.numbers += 1
        return rows

    def _change(
        self, deletes: list[Row], updates: list[Row], inserts: list[Row], rng: random.Random
    ) -> None:
        changed = [Row(row.number, row.k, rng.randint(0, 2), self.version) for row in updates]
        events = [Event("delete", row) for row in deletes]
        for before, after in zip(updates, changed, strict=True):
            events += [Event("update_preimage", before), Event("update_postimage", after)]
        events += [Event("insert", row) for row in inserts]
        gone = {row.number for row in [*deletes, *updates]}
        actions, arrived, kept = [], [*changed, *inserts], []
        for file in self.files:
            hit = {at for at, row in enumerate(file.rows) if row.number in gone} - file.deleted
            if not hit:
                kept.append(file)
                continue
            actions.append(feed.removal(file.action()))
            left = [row for row in file.live() if row.number not in gone]
            if not left:
                continue
            if self.config.vectors:
                file.deleted |= hit
                actions.append(file.action())
                kept.append(file)
            else:
                arrived = [*left, *arrived]
        rewrites = bool(actions and arrived)
        whole = not any("add" in action for action in actions)
        self.files = kept
        if arrived:
            rng.shuffle(arrived)
            actions += self._write(arrived)
        reported = False
        if self.config.feed and events and (rewrites or not (whole or rng.random() < 0.5)):
            reported = True
            actions += self._change_files(events)
        self.log.commit(logs.commit_info("MERGE"), *actions)
        self._finish(Commit(events, recorded=reported, rewrites=rewrites))

    def _overwrite(self, live: list[Row], rng: random.Random) -> None:
        keys = [row.k for row in live if rng.random() < 0.6]
        inserts = self._new_rows(keys, rng)
        actions = [feed.removal(file.action()) for file in self.files]
        had = bool(self.files)
        self.files = []
        if inserts:
            actions += self._write(inserts)
        self.log.commit(logs.commit_info("WRITE"), *actions)
        events = [Event("delete", row) for row in live]
        events += [Event("insert", row) for row in inserts]
        self._finish(Commit(events, rewrites=had and bool(inserts)))

    def _optimize(self) -> None:
        live = [row for file in self.files for row in file.live()]
        actions = [feed.removal(file.action(), data_change=False) for file in self.files]
        moved = bool(self.files)
        self.files = []
        if live:
            actions += self._write(live, data_change=False)
        self.log.commit(logs.commit_info("OPTIMIZE"), *actions)
        self._finish(Commit([], moved=moved))

    def _restore(self, rng: random.Random) -> None:
        """Restore deleted rows of one file whose keys are free."""
        live = {row.k for file in self.files for row in file.live()}
        for file in self.files:
            back = {at for at in file.deleted if file.rows[at].k not in live}
            keys = [file.rows[at].k for at in back]
            if back and len(keys) == len(set(keys)):
                before = file.action()
                file.deleted -= back
                self.log.commit(logs.commit_info("RESTORE"), feed.removal(before), file.action())
                events = [Event("insert", file.rows[at]) for at in sorted(back)]
                self._finish(Commit(events))
                return
        self.step("nothing", rng)

    def _rollback(self, rng: random.Random) -> None:
        """Restore the files of an earlier version, if the table tracks rows and has no feed."""
        then = {file.name: file for file in rng.choice(self.layouts)}
        now = {file.name: file for file in self.files}
        same = {name for name, file in now.items() if name in then and then[name].same(file)}
        if not self.config.tracking or self.config.feed or len(same) == len(now) == len(then):
            self.step("nothing", rng)
            return
        left: list[Row] = []
        arrived: list[Row] = []
        for name in sorted((now.keys() | then.keys()) - same):
            before = now[name].live() if name in now else []
            after = then[name].live() if name in then else []
            left += [row for row in before if row not in after]
            arrived += [row for row in after if row not in before]
        actions = [feed.removal(now[name].action()) for name in now if name not in same]
        actions += [then[name].action() for name in then if name not in same]
        self.log.commit(logs.commit_info("RESTORE"), *actions)
        # rows are matched only if whole files were added: vectors alone delete and restore rows
        rewrites = bool(left) and bool(then.keys() - now.keys())
        pairs: set[int] = set()
        if rewrites:
            kept = set(left) & set(arrived)
            left = [row for row in left if row not in kept]
            arrived = [row for row in arrived if row not in kept]
            pairs = {row.number for row in left} & {row.number for row in arrived}
        self.files = [replace(file, deleted=set(file.deleted)) for file in then.values()]
        events = [
            *(Event("update_preimage" if row.number in pairs else "delete", row) for row in left),
            *(
                Event("update_postimage" if row.number in pairs else "insert", row)
                for row in arrived
            ),
        ]
        self._finish(Commit(events, rewrites=rewrites))

    def _rewrite(self) -> None:
        """Rewrite all files by a MERGE that changes no row."""
        live = [row for file in self.files for row in file.live()]
        actions = [feed.removal(file.action()) for file in self.files]
        had, self.files = bool(self.files), []
        if live:
            actions += self._write(live)
        counts = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
        info = logs.commit_info("MERGE", operationMetrics=dict.fromkeys(counts, "0"))
        self.log.commit(info, *actions)
        self._finish(Commit([], moved=had))

    def _finish(self, commit: Commit) -> None:
        self._done(commit, {row.number: row for file in self.files for row in file.live()})

    def _write(self, rows: list[Row], **action: Any) -> list[Action]:
        """Write new data files of these rows."""
        if not self.config.partitioned:
            return [self._data_file(rows, {}, **action)]
        parts = sorted({row.v for row in rows})
        return [
            self._data_file([row for row in rows if row.v == v], {"v": str(v)}, **action)
            for v in parts
        ]

    def _data_file(self, rows: list[Row], values: dict[str, str], **action: Any) -> Action:
        columns: dict[str, Any] = {"k": pa.array([row.k for row in rows], pa.int64())}
        if not values:
            columns["v"] = pa.array([row.v for row in rows], pa.int64())
        if self.config.tracking:
            ids = [self.ids.get(row.number) for row in rows]
            since = [row.since if row.since != self.version else None for row in rows]
            if any(number is not None for number in ids):
                columns[ROW_ID] = pa.array(ids, pa.int64())
                columns[ROW_VERSION] = pa.array(since, pa.int64())
            base = self.next_id
            for at, row in enumerate(rows):
                self.ids.setdefault(row.number, base + at)
            self.next_id += len(rows)
            action |= {"base_row_id": base, "default_row_commit_version": self.version}
        self.names += 1
        add = data.write(
            self.log.table,
            f"{self.names}.parquet",
            pa.table(columns),
            partition_values=values,
            row_group_size=3,
            **action,
        )
        self.files.append(File({"add": {**add["add"], "dataChange": True}}, list(rows)))
        return add

    def _change_files(self, events: list[Event]) -> list[Action]:
        """Write a change data file, or one for each partition."""
        if not self.config.partitioned:
            return [self._change_file(events, f"{self.version}.parquet", None)]
        actions = []
        for number, v in enumerate(dict.fromkeys(event.row.v for event in events)):
            values: dict[str, str | None] = {"v": str(v)}
            inside = [event for event in events if event.row.v == v]
            actions.append(self._change_file(inside, f"{self.version}-{number}.parquet", values))
        return actions

    def _change_file(
        self, events: list[Event], name: str, values: dict[str, str | None] | None
    ) -> Action:
        rows = {
            "k": pa.array([event.row.k for event in events], pa.int64()),
            # a partition column may be in the file, too
            "v": pa.array([event.row.v for event in events], pa.int64()),
        }
        types = [event.change for event in events]
        return feed.change_file(self.log.table, name, rows, types, values)
