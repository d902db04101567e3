"""``RowsDataset``: the rows of a snapshot as a ``pyarrow.dataset.Dataset``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import pyarrow as pa
import pyarrow.dataset as pds
from pyarrow.fs import LocalFileSystem

from deltareplay._arrow.arrow_expressions import ArrowExpression
from deltareplay.exceptions import UnsupportedFeatureError

if TYPE_CHECKING:
    from deltareplay._snapshot.scan import Scan


class RowsOfSnapshot(Protocol):
    """The part of a snapshot that a dataset of its rows uses."""

    @property
    def schema(self) -> pa.Schema: ...

    def scan(self, columns: list[str] | None = None, filter: str | None = None) -> Scan: ...


#: A path that does not exist, so code that bypasses the methods below gets an error, not no rows.
_NO_FILE = "rows of deltareplay: use the dataset's own methods"


class RowsDataset(pds.UnionDataset):
    """The rows of a snapshot, from ``Snapshot.dataset``."""

    def __init__(self, snapshot: RowsOfSnapshot, filter: Any = None) -> None:
        """Create the dataset of the rows for which a filter of pyarrow is true; reads nothing."""
        schema, form = snapshot.schema, pds.IpcFileFormat()
        nothing = form.make_fragment(_NO_FILE, filesystem=LocalFileSystem())
        super().__init__(schema, [pds.FileSystemDataset([nothing], schema, form)])  # type: ignore[call-arg]
        self._snapshot = snapshot
        self._filter = filter

    def scanner(  # type: ignore[override]  # options are passed on
        self, columns: Any = None, filter: Any = None, **options: Any
    ) -> pds.Scanner:
        """Create a scanner, for one use, of the required columns and matching files.

        Args:
            columns: Names, or a mapping of names to expressions; None is all columns.
            filter: An expression; rows for which it is not true are left out.
            options: As for ``pyarrow.dataset.Scanner.from_batches``.
        """
        expression = self._conjunction(filter)
        schema = self.schema
        projection = self._needed_columns(columns, expression, schema)
        pushed = None if expression is None else ArrowExpression.of(expression, schema)
        scan = self._snapshot.scan(projection, None if pushed is None else pushed.sql)
        options.pop("cache_metadata", None)  # there is no metadata to cache
        options.pop("fragment_scan_options", None)
        return pds.Scanner.from_batches(
            scan.to_batches(), columns=columns, filter=expression, **options
        )

    @staticmethod
    def _needed_columns(columns: Any, filter: Any, schema: pa.Schema) -> list[str] | None:
        """Return the columns of the table that are needed; None for all."""
        if columns is None:
            return None
        expressions = list(columns.values()) if isinstance(columns, Mapping) else []
        needed = set() if isinstance(columns, Mapping) else set(columns)
        if filter is not None:
            expressions.append(filter)
        for expression in expressions:
            named = ArrowExpression.of(expression, schema)
            if named is None:
                return None
            needed |= named.columns
        return [name for name in schema.names if name in needed]

    def _conjunction(self, filter: Any) -> Any:
        if filter is None or self._filter is None:
            return self._filter if filter is None else filter
        return self._filter & filter

    def count_rows(self, filter: Any = None, **options: Any) -> int:  # type: ignore[override]
        """Count rows; without a filter, from the log if it has row counts."""
        if self._conjunction(filter) is None:
            return self._snapshot.scan().count()
        counted: int = self.scanner([], filter, **options).count_rows()
        return counted

    def filter(self, expression: Any) -> RowsDataset:
        """Return the rows for which an expression is also true."""
        return RowsDataset(self._snapshot, self._conjunction(expression))

    def sort_by(self, sorting: Any, **options: Any) -> Any:
        """Return all rows sorted, in memory."""
        return _in_memory(self).sort_by(sorting, **options)

    def join(self, right_dataset: Any, *args: Any, **options: Any) -> Any:
        """Return all rows joined with those of another dataset, in memory."""
        return _in_memory(self).join(_in_memory(right_dataset), *args, **options)

    def join_asof(self, right_dataset: Any, *args: Any, **options: Any) -> Any:
        """Return all rows joined, as of a key, with those of another dataset, in memory."""
        return _in_memory(self).join_asof(_in_memory(right_dataset), *args, **options)

    def get_fragments(self, filter: Any = None) -> NoReturn:
        """Raise an error: a file alone does not determine which of its rows are live."""
        del filter
        raise _refused("fragments: pass Snapshot.scan().splits() to other processes")

    def replace_schema(self, schema: pa.Schema) -> NoReturn:
        """Raise an error: the schema is always that of the table."""
        del schema
        raise _refused("schema but that of its table: cast what to_table() returns")

    @property
    def children(self) -> NoReturn:
        """The property is not supported, as ``get_fragments``."""
        raise _refused("children: pass Snapshot.scan().splits() to other processes")

    def __reduce__(self) -> tuple[Any, ...]:
        return RowsDataset, (self._snapshot, self._filter)


def _in_memory(dataset: Any) -> Any:
    if not isinstance(dataset, RowsDataset):
        return dataset
    in_memory: Any = pds.InMemoryDataset  # its stubs lack the arguments
    return in_memory(dataset.to_table())


def _refused(missing: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"a dataset of live rows has no {missing}", code="dataset.method"
    )
