"""Rows as a lazy frame of Polars, which reads only what a query needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import polars as pl


class LazyFrames:
    """A mixin that converts a scan to a lazy frame of Polars."""

    __slots__ = ()

    if TYPE_CHECKING:
        _snapshot: Any
        _keywords: dict[str, Any]

        @property
        def schema(self) -> pa.Schema: ...

    def to_polars_lazy(self) -> pl.LazyFrame:
        """Return a lazy frame of Polars, whose queries read only the columns and rows they need.

        Columns and limits of a query are pushed down; so are comparisons of a column with a number,
        a string, a date or a timestamp, ``is_between``, ``is_in``, ``is_null`` and ``is_not_null``,
        joined by ``&`` and ``|``, which skip files, row groups and pages. Polars applies all
        conditions again, so other conditions work too, but skip nothing. If the scan has a filter
        of tuples, only columns and limits are pushed down.

        Nothing is read before ``collect``; each ``collect`` reads the same version.

        Raises:
            ImportError: Polars is not installed.

        >>> lazy = rows.snapshot().scan().to_polars_lazy()  # doctest: +SKIP
        >>> lazy.filter(pl.col("id") > 1).select("name").collect().to_dicts()  # doctest: +SKIP
        [{'name': 'three'}]
        """
        import polars as pl
        from polars.io.plugins import register_io_source

        from deltareplay._arrow.polars_predicates import predicate_sql

        schema = self.schema
        empty = pl.DataFrame(schema.empty_table())

        def read(
            columns: list[str] | None,
            predicate: pl.Expr | None,
            n_rows: int | None,
            _batch_size: int | None,
        ) -> Iterator[pl.DataFrame]:
            # the limit counts rows before the predicate filters them
            pushed_filter = (
                predicate_sql(predicate, self._snapshot.schema) if n_rows is None else None
            )
            remaining = n_rows
            for batch in self._narrowed(columns, pushed_filter).to_batches():
                if remaining is not None and remaining <= 0:
                    return
                frame = pl.DataFrame(batch)
                if remaining is not None:
                    frame = frame.head(remaining)
                    remaining -= frame.height
                if predicate is not None:
                    frame = frame.filter(predicate)
                yield frame if columns is None else frame.select(columns)

        return register_io_source(read, schema=empty.schema)

    def _narrowed(self, columns: list[str] | None, condition: str | None) -> Any:
        """Return this scan with only these columns, and with one more condition."""
        keywords = dict(self._keywords)
        if columns is not None:
            table_columns = {name.lower() for name in self._snapshot.schema.names}
            keywords["columns"] = [name for name in columns if name.lower() in table_columns]
        filter = keywords.get("filter")
        if condition is not None and not filter:
            keywords["filter"] = condition
        elif condition is not None and isinstance(filter, str):
            # the line break ends a comment of the filter
            keywords["filter"] = f"({filter}\n) AND {condition}"
        return self._snapshot.scan(**keywords)
