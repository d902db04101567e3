"""The root of a table as a Hadoop path."""

from __future__ import annotations

import re
from urllib.parse import unquote, urlsplit

from deltareplay.exceptions import InvalidArgumentError

#: Hadoop's names of schemes; other schemes need ``root``.
_SCHEMES = {
    "file": "file",
    "s3": "s3a",
    "s3a": "s3a",
    "gs": "gs",
    "abfs": "abfs",
    "abfss": "abfss",
    "hdfs": "hdfs",
}


def glob_escaped(path: str) -> str:
    r"""Escape the glob characters of a decoded path, which Spark's readers would expand.

    >>> print(glob_escaped("/t/data[2024]"))
    /t/data\[2024\]
    """
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", path)


def root_in_spark(uri: str, root: str | None) -> str:
    """Return the root of a table for Spark: the caller's ``root``, or its own URI.

    Raises:
        InvalidArgumentError: ``spark.root``: Hadoop has no such scheme, or the root begins with
            ``~``.
    """
    if root is None:
        return hadoop_root(uri)
    if root.startswith("~"):
        raise InvalidArgumentError(
            f"root is {root!r}: Hadoop does not expand ~, write the full path", code="spark.root"
        )
    return root.rstrip("/")


def hadoop_root(uri: str) -> str:
    """Convert the URI of a table's root to a Hadoop ``Path``.

    Raises:
        InvalidArgumentError: ``spark.root``: Hadoop has no such scheme.

    >>> hadoop_root("s3://bucket/a%20b/")
    's3a://bucket/a b'
    """
    parts = urlsplit(uri)
    scheme = _SCHEMES.get(parts.scheme)
    if scheme is None:
        raise InvalidArgumentError(
            f"Spark does not read {parts.scheme}:// URIs: pass the table's Hadoop path, "
            "e.g. root='abfss://container@account.dfs.core.windows.net/table'",
            code="spark.root",
        )
    return f"{scheme}://{parts.netloc}{unquote(parts.path)}".rstrip("/")
