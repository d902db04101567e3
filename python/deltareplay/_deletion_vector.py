"""``DeletionVector``: the deleted rows of a data file."""

from __future__ import annotations

import operator
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, SupportsIndex

import pyarrow as pa

from deltareplay import _native
from deltareplay._support.arguments import checked_methods
from deltareplay.exceptions import CorruptTableError, InvalidArgumentError

#: The fields of a descriptor from which an inline vector is decoded.
_INLINE_FIELDS = ("storageType", "pathOrInlineDv", "sizeInBytes", "cardinality")


@checked_methods
class DeletionVector:
    """A set of rows of one data file, by their positions in the file, counted from 0.

    Created by ``from_rows``, ``from_descriptor`` or ``decode``. Immutable and picklable; two
    vectors are equal if their rows are the same, however they are stored. ``len``, ``in``,
    ``bool``, ``|``, ``&`` and ``-`` work as on a set.

    Source: Delta protocol, "Deletion Vectors".

    >>> vector = dr.DeletionVector.from_rows([3, 4, 7])
    >>> len(vector), 4 in vector, 5 in vector
    (3, True, False)
    >>> (vector | dr.DeletionVector.from_rows([5])).ranges().to_pylist()
    [{'start': 3, 'end': 6}, {'start': 7, 'end': 8}]
    """

    __slots__ = ("_vector",)

    _vector: _native.DeletionVector

    def __init__(self) -> None:
        raise TypeError(
            "create a DeletionVector with from_rows, from_descriptor, decode or set operations"
        )

    @classmethod
    def _from_native(cls, native: _native.DeletionVector) -> DeletionVector:
        self = cls.__new__(cls)
        self._vector = native
        return self

    @classmethod
    def decode(
        cls, data: bytes, *, offset: int | None = None, cardinality: int | None = None
    ) -> DeletionVector:
        """Decode the bytes of a deletion vector.

        Args:
            data: Either a bitmap (as from ``encode``: the magic number, then 64-bit Roaring,
                portable or native) or a whole file of deletion vectors, which begins with the byte
                1; its sizes and checksums are checked.
            offset: The position of the vector in a file, as in a descriptor; None means the first.
            cardinality: The number of rows in the descriptor; None does not check it.

        Raises:
            CorruptTableError: The bytes are not such a vector; ``offset`` is the position.

        Source: Delta protocol, "Deletion Vector Format".

        >>> data = dr.DeletionVector.from_rows([1, 2]).encode()
        >>> dr.DeletionVector.decode(data, cardinality=2)
        DeletionVector(2 rows from 1 to 2)
        """
        return cls._from_native(_native.DeletionVector.decode(data, offset, cardinality))

    @classmethod
    def from_rows(
        cls, rows: Iterable[int] | pa.Array[Any] | pa.ChunkedArray[Any]
    ) -> DeletionVector:
        """Create a vector from row positions.

        Args:
            rows: Positions in any order, duplicates ignored: integers, or an Arrow array of them.

        Raises:
            InvalidArgumentError: A row is negative, null or too large for the format
                (``dv.row_range``).
            TypeError: The rows are not integers.

        >>> dr.DeletionVector.from_rows(range(1000, 2000))
        DeletionVector(1000 rows from 1000 to 1999)
        """
        if isinstance(rows, pa.ChunkedArray):
            array = rows.combine_chunks()
        elif isinstance(rows, pa.Array):
            array = rows
        else:
            numbers: Any = rows  # including NumPy arrays
            try:
                array = pa.array(numbers)
            except OverflowError as error:
                message = "a row is out of range: rows are from 0 to 2**63 - 2**32 - 1"
                raise InvalidArgumentError(message, code="dv.row_range") from error
            except pa.ArrowException as error:  # values of several types, or of none of Arrow's
                raise TypeError(f"rows must be integers: {error}") from error
        if not pa.types.is_uint64(array.type) and (
            pa.types.is_integer(array.type) or pa.types.is_null(array.type)
        ):
            array = array.cast(pa.int64())
        return cls._from_native(_native.DeletionVector.from_rows(array))

    @classmethod
    def from_descriptor(cls, descriptor: Mapping[str, Any]) -> DeletionVector:
        """Decode the vector in an inline descriptor.

        Args:
            descriptor: A descriptor of storage type ``i``, with the protocol's names:
                ``storageType``, ``pathOrInlineDv``, ``sizeInBytes``, ``cardinality``.

        Raises:
            InvalidArgumentError: The vector is in a file (``dv.not_inline``): read the file, and
                ``decode`` its bytes.
            CorruptTableError: The descriptor or its content is damaged.

        Source: Delta protocol, "Deletion Vector Descriptor Schema".

        >>> dr.DeletionVector.from_descriptor({
        ...     "storageType": "i",
        ...     "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000315c8Xg00031",
        ...     "sizeInBytes": 36,
        ...     "cardinality": 2,
        ... })
        DeletionVector(2 rows from 0 to 1)
        """
        fields: list[Any] = [descriptor.get(name) for name in _INLINE_FIELDS]
        if None in fields:
            message = f"the descriptor lacks the field {_INLINE_FIELDS[fields.index(None)]}"
            raise CorruptTableError(message, code="dv.descriptor")
        return cls._from_native(_native.DeletionVector.from_inline(*fields))

    @staticmethod
    def pack(
        vectors: Sequence[DeletionVector], *, name: uuid.UUID | None = None, prefix: str = ""
    ) -> tuple[str, bytes, list[dict[str, Any]]]:
        """Pack vectors into the body of one new file, as writers do.

        Args:
            vectors: Any number of vectors.
            name: The id in the file name; None draws a UUID.
            prefix: A directory of the table, for tables that spread their files.

        Returns:
            The file's path relative to the table root, its bytes, and one descriptor of storage
            type ``u`` for each vector, in their order.

        Raises:
            InvalidArgumentError: The vectors have 2 GiB or more (``dv.too_large``).

        Source: Delta protocol, "Deletion Vector File Storage Format".

        >>> vectors = [dr.DeletionVector.from_rows([0, 1]), dr.DeletionVector.from_rows([9])]
        >>> path, data, descriptors = dr.DeletionVector.pack(vectors, prefix="ab")
        >>> path.startswith("ab/deletion_vector_"), [vector["offset"] for vector in descriptors]
        (True, [1, 45])
        >>> dr.DeletionVector.decode(data, offset=45) == vectors[1]
        True
        """
        identity = (name or uuid.uuid4()).bytes
        return _native.pack_deletion_vectors(
            [vector._vector for vector in vectors], identity, prefix
        )

    @property
    def rows(self) -> pa.Array[Any]:
        """The deleted rows, ascending, as an int64 array.

        Raises:
            InvalidArgumentError: There are more rows than an array holds (``dv.too_many_rows``).

        >>> dr.DeletionVector.from_rows([7, 3]).rows.to_pylist()
        [3, 7]
        """
        return pa.record_batch(self._vector.rows()).column(0)

    def mask(self, num_rows: int) -> pa.Array[Any]:
        """Return for each row of a file whether it is deleted.

        Args:
            num_rows: The number of rows of the data file.

        Returns:
            A boolean array of ``num_rows`` bits; true where the row is deleted.

        Raises:
            InvalidArgumentError: ``num_rows`` is out of range, or a deleted row is not below it
                (``argument.range``).

        >>> dr.DeletionVector.from_rows([1]).mask(3).to_pylist()
        [False, True, False]
        """
        return pa.record_batch(self._vector.mask(num_rows, False)).column(0)

    def live_mask(self, num_rows: int) -> pa.Array[Any]:
        """Return for each row of a file whether it is live, as for ``pyarrow.Table.filter``.

        Args:
            num_rows: The number of rows of the data file.

        Returns:
            A boolean array of ``num_rows`` bits; false where the row is deleted.

        Raises:
            InvalidArgumentError: ``num_rows`` is out of range, or a deleted row is not below it
                (``argument.range``).

        >>> dr.DeletionVector.from_rows([1]).live_mask(3).to_pylist()
        [True, False, True]
        """
        return pa.record_batch(self._vector.mask(num_rows, True)).column(0)

    def ranges(self) -> pa.Table:
        """List the deleted rows as ranges.

        Returns:
            One row for each range, ascending, as long as possible: ``start`` and ``end`` (int64,
            exclusive).

        >>> dr.DeletionVector.from_rows([1, 2, 3, 9]).ranges().to_pylist()
        [{'start': 1, 'end': 4}, {'start': 9, 'end': 10}]
        """
        return pa.Table.from_batches([pa.record_batch(self._vector.ranges())])

    def live_ranges(self, num_rows: int) -> pa.Table:
        """List the live rows of a file as ranges.

        Args:
            num_rows: The number of rows of the data file.

        Returns:
            As from ``ranges``.

        Raises:
            InvalidArgumentError: ``num_rows`` is out of range, or a deleted row is not below it
                (``argument.range``).

        >>> dr.DeletionVector.from_rows([1, 2, 3, 9]).live_ranges(10).to_pylist()
        [{'start': 0, 'end': 1}, {'start': 4, 'end': 9}]
        """
        return pa.Table.from_batches([pa.record_batch(self._vector.live_ranges(num_rows))])

    def union(self, other: DeletionVector) -> DeletionVector:
        """Return the rows that are in either or both vectors; also ``|``.

        Args:
            other: Another vector.

        >>> left, right = dr.DeletionVector.from_rows([1, 2]), dr.DeletionVector.from_rows([2, 3])
        >>> left.union(right).rows.to_pylist()
        [1, 2, 3]
        """
        return self._from_native(self._vector.union(other._vector))

    def intersection(self, other: DeletionVector) -> DeletionVector:
        """Return the rows that are in both vectors; also ``&``.

        Args:
            other: Another vector.

        >>> left, right = dr.DeletionVector.from_rows([1, 2]), dr.DeletionVector.from_rows([2, 3])
        >>> left.intersection(right).rows.to_pylist()
        [2]
        """
        return self._from_native(self._vector.intersection(other._vector))

    def difference(self, other: DeletionVector) -> DeletionVector:
        """Return the rows of this vector that are not in the other; also ``-``.

        Args:
            other: Another vector.

        >>> left, right = dr.DeletionVector.from_rows([1, 2]), dr.DeletionVector.from_rows([2, 3])
        >>> left.difference(right).rows.to_pylist()
        [1]
        """
        return self._from_native(self._vector.difference(other._vector))

    def encode(self) -> bytes:
        """Encode the bitmap in the portable layout.

        Its length is the ``sizeInBytes`` of a descriptor. For a file, in which each bitmap has a
        frame, see ``pack``.

        Raises:
            InvalidArgumentError: The vector has 2 GiB or more (``dv.too_large``).

        Source: Delta protocol, "Roaring Bitmap Array (portable)".

        >>> dr.DeletionVector.from_rows([0]).encode()[:4].hex()
        'd1d33964'
        """
        return self._vector.encode()

    def encode_inline(self) -> dict[str, Any]:
        """Return an inline descriptor with the vector, as in ``add.deletionVector``.

        Raises:
            InvalidArgumentError: The vector has 2 GiB or more (``dv.too_large``).

        Source: Delta protocol, "Deletion Vector Descriptor Schema".

        >>> dr.DeletionVector.from_rows([0]).encode_inline()["pathOrInlineDv"]
        '^Bg9^0rr910000000000iXQKl0rr91000005c8Xg00000'
        """
        return self._vector.encode_inline()

    def __or__(self, other: object) -> DeletionVector:
        return self.union(other) if isinstance(other, DeletionVector) else NotImplemented

    def __and__(self, other: object) -> DeletionVector:
        return self.intersection(other) if isinstance(other, DeletionVector) else NotImplemented

    def __sub__(self, other: object) -> DeletionVector:
        return self.difference(other) if isinstance(other, DeletionVector) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeletionVector):
            return NotImplemented
        return self._vector.same(other._vector)

    def __hash__(self) -> int:
        return hash((len(self), self._vector.bounds()))

    def __len__(self) -> int:
        return self._vector.cardinality()

    def __contains__(self, row: SupportsIndex) -> bool:
        number = operator.index(row)
        return 0 <= number < 1 << 63 and self._vector.contains(number)

    def __reduce__(self) -> tuple[Any, ...]:
        return DeletionVector.decode, (self.encode(),)

    def __repr__(self) -> str:
        bounds = self._vector.bounds()
        if bounds is None:
            return "DeletionVector(no rows)"
        count = len(self)
        return f"DeletionVector({count} row{'s' * (count != 1)} from {bounds[0]} to {bounds[1]})"
