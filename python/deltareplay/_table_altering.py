"""What changes the definition of a table; ``Table`` has these methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from deltareplay import _native
from deltareplay._arguments import checked_methods, names
from deltareplay._row_sources import schema_string


@checked_methods
class TableAltering:
    """Each method commits one version, and gives its number."""

    __slots__ = ()

    if TYPE_CHECKING:
        _native: _native.Table

    def set_properties(self, properties: Mapping[str, str]) -> int:
        """Set table properties; the protocol is upgraded where they call for it.

        Args:
            properties: Texts by name. Names that begin with ``delta.`` are those of Delta Lake;
                ``delta.feature.<name>`` adds a table feature.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: A property that does not exist, or does not take the value.
            UnsupportedFeatureError: A feature is needed that this release cannot write.

        >>> table.set_properties({"delta.appendOnly": "true"})
        3
        """
        return _committed(self._native.set_properties(dict(properties)))

    def unset_properties(self, keys: Sequence[str], *, if_exists: bool = False) -> int:
        """Take table properties away.

        Args:
            keys: Their names.
            if_exists: Passes over those that are not set.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: A property is not set.

        >>> table.unset_properties(["delta.appendOnly"], if_exists=True)
        3
        """
        return _committed(self._native.unset_properties(list(keys), if_exists))

    def add_columns(self, columns: pa.Schema, *, parent: str | Sequence[str] = ()) -> int:
        """Add columns behind the others; rows that are there have null in them.

        Args:
            columns: Names and types; all must be nullable.
            parent: A struct whose fields they become, rather than columns of their own: a path as
                ``widen_column`` takes it.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: A column may not be null, has a type that tables do not have, or
                the name of one that is there; the parent is no struct.

        >>> import pyarrow as pa
        >>> table.add_columns(pa.schema([("place", pa.struct([("city", pa.string())]))]))
        3
        >>> table.add_columns(pa.schema([("street", pa.string())]), parent="place")
        4
        """
        return _committed(self._native.add_columns(names("parent", parent), schema_string(columns)))

    def rename_column(self, name: str | Sequence[str], new_name: str) -> int:
        """Give a column, or a part of one, another name; no file is touched.

        Args:
            name: The column; or a path to a part of one, as ``widen_column`` takes it.
            new_name: Its new name, without the path.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: There is no such column, or another of the new name; the table
                does not map columns, or a constraint speaks of the column.

        >>> version = table.set_properties({"delta.columnMapping.mode": "name"})
        >>> table.rename_column("id", "number")
        4
        """
        return _committed(self._native.rename_column(names("name", name), new_name))

    def drop_column(self, name: str | Sequence[str]) -> int:
        """Take a column, or a part of one, away; no file is touched.

        Args:
            name: The column; or a path to a part of one, as ``widen_column`` takes it.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: As ``rename_column``; or the table is partitioned or clustered by
                it, or it is the last one, of the table or of its struct.

        >>> import pyarrow as pa
        >>> version = table.set_properties({"delta.columnMapping.mode": "name"})
        >>> version = table.add_columns(pa.schema([("note", pa.string())]))
        >>> table.drop_column("note")
        5
        """
        return _committed(self._native.drop_column(names("name", name)))

    def set_comment(self, comment: str | None, column: str | Sequence[str] | None = None) -> int:
        """Say something of the table, or of one of its columns.

        Args:
            comment: The text; None takes it away.
            column: The column, or a path to a part of one, as ``widen_column`` takes it; None means
                the table's description.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: There is no such column.

        >>> table.set_comment("one row an event")
        3
        """
        return _committed(
            self._native.set_comment(comment, None if column is None else names("column", column))
        )

    def add_feature(self, name: str) -> int:
        """Add a table feature, and those that it leans on.

        Args:
            name: The feature; upper and lower case do not matter.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: There is no such feature.
            UnsupportedFeatureError: This release cannot write it.

        >>> table.add_feature("domainMetadata")
        3
        """
        return _committed(self._native.add_feature(name))

    def widen_column(self, name: str | Sequence[str], data_type: pa.DataType) -> int:
        """Give a column, or a part of one, a wider type; no file is touched.

        Args:
            name: The column; a sequence of names leads into structs by the names of their fields,
                into arrays by ``element``, into maps by ``key`` and ``value``. So do the dots of
                one name, unless there is a column of just that name.
            data_type: The new type; the table needs ``delta.enableTypeWidening``.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: There is no such column, its type is not widened to this one, the
                table does not widen types, or a constraint speaks of the column.

        >>> import pyarrow as pa
        >>> version = table.add_columns(pa.schema([("amount", pa.int32())]))
        >>> version = table.set_properties({"delta.enableTypeWidening": "true"})
        >>> table.widen_column("amount", pa.int64())
        5
        """
        wanted = _native.schema_string(pa.schema([("type", data_type)]))
        return _committed(self._native.widen_column(names("name", name), wanted))

    def add_constraint(self, name: str, expression: str) -> int:
        """Add a CHECK constraint, after a look at all rows that are there.

        Args:
            name: Its name; upper and lower case do not matter.
            expression: SQL that is to be true of every row, as ``Snapshot.scan`` takes it for a
                filter.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: The name is taken, the expression cannot be evaluated, or a row
                breaks it: the first one is shown.
            CommitConflictError: Rows were added meanwhile, and nobody has looked at them.

        >>> table.add_constraint("id_is_positive", "id > 0")
        3
        """
        return _committed(self._native.add_constraint(name, expression))

    def drop_constraint(self, name: str, *, if_exists: bool = False) -> int:
        """Take a CHECK constraint away.

        Args:
            name: Its name; upper and lower case do not matter.
            if_exists: Do nothing where there is none, rather than fail.

        Returns:
            The new version; the present one where there was nothing to do.

        Raises:
            InvalidArgumentError: There is no such constraint.

        >>> version = table.add_constraint("id_is_positive", "id > 0")
        >>> table.drop_constraint("id_is_positive")
        4
        """
        return _committed(self._native.drop_constraint(name, if_exists))

    def cluster_by(self, columns: Sequence[str]) -> int:
        """Name the columns by which writers are to cluster rows; no file is touched.

        Args:
            columns: At most four, of types with an order and with statistics; parts of structs by
                dots. An empty list: rows are no longer clustered.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: The table is partitioned, or a column does not qualify.

        >>> import deltareplay as dr
        >>> unpartitioned = dr.create_table("memory://clustered", table.snapshot().schema)
        >>> unpartitioned.cluster_by(["id"])
        1
        """
        return _committed(self._native.cluster_by(list(columns)))

    def drop_feature(self, name: str, *, truncate_history: bool = False) -> int:
        """Take a table feature away, so that clients without it can use the table.

        What the feature left in the newest version goes first, in commits of their own that change
        no row: files with deletion vectors, with narrower types or with mapped names are written
        anew; row ids are taken from the log. Where readers have to know the feature, older versions
        still need it: three empty commits with checkpoints keep others away from them, and the
        table gets the feature ``checkpointProtection``, which keeps these checkpoints.

        With ``truncate_history`` the older versions go instead, and no protection is needed. It
        takes two calls: the first puts a checkpoint behind what the feature left; once that is
        older than ``delta.dropFeatureTruncateHistory.retentionDuration`` (24 hours unless set),
        the second deletes the log before it, and drops the feature.

        Args:
            name: The feature: ``checkConstraints``, ``checkpointProtection``, ``columnMapping``,
                ``deletionVectors``, ``domainMetadata``, ``inCommitTimestamp``,
                ``materializePartitionColumns``, ``rowTracking``, ``typeWidening``,
                ``v2Checkpoint`` or ``vacuumProtocolCheck``.
            truncate_history: Delete older versions rather than protect them: for features that
                readers have to know, and the only way for ``checkpointProtection``.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: The table has no such feature, still uses it, or has another that
                leans on it; a column has a name that needs mapping; versions that need it are too
                young to be deleted (``alter.feature_in_history``: the message tells when to call
                again).
            UnsupportedFeatureError: No table of this release can lose the feature.
            CommitConflictError: Another writer changed rows meanwhile. What was done so far stays;
                call it again.

        >>> version = table.add_feature("domainMetadata")
        >>> table.drop_feature("domainMetadata")
        4
        """
        return _committed(self._native.drop_feature(name, truncate_history))


def _committed(version: int | None) -> int:
    """Only idempotent writes can have been committed before."""
    assert version is not None
    return version
