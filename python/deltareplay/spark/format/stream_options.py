"""Interpretation of the options of streams; runs in Python workers."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.format.option_values import number

#: Options by name, with the arguments of ``Table.follow``.
_SWITCHES = {
    "ignorechanges": "ignore_changes",
    "ignoredeletes": "ignore_deletes",
    "skipchangecommits": "skip_change_commits",
    "failondataloss": "fail_on_data_loss",
    "readchangefeed": "read_change_feed",
    "readchangedata": "read_change_feed",
}
#: delta-spark's older name of both ``ignoreDeletes`` and ``ignoreChanges``.
_OLD_IGNORES = "ignorefiledeletion"

#: The regular expression of the files that a stream leaves out, by their paths in the log.
_EXCLUDES = "excluderegex"

_LIMITS = {
    "maxfilespertrigger": ("maxFilesPerTrigger", "max_files_per_batch"),
    "maxbytespertrigger": ("maxBytesPerTrigger", "max_bytes_per_batch"),
}
_START = {"startingversion", "startingtimestamp"}
_END = {"endingversion", "endingtimestamp"}
_CHANGES = {"changekind", "changekey", "changedeleted"}

#: Options of delta-spark that change nothing: a stream continues with the checkpoint alone when
#: columns have changed.
_WITHOUT_EFFECT = {"schematrackinglocation", "schemalocation"}

#: All of them, in lower case.
KNOWN = frozenset(
    {_OLD_IGNORES, _EXCLUDES, *_SWITCHES, *_LIMITS, *_START, *_END, *_CHANGES, *_WITHOUT_EFFECT}
)

_FEED = {"readchangefeed", "readchangedata"}

_ONLY_BATCHES = {
    "versionasof",
    "timestampasof",
    "withrowid",
    "withfilepath",
    "withrowindex",
    *_END,
}

_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def check_batch(options: Mapping[str, str]) -> None:
    """Check the options of a batch read: no options of streams, and a valid range of changes.

    Raises:
        InvalidArgumentError: An option is only for streams or changes; or changes have no start, or
            two.
    """
    known = {name.lower() for name in options} & KNOWN
    changes = gives_changes(options)
    taken = _START | _END | _CHANGES | _FEED if changes else _FEED
    refused = sorted(known - taken)
    if refused:
        of_changes = not changes and set(refused) <= _START | _END | _CHANGES
        raise InvalidArgumentError(
            f"{', '.join(refused)}: "
            + (
                "a batch read takes that only with readChangeFeed = true"
                if of_changes
                else "only spark.readStream supports that"
            ),
            code="option.stream",
        )
    for pair, what in ((_START, "begin"), (_END, "end")):
        if known >= pair:
            raise InvalidArgumentError(
                f"changes {what} at a version or a timestamp: pass one of them",
                code="option.start",
            )
    if changes and not known & _START:
        raise InvalidArgumentError(
            "readChangeFeed needs a start: pass startingVersion or startingTimestamp",
            code="option.start",
        )


def check_stream(options: Mapping[str, str]) -> None:
    """Check the options of a stream: no options of batch reads, and at most one start.

    Raises:
        InvalidArgumentError: An option is only for batch reads, or there are two starts.
    """
    batch_options = sorted(name for name in options if name.lower() in _ONLY_BATCHES)
    if batch_options:
        raise InvalidArgumentError(
            f"{', '.join(batch_options)}: a stream does not take that; it starts where "
            "startingVersion or startingTimestamp say",
            code="option.batch",
        )
    if {name.lower() for name in options} >= _START:
        raise InvalidArgumentError(
            "startingVersion and startingTimestamp cannot be combined: pass one of them",
            code="option.start",
        )


def gives_changes(options: Mapping[str, str]) -> bool:
    """Return whether the rows are changes."""
    return "kind" in follow_arguments(options)


def follow_arguments(options: Mapping[str, str]) -> dict[str, Any]:
    """Convert the options that select rows to arguments of ``Table.follow``."""
    lowered = _lower(options)
    arguments: dict[str, Any] = {
        name: lowered[option].lower() == "true"
        for option, name in _SWITCHES.items()
        if option in lowered
    }
    if lowered.get(_OLD_IGNORES, "").lower() == "true":
        arguments |= {"ignore_changes": True, "ignore_deletes": True}
    feed = arguments.pop("read_change_feed", False)
    if "changekind" in lowered or feed:
        arguments["kind"] = lowered.get("changekind", "full-delta")
    if "changedeleted" in lowered:
        arguments["deleted"] = lowered["changedeleted"]
    if "changekey" in lowered:
        arguments["key"] = [name.strip() for name in lowered["changekey"].split(",")]
    if "filter" in lowered:
        arguments["filter"] = lowered["filter"]
    return arguments


def excluded(options: Mapping[str, str]) -> re.Pattern[str] | None:
    r"""Return the regular expression of the paths that a stream leaves out.

    Raises:
        InvalidArgumentError: ``option.regex``: it is invalid in Python, or may have another meaning
            in Java; ``option.stream``: rows of net changes do not belong to a file.

    >>> excluded({"excludeRegex": r"part=\d"}).search("part=7/x.parquet") is not None
    True
    """
    text = _lower(options).get(_EXCLUDES)
    if text is None:
        return None
    if follow_arguments(options).get("kind", "full-delta") != "full-delta":
        raise InvalidArgumentError(
            "excludeRegex leaves out files, and net changes do not belong to files: leave "
            "changeKind or excludeRegex out",
            code="option.stream",
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of sets in sets, which Java has
            return re.compile(text, re.ASCII)  # as Java, whose classes have ASCII alone
    except (re.error, Warning) as cause:
        raise InvalidArgumentError(
            f"excludeRegex is {text!r}, which is not a valid regular expression in Python: {cause}",
            code="option.regex",
        ) from cause


def has_end(options: Mapping[str, str]) -> bool:
    """Return whether the options set the end of a range of changes."""
    return gives_changes(options) and not _END.isdisjoint(_lower(options))


def change_range(options: Mapping[str, str], newest: int) -> tuple[int | str, int | str]:
    """Return start and end of the changes of a batch read, for ``Table.changes``.

    Args:
        options: The options from Spark.
        newest: The default end.

    Raises:
        InvalidArgumentError: A version is not a number.
    """
    lowered = _lower(options)
    bounds: list[int | str] = []
    for name, default in (("starting", 0), ("ending", newest)):
        version = lowered.get(f"{name}version")
        if version is not None:
            bounds.append(
                newest if version.lower() == "latest" else number(f"{name}Version", version)
            )
        else:
            bounds.append(lowered.get(f"{name}timestamp", default))
    return bounds[0], bounds[1]


def limits(options: Mapping[str, str]) -> dict[str, Any]:
    """Return the limits of a batch, as arguments of ``Table.follow``.

    Raises:
        InvalidArgumentError: A limit is not a number.

    >>> limits({"maxBytesPerTrigger": "10m"})
    {'max_bytes_per_batch': 10485760}
    """
    lowered = _lower(options)
    return {
        argument: _size(name, lowered[option])
        for option, (name, argument) in _LIMITS.items()
        if option in lowered
    }


def start(options: Mapping[str, str]) -> dict[str, Any]:
    """Return the start of a new stream, as arguments of ``Table.follow``.

    Raises:
        InvalidArgumentError: The version is not a number.
    """
    lowered = _lower(options)
    if "startingtimestamp" in lowered:
        return {"starting_timestamp": lowered["startingtimestamp"]}
    version = lowered.get("startingversion")
    if version is None or version.lower() == "latest":
        return {} if version is None else {"starting_version": "latest"}
    return {"starting_version": number("startingVersion", version)}


def _lower(options: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in options.items()}


def _size(name: str, text: str) -> int:
    """Parse a number of bytes or files with a unit of Spark, such as ``10m`` or ``2gb``."""
    digits = text.strip().lower().removesuffix("b")
    unit = _UNITS.get(digits[-1:], 0)
    size = number(name, digits[:-1] if unit else digits) * (unit or 1)
    if size < 1:
        raise InvalidArgumentError(
            f"the option {name} must be at least 1, not {text!r}", code="option.number"
        )
    return size
