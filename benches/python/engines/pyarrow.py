"""pyarrow on the columns of the checkpoint, on one thread: a bare decode without a Rust build."""

from __future__ import annotations

from engines import Lister
from engines._log import parts


class Engine(Lister):
    title = "decode by pyarrow"
    package = "pyarrow"
    floor = True

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        from pyarrow.parquet import ParquetFile

        self.open_file = ParquetFile
        self.checkpoint, _ = parts(uri)

    def listed(self, *columns: str) -> int:
        with self.open_file(self.checkpoint) as file:
            paths = [f"add.{name}" for name in columns]
            return file.read(columns=paths, use_threads=False).num_rows
