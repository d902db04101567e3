"""Serialization of splits of changes for the executors."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from deltareplay._changes.change_split import ChangeSplit
from deltareplay._table.table import Table
from deltareplay.spark.executors.worker import Batches, part_numbers
from deltareplay.spark.schema.arrow import cast_for_spark


@dataclass(frozen=True)
class PackedSplits:
    """All splits of changes as JSON, with their common text stored once.

    Splits of net changes name all the files of the range, and differ only in a number.

    Attributes:
        prefix: The common beginning.
        differences: The part of each split that differs.
        suffix: The common end.
    """

    table: Table
    prefix: str
    differences: tuple[str, ...]
    suffix: str

    @classmethod
    def of(cls, table: Table, splits: Sequence[ChangeSplit]) -> PackedSplits:
        """Pack splits of one table."""
        texts = [split.to_json() for split in splits]
        prefix = _common_prefix(texts)
        rest = [text[len(prefix) :] for text in texts]
        suffix = _common_prefix([text[::-1] for text in rest])[::-1]
        differences = tuple(text[: len(text) - len(suffix)] for text in rest)
        return cls(table, prefix, differences, suffix)

    def split(self, number: int) -> ChangeSplit:
        """Return a split by its number."""
        text = f"{self.prefix}{self.differences[number]}{self.suffix}"
        return ChangeSplit.from_json(self.table, text)


@dataclass(frozen=True)
class ReadChanges:
    """Reads the rows of some splits of changes.

    Attributes:
        schema: Spark's schema of the rows.
    """

    splits: PackedSplits
    schema: Any

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Return the rows of the numbered splits."""
        for number in part_numbers(batches):
            yield from cast_for_spark(self.splits.split(number).to_batches(), self.schema)


def _common_prefix(texts: Sequence[str]) -> str:
    """Return the longest common prefix; for long texts, faster than ``os.path.commonprefix``.

    >>> _common_prefix(["net 1 of 2", "net 2 of 2"])
    'net '
    """
    if not texts:
        return ""
    first = texts[0]

    def differs(length: int) -> bool:
        return not all(text.startswith(first[:length]) for text in texts)

    return first[: bisect_left(range(1, len(first) + 1), True, key=differs)]
