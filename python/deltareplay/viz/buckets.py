"""Histograms in bounded memory."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa

from deltareplay._support.units import FIRST_MOMENT, LAST_MOMENT
from deltareplay.viz.kernels import pc

_SECOND = 1000
_MINUTE = 60_000
_DAY = 86_400_000
#: Widths of the buckets of time; each divides the next.
WIDTHS = (
    _SECOND,
    10 * _SECOND,
    _MINUTE,
    5 * _MINUTE,
    15 * _MINUTE,
    60 * _MINUTE,
    180 * _MINUTE,
    360 * _MINUTE,
    720 * _MINUTE,
    _DAY,
    7 * _DAY,
    28 * _DAY,
    364 * _DAY,
)
MOST_BUCKETS = 4096
#: Buckets of sizes per doubling.
STEPS = 16


class Totals:
    """Sums of several columns by an integer key."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.sums: dict[int, list[float]] = {}

    def add(self, keys: pa.Array[Any], columns: dict[str, pa.Array[Any]]) -> None:
        """Add rows; ``columns`` has the names, as float64, so that no sum overflows."""
        grouped = (
            pa.table({"key": keys, **columns})
            .group_by("key", use_threads=False)
            .aggregate([(name, "sum") for name in self.names])
        )
        values = [grouped[f"{name}_sum"].to_pylist() for name in self.names]
        for key, *row in zip(grouped["key"].to_pylist(), *values, strict=True):
            totals = self.sums.setdefault(key, [0.0] * len(self.names))
            for index, value in enumerate(row):
                totals[index] += value or 0.0


class Times(Totals):
    """Sums by time. Buckets become wider when there are too many."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        self._level = 0

    @property
    def width(self) -> int:
        """The width of a bucket in milliseconds."""
        return WIDTHS[self._level]

    def add(self, keys: pa.Array[Any], columns: dict[str, pa.Array[Any]]) -> None:
        """Add rows by their times in milliseconds."""
        inside = pc.min_element_wise(
            pc.max_element_wise(keys, pa.scalar(FIRST_MOMENT)), pa.scalar(LAST_MOMENT)
        )
        super().add(pc.divide(inside, pa.scalar(self.width)), columns)
        while len(self.sums) > MOST_BUCKETS and self._level + 1 < len(WIDTHS):
            self.widen()

    def widen(self) -> None:
        """Widen the buckets to the next width."""
        narrow, before = self.sums, self.width
        self._level += 1
        self.sums = {}
        for key, row in narrow.items():
            totals = self.sums.setdefault(key * before // self.width, [0.0] * len(self.names))
            for index, value in enumerate(row):
                totals[index] += value

    def bars(self, most: int) -> list[tuple[int, list[float]]]:
        """Return the start of each bucket and its sums, in order, gaps included; at most ``most``.

        The buckets of this object are widened as needed.
        """
        while self.sums and self._level + 1 < len(WIDTHS) and self._span() > most:
            self.widen()
        if not self.sums:
            return []
        empty = [0.0] * len(self.names)
        return [
            (key * self.width, self.sums.get(key, empty))
            for key in range(min(self.sums), max(self.sums) + 1)
        ]

    def _span(self) -> int:
        return max(self.sums) - min(self.sums) + 1


class Sizes(Totals):
    """Counts and bytes of files by size, with 16 steps per doubling."""

    def __init__(self) -> None:
        super().__init__(("files", "bytes"))

    def add_sizes(self, sizes: pa.Array[Any]) -> None:
        """Add files."""
        logs = pc.log2(pc.max_element_wise(sizes, pa.scalar(1.0)))
        keys = pc.cast(pc.floor(pc.multiply(logs, pa.scalar(float(STEPS)))), pa.int64())
        ones = pc.if_else(pc.is_valid(sizes), pa.scalar(1.0), pa.scalar(0.0))
        self.add(keys, {"files": ones, "bytes": sizes})

    def bars(self, most: int = 28) -> tuple[int, list[tuple[int, float, float]]]:
        """Return the finest histogram with at most this many bars.

        Returns:
            The number of bars per doubling, and for each bar its number, files and bytes: it begins
            at ``2 ** (number / bars per doubling)``.
        """
        steps = STEPS
        while steps > 1 and self.sums and self._span(steps) > most:
            steps //= 2
        joined: dict[int, list[float]] = {}
        for key, (files, total) in self.sums.items():
            totals = joined.setdefault(key * steps // STEPS, [0.0, 0.0])
            totals[0] += files
            totals[1] += total
        if not joined:
            return steps, []
        return steps, [
            (key, *joined.get(key, (0.0, 0.0))) for key in range(min(joined), max(joined) + 1)
        ]

    def _span(self, steps: int) -> int:
        return max(self.sums) * steps // STEPS - min(self.sums) * steps // STEPS + 1

    def quantile(self, share: float) -> float:
        """Return the size that this share of the files does not exceed, to 3 %."""
        rest = share * sum(row[0] for row in self.sums.values())
        for key in sorted(self.sums):
            rest -= self.sums[key][0]
            if rest <= 0:
                return math.pow(2, (key + 0.5) / STEPS)
        return 0.0
