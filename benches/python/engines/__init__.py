"""Engines that the harness times: a module here is one, and README.md says how to add yours."""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil

#: What every listing returns: enough to read the files.
LEAN = ("path", "size", "partitionValues", "deletionVector")
TASKS = ("open", "paths", "files", "stats", "streamed", "update")


class Adapter:
    """An engine on one table. Its methods are tasks; what it lacks, the engine cannot do.

    ``__init__`` imports the libraries, which is not timed. A task is timed as a whole and returns
    its finding: ``open`` the version, the others the number of files that they listed.

    ``open()``: version, schema and properties. ``paths()``, ``files()``, ``stats()``: the list of
    files with ``path``, with the columns ``LEAN``, with statistics beside them, held in memory.
    ``streamed()``: the columns ``LEAN``, nothing kept. ``update()``: the list after one new commit;
    ``load()`` comes before it, and is not timed.
    """

    title = ""
    package = ""  # the distribution whose version the results name
    floor = False  # decodes what a replay must decode, and replays nothing: not held to the count
    child = False  # works in a process of its own, whose memory is counted

    def __init__(self, uri: str) -> None:
        self.uri = uri

    def version(self) -> str:
        return importlib.metadata.version(self.package)


class Lister(Adapter):
    """An engine that lists files by the columns that are asked for."""

    def listed(self, *columns: str) -> int:
        raise NotImplementedError

    def paths(self) -> int:
        return self.listed("path")

    def files(self) -> int:
        return self.listed(*LEAN)

    def stats(self) -> int:
        return self.listed(*LEAN, "stats")


class MissingError(Exception):
    """This machine lacks what an engine needs."""


def names() -> list[str]:
    """The engines, ours first."""
    modules = [module.name for module in pkgutil.iter_modules(__path__) if module.name[0] != "_"]
    return sorted(modules, key=lambda name: (name != "deltareplay", name))


def load(name: str) -> type[Adapter]:
    """The class ``Engine`` of a module. Its libraries are imported when it is called."""
    return importlib.import_module(f"{__name__}.{name}").Engine
