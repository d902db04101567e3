from __future__ import annotations

from engines import LEAN, Lister


class Engine(Lister):
    title = "deltareplay"

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        from deltareplay import Table

        self.table = Table

    def version(self) -> str:
        from deltareplay import __version__

        return __version__

    def open(self) -> int:
        snapshot = self.table(self.uri).snapshot()
        seen = (snapshot.schema, snapshot.properties)
        return snapshot.version if all(part is not None for part in seen) else -1

    def listed(self, *columns: str) -> int:
        return self.table(self.uri).snapshot().files(columns=columns).num_rows

    def streamed(self) -> int:
        batches = self.table(self.uri).snapshot().file_batches(columns=LEAN)
        return sum(batch.num_rows for batch in batches)

    def load(self) -> None:
        self.before = self.table(self.uri).snapshot()
        self.before.files(columns=LEAN)

    def update(self) -> int:
        return self.before.refresh().files(columns=LEAN).num_rows
