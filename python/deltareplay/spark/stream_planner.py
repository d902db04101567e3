"""``StreamPlanner``: how far a batch of a stream goes, and what lies between two places."""

from __future__ import annotations

import json
from typing import Any

from deltareplay._change_split import ChangeSplit
from deltareplay._follow import Follow
from deltareplay._snapshot import Snapshot
from deltareplay._table import Table
from deltareplay.exceptions import InvalidArgumentError

#: An offset as Spark keeps it: Delta's own JSON.
Place = dict[str, Any]

_NO_LIMIT = (1 << 62) - 1


class StreamPlanner:
    """Plans the batches of one run of a query.

    Spark before 4.2 asks how far the next batch goes without saying where the stream stands, so
    the place is kept here. After a restart it is known, too: Spark asks first what lies between the
    last place and itself.

    What lies between two places is the same whenever it is asked for, also by another process.
    """

    def __init__(
        self,
        known: Snapshot,
        start: dict[str, Any],
        rows: dict[str, Any],
        limits: dict[str, Any],
    ) -> None:
        """Begins with what the options say.

        Args:
            known: The version whose columns Spark was told.
            start: Where a stream begins that was never begun, as ``Table.follow`` takes it.
            rows: Which rows are given, as ``Table.follow`` takes it.
            limits: How much a batch takes, as ``Table.follow`` takes it; none gives all there is.
        """
        self._table: Table = known._table
        self._known = known
        self._start = start
        self._rows = rows
        self._limits = limits
        self._first: Place | None = None
        self._at: Place | None = None
        self._target: Place | None = None

    def first(self) -> Place:
        """Where a stream begins that was never begun.

        Raises:
            InvalidArgumentError: The start is not understood.
            VersionNotFoundError: It lies behind the latest version.
        """
        if self._first is None:
            self._first = _place(self._table.follow(**self._start))
        return self._first

    def end_at_newest(self) -> None:
        """No batch goes beyond what is there now."""
        self._target = self._latest()

    def next(self, start: Place | None = None, *, limited: bool = True) -> Place:
        """How far the next batch goes; its start where there is nothing new.

        Args:
            start: Where it begins; None where Spark does not say it.
            limited: Whether the limits of the options hold.

        Raises:
            InvalidArgumentError: The table's columns changed, or it was replaced.
            UnsupportedFeatureError: A commit that comes next is not tolerated.
            VersionNotFoundError: The stream begins behind the latest version.
        """
        self._check_columns()
        at = start or self._at
        if at is None:
            at = self.first()
            if self._start.get("starting_version") == "latest":
                # a stream of what is to come stays where it began, though commits come meanwhile
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
            self._table.follow(offset=json.dumps(at))  # says what is wrong
        return max(at, newest, key=_order)

    def _limited(self, at: Place) -> Place:
        ends = [] if self._target is None else [self._target]
        if at["isStartingVersion"]:
            # a batch of the state ends with it: what the first batch began with is told by its end
            behind = {**at, "reservoirVersion": at["reservoirVersion"] + 1, "index": -1}
            ends.append({**behind, "isStartingVersion": False})
        until: dict[str, Any] = {"until": json.dumps(min(ends, key=_order))} if ends else {}
        stream = self._table.follow(
            **self._rows, **self._limits, **until, offset=json.dumps(at), available_now=True
        )
        next(stream, None)
        return _place(stream)

    def between(self, start: Place, end: Place, split_size: int) -> list[ChangeSplit]:
        """What lies between two places.

        Args:
            start: Behind this place.
            end: Up to this one.
            split_size: About how many bytes of files a split has.

        Raises:
            InvalidArgumentError: The table's columns changed, or it was replaced.
            UnsupportedFeatureError: A commit changed rows, and the options do not tolerate that.
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
        splits = [split for batch in stream for split in batch.splits(split_size)]
        if _order(_place(stream)) < _order(end):
            raise InvalidArgumentError(
                f"a batch ends at version {end['reservoirVersion']}, and the log of the table ends "
                "before it: the table was replaced or its log was cut; begin anew, with another "
                "checkpoint",
                code="follow.offset",
            )
        return splits

    def _check_columns(self) -> None:
        """Refuses to go on when the table has other columns than Spark was told."""
        newest, known = self._table.snapshot(), self._known
        if (newest.schema_json, newest.partition_columns) != (
            known.schema_json,
            known.partition_columns,
        ):
            raise InvalidArgumentError(
                f"the table's columns changed after version {known.version}: start the query "
                "again, with the same checkpoint, and it goes on with the new ones",
                code="follow.schema",
            )


def _begun(start: Place, end: Place) -> Place:
    """The state that the first batch begins with.

    When that batch is planned anew after a crash, the latest version is another one by then.
    """
    if not start["isStartingVersion"] or start["index"] >= 0:
        return start
    version = end["reservoirVersion"]
    return {**start, "reservoirVersion": version if end["isStartingVersion"] else version - 1}


def _place(stream: Follow) -> Place:
    place: Place = json.loads(stream.offset)
    return place


def _order(place: Place) -> tuple[int, int]:
    """What tells which of two places comes first."""
    return place["reservoirVersion"], max(place["index"], -1)
