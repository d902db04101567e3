"""``deltareplay summary``: the values of each column in a few numbers."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from deltareplay.cli._format import count, counted, plain, short_moment
from deltareplay.cli._options import Columns, Filter, Timestamp, Version, names
from deltareplay.cli._output import Column
from deltareplay.cli._records import records
from deltareplay.cli._verb import Request, verb

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows whose quartiles are computed: all, or so many at random.
_SAMPLE = 100_000
_QUARTILES = {"q25": 0.25, "q50": 0.5, "q75": 0.75}
#: Characters of a value on the screen.
_CELL = 24


@verb
def summary(
    request: Request,
    *,
    columns: Columns = None,
    filter: Filter = None,
    version: Version = None,
    timestamp: Timestamp = None,
) -> None:
    """Summarize the columns: nulls, min, max, mean, quartiles.

    Reads the rows. The quartiles of more than 100,000 rows are approximate:
    of so many, chosen at random. NaN only counts for the mean.
    """
    output = request.output
    scan = request.table.snapshot(version, timestamp).scan(names(columns), filter)
    statistics = [_Values(field) for field in scan.schema]
    for batch in scan.to_batches():
        for column, array in zip(statistics, batch.columns, strict=True):
            column.add(array)
    rows = [column.facts() for column in statistics]

    def text(value: Any) -> str:
        if isinstance(value, datetime.datetime):
            return short_moment(value, utc=output.utc)
        number = f"{value:.6g}" if isinstance(value, float) else plain(value)
        return number if len(number) <= _CELL else f"{number[: _CELL - 1]}…"

    if not output.is_text:
        output.rows(rows, [Column(name) for row in rows[:1] for name in row])
        return
    for row in rows:
        row["quartiles"] = "  ".join(text(row[name]) for name in _QUARTILES).strip()
    output.rows(
        rows,
        [
            Column("column", "Column"),
            Column("nulls", "Nulls", count, right=True),
            *(Column(name, name.title(), text) for name in ("min", "max", "mean")),
            Column("quartiles", "Quartiles"),
        ],
        empty="no columns",
    )
    is_part = any(row["approximate"] for row in rows)
    about = f", approximate: of {_SAMPLE:,} rows at random" if is_part else ""
    read = counted(sum(column.rows for column in statistics[:1]), "row")
    output.note(f"{read}; quartiles are the values at 25, 50 and 75 %{about}")


class _Values:
    """What is known of a column after some batches, in little memory."""

    def __init__(self, field: pa.Field[Any]) -> None:
        import pyarrow as pa

        kind: Any = field.type
        numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        self.name = field.name
        self.is_number = any(is_one(kind) for is_one in numbers)
        self.is_ordered = not (pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType))
        self.bounds: Any = pa.array([], kind)  # the smallest value and the largest
        self.rows = self.nulls = 0
        self.sum = 0.0
        self.sample: Any = pa.table(
            {"value": pa.array([], pa.float64()), "drawn": pa.array([], pa.float64())}
        )

    def add(self, array: Any) -> None:
        """Takes some values in."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.is_ordered:
            bounds: Any = pa.array([pc.min_max(pa.concat_arrays([self.bounds, array]))])
            self.bounds = pa.concat_arrays(bounds.flatten())
        if self.is_number:
            numbers = array.cast(pa.float64(), safe=False)
            self.sum += pc.sum(numbers).as_py() or 0.0
            drawn = pc.random(len(array), initializer=self.rows)
            batch = pa.table([numbers, drawn], self.sample.schema)
            self.sample = pa.concat_tables([self.sample, batch])
        self.rows += len(array)
        self.nulls += array.null_count
        if self.sample.num_rows > 2 * _SAMPLE:
            self._thin()

    def facts(self) -> dict[str, Any]:
        """The numbers; None is what the column has not."""
        import pyarrow as pa
        import pyarrow.compute as pc

        self._thin()
        shares: Any = list(_QUARTILES.values())
        quartiles: Any = pc.quantile(self.sample["value"], shares)
        bounds = [row["bound"] for row in records([pa.record_batch([self.bounds], ["bound"])])]
        known = self.rows - self.nulls
        return {
            "column": self.name,
            "rows": self.rows,
            "nulls": self.nulls,
            **dict(zip(("min", "max"), bounds or (None, None), strict=True)),
            "mean": self.sum / known if self.is_number and known else None,
            **dict(zip(_QUARTILES, quartiles.to_pylist(), strict=True)),
            "approximate": self.is_number and self.rows > _SAMPLE,
        }

    def _thin(self) -> None:
        """Each row draws a number; those with the smallest stay."""
        import pyarrow.compute as pc

        if self.sample.num_rows > _SAMPLE:
            kept = pc.select_k_unstable(self.sample, _SAMPLE, [("drawn", "ascending")])
            self.sample = self.sample.take(kept)
