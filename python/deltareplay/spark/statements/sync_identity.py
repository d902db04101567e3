"""``ALTER TABLE ... ALTER COLUMN ... SYNC IDENTITY``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltareplay._protocol.schema import Struct
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.scan.read import read
from deltareplay.spark.schema.spelling import fields_on_path
from deltareplay.spark.syntax.parser import Name
from deltareplay.spark.writing import identity_columns
from deltareplay.spark.writing.target_table import TargetTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._table.table import Table


@dataclass(frozen=True)
class SyncIdentity:
    """The clause that lets new values of an identity column follow those of the rows.

    Attributes:
        path: The name of the column.
    """

    path: Name

    @property
    def columns(self) -> list[Name]:
        """The paths of existing columns that the clause names."""
        return [self.path]

    def run(self, spark: SparkSession, table: Table) -> None:
        """Move the high-water mark to the value that is farthest from the start.

        It stays where it is if it is farther, or if all values are before the start.

        Raises:
            InvalidArgumentError: ``alter.column``: there is no such identity column; or
                ``write.identity``: no value of the sequence follows that of a row.
        """
        snapshot = table.snapshot()
        fields = fields_on_path(Struct.parse(snapshot.schema_json), self.path)
        if not fields or not fields[-1].is_identity:
            raise InvalidArgumentError(
                f"there is no identity column {'.'.join(self.path)}: SYNC IDENTITY takes one",
                code="alter.column",
            )
        field = fields[-1]
        rows = read(spark, snapshot, columns=[field.name])
        [(farthest,)] = rows.select(identity_columns.farthest(field, field.name)).collect()
        mark = None if farthest is None else identity_columns.mark_after(field, farthest)
        if mark is None:
            return
        target = TargetTable.of(snapshot)
        transaction = target.begin(snapshot, "CHANGE COLUMN", {"column": field.json()}, None)
        transaction.read()
        identity_columns.set_marks(transaction, target, {field.name: mark})
        if not transaction.is_empty:
            transaction.commit()
