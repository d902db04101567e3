"""A directory in a table for files that are not committed yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltareplay import _native
from deltareplay._support.warnings import warn
from deltareplay.exceptions import DeltaReplayError
from deltareplay.spark.storage.credentials import HadoopCredentials
from deltareplay.spark.storage.hadoop_path import root_in_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._table.table import Table


class StagingDirectory:
    """A new directory; ``VACUUM`` removes files that remain in it."""

    def __init__(self, spark: SparkSession, table: Table, name: str, root: str | None) -> None:
        """Choose the name of the directory, without writing anything.

        Args:
            spark: The session.
            table: The table.
            name: The name of the directory, unique to this write.
            root: The table's Hadoop path, if it is not its URI.
        """
        self._table = table
        #: The name in the table.
        self.name = name
        #: The credentials with which Spark opens it.
        self.credentials = HadoopCredentials.of(spark, table, root, "READ_WRITE")
        #: The full Hadoop path.
        self.path = f"{self.credentials.path(root_in_spark(table.uri, root))}/{name}"

    def discard(self) -> None:
        """Delete the directory as far as possible; a failure is a warning."""
        try:
            _native.discard_directory(self._table.native, self.name)
        except DeltaReplayError as error:
            warn(
                f"the uncommitted files in {self.name} cannot be deleted, and are left for "
                f"VACUUM: {error}"
            )
