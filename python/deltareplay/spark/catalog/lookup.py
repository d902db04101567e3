"""Lookup of tables by path or by name, as Spark's catalog and Delta's SQL write them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltareplay._table.table import Table
from deltareplay.exceptions import TableNotFoundError
from deltareplay.spark.storage import hadoop_settings
from deltareplay.spark.syntax import names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class CatalogEntry:
    """A path, or a name that was looked up in the session's catalog.

    Attributes:
        parts: The name as it was looked up.
        name: The name, with catalog and namespace, as SQL writes it; None for a path, and for a
            name that the catalog does not have.
        provider: The format, such as ``delta``; None for views.
        location: The Hadoop path.
        allowed_roots: Other roots of data files, for shallow clones.
        owns_files: Whether the table was created by name, at the catalog's default location.
    """

    parts: tuple[str, ...]
    name: str | None = None
    provider: str | None = None
    location: str | None = None
    allowed_roots: tuple[str, ...] = ()
    owns_files: bool = False

    @property
    def qualified_parts(self) -> tuple[str, ...]:
        """The name with catalog and namespace, where the catalog has it, as its parts."""
        return self.parts if self.name is None else names.table_parts(self.name)

    @property
    def exists(self) -> bool:
        """True if the catalog has the name."""
        return self.name is not None

    @property
    def is_path(self) -> bool:
        """True for a path that the catalog does not know."""
        return self.location is not None and not self.exists

    @property
    def is_view(self) -> bool:
        """True for a view."""
        return self.exists and self.provider is None

    @property
    def is_delta(self) -> bool:
        """True for a Delta table, or a path of one."""
        return self.provider is not None and self.provider.lower() == "delta"

    def table(self) -> Table:
        """Return the table.

        Raises:
            TableNotFoundError: ``name.not_delta``: it is not a Delta table.
        """
        if self.is_delta and self.location is not None:
            return at_path(self.location, allowed_roots=self.allowed_roots)
        reason = "does not exist in the catalog"
        if self.exists:
            kind = "a view" if self.is_view else f"a table of the format {self.provider}"
            reason = f"is {kind}, not a Delta table"
        raise TableNotFoundError(f"{names.dotted(self.parts)} {reason}", code="name.not_delta")


#: A path with the version to read, or its time in the zone of the session.
_TIME_TRAVEL = re.compile(r"(?P<path>.+)@(?:[vV](?P<version>\d+)|(?P<stamp>\d{17}))")
_STAMP = r"(....)(..)(..)(..)(..)(..)(...)"


def split_time_travel(path: str) -> tuple[str, int | None, str | None] | None:
    """Split a path that ends with a version or a time, such as ``/path@v7``.

    Returns:
        The path of the table, the version, and the time as SQL writes it; None if the path ends
        with neither.

    >>> split_time_travel("/tmp/t@20260131235959000")
    ('/tmp/t', None, '2026-01-31 23:59:59.000')
    """
    match = _TIME_TRAVEL.fullmatch(path)
    if match is None:
        return None
    version, stamp = match["version"], match["stamp"]
    if version is not None:
        return match["path"], int(version), None
    return match["path"], None, re.sub(_STAMP, r"\1-\2-\3 \4:\5:\6.\7", stamp)


def at_path(
    path: str, settings: Mapping[str, str] | None = None, allowed_roots: Sequence[str] = ()
) -> Table:
    """Return the table at a Hadoop path.

    Args:
        path: The path as Hadoop writes it, without percent-encoding.
        settings: Hadoop's settings of the file system.
        allowed_roots: As for ``Table``.
    """
    options = hadoop_settings.storage_options(path, settings or {})
    uri = path.replace("%", "%25") if _has_scheme(path) else path
    return Table(uri, options, allowed_roots or None)


def _has_scheme(path: str) -> bool:
    return names.is_absolute(path) and path[0] != "/"


#: The entries that a statement has looked up.
_entries: ContextVar[dict[tuple[str, ...], CatalogEntry] | None] = ContextVar(
    "_entries", default=None
)


@contextmanager
def cached_lookups() -> Iterator[None]:
    """Cache lookups within the context, so that all parts of a statement see the same entry."""
    token = _entries.set({})
    try:
        yield
    finally:
        _entries.reset(token)


def find(spark: SparkSession, parts: Sequence[str]) -> CatalogEntry:
    """Look up a name in the session's catalog: one query of Spark, or none for a path.

    Works without Delta's jar, because Spark lists tables without loading them.
    """
    path, key = names.path_of(parts), tuple(parts)
    if path is not None:
        return CatalogEntry(key, provider="delta", location=path)
    entries = _entries.get()
    if entries is None:
        return _look_up(spark, key)
    if key not in entries:
        entries[key] = _look_up(spark, key)
    return entries[key]


def _look_up(spark: SparkSession, parts: tuple[str, ...]) -> CatalogEntry:
    from pyspark.errors import AnalysisException

    entry = CatalogEntry(parts)
    *namespace, table_name = parts
    clause = f"IN {names.dotted(namespace)} " if namespace else ""
    # a star matches any text, so no character has to be escaped
    pattern = re.sub(r"[^\w ]+", "*", table_name)
    try:
        rows = spark.sql(f"SHOW TABLE EXTENDED {clause}LIKE '{pattern}'").collect()
    except AnalysisException:  # no such namespace
        return entry
    for row in sorted(rows, key=lambda row: not row["isTemporary"]):
        # Spark lists the session's temporary views in every namespace, with an empty one
        is_elsewhere = bool(namespace) and row["isTemporary"] and not row[0]
        if row["tableName"].lower() == table_name.lower() and not is_elsewhere:
            if row["isTemporary"]:
                return replace(entry, name=names.quoted(table_name))
            return _with_information(entry, row["information"])
    return entry


#: The options ``ownsFiles`` and ``allowedRoots`` among others.
_OWNS_FILES = re.compile(
    r"^Storage Properties: \[(?:.*, )?ownsFiles=true(?:, .*)?\]$", re.MULTILINE
)
_ALLOWED_ROOTS = re.compile(
    r"^Storage Properties: \[(?:.*, )?allowedRoots=(.*?)(?:, [\w.]+=.*)?\]$", re.MULTILINE
)


def _with_information(entry: CatalogEntry, information: str) -> CatalogEntry:
    """Complete an entry from the output of ``SHOW TABLE EXTENDED``, line by line.

    A comment may contain lines of any form; it follows the provider and precedes the location.
    """

    def values(key: str) -> list[str]:
        return re.findall(rf"^{key}: (.*)$", information, re.MULTILINE)

    after_location = information.rpartition("\nLocation: ")[2]
    roots = _ALLOWED_ROOTS.search(after_location)
    return replace(
        entry,
        name=".".join(
            value for key in ("Catalog", "Database", "Table") for value in values(key)[:1]
        ),
        provider=values("Provider")[0] if values("Type")[:1] != ["VIEW"] else None,
        location=values("Location")[-1] if values("Location") else None,
        allowed_roots=roots_of(roots[1]) if roots else (),
        owns_files=_OWNS_FILES.search(after_location) is not None,
    )


#: Precedes roots in hexadecimal digits.
_HEX = "hex:"


def roots_option(roots: Sequence[str]) -> str:
    """Return the option ``allowedRoots`` of a table in the catalog.

    Spark shows no option that has a text such as ``url`` or ``token`` in it, so it has digits only.

    >>> roots_option(["/a"])
    'hex:5b222f61225d'
    """
    return _HEX + json.dumps(list(roots)).encode().hex()


def roots_of(option: str) -> tuple[str, ...]:
    """Return the roots of an option ``allowedRoots``: of ``roots_option``, or of a statement."""
    if option.startswith(_HEX):
        return tuple(json.loads(bytes.fromhex(option.removeprefix(_HEX))))
    return tuple(option.split(","))
