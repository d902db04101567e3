"""The files of a scan, with the values that Spark needs for each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay._protocol.schema import Field, Type
from deltareplay.spark.storage.credentials import HadoopCredentials
from deltareplay.spark.storage.hadoop_path import root_in_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._snapshot.table_location import TableLocation

#: A path that needs no decoding or check: relative, nothing encoded, no part ``.`` or ``..``.
_PLAIN = r"^[A-Za-z0-9_=\-][A-Za-z0-9_=\-.,+@]*(/[A-Za-z0-9_=\-][A-Za-z0-9_=\-.,+@]*)*$"


@dataclass(frozen=True)
class Constant:
    """A column with one value per file, which is not stored in the file.

    Attributes:
        values: One value for each file.
    """

    field: Field
    values: pa.ChunkedArray[Any]

    @classmethod
    def of(cls, name: str, type_: Type, values: Any, *, nullable: bool = True) -> Constant:
        """Create a constant from a name and a type."""
        if isinstance(values, pa.Array):
            values = pa.chunked_array([values])
        return cls(Field(name, type_, nullable), values)

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.field.name


@dataclass(frozen=True)
class Files:
    """Files of one scan.

    Attributes:
        root: The Hadoop path of the table root, decoded.
        paths: Full paths, decoded.
        sizes: Bytes, int64.
        times: Milliseconds since the epoch, int64.
        credentials: The credentials with which Spark reads them.
        constants: Columns that come from the log.
    """

    root: str
    paths: pa.ChunkedArray[Any]
    sizes: pa.ChunkedArray[Any]
    times: pa.ChunkedArray[Any]
    credentials: HadoopCredentials
    constants: tuple[Constant, ...] = ()

    def __len__(self) -> int:
        return len(self.paths)

    def filter(self, mask: Any) -> Files:
        """Return the files for which a mask is true."""
        return replace(
            self,
            paths=self.paths.filter(mask),
            sizes=self.sizes.filter(mask),
            times=self.times.filter(mask),
            constants=tuple(
                Constant(constant.field, constant.values.filter(mask))
                for constant in self.constants
            ),
        )

    def with_constants(self, *constants: Constant) -> Files:
        """Return the same files with additional constants."""
        return replace(self, constants=(*self.constants, *constants))


def located(spark: SparkSession, table: TableLocation, files: pa.Table, root: str | None) -> Files:
    """Convert the files of a listing to Hadoop paths and credentials.

    Args:
        spark: The session.
        table: The table.
        files: A table with ``path``, ``size`` and ``modificationTime``.
        root: The table's Hadoop path, if it is not the table's own URI.
    """
    credentials = HadoopCredentials.of(spark, table, root, "READ")
    base = credentials.path(root_in_spark(table.uri, root))
    return Files(
        root=base,
        paths=_full_paths(table, files.column("path"), base),
        sizes=files.column("size"),
        times=files.column("modificationTime"),
        credentials=credentials,
    )


def _full_paths(
    table: TableLocation, paths: pa.ChunkedArray[Any], base: str
) -> pa.ChunkedArray[Any]:
    plain = pc.match_substring_regex(paths, _PLAIN)
    # with allowed roots, each file is checked, because it may be a link
    if table.allowed_roots is None and pc.all(plain, min_count=0).as_py():
        join: Any = pc.binary_join_element_wise  # its stubs do not allow strings and columns
        joined: pa.ChunkedArray[Any] = join(base, paths, "/")
        return joined
    parts = urlsplit(base)
    store = f"{parts.scheme}://{parts.netloc}" if parts.scheme else ""
    listed: list[Any] = paths.to_pylist()
    located = [
        f"{store}{file}" if file.startswith("/") else f"{base}/{file}"
        for file in table.native.locate(listed)
    ]
    return pa.chunked_array([pa.array(located, pa.string())])
