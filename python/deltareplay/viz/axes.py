"""Positions of axis marks: round numbers, round sizes, days and months."""

from __future__ import annotations

import math
from datetime import datetime, timezone

from deltareplay._support import units

#: Steps of a time axis: months, or milliseconds.
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240)
_HOUR = 3_600_000
_STEPS = (
    *(1000 * seconds for seconds in (1, 5, 15, 30)),
    *(_HOUR // 60 * minutes for minutes in (1, 5, 15, 30)),
    *(_HOUR * hours for hours in (1, 3, 6, 12, 24, 48, 24 * 7, 24 * 14)),
)


def of_numbers(most: float, ticks: int = 3) -> list[float]:
    """Return round numbers from the first step to the last below ``most``.

    >>> of_numbers(100), of_numbers(7)
    ([50.0, 100.0], [2.0, 4.0, 6.0])
    """
    return _steps(most, ticks, 10.0)


def of_sizes(most: float, ticks: int = 3) -> list[float]:
    r"""Return round sizes.

    >>> [units.size(mark) for mark in of_sizes(3 << 30)]
    ['1\xa0GiB', '2\xa0GiB', '3\xa0GiB']
    """
    if most < 1024:
        return _steps(most, ticks, 10.0)
    unit = 1024.0 ** int(math.log2(most) // 10)
    return [mark * unit for mark in _steps(most / unit, ticks, 10.0)]


def _steps(most: float, ticks: int, base: float) -> list[float]:
    if most <= 0:
        return []
    rough = most / ticks
    power = base ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.8)
    return [step * multiple for multiple in range(1, int(most / step * 1.0001) + 1)]


def of_times(first: int, last: int, ticks: int = 7) -> list[tuple[int, str]]:
    """Return moments and their labels, at most ``ticks``.

    >>> day = 86_400_000
    >>> [label for _, label in of_times(0, 4 * day)]
    ['1 Jan 1970', '2 Jan', '3 Jan', '4 Jan', '5 Jan']
    >>> [label for _, label in of_times(31 * day, 2 * 365 * day)]
    ['Jul 1970', 'Jan 1971', 'Jul', 'Jan 1972']
    """
    for step in _STEPS:
        if (last - first) // step < ticks:
            marks = [mark * step for mark in range(-(-first // step), last // step + 1)]
            return _labelled(marks, step)
    for months in _MONTHS:
        marks = _months(first, last, months)
        if len(marks) <= ticks:
            return _labelled(marks, months * 30 * 24 * _HOUR)
    return _labelled(marks[:: -(-len(marks) // ticks)], months * 30 * 24 * _HOUR)


def _months(first: int, last: int, step: int) -> list[int]:
    begin, end = units.moment(first), units.moment(last)
    marks = []
    for number in range(begin.year * 12, end.year * 12 + 13, step):
        mark = units.milliseconds(datetime(number // 12, number % 12 + 1, 1, tzinfo=timezone.utc))
        if first <= mark <= last:
            marks.append(mark)
    return marks


def _labelled(marks: list[int], step: int) -> list[tuple[int, str]]:
    labels = []
    before: datetime | None = None
    for mark in marks:
        now = units.moment(mark)
        new_year = before is None or before.year != now.year
        new_day = before is None or before.day != now.day
        if step < 24 * _HOUR:
            clock = f"{now:%H:%M:%S}" if step < _HOUR // 60 else f"{now:%H:%M}"
            label = f"{now.day} {now:%b} {clock}" if new_day else clock
        elif step < 28 * 24 * _HOUR:
            label = f"{now.day} {now:%b}"
        else:
            label = f"{now:%b}" if step < 12 * 30 * 24 * _HOUR else f"{now:%Y}"
        if new_year and step >= 24 * _HOUR and step < 12 * 30 * 24 * _HOUR:
            label += f" {now:%Y}"
        labels.append((mark, label))
        before = now
    return labels
