"""The methods of ``Table`` that change its definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from deltareplay import _native
from deltareplay._arrow.row_sources import schema_string
from deltareplay._snapshot.table_location import TableLocation
from deltareplay._support.arguments import checked_methods, names
from deltareplay.exceptions import InvalidArgumentError


@checked_methods
class Altering(TableLocation):
    """Methods of ``Table`` that change its definition; each returns the new version."""

    __slots__ = ()

    def set_properties(self, properties: Mapping[str, str]) -> int:
        """Set table properties; the protocol is upgraded if they require it.

        Args:
            properties: Values by name. Names that begin with ``delta.`` belong to Delta Lake;
                ``delta.feature.<name>`` adds a table feature. ``comment`` is the comment of the
                table, as in SQL.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: A property (``properties.unknown``) or a feature
                (``protocol.unknown_feature``) does not exist; a value is invalid
                (``properties.value``) or contradicts another property
                (``properties.combination``); or an existing table cannot change to it
                (``alter.column_mapping``, ``alter.constraint``, ``protocol.manual_enablement``).
            UnsupportedFeatureError: This release cannot write a required feature
                (``protocol.writer_features``).

        >>> table.set_properties({"delta.appendOnly": "true"})
        3
        """
        return _committed(self._native.set_properties(dict(properties)))

    def unset_properties(self, keys: Sequence[str], *, if_exists: bool = False) -> int:
        """Remove table properties.

        Args:
            keys: Their names.
            if_exists: Whether to ignore properties that are not set.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: A property is not set (``alter.property_absent``), enables column
                mapping (``alter.column_mapping``), or is maintained by writers
                (``properties.internal``).

        >>> table.unset_properties(["delta.appendOnly"], if_exists=True)
        3
        """
        return _committed(self._native.unset_properties(list(keys), if_exists))

    def add_columns(self, columns: pa.Schema, *, parent: str | Sequence[str] = ()) -> int:
        """Append columns to the schema; they are null in existing rows.

        Args:
            columns: Names and types; all must be nullable.
            parent: A struct to which the columns are added as fields: a path as in
                ``widen_column``.

        Returns:
            The new version.

        Raises:
            TypeError: ``columns`` is not an Arrow schema.
            InvalidArgumentError: A column is not nullable, is generated or has an invariant, its
                name exists, or the parent is not a struct (``alter.column``); its name
                (``transaction.column_name``) or its type (``schema.arrow_type``) is not supported;
                or its type needs a feature that must first be added by name
                (``protocol.manual_enablement``).

        >>> import pyarrow as pa
        >>> table.add_columns(pa.schema([("place", pa.struct([("city", pa.string())]))]))
        3
        >>> table.add_columns(pa.schema([("street", pa.string())]), parent="place")
        4
        """
        added = (names("parent", parent), schema_string(columns), None)  # None: at the end
        return _committed(self._native.add_columns([added]))

    def rename_column(self, name: str | Sequence[str], new_name: str) -> int:
        """Rename a column, or a field of one, without rewriting files.

        Args:
            name: The column; or a path to a field of one, as in ``widen_column``.
            new_name: Its new name, without the path.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: There is no such column, another has the new name, or a constraint
                or a generated column uses the column (``alter.column``); the table has no column
                mapping (``alter.column_mapping``).

        >>> version = table.set_properties({"delta.columnMapping.mode": "name"})
        >>> table.rename_column("id", "number")
        4
        """
        return _committed(self._native.rename_column(names("name", name), new_name))

    def drop_column(self, name: str | Sequence[str]) -> int:
        """Drop a column, or a field of one, without rewriting files.

        Args:
            name: The column; or a path to a field of one, as in ``widen_column``.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: As ``rename_column``; the table is partitioned by the column; no
                other column would be left in the files, or no other field in its struct
                (``alter.column``); or the table is clustered by it (``alter.clustering``).

        >>> import pyarrow as pa
        >>> version = table.set_properties({"delta.columnMapping.mode": "name"})
        >>> version = table.add_columns(pa.schema([("note", pa.string())]))
        >>> table.drop_column("note")
        5
        """
        return _committed(self._native.drop_columns([names("name", name)]))

    def set_comment(self, comment: str | None, column: str | Sequence[str] | None = None) -> int:
        """Set the comment of the table, or of one of its columns.

        Args:
            comment: The text; None removes it.
            column: The column, or a path to a field of one, as in ``widen_column``; None means the
                table.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: There is no such column (``alter.column``).

        >>> table.set_comment("one row per event")
        3
        """
        if column is None:
            return _committed(self._native.set_description(comment))
        return self._change(names("column", column), "comment", comment)

    def add_feature(self, name: str) -> int:
        """Add a table feature, and those that it depends on.

        Args:
            name: The feature; case is ignored.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: There is no such feature (``protocol.unknown_feature``).
            UnsupportedFeatureError: This release cannot write the feature
                (``protocol.writer_features``).

        >>> table.add_feature("domainMetadata")
        3
        """
        return _committed(self._native.add_feature(name))

    def widen_column(self, name: str | Sequence[str], data_type: pa.DataType) -> int:
        """Widen the type of a column, or of a field of one, without rewriting files.

        Args:
            name: The column; or a path as a sequence of names: fields of structs, ``element`` of
                arrays, ``key`` and ``value`` of maps. A name with dots is a path, too, unless a
                column has exactly that name.
            data_type: The new type; the table needs ``delta.enableTypeWidening``, unless the column
                is void, which takes any type but structs, arrays, maps and intervals.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: There is no such column, it is an identity column, or a constraint
                or a generated column uses it (``alter.column``); its type cannot be widened to this
                one, or type widening is off (``alter.type_widening``).

        >>> import pyarrow as pa
        >>> version = table.add_columns(pa.schema([("amount", pa.int32())]))
        >>> version = table.set_properties({"delta.enableTypeWidening": "true"})
        >>> table.widen_column("amount", pa.int64())
        5
        """
        try:
            schema = pa.schema([("type", data_type)])
        except (TypeError, ValueError) as error:  # ValueError: not the name of an Arrow type
            raise InvalidArgumentError(
                f"data_type needs to be a type of Arrow: {error}", code="argument.type"
            ) from error
        new_type = _native.schema_string(schema)
        return self._change(names("name", name), "type", new_type)

    def set_default(self, name: str | Sequence[str], expression: str | None) -> int:
        """Set the default of a column, for rows that writers add without it.

        Existing rows keep their values.

        Args:
            name: The column; or a path to a field of one, as in ``widen_column``.
            expression: An SQL expression without columns, of the column's type; None removes the
                default.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: There is no such column, or it is an identity column
                (``alter.column``); the table lacks the feature ``allowColumnDefaults``, the
                expression cannot be evaluated, or its value does not fit
                (``alter.column_default``).

        >>> version = table.add_feature("allowColumnDefaults")
        >>> table.set_default("id", "10 + 1")
        4
        """
        return self._change(names("name", name), "default", expression)

    def drop_not_null(self, name: str | Sequence[str]) -> int:
        """Allow a column, or a field of one, to be null.

        Args:
            name: The column; or a path to a field of one, as in ``widen_column``.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: There is no such column, or it is an identity column
                (``alter.column``).

        >>> table.drop_not_null("id")
        3
        """
        return self._change(names("name", name), "drop not null", None)

    def move_column(self, name: str | Sequence[str], *, after: str | None) -> int:
        """Move a column to another position in the schema, without rewriting files.

        Args:
            name: The column; or a path to a field of one, as in ``widen_column``: it moves within
                its struct.
            after: The column, or the field of the same struct, that it follows; None makes it the
                first.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: One of the columns does not exist (``alter.column``).

        >>> import pyarrow as pa
        >>> version = table.add_columns(pa.schema([("note", pa.string())]))
        >>> table.move_column("note", after=None)
        4
        >>> table.move_column("note", after="id")
        5
        """
        return self._change(names("name", name), "first" if after is None else "after", after)

    def add_constraint(self, name: str, expression: str) -> int:
        """Add a CHECK constraint, after checking all existing rows.

        Args:
            name: Its name; case is ignored.
            expression: An SQL condition that must be true for every row, as for a filter in
                ``Snapshot.scan``.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: The name exists (``alter.constraint``), the expression is not a
                condition that can be evaluated (``filter.column``, ``filter.syntax``,
                ``formula.type``, ``formula.unsupported``), or a row breaks it
                (``alter.constraint_broken``): the message has the first such row.
            CommitConflictError: Rows were added in the meantime, which were not checked
                (``conflict.append``).

        >>> table.add_constraint("id_is_positive", "id > 0")
        3
        """
        return _committed(self._native.add_constraint(name, expression))

    def drop_constraint(self, name: str, *, if_exists: bool = False) -> int:
        """Drop a CHECK constraint.

        Args:
            name: Its name; case is ignored.
            if_exists: Whether to do nothing if there is no such constraint.

        Returns:
            The new version, or the current version if nothing changed.

        Raises:
            InvalidArgumentError: There is no such constraint (``alter.constraint``).

        >>> version = table.add_constraint("id_is_positive", "id > 0")
        >>> table.drop_constraint("id_is_positive")
        4
        """
        return _committed(self._native.drop_constraint(name, if_exists))

    def cluster_by(self, columns: Sequence[str]) -> int:
        """Set the columns by which writers cluster rows, without rewriting files.

        Args:
            columns: At most four, of types with an order and with statistics; fields of structs
                with dots. With an empty list, rows are no longer clustered.

        Returns:
            The new version, or the current version if nothing changed.

        Raises:
            InvalidArgumentError: The table is partitioned, or a column does not qualify
                (``alter.clustering``); or there is no such column (``alter.column``).

        >>> import deltareplay as dr
        >>> unpartitioned = dr.create_table("memory://clustered", table.snapshot().schema)
        >>> unpartitioned.cluster_by(["id"])
        1
        """
        return _committed(self._native.cluster_by(list(columns)))

    def drop_feature(self, name: str, *, truncate_history: bool = False) -> int:
        """Drop a table feature, so that clients without it can use the table.

        First, the traces of the feature in the newest version are removed, in separate commits that
        change no row: files with deletion vectors, narrower types or mapped names are rewritten;
        row ids are removed from the log. If the feature concerns readers, older versions still need
        it. Three empty commits with checkpoints then separate them from the new version, and the
        table gets the feature ``checkpointProtection``, which keeps these checkpoints.

        With ``truncate_history`` the older versions are deleted instead, and no protection is
        needed. This usually takes two calls. The first writes a checkpoint after the traces are
        gone. Once the checkpoint is older than
        ``delta.dropFeatureTruncateHistory.retentionDuration`` (24 hours by default), the second
        call deletes the log before the checkpoint and drops the feature.

        Args:
            name: The feature: ``catalogManaged``, ``checkConstraints``, ``checkpointProtection``,
                ``columnMapping``, ``deletionVectors``, ``domainMetadata``, ``inCommitTimestamp``,
                ``materializePartitionColumns``, ``rowTracking``, ``typeWidening``,
                ``v2Checkpoint`` or ``vacuumProtocolCheck``.
            truncate_history: Delete older versions instead of protecting them: for features that
                concern readers, and the only way for ``checkpointProtection``.

        Returns:
            The new version.

        Raises:
            InvalidArgumentError: As ``Protocol.without_feature``; the table still uses the feature
                (``alter.feature_in_use``); ``truncate_history`` does not fit the feature
                (``alter.truncate_history``); a column has a name that needs mapping
                (``transaction.column_name``); or versions that need the feature are too young to be
                deleted (``alter.feature_in_history``: the message has the time to call again).
            UnsupportedFeatureError: This release cannot drop the feature (``alter.drop_feature``).
            CommitConflictError: Another writer changed rows in the meantime. What was done so far
                stays; call the method again.

        >>> version = table.add_feature("domainMetadata")
        >>> table.drop_feature("domainMetadata")
        4
        """
        return _committed(self._native.drop_feature(name, truncate_history))

    def _change(self, path: list[str], kind: str, value: str | None) -> int:
        return _committed(self._native.change_columns([(path, [(kind, value)])]))


def _committed(version: int | None) -> int:
    """Return the version of a commit; only a write with ``txn`` may have none."""
    assert version is not None
    return version
