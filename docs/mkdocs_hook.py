"""A hook of MkDocs: adds pages outside of ``docs/``, and converts links to files of the repository.

Links in the pages name files of the repository, so that they work on a code host and in an editor.
Some of these files have another name on the site. A link to a file that is not on the site becomes
plain text.
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
#: A link or picture that names a file: its text in brackets, its path, its anchor.
LINK = re.compile(r"(!?\[[^\]]*\])\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")
#: A fenced code block, in which nothing is a link.
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)


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
    """Convert links to files of the repository to links to pages of the site.

    The page of ``Table`` also gets the names of the package that no page documents.
    """
    here = page.file.src_uri
    origins = {source: origin for origin, source in ELSEWHERE.items()}
    origin = origins.get(here, f"docs/{here}")

    def site_link(link: re.Match[str]) -> str:
        text, path, anchor = link[1], link[2], link[3] or ""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
        source = ELSEWHERE.get(target, target.removeprefix("docs/"))
        if files.get_file_from_path(source) is not None:
            return f"{text}({posixpath.relpath(source, posixpath.dirname(here) or '.')}{anchor})"
        if target.startswith("docs/") or not (ROOT / target).exists():
            return link[0]  # broken: MkDocs reports it
        return text.lstrip("!")[1:-1]

    if here == "reference/python/table.md":
        markdown += "".join(f"\n::: deltareplay.{name}\n" for name in undocumented())
    parts = FENCE.split(markdown)  # text and code blocks alternate
    parts[::2] = [LINK.sub(site_link, text) for text in parts[::2]]
    return "".join(parts)


def undocumented() -> list[str]:
    """Return the public names that no page of the reference documents.

    The page of exceptions documents their module instead of each name.
    """
    exported = (ROOT / "python/deltareplay/__init__.pyi").read_text(encoding="utf-8")
    import_line = r"^from (?!deltareplay\.exceptions ).* as (\w+)$"
    names = set(re.findall(import_line, exported, re.MULTILINE))
    references = (ROOT / "docs/reference/python").glob("*")
    pages = "".join(page.read_text(encoding="utf-8") for page in references)
    shown = set(re.findall(r"^::: deltareplay\.(\w+)$", pages, re.MULTILINE))
    return sorted(names - shown - {"__version__"})
