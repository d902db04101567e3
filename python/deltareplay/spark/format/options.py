"""The options of the format ``deltareplay``: a table of all options, and their typed values.

Spark passes options as strings, by names in any case. Python workers import this module, too.
"""

from __future__ import annotations

import enum
import json
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from deltareplay._snapshot.scan import TARGET_SIZE
from deltareplay._table.table import Table
from deltareplay.exceptions import InvalidArgumentError, UnsupportedFeatureError
from deltareplay.spark.catalog import lookup

if TYPE_CHECKING:
    from deltareplay._snapshot.snapshot import Snapshot

#: The option that passes on the session's settings of a write, as JSON.
SESSION = "deltareplay.session"

#: The reason why the name of a table is not enough, in errors.
NO_PATH = "Spark's catalog does not pass the path of a table on to Python data sources"

#: The kinds of values: a version is a number or ``latest``, a size a number with or without a unit.
Kind = Literal["string", "boolean", "number", "version", "size", "names", "timestamp"]


class Use(enum.Flag):
    """The calls that take an option."""

    BATCH = enum.auto()  # spark.read
    CHANGES = enum.auto()  # spark.read with readChangeFeed or changeKind
    STREAM = enum.auto()  # spark.readStream
    WRITE = enum.auto()  # df.write and writeStream
    REPLACE = enum.auto()  # df.write with replaceUsing or replaceOn, which calls ``write``
    READ = BATCH | CHANGES | STREAM


@dataclass(frozen=True)
class Option:
    """An option.

    Attributes:
        name: The name, as documented; ``prefix.<key>`` is every name with the prefix.
        kind: The kind of the value.
        uses: The calls that take it.
        alias_of: The option of which this is an older name.
        listed: Whether errors and the documentation list it.
    """

    name: str
    kind: Kind
    uses: Use
    alias_of: str | None = None
    listed: bool = True


OPTIONS = (
    Option("path", "string", Use.READ | Use.WRITE),
    Option("allowedRoots", "names", Use.READ | Use.WRITE),
    Option("storage.<key>", "string", Use.READ | Use.WRITE),
    Option("filter", "string", Use.READ),
    Option("splitSize", "size", Use.READ),
    Option("readChangeFeed", "boolean", Use.READ),
    Option("readChangeData", "boolean", Use.READ, alias_of="readChangeFeed", listed=False),
    Option("versionAsOf", "number", Use.BATCH | Use.CHANGES),
    Option("timestampAsOf", "timestamp", Use.BATCH | Use.CHANGES),
    Option("withRowId", "boolean", Use.BATCH),
    Option("withFilePath", "boolean", Use.BATCH),
    Option("withRowIndex", "boolean", Use.BATCH),
    Option("startingVersion", "version", Use.CHANGES | Use.STREAM),
    Option("startingTimestamp", "timestamp", Use.CHANGES | Use.STREAM),
    Option("changeKind", "string", Use.CHANGES | Use.STREAM),
    Option("changeKey", "names", Use.CHANGES | Use.STREAM),
    Option("changeDeleted", "string", Use.CHANGES | Use.STREAM),
    Option("endingVersion", "version", Use.CHANGES),
    Option("endingTimestamp", "timestamp", Use.CHANGES),
    Option("maxFilesPerTrigger", "size", Use.STREAM),
    Option("maxBytesPerTrigger", "size", Use.STREAM),
    Option("ignoreDeletes", "boolean", Use.STREAM),
    Option("ignoreChanges", "boolean", Use.STREAM),
    Option("ignoreFileDeletion", "boolean", Use.STREAM),  # an old name of the two above
    Option("skipChangeCommits", "boolean", Use.STREAM),
    Option("failOnDataLoss", "boolean", Use.STREAM),
    Option("excludeRegex", "string", Use.STREAM),
    # without effect: a stream continues with the checkpoint alone when columns have changed
    Option("schemaTrackingLocation", "string", Use.STREAM),
    Option("schemaLocation", "string", Use.STREAM, alias_of="schemaTrackingLocation", listed=False),
    Option("streamingSourceTrackingId", "string", Use.STREAM, listed=False),
    Option("allowSourceColumnDrop", "string", Use.STREAM, listed=False),
    Option("allowSourceColumnRename", "string", Use.STREAM, listed=False),
    Option("allowSourceColumnTypeChange", "string", Use.STREAM, listed=False),
    Option("mergeSchema", "boolean", Use.WRITE),
    Option("overwriteSchema", "boolean", Use.WRITE),
    Option("replaceWhere", "string", Use.WRITE),
    Option("partitionOverwriteMode", "string", Use.WRITE),
    Option("partitionBy", "names", Use.WRITE),
    Option("txnAppId", "string", Use.WRITE),
    Option("txnVersion", "number", Use.WRITE),
    Option("userMetadata", "string", Use.WRITE),
    Option("delta.<property>", "string", Use.WRITE),
    Option("replaceUsing", "names", Use.REPLACE),
    Option("replaceOn", "string", Use.REPLACE),
    Option("targetAlias", "string", Use.REPLACE),
    Option("checkpointLocation", "string", Use.WRITE, listed=False),  # Spark's
    Option("queryName", "string", Use.WRITE, listed=False),  # Spark's
    Option(SESSION, "string", Use.WRITE, listed=False),
)

_BY_NAME = {option.name.lower(): option for option in OPTIONS}

#: What an error writes before the options that only some calls take.
_INTRODUCTIONS = {
    Use.BATCH | Use.CHANGES: "; without a stream also ",
    Use.BATCH: "; without changes or a stream also ",
    Use.CHANGES | Use.STREAM: "; for changes or as a stream also ",
    Use.CHANGES: "; for changes also ",
    Use.STREAM: "; as a stream also ",
    Use.REPLACE: ", ",
}


def option(name: str) -> Option | None:
    """Return the option with a name in any case; None if it is unknown.

    >>> option("STORAGE.region").name
    'storage.<key>'
    """
    lowered = name.lower()
    for prefix, key in (("storage.", "<key>"), ("delta.", "<property>")):
        if lowered.startswith(prefix):
            return _BY_NAME[prefix + key]
    return _BY_NAME.get(lowered)


def parse(options: Mapping[str, str], use: Use, *, strict: bool = True) -> dict[str, Any]:
    """Return the typed values of options, by their names in ``OPTIONS``.

    The values of ``storage.<key>`` are by key, those of ``delta.<property>`` by property.

    Args:
        options: The options from Spark.
        use: The calls that may follow; ``READ`` if the kind of read is not known yet.
        strict: Whether unknown options are an error. They are always ignored if the table is in
            Spark's catalog, because its properties are among them.

    Raises:
        InvalidArgumentError: ``option.path``: there is no path; ``option.unknown``: the call does
            not take an option; ``option.number`` or ``option.boolean``: a value is of another kind.
        UnsupportedFeatureError: ``option.replace``: only the function ``write`` supports that.

    >>> parse({"PATH": "t", "ignoreDeletes": "TRUE", "storage.Region": "x"}, Use.READ)
    {'path': 't', 'ignoreDeletes': True, 'storage.<key>': {'region': 'x'}}
    """
    names = {name.lower(): name for name in options}  # the last of those that differ only in case
    _check_path({name: options[names[name]] for name in names}, use)
    accepted = {name: entry for name in names if (entry := option(name)) and entry.uses & use}
    unknown = sorted(names.keys() - accepted)
    if use is Use.WRITE and replaces_rows(unknown):
        raise UnsupportedFeatureError(
            "replaceUsing and replaceOn are known to df.write in the Python process that called "
            "deltareplay.spark.register, but not to streams and other languages: call "
            "deltareplay.spark.write(df, table, mode='overwrite', replace_using=[...]), or with "
            "replace_on=",
            code="option.replace",
        )
    if unknown and strict and "provider" not in names:
        raise InvalidArgumentError(
            f"{'reading' if use & Use.READ else 'writing'} takes no option {', '.join(unknown)}: "
            f"it takes {_names_of(use)}",
            code="option.unknown",
        )
    values: dict[str, Any] = {}
    for name, entry in accepted.items():
        text = options[names[name]]
        if entry.name.endswith(">"):  # names of properties keep their case
            key = names[name] if entry.name == "delta.<property>" else name.partition(".")[2]
            values.setdefault(entry.name, {})[key] = text
        else:
            value = _VALUES[entry.kind](entry.name, text)
            key = entry.alias_of or entry.name
            values[key] = values.get(key) or value  # set by either name
    if "provider" in names and not values["path"].startswith("/"):
        # the catalog passes a Hadoop path, which is not percent-encoded
        values["path"] = values["path"].replace("%", "%25")
    return values


def replaces_rows(names: Iterable[str]) -> bool:
    """Return whether a write has an option that only the function ``write`` supports."""
    return not {"replaceusing", "replaceon"}.isdisjoint(map(str.lower, names))


def table(values: Mapping[str, Any]) -> Table:
    """Return the Delta table at the path of the options, with their storage options."""
    roots = ",".join(values.get("allowedRoots", ()))
    allowed = lookup.roots_of(roots) if roots else None
    return Table(values["path"], values.get("storage.<key>"), allowed)


def _names_of(use: Use) -> str:
    groups: dict[Use, list[str]] = {}
    for entry in OPTIONS:
        if entry.listed and entry.uses & use:
            groups.setdefault(entry.uses & use, []).append(entry.name)
    return "".join(
        _INTRODUCTIONS.get(uses, "") + ", ".join(names) for uses, names in groups.items()
    )


def _check_path(lowered: Mapping[str, str], use: Use) -> None:
    """Check that there is a path; options of a table in Spark's catalog have a ``provider``.

    The catalog passes a path only when it creates a table, which only ``delta`` supports.
    """
    provider = lowered.get("provider", "").lower()
    if "path" in lowered and (not provider or (provider == "delta" and use & Use.READ)):
        return
    call, function = (
        ("load", "read(spark, name)") if use & Use.READ else ("save", "write(df, name)")
    )
    raise InvalidArgumentError(
        f"use .{call}(path), or deltareplay.spark.{function}, DeltaTable.forName and "
        f"deltareplay.spark.sql for names: {NO_PATH}. Instead of CREATE TABLE, use CREATE "
        "TEMPORARY VIEW name USING deltareplay OPTIONS (path '...')",
        code="option.path",
    )


def _text(_name: str, text: str) -> str:
    return text


def _boolean(name: str, text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise InvalidArgumentError(
            f"the option {name} takes true or false, not {text!r}", code="option.boolean"
        )
    return text.lower() == "true"


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidArgumentError(
            f"the option {name} takes a number, not {text!r}", code="option.number"
        ) from None


def _version(name: str, text: str) -> int | str:
    if text.lower() == "latest":
        return "latest"
    version = _number(name, text)
    if version < 0:
        raise InvalidArgumentError(
            f"the option {name} takes a number of at least 0, not {text!r}", code="option.number"
        )
    return version


_UNITS = {unit: 1 << 10 * power for power, unit in enumerate(("", "k", "m", "g", "t", "p"))}


def _size(name: str, text: str) -> int:
    """Parse a number of bytes or files with a unit of Spark, such as ``10m`` or ``2gb``."""
    parsed = re.fullmatch("([0-9]{1,19}) ?([kmgtp]?)b?", text.strip().lower())
    size = int(parsed[1]) * _UNITS[parsed[2]] if parsed else 0
    if size < 1:
        raise InvalidArgumentError(
            f"the option {name} takes a number of at least 1, such as 10 or 10m, not {text!r}",
            code="option.number",
        )
    return size


def _names(_name: str, text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


_VALUES: dict[Kind, Callable[[str, str], Any]] = {
    "string": _text,
    "boolean": _boolean,
    "number": _number,
    "version": _version,
    "size": _size,
    "names": _names,
    "timestamp": _text,
}

#: Arguments of ``Table.follow``, by the options that set them.
_ROWS = {
    "ignoreChanges": "ignore_changes",
    "ignoreDeletes": "ignore_deletes",
    "skipChangeCommits": "skip_change_commits",
    "failOnDataLoss": "fail_on_data_loss",
    "changeKind": "kind",
    "changeDeleted": "deleted",
    "changeKey": "key",
    "filter": "filter",
}
_LIMITS = {"maxFilesPerTrigger": "max_files_per_batch", "maxBytesPerTrigger": "max_bytes_per_batch"}
_START = {"startingVersion": "starting_version", "startingTimestamp": "starting_timestamp"}

#: Arguments of ``Snapshot.scan``, by the options that set them.
_COLUMNS = {
    "withRowId": "with_row_id",
    "withFilePath": "with_file_path",
    "withRowIndex": "with_row_index",
}


class ReadOptions:
    """The options of a read.

    Attributes:
        values: The typed values, by their names in ``OPTIONS``.
        split_size: The number of bytes of data files per split.
        rows: The rows to return, as arguments of ``Table.follow``.
        gives_changes: Whether the rows are changes.
        has_end: Whether the rows are changes, and the options set their end.
        columns: The columns to add, as arguments of ``Snapshot.scan``.
        limits: The limits of a batch of a stream, as arguments of ``Table.follow``.
        start: The start of a new stream, as arguments of ``Table.follow``.

    >>> ReadOptions({"path": "t", "maxBytesPerTrigger": "10m"}).limits
    {'max_bytes_per_batch': 10485760}
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        """Parse the options from Spark."""
        values = self.values = parse(options, Use.READ)
        self.split_size: int = values.get("splitSize", TARGET_SIZE)
        self.columns = self._arguments(_COLUMNS)
        self.limits = self._arguments(_LIMITS)
        self.start = self._arguments(_START)
        self.rows = self._arguments(_ROWS)
        if values.get("ignoreFileDeletion"):
            self.rows |= {"ignore_changes": True, "ignore_deletes": True}
        if values.get("readChangeFeed"):
            self.rows.setdefault("kind", "full-delta")
        self.gives_changes = "kind" in self.rows
        self.has_end = self.gives_changes and (
            "endingVersion" in values or "endingTimestamp" in values
        )

    def _arguments(self, names: Mapping[str, str]) -> dict[str, Any]:
        values = self.values
        return {argument: values[name] for name, argument in names.items() if name in values}

    def snapshot(self, version: int | None) -> Snapshot:
        """Return this version of the table, or the snapshot that the options select."""
        if version is not None:
            return table(self.values).snapshot(version)
        as_of = self.values.get("versionAsOf"), self.values.get("timestampAsOf")
        return table(self.values).snapshot(*as_of)

    def check(self, *, stream: bool) -> None:
        """Check that the options fit a stream, or else a batch read.

        Raises:
            InvalidArgumentError: ``option.stream`` or ``option.batch``: only another kind of read
                takes an option; ``option.start``: there are two starts or ends, or no start.
        """
        use = Use.STREAM if stream else Use.CHANGES if self.gives_changes else Use.BATCH
        uses = {name: _BY_NAME[name.lower()].uses for name in self.values}
        unsupported = [name for name in uses if not uses[name] & use]
        if unsupported:
            if stream:
                reason = (
                    "a stream does not support that; it begins at startingVersion or "
                    "startingTimestamp"
                )
            elif all(uses[name] & Use.CHANGES for name in unsupported):
                reason = "a batch read supports that only with readChangeFeed = true"
            elif any(uses[name] & Use.BATCH for name in unsupported):
                reason = "a batch read with readChangeFeed = true does not support that"
            else:
                reason = "only spark.readStream supports that"
            raise InvalidArgumentError(
                f"{', '.join(unsupported)}: {reason}",
                code="option.batch" if stream else "option.stream",
            )
        for bound in ("starting", "ending"):
            if self.values.keys() >= {f"{bound}Version", f"{bound}Timestamp"}:
                raise InvalidArgumentError(
                    f"{bound}Version and {bound}Timestamp cannot be combined: pass one of them",
                    code="option.start",
                )
        if use is Use.CHANGES and not self.start:
            raise InvalidArgumentError(
                "readChangeFeed needs a start: pass startingVersion or startingTimestamp",
                code="option.start",
            )

    def change_range(self, newest: int) -> tuple[int | str, int | str]:
        """Return start and end of the changes of a batch read, for ``Table.changes``.

        Args:
            newest: The default end.
        """

        def bound(name: str, default: int) -> int | str:
            version: int | str | None = self.values.get(f"{name}Version")
            if version is None:
                version = self.values.get(f"{name}Timestamp", default)
            elif version == "latest":
                version = newest
            return version

        start = bound("starting", 0)
        # so that a start after the newest version is the error, not an end before the start
        end = max(start, newest) if isinstance(start, int) else newest
        return start, bound("ending", end)

    def excluded(self) -> re.Pattern[str] | None:
        r"""Return the regular expression of the paths that a stream leaves out.

        Raises:
            InvalidArgumentError: ``option.regex``: it is invalid in Python, or may have another
                meaning in Java; ``option.stream``: rows of net changes do not belong to a file.

        >>> options = ReadOptions({"path": "t", "excludeRegex": r"part=\d"})
        >>> options.excluded().search("part=7/x.parquet") is not None
        True
        """
        text = self.values.get("excludeRegex")
        if text is None:
            return None
        if self.rows.get("kind", "full-delta") != "full-delta":
            raise InvalidArgumentError(
                "excludeRegex leaves out files, and net changes do not belong to files: remove "
                "changeKind or excludeRegex",
                code="option.stream",
            )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # for nested sets, which only Java has
                return re.compile(text, re.ASCII)  # Java's classes, such as \d, are ASCII, too
        except (re.error, Warning, OverflowError, RecursionError) as cause:
            raise InvalidArgumentError(
                f"excludeRegex is {text!r}, which is not a valid regular expression in Python: "
                f"{cause}",
                code="option.regex",
            ) from cause


def normalized_mode(mode: str | None) -> str:
    """Return a writer's mode in lower case; None and Spark's synonyms of ``error`` give ``error``.

    >>> normalized_mode("ErrorIfExists"), normalized_mode(None), normalized_mode("Append")
    ('error', 'error', 'append')
    """
    name = (mode or "error").lower()
    return "error" if name in ("errorifexists", "default") else name


@dataclass(frozen=True)
class WriteOptions:
    """The options of a write.

    Attributes:
        partition_by: Partition columns of a new table.
        merge_schema: Whether columns that the table lacks are added.
        overwrite_schema: Whether the columns of the rows replace those of the table.
        properties: Properties of a new table.
        default_properties: The session's defaults for these, by the names of its settings.
        replace_where: The condition of the rows to replace.
        dynamic: Whether the partitions of the new rows are replaced.
        txn_app_id: The application of an idempotent write.
        txn_version: The version of an idempotent write.
        user_metadata: Any text for the commit.
        time_zone: The time zone of the session; UTC if it is unknown.
        save_mode: The mode, as the history has it.
    """

    table: Table
    partition_by: tuple[str, ...] | None
    merge_schema: bool
    overwrite_schema: bool
    properties: dict[str, str]
    default_properties: dict[str, str]
    replace_where: str | None
    dynamic: bool
    txn_app_id: str | None
    txn_version: int | None
    user_metadata: str | None
    time_zone: str
    save_mode: str

    @property
    def txn(self) -> tuple[str, int] | None:
        """Application and version, if both are set."""
        if self.txn_app_id is None or self.txn_version is None:
            return None
        return self.txn_app_id, self.txn_version

    @classmethod
    def of(
        cls, values: Mapping[str, Any], *, overwrite: bool, stream: bool = False
    ) -> WriteOptions:
        """Return the options of a write from typed values.

        Args:
            values: The options.
            overwrite: Whether existing rows are replaced.
            stream: Whether the rows come from a stream, which numbers its own batches.

        Raises:
            InvalidArgumentError: ``option.write``: options contradict each other or the mode.

        >>> values = parse({"path": "t", "partitionBy": "a, b"}, Use.WRITE)
        >>> WriteOptions.of(values, overwrite=False).partition_by
        ('a', 'b')
        """
        mode = values.get("partitionOverwriteMode", "static").lower()
        if mode not in ("static", "dynamic"):
            raise InvalidArgumentError(
                f"partitionOverwriteMode is {mode!r}: pass static or dynamic", code="option.write"
            )
        where = values.get("replaceWhere")
        if where is not None and (mode == "dynamic" or not overwrite):
            raise InvalidArgumentError(
                "replaceWhere requires .mode('overwrite'), and cannot be combined with "
                "partitionOverwriteMode = dynamic",
                code="option.write",
            )
        overwrite_schema = values.get("overwriteSchema", False)
        if overwrite_schema and (mode == "dynamic" or where is not None or not overwrite):
            raise InvalidArgumentError(
                "overwriteSchema replaces all rows and columns, so it requires "
                ".mode('overwrite') without replaceWhere or partitionOverwriteMode = dynamic",
                code="option.write",
            )
        application, version = values.get("txnAppId"), values.get("txnVersion")
        lacks_version = application is not None and version is None and not stream
        if lacks_version or (application is None and version is not None):
            raise InvalidArgumentError(
                "txnVersion counts the writes of txnAppId: pass both; for a stream, only txnAppId",
                code="option.write",
            )
        session: dict[str, Any] = json.loads(values.get(SESSION, "{}"))
        if "partitionOverwriteMode" not in values and where is None:
            mode = session.get("partitionOverwriteMode", "static")
        if application is None:
            application, version = session.get("txn", (None, None))
        partition_by = values.get("partitionBy", ("",))
        if partition_by == ("",):
            partition_by = session.get("partitionBy")
        return cls(
            table=table(values),
            partition_by=None if partition_by is None else tuple(partition_by),
            merge_schema=values.get("mergeSchema", session.get("mergeSchema", False)),
            overwrite_schema=overwrite_schema,
            properties=values.get("delta.<property>", {}),
            default_properties=session.get("properties", {}),
            replace_where=where,
            dynamic=overwrite and mode == "dynamic",
            txn_app_id=application,
            txn_version=version,
            user_metadata=values.get("userMetadata", session.get("userMetadata")),
            time_zone=session.get("timeZone", "UTC"),
            save_mode=session.get("saveMode") or ("Overwrite" if overwrite else "Append"),
        )
