"""``Frames``: rows as pandas and Polars frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Frames:
    """What has rows as Arrow has them as frames, too."""

    __slots__ = ()

    if TYPE_CHECKING:

        def to_arrow(self) -> pa.Table: ...

    def to_pandas(self) -> pd.DataFrame:
        """Read all rows into a pandas frame, with pandas' own types.

        Nulls and types that pandas lacks become what ``pyarrow.Table.to_pandas`` makes of them; for
        others, call that on ``to_arrow()``, with its ``types_mapper``.

        Raises:
            ImportError: There is no pandas.
            CorruptTableError: As ``to_arrow``.
            StorageError: As ``to_arrow``.

        >>> rows.snapshot().scan(columns=["id"]).to_pandas()["id"].tolist()
        [1, 3]
        """
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Read all rows into a Polars frame, without copying what both know.

        Raises:
            ImportError: There is no Polars.
            CorruptTableError: As ``to_arrow``.
            StorageError: As ``to_arrow``.

        >>> rows.snapshot().scan(columns=["id"]).to_polars()["id"].to_list()
        [1, 3]
        """
        import polars as pl

        return pl.DataFrame(self.to_arrow())
