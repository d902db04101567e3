"""``spark.read.format("deltareplay")``: the Python Data Source, for SQL and for Spark Connect.

Its classes are made within a function, so that they travel to the executors by value: one that has
no ``deltareplay`` can then say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltareplay import _native
from deltareplay.exceptions import UnsupportedFeatureError
from deltareplay.spark import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def register(spark: SparkSession) -> None:
    """Make the format ``deltareplay`` known to a session.

    Options: ``versionAsOf``, ``timestampAsOf``, ``filter`` (SQL), ``splitSize`` (bytes),
    ``allowedRoots`` (comma-separated), ``withRowId``, ``withFilePath``, ``withRowIndex``, and
    ``storage.<key>`` for each storage option. A schema that is given chooses columns. Streams,
    ``spark.readStream.format("deltareplay")``, take options of their own, which are Delta's.

    Filters are pushed where ``spark.sql.python.filterPushdown.enabled`` was set before this call
    (Spark 4.1).

    Rows come from Python workers: prefer ``read`` wherever it works.

    Args:
        spark: A session of PySpark 4.0 or later, classic or Connect.

    Raises:
        UnsupportedFeatureError: This PySpark has no Python Data Source API.

    >>> register(spark)  # doctest: +SKIP
    >>> spark.read.format("deltareplay").load(rows.uri).count()  # doctest: +SKIP
    2
    """
    session.check(spark)
    if session.version(spark) < (4, 0):
        raise UnsupportedFeatureError(
            f"this is Spark {spark.version}, and Python data sources need 4.0: use "
            "deltareplay.spark.read, which needs none",
            code="spark.data_source",
        )
    # Spark refuses readers that take filters where that is off, and a worker cannot ask
    filtering = str(spark.conf.get(_PUSHDOWN, "false")).lower() == "true"
    spark.dataSource.register(_made(_native.__version__, filtering))


def _limits() -> Any:
    """PySpark's module of limits of streams; None before 4.2."""
    try:
        from pyspark.sql.streaming import datasource
    except ImportError:
        return None
    return datasource


def _made(wheel: str, filtering: bool) -> Any:
    """The class to register; nothing of this module is looked up when it is unpickled."""
    from pyspark.sql import datasource
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceArrowWriter,
        DataSourceReader,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        InputPartition,
        WriterCommitMessage,
    )

    # Spark 4.0 gives streams row by row
    in_batches = getattr(datasource, "DataSourceStreamArrowWriter", None)
    stream_writer: Any = in_batches or DataSourceStreamWriter
    is_row_by_row = in_batches is None
    # Spark 4.2 tells where a batch starts and what limits it
    limits: Any = _limits()
    ends_now: Any = object if limits is None else limits.SupportsTriggerAvailableNow

    def lacking(missing: ImportError) -> RuntimeError:
        import socket
        import sys

        return RuntimeError(
            f"the executor on {socket.gethostname()} has no deltareplay in {sys.executable}"
            f" ({missing}): install deltareplay=={wheel} there, or ship an environment "
            "that has it with spark.archives and PYSPARK_PYTHON"
        )

    class Part(InputPartition):
        """One split, pickled."""

    class Rows:
        """Reads what was planned, on an executor."""

        def __init__(self, options: dict[str, Any], version: int | None, schema: Any) -> None:
            self.options = options
            self.version = version
            self.schema = schema
            self.filters: list[Any] = []
            self.planner: Any = None

        def read(self, partition: Any) -> Any:
            if partition.value is None:
                return
            try:
                from deltareplay.spark import options
            except ImportError as missing:
                raise lacking(missing) from None
            yield from options.batches(partition.value, self.schema)

    class Reader(Rows, DataSourceReader):
        def partitions(self) -> list[Any]:
            import pickle

            from deltareplay.spark import options

            scan = options.scan(self.options, self.version, self.schema, self.filters)
            size = options.split_size(self.options)
            return [Part(pickle.dumps(split)) for split in scan.splits(size)] or [Part(None)]

    class PlannedReader(Rows, DataSourceStreamReader):
        """Lives on the driver as long as the query; what is read travels as splits."""

        def plan(self) -> Any:
            from deltareplay.spark import options

            if self.planner is None:
                self.planner = options.planner(self.options, self.version, self.schema)
            return self.planner

        def initialOffset(self) -> dict[str, Any]:  # noqa: N802 Spark's name
            place: dict[str, Any] = self.plan().first()
            return place

        def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[Any]:
            import pickle

            from deltareplay.spark import options

            size = options.split_size(self.options)
            splits = self.plan().between(start, end, size)
            return [Part(pickle.dumps(split)) for split in splits]

    class StreamReader(PlannedReader):
        """Knows by itself where a batch starts."""

        def latestOffset(self) -> dict[str, Any]:  # noqa: N802 Spark's name
            place: dict[str, Any] = self.plan().next()
            return place

    class LimitedStreamReader(PlannedReader, ends_now):
        """Is told where a batch starts, what limits it, and when a run is to end."""

        def latestOffset(self, start: Any, limit: Any) -> Any:  # noqa: N802 Spark's name
            is_all = isinstance(limit, limits.ReadAllAvailable)
            return self.plan().next(start, limited=not is_all)

        def getDefaultReadLimit(self) -> Any:  # noqa: N802 Spark's name
            from deltareplay.spark import stream_options

            asked = stream_options.limits(self.options)
            if "max_files_per_batch" in asked:
                return limits.ReadMaxFiles(asked["max_files_per_batch"])
            if "max_bytes_per_batch" in asked:
                return limits.ReadMaxBytes(asked["max_bytes_per_batch"])
            return limits.ReadAllAvailable()

        def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 Spark's name
            self.plan().end_at_newest()

    class FilteringReader(Reader):
        def pushFilters(self, filters: list[Any]) -> Any:  # noqa: N802 Spark's name
            """Takes what skips files and row groups; Spark evaluates all of it again."""
            from deltareplay.spark import pushed

            self.filters = [one for one in map(pushed.comparison, filters) if one is not None]
            return filters

    class Message(WriterCommitMessage):
        """What a task has written, pickled."""

        def __init__(self, value: bytes) -> None:
            self.value = value

    class Writes:
        """Stages files in tasks, and commits on the driver."""

        def __init__(self, options: Any, schema: Any, overwrite: bool) -> None:
            import pickle

            from deltareplay.spark.sink import Sink

            self.schema = schema
            self.sink = pickle.dumps(Sink.open(dict(options), schema, overwrite))

        def staged(self, batches: Any) -> Any:
            import pickle

            try:
                from deltareplay.spark import task
            except ImportError as missing:
                raise lacking(missing) from None
            return Message(pickle.dumps(task.stage(pickle.loads(self.sink), batches)))

        def write(self, iterator: Any) -> Any:
            return self.staged(iterator)

        def done(self, messages: Any, batch: Any) -> None:
            import pickle

            written = [pickle.loads(one.value) for one in messages]
            pickle.loads(self.sink).commit(written, batch)

        def undone(self, messages: Any) -> None:
            import pickle

            # where every task has written, it was the commit that failed: it has cleaned up behind
            # itself, as far as it could know that nothing was committed
            if any(one is None for one in messages):
                written = [pickle.loads(one.value) for one in messages if one is not None]
                pickle.loads(self.sink).discard(written)

    class Writer(Writes, DataSourceArrowWriter):
        def commit(self, messages: Any) -> None:
            self.done(messages, None)

        def abort(self, messages: Any) -> None:
            self.undone(messages)

    class StreamWriter(Writes, stream_writer):
        def write(self, iterator: Any) -> Any:
            if is_row_by_row:
                from deltareplay.spark import arrow

                return self.staged(arrow.batches_of_rows(iterator, self.schema))
            return self.staged(iterator)

        def commit(self, messages: Any, batchId: int) -> None:  # noqa: N803 Spark's name
            self.done(messages, batchId)

        def abort(self, messages: Any, batchId: int) -> None:  # noqa: ARG002, N803
            self.undone(messages)

    class DeltaReplayDataSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return "deltareplay"

        def __init__(self, options: dict[str, Any]) -> None:
            from deltareplay.spark import options as given

            super().__init__(options)
            # all that follows is of one version, though it runs in several processes
            self.version = given.pinned(options)

        def schema(self) -> Any:
            from deltareplay.spark import options

            return options.schema(self.options, self.version)

        def reader(self, schema: Any) -> Any:
            kind = FilteringReader if filtering else Reader
            return kind(dict(self.options), self.version, schema)

        def streamReader(self, schema: Any) -> Any:  # noqa: N802 Spark's name
            reader: Any = StreamReader if limits is None else LimitedStreamReader
            return reader(dict(self.options), self.version, schema)

        def writer(self, schema: Any, overwrite: bool) -> Any:
            return Writer(self.options, schema, overwrite)

        def streamWriter(self, schema: Any, overwrite: bool) -> Any:  # noqa: N802 Spark's name
            return StreamWriter(self.options, schema, overwrite)

    return DeltaReplayDataSource
