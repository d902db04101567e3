"""The target of ``df.write.format("deltareplay")`` and ``writeStream``."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltareplay import _native
from deltareplay._table.create import WriteLocation
from deltareplay.exceptions import (
    CommitStateUnknownError,
    DeltaReplayError,
    InvalidArgumentError,
)
from deltareplay.spark.dml import overwrite as overwrites
from deltareplay.spark.dml.target_rows import REMOVE_COLUMNS
from deltareplay.spark.executors.worker import stream_of
from deltareplay.spark.format.options import Use, WriteOptions, parse
from deltareplay.spark.schema.fields import fields_of
from deltareplay.spark.session import settings
from deltareplay.spark.session.capabilities import is_utc
from deltareplay.spark.writing import default_properties, table_rows, time_zones
from deltareplay.spark.writing.target_table import TargetTable

if TYPE_CHECKING:
    from deltareplay._snapshot.snapshot import Snapshot
    from deltareplay._table.table import Table
    from deltareplay._transaction.transaction import Transaction


@dataclass(frozen=True)
class StagedRows:
    """Files that one task has written, not committed yet.

    Attributes:
        adds: Bodies of ``add``, a JSON array.
        target: The table that all files of the write are for; None, except from the first task.
        query: The id of the streaming query, if there is one.
    """

    adds: str
    rows: int
    size_in_bytes: int
    target: TargetTable | None
    query: str | None

    @property
    def paths(self) -> list[str]:
        """The paths of the files, as in the log."""
        return [add["path"] for add in json.loads(self.adds)]


@dataclass(frozen=True)
class Sink:
    """The target of one write, as plain values: tasks write files for it, the driver commits.

    Attributes:
        overwrite: Whether existing rows are replaced.
    """

    target: TargetTable
    options: WriteOptions
    overwrite: bool

    @classmethod
    def open(
        cls, options: Mapping[str, str], schema: Any, overwrite: bool, *, stream: bool = False
    ) -> Sink:
        """Open the table of the options; if it does not exist, the commit creates it.

        Args:
            options: The options from Spark.
            schema: Spark's schema of the rows.
            overwrite: Whether existing rows are replaced.
            stream: Whether the rows come from a stream; they are cast, as in delta-spark.

        Raises:
            InvalidArgumentError: An option is unknown, or contradicts the others or the table; or
                the type of a column differs from the table's.
            UnsupportedFeatureError: The table has a feature that cannot be written, or an
                expression that depends on the time zone of the session.
        """
        parsed = WriteOptions.of(parse(options, Use.WRITE), overwrite=overwrite, stream=stream)
        table = parsed.table
        if not table.native.exists():
            properties = default_properties.with_defaults(
                parsed.default_properties, parsed.properties
            )
            target = TargetTable.new(
                WriteLocation(table), schema, parsed.partition_by or (), properties
            )
        else:
            target = TargetTable.of(table.snapshot())
        partitions = parsed.partition_by if parsed.overwrite_schema else target.partition_columns
        if not partitions:
            parsed = replace(parsed, dynamic=False)
        elif parsed.dynamic and parsed.overwrite_schema:
            raise InvalidArgumentError(
                "overwriteSchema replaces all rows and columns, but "
                f"{settings.PARTITION_OVERWRITE} of the session is dynamic: pass "
                ".option('partitionOverwriteMode', 'static')",
                code="option.write",
            )
        partition_by = parsed.partition_by
        if parsed.merge_schema:
            target = target.with_columns(schema)
        if parsed.overwrite_schema and target.version is not None:
            # as in delta-spark, a table stays partitioned only if the write is partitioned
            target, partition_by = target.with_new_columns(schema, partition_by or ()), None
        target.check(partition_by)
        if not stream:
            table_rows.check_types(schema, target)
        if not is_utc(zone := parsed.time_zone):
            time_zones.check_expressions(target.fields, schema.names, zone)
            time_zones.check_casts(target.fields, fields_of(schema), zone)
            if parsed.replace_where is not None:
                time_zones.check_condition(parsed.replace_where, target, zone)
        return cls(target, parsed, overwrite)

    @property
    def table(self) -> Table:
        """The table."""
        return self.target.table

    def stage(
        self, batches: Iterable[pa.RecordBatch], query: str | None, *, is_first: bool = False
    ) -> StagedRows:
        """Write the rows of one task; runs on an executor.

        Args:
            batches: The rows.
            query: The id of the streaming query, if there is one.
            is_first: Whether this is the first task of the write.

        Raises:
            InvalidArgumentError: Rows do not fit the table, or break a constraint; the files are
                deleted.
        """
        target = self.target if is_first else None
        rows = stream_of(batches)
        if rows is None:
            return StagedRows("[]", 0, 0, target, query)
        condition = self.options.replace_where
        staged = _native.stage_rows(self.table.native, rows, self.target.definition, condition)
        return StagedRows(*staged, target, query)

    def commit(self, written: Sequence[StagedRows], batch: int | None) -> None:
        """Commit the files of all tasks; delete them if nothing was committed.

        Spark opens another sink for the commit of a stream's batch. The columns that a write adds
        get random physical names, so the commit takes those that the tasks have used.

        Args:
            written: The result of each task.
            batch: The number of the batch of a stream.

        Raises:
            InvalidArgumentError: ``sink.query``: the id of the query is unknown.
                ``write.replace_where``: a file has other rows, too.
            CommitStateUnknownError: The commit may exist, so the files are kept.
        """
        target = next((staged.target for staged in written if staged.target), self.target)
        try:
            version = replace(self, target=target)._commit(written, batch)
        except CommitStateUnknownError:
            raise
        except DeltaReplayError:
            self.discard(written)
            raise
        if version is None:
            self.discard(written)

    def _commit(self, written: Sequence[StagedRows], batch: int | None) -> int | None:
        snapshot = self.target.snapshot()
        if not written and not self.overwrite and snapshot is not None:
            return None
        transaction = self.target.begin(
            snapshot,
            "WRITE" if batch is None else "STREAMING UPDATE",
            self._parameters(written, batch),
            self.options.user_metadata,
        )
        txn = self.options.txn
        if batch is not None:
            application = self._application(written)
            txn = None if application is None else (application, batch)
        if txn is not None and transaction.set_transaction(*txn):
            return transaction.commit()
        adds = f"[{','.join(staged.adds[1:-1] for staged in written if staged.adds != '[]')}]"
        transaction.add_written(adds)
        files = json.loads(adds)
        removed = None
        if self.overwrite and snapshot is not None:
            removed = self._removed(transaction, snapshot, files)
        metrics = {
            "numOutputRows": sum(staged.rows for staged in written),
            "numOutputBytes": sum(staged.size_in_bytes for staged in written),
        }
        if batch is None:
            metrics |= {"numFiles": len(files), **overwrites.metrics(removed)}
        else:
            num_removed = 0 if removed is None else removed.num_rows
            metrics |= {"numAddedFiles": len(files), "numRemovedFiles": num_removed}
        transaction.set_metrics(metrics)
        return None if transaction.is_empty else transaction.commit()

    def _parameters(self, written: Sequence[StagedRows], batch: int | None) -> dict[str, Any]:
        if batch is not None:
            return {
                "outputMode": "Complete" if self.overwrite else "Append",
                "queryId": self._application(written) or "",
                "epochId": str(batch),
            }
        parameters: dict[str, Any] = {
            "mode": self.options.save_mode,
            "partitionBy": list(self.target.partition_columns),
        }
        if self.options.replace_where is not None:
            parameters["predicate"] = self.options.replace_where
        if self.options.dynamic:
            parameters["isDynamicPartitionOverwrite"] = True
        if self.options.merge_schema:
            parameters["canMergeSchema"] = True
        if self.options.overwrite_schema:
            parameters["canOverwriteSchema"] = True
        return parameters

    def _application(self, written: Sequence[StagedRows]) -> str | None:
        """Return the application id of the batches: an option, or else the query's id.

        The result is None if no task ran: a batch without rows may be committed twice.
        """
        if self.options.txn_app_id is not None or not written:
            return self.options.txn_app_id
        queries = {staged.query for staged in written if staged.query is not None}
        if len(queries) != 1:
            raise InvalidArgumentError(
                "the id of the query is unknown, so a batch could be committed twice: pass "
                ".option('txnAppId', ...) with a name that no other query has",
                code="sink.query",
            )
        return queries.pop()

    def _removed(self, transaction: Transaction, snapshot: Snapshot, adds: list[Any]) -> pa.Table:
        """Remove the files that the write replaces, and return them."""
        if self.options.dynamic:
            written = [add["partitionValues"] for add in adds]
            # executors read timestamps that have no zone in the log as UTC
            live = overwrites.same_partitions(snapshot, written, "UTC")
            overwrites.remove(transaction, live, None)
            return live
        condition = self.options.replace_where
        if condition is None:
            live = snapshot.files(REMOVE_COLUMNS)
        else:
            negation = f"({condition}\n) IS NOT TRUE"
            live, path = overwrites.covered_files(snapshot, condition, negation)
            if path is not None:
                raise InvalidArgumentError(
                    f"replaceWhere is {condition!r}, and the file {path} may have rows for "
                    "which it is not true: use partition columns, or use Table.overwrite, which "
                    "rewrites such files",
                    code="write.replace_where",
                )
        overwrites.remove(transaction, live, condition)
        return live

    def discard(self, written: Iterable[StagedRows]) -> None:
        """Delete files that are not committed; the rest is left for ``VACUUM``."""
        paths = [path for staged in written for path in staged.paths]
        with contextlib.suppress(DeltaReplayError):
            _native.discard_staged(self.table.native, paths)


def stage(sink: Sink, batches: Iterable[pa.RecordBatch]) -> StagedRows:
    """Write the rows of a task into files that are not committed yet.

    Args:
        sink: The target.
        batches: The rows, as Spark passes them.
    """
    from pyspark import TaskContext

    context = TaskContext.get()
    is_first = context is None or context.partitionId() == 0
    # the query of this batch: Spark does not pass it to Python sinks
    query = None if context is None else context.getLocalProperty("sql.streaming.queryId")
    return sink.stage(batches, query, is_first=is_first)
