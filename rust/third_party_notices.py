"""Write THIRD_PARTY_NOTICES.txt: licences and notices of the crates that a wheel is linked from.

Run ``make notices`` after a change of ``Cargo.lock``; a test fails until then.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NOTICES = ROOT / "THIRD_PARTY_NOTICES.txt"

#: Names of the licence and notice files of crates: a binary must be shipped with these.
LEGAL = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)([-._].*)?", re.IGNORECASE)
#: Every wheel has the text of the Apache License 2.0 as its own licence, so it is not repeated.
APACHE = re.compile(r"\s*apache license\s+version 2\.0, january 2004.*", re.IGNORECASE | re.DOTALL)
SOURCES = {".c", ".h", ".rs", ".py", ".go"}
RULE = "=" * 80


def linked_crates() -> list[dict[str, Any]]:
    """Return the crates from a registry that the bindings link, for all platforms, by name."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    metadata = json.loads(done.stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    pending = [key for key, value in packages.items() if value["name"] == "deltareplay-bindings"]
    linked: set[str] = set()
    while pending:
        key = pending.pop()
        kinds = [kind for target in packages[key]["targets"] for kind in target["kind"]]
        if key in linked or "proc-macro" in kinds:
            continue
        linked.add(key)
        pending += [
            dependency["pkg"]
            for dependency in nodes[key]["deps"]
            if any(kind["kind"] is None for kind in dependency["dep_kinds"])
        ]
    crates = [packages[key] for key in linked if packages[key]["source"]]
    return sorted(crates, key=lambda crate: (crate["name"], crate["version"]))


def legal_texts(crate: dict[str, Any]) -> list[str]:
    """Return the texts of licences and notices in a crate, also of the C code that it carries."""
    directory = Path(crate["manifest_path"]).parent
    return [
        "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
        for path in sorted(directory.rglob("*"))
        if LEGAL.fullmatch(path.name) and path.suffix not in SOURCES and path.is_file()
        if (text := path.read_text("utf-8", errors="replace")).strip()
    ]


def authors(crate: dict[str, Any]) -> str:
    """Return the names of a crate's authors, without their addresses."""
    names = [re.sub(r"\s*<[^>]*>", "", author) for author in crate["authors"]]
    return ", ".join(filter(None, names)) or "its authors"


def render(crates: list[dict[str, Any]]) -> str:
    """Return the whole text: the crates with their licences, then each text with its crates."""
    names_by_text = defaultdict(list)
    for crate in crates:
        name = f"{crate['name']} {crate['version']}"
        for text in dict.fromkeys(legal_texts(crate)):
            if not APACHE.fullmatch(text):
                names_by_text[text].append(name)
    lines = [
        "The native library of deltareplay is linked from the crates below. The text of the Apache",
        "License 2.0 is in LICENSE; all other licences and notices follow the list.",
        "",
        *(
            f"{crate['name']} {crate['version']}: {crate['license']}, by {authors(crate)}"
            for crate in crates
        ),
    ]
    for text, names in sorted(names_by_text.items(), key=lambda entry: entry[1]):
        lines += ["", RULE, *names, RULE, text]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    NOTICES.write_text(render(linked_crates()), "utf-8")
