"""Types of the native module; the classes of the package wrap it."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any, final

from typing_extensions import CapsuleType

__all__ = [
    "ArrowBatch",
    "ArrowSchema",
    "ArrowTable",
    "BatchIterator",
    "Snapshot",
    "Table",
    "__version__",
    "why_not_readable",
    "why_not_writable",
]

__version__: str

@final
class ArrowSchema:
    def __arrow_c_schema__(self) -> CapsuleType: ...

@final
class ArrowTable:
    def __arrow_c_schema__(self) -> CapsuleType: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> CapsuleType: ...

@final
class ArrowBatch:
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[CapsuleType, CapsuleType]: ...

@final
class BatchIterator:
    @property
    def schema(self) -> ArrowSchema: ...
    def next_batch(self) -> ArrowBatch | None: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> CapsuleType: ...

@final
class Table:
    def __new__(
        cls,
        uri: str,
        storage_options: Mapping[str, str] | None = None,
        allowed_roots: Sequence[str] | None = None,
        strict: bool = False,
    ) -> Table: ...
    @property
    def uri(self) -> str: ...
    def exists(self) -> bool: ...
    def snapshot(
        self,
        version: int | None = None,
        timestamp: datetime.datetime | str | None = None,
        strict: bool | None = None,
    ) -> Snapshot: ...
    def history(self, limit: int | None = None) -> ArrowTable: ...
    def actions(self, start: int, end: int | None = None) -> BatchIterator: ...

@final
class Snapshot:
    @property
    def version(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def in_commit_timestamp(self) -> int | None: ...
    @property
    def schema(self) -> ArrowSchema: ...
    def metadata(self) -> dict[str, Any]: ...
    def protocol(self) -> dict[str, Any]: ...
    def transactions(self) -> list[tuple[str, int]]: ...
    def domain_metadata(self) -> list[tuple[str, str]]: ...
    def num_files(self) -> int: ...
    def size_in_bytes(self) -> int: ...
    def files(self, columns: Sequence[str] | None = None) -> ArrowTable: ...
    def file_batches(self, columns: Sequence[str] | None = None) -> BatchIterator: ...
    def tombstones(self) -> ArrowTable: ...
    def update(self) -> Snapshot: ...
    def warnings(self, start: int) -> list[tuple[str, str | None, int | None, str]]: ...

def why_not_readable(
    min_reader_version: int,
    min_writer_version: int,
    reader_features: Sequence[str] | None,
    writer_features: Sequence[str] | None,
    /,
) -> list[tuple[str, str, str]]: ...
def why_not_writable(
    min_reader_version: int,
    min_writer_version: int,
    reader_features: Sequence[str] | None,
    writer_features: Sequence[str] | None,
    /,
) -> list[tuple[str, str, str]]: ...
