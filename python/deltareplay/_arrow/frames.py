"""Rows as pandas and Polars frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from deltareplay.exceptions import UnsupportedFeatureError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Frames:
    """A mixin that converts rows to pandas and Polars frames."""

    __slots__ = ()

    if TYPE_CHECKING:

        def to_arrow(self) -> pa.Table: ...

    def to_pandas(self) -> pd.DataFrame:
        """Read all rows into a pandas frame, with pandas' own types.

        Nulls and types that pandas lacks are converted as by ``pyarrow.Table.to_pandas``; for other
        conversions, call ``to_arrow().to_pandas(types_mapper=...)``.

        Raises:
            ImportError: pandas is not installed.
            UnsupportedFeatureError: A date is outside the years 1 to 9999, the limits of Python's
                dates (``rows.pandas``).
            DeltaReplayError: As ``to_arrow``.

        >>> rows.snapshot().scan(columns=["id"]).to_pandas()["id"].tolist()
        [1, 3]
        """
        rows = self.to_arrow()
        try:
            return rows.to_pandas()
        except (ValueError, OverflowError) as error:
            raise UnsupportedFeatureError(
                f"pyarrow cannot convert a value to pandas ({error}): if it is a date outside the "
                "years 1 to 9999, leave the column out, or call "
                "to_arrow().to_pandas(date_as_object=False)",
                code="rows.pandas",
            ) from error

    def to_polars(self) -> pl.DataFrame:
        """Read all rows into a Polars frame; columns of types that both support are not copied.

        Raises:
            ImportError: Polars is not installed.
            DeltaReplayError: As ``to_arrow``.

        >>> rows.snapshot().scan(columns=["id"]).to_polars()["id"].to_list()
        [1, 3]
        """
        import polars as pl

        return pl.DataFrame(self.to_arrow())
