"""A session of Spark that does not know the format ``delta``; without Spark."""

from __future__ import annotations

from typing import Any


class _Reader:
    def format(self, _: str) -> _Reader:
        return self

    schema = format

    def load(self, _: str) -> _Reader:
        raise RuntimeError("[DATA_SOURCE_NOT_FOUND]")


class Session:
    """The parts of a session that a check of its formats uses."""

    read: Any = _Reader()
