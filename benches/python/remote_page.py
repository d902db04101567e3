"""The results of ``remote.py`` as a page in the style of the report, drawn from the JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from deltareplay.viz import report
from deltareplay.viz.charts import legend
from deltareplay.viz.markup import Cell, Html, join, table, tag
from deltareplay.viz.sections import figure, section

#: The title and the meaning of each result, by its name.
METRICS = {
    "steps": ("Sequential steps", "the time divided by the latency"),
    "requests": ("Requests", "those that the store received"),
}
#: Heights in pixels, and the fractions of the width for names and bars.
BAR, GAP, NAMES, BARS = 12, 14, 28, 62


def draw(file: Path) -> Path:
    """Write a page beside the results and return its path."""
    results = json.loads(file.read_text(encoding="utf-8"))
    written = file.with_suffix(".html")
    written.write_text(html(results), encoding="utf-8")
    return written


def html(results: dict[str, Any]) -> str:
    parts = []
    for metric, (title, meaning) in METRICS.items():
        description = f"{title}: {meaning}, for each operation. The axis is logarithmic."
        content = [
            tag("p", description, class_="soft"),
            figure(title, "", bars(results, metric)),
            key(results),
        ]
        parts.append((metric, title, section(metric, title, *content)))
    parts.append(("figures", "Figures", section("figures", "Figures", numbers(results))))
    busy = results["load"] > results["cores"] / 2
    warning = "The machine was busy with other work, which counts in the steps."
    run = (
        f"python benches/python/remote.py, {results['begun']}; the store answers after "
        f"{results['latency']:g} s. The operations of an engine ran in one process."
    )
    header = tag(
        "header",
        tag("h1", "What a remote table costs"),
        tag("p", run, class_="uri"),
        tag("p", warning, class_="warn") if busy else None,
    )
    footer = tag(
        "footer", tag("p", "Drawn from remote.json in this folder; the page loads nothing.")
    )
    title = "deltareplay: benchmarks on a remote store"
    return report.document(title, "deltareplay benchmarks", header, parts, footer)


def engines(results: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(entry["engine"] for entry in results["figures"]))


def operations(results: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(entry["operation"] for entry in results["figures"]))


def values(results: dict[str, Any], metric: str) -> dict[tuple[str, str], float]:
    figures = results["figures"]
    return {(entry["operation"], entry["engine"]): entry[metric] for entry in figures}


def key(results: dict[str, Any]) -> Html:
    versions = results["versions"]
    titles = [f"{name} {versions[name]}" for name in engines(results)]
    return legend([(f"s{number}", title) for number, title in enumerate(titles, 1)])


def bars(results: dict[str, Any], metric: str) -> Html:
    """Return a row for each operation with a bar for each engine that has it."""
    figures = values(results, metric)
    most = math.log10(max(figures.values(), default=1.0) + 1)
    shapes: list[Html] = []
    y = 4
    for operation in operations(results):
        shapes.append(tag("text", operation, x=0, y=y + BAR - 2))
        for number, engine in enumerate(engines(results), 1):
            value = figures.get((operation, engine))
            if value is None:
                continue
            width = BARS * math.log10(value + 1) / most
            shapes += [
                tag(
                    "rect",
                    tag("title", f"{engine}, {operation}: {text_of(metric, value)}"),
                    x=f"{NAMES}%",
                    y=y,
                    width=f"{max(width, 0.2):.2f}%",
                    height=BAR - 2,
                    class_=f"s{number}",
                ),
                tag("text", text_of(metric, value), x=f"{NAMES + width + 0.6:.2f}%", y=y + BAR - 2),
            ]
            y += BAR
        y += GAP
    label = f"{METRICS[metric][0]} of each operation; the table below has the figures"
    return tag(
        "svg", join(shapes), class_="chart", width="100%", height=y, role="img", aria_label=label
    )


def text_of(metric: str, value: float) -> str:
    return f"{value:.1f}" if metric == "steps" else f"{value:,.0f}"


def numbers(results: dict[str, Any]) -> Html:
    names = engines(results)
    heads = ["operation", *(f"{name}, {metric}" for name in names for metric in METRICS)]
    figures = {metric: values(results, metric) for metric in METRICS}
    rows = []
    for operation in operations(results):
        cells: list[Any] = [operation]
        for name in names:
            for metric in METRICS:
                value = figures[metric].get((operation, name))
                cells.append(Cell("-" if value is None else text_of(metric, value), value))
        rows.append(cells)
    return table("Figures", heads, rows, numbers=tuple(range(1, len(heads))))
