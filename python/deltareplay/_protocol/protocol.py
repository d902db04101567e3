"""``Protocol``: the versions and features that readers and writers of a table must support."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from deltareplay import _native
from deltareplay._names import escaped
from deltareplay._protocol.metadata import Metadata
from deltareplay._support.arguments import checked_methods
from deltareplay._support.display import NotebookCard


@dataclass(frozen=True)
class Obstacle:
    """A feature or version that prevents this release from reading or writing a table.

    Attributes:
        feature: The feature or protocol version.
        reason: Why it is an obstacle.
        remedy: What to do about it.

    >>> str(Obstacle("fancyFeature", "it is unknown here", "upgrade deltareplay"))
    'fancyFeature: it is unknown here; upgrade deltareplay'
    """

    feature: str
    reason: str
    remedy: str

    def __str__(self) -> str:
        return escaped(f"{self.feature}: {self.reason}; {self.remedy}")


@dataclass(frozen=True)
@checked_methods
class Protocol(NotebookCard):
    """The versions and features that readers and writers of a table must support.

    Attributes:
        min_reader_version: 1, 2, or 3 with feature lists.
        min_writer_version: 1 to 6, or 7 with a feature list.
        reader_features: Features that a reader must support; None if the log has no list.
        writer_features: Features that a writer must support; None if the log has no list.

    Source: Delta protocol, "Protocol Evolution".

    >>> table.snapshot().protocol
    Protocol(min_reader_version=1, min_writer_version=2, reader_features=None, writer_features=None)
    """

    min_reader_version: int
    min_writer_version: int
    reader_features: list[str] | None = None
    writer_features: list[str] | None = None

    def why_not_readable(self) -> list[Obstacle]:
        """List the obstacles that prevent this release from reading such a table.

        Returns:
            One ``Obstacle`` for each such feature or version, or an empty list.

        >>> for obstacle in Protocol(3, 7, ["fancyFeature"], ["fancyFeature"]).why_not_readable():
        ...     print(obstacle.feature)
        fancyFeature
        """
        return [Obstacle(*facts) for facts in _native.why_not_readable(self)]

    def why_not_writable(self) -> list[Obstacle]:
        """List the obstacles that prevent this release from writing to such a table.

        Returns:
            One ``Obstacle`` for each such feature or version, or an empty list.

        >>> for obstacle in Protocol(1, 8).why_not_writable():
        ...     print(obstacle.feature)
        minWriterVersion=8
        """
        return [Obstacle(*facts) for facts in _native.why_not_writable(self)]

    @staticmethod
    def for_new_table(metadata: Metadata) -> Protocol:
        """Return the protocol of a new table with this metadata.

        Args:
            metadata: Only its schema and properties matter. ``delta.feature.<name>`` adds a
                feature; ``delta.minReaderVersion`` and ``delta.minWriterVersion`` (by default 1 and
                2) are the lowest versions.

        Returns:
            The weakest protocol with every feature that the table needs: plain versions if they
            imply exactly those, otherwise lists of features.

        Raises:
            InvalidArgumentError: A version (``protocol.version``) or a feature
                (``protocol.unknown_feature``) does not exist.

        Source: delta-spark, ``Protocol.forNewTable``.

        >>> Protocol.for_new_table(Metadata(configuration={"delta.appendOnly": "true"}))
        Protocol(min_reader_version=1, min_writer_version=2, reader_features=None, writer_features=None)
        """  # noqa: E501
        return _native.protocol_for_new_table(metadata)

    @staticmethod
    def required_minimum(metadata: Metadata) -> tuple[Protocol, list[str]]:
        """Return the lowest versions by the rules from before table features.

        Starting at versions (0, 0): column invariants require (0, 2), append-only tables (0, 3),
        CHECK constraints (0, 3), generated columns (0, 4), the change data feed (0, 4), column
        mapping (2, 5). ``for_new_table`` returns the protocol that a table really gets, with (1, 2)
        for append-only tables.

        Args:
            metadata: Only its schema and properties matter.

        Returns:
            The lowest versions, and the names of the used features, in the order of the rules.

        Raises:
            InvalidArgumentError: The properties contain ``delta.minReaderVersion`` or
                ``delta.minWriterVersion`` (``protocol.version_property``).
            UnsupportedFeatureError: There are identity columns, which those rules do not support
                (``protocol.identity``).

        Source: delta-spark, ``Protocol.requiredMinimumProtocol``.

        >>> minimum, used = Protocol.required_minimum(
        ...     Metadata(configuration={"delta.columnMapping.mode": "name"})
        ... )
        >>> minimum.min_reader_version, minimum.min_writer_version, used
        (2, 5, ['columnMapping'])
        """
        return _native.protocol_required_minimum(metadata)

    @staticmethod
    def automatically_enabled_features(
        metadata: Metadata, protocol: Protocol | None = None
    ) -> list[str]:
        """List the features that metadata requires, and all that they depend on.

        Args:
            metadata: Only its schema and properties matter.
            protocol: A protocol whose writer features are added to the result. If it has a feature
                under its preview's name, such as ``typeWidening-preview``, metadata does not
                require the final name.

        Returns:
            The names, sorted.

        Source: delta-spark, ``Protocol.extractAutomaticallyEnabledFeatures``.

        >>> Protocol.automatically_enabled_features(
        ...     Metadata(configuration={"delta.enableRowTracking": "true"})
        ... )
        ['domainMetadata', 'rowTracking']
        """
        return _native.automatically_enabled_features(metadata, protocol)

    @property
    def features(self) -> list[str]:
        """The names of all features of such a table, implied by versions and listed, in order.

        >>> Protocol(1, 2).features
        ['appendOnly', 'invariants']
        """
        return _native.protocol_features(self)

    def with_feature(self, name: str) -> Protocol:
        """Add a feature, and those that it depends on.

        Args:
            name: The feature; case is ignored.

        Raises:
            InvalidArgumentError: There is no such feature (``protocol.unknown_feature``).

        >>> Protocol(1, 2).with_feature("deletionVectors").writer_features
        ['appendOnly', 'deletionVectors', 'invariants']
        """
        return _native.protocol_with_feature(self, name)

    def without_feature(self, name: str) -> Protocol:
        """Return the protocol that ``DROP FEATURE`` leaves.

        This does not check whether the table still uses the feature.

        Args:
            name: The feature; case is ignored.

        Raises:
            InvalidArgumentError: The feature does not exist (``protocol.unknown_feature``), the
                protocol does not have it (``protocol.feature_absent``), it can never be dropped
                (``protocol.not_removable``), or another feature needs it
                (``protocol.feature_required``).

        >>> Protocol(1, 2).with_feature("domainMetadata").without_feature("domainMetadata")
        Protocol(min_reader_version=1, min_writer_version=2, reader_features=None, writer_features=None)
        """  # noqa: E501
        return _native.protocol_without_feature(self, name)

    def merge(self, *others: Protocol) -> Protocol:
        """Return the weakest protocol with the features of this one and all others.

        Args:
            others: The protocols to add.

        >>> merged = Protocol(1, 4).merge(Protocol(2, 5))
        >>> merged.min_reader_version, merged.min_writer_version
        (2, 5)
        """
        return functools.reduce(_native.protocol_merge, others, self)

    def upgrade_for(self, metadata: Metadata) -> Protocol:
        """Return the protocol that a table with this protocol needs for new metadata.

        Args:
            metadata: Only its schema and properties matter, including ``delta.feature.<name>``.

        Returns:
            This protocol, if it is sufficient, or an upgraded one.

        Raises:
            InvalidArgumentError: The properties contain ``delta.minReaderVersion`` or
                ``delta.minWriterVersion`` (``protocol.version_property``) or a feature that does
                not exist (``protocol.unknown_feature``); or a feature is needed that must first be
                added to existing tables by name (``protocol.manual_enablement``).

        Source: delta-spark, ``Protocol.checkProtocolRequirements``.

        >>> metadata = Metadata(configuration={"delta.enableChangeDataFeed": "true"})
        >>> Protocol(1, 2).upgrade_for(metadata).writer_features
        ['appendOnly', 'changeDataFeed', 'invariants']
        """
        return _native.protocol_upgrade_for(self, metadata)

    def can_upgrade_to(self, new: Protocol) -> bool:
        """Return whether the new protocol has every feature of this one.

        Args:
            new: The other protocol.

        >>> Protocol(1, 2).can_upgrade_to(Protocol(1, 4)), Protocol(2, 5).can_upgrade_to(Protocol(1, 2))
        (True, False)
        """  # noqa: E501
        return _native.protocol_can_upgrade_to(self, new)
