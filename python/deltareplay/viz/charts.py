"""Charts as SVG without a library: columns, bars, treemaps, and the marks of their axes.

Shapes are stretched with the page, text is not: an outer SVG has the text at positions in percent,
an inner one has the shapes of a chart in its own coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from deltareplay._support import units
from deltareplay.viz.markup import Html, clip, join, tag

#: Units of the inner drawing, from left to right.
WIDTH = 1000


@dataclass(frozen=True)
class Bar:
    """A bar of a chart, with values of each series, upwards and downwards.

    Attributes:
        begin: The left edge, from 0 to 1.
        end: The right edge, from 0 to 1.
        up: A value for each series, stacked.
        title: The tooltip.
        down: The values below the line.
    """

    begin: float
    end: float
    up: Sequence[float]
    title: str
    down: Sequence[float] = ()


@dataclass(frozen=True)
class Axes:
    """The marks of a chart.

    Attributes:
        numbers: Returns the marks of the vertical axis up to a value.
        format_value: Returns the label of a mark of the vertical axis.
        ticks: Positions from 0 to 1 with their labels.
    """

    numbers: Callable[[float], list[float]]
    format_value: Callable[[float], str]
    ticks: Sequence[tuple[float, str]]


@dataclass(frozen=True)
class Level:
    """A horizontal line of a chart.

    Attributes:
        y: Its distance from the top, in pixels.
        text: Its label on the vertical axis.
        kind: Its class in the style sheet.
    """

    y: float
    text: str = ""
    kind: str = "grid"


def columns(bars: Sequence[Bar], axes: Axes, label: str, height: int = 180) -> Html:
    """Return a chart of stacked columns, above and below a line."""
    up = max((sum(bar.up) for bar in bars), default=0.0)
    down = max((sum(bar.down) for bar in bars), default=0.0)
    top, bottom = 16.0, height - 22.0
    scale = (bottom - top) / (up + down or 1.0)
    zero = top + up * scale
    shapes: dict[str, list[str]] = {}
    for bar in bars:
        for values, sign, series in ((bar.up, -1.0, "s"), (bar.down, 1.0, "d")):
            edge = zero
            for index, value in enumerate(values):
                if value > 0:
                    shape = _segment(bar, edge, sign * value * scale)
                    shapes.setdefault(f"{series}{index + 1}", []).append(shape)
                    edge += sign * value * scale
    levels = [Level(zero, kind="base")]
    marks = axes.numbers(max(up, down))
    for sign, extent in ((-1.0, up), (1.0, down)):
        levels += [
            Level(zero + sign * mark * scale, axes.format_value(mark))
            for mark in marks
            if mark <= extent
        ]
    hover = [
        tag(
            "rect",
            tag("title", bar.title),
            x=_format(WIDTH * bar.begin),
            width=_format(WIDTH * (bar.end - bar.begin)),
            y=0,
            height=height - 20,
        )
        for bar in bars
    ]
    plot = [tag("path", d="".join(drawn), class_=name) for name, drawn in sorted(shapes.items())]
    return chart([*plot, tag("g", *hover, class_="hover")], levels, axes.ticks, label, height)


def chart(
    plot: Iterable[Html],
    levels: Sequence[Level],
    ticks: Sequence[tuple[float, str]],
    label: str,
    height: int,
    *,
    anchor: str | None = None,
    points: Iterable[Html] = (),
) -> Html:
    """Return a chart with its axes: only the plot is stretched to the width of the page.

    Args:
        plot: The shapes, as wide as ``WIDTH``.
        levels: The horizontal lines with their labels.
        ticks: Positions from 0 to 1 with their labels, below the plot.
        label: The description for screen readers.
        height: The height in pixels.
        anchor: The alignment of the labels below the plot; None begins them at their position.
        points: Shapes that are not stretched.
    """
    inner = tag(
        "svg",
        *plot,
        viewBox=f"0 0 {WIDTH} {height}",
        preserveAspectRatio="none",
        width="100%",
        height=height,
    )
    names = [
        tag("text", level.text, x=-8, y=_format(level.y + 4), text_anchor="end")
        for level in levels
        if level.text
    ]
    # a label near the right edge ends at its position, so that it stays inside the picture
    labels = [
        tag(
            "text",
            name,
            x=f"{100 * position:.1f}%",
            y=height - 6,
            text_anchor=anchor or ("end" if position > 0.9 else None),
            class_=None if index % 2 == 0 else "odd",
        )
        for index, (position, name) in enumerate(ticks)
    ]
    return tag(
        "svg",
        *(_rule(level.y, level.kind) for level in levels),
        inner,
        *names,
        *labels,
        *points,
        class_="chart",
        width="100%",
        height=height,
        role="img",
        aria_label=label,
    )


def _segment(bar: Bar, y: float, length: float) -> str:
    gap = min(1.5, (bar.end - bar.begin) * WIDTH * 0.12)
    left = bar.begin * WIDTH + gap / 2
    # a single column as wide as the page looks like a mistake
    width = min(max((bar.end - bar.begin) * WIDTH - gap, 0.8), 96.0)
    # even the smallest value must be visible
    height = length if abs(length) >= 0.7 else math.copysign(0.7, length)
    return f"M{_format(left)} {_format(y)}h{_format(width)}v{_format(height)}h{_format(-width)}z"


def _rule(y: float, kind: str) -> Html:
    return tag("line", x1=0, x2="100%", y1=_format(y), y2=_format(y), class_=kind)


def _format(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def share(part: float, whole: float) -> Html:
    """Return a bar as wide as a share, for cells of tables."""
    width = 100 * min(max(part / whole, 0.0), 1.0) if whole else 0.0
    return tag(
        "svg",
        tag("rect", width="100%", height=8, rx=2, class_="rail"),
        tag("rect", width=f"{width:.1f}%", height=8, rx=2, class_="s1") if part else None,
        class_="share",
        height=8,
        aria_hidden="true",
    )


def sparkline(values: Sequence[float]) -> Html:
    """Return small columns without axes, for cells of tables."""
    largest = max(values, default=0.0) or 1.0
    step = 100 / (len(values) or 1)
    drawn = "".join(
        f"M{_format(step * index)} 16h{_format(step * 0.8)}"
        f"v{_format(-max(15 * value / largest, 1))}h{_format(-step * 0.8)}z"
        for index, value in enumerate(values)
        if value
    )
    return tag(
        "svg",
        tag("path", d=drawn, class_="s1"),
        viewBox="0 0 100 16",
        preserveAspectRatio="none",
        class_="spark",
        aria_hidden="true",
    )


@dataclass(frozen=True)
class Tile:
    """A tile of a treemap.

    Attributes:
        name: Its label.
        weight: Its area.
        shade: Its colour, from 1 to 6.
        detail: The second line of its label.
    """

    name: str
    weight: float
    shade: int
    detail: str


#: The height of a treemap in pixels, and its width divided by its height.
_TREEMAP_HEIGHT, _TREEMAP_ASPECT = 300, 3.2


def treemap(tiles: Sequence[Tile], label: str) -> Html:
    """Return tiles with areas in proportion to their weights, as square as possible."""
    order = sorted((tile for tile in tiles if tile.weight > 0), key=lambda tile: -tile.weight)
    drawn = []
    for tile, (x, y, width, height) in zip(
        order, squarified([tile.weight for tile in order], _TREEMAP_ASPECT), strict=True
    ):
        detail = tile.detail if width > 0.15 else tile.detail.partition(",")[0]
        names = [
            tag("text", clip(tile.name, 40), x=6, y=16, class_="name"),
            tag("text", detail, x=6, y=31) if height > 0.16 and width > 0.07 else None,
        ]
        drawn.append(
            tag(
                "svg",
                tag("title", f"{clip(tile.name, 120)}: {tile.detail}"),
                tag("rect", width="100%", height="100%", class_=f"h{tile.shade}"),
                *(names if width > 0.05 and height > 0.09 else ()),
                x=f"{100 * x:.2f}%",
                y=f"{100 * y:.2f}%",
                width=f"{100 * width:.2f}%",
                height=f"{100 * height:.2f}%",
                class_=f"tile on{tile.shade}",
            )
        )
    return tag(
        "svg",
        *drawn,
        class_="treemap",
        width="100%",
        height=_TREEMAP_HEIGHT,
        role="img",
        aria_label=label,
    )


def squarified(weights: Sequence[float], aspect: float) -> list[tuple[float, float, float, float]]:
    """Return rectangles in the unit square: x, y, width and height.

    Their areas are in proportion to the weights, which are positive and descend. Once the unit
    square is ``aspect`` times as wide as it is high, they are nearly square.

    >>> squarified([3, 1], aspect=2)
    [(0.0, 0.0, 0.75, 1.0), (0.75, 0.0, 0.25, 1.0)]
    """
    # a smaller share would round to no width at all
    smallest = sum(weights) * 1e-9
    weights = [max(weight, smallest) for weight in weights]
    total = sum(weights)
    x, y, width, height = 0.0, 0.0, aspect, 1.0
    rectangles: list[tuple[float, float, float, float]] = []
    rest = [weight * aspect / total for weight in weights]
    while rest:
        side = min(width, height)
        row = 1
        while row < len(rest) and _worst(rest[: row + 1], side) <= _worst(rest[:row], side):
            row += 1
        area = sum(rest[:row])
        depth = area / side
        along = 0.0
        for value in rest[:row]:
            length = value / depth
            if width >= height:
                rectangles.append((x / aspect, y + along, depth / aspect, length))
            else:
                rectangles.append(((x + along) / aspect, y, length / aspect, depth))
            along += length
        if width >= height:
            x, width = x + depth, width - depth
        else:
            y, height = y + depth, height - depth
        rest = rest[row:]
    return rectangles


def _worst(areas: Sequence[float], side: float) -> float:
    """Return the worst aspect ratio in a row of rectangles along a side."""
    total = sum(areas)
    return max(
        max(side * side * area / (total * total), total * total / (side * side * area))
        for area in areas
    )


def legend(names: Sequence[tuple[str, str]]) -> Html:
    """Return the legend of colour classes with their names."""
    items = [
        tag(
            "li",
            tag(
                "svg",
                tag("rect", width=10, height=10, rx=2, class_=kind),
                width=10,
                height=10,
                aria_hidden="true",
            ),
            clip(name, 60),
        )
        for kind, name in names
    ]
    return tag("ul", join(items), class_="legend")


#: Steps of a time axis: months, or milliseconds.
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240)
_HOUR = 3_600_000
_STEPS = (
    *(1000 * seconds for seconds in (1, 5, 15, 30)),
    *(_HOUR // 60 * minutes for minutes in (1, 5, 15, 30)),
    *(_HOUR * hours for hours in (1, 3, 6, 12, 24, 48, 24 * 7, 24 * 14)),
)

#: The approximate number of marks of a vertical axis, and the maximum of a time axis.
_NUM_MARKS, _MAX_TIME_MARKS = 3, 7


def round_numbers(largest: float) -> list[float]:
    """Return the multiples of a round number up to ``largest``.

    >>> round_numbers(100), round_numbers(7)
    ([50.0, 100.0], [2.0, 4.0, 6.0])
    """
    if largest <= 0:
        return []
    rough = largest / _NUM_MARKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.8)
    return [step * multiple for multiple in range(1, int(largest / step * 1.0001) + 1)]


def round_sizes(largest: float) -> list[float]:
    r"""Return the multiples of a round size up to ``largest``.

    >>> [units.size(mark) for mark in round_sizes(3 << 30)]
    ['1\xa0GiB', '2\xa0GiB', '3\xa0GiB']
    """
    unit = 1.0 if largest < 1024 else 1024.0 ** int(math.log2(largest) // 10)
    return [mark * unit for mark in round_numbers(largest / unit)]


def round_times(first: int, last: int) -> list[tuple[int, str]]:
    """Return round times from ``first`` to ``last``, in milliseconds, with labels; at most seven.

    >>> day = 86_400_000
    >>> [label for _, label in round_times(0, 4 * day)]
    ['1 Jan 1970', '2 Jan', '3 Jan', '4 Jan', '5 Jan']
    >>> [label for _, label in round_times(31 * day, 2 * 365 * day)]
    ['Jul 1970', 'Jan 1971', 'Jul', 'Jan 1972']
    """
    for step in _STEPS:
        if (last - first) // step < _MAX_TIME_MARKS:
            marks = [mark * step for mark in range(-(-first // step), last // step + 1)]
            return _labelled(marks, step)
    for months in _MONTHS:
        marks = _months(first, last, months)
        if len(marks) <= _MAX_TIME_MARKS:
            return _labelled(marks, months * 30 * 24 * _HOUR)
    return _labelled(marks[:: -(-len(marks) // _MAX_TIME_MARKS)], months * 30 * 24 * _HOUR)


def _months(first: int, last: int, step: int) -> list[int]:
    begin, end = units.clamped_time(first), units.clamped_time(last)
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
        now = units.clamped_time(mark)
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
