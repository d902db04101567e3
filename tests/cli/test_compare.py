"""The subcommands schema, actions, diff, changes and explain."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest
from support import logs

import deltareplay as dr


def test_schema(run, log: logs.LogBuilder) -> None:
    text = (
        '{"type":"struct","fields":['
        '{"name":"id","type":"long","nullable":false,"metadata":{"comment":"the key"}},'
        '{"name":"s","type":{"type":"struct","fields":[{"name":"tags","type":{"type":"map",'
        '"keyType":"string","valueType":{"type":"array","elementType":"long","containsNull":true},'
        '"valueContainsNull":true},"nullable":true,"metadata":{}}]},"nullable":true,"metadata":{}},'
        '{"name":"day","type":"date","nullable":true,"metadata":{}}]}'
    )
    log.create(text, partition_columns=["day"])
    rows = run("schema", log.uri, "--json").lines
    assert [(row["column"], row["type"], row["nullable"], row["partition"]) for row in rows] == [
        ("id", "long", False, False),
        ("s", "struct", True, False),
        ("s.tags", "map<string, array<long>>", True, False),
        ("day", "date", True, True),
    ]
    assert rows[0]["comment"] == "the key"
    assert run("schema", log.uri, "--csv").out.splitlines()[1] == "id,long,false,false,the key"
    out = run("schema", log.uri).out
    assert "not null" in out
    assert "the key" in out


def test_schema_over_time(run, tmp_path) -> None:
    table = dr.create_table(
        tmp_path, pa.schema([("id", pa.int32())]), (), {"delta.columnMapping.mode": "name"}
    )
    table.append([{"id": 1}])
    table.add_columns(pa.schema([("note", pa.string())]))
    table.rename_column("note", "text")
    table.drop_column("text")
    rows = run("schema", tmp_path, "--history", "--json").lines
    assert [(row["version"], row["change"], row["column"], row["after"]) for row in rows] == [
        (0, "added", "id", "integer"),
        (2, "added", "note", "string"),
        (3, "removed", "note", None),
        (3, "added", "text", "string"),
        (4, "removed", "text", None),
    ]
    assert rows[1]["operation"] == "ADD COLUMNS"
    assert len(run("schema", tmp_path, "--history").out.splitlines()) == 7
    header = next(csv.reader(io.StringIO(run("schema", tmp_path, "--history", "--csv").out)))
    assert header[:2] == ["version", "timestamp"]


def test_schema_over_time_while_columns_are_added(run, tmp_path, monkeypatch) -> None:
    table = dr.create_table(tmp_path, pa.schema([("id", pa.int32())]))
    history = dr.Table.history

    def before_a_commit(listed: dr.Table) -> pa.Table:
        commits = history(listed)
        table.add_columns(pa.schema([("note", pa.string())]))
        return commits

    monkeypatch.setattr(dr.Table, "history", before_a_commit)
    done = run("schema", tmp_path, "--history", "--json")
    assert (done.code, [row["column"] for row in done.lines]) == (0, ["id"])


def test_schema_over_time_of_commits_before_the_first_checkpoint(run, tmp_path) -> None:
    """A cleanup may leave commits that no checkpoint precedes."""
    table = dr.create_table(tmp_path, pa.schema([("id", pa.int32())]))
    for name in ("a", "b", "c"):
        table.add_columns(pa.schema([(name, pa.string())]))
        if name == "b":
            table.checkpoint()
    (tmp_path / "_delta_log" / f"{0:020}.json").unlink()
    assert table.history()["version"].to_pylist() == [3, 2, 1]
    rows = run("schema", tmp_path, "--history", "--json").lines
    changes = [(row["version"], row["change"], row["column"]) for row in rows]
    assert changes == [*((2, "added", name) for name in ("id", "a", "b")), (3, "added", "c")]


def test_schema_over_time_of_one_commit(run, log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    assert len(run("schema", log.uri, "--history", "--json").lines) == 1


def test_a_log_without_commits_has_no_changes_of_columns(run, tmp_path) -> None:
    dr.write(tmp_path, {"id": [1]})
    dr.Table(tmp_path).checkpoint()
    (tmp_path / "_delta_log" / f"{0:020d}.json").unlink()

    done = run("schema", tmp_path, "--history")

    assert (done.code, done.out) == (0, "nothing\n")


def test_actions(run, events: logs.LogBuilder) -> None:
    rows = run("actions", events.uri, "--json").lines
    assert [next(kind for kind in row if kind != "version") for row in rows] == [
        "commitInfo",
        "remove",
        "add",
    ]
    assert rows[2]["add"]["path"] == "day=2026-01-03/c.parquet"
    assert {row["version"] for row in run("actions", events.uri, 0, 2, "--json").lines} == {0, 1, 2}
    assert "day=2026-01-03/c.parquet (300 B)" in run("actions", events.uri).out
    table = list(csv.DictReader(io.StringIO(run("actions", events.uri, 1, "--csv").out)))
    assert [row["action"] for row in table] == ["commitInfo", "txn", "add", "add"]


def test_diff(run, orders) -> None:
    expected = dr.Table(orders).snapshot(5).diff(dr.Table(orders).snapshot(7))
    rows = run("diff", orders, 5, 7, "--json").lines
    assert [(row["change"], row["name"]) for row in rows] == list(
        zip(expected.files["change"].to_pylist(), expected.files["path"].to_pylist(), strict=True)
    )
    out = run("diff", orders, 0, 7).out
    assert "files  0 to 16" in out
    assert "rows   0 to 260" in out
    assert len(run("diff", orders, 7, 7).out.splitlines()) == 4  # only the totals


def test_diff_of_definitions(run, tmp_path) -> None:
    table = dr.create_table(tmp_path, pa.schema([("id", pa.int64())]))
    table.set_properties({"owner": "a"})
    table.set_properties({"owner": "b"})
    assert "changed  property owner: a to b" in run("diff", tmp_path, 1, 2).out
    assert "added    property owner: a" in run("diff", tmp_path, 0, 1).out
    (row,) = csv.DictReader(io.StringIO(run("diff", tmp_path, 1, 0, "--csv").out))
    assert (row["what"], row["change"], row["name"]) == ("property", "removed", "owner")


def test_changes(run, orders) -> None:
    rows = run("changes", orders, 6, 6, "--json").lines
    assert [(row["id"], row["_change_type"]) for row in rows] == [(100, "delete"), (100, "insert")]
    keyed = run("changes", orders, 6, 6, "--key", "id", "--json").lines
    assert {row["_change_type"] for row in keyed} == {"update_preimage", "update_postimage"}
    net = run("changes", orders, 0, "--kind", "min-delta", "--key", "id", "--json").lines
    assert len(net) == 260
    assert "_change_type" in run("changes", orders, 6).out.splitlines()[0]
    assert "the first 3 changes" in run("changes", orders, 1, "-n", 3).out
    ways = [row["way"] for row in run("changes", orders, 4, "--explain", "--json").lines]
    assert ways == ["deletion vectors", "files", "rows", "files"]
    assert run("changes", orders, "2026-11-21T12:42:22Z", "--json").lines[0]["_commit_version"] == 7


@pytest.mark.parametrize(("least", "code"), [(60, 0), (90, 1)])
def test_explain(run, orders, least, code) -> None:
    done = run("explain", orders, "country = 'DE'", "--min-pruning", least, "--json")
    assert done.code == code
    assert [step["files"] for step in done.lines] == [16, 5, 5]
    assert done.lines[-1]["skipped_files_percent"] == 68.75
    assert ("less than 90 %" in done.err) is bool(code)
    assert "68.8 %" in run("explain", orders, "country = 'DE'").out


def test_explain_of_an_empty_table(run, tmp_path) -> None:
    dr.create_table(tmp_path, pa.schema([("id", pa.int64())]))
    assert run("explain", tmp_path, "id > 1", "--min-pruning", 100).code == 0
