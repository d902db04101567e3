"""What the options of a stream mean; runs in Python workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.option_values import number

#: By name, what ``Table.follow`` calls them.
_SWITCHES = {
    "ignorechanges": "ignore_changes",
    "ignoredeletes": "ignore_deletes",
    "skipchangecommits": "skip_change_commits",
    "readchangefeed": "read_change_feed",
    "readchangedata": "read_change_feed",
}
_LIMITS = {
    "maxfilespertrigger": ("maxFilesPerTrigger", "max_files_per_batch"),
    "maxbytespertrigger": ("maxBytesPerTrigger", "max_bytes_per_batch"),
}
_START = {"startingversion", "startingtimestamp"}
_CHANGES = {"changekind", "changekey", "changedeleted"}

#: All of them, in lower case.
KNOWN = frozenset({*_SWITCHES, *_LIMITS, *_START, *_CHANGES})

_ONLY_BATCHES = {"versionasof", "timestampasof", "withrowid", "withfilepath", "withrowindex"}

_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def check_batch(options: Mapping[str, str]) -> None:
    """Refuses what only streams take.

    Raises:
        InvalidArgumentError: An option of streams.
    """
    given = sorted(name for name in options if name.lower() in KNOWN)
    if given:
        raise InvalidArgumentError(
            f"{', '.join(given)}: only spark.readStream takes that; for changes between two "
            "versions there is deltareplay.spark._changes",
            code="option.stream",
        )


def check_stream(options: Mapping[str, str]) -> None:
    """Refuses what only batches take.

    Raises:
        InvalidArgumentError: An option of batches, or two starts.
    """
    given = sorted(name for name in options if name.lower() in _ONLY_BATCHES)
    if given:
        raise InvalidArgumentError(
            f"{', '.join(given)}: a stream does not take that; it begins where startingVersion or "
            "startingTimestamp say",
            code="option.batch",
        )
    if {name.lower() for name in options} >= _START:
        raise InvalidArgumentError(
            "startingVersion and startingTimestamp are two ways to say where a stream begins: "
            "pass one of them",
            code="option.start",
        )


def gives_changes(options: Mapping[str, str]) -> bool:
    """Whether rows tell what happened to them."""
    return "kind" in follow_arguments(options)


def follow_arguments(options: Mapping[str, str]) -> dict[str, Any]:
    """What of the options says which rows are given, as ``Table.follow`` takes it."""
    given = {name.lower(): value for name, value in options.items()}
    found: dict[str, Any] = {
        name: True for one, name in _SWITCHES.items() if given.get(one, "").lower() == "true"
    }
    feed = found.pop("read_change_feed", False)
    if "changekind" in given or feed:
        found["kind"] = given.get("changekind", "full-delta")
    if "changedeleted" in given:
        found["deleted"] = given["changedeleted"]
    if "changekey" in given:
        found["key"] = [name.strip() for name in given["changekey"].split(",")]
    if "filter" in given:
        found["filter"] = given["filter"]
    return found


def limits(options: Mapping[str, str]) -> dict[str, Any]:
    """How much a batch takes, as ``Table.follow`` takes it.

    Raises:
        InvalidArgumentError: A limit is no number.

    >>> limits({"maxBytesPerTrigger": "10m"})
    {'max_bytes_per_batch': 10485760}
    """
    given = {name.lower(): value for name, value in options.items()}
    return {
        argument: _size(name, given[one])
        for one, (name, argument) in _LIMITS.items()
        if one in given
    }


def start(options: Mapping[str, str]) -> dict[str, Any]:
    """Where a stream begins that was never begun, as ``Table.follow`` takes it.

    Raises:
        InvalidArgumentError: The version is no number.
    """
    given = {name.lower(): value for name, value in options.items()}
    if "startingtimestamp" in given:
        return {"starting_timestamp": given["startingtimestamp"]}
    version = given.get("startingversion")
    if version is None or version.lower() == "latest":
        return {} if version is None else {"starting_version": "latest"}
    return {"starting_version": number("startingVersion", version)}


def _size(name: str, text: str) -> int:
    """Bytes or files, with a unit as Spark writes it: ``10m``, ``2gb``."""
    digits = text.strip().lower().removesuffix("b")
    unit = _UNITS.get(digits[-1:], 0)
    found = number(name, digits[:-1] if unit else digits) * (unit or 1)
    if found < 1:
        raise InvalidArgumentError(
            f"the option {name} is at least 1, and not {text!r}", code="option.number"
        )
    return found
