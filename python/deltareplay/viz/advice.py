"""Advice on a table, with the gain, and the source of each number."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deltareplay._support import units
from deltareplay.exceptions import DeltaReplayError
from deltareplay.viz.facts import Commit, Facts

#: The minimum number of small files for which compaction is recommended.
MIN_SMALL_FILES = 16
#: The minimum gain, in seconds and as a share, for which a file of the log is recommended.
MIN_SECONDS = 0.01
MIN_SHARE = 0.3


@dataclass(frozen=True)
class Advice:
    """A recommended action.

    Attributes:
        reason: The reason, in numbers.
        call: The Python call on the table; None if there is no single call.
        verb: The verb of the command ``deltareplay``, with its options.
        source: The source of the numbers.
    """

    title: str
    reason: str
    gain: str
    call: str | None
    verb: str | None
    source: str


def command(facts: Facts, call: str) -> str:
    """Return the action as Python code to paste."""
    return f"import deltareplay as dr; print(dr.Table({facts.display_uri!r}).{call})"


def shell_command(facts: Facts, verb: str) -> str:
    """Return the action as a shell command to paste, with names quoted."""
    name, _, options = verb.partition(" ")
    return f"deltareplay {name} {shlex.quote(facts.display_uri)} {options}".rstrip()


def advice(facts: Facts) -> list[Advice]:
    """Return all recommended actions, the most urgent first."""
    return [
        *_protocol_advice(facts),
        *_log_advice(facts),
        *_files_advice(facts),
        *_garbage_advice(facts),
    ]


def _protocol_advice(facts: Facts) -> Iterator[Advice]:
    for obstacle in facts.snapshot.protocol.why_not_writable():
        yield Advice(
            f"{obstacle.feature}: this release cannot write the table",
            obstacle.reason,
            obstacle.remedy,
            None,
            None,
            "protocol",
        )


def _log_advice(facts: Facts) -> Iterator[Advice]:
    log = facts.log
    if isinstance(log, DeltaReplayError):
        return
    now = log.seconds
    checkpoint, compaction = log.with_checkpoint, log.with_compaction
    commits = units.plural(log.num_commits, "commit")
    since = (
        "there is no checkpoint"
        if log.checkpoint_version is None
        else f"the newest checkpoint is of version {log.checkpoint_version}"
    )
    reason = f"Readers replay {commits}, {units.size(log.tail_bytes)}: {since}."
    source = "_delta_log/*.json after the checkpoint; times measured here by optimize_log()"
    if checkpoint is not None and _is_noticeable(now, checkpoint["seconds"]):
        yield Advice(
            "Write a checkpoint",
            reason,
            f"Opening the table and listing its files takes {units.seconds(now)} now, and "
            f"{units.seconds(checkpoint['seconds'])} with it. Writing it takes "
            f"{units.seconds(checkpoint['seconds_to_make'])} and "
            f"{units.size(checkpoint['size_in_bytes'])}.",
            "checkpoint()",
            "checkpoint",
            source,
        )
    elif compaction is not None and _is_noticeable(now, compaction["seconds"]):
        yield Advice(
            "Compact the commits after the checkpoint",
            reason,
            f"Opening the table and listing its files takes {units.seconds(now)} now, and "
            f"{units.seconds(compaction['seconds'])} with it.",
            "compact_log()",
            "compact-log",
            source,
        )
    if not isinstance(facts.cleanup, DeltaReplayError) and facts.cleanup.files:
        yield Advice(
            "Clean the log",
            f"{units.plural(len(facts.cleanup.files), 'file')} of the log belong to versions from "
            f"before {units.stamp(facts.cleanup.cutoff)}, which are not kept.",
            f"It deletes {units.size(facts.cleanup.size_in_bytes)}; the oldest version that can be "
            f"read is {facts.cleanup.earliest_version} then.",
            "cleanup_log(dry_run=False)",
            "cleanup-log --yes",
            "listing of _delta_log, delta.logRetentionDuration",
        )


def _is_noticeable(before: float, after: float) -> bool:
    gain = before - after
    return gain >= MIN_SECONDS and gain >= MIN_SHARE * before


def _files_advice(facts: Facts) -> Iterator[Advice]:
    files = facts.files
    after, before = files.packed
    small, small_bytes = files.small
    if small >= MIN_SMALL_FILES and before - after >= max(MIN_SMALL_FILES, files.num_files // 10):
        yield Advice(
            "Pack small files",
            f"{units.count(small)} of {units.plural(files.num_files, 'file')} are smaller than "
            f"{units.size(files.small_limit)} and hold {units.size(small_bytes)} together.",
            f"About {units.plural(files.num_files - before + after, 'file')} will remain, of up to "
            f"{units.size(files.target)}. Rows stay the same; the old files stay until vacuum.",
            "optimize()",
            "optimize --yes",
            "add.size, add.partitionValues",
        )
    purge, purge_bytes, purge_rows = files.to_purge
    if purge:
        yield Advice(
            "Rewrite files with many deleted rows",
            f"In {units.plural(purge, 'file')}, vectors delete more than 5 % of the rows: "
            f"{units.plural(purge_rows, 'row')} that every scan decodes and drops.",
            f"It rewrites at least {units.size(purge_bytes)}, without these rows.",
            "optimize(purge=True)",
            "optimize --purge --yes",
            "add.deletionVector.cardinality, add.stats",
        )


def _garbage_advice(facts: Facts) -> Iterator[Advice]:
    if facts.orphans is not None:
        if not isinstance(facts.orphans, DeltaReplayError) and facts.orphans.files:
            yield Advice(
                "Vacuum",
                f"{units.plural(len(facts.orphans.files), 'file')} in the table's directory belong "
                "to no version inside the retention period.",
                f"It deletes {units.size(facts.orphans.size_in_bytes)}.",
                "vacuum(dry_run=False)",
                "vacuum --yes",
                "listing of the table, delta.deletedFileRetentionDuration",
            )
        return
    expired, size = facts.history.tombstones
    if expired:
        first = facts.history.read_commits[0].version
        yield Advice(
            "Look at what vacuum would delete",
            f"The commits from version {first} on removed {units.plural(expired, 'file')} longer "
            "ago than the retention period.",
            f"Up to {units.size(size)}, unless an earlier vacuum deleted them already. This call "
            "only lists them; vacuum(dry_run=False) deletes.",
            "vacuum()",
            "vacuum",
            f"remove.deletionTimestamp in {commit_range(facts.history.read_commits)}",
        )


def commit_range(commits: Sequence[Commit]) -> str:
    """Return the range of the versions of some commits, as the source of a number."""
    if not commits:
        return "_delta_log"
    return f"_delta_log, versions {commits[0].version} to {commits[-1].version}"
