from __future__ import annotations

from engines import Adapter


class Engine(Adapter):
    title = "deltalake"
    package = "deltalake"

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        import pyarrow
        from deltalake import DeltaTable

        self.to_arrow = pyarrow.table
        self.table = DeltaTable

    def open(self) -> int:
        table = self.table(self.uri)
        seen = (table.schema(), table.metadata().configuration)
        return table.version() if all(part is not None for part in seen) else -1

    def files(self) -> int:
        return self.to_arrow(self.table(self.uri).get_add_actions()).num_rows

    stats = files  # it has a single way to list files, without a choice of columns

    def load(self) -> None:
        self.before = self.table(self.uri)
        self.to_arrow(self.before.get_add_actions())

    def update(self) -> int:
        self.before.update_incremental()
        return self.to_arrow(self.before.get_add_actions()).num_rows
