"""The files of a scan with all that Spark needs to know of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.schema import Json, field

if TYPE_CHECKING:
    from deltareplay._table import Table

#: Schemes as Hadoop calls them; what is not here needs ``root``.
_SCHEMES = {
    "file": "file",
    "s3": "s3a",
    "s3a": "s3a",
    "gs": "gs",
    "abfs": "abfs",
    "abfss": "abfss",
    "wasb": "wasb",
    "wasbs": "wasbs",
    "hdfs": "hdfs",
}

#: A path that is certainly itself: relative, nothing encoded, no ``.`` or ``..`` among its parts.
_PLAIN = r"^[A-Za-z0-9_=\-][A-Za-z0-9_=\-.,+@]*(/[A-Za-z0-9_=\-][A-Za-z0-9_=\-.,+@]*)*$"


@dataclass(frozen=True)
class Constant:
    """What is the same for all rows of a file: a column beside those that the files have.

    Attributes:
        json: The field as ``StructType.fromJson`` takes it.
        values: One value for each file.
    """

    json: Json
    values: pa.ChunkedArray[Any]

    @classmethod
    def of(cls, name: str, type_: Any, values: Any) -> Constant:
        """By the name and the JSON of the type."""
        if isinstance(values, pa.Array):
            values = pa.chunked_array([values])
        return cls(field(name, type_), values)

    @property
    def name(self) -> str:
        """The name of the column."""
        return str(self.json["name"])


@dataclass(frozen=True)
class Files:
    """Some files of one scan.

    Attributes:
        root: The table root as Hadoop writes it, decoded.
        paths: Whole paths, decoded.
        sizes: Bytes, int64.
        times: Milliseconds since the epoch, int64.
        constants: Columns that come from the log.
    """

    root: str
    paths: pa.ChunkedArray[Any]
    sizes: pa.ChunkedArray[Any]
    times: pa.ChunkedArray[Any]
    constants: tuple[Constant, ...] = ()

    def __len__(self) -> int:
        return len(self.paths)

    def filter(self, mask: Any) -> Files:
        """Those of the files for which a mask is true."""
        return Files(
            self.root,
            self.paths.filter(mask),
            self.sizes.filter(mask),
            self.times.filter(mask),
            tuple(Constant(one.json, one.values.filter(mask)) for one in self.constants),
        )

    def with_constants(self, *constants: Constant) -> Files:
        """The same files with more columns."""
        return Files(self.root, self.paths, self.sizes, self.times, (*self.constants, *constants))


def located(table: Table, files: pa.Table, root: str | None) -> Files:
    """The files of a listing, at the places where Spark finds them.

    Args:
        table: The table.
        files: With ``path``, ``size`` and ``modificationTime``.
        root: Where Spark finds the table, where that is another URI than the table's own.

    Raises:
        CorruptTableError: A path leads out of the table, or a local link where roots are named.
        InvalidArgumentError: Spark knows no such storage.
    """
    base = root_in_spark(table.uri, root)
    return Files(
        root=base,
        paths=_whole(table, files.column("path"), base),
        sizes=files.column("size"),
        times=files.column("modificationTime"),
    )


def root_in_spark(uri: str, root: str | None) -> str:
    """Where Spark finds a table: its own place, or ``root`` as the caller says it.

    Raises:
        InvalidArgumentError: Hadoop has no such scheme, or the root begins with ``~``.
    """
    if root is None:
        return hadoop_root(uri)
    if root.startswith("~"):
        raise InvalidArgumentError(
            f"root is {root!r}: Hadoop knows no ~, write the path out", code="spark.root"
        )
    return root.rstrip("/")


def hadoop_root(uri: str) -> str:
    """The root of a table as Hadoop's ``Path`` takes it.

    Raises:
        InvalidArgumentError: Hadoop has no such scheme.

    >>> hadoop_root("s3://bucket/a%20b/")
    's3a://bucket/a b'
    """
    parts = urlsplit(uri)
    scheme = _SCHEMES.get(parts.scheme)
    if scheme is None:
        raise InvalidArgumentError(
            f"Spark reads no {parts.scheme}:// URIs as they are: pass the table's place as Hadoop "
            "writes it, e.g. root='abfss://container@account.dfs.core.windows.net/table'",
            code="spark.root",
        )
    return f"{scheme}://{parts.netloc}{unquote(parts.path)}".rstrip("/")


def _whole(table: Table, paths: pa.ChunkedArray[Any], base: str) -> pa.ChunkedArray[Any]:
    plain = pc.match_substring_regex(paths, _PLAIN)
    # where roots are named, each file is looked at: what lies there may be a link
    if table._allowed_roots is None and pc.all(plain, min_count=0).as_py():
        join: Any = pc.binary_join_element_wise  # its stubs know no mixture of texts and columns
        whole: pa.ChunkedArray[Any] = join(base, paths, "/")
        return whole
    parts = urlsplit(base)
    store = f"{parts.scheme}://{parts.netloc}" if parts.scheme else ""
    listed: list[Any] = paths.to_pylist()
    found = [
        f"{store}{place}" if place.startswith("/") else f"{base}/{place}"
        for place in table._native.locate(listed)
    ]
    return pa.chunked_array([pa.array(found, pa.string())])
