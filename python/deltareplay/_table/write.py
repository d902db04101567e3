"""``write``: writes rows into a table, which is created if it does not exist."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from deltareplay import _native
from deltareplay._arrow.row_sources import Rows, arrow_stream, schema_string
from deltareplay._expressions.filters import Filter
from deltareplay._protocol.metadata import Metadata
from deltareplay._protocol.protocol import Protocol
from deltareplay._support.arguments import checked
from deltareplay._support.uris import without_secrets
from deltareplay._table.create import WriteLocation
from deltareplay._table.table import Table
from deltareplay._transaction.transaction import Transaction
from deltareplay._transaction.written import Written
from deltareplay.exceptions import (
    CommitStateUnknownError,
    DeltaReplayError,
    InvalidArgumentError,
)

if TYPE_CHECKING:
    from deltareplay.catalogs import Catalog, Locator

Mode = Literal["append", "overwrite", "error", "ignore"]


@checked
def write(
    uri: str | os.PathLike[str],
    data: Rows,
    *,
    mode: Mode = "append",
    where: Filter | None = None,
    partition_overwrite: Literal["static", "dynamic"] = "static",
    partition_columns: Sequence[str] | None = None,
    schema_mode: Literal["merge", "overwrite"] | None = None,
    properties: Mapping[str, str] | None = None,
    name: str | None = None,
    description: str | None = None,
    storage_options: Mapping[str, str] | None = None,
    catalog: Catalog | Locator | str | None = None,
    txn: tuple[str, int] | None = None,
    user_metadata: str | None = None,
    target_file_size: int | None = None,
    durable: bool = True,
    timeout: float = 60.0,
) -> Written:
    """Write rows into a table, in one commit, which creates the table if it does not exist.

    A new table has the columns of the rows, as in ``create_table``. For an existing table, this is
    ``Table.append`` or ``Table.overwrite``.

    Args:
        uri: As for ``Table``, and ``create_table``.
        data: As for ``Table.append``.
        mode: ``append``, or ``overwrite``, which replaces the existing rows. With ``error``, an
            existing table is an error; with ``ignore``, nothing is written into one.
        where: With ``overwrite``, as in ``Table.overwrite``: only rows that satisfy it are
            replaced, and all new rows must satisfy it.
        partition_overwrite: With ``overwrite``, as in ``Table.overwrite``.
        partition_columns: The partition columns of a new table; for an existing table, its own, or
            with ``schema_mode="overwrite"`` those that it gets.
        schema_mode: As in ``Table.append``; with ``overwrite`` as in ``Table.overwrite``.
        properties: Table properties of a new table, as in ``create_table``.
        name: The name of a new table.
        description: The description of a new table.
        storage_options: As for ``Table``.
        catalog: As for ``Table``, and ``create_table``.
        txn: As in ``Table.append``.
        user_metadata: As in ``Table.append``.
        target_file_size: As in ``Table.append``.
        durable: As in ``Table.append``.
        timeout: As in ``Table.append``.

    Returns:
        The version and the metrics, as of ``Table.append`` and ``Table.overwrite``. The version is
        None if ``txn`` shows that it was written before, or with ``ignore`` if there is a table.

    Raises:
        InvalidArgumentError: As ``Table.append``, ``Table.overwrite`` or ``create_table``; the mode
            is unknown, or an argument does not fit it (``write.mode``); the partition columns
            differ from those of the table (``write.partitions``).
        TypeError: As ``Table.append``.
        UnsupportedFeatureError: As ``Table.append``, or ``create_table``.
        CommitConflictError: As ``Table.overwrite``, or ``create_table``.

    Source: Delta protocol, "Change Metadata", "Add File and Remove File".

    >>> uri = table.uri + "-written"
    >>> write(uri, {"id": [1, 2], "day": ["a", "b"]}, partition_columns=["day"]).version
    0
    >>> write(uri, [{"id": 3, "day": "b"}], mode="overwrite", where="day = 'b'").version
    1
    >>> dr.Table(uri).snapshot().scan().to_pandas()["id"].tolist()
    [1, 3]
    """
    check_modes(mode, where, partition_overwrite, schema_mode)
    location = WriteLocation.of(uri, storage_options, catalog)
    table = location.table
    options: dict[str, Any] = {
        "txn": txn,
        "user_metadata": user_metadata,
        "target_file_size": target_file_size,
        "durable": durable,
        "timeout": timeout,
    }
    if not table.native.exists():
        rows = arrow_stream(data, lambda: pa.schema([]))
        try:
            reader = pa.RecordBatchReader.from_stream(rows)
        except (pa.ArrowException, OSError, TypeError, ValueError) as error:
            message = f"the rows are not a valid Arrow stream: {error}"
            raise InvalidArgumentError(message, code="rows.source") from error
        columns, partitioning = schema_string(reader.schema), list(partition_columns or ())
        requested = location.properties(columns, partitioning, properties or {})
        metadata, protocol = _native.new_table(columns, partitioning, requested)
        described = replace(metadata, name=name, description=description)
        written = _create_with_rows(table, described, protocol, mode, reader, where, **options)
        location.register()
        return written
    if is_kept(table.uri, mode):
        return Written(None, {})
    if partition_columns is not None and schema_mode != "overwrite":
        own = table.snapshot().partition_columns
        if [column.lower() for column in partition_columns] != [column.lower() for column in own]:
            raise InvalidArgumentError(
                f"the table is partitioned by {own}, not by {list(partition_columns)}: leave "
                "partition_columns out, write another table, or overwrite this one with "
                "schema_mode='overwrite'",
                code="write.partitions",
            )
    if mode == "append":
        merging: Any = schema_mode
        return table.append(data, schema_mode=merging, **options)
    return table.overwrite(
        data,
        where,
        partition_overwrite=partition_overwrite,
        schema_mode=schema_mode,
        partition_columns=partition_columns if schema_mode == "overwrite" else None,
        **options,
    )


def _create_with_rows(
    table: Table,
    metadata: Metadata,
    protocol: Protocol,
    mode: Mode,
    rows: pa.RecordBatchReader,
    where: Filter | None,
    *,
    txn: tuple[str, int] | None,
    user_metadata: str | None,
    target_file_size: int | None,
    durable: bool,
    timeout: float,
) -> Written:
    """Write the files of the rows, then commit a new table with them as version 0."""
    native, definition = table.native, (metadata, protocol)
    adds, count, size = _native.stage_rows(native, rows, definition, where, target_file_size)
    files = json.loads(adds)
    metrics = {"numFiles": len(files), "numOutputRows": count, "numOutputBytes": size}
    try:
        transaction = Transaction.from_native(
            table,
            None,
            native.transaction(None, "WRITE", None, durable, timeout),
            parameters={"mode": MODES[mode], "partitionBy": metadata.partition_columns},
            metrics=metrics,
            user_metadata=user_metadata,
        )
        transaction.set_metadata(metadata)
        transaction.set_protocol(protocol)
        if txn is not None:
            transaction.set_transaction(*txn)
        transaction.add_written(adds)
        version = transaction.commit()
    except CommitStateUnknownError:
        raise
    except DeltaReplayError:  # after other errors, such as Ctrl-C, the commit may exist
        _native.discard_staged(native, [file["path"] for file in files])
        raise
    return Written(version, metrics)


#: The names of the modes in the history, as in delta-spark.
MODES = {
    "append": "Append",
    "overwrite": "Overwrite",
    "error": "ErrorIfExists",
    "ignore": "Ignore",
}


def is_kept(uri: str, mode: str) -> bool:
    """Return whether a write leaves an existing table as it is, by the mode ``ignore``.

    Raises:
        InvalidArgumentError: ``table.exists``: the mode is ``error``.
    """
    if mode == "error":
        raise InvalidArgumentError(
            f"there is a table already at {without_secrets(uri)}: append to it, overwrite it, or "
            "pass mode='ignore'",
            code="table.exists",
        )
    return mode == "ignore"


def check_modes(
    mode: str, where: Filter | None, partition_overwrite: str, schema_mode: str | None
) -> None:
    """Check that the modes are known and do not contradict each other."""
    if mode not in tuple(MODES):  # which takes any type
        raise _wrong_mode(f"mode is {mode!r}: pass 'append', 'overwrite', 'error' or 'ignore'")
    if schema_mode not in (None, "merge", "overwrite"):
        raise _wrong_mode(f"schema_mode is {schema_mode!r}: pass 'merge' or 'overwrite'")
    if partition_overwrite not in ("static", "dynamic"):
        raise _wrong_mode(
            f"partition_overwrite is {partition_overwrite!r}: pass 'static' or 'dynamic'"
        )
    for argument, is_passed in (
        ("where", where is not None),
        ("partition_overwrite='dynamic'", partition_overwrite == "dynamic"),
        ("schema_mode='overwrite'", schema_mode == "overwrite"),
    ):
        if is_passed and mode != "overwrite":
            raise _wrong_mode(f"{argument} requires mode='overwrite'")
    if where is not None and partition_overwrite == "dynamic":
        raise _wrong_mode(
            "where and partition_overwrite='dynamic' cannot be combined: pass one of them"
        )


def _wrong_mode(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(message, code="write.mode")
