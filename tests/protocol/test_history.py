"""The history of a table, one row for each commit, and the raw actions of the commits."""

from __future__ import annotations

import json
from typing import Any

import pytest
from protocol.reading import SCHEMA, commits, file
from support import logs

import deltareplay as dr


def rows(log: logs.LogBuilder, limit: int | None = None) -> list[dict[str, Any]]:
    return list(dr.Table(log.uri).history(limit=limit).to_pylist())


def test_the_newest_commit_comes_first(log: logs.LogBuilder) -> None:
    commits(log, 12)

    assert [row["version"] for row in rows(log)] == list(range(12, -1, -1))
    assert [row["version"] for row in rows(log, 3)] == [12, 11, 10]
    assert rows(log, 0) == []


def test_commits_without_commit_info_have_a_row(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, modified=logs.T0)
    log.commit(logs.add("a"), modified=logs.T0 + 1000)
    log.commit(logs.commit_info("MERGE", timestamp=5), logs.add("b"), modified=logs.T0 + 2000)
    log.commit(modified=logs.T0 + 3000)
    log.commit({"commitInfo": {}}, modified=logs.T0 + 4000)

    result = rows(log)

    assert [(row["version"], row["operation"]) for row in result] == [
        (4, None),
        (3, None),
        (2, "MERGE"),
        (1, None),
        (0, "CREATE TABLE"),
    ]
    assert [round(row["timestamp"].timestamp() * 1000) - logs.T0 for row in result] == [
        4000,
        3000,
        2000,
        1000,
        0,
    ]


def test_fields_of_commit_info(log: logs.LogBuilder) -> None:
    scalars: dict[str, Any] = {
        "userId": "7",
        "userName": "ö",
        "readVersion": 0,
        "isolationLevel": "Serializable",
        "isBlindAppend": True,
        "userMetadata": "mine",
        "engineInfo": "Apache-Spark/4.1.1 Delta-Lake/4.3.0",
    }
    maps: dict[str, Any] = {
        "operationMetrics": {"numFiles": "1", "numOutputRows": "12345678901234567890"},
        "operationParameters": {"mode": "Append", "partitionBy": "[]"},
    }
    log.create(SCHEMA)
    log.commit(logs.commit_info("WRITE", txnId="abc", **scalars, **maps), logs.add("f"))

    (row,) = rows(log, 1)

    assert row["operation"] == "WRITE"
    assert {name: row[name] for name in scalars} == scalars
    assert {name: dict(row[name]) for name in maps} == maps
    assert "txnId" not in row, "not a column of DESCRIBE HISTORY"


def test_operation_parameters_are_returned_as_text(log: logs.LogBuilder) -> None:
    """Strings are returned unchanged, also if they contain JSON; other values as JSON."""
    parameters = {
        "mode": "Append",
        "partitionBy": '["a","b"]',
        "description": None,
        "predicate": ["(x > 1)"],
        "nested": {"a": [1, 2.5, None, True]},
        "number": 5,
        "truth": False,
    }
    log.create(SCHEMA)
    log.commit(logs.commit_info(operationParameters=parameters))

    result = dict(rows(log, 1)[0]["operationParameters"])

    assert result["mode"] == "Append"
    assert result["partitionBy"] == '["a","b"]'
    assert result["description"] is None
    assert json.loads(result["predicate"]) == parameters["predicate"]
    assert json.loads(result["nested"]) == parameters["nested"]
    assert (json.loads(result["number"]), json.loads(result["truth"])) == (5, False)


@pytest.mark.parametrize(
    "info",
    [
        {"operationMetrics": {"n": 5}},
        {"operationMetrics": None, "operationParameters": None},
        {"operationMetrics": [], "operationParameters": "text"},
        {"isBlindAppend": "true"},
        {"userId": 5, "userName": None, "engineInfo": ["x"]},
        {"timestamp": "yesterday"},
        {"operation": {"name": "WRITE"}},
        {"readVersion": -1, "tags": {"a": None}, "job": {"jobId": 1}, "unknown": [[]]},
    ],
    ids=str,
)
def test_commit_info_is_free_form(log: logs.LogBuilder, info: dict[str, Any]) -> None:
    log.create(SCHEMA)
    log.commit({"commitInfo": {"operation": "WRITE", **info}}, logs.add("f"))

    assert [row["version"] for row in rows(log)] == [1, 0]
    assert dr.Table(log.uri).snapshot().num_files == 1


def test_cleaned_up_commits_have_no_row(log: logs.LogBuilder) -> None:
    commits(log, 9)
    log.checkpoint(5)
    log.delete_commits(5)

    assert [row["version"] for row in rows(log)] == [9, 8, 7, 6, 5]


def test_compacted_files_do_not_hide_commits(log: logs.LogBuilder) -> None:
    commits(log, 6)
    log.compact(1, 5)

    assert [row["operation"] for row in rows(log)] == ["WRITE"] * 6 + ["CREATE TABLE"]


def test_history_of_a_missing_table(log: logs.LogBuilder) -> None:
    with pytest.raises(dr.TableNotFoundError) as caught:
        dr.Table(log.uri).history()
    assert caught.value.code == "table.not_found"


# -- raw actions


def test_actions_are_returned_as_committed(log: logs.LogBuilder) -> None:
    log.create(SCHEMA)
    log.commit(
        logs.commit_info(),
        logs.add("a", stats=logs.stats(1), data_change=False),
        logs.txn("app", 3),
    )
    log.commit(logs.remove("a"), logs.cdc("_change_data/c"), logs.domain("d", "{}", removed=True))

    result = dr.Table(log.uri).actions(1).read_all().to_pylist()

    kinds = [
        (row["version"], [name for name, value in row.items() if value and name != "version"])
        for row in result
    ]
    versions = [row["version"] for row in result]
    assert versions == sorted(versions), "oldest first"
    assert (1, ["add"]) in kinds
    assert (1, ["txn"]) in kinds
    assert (2, ["remove"]) in kinds
    assert (2, ["cdc"]) in kinds
    assert (2, ["domainMetadata"]) in kinds
    (add,) = [row["add"] for row in result if row["add"]]
    assert (add["path"], add["stats"], add["dataChange"]) == ("a", logs.stats(1), False)
    (domain,) = [row["domainMetadata"] for row in result if row["domainMetadata"]]
    assert domain["removed"] is True


def test_actions_of_a_range_are_those_of_its_commits(log: logs.LogBuilder) -> None:
    commits(log, 6)
    log.compact(1, 5)
    log.checkpoint(4)

    def added(start: int, end: int | None = None) -> list[str]:
        table = dr.Table(log.uri).actions(start, end).read_all()
        return [row["add"]["path"] for row in table.to_pylist() if row["add"]]

    assert added(2, 4) == ["f2", "f3", "f4"]
    assert added(6) == ["f6"]
    assert added(0, 6) == [f"f{v}" for v in range(1, 7)]
    for start, end in ((5, 9), (7, None)):
        with pytest.raises(dr.VersionNotFoundError) as caught:
            added(start, end)
        assert caught.value.code == "version.range"


def test_actions_before_the_oldest_commit_are_not_found(log: logs.LogBuilder) -> None:
    commits(log, 6)
    log.checkpoint(4)
    log.delete_commits(4)

    for start, end in ((2, None), (2, 3), (3, 5)):
        with pytest.raises(dr.VersionNotFoundError, match=f"from {start} on are 4 to 6") as caught:
            dr.Table(log.uri).actions(start, end).read_all()
        assert caught.value.code == "version.range"


def test_a_gap_in_a_range_of_actions_is_an_error(log: logs.LogBuilder) -> None:
    commits(log, 6)
    file(log, logs.commit_name(3)).unlink()

    for end in (3, 6):
        with pytest.raises(dr.CorruptTableError) as caught:
            dr.Table(log.uri).actions(1, end).read_all()
        assert caught.value.code == "log.gap"
