"""``Protocol``: what a table asks of its readers and writers."""

from __future__ import annotations

from dataclasses import dataclass

from deltareplay import _native


@dataclass(frozen=True)
class Obstacle:
    """One thing that keeps this release from reading or writing a table.

    Attributes:
        feature: The feature or protocol version in the way.
        reason: Why it is in the way.
        remedy: What it would take.

    >>> str(Obstacle("fancyFeature", "it is unknown here", "upgrade deltareplay"))
    'fancyFeature: it is unknown here; upgrade deltareplay'
    """

    feature: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.feature}: {self.reason}; {self.remedy}"


@dataclass(frozen=True)
class Protocol:
    """What a table asks of its readers and writers.

    Attributes:
        min_reader_version: 1, 2, or 3 with feature lists.
        min_writer_version: 1 to 6, or 7 with a feature list.
        reader_features: Features that a reader must know; None where the log has no list.
        writer_features: Features that a writer must know; None where the log has no list.

    Source: Delta protocol, "Protocol Evolution".

    >>> table.snapshot().protocol
    Protocol(min_reader_version=1, min_writer_version=2, reader_features=None, writer_features=None)
    """

    min_reader_version: int
    min_writer_version: int
    reader_features: list[str] | None = None
    writer_features: list[str] | None = None

    def why_not_readable(self) -> list[Obstacle]:
        """List everything that keeps this release from reading such a table.

        Returns:
            One ``Obstacle`` for each feature or version in the way; empty where there is none.

        >>> for obstacle in Protocol(3, 7, ["fancyFeature"], ["fancyFeature"]).why_not_readable():
        ...     print(obstacle.feature)
        fancyFeature
        """
        return [Obstacle(*facts) for facts in _native.why_not_readable(*self._facts())]

    def why_not_writable(self) -> list[Obstacle]:
        """List everything that keeps this release from writing to such a table.

        Returns:
            One ``Obstacle`` for each feature or version in the way; empty where there is none.

        >>> for obstacle in Protocol(1, 8).why_not_writable():
        ...     print(obstacle.feature)
        writing
        minWriterVersion=8
        """
        return [Obstacle(*facts) for facts in _native.why_not_writable(*self._facts())]

    def _facts(self) -> tuple[int, int, list[str] | None, list[str] | None]:
        return (
            self.min_reader_version,
            self.min_writer_version,
            self.reader_features,
            self.writer_features,
        )
