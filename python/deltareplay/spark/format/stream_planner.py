"""``StreamPlanner``: where a batch of a stream ends, and what is between two offsets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from deltareplay._changes.change_split import ChangeSplit
from deltareplay._changes.follow import Follow
from deltareplay._snapshot.snapshot import Snapshot
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.catalog.table_argument import table_of

#: An offset as Spark keeps it: Delta's own JSON.
Place = dict[str, Any]

_NO_LIMIT = (1 << 62) - 1


class StreamPlanner:
    """Plans the batches of one run of a query.

    Spark before 4.2 asks where the next batch ends without passing the current offset, so it is
    kept here. It is also known after a restart, because Spark first asks what is between the last
    offset and itself.

    What is between two offsets is always the same, also in another process.
    """

    def __init__(
        self,
        known: Snapshot,
        start: dict[str, Any],
        rows: dict[str, Any],
        limits: dict[str, Any],
        excluded: re.Pattern[str] | None = None,
    ) -> None:
        """Starts with the options of the stream.

        Args:
            known: The version whose columns Spark knows.
            start: Where a new stream starts, as in ``Table.follow``.
            rows: Which rows are returned, as in ``Table.follow``.
            limits: The limits of a batch, as in ``Table.follow``; without limits it has everything.
            excluded: Files whose paths in the log match it are left out.
        """
        self._table = table_of(known)
        self._known = known
        self._start = start
        self._rows = rows
        self._limits = limits
        self._excluded = excluded
        self._first: Place | None = None
        self._at: Place | None = None
        self._target: Place | None = None

    def first(self) -> Place:
        """Where a new stream starts.

        Raises:
            InvalidArgumentError: The start is invalid.
            VersionNotFoundError: It is after the latest version.
        """
        if self._first is None:
            self._first = _place(self._table.follow(**self._start))
        return self._first

    def end_at_newest(self) -> None:
        """Limits batches to what is there now."""
        self._target = self._latest()

    def next(self, start: Place | None = None, *, limited: bool = True) -> Place:
        """Where the next batch ends; its start if there is nothing new.

        Args:
            start: Where it starts; None if Spark does not pass it.
            limited: Whether the limits of the options apply.

        Raises:
            InvalidArgumentError: The table's columns changed, or it was replaced.
            UnsupportedFeatureError: The options do not allow one of the next commits.
            VersionNotFoundError: The stream starts after the latest version.
        """
        self._check_columns()
        at = start or self._at
        if at is None:
            at = self.first()
            if self._start.get("starting_version") == "latest":
                # a stream of new commits stays where it started, even if commits were added since
                self._at = at
                return at
        is_done = self._target is not None and _order(at) >= _order(self._target)
        has_limits = limited and self._limits and not is_done
        end = self._limited(at) if has_limits else self._newest(at)
        self._at = end if _order(end) > _order(at) else at
        return self._at

    def _latest(self) -> Place:
        return _place(self._table.follow(starting_version="latest"))

    def _newest(self, at: Place) -> Place:
        newest = self._target or self._latest()
        if newest["reservoirId"] != at["reservoirId"] or _order(newest) < _order(at):
            self._table.follow(offset=json.dumps(at))  # raises the error
        return max(at, newest, key=_order)

    def _limited(self, at: Place) -> Place:
        ends = [] if self._target is None else [self._target]
        if at["isStartingVersion"]:
            # a batch of the table's rows ends with their version: the end of the first batch has it
            behind = {**at, "reservoirVersion": at["reservoirVersion"] + 1, "index": -1}
            ends.append({**behind, "isStartingVersion": False})
        until: dict[str, Any] = {"until": json.dumps(min(ends, key=_order))} if ends else {}
        stream = self._table.follow(
            **self._rows, **self._limits, **until, offset=json.dumps(at), available_now=True
        )
        next(stream, None)
        return _place(stream)

    def between(self, start: Place, end: Place, split_size: int) -> list[ChangeSplit]:
        """The splits between two offsets.

        Args:
            start: After this offset.
            end: Up to this offset.
            split_size: About how many bytes of files a split has.

        Raises:
            InvalidArgumentError: The table's columns changed, or it was replaced.
            UnsupportedFeatureError: A commit changed rows, and the options do not allow that.
            CorruptTableError: The log is damaged.
        """
        self._check_columns()
        if self._at is None or _order(self._at) < _order(end):
            self._at = end
        start = _begun(start, end)
        if _order(start) >= _order(end):
            return []
        stream = self._table.follow(
            **self._rows,
            max_files_per_batch=_NO_LIMIT,
            offset=json.dumps(start),
            until=json.dumps(end),
            available_now=True,
        )
        splits = [split for batch in stream for split in self._kept(batch.splits(split_size))]
        if _order(_place(stream)) < _order(end):
            raise InvalidArgumentError(
                f"a batch ends at version {end['reservoirVersion']}, but the log of the table ends "
                "before it: the table was replaced or its log was cut; start again with another "
                "checkpoint",
                code="follow.offset",
            )
        return splits

    def _kept(self, splits: list[ChangeSplit]) -> Iterator[ChangeSplit]:
        """The splits without the files that are left out."""
        for split in splits:
            if self._excluded is None or not any(map(self._excluded.search, split.paths)):
                yield split
                continue
            for part in split._cut(1):  # a file each
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
        """Raises if the table's columns are not those that Spark knows."""
        newest, known = self._table.snapshot(), self._known
        if (newest.schema_json, newest.partition_columns) != (
            known.schema_json,
            known.partition_columns,
        ):
            raise InvalidArgumentError(
                f"the table's columns changed after version {known.version}: start the query "
                "again with the same checkpoint, and it continues with the new ones",
                code="follow.schema",
            )


def _begun(start: Place, end: Place) -> Place:
    """The version whose rows the first batch has.

    When that batch is planned again after a crash, the latest version may be another one.
    """
    if not start["isStartingVersion"] or start["index"] >= 0:
        return start
    version = end["reservoirVersion"]
    return {**start, "reservoirVersion": version if end["isStartingVersion"] else version - 1}


def _place(stream: Follow) -> Place:
    offset: Place = json.loads(stream.offset)
    return offset


def _order(offset: Place) -> tuple[int, int]:
    """The sort key of an offset."""
    return offset["reservoirVersion"], max(offset["index"], -1)
