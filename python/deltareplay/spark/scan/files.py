"""The files of a scan with all that Spark needs to know of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay.spark.schema.fields import Json, field
from deltareplay.spark.storage.credentials import OpenedBy
from deltareplay.spark.storage.hadoop_path import root_in_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._snapshot.table_location import TableLocation

#: A path that needs no decoding or check: relative, nothing encoded, no part ``.`` or ``..``.
_PLAIN = r"^[A-Za-z0-9_=\-][A-Za-z0-9_=\-.,+@]*(/[A-Za-z0-9_=\-][A-Za-z0-9_=\-.,+@]*)*$"


@dataclass(frozen=True)
class Constant:
    """A column whose value is the same for all rows of a file, and is not in the file.

    Attributes:
        json: The field, as an argument of ``StructType.fromJson``.
        values: One value for each file.
    """

    json: Json
    values: pa.ChunkedArray[Any]

    @classmethod
    def of(cls, name: str, type_: Any, values: Any, *, nullable: bool = True) -> Constant:
        """By the name and the JSON of the type."""
        if isinstance(values, pa.Array):
            values = pa.chunked_array([values])
        return cls({**field(name, type_), "nullable": nullable}, values)

    @property
    def name(self) -> str:
        """The name of the column."""
        return str(self.json["name"])


@dataclass(frozen=True)
class Files:
    """Some files of one scan.

    Attributes:
        root: The Hadoop path of the table root, decoded.
        paths: Whole paths, decoded.
        sizes: Bytes, int64.
        times: Milliseconds since the epoch, int64.
        opened_by: What Spark reads them with.
        constants: Columns that come from the log.
    """

    root: str
    paths: pa.ChunkedArray[Any]
    sizes: pa.ChunkedArray[Any]
    times: pa.ChunkedArray[Any]
    opened_by: OpenedBy
    constants: tuple[Constant, ...] = ()

    def __len__(self) -> int:
        return len(self.paths)

    def filter(self, mask: Any) -> Files:
        """Those of the files for which a mask is true."""
        return replace(
            self,
            paths=self.paths.filter(mask),
            sizes=self.sizes.filter(mask),
            times=self.times.filter(mask),
            constants=tuple(
                Constant(constant.json, constant.values.filter(mask)) for constant in self.constants
            ),
        )

    def with_constants(self, *constants: Constant) -> Files:
        """The same files with more columns."""
        return replace(self, constants=(*self.constants, *constants))


def located(spark: SparkSession, table: TableLocation, files: pa.Table, root: str | None) -> Files:
    """The files of a listing, at the places where Spark finds them.

    Args:
        spark: The session.
        table: The table.
        files: With ``path``, ``size`` and ``modificationTime``.
        root: Where Spark finds the table, if that is not the table's own URI.

    Raises:
        CorruptTableError: A path leads out of the table; or a local link does, if roots are named.
        InvalidArgumentError: Spark does not support the storage.
        UnsupportedFeatureError: Spark cannot open it with what the catalog vends.
    """
    opened_by = OpenedBy.of(spark, table, root, "READ")
    base = opened_by.path(root_in_spark(table.uri, root))
    return Files(
        root=base,
        paths=_whole(table, files.column("path"), base),
        sizes=files.column("size"),
        times=files.column("modificationTime"),
        opened_by=opened_by,
    )


def _whole(table: TableLocation, paths: pa.ChunkedArray[Any], base: str) -> pa.ChunkedArray[Any]:
    plain = pc.match_substring_regex(paths, _PLAIN)
    # if roots are named, each file is checked, because it may be a link
    if table._allowed_roots is None and pc.all(plain, min_count=0).as_py():
        join: Any = pc.binary_join_element_wise  # its stubs allow no mixture of strings and columns
        whole: pa.ChunkedArray[Any] = join(base, paths, "/")
        return whole
    parts = urlsplit(base)
    store = f"{parts.scheme}://{parts.netloc}" if parts.scheme else ""
    listed: list[Any] = paths.to_pylist()
    located = [
        f"{store}{file}" if file.startswith("/") else f"{base}/{file}"
        for file in table._native.locate(listed)
    ]
    return pa.chunked_array([pa.array(located, pa.string())])
