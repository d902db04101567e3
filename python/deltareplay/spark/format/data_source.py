"""The Python data source of ``format("deltareplay")``; only ``register`` imports it.

Its classes are pickled by value, so that an executor without ``deltareplay`` can report that. So
methods import the package; the module itself needs only its version.
"""

from __future__ import annotations

import pickle
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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

from deltareplay import _native

try:
    from pyspark.sql.streaming import datasource as limits
except ImportError:  # Spark 4.0 and 4.1
    limits = None

if TYPE_CHECKING:
    import pyarrow as pa

    from deltareplay.spark.format.stream_planner import StreamPlanner

REQUIREMENT = f"deltareplay=={_native.__version__}"

# Spark 4.0 passes the rows of a stream as objects, not as Arrow batches
STREAMS_ARROW_BATCHES = hasattr(datasource, "DataSourceStreamArrowWriter")
_StreamWriter: Any = getattr(datasource, "DataSourceStreamArrowWriter", DataSourceStreamWriter)
_AvailableNow: Any = object if limits is None else limits.SupportsTriggerAvailableNow


def missing_package(missing: ImportError) -> RuntimeError:
    """Return the error of an executor without the package."""
    return RuntimeError(
        f"the executor on {socket.gethostname()} has no deltareplay in {sys.executable} "
        f"({missing}): install {REQUIREMENT} there, or ship an environment that has it with "
        "spark.archives and PYSPARK_PYTHON"
    )


class Part(InputPartition):
    """A pickled split; None if there is nothing to read."""


class SplitReader:
    """Reads splits on an executor."""

    def __init__(self, options: dict[str, str], version: int | None, schema: Any) -> None:
        self.options = options
        self.version = version
        self.schema = schema

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a split."""
        if partition.value is None:
            return
        try:
            from deltareplay.spark.format import source
        except ImportError as missing:
            raise missing_package(missing) from None
        yield from source.batches(partition.value, self.schema)


class Reader(SplitReader, DataSourceReader):
    """Reads the rows of one version."""

    filters: Sequence[Any] = ()

    def partitions(self) -> Sequence[InputPartition]:
        """Return the splits."""
        from deltareplay.spark.format import source

        splits = source.splits(self.options, self.version, self.schema, list(self.filters))
        return [Part(pickle.dumps(split)) for split in splits] or [Part(None)]


class FilteringReader(Reader):
    """Reads with pushed filters, which skip files and row groups."""

    def pushFilters(self, filters: list[Any]) -> list[Any]:  # noqa: N802 Spark's name
        """Keep the filters for skipping; return all of them, for Spark to evaluate again."""
        from deltareplay.spark.format import pushdown

        self.filters = [
            comparison for comparison in map(pushdown.comparison, filters) if comparison is not None
        ]
        return filters


class PlannedReader(SplitReader, DataSourceStreamReader):
    """Plans the batches of a stream on the driver; executors get splits."""

    planner: StreamPlanner | None = None

    def plan(self) -> StreamPlanner:
        """Return the planner of the batches, created on first use."""
        from deltareplay.spark.format import source

        if self.planner is None:
            self.planner = source.planner(self.options, self.version, self.schema)
        return self.planner

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 Spark's name
        """Return the offset at which the stream starts."""
        return self.plan().first()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the splits between two offsets."""
        from deltareplay.spark.format.options import ReadOptions

        size = ReadOptions(self.options).split_size
        splits = self.plan().between(start, end, size)
        return [Part(pickle.dumps(split)) for split in splits]


class StreamReader(PlannedReader):
    """Reads streams on Spark 4.0 and 4.1, which do not pass the start of a batch."""

    def latestOffset(self) -> dict[str, Any]:  # noqa: N802 Spark's name
        """Return the offset at which the next batch ends."""
        return self.plan().next()


class LimitedStreamReader(PlannedReader, _AvailableNow):
    """Reads streams on Spark 4.2 or later, which passes start and limits of a batch."""

    def latestOffset(self, start: Any, limit: Any) -> Any:  # noqa: N802 Spark's name
        """Return the offset at which a batch from a start offset ends."""
        is_all = isinstance(limit, limits.ReadAllAvailable)
        return self.plan().next(start, limited=not is_all)

    def getDefaultReadLimit(self) -> Any:  # noqa: N802 Spark's name
        """Return the limit of the options."""
        from deltareplay.spark.format.options import ReadOptions

        read_limits = ReadOptions(self.options).limits
        if "max_files_per_batch" in read_limits:
            return limits.ReadMaxFiles(read_limits["max_files_per_batch"])
        if "max_bytes_per_batch" in read_limits:
            return limits.ReadMaxBytes(read_limits["max_bytes_per_batch"])
        return limits.ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 Spark's name
        """End the run at the version that is newest now."""
        self.plan().end_at_newest()


class Message(WriterCommitMessage):
    """The pickled result of a task that wrote files."""

    def __init__(self, value: bytes) -> None:
        self.value = value


class SinkWriter:
    """Stages files in tasks, and commits on the driver."""

    is_stream = False

    def __init__(self, options: Mapping[str, str], schema: Any, overwrite: bool) -> None:
        from deltareplay.spark.format.sink import Sink

        self.schema = schema
        self.pickled_sink = pickle.dumps(
            Sink.open(dict(options), schema, overwrite, stream=self.is_stream)
        )

    def write(self, iterator: Iterator[Any]) -> Message:
        """Write the rows of a task."""
        return self.staged(iterator)

    def staged(self, batches: Iterable[pa.RecordBatch]) -> Message:
        """Write the rows of a task to files that are not committed yet."""
        try:
            from deltareplay.spark.format import sink
        except ImportError as missing:
            raise missing_package(missing) from None
        return Message(pickle.dumps(sink.stage(pickle.loads(self.pickled_sink), batches)))

    def commit_staged(self, messages: Iterable[Any], batch: int | None) -> None:
        """Commit the files of all tasks."""
        written = [pickle.loads(message.value) for message in messages]
        pickle.loads(self.pickled_sink).commit(written, batch)

    def clean_up(self, messages: Sequence[Any]) -> None:
        """Delete the files of the tasks that succeeded, if another task failed.

        If all tasks succeeded, the commit failed; it has deleted the files itself if it was certain
        that nothing was committed.
        """
        if any(message is None for message in messages):
            written = [pickle.loads(message.value) for message in messages if message is not None]
            pickle.loads(self.pickled_sink).discard(written)


class Writer(SinkWriter, DataSourceArrowWriter):
    """Writes a DataFrame in one commit."""

    def commit(self, messages: Any) -> None:
        """Commit the files of all tasks."""
        self.commit_staged(messages, None)

    def abort(self, messages: Any) -> None:
        """Clean up after a failed task or commit."""
        self.clean_up(messages)


class StreamWriter(SinkWriter, _StreamWriter):
    """Writes a stream, with one commit per batch."""

    is_stream = True

    def write(self, iterator: Iterator[Any]) -> Message:
        """Write the rows of a task."""
        if STREAMS_ARROW_BATCHES:
            return self.staged(iterator)
        from deltareplay.spark.schema import arrow

        return self.staged(arrow.batches_of_rows(iterator, self.schema))

    def commit(self, messages: Any, batchId: int) -> None:  # noqa: N803 Spark's name
        """Commit the files of all tasks of a batch."""
        self.commit_staged(messages, batchId)

    def abort(self, messages: Any, batchId: int) -> None:  # noqa: ARG002, N803 Spark's name
        """Clean up after a failed task or commit."""
        self.clean_up(messages)


class DeltaReplayDataSource(DataSource):
    """The format ``deltareplay`` or ``delta``; each session has its own subclass."""

    format_name = "deltareplay"
    time_zone: str | None = None
    reader_class: type[Reader] = Reader

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return cls.format_name

    def __init__(self, options: dict[str, str]) -> None:
        from deltareplay.spark.format import source

        super().__init__(source.in_zone(options, self.time_zone))
        self.reading = source.resolve_time_travel(self.options, self.time_zone)
        # all later calls use this version, even if they run in other processes
        self.version = source.pinned(self.reading)

    def schema(self) -> Any:
        """Return the columns of a read."""
        from deltareplay.spark.format import source

        return source.schema(self.reading, self.version)

    def reader(self, schema: Any) -> Reader:
        """Return the reader of ``spark.read``."""
        return self.reader_class(dict(self.reading), self.version, schema)

    def streamReader(self, schema: Any) -> PlannedReader:  # noqa: N802 Spark's name
        """Return the reader of ``spark.readStream``."""
        reader = StreamReader if limits is None else LimitedStreamReader
        return reader(dict(self.reading), self.version, schema)

    def writer(self, schema: Any, overwrite: bool) -> Writer:
        """Return the writer of ``df.write``."""
        return Writer(self.options, schema, overwrite)

    def streamWriter(self, schema: Any, overwrite: bool) -> StreamWriter:  # noqa: N802 Spark's name
        """Return the writer of ``df.writeStream``."""
        return StreamWriter(self.options, schema, overwrite)


def session_data_source(
    format_name: str, time_zone: str | None, *, pushes_filters: bool
) -> type[DeltaReplayDataSource]:
    """Create the data source class of a session, with settings that workers cannot look up.

    Args:
        format_name: The name of the format.
        time_zone: The time zone of timestamps without one; None is UTC.
        pushes_filters: Whether the session pushes filters to Python data sources.
    """
    settings = {
        "format_name": format_name,
        "time_zone": time_zone,
        "reader_class": FilteringReader if pushes_filters else Reader,
    }
    return type("DeltaReplayDataSource", (DeltaReplayDataSource,), settings)
