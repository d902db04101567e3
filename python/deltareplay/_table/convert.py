"""``convert``: converts a directory of Parquet files to a table."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pyarrow as pa

from deltareplay import _native
from deltareplay._arrow.row_sources import schema_string
from deltareplay._support.arguments import checked
from deltareplay._table.table import Table

#: The schema of a table without partition columns.
NO_COLUMNS = '{"type":"struct","fields":[]}'


@checked
def convert(
    uri: str | os.PathLike[str],
    *,
    partition_schema: pa.Schema | None = None,
    properties: Mapping[str, str] | None = None,
    statistics: bool = True,
    storage_options: Mapping[str, str] | None = None,
    durable: bool = True,
) -> Table:
    """Convert a directory of Parquet files to a Delta table, in one commit.

    The files stay where they are, and belong to the table from now on. All files below the
    directory are converted, except names that begin with ``_`` or ``.``, other than partition
    directories. Of a directory that a stream of Spark wrote, only files that the stream committed
    are converted (its log is in ``_spark_metadata``). The columns are those of the footers of all
    files: a column that a file lacks is null in its rows. An existing Delta table is left
    unchanged.

    Args:
        uri: The directory, as for ``Table``.
        partition_schema: The partition columns with their types, in the order of the directories
            (``day=2026-01-01/hour=7``). They must be exactly those of every file.
        properties: Table properties, as in ``create_table``.
        statistics: Whether files get statistics, from their footers, so that queries can skip them.
        storage_options: As for ``Table``.
        durable: Whether a local commit is synced to disk before the call returns.

    Returns:
        The table.

    Raises:
        TypeError: ``partition_schema`` is not an Arrow schema.
        InvalidArgumentError: There are no files (``convert.no_files``); an entry of the directory
            would be lost, such as a name that is not UTF-8 or a link to a directory, or a file that
            a stream committed is missing (``convert.path``); directories do not match
            ``partition_schema`` (``convert.partition``); a column has different types in different
            files (``convert.schema``); or a column (``schema.arrow_type``,
            ``schema.duplicate_column``, ``transaction.column_name``) or a property (as in
            ``Table.set_properties``) is invalid. An error about a file names it.
        CorruptTableError: A file is not a Parquet file (``data.footer``); the message names it.
        UnsupportedFeatureError: A property requires a feature that this release cannot write
            (``protocol.writer_features``).
        StorageError: The storage failed.

    >>> import pyarrow.parquet, tempfile
    >>> directory = tempfile.mkdtemp()
    >>> pa.parquet.write_table(pa.table({"id": [1, 2]}), directory + "/a.parquet")
    >>> convert(directory).snapshot().scan().to_arrow().num_rows
    2
    """
    table = Table(uri, storage_options)
    conversion = _native.Conversion(
        NO_COLUMNS if partition_schema is None else schema_string(partition_schema),
        dict(properties or {}),
        statistics,
    )
    conversion.convert(table.native, durable)
    return table
