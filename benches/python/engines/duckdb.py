"""The replay as one SQL statement over the checkpoint and the commits."""

from __future__ import annotations

from engines import Lister
from engines._log import parts

VECTOR = 'STRUCT("storageType" VARCHAR, "pathOrInlineDv" VARCHAR, "offset" INT)'
FILE = (
    'STRUCT(path VARCHAR, size BIGINT, "partitionValues" MAP(VARCHAR, VARCHAR), '
    f'"deletionVector" {VECTOR}, stats VARCHAR)'
)


def key(file: str) -> str:
    """Return the key of an action: path and vector."""
    vector = f'{file}."deletionVector"'
    fields = ", ".join(f'{vector}."{name}"' for name in ("storageType", "pathOrInlineDv", "offset"))
    return f"({file}.path, concat_ws('/', {fields}))"


REPLAY = f"""
WITH actions AS (
    SELECT "add", coalesce("add", "remove") AS file, filename
    FROM read_json($commits, format = 'newline_delimited', filename = true,
        columns = {{'add': '{FILE}', 'remove': '{FILE}'}})
    WHERE "add" IS NOT NULL OR "remove" IS NOT NULL
),
newest AS (
    SELECT "add", {key("file")} AS key FROM actions
    QUALIFY row_number() OVER (PARTITION BY key ORDER BY filename DESC) = 1
)
SELECT COLUMNS_OF_ADD FROM read_parquet($checkpoint)
WHERE "add" IS NOT NULL AND {key('"add"')} NOT IN (SELECT key FROM newest)
UNION ALL
SELECT COLUMNS_OF_ADD FROM newest WHERE "add" IS NOT NULL
"""


class Engine(Lister):
    title = "DuckDB, log as SQL"
    package = "duckdb"

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        import duckdb
        import pyarrow  # noqa: F401 - what its result is made of

        self.connect = duckdb.connect

    def listed(self, *columns: str) -> int:
        checkpoint, commits = parts(self.uri)
        parameters = {"checkpoint": str(checkpoint), "commits": [str(path) for path in commits]}
        selected = ", ".join(f'"add"."{name}" AS "{name}"' for name in columns)
        with self.connect() as connection:
            relation = connection.execute(REPLAY.replace("COLUMNS_OF_ADD", selected), parameters)
            return relation.to_arrow_table().num_rows
