"""A broken table for each code of an error or a warning: the class, the location, the code."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs

import deltareplay as dr

Recipe = Callable[[logs.LogBuilder], object]
SCHEMA = logs.schema(id="long")


def replace(name: str, content: bytes) -> Recipe:
    """Replace a file of the log."""
    return lambda log: logs.write_file(log.table, name, content)


def commit(*actions: logs.Action | bytes) -> Recipe:
    """Write version 3 with these lines."""
    lines = [line if isinstance(line, bytes) else logs.json_lines([line]) for line in actions]
    return replace(logs.commit_name(3), b"".join(lines))


def delete(*versions: int) -> Recipe:
    """Delete the commits of these versions."""

    def recipe(log: logs.LogBuilder) -> None:
        for version in versions:
            (logs.log_dir(log.table) / logs.commit_name(version)).unlink()

    return recipe


def first_commit_without(kind: str) -> Recipe:
    """Write version 0 again without the actions of one kind."""

    def recipe(log: logs.LogBuilder) -> None:
        kept = [action for action in log.commits[0] if kind not in action]
        logs.write_commit(log.table, 0, kept)

    return recipe


def in_commit_timestamps_without_one(log: logs.LogBuilder) -> None:
    log.commit(
        logs.commit_info(),
        logs.protocol(1, 7, writer_features=["inCommitTimestamp"]),
        logs.metadata(SCHEMA, configuration={"delta.enableInCommitTimestamps": "true"}),
    )


def checksum(**wrong: Any) -> Recipe:
    """Write the checksum of the newest version with an error in it."""
    return lambda log: log.checksum(**wrong)


def checkpoint_of(table: Callable[[pa.Table], pa.Table]) -> Recipe:
    """Write a checkpoint of version 1 with changed columns."""

    def recipe(log: logs.LogBuilder) -> None:
        [path] = log.checkpoint(version=1)
        pq.write_table(table(pq.read_table(path)), path)

    return recipe


def numbers_for_paths(table: pa.Table) -> pa.Table:
    """Return ``add`` as a struct whose path is a number."""
    adds = [None if add is None else {"path": 1} for add in table["add"].to_pylist()]
    return table.set_column(table.column_names.index("add"), "add", pa.array(adds))


def checkpoint_without_its_sidecars(log: logs.LogBuilder) -> None:
    log.checkpoint(version=1, kind="v2-parquet", parts=1)
    [sidecar] = (logs.log_dir(log.table) / "_sidecars").iterdir()
    sidecar.unlink()


def footer_that_promises_more_rows(log: logs.LogBuilder) -> None:
    """Increase every count of 5,000 in the footer by one: 10,000 and 10,002 as zigzag varints."""
    log.commit(*(logs.add(f"f{n}") for n in range(5_000 - 6)))
    [path] = log.checkpoint()
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    body, footer = content[: -8 - length], content[-8 - length :]
    assert pq.read_metadata(path).num_rows == 5_000
    assert b"\x90\x4e" in footer
    path.write_bytes(body + footer.replace(b"\x90\x4e", b"\x92\x4e"))


def no_change(log: logs.LogBuilder) -> None:
    pass


def snapshot(table: dr.Table) -> object:
    return table.snapshot()


def files(table: dr.Table) -> object:
    return table.snapshot().files()


def strict(table: dr.Table) -> object:
    return table.snapshot(strict=True).files()


class Refused(NamedTuple):
    """A case that raises an error."""

    code: str
    error: type[dr.DeltaReplayError]
    recipe: Recipe = no_change
    read: Callable[[dr.Table], object] = files
    path: str | None = None
    line: int | None = None


HINT = "_delta_log/_last_checkpoint"
THIRD = f"_delta_log/{logs.commit_name(3)}"
CHECKPOINT = f"_delta_log/{logs.classic_name(1)}"
CHECKSUM = f"_delta_log/{logs.checksum_name(2)}"
CORRUPT = dr.CorruptTableError
INVALID = dr.InvalidArgumentError
MISSING = dr.VersionNotFoundError

REFUSED = [
    Refused("version.not_found", MISSING, read=lambda table: table.snapshot(9)),
    Refused(
        "version.timestamp", MISSING, read=lambda table: table.snapshot(timestamp="2020-01-01")
    ),
    Refused("version.range", MISSING, read=lambda table: table.actions(1, 9).read_all()),
    Refused("columns.unknown", INVALID, read=lambda table: table.snapshot().files(["x"])),
    Refused("columns.twice", INVALID, read=lambda table: table.snapshot().files(["path", "path"])),
    Refused("commit.json", CORRUPT, commit(b'{"add":}\n', logs.add("x")), path=THIRD, line=1),
    Refused("commit.torn", CORRUPT, commit(logs.add("x"), b'{"add":{"pa'), path=THIRD, line=2),
    Refused("commit.utf8", CORRUPT, commit(b'{"add":{"path":"\xff"}}\n'), path=THIRD, line=1),
    Refused("commit.action", CORRUPT, commit(b'{"metaData":{"id":1}}\n'), path=THIRD, line=1),
    Refused("commit.empty", CORRUPT, commit(), strict, path=THIRD),
    Refused(
        "commit.in_commit_timestamp",
        CORRUPT,
        in_commit_timestamps_without_one,
        snapshot,
        path=THIRD,
    ),
    Refused("log.gap", CORRUPT, delete(1), path=f"_delta_log/{logs.commit_name(1)}"),
    Refused("log.truncated", CORRUPT, delete(0), path=f"_delta_log/{logs.commit_name(0)}"),
    Refused("log.no_protocol", CORRUPT, first_commit_without("protocol"), snapshot),
    Refused("log.no_metadata", CORRUPT, first_commit_without("metaData"), snapshot),
    Refused("checksum.mismatch", CORRUPT, checksum(numFiles=7), strict),
    Refused("checksum.mismatch", CORRUPT, checksum(tableSizeBytes=7), strict),
    Refused(
        "checkpoint.parquet",
        CORRUPT,
        lambda log: log.checkpoint(version=1)[0].write_bytes(b"PAR1" * 9),
        strict,
        path=CHECKPOINT,
    ),
    Refused("checkpoint.columns", CORRUPT, checkpoint_of(numbers_for_paths), strict, CHECKPOINT),
    Refused("checkpoint.sidecar_missing", CORRUPT, checkpoint_without_its_sidecars, strict),
    Refused("checkpoint.rows", CORRUPT, footer_that_promises_more_rows, strict),
    Refused("hint.corrupt", CORRUPT, replace("_last_checkpoint", b"{"), strict, HINT),
    Refused("checksum.unreadable", CORRUPT, replace(logs.checksum_name(2), b"{"), strict, CHECKSUM),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.code)
def test_raises_an_error(events: logs.LogBuilder, case: Refused) -> None:
    case.recipe(events)
    with pytest.raises(dr.DeltaReplayError) as caught:
        case.read(dr.Table(events.uri))
    error = caught.value
    assert error.code == case.code
    assert type(error) is case.error
    if case.path is not None:
        assert error.path == case.path
    if case.line is not None:
        assert error.line == case.line


@pytest.mark.parametrize("location", ["nothing", ".", "memory://nothing/here"])
def test_a_location_without_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(dr.TableNotFoundError) as caught:
        dr.Table(location).snapshot()
    assert caught.value.code == "table.not_found"
    assert not dr.is_table(location)


class Warned(NamedTuple):
    """A case that is read with a warning."""

    code: str
    recipe: Recipe
    path: str | None


def hint(version: int) -> Recipe:
    """Write a hint that names this version, and a checkpoint of version 1."""

    def recipe(log: logs.LogBuilder) -> None:
        log.checkpoint(version=1)
        logs.write_hint(log.table, version)

    return recipe


def a_compacted_file_that_does_not_decode(log: logs.LogBuilder) -> None:
    log.compact(0, 2).write_bytes(b"garbage\n")


def a_checkpoint_alone(log: logs.LogBuilder) -> None:
    log.checkpoint()
    log.delete_commits(below=3)


def an_invalid_property(log: logs.LogBuilder) -> None:
    configuration = {"delta.deletedFileRetentionDuration": "for ever"}
    log.commit(logs.metadata(SCHEMA, partition_columns=[], configuration=configuration))


WARNED = [
    Warned("hint.corrupt", replace("_last_checkpoint", b"{"), HINT),
    Warned("hint.missing", lambda log: log.checkpoint(version=1, hint=False), HINT),
    Warned("hint.stale", hint(0), HINT),
    Warned("hint.wrong", hint(2), HINT),
    Warned("commit.empty", commit(), THIRD),
    Warned("checksum.unreadable", replace(logs.checksum_name(2), b"{"), CHECKSUM),
    Warned("checksum.mismatch", checksum(numFiles=7), CHECKSUM),
    Warned(
        "checkpoint.unreadable",
        lambda log: log.checkpoint(version=1)[0].write_bytes(b"PAR1" * 9),
        CHECKPOINT,
    ),
    Warned(
        "compacted.unreadable",
        a_compacted_file_that_does_not_decode,
        "_delta_log/" + logs.compacted_name(0, 2),
    ),
    Warned("log.checkpoint_only", a_checkpoint_alone, None),
    Warned("properties.invalid", an_invalid_property, None),
]


@pytest.mark.parametrize("case", WARNED, ids=lambda case: case.code)
def test_reads_with_a_warning(events: logs.LogBuilder, case: Warned) -> None:
    case.recipe(events)
    with pytest.warns(dr.DeltaReplayWarning):
        result = dr.Table(events.uri).snapshot()
        paths = result.files(columns=["path"])["path"].to_pylist()

    assert sorted(paths) == sorted(events.state().live_paths())
    reported = {warning.code: warning for warning in result.warnings}
    assert case.code in reported
    assert reported[case.code].message
    if case.path is not None:
        assert reported[case.code].path == case.path


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_reader_is_refused_in_a_forked_process(log: logs.LogBuilder) -> None:
    log.create(SCHEMA)
    log.commit(*(logs.add(f"f{n}") for n in range(200)))
    log.checkpoint(row_group_size=1)
    batches = dr.Table(log.uri).snapshot().native.file_batches()
    assert batches.next_batch() is not None

    child = os.fork()
    if child == 0:
        code = "no error"
        try:
            signal.alarm(30)
            while batches.next_batch() is not None:
                pass
        except dr.DeltaReplayError as error:
            code = error.code
        finally:
            os._exit(0 if code == "internal.forked" else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
