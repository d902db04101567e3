"""The Python Data Source behind ``format("deltareplay")``; only ``register`` imports it.

Its classes travel to the executors by value, so that one that has no ``deltareplay`` can say so.
That is why methods import what they need of the package, and the module itself only PySpark.
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
    from pyspark.sql.streaming import datasource as limits  # where a batch starts, how far it goes
except ImportError:  # Spark 4.0 and 4.1
    limits = None

if TYPE_CHECKING:
    import pyarrow as pa

    from deltareplay.spark.format.stream_planner import StreamPlanner

WHEEL = f"deltareplay=={_native.__version__}"

# Spark 4.0 gives the rows of streams one by one
GIVES_BATCHES = hasattr(datasource, "DataSourceStreamArrowWriter")
_StreamWriter: Any = getattr(datasource, "DataSourceStreamArrowWriter", DataSourceStreamWriter)
_AvailableNow: Any = object if limits is None else limits.SupportsTriggerAvailableNow


def lacking(missing: ImportError) -> RuntimeError:
    """What an executor without the package says."""
    return RuntimeError(
        f"the executor on {socket.gethostname()} has no deltareplay in {sys.executable} "
        f"({missing}): install {WHEEL} there, or ship an environment that has it with "
        "spark.archives and PYSPARK_PYTHON"
    )


class Part(InputPartition):
    """One split, pickled; None where there is nothing to read."""


class Rows:
    """Reads on an executor what was planned on the driver."""

    def __init__(self, options: dict[str, str], version: int | None, schema: Any) -> None:
        self.options = options
        self.version = version
        self.schema = schema

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a part."""
        if partition.value is None:
            return
        try:
            from deltareplay.spark.format import options
        except ImportError as missing:
            raise lacking(missing) from None
        yield from options.batches(partition.value, self.schema)


class Reader(Rows, DataSourceReader):
    """The rows of one version."""

    filters: Sequence[Any] = ()

    def partitions(self) -> Sequence[InputPartition]:
        """A part for each split."""
        from deltareplay.spark.format import options

        splits = options.splits(self.options, self.version, self.schema, list(self.filters))
        return [Part(pickle.dumps(split)) for split in splits] or [Part(None)]


class FilteringReader(Reader):
    """Takes filters, which skip files and row groups."""

    def pushFilters(self, filters: list[Any]) -> list[Any]:  # noqa: N802 Spark's name
        """Gives all of them back: Spark evaluates them again."""
        from deltareplay.spark.format import pushdown

        self.filters = [
            comparison for comparison in map(pushdown.comparison, filters) if comparison is not None
        ]
        return filters


class PlannedReader(Rows, DataSourceStreamReader):
    """Lives on the driver as long as the query; what is read travels as splits."""

    planner: StreamPlanner | None = None

    def plan(self) -> StreamPlanner:
        """What plans the batches, made when it is first needed."""
        from deltareplay.spark.format import options

        if self.planner is None:
            self.planner = options.planner(self.options, self.version, self.schema)
        return self.planner

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 Spark's name
        """Where the stream begins."""
        return self.plan().first()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """A part for each split between two offsets."""
        from deltareplay.spark.format import options

        splits = self.plan().between(start, end, options.split_size(self.options))
        return [Part(pickle.dumps(split)) for split in splits]


class StreamReader(PlannedReader):
    """For Spark 4.0 and 4.1: knows by itself where a batch starts."""

    def latestOffset(self) -> dict[str, Any]:  # noqa: N802 Spark's name
        """Where the next batch ends."""
        return self.plan().next()


class LimitedStreamReader(PlannedReader, _AvailableNow):
    """For Spark 4.2 on, which says where a batch starts, its limits, and when a run has to end."""

    def latestOffset(self, start: Any, limit: Any) -> Any:  # noqa: N802 Spark's name
        """Where the batch ends that starts there."""
        is_all = isinstance(limit, limits.ReadAllAvailable)
        return self.plan().next(start, limited=not is_all)

    def getDefaultReadLimit(self) -> Any:  # noqa: N802 Spark's name
        """What the options say."""
        from deltareplay.spark.format import stream_options

        read_limits = stream_options.limits(self.options)
        if "max_files_per_batch" in read_limits:
            return limits.ReadMaxFiles(read_limits["max_files_per_batch"])
        if "max_bytes_per_batch" in read_limits:
            return limits.ReadMaxBytes(read_limits["max_bytes_per_batch"])
        return limits.ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 Spark's name
        """The run ends at what is there now."""
        self.plan().end_at_newest()


class Message(WriterCommitMessage):
    """What a task has written, pickled."""

    def __init__(self, value: bytes) -> None:
        self.value = value


class Writes:
    """Stages files in tasks, and commits on the driver."""

    is_stream = False

    def __init__(self, options: Mapping[str, str], schema: Any, overwrite: bool) -> None:
        from deltareplay.spark.format.sink import Sink

        self.schema = schema
        self.sink = pickle.dumps(Sink.open(dict(options), schema, overwrite, stream=self.is_stream))

    def write(self, iterator: Iterator[Any]) -> Message:
        """What a task does with its rows."""
        return self.staged(iterator)

    def staged(self, batches: Iterable[pa.RecordBatch]) -> Message:
        """Writes files that no commit speaks of yet."""
        try:
            from deltareplay.spark.format import sink
        except ImportError as missing:
            raise lacking(missing) from None
        return Message(pickle.dumps(sink.stage(pickle.loads(self.sink), batches)))

    def done(self, messages: Iterable[Any], batch: int | None) -> None:
        """Commits what all tasks have written."""
        written = [pickle.loads(message.value) for message in messages]
        pickle.loads(self.sink).commit(written, batch)

    def undone(self, messages: Sequence[Any]) -> None:
        """Takes the files of the tasks away that have written, where another has failed.

        Where every task has written, it was the commit that failed: it has cleaned up by itself,
        as far as it could know that nothing was committed.
        """
        if any(message is None for message in messages):
            written = [pickle.loads(message.value) for message in messages if message is not None]
            pickle.loads(self.sink).discard(written)


class Writer(Writes, DataSourceArrowWriter):
    """One write, one commit."""

    def commit(self, messages: Any) -> None:
        """All tasks are done."""
        self.done(messages, None)

    def abort(self, messages: Any) -> None:
        """A task or the commit has failed."""
        self.undone(messages)


class StreamWriter(Writes, _StreamWriter):
    """A commit for each batch of a stream."""

    is_stream = True

    def write(self, iterator: Iterator[Any]) -> Message:
        """What a task does with its rows."""
        if GIVES_BATCHES:
            return self.staged(iterator)
        from deltareplay.spark.schema import arrow

        return self.staged(arrow.batches_of_rows(iterator, self.schema))

    def commit(self, messages: Any, batchId: int) -> None:  # noqa: N803 Spark's name
        """All tasks of the batch are done."""
        self.done(messages, batchId)

    def abort(self, messages: Any, batchId: int) -> None:  # noqa: ARG002, N803 Spark's name
        """A task or the commit has failed."""
        self.undone(messages)


class DeltaReplayDataSource(DataSource):
    """The format ``deltareplay``, and ``delta``: ``source`` makes the class of a session."""

    called = "deltareplay"
    zone: str | None = None
    reads_by: type[Reader] = Reader

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return cls.called

    def __init__(self, options: dict[str, str]) -> None:
        from deltareplay.spark.format import option_values
        from deltareplay.spark.format import options as given

        super().__init__(option_values.in_zone(options, self.zone))
        self.reading = given.travelled(self.options, self.zone)
        # all that follows is of one version, though it runs in several processes
        self.version = given.pinned(self.reading)

    def schema(self) -> Any:
        """The columns that are read."""
        from deltareplay.spark.format import options

        return options.schema(self.reading, self.version)

    def reader(self, schema: Any) -> Reader:
        """For ``spark.read``."""
        return self.reads_by(dict(self.reading), self.version, schema)

    def streamReader(self, schema: Any) -> PlannedReader:  # noqa: N802 Spark's name
        """For ``spark.readStream``."""
        reads_by = StreamReader if limits is None else LimitedStreamReader
        return reads_by(dict(self.reading), self.version, schema)

    def writer(self, schema: Any, overwrite: bool) -> Writer:
        """For ``df.write``."""
        return Writer(self.options, schema, overwrite)

    def streamWriter(self, schema: Any, overwrite: bool) -> StreamWriter:  # noqa: N802 Spark's name
        """For ``df.writeStream``."""
        return StreamWriter(self.options, schema, overwrite)


def source(called: str, zone: str | None, *, filtering: bool) -> type[DeltaReplayDataSource]:
    """The class for a session, with what a worker cannot ask it.

    Args:
        called: The name of the format.
        zone: The zone of times that name none; None is UTC.
        filtering: Whether the session lets Python sources take filters.
    """
    settings = {
        "called": called,
        "zone": zone,
        "reads_by": FilteringReader if filtering else Reader,
    }
    return type("DeltaReplayDataSource", (DeltaReplayDataSource,), settings)
