"""Draw the results of ``sizes.py``: a page in the style of the report, and one picture.

Both are drawn from the JSON alone. The charts have two logarithmic axes: work in proportion to the
number of files is parallel to the dotted line, whatever its constant.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import engines

from deltareplay._support import units
from deltareplay.viz import charts, report
from deltareplay.viz.charts import WIDTH, Level, legend
from deltareplay.viz.markup import Cell, Html, join, table, tag
from deltareplay.viz.sections import figure, section

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ROOT / "benches" / "results"
IN_DOCS = ROOT / "docs" / "charts" / "files.svg"
TITLES = {
    "open": ("Open", "Version, schema and properties of the latest version"),
    "files": ("List", "Path, size, partition values and deletion vector of every live file, held"),
    "stats": ("List with statistics", "The same with the statistics of every file"),
    "streamed": ("Stream", "The list batch by batch, nothing kept"),
    "update": ("Follow", "One new commit on a loaded list, then the new list"),
}
COLOURS = 6
STYLE = (
    "\n.l{fill:none;stroke-width:2;stroke-linejoin:round}"
    + "".join(f".l{number}{{stroke:var(--s{number})}}" for number in range(1, COLOURS + 1))
    + ".dash{stroke-dasharray:6 4}"
    + ".guide{stroke:var(--soft);stroke-dasharray:1 5;stroke-width:1.5;fill:none}"
)


@dataclass(frozen=True)
class Curve:
    """The results of one engine by the number of files."""

    title: str
    colour: int
    floor: bool
    points: Sequence[tuple[int, float]]


def seconds(value: float) -> str:
    return units.seconds(value) if value >= 0.001 else f"{value * 1000:.2g}{units.SPACE}ms"


def megabytes(value: float) -> str:
    return f"{value:,.3g}{units.SPACE}MB" if value < 100 else f"{value:,.0f}{units.SPACE}MB"


@dataclass(frozen=True)
class Metric:
    """A measured quantity: its title, the format of its values, and the smallest value to draw."""

    title: str
    text: Callable[[float], str]
    least: float


METRICS = {
    "cpu": Metric("CPU time, all threads", seconds, 0.0001),
    "wall": Metric("Elapsed time", seconds, 0.0001),
    "memory": Metric("Memory beyond the loaded libraries", megabytes, 1.0),
}


def draw(file: Path) -> list[Path]:
    """Write a page and a picture beside the results.

    The docs show the picture of the results that are committed.
    """
    results = json.loads(file.read_text(encoding="utf-8"))
    page_file, picture = file.with_name("index.html"), file.with_name("files.svg")
    page_file.write_text(html(results), encoding="utf-8")
    if not curves(results, "files", "cpu"):  # nothing to draw
        return [page_file]
    picture.write_text(svg(results), encoding="utf-8")
    if file.resolve().parent != COMMITTED:
        return [page_file, picture]
    IN_DOCS.parent.mkdir(exist_ok=True)
    return [page_file, picture.replace(IN_DOCS)]


def curves(results: dict[str, Any], task: str, metric: str) -> list[Curve]:
    names = engines.names()
    drawn = []
    for engine in results["engines"]:
        points = [
            (entry["size"], value_of(entry, metric))
            for entry in results["figures"]
            if (entry["task"], entry["engine"]) == (task, engine["name"])
        ]
        # any colour, if the engine is no longer measured
        colour = names.index(engine["name"]) if engine["name"] in names else len(names)
        if points:
            title = f"{engine['title']} {engine['version']}"
            drawn.append(Curve(title, colour % COLOURS + 1, engine["floor"], points))
    return drawn


def value_of(entry: dict[str, Any], metric: str) -> float:
    """Return a figure; memory is that beyond the libraries, or all of a separate process."""
    if metric != "memory":
        return entry[metric]
    return entry["peak"] if entry["beyond"] is None else entry["beyond"]


def lines(drawn: Sequence[Curve], metric: Metric, label: str, height: int) -> Html:
    """Return curves on two logarithmic axes."""
    least = metric.least
    sizes = sorted({size for curve in drawn for size, _ in curve.points})
    values = [max(value, least) for curve in drawn for _, value in curve.points]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    first, last = math.log10(sizes[0]), math.log10(sizes[-1])
    top, bottom = 8.0, height - 24.0

    def x(size: float) -> float:
        return 0.03 + 0.94 * ((math.log10(size) - first) / (last - first) if last > first else 0.5)

    def y(value: float) -> float:
        return bottom - (bottom - top) * (math.log10(max(value, least)) - low) / (high - low)

    def path(points: Sequence[tuple[float, float]], kind: str) -> Html:
        steps = "L".join(f"{WIDTH * x(size):.1f} {y(value):.1f}" for size, value in points)
        return tag("path", d=f"M{steps}", class_=kind, vector_effect="non-scaling-stroke")

    levels = [
        Level(y(10.0**power), metric.text(10.0**power), "base" if power == low else "grid")
        for power in range(low, high + 1)
    ]
    # in proportion, from the lowest point as far as it stays in the picture
    reach = min(sizes[-1] / sizes[0], 10.0 ** (high - low))
    guide = [(sizes[0], 10.0**low), (sizes[0] * reach, 10.0**low * reach)]
    paths = [path(guide, "guide")] if reach > 1 else []
    dots = []
    for curve in drawn:
        dash = " dash" if curve.floor else ""
        paths.append(path(curve.points, f"l l{curve.colour}{dash}"))
        for size, value in curve.points:
            title = f"{curve.title}, {units.plural(size, 'file')}: {metric.text(value)}"
            center = {"cx": f"{100 * x(size):.1f}%", "cy": f"{y(value):.1f}"}
            dots.append(
                tag("circle", tag("title", title), r=3.5, class_=f"s{curve.colour}", **center)
            )
    ticks = [(x(size), units.short(size)) for size in sizes]
    return charts.chart(paths, levels, ticks, label, height, anchor="middle", points=dots)


def chart(results: dict[str, Any], task: str, metric: str, height: int) -> Html:
    kind = METRICS[metric]
    label = (
        f"{TITLES[task][0]}: {kind.title} by the number of files; the table below has the figures"
    )
    return figure(kind.title, "", lines(curves(results, task, metric), kind, label, height))


def html(results: dict[str, Any]) -> str:
    parts = []
    for task, (title, description) in TITLES.items():
        drawn = curves(results, task, "cpu")
        if not drawn:
            continue
        small = tag(
            "div", *(chart(results, task, name, 200) for name in ("wall", "memory")), class_="two"
        )
        content = [
            tag("p", f"{description}.", class_="soft"),
            chart(results, task, "cpu", 280),
            key(drawn),
            small,
            numbers(results, task),
        ]
        parts.append((task, title, section(task, title, *content)))
    parts.append(("how", "How", section("how", "How it was measured", *how(results))))
    footer = tag(
        "footer",
        tag("p", "Drawn from sizes.json beside this page, which loads nothing and sends nothing."),
    )
    return report.document(
        "deltareplay: benchmarks by the size of the log",
        "deltareplay benchmarks",
        header(results),
        parts,
        footer,
        STYLE,
    )


def key(drawn: Sequence[Curve]) -> Html:
    names = [(f"s{curve.colour}", curve.title + floor_note(curve)) for curve in drawn]
    dotted = "Dotted: twice the files, twice the cost."
    return join([legend(names), tag("p", dotted, class_="source")])


def floor_note(curve: Curve) -> str:
    return " (replays nothing)" if curve.floor else ""


def busy(results: dict[str, Any]) -> bool:
    """Return whether the machine had other work when the run began."""
    return results["load"]["before"][0] > results["machine"]["cores"] / 2


def header(results: dict[str, Any]) -> Html:
    machine, load = results["machine"], results["load"]
    sizes = results["log"]["sizes"]
    tiles = [
        ("Files", f"{units.short(sizes[0])} to {units.short(sizes[-1])}", "live in the log"),
        ("Engines", str(len(results["engines"])), "side by side in one run"),
        ("Runs", str(results["runs"]), "fresh processes; the minimum counts"),
        ("Cores", str(machine["cores"]), machine["processor"]),
        ("Memory", units.size(machine["memory_mb"] * (1 << 20)), machine["system"]),
        ("Load", f"{load['before'][0]:.1f}", f"{load['after'][0]:.1f} at the end"),
    ]
    warning = (
        "The machine was busy with other work: CPU time and memory can be compared, elapsed "
        "time hardly."
    )
    return tag(
        "header",
        tag("h1", "What a Delta log costs by its size"),
        tag("p", f"{results['begun']}, {results['command']}", class_="uri"),
        tag("p", warning, class_="warn") if busy(results) else None,
        tag(
            "dl",
            *(
                tag("div", tag("dt", name), tag("dd", value), tag("dd", note))
                for name, value, note in tiles
            ),
            class_="figures",
        ),
    )


def numbers(results: dict[str, Any], task: str) -> Html:
    titles = {engine["name"]: engine["title"] for engine in results["engines"]}
    entries = [entry for entry in results["figures"] if entry["task"] == task]
    by_engine = {(entry["engine"], entry["size"]): entry for entry in entries}
    rows = []
    for entry in entries:
        name, size = entry["engine"], entry["size"]
        ours = by_engine.get(("deltareplay", size))
        smaller = max(
            (other for of, other in by_engine if of == name and other < size), default=None
        )
        ratio = entry["cpu"] / max(ours["cpu"], 1e-6) if ours else None
        growth = "-"
        if smaller is not None:
            times = entry["cpu"] / max(by_engine[name, smaller]["cpu"], 1e-6)
            growth = f"{times:.3g}x for {size / smaller:.3g}x"
        memory = value_of(entry, "memory")
        rows.append(
            [
                Cell(units.count(size), size),
                titles[name],
                Cell(f"{entry['cpu']:.4f}", entry["cpu"]),
                Cell(f"{entry['wall']:.4f}", entry["wall"]),
                Cell(f"{memory:,.1f}", memory),
                Cell("-" if ratio is None else f"{ratio:.2f}", ratio),
                growth,
            ]
        )
    heads = ["files", "engine", "CPU s", "wall s", "memory MB", "CPU, ours = 1", "growth of CPU"]
    return table(f"{TITLES[task][0]}: figures", heads, rows, numbers=(0, 2, 3, 4, 5, 6))


def how(results: dict[str, Any]) -> list[Html]:
    machine, log, load = results["machine"], results["log"], results["load"]
    versions = (f"{engine['title']} {engine['version']}" for engine in results["engines"])
    memory = units.size(machine["memory_mb"] * (1 << 20))
    pairs = [
        ("Command", results["command"]),
        ("Begun", f"{results['begun']}, took {results['seconds']:,} s"),
        ("Commit", results["commit"] or "-"),
        ("Machine", f"{machine['processor']}, {machine['cores']} cores, {memory}"),
        ("System", f"{machine['system']}, Python {machine['python']}"),
        ("Load of the machine", ", ".join(f"{average:.1f}" for average in load["before"])),
        ("Niceness", str(results["niceness"])),
        ("Engines", ", ".join(versions)),
        (
            "Logs",
            f"one classic checkpoint with JSON statistics, then {log['commits']} commits of "
            f"{log['adds']} adds and {log['removes']} removes, on a local disk",
        ),
    ]
    method = (
        "Each figure is the minimum of several fresh processes, engines in turn. CPU time is that "
        "of the task, over all threads; libraries are loaded before it. Memory is the peak beyond "
        "what the process used before it, or all of a separate program. Each answer is compared "
        "with the count of the generator."
    )
    names = {engine["name"]: engine["title"] for engine in results["engines"]}
    missing = [f"{name}: {why}" for name, why in results["missing"].items()] + [
        f"{names.get(entry['engine'], entry['engine'])}, {TITLES[entry['task']][0].lower()}, "
        f"{units.plural(entry['size'], 'file')}: {entry['why']}"
        for entry in results["left_out"]
    ]
    listed = tag("ul", *(tag("li", reason) for reason in missing)) if missing else None
    return [
        tag("p", method),
        tag(
            "dl",
            *(join([tag("dt", name), tag("dd", value)]) for name, value in pairs),
            class_="pairs",
        ),
        *([tag("h3", "Not measured"), listed] if listed else []),
    ]


def svg(results: dict[str, Any], task: str = "files", metric: str = "cpu") -> str:
    """Return one chart as a separate file, with the colours of the report, dark and light."""
    drawn = curves(results, task, metric)
    kind = METRICS[metric]
    width, left, top, plot_height = 760, 70, 62, 300
    rows = -(-len(drawn) // 2)
    height = top + plot_height + 22 * rows + 44
    style = report.resource("report.css")
    [light] = re.findall(r"\A:root(\{.*?\})", style, re.DOTALL)
    dark = re.search(
        r"@media screen and \(prefers-color-scheme:dark\)\{:root\S*?(\{.*?\})\}", style, re.DOTALL
    )
    if dark is None:
        raise ValueError("report.css has no dark colours")
    rules = (
        f"svg{light}@media (prefers-color-scheme:dark){{svg{dark[1]}}}"
        'text{font:12px system-ui,-apple-system,"Segoe UI",sans-serif;fill:var(--soft)}'
        ".title{font-size:15px;font-weight:600;fill:var(--ink)}.chart{overflow:visible}"
        ".back{fill:var(--card);stroke:var(--line)}"
        ".grid{stroke:var(--line)}.base{stroke:var(--soft)}"
        + "".join(f".s{number}{{fill:var(--s{number})}}" for number in range(1, COLOURS + 1))
        + STYLE
    )
    keys = []
    for index, curve in enumerate(drawn):
        x, y = left + index % 2 * 340, top + plot_height + 24 + 22 * (index // 2)
        dash = " dash" if curve.floor else ""
        keys += [
            tag("path", d=f"M{x} {y - 4}h26", class_=f"l l{curve.colour}{dash}"),
            tag("text", curve.title + floor_note(curve), x=x + 34, y=y),
        ]
    machine = results["machine"]
    load = f", busy with other work: load {results['load']['before'][0]:.0f}"
    note = (
        f"{machine['processor']}, {machine['cores']} cores{load if busy(results) else ''}; "
        f"the minimum of {units.plural(results['runs'], 'run')}, {results['begun'][:10]}; "
        "dotted: in proportion to the files"
    )
    title = f"{TITLES[task][0]} the files of a table: {kind.title}"
    label = f"{title}, by the number of files"
    return (
        tag(
            "svg",
            tag("title", label),
            Html(f"<style>{rules}</style>"),
            tag("rect", x=0.5, y=0.5, width=width - 1, height=height - 1, rx=8, class_="back"),
            tag("text", title, x=16, y=30, class_="title"),
            tag(
                "svg",
                lines(drawn, kind, label, plot_height),
                x=left,
                y=top,
                width=width - left - 24,
                height=plot_height,
                class_="chart",
            ),
            *keys,
            tag("text", note, x=16, y=height - 16),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width} {height}",
            width=width,
            height=height,
            role="img",
        )
        + "\n"
    )
