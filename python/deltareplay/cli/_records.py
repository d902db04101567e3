"""Arrow data as rows of plain Python values."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_EPOCH = datetime.datetime(1970, 1, 1)
_TICKS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def records(batches: Iterable[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    """The rows, one after the other; maps are dictionaries.

    >>> list(records(rows.snapshot().scan(["id", "name"]).to_batches()))
    [{'id': 1, 'name': 'one'}, {'id': 3, 'name': 'three'}]
    """
    for batch in batches:
        names = batch.schema.names
        for row in zip(*map(_values, batch.columns), strict=True):
            yield dict(zip(names, row, strict=True))


def _values(array: Any) -> list[Any]:
    import pyarrow as pa

    kind = array.type
    if pa.types.is_timestamp(kind):
        # `to_pylist` would import pandas, which takes longer than all the rest; and `cast` and
        # `is_valid` of an array would import `pyarrow.compute`
        zone = None if kind.tz is None else datetime.timezone.utc
        ticks = array.view(pa.int64()).to_pylist()
        return [_moment(tick, _TICKS[kind.unit], zone) for tick in ticks]
    if pa.types.is_map(kind):
        return [None if pairs is None else dict(pairs) for pairs in array.to_pylist()]
    if pa.types.is_struct(kind):
        names = [kind.field(index).name for index in range(kind.num_fields)]
        parts = [_values(array.field(index)) for index in range(kind.num_fields)]
        rows = zip(*parts, strict=True) if parts else ((),) * len(array)
        valid = [scalar.is_valid for scalar in array]
        return [
            dict(zip(names, row, strict=True)) if there else None
            for row, there in zip(rows, valid, strict=True)
        ]
    values: list[Any] = array.to_pylist()
    return values


def _moment(tick: int | None, ticks: int, zone: datetime.timezone | None) -> Any:
    if tick is None:
        return None
    try:
        moment = _EPOCH + datetime.timedelta(microseconds=tick * 1_000_000 // ticks)
    except OverflowError:
        return tick  # a year that Python lacks
    return moment.replace(tzinfo=zone)
