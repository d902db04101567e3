"""A hook of MkDocs: pages outside of ``docs/``, and links that work in a clone and on the site.

Links in the pages name files of the repository, so that they work on a code host and in an editor.
The site has some of those files under other names; a link to a file that it lacks becomes its name.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
#: Pages outside of docs/: their file in the repository, their file on the site.
ELSEWHERE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "tests/README.md": "tests.md",
}
#: The section of the navigation for each folder.
SECTIONS = {
    "guide": "Guide",
    "migration": "Start",
    "concepts": "Concepts",
    "recipes": "Recipes",
    "reference": "Reference",
    "troubleshooting": "Troubleshooting",
}
#: A link or picture to something other than an address: its text, its file, its anchor.
LINK = re.compile(r"(!?\[[^\]]*\])\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def on_config(config: Any, **_: Any) -> Any:
    """Add pages that the navigation does not name to the end of their folder's section."""
    named = set(re.findall(r"[\w/.-]+\.md", str(config.nav)))
    sections = {name: pages for entry in config.nav for name, pages in entry.items()}
    for page in sorted((ROOT / "docs").rglob("*.md")):
        source = page.relative_to(ROOT / "docs").as_posix()
        if source not in named:
            sections[SECTIONS.get(source.partition("/")[0], "Project")].append(source)
    return config


def on_files(files: Files, config: Any, **_: Any) -> Files:
    """Add the pages outside of ``docs/``."""
    for origin, source in ELSEWHERE.items():
        content = (ROOT / origin).read_text(encoding="utf-8")
        files.append(File.generated(config, source, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, files: Files, **_: Any) -> str:
    """Turn links to files of the repository into links to pages of the site."""
    here = page.file.src_uri
    origins = {source: origin for origin, source in ELSEWHERE.items()}
    origin = origins.get(here, f"docs/{here}")

    def turned(link: re.Match[str]) -> str:
        text, path, anchor = link[1], link[2], link[3] or ""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
        source = ELSEWHERE.get(target, target.removeprefix("docs/"))
        if files.get_file_from_path(source) is None:
            if not (ROOT / target).exists() or target.startswith("docs/"):
                return link[0]  # which MkDocs then reports
            return text.lstrip("!")[1:-1]
        return f"{text}({posixpath.relpath(source, posixpath.dirname(here) or '.')}{anchor})"

    if here == "reference/python/table.md":
        markdown += "".join(f"\n::: deltareplay.{name}\n" for name in undocumented())
    outside = FENCE.split(markdown)
    fences = FENCE.findall(markdown)
    parts = [LINK.sub(turned, part) for part in outside]
    return "".join(part for pair in zip(parts, [*fences, ""], strict=True) for part in pair)


def undocumented() -> list[str]:
    """Return the public names that no page of the reference documents."""
    exported = (ROOT / "python/deltareplay/__init__.pyi").read_text(encoding="utf-8")
    names = {*re.findall(r" as (\w+)$", exported, re.MULTILINE)}
    pages = "".join(page.read_text("utf-8") for page in (ROOT / "docs/reference/python").glob("*"))
    shown = {*re.findall(r"^::: deltareplay\.(\w+)$", pages, re.MULTILINE)}
    exceptions = {name for name in names if name.endswith(("Error", "Warning"))} - {"LogWarning"}
    return sorted(names - shown - exceptions - {"__version__"})
