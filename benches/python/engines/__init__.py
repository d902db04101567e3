"""Engines that the harness times: one module each. README.md explains how to add another one."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import pkgutil
from collections.abc import Iterable

#: The columns of every listing: enough to read the files.
LEAN = ("path", "size", "partitionValues", "deletionVector")
TASKS = ("open", "paths", "files", "stats", "streamed", "update")


class Adapter:
    """An engine on one table. Its methods are tasks; it omits those that it does not support.

    ``__init__`` imports the libraries, which is not timed. A task is timed as a whole and returns
    its result: ``open`` the version, the others the number of files that they listed.

    ``open()``: version, schema and properties. ``paths()``, ``files()``, ``stats()``: the list of
    files with ``path``, with the columns ``LEAN``, and with statistics, too, held in memory.
    ``streamed()``: the columns ``LEAN``, nothing kept. ``update()``: the list after one new commit;
    ``load()`` comes before it, and is not timed.
    """

    title = ""
    package = ""  # the distribution whose version the results name
    floor = False  # decodes what a replay must decode, without replaying: its count is not checked
    child = False  # works in its own process, whose memory is counted

    def __init__(self, uri: str) -> None:
        self.uri = uri

    def version(self) -> str:
        return importlib.metadata.version(self.package)


class Lister(Adapter):
    """An engine that lists files with the requested columns."""

    def listed(self, *columns: str) -> int:
        raise NotImplementedError

    def paths(self) -> int:
        return self.listed("path")

    def files(self) -> int:
        return self.listed(*LEAN)

    def stats(self) -> int:
        return self.listed(*LEAN, "stats")


class MissingError(Exception):
    """A requirement of an engine is missing on this machine."""


def names() -> list[str]:
    """Return the names of the engines, ours first."""
    modules = [module.name for module in pkgutil.iter_modules(__path__) if module.name[0] != "_"]
    return sorted(modules, key=lambda name: (name != "deltareplay", name))


def parse_names(text: str, known: Iterable[str]) -> list[str]:
    """Parse the value of ``--engines``: known names, separated by commas.

    Raises:
        ArgumentTypeError: A name is unknown.
    """
    selected, known = text.split(","), list(known)
    unknown = [name for name in selected if name not in known]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"unknown: {', '.join(unknown)}; choose from {', '.join(known)}"
        )
    return selected


def load(name: str) -> type[Adapter]:
    """Return the class ``Engine`` of a module, importing its libraries."""
    return importlib.import_module(f"{__name__}.{name}").Engine
