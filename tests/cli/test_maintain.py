"""The subcommands that write, and watch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from support import logs

import deltareplay as dr


@pytest.fixture
def written(tmp_path: Path) -> dr.Table:
    """Four versions: no rows, then a row and a file more each."""
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64())]))
    for number in range(3):
        table.append([{"id": number}])
    return table


def state(table: dr.Table) -> tuple[int, set[str]]:
    """Return the version, and all files."""
    root = Path(table.uri.removeprefix("file://"))
    return table.snapshot().version, {str(path) for path in root.rglob("*") if path.is_file()}


def test_checkpoint(run, written) -> None:
    done = run("checkpoint", written.uri)
    assert "00000000000000000003.checkpoint.parquet: 3 files" in done.out
    assert written.optimize_log().checkpoint_version == 3
    assert run("checkpoint", written.uri, "--layout", "v2").code == 2


def test_compact_log(run, written) -> None:
    (facts,) = run("compact-log", written.uri, 1, 3, "--json").lines
    assert (facts["start"], facts["end"]) == (1, 3)
    assert "actions" in run("compact-log", written.uri).out
    assert run("compact-log", written.uri, 2, 2).code == 2


def test_cleanup_log_and_vacuum_require_yes(run, log: logs.LogBuilder) -> None:
    log.create(
        logs.schema(id="long"),
        configuration={
            "delta.logRetentionDuration": "interval 0 days",
            "delta.deletedFileRetentionDuration": "interval 0 hours",
        },
        modified=0,
    )
    log.commit(logs.commit_info(), modified=86_400_000)
    log.commit(logs.commit_info(), modified=2 * 86_400_000)
    log.checkpoint(2)
    left_over = log.table / "left.parquet"
    left_over.write_bytes(b"12345")
    os.utime(left_over, (0, 0))
    table = dr.Table(log.uri)
    before = state(table)

    for verb in ("cleanup-log", "vacuum"):
        tried = run(verb, log.uri)
        assert (tried.code, tried.err) == (0, "")
        assert f"`deltareplay {verb} {log.uri} --yes` does" in tried.out
        assert state(table) == before
    assert "left.parquet" in run("vacuum", log.uri).out

    assert "deleted: 1 file, 5 B" in run("vacuum", log.uri, "--yes").out
    assert not left_over.exists()
    (facts,) = run("cleanup-log", log.uri, "--yes", "--json").lines
    assert not facts["dry_run"]
    assert facts["files"]
    assert not any((log.table / name).exists() for name in facts["files"])


def test_vacuum_refuses_a_short_period(run, written) -> None:
    done = run("vacuum", written.uri, "--retain-hours", 0)
    assert done.code == 2
    assert "[vacuum.retention]" in done.err
    assert run("vacuum", written.uri, "--retain-hours", 0, "--force").code == 0


def test_suggested_commands_repeat_the_options(run, written, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")  # commands are not broken into lines
    written.delete("id = 0")
    options = "--retain-hours 0.0 --lite --force"
    tried = run("vacuum", written.uri, *options.split())
    assert f"`deltareplay vacuum {written.uri} {options} --yes` does" in tried.out
    tried = run("restore", written.uri, 1, "--ignore-missing-files")
    command = f"deltareplay restore {written.uri} 1 --ignore-missing-files --yes"
    assert f"`{command}` does" in tried.out


def test_optimize_requires_yes(run, written) -> None:
    before = state(written)
    assert "would rewrite 3 files" in run("optimize", written.uri).out
    assert state(written) == before
    assert "version 4: 3 files" in run("optimize", written.uri, "--yes").out
    assert written.snapshot().num_files == 1
    assert "nothing to do" in run("optimize", written.uri).out
    assert "nothing to do" in run("optimize", written.uri, "--yes").out
    (facts,) = run("optimize", written.uri, "--z-order-by", "id", "--json").lines
    assert (facts["dry_run"], facts["files"]) == (True, 1)
    assert "nothing to do" in run("optimize", written.uri, "--purge").out


@pytest.mark.parametrize(
    ("options", "files", "partitions"),
    [
        ((), 6, ["a", "b", None]),  # the file that is alone in its partition has deleted rows
        (("--where", "p = 'a'"), 3, ["a"]),
        (("--z-order-by", "id"), 6, ["a", "b", None]),
        (("--purge",), 1, ["b"]),
        (("--target-file-size", 1), 1, ["b"]),
    ],
)
def test_optimize_lists_the_files_to_rewrite(run, tmp_path, options, files, partitions) -> None:
    schema = pa.schema([("id", pa.int64()), ("p", pa.string())])
    properties = {"delta.enableDeletionVectors": "true"}
    table = dr.create_table(tmp_path, schema, ["p"], properties)
    for values in (["a", None, "b"], ["a", None], ["a"]):
        table.append([{"id": number, "p": p} for p in values for number in range(3)])
    table.delete("p = 'b' AND id = 1")
    (facts,) = run("optimize", tmp_path, *options, "--json").lines
    assert (facts["files"], facts["partitions"]) == (files, len(partitions))
    live = table.snapshot().files(["partitionValues", "size"]).to_pylist()
    assert facts["size_in_bytes"] == sum(
        file["size"] for file in live if dict(file["partitionValues"])["p"] in partitions
    )


def test_restore_requires_yes(run, written) -> None:
    before = state(written)
    tried = run("restore", written.uri, 1)
    assert "0 files restored, 2 files removed, rows 3 to 1" in tried.out
    assert f"`deltareplay restore {written.uri} 1 --yes` does" in tried.out
    assert state(written) == before
    (facts,) = run("restore", written.uri, 1, "--yes", "--json").lines
    assert (facts["version"], facts["num_removed_files"]) == (4, 2)
    assert written.snapshot().num_rows == 1
    assert run("restore", written.uri).code == 2
    assert run("restore", written.uri, 99, "--yes").code == 2


def test_restore_shows_the_parts_of_the_definition_that_it_changes(run, written) -> None:
    written.set_properties(
        {
            "delta.enableDeletionVectors": "true",
            "delta.enableInCommitTimestamps": "true",
            "delta.enableRowTracking": "true",
            "delta.columnMapping.mode": "name",
        }
    )
    properties_set = written.snapshot().version
    written.add_columns(pa.schema([("text", pa.string())]))
    for version in (1, properties_set, 1):
        newest = written.snapshot()
        (facts,) = run("restore", written.uri, version, "--json").lines
        assert run("restore", written.uri, version, "--yes").code == 0
        changed = newest.diff(written.snapshot()).definition.to_pylist()
        names = [f"{row['what']} {row['name']}" for row in changed]
        # restored files without row ids get new ones
        assert facts["definition"] == [name for name in names if name != "domain delta.rowTracking"]
        assert "property delta.enableDeletionVectors" in facts["definition"]


def test_report(run, written, tmp_path) -> None:
    path = tmp_path / "r.html"
    (facts,) = run("report", written.uri, "-o", path, "--json").lines
    assert facts == {"output": str(path), "size_in_bytes": path.stat().st_size}
    assert path.read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    assert run("report", written.uri, "--version", 1, "-o", path).out == f"{path}\n"
    done = run("report", written.uri, "-o", tmp_path / "nowhere" / "r.html")
    assert done.code == 2
    assert "[report.output]" in done.err


def test_watch_begins_at_the_version(run, written) -> None:
    rows = run("watch", written.uri, "--from", 1, "--limit", 3, "--json").lines
    assert [row["version"] for row in rows] == [1, 2, 3]
    assert "+1 row, +1 file" in run("watch", written.uri, "--from", 3, "-n", 1).out
    rows = run("watch", written.uri, "--from", 0, "-n", 3, "--rows", "--json").lines
    assert [row["id"] for row in rows] == [0, 1, 2]
    assert run("watch", written.uri, "--from", 3, "-n", 1, "--csv").out.splitlines()[1][:2] == "3,"


def test_watch_prints_each_commit_while_others_are_added(run, written, monkeypatch) -> None:
    history, ids = dr.Table.history, iter(range(7, 20))

    def after_a_commit(table: dr.Table, limit: int | None = None, **version: int) -> pa.Table:
        table.append([{"id": next(ids)}])
        return history(table, limit, **version)

    monkeypatch.setattr(dr.Table, "history", after_a_commit)
    rows = run("watch", written.uri, "--from", 2, "--limit", 2, "--json").lines
    assert [row["version"] for row in rows] == [2, 3]
    assert next(ids) == 9, "each commit is read once"


def test_watch_prints_new_commits(written) -> None:
    command = subprocess.Popen(
        f"{sys.executable} -m deltareplay watch {written.uri} --json --from 3 --limit 2".split(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert command.stdout is not None
    assert json.loads(command.stdout.readline())["version"] == 3  # it is working
    written.append([{"id": 7}])
    assert json.loads(command.communicate(timeout=60)[0])["version"] == 4
    assert command.returncode == 0
