"""Planning of the batches of a stream."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from deltareplay import _native
from deltareplay._changes.change_split import ChangeSplit
from deltareplay._changes.follow import Follow
from deltareplay._snapshot.snapshot import Snapshot
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.catalog.table_argument import table_of

#: An offset as Spark stores it: Delta's own JSON.
Offset = dict[str, Any]

_NO_LIMIT = (1 << 62) - 1


class StreamPlanner:
    """Plans the batches of one run of a query.

    Spark before 4.2 requests the end of the next batch without its start, so the planner stores the
    current offset. After a restart, Spark first requests the batch that ends at the last offset.

    The splits between two offsets are always the same, even in another process.
    """

    def __init__(
        self,
        planned: Snapshot,
        start: dict[str, Any],
        rows: dict[str, Any],
        limits: dict[str, Any],
        excluded: re.Pattern[str] | None = None,
    ) -> None:
        """Start with the options of the stream.

        Args:
            planned: The version whose columns Spark knows.
            start: The start of a new stream, as arguments of ``Table.follow``.
            rows: The rows to return, as arguments of ``Table.follow``.
            limits: The limits of a batch, as arguments of ``Table.follow``; none means all.
            excluded: A regular expression of paths in the log, whose files are left out.
        """
        self._table = table_of(planned)
        self._planned = planned
        self._start = start
        self._rows = rows
        self._limits = limits
        self._excluded = excluded
        self._first: Offset | None = None
        self._current: Offset | None = None
        self._target: Offset | None = None

    def first(self) -> Offset:
        """Return the offset at which a new stream starts."""
        if self._first is None:
            self._first = _offset(self._table.follow(**self._start))
        return self._first

    def end_at_newest(self) -> None:
        """Limit the run to the version that is the newest one now."""
        self._target = self._latest()

    def next(self, start: Offset | None = None, *, limited: bool = True) -> Offset:
        """Return the offset at which the next batch ends; its start if nothing is new.

        Args:
            start: The start of the batch; None if Spark does not pass it.
            limited: Whether the limits of the options apply.

        Raises:
            InvalidArgumentError: ``follow.schema``: the table's columns changed.
        """
        self._check_columns()
        current = start or self._current
        if current is None:
            current = self.first()
            if self._start.get("starting_version") == "latest":
                # a stream of new commits starts here, even if commits were added since
                self._current = current
                return current
        is_done = self._target is not None and _sort_key(current) >= _sort_key(self._target)
        has_limits = limited and self._limits and not is_done
        end = self._limited(current) if has_limits else self._newest(current)
        self._current = max(current, end, key=_sort_key)
        return self._current

    def _latest(self) -> Offset:
        return _offset(self._table.follow(starting_version="latest"))

    def _newest(self, current: Offset) -> Offset:
        newest = self._target or self._latest()
        if newest["reservoirId"] != current["reservoirId"] or (
            _sort_key(newest) < _sort_key(current)
        ):
            self._table.follow(offset=json.dumps(current))  # raises the error
        return max(current, newest, key=_sort_key)

    def _limited(self, current: Offset) -> Offset:
        ends = [] if self._target is None else [self._target]
        if current["isStartingVersion"]:
            # a batch of the rows at the start has no later commits, so its end gives their version
            version = current["reservoirVersion"] + 1
            ends.append(
                {**current, "reservoirVersion": version, "index": -1, "isStartingVersion": False}
            )
        until: dict[str, Any] = {"until": json.dumps(min(ends, key=_sort_key))} if ends else {}
        stream = self._table.follow(
            **self._rows, **self._limits, **until, offset=json.dumps(current), available_now=True
        )
        next(stream, None)
        return _offset(stream)

    def between(self, start: Offset, end: Offset, split_size: int) -> list[ChangeSplit]:
        """Return the splits between two offsets.

        Args:
            start: The offset after which the splits begin.
            end: The offset up to which they go, included.
            split_size: Approximate bytes of files per split.

        Raises:
            InvalidArgumentError: ``follow.schema``: the table's columns changed;
                ``follow.offset``: the log ends before the batch.
            UnsupportedFeatureError: ``option.regex``: some of the files that must be compared are
                excluded.
        """
        self._check_columns()
        if self._current is None or _sort_key(self._current) < _sort_key(end):
            self._current = end
        start = _with_starting_version(start, end)
        if _sort_key(start) >= _sort_key(end):
            return []
        stream = self._table.follow(
            **self._rows,
            max_files_per_batch=_NO_LIMIT,
            offset=json.dumps(start),
            until=json.dumps(end),
            available_now=True,
        )
        splits = [split for batch in stream for split in self._included(batch.splits(split_size))]
        if _sort_key(_offset(stream)) < _sort_key(end):
            raise InvalidArgumentError(
                f"a batch ends at version {end['reservoirVersion']}, but the log of the table ends "
                "before it: the table was replaced, or commits were deleted; start again with "
                "another checkpoint",
                code="follow.offset",
            )
        return splits

    def _included(self, splits: list[ChangeSplit]) -> Iterator[ChangeSplit]:
        """Yield the splits without excluded files."""
        for split in splits:
            if self._excluded is None or not any(map(self._excluded.search, split.paths)):
                yield split
                continue
            for part in split.cut(1):  # a file each
                matching = [self._excluded.search(path) is not None for path in part.paths]
                if any(matching) and not all(matching):
                    raise UnsupportedFeatureError(
                        f"excludeRegex matches some of the files {', '.join(part.paths)}, whose "
                        "rows must be compared with each other: turn on delta.enableChangeDataFeed "
                        "before rows change, or leave excludeRegex out",
                        code="option.regex",
                    )
                if not any(matching):
                    yield part

    def _check_columns(self) -> None:
        """Check that the table's columns are those that Spark knows."""
        newest, planned = self._table.snapshot(), self._planned
        if newest.partition_columns != planned.partition_columns or not _native.is_read_as(
            planned.schema_json, newest.schema_json
        ):
            raise InvalidArgumentError(
                f"the table's columns changed after version {planned.version}: start the query "
                "again with the same checkpoint, and it continues with the new columns",
                code="follow.schema",
            )


def _with_starting_version(start: Offset, end: Offset) -> Offset:
    """Return the start of a batch; that of the first batch gets the version of its rows.

    When the first batch is planned again after a crash, the latest version may have changed.
    """
    if not start["isStartingVersion"] or start["index"] >= 0:
        return start
    version = end["reservoirVersion"]
    return {**start, "reservoirVersion": version if end["isStartingVersion"] else version - 1}


def _offset(stream: Follow) -> Offset:
    offset: Offset = json.loads(stream.offset)
    return offset


def _sort_key(offset: Offset) -> tuple[int, int]:
    return offset["reservoirVersion"], max(offset["index"], -1)
