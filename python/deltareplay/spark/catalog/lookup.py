"""Lookup of tables by path or by name, as Spark's catalog and Delta's SQL write them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay._table.table import Table
from deltareplay.exceptions import (
    InvalidArgumentError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from deltareplay.spark.syntax import names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The prefix of the setting, before the name of the account.
_AZURE_KEY = "fs.azure.account.key"

#: Hadoop's names of settings, with those of the object stores.
_SETTINGS = {
    "fs.s3a.access.key": "aws_access_key_id",
    "fs.s3a.secret.key": "aws_secret_access_key",
    "fs.s3a.session.token": "aws_session_token",
    "fs.s3a.endpoint": "aws_endpoint",
    "fs.s3a.endpoint.region": "aws_region",
    _AZURE_KEY: "azure_storage_account_key",
    "fs.gs.auth.service.account.json.keyfile": "google_service_account",
}


@dataclass(frozen=True)
class CatalogEntry:
    """A table or view in the session's catalog.

    Attributes:
        name: The name, with catalog and namespace, as SQL writes it.
        provider: The format, such as ``delta``; None for views.
        location: The Hadoop path.
        allowed_roots: Other roots of data files, for shallow clones.
        owns_files: Whether the table was created with this name, at the catalog's default location.
    """

    name: str
    provider: str | None
    location: str | None
    allowed_roots: tuple[str, ...] = ()
    owns_files: bool = False

    @property
    def is_delta(self) -> bool:
        """Whether the entry is a Delta table."""
        return self.provider is not None and self.provider.lower() == "delta"


#: A path with the version to read, or its time in the zone of the session.
_TRAVELS = re.compile(r"(?P<path>.+)@(?:[vV](?P<version>\d+)|(?P<stamp>\d{17}))")


def travelled(path: str) -> tuple[str, int | None, str | None] | None:
    """Split a path that ends with a version or a time, such as ``/path@v7``.

    Returns:
        The path of the table, the version, and the time as SQL writes it; None if the path ends
        with neither.

    >>> travelled("/tmp/t@20260131235959000")
    ('/tmp/t', None, '2026-01-31 23:59:59.000')
    """
    match = _TRAVELS.fullmatch(path)
    if match is None:
        return None
    version, stamp = match["version"], match["stamp"]
    if version is not None:
        return match["path"], int(version), None
    date, time = (
        "-".join((stamp[:4], stamp[4:6], stamp[6:8])),
        ":".join((stamp[8:10], stamp[10:12], stamp[12:14])),
    )
    return match["path"], None, f"{date} {time}.{stamp[14:]}"


def at_path(
    path: str, settings: Mapping[str, str] | None = None, allowed_roots: Sequence[str] = ()
) -> Table:
    """Return the table at a Hadoop path.

    Args:
        path: The path as Hadoop writes it, without percent-encoding.
        settings: Hadoop's settings of the file system.
        allowed_roots: As for ``Table``.

    Raises:
        InvalidArgumentError: A setting is not one of a file system.
        UnsupportedFeatureError: A setting of an object store has no counterpart here.
    """
    options = _storage_options(path, settings or {})
    has_scheme = re.match(r"^[A-Za-z][A-Za-z0-9+.-]*:", path)
    uri = path.replace("%", "%25") if has_scheme else path
    return Table(uri, options, allowed_roots or None)


def in_catalog(spark: SparkSession, parts: Sequence[str]) -> CatalogEntry | None:
    """Look a name up in the session's catalog; return None if the catalog has no such name.

    Works without Delta's jar, because Spark lists tables without loading them.
    """
    from pyspark.errors import AnalysisException

    *space, last = parts
    within = f"IN {names.dotted(space)} " if space else ""
    pattern = re.sub(r"[^\w ]+", "*", last)  # any text, so that no character has to be escaped
    try:
        rows = spark.sql(f"SHOW TABLE EXTENDED {within}LIKE '{pattern}'").collect()
    except AnalysisException:  # no such namespace
        return None
    for row in sorted(rows, key=lambda row: not row["isTemporary"]):
        if row["tableName"].lower() == last.lower():
            if row["isTemporary"]:
                return CatalogEntry(names.quoted(last), None, None)
            return _entry(row["information"])
    return None


def is_delta(spark: SparkSession, parts: Sequence[str]) -> bool:
    """Return whether a name is a path or a Delta table in the catalog."""
    if names.path_of(parts) is not None:
        return True
    entry = in_catalog(spark, parts)
    return entry is not None and entry.is_delta


def delta_table(
    spark: SparkSession, parts: Sequence[str]
) -> tuple[Table, CatalogEntry | None] | None:
    """Return the table of a path or name, with its entry in the catalog.

    The result is None if the name is not that of a Delta table; the entry is None for a path.
    """
    path = names.path_of(parts)
    if path is not None:
        return at_path(path), None
    entry = in_catalog(spark, parts)
    if entry is None or not entry.is_delta or entry.location is None:
        return None
    return at_path(entry.location, allowed_roots=entry.allowed_roots), entry


def table_named(spark: SparkSession, parts: Sequence[str]) -> tuple[Table, CatalogEntry | None]:
    """Return the table of a path or name, with its entry in the catalog; None for a path.

    Raises:
        TableNotFoundError: ``name.not_delta``: the catalog has no Delta table of that name.
    """
    delta = delta_table(spark, parts)
    if delta is not None:
        return delta
    entry = in_catalog(spark, parts)
    what = "does not exist in the catalog"
    if entry is not None:
        kind = "a view" if entry.provider is None else f"a table of the format {entry.provider}"
        what = f"is {kind}, and not a Delta table"
    name = names.dotted(parts)
    raise TableNotFoundError(f"{name} {what}", code="name.not_delta")


def _entry(information: str) -> CatalogEntry:
    """Parse the output of ``SHOW TABLE EXTENDED``, line by line.

    A comment may contain lines of any form; it follows the provider and precedes the location.
    """

    def values(key: str) -> list[str]:
        return re.findall(rf"^{key}: (.*)$", information, re.MULTILINE)

    name = [value for key in ("Catalog", "Database", "Table") for value in values(key)[:1]]
    provider = values("Provider")[0] if values("Type")[:1] != ["VIEW"] else None
    location = values("Location")[-1] if values("Location") else None
    owns = _OWNS.search(information.rpartition("\nLocation: ")[2]) is not None
    return CatalogEntry(".".join(name), provider, location, _allowed_roots(information), owns)


#: The option ``ownsFiles`` among others.
_OWNS = re.compile(r"^Storage Properties: \[(?:.*, )?ownsFiles=true(?:, .*)?\]$", re.MULTILINE)


#: The option ``allowedRoots`` among others.
_ROOTS = re.compile(
    r"^Storage Properties: \[(?:.*, )?allowedRoots=(.*?)(?:, [\w.]+=.*)?\]$", re.MULTILINE
)


def _allowed_roots(information: str) -> tuple[str, ...]:
    match = _ROOTS.search(information.rpartition("\nLocation: ")[2])
    return tuple(match[1].split(",")) if match else ()


def _storage_options(path: str, settings: Mapping[str, str]) -> dict[str, str]:
    other = sorted(key for key in settings if not key.startswith(("fs.", "dfs.")))
    if other:
        raise InvalidArgumentError(
            f"hadoopConf takes settings of file systems, which begin with fs. or dfs., not "
            f"{', '.join(other)}",
            code="argument.hadoop",
        )
    scheme = path.partition(":")[0] if names.is_absolute(path) and path[0] != "/" else "file"
    if scheme in ("hdfs", "viewfs"):
        return dict(settings)
    if scheme == "file":
        return {}
    options: dict[str, str] = {}
    for key, value in settings.items():
        known = _AZURE_KEY if key.startswith(_AZURE_KEY) else key
        if key == "fs.s3a.path.style.access":
            options["aws_virtual_hosted_style_request"] = str(value.lower() != "true").lower()
        elif known in _SETTINGS:
            options[_SETTINGS[known]] = value
        else:
            raise UnsupportedFeatureError(
                f"the setting {key} is not supported: pass a deltareplay.Table with "
                "storage_options instead of the path",
                code="spark.hadoop",
            )
    return options
