"""Geometries as WKB, and Parquet columns annotated as geometries."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa


def point(x: float, y: float) -> bytes:
    """Return a point, little-endian."""
    return struct.pack("<BIdd", 1, 1, x, y)


def line(*points: tuple[float, float]) -> bytes:
    """Return a line string, big-endian."""
    return struct.pack(">BII", 0, 2, len(points)) + b"".join(struct.pack(">dd", *p) for p in points)


class _Wkb(pa.ExtensionType):
    def __init__(self, metadata: bytes) -> None:
        self._metadata = metadata
        super().__init__(pa.binary(), "geoarrow.wkb")

    def __arrow_ext_serialize__(self) -> bytes:
        return self._metadata

    @classmethod
    def __arrow_ext_deserialize__(cls, storage: Any, metadata: bytes) -> _Wkb:
        return cls(metadata)


def annotated(values: Sequence[bytes | None], metadata: bytes = b"{}") -> Any:
    """Return an array that pyarrow writes with Parquet's own geospatial types.

    Args:
        values: WKB.
        metadata: GeoArrow's metadata; with edges, what is written is a geography.
    """
    return pa.ExtensionArray.from_storage(_Wkb(metadata), pa.array(values, pa.binary()))
