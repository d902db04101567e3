"""The replay as a lazy query: the checkpoint without files of later commits."""

from __future__ import annotations

import json

from engines import Lister
from engines._log import parts

VECTOR = ("storageType", "pathOrInlineDv", "offset")


class Engine(Lister):
    title = "Polars, log as a query"
    package = "polars"

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        import polars

        self.pl = polars

    def listed(self, *columns: str) -> int:
        pl = self.pl
        checkpoint, commits = parts(self.uri)
        newest = {}
        for commit in commits:
            for line in commit.read_bytes().splitlines():
                action = json.loads(line)
                if file := action.get("add") or action.get("remove"):
                    newest[_key(file)] = action.get("add")
        old = pl.scan_parquet(checkpoint).select("add").filter(pl.col("add").is_not_null())
        old = old.select(pl.col("add").struct.unnest())
        vector = pl.col("deletionVector").struct
        changed = pl.LazyFrame(
            list(newest),
            schema=dict.fromkeys(("path", *VECTOR), pl.String) | {"offset": pl.Int32},
            orient="row",
        )
        unchanged = old.join(
            changed,
            left_on=["path", *(vector.field(name) for name in VECTOR)],
            right_on=["path", *VECTOR],
            how="anti",
            nulls_equal=True,
        ).select(columns)
        schema = unchanged.collect_schema()
        added = [_row(add, columns) for add in newest.values() if add]
        return pl.concat([unchanged, pl.LazyFrame(added, schema=schema)]).collect().height


def _key(file: dict) -> tuple:
    """Return the key of an action: path and vector."""
    vector = file.get("deletionVector") or {}
    return (file["path"], *(vector.get(name) for name in VECTOR))


def _row(add: dict, columns: tuple[str, ...]) -> dict:
    """Return an action as in a checkpoint: maps as lists of pairs."""
    row = {name: add.get(name) for name in columns}
    if "partitionValues" in row:
        pairs = add["partitionValues"].items()
        row["partitionValues"] = [{"key": key, "value": value} for key, value in pairs]
    return row
