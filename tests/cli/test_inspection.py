"""The subcommands show, files, partitions, history, head, count and summary; narrow terminals."""

from __future__ import annotations

import csv
import datetime
import io
import itertools
import re
import statistics
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import actions, logs, samples

import deltareplay as dr


def test_show_agrees_with_the_api(run, orders) -> None:
    snapshot = dr.Table(orders).snapshot()

    done = run("show", orders, "--json")

    assert (done.code, done.err) == (0, "")
    (facts,) = done.lines
    assert facts["version"] == snapshot.version == 7
    assert datetime.datetime.fromisoformat(facts["timestamp"]) == snapshot.timestamp
    assert facts["rows"] == snapshot.scan().count()
    assert facts["files"] == snapshot.num_files
    assert facts["size_in_bytes"] == sum(snapshot.files(["size"])["size"].to_pylist())
    assert [column["name"] for column in facts["columns"]] == snapshot.schema.names
    assert facts["operation"] == "WRITE"
    assert facts["effect"] == "+30 rows, +3 files"
    assert facts["health"] == []
    assert (facts["checkpoint_version"], facts["commits_after_checkpoint"]) == (5, 2)


def test_show_for_a_person(run, orders) -> None:
    done = run("show", orders, "--utc")
    assert done.code == 0
    assert "\x1b" not in done.out, "no colours in a pipe"
    for text in (
        "Orders of a small shop",
        "7, 2026-11-21 12:42:22+00:00",
        "260",
        "25.2 KiB",
        "country",
        "deletionVectors",
        "decimal(10,2)",
        "nothing is wrong",
    ):
        assert text in done.out


def test_the_guide_agrees_with_the_command(run, orders) -> None:
    guide = (Path(orders).parents[1] / "docs" / "guide" / "cli.md").read_text(encoding="utf-8")
    displayed = guide.partition("```text\n")[2].partition("```")[0]

    def without_uri_and_age(text: str) -> list[str]:
        text = re.sub(r"file://\S+|\(\d+ \w+ ago\)", "...", text)
        return [line.rstrip() for line in text.splitlines()]

    printed = run("show", orders, "--utc").out
    assert without_uri_and_age(printed) == without_uri_and_age(displayed)


def test_show_fits_into_80_columns(run, orders, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = run("show", orders).out.splitlines()
    assert max(map(len, lines[1:])) <= 80  # the first line has the URI, which the terminal wraps


def test_show_of_an_older_version(run, orders) -> None:
    (facts,) = run("show", orders, "--version", 4, "--json").lines
    assert (facts["version"], facts["operation"]) == (4, "DELETE")


def test_show_of_a_version_before_a_damaged_commit(run, events: logs.LogBuilder) -> None:
    (events.table / "_delta_log" / f"{3:020}.json").write_text("{nonsense")
    assert run("show", events.uri).code == 3
    (facts,) = run("show", events.uri, "--version", 2, "--json").lines
    assert (facts["version"], facts["operation"]) == (2, "WRITE")


def test_show_of_a_commit_without_an_operation(run, log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    log.commit(logs.txn("app", 1))
    assert "unknown: the log does not name its operation" in run("show", log.uri).out


def test_show_names_a_table_after_its_directory(run, tmp_path) -> None:
    path = tmp_path / "a b%20c"
    dr.create_table(path, pa.schema([("id", pa.int64())]))
    assert run("show", path).out.startswith("a b%20c  file://")


def test_show_has_creation_time_and_clustering(run, tmp_path) -> None:
    fields = pa.struct([("a", pa.int64())])
    schema = pa.schema([("id", pa.int64()), ("s", fields)])
    properties = {"delta.columnMapping.mode": "name"}
    table = dr.create_table(tmp_path, schema, properties=properties)
    table.cluster_by(["id", "s.a"])
    table.rename_column("s", "t")
    (facts,) = run("show", tmp_path, "--json").lines
    assert facts["clustering_columns"] == ["id", "t.a"]
    created = table.snapshot().metadata.created_time
    assert created is not None
    assert datetime.datetime.fromisoformat(facts["created"]).timestamp() * 1000 == created
    assert re.search(r"Clustered by +id, t\.a", run("show", tmp_path).out)


def test_show_as_csv(run, orders) -> None:
    rows = dict(csv.reader(io.StringIO(run("show", orders, "--csv").out)))
    assert rows["version"] == "7"
    assert rows["partition_columns"] == '["country"]'


def test_show_reports_problems(run, log: logs.LogBuilder) -> None:
    log.create(
        logs.schema(id="long"),
        protocol_action=logs.protocol(1, 7, writer_features=["fancyFeature"]),
    )
    log.commit(*(logs.add(f"{n}.parquet", size=10) for n in range(200)))
    done = run("show", log.uri, "--json")
    assert (done.code, done.err) == (0, "")
    messages = [finding["message"] for finding in done.lines[0]["health"]]
    assert any("fancyFeature" in message for message in messages)
    assert any("small files" in message for message in messages)
    assert done.lines[0]["checkpoint_version"] is None
    assert done.lines[0]["commits_after_checkpoint"] == 2
    assert done.lines[0]["rows"] is None
    assert "fancyFeature" in run("show", log.uri).out


def test_show_counts_the_commits_after_the_checkpoint(run, tmp_path) -> None:
    log = samples.many_files(tmp_path / "t", commits=101, files=1)
    (facts,) = run("show", log.uri, "--json").lines
    assert facts["commits_after_checkpoint"] == 102
    slow = {"message": "slow to open: 102 commits, no checkpoint", "severity": "warning"}
    assert {**slow, "remedy": f"deltareplay checkpoint {log.uri}"} in facts["health"]
    log.checkpoint(100)
    assert "checkpoint of version 100, 1 commit after it" in run("show", log.uri).out


def test_control_characters_in_names_are_escaped(run, log: logs.LogBuilder) -> None:
    log.create(logs.schema(**{"a\x1b[31mb": "long"}), name="\x1b]0;owned\x07")
    out = run("show", log.uri).out
    assert "\x1b" not in out
    assert "\\x1b]0;owned\\x07" in out


@pytest.mark.parametrize("form", ["--json", "--csv"])
def test_files(run, orders, form) -> None:
    expected = dr.Table(orders).snapshot().files(["path", "size"]).to_pylist()
    done = run("files", orders, form)
    rows = done.lines if form == "--json" else list(csv.DictReader(io.StringIO(done.out)))
    assert {(row["path"], int(row["size"])) for row in rows} == {
        (row["path"], row["size"]) for row in expected
    }
    assert sum(int(row["rows"]) for row in rows) == 260
    assert sum(int(row["deleted"]) for row in rows) == 11


def test_files_with_a_filter_and_a_limit(run, orders) -> None:
    rows = run("files", orders, "--filter", "country = 'DE'", "--json").lines
    assert {row["partitionValues"]["country"] for row in rows} == {"DE"}
    titles, *files, note = run("files", orders, "--limit", 2).out.splitlines()
    assert titles.endswith("Path")
    assert len(files) == 2
    assert note.startswith("the first 2 files")
    assert len(run("files", orders, "--limit", 2, "--json").lines) == 2


@pytest.mark.parametrize("mapping", ["none", "name"])
def test_partitions(run, tmp_path, mapping) -> None:
    schema = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("size", pa.string())])
    properties = {"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": mapping}
    table = dr.create_table(tmp_path, schema, ["day", "size"], properties)
    day = datetime.date(2026, 1, 2)
    table.append([{"id": n, "day": day, "size": "L"} for n in range(3)])
    table.append([{"id": n, "day": day, "size": "L"} for n in range(3)])
    table.append([{"id": n, "day": day, "size": None} for n in range(2)])
    table.delete("id = 0")

    rows = run("partitions", tmp_path, "--json").lines

    assert [(row["partition"], row["files"], row["rows"]) for row in rows] == [
        ({"day": "2026-01-02", "size": "L"}, 2, 4),
        ({"day": "2026-01-02", "size": None}, 1, 1),
    ]
    sizes = table.snapshot().files(["size"])["size"].to_pylist()
    assert sum(row["size_in_bytes"] for row in rows) == sum(sizes)
    text = run("partitions", tmp_path).out
    assert "day=2026-01-02, size=null" in text
    assert "the 1 largest of 2 partitions;" in run("partitions", tmp_path, "-n", 1).out
    (only,) = run("partitions", tmp_path, "--filter", "size = 'L'", "--json").lines
    assert only == rows[0]
    assert run("partitions", tmp_path, "--version", 0).out == "no files\n"


def test_partitions_of_an_unpartitioned_table(run, tmp_path) -> None:
    table = dr.create_table(tmp_path, pa.schema([("id", pa.int64())]))
    assert run("partitions", tmp_path).out == "no files\n"
    for _ in range(2):
        table.append([{"id": 1}, {"id": 2}])
    (row,) = run("partitions", tmp_path, "--json").lines
    assert (row["partition"], row["files"], row["rows"]) == ({}, 2, 4)
    assert "the table has no partitions" in run("partitions", tmp_path).out


def test_partitions_whose_rows_are_unknown(run, log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    log.commit(actions.add("a.parquet"))
    (row,) = run("partitions", log.uri, "--json").lines
    assert (row["files"], row["rows"]) == (1, None)


def test_history_has_parameters_unless_the_terminal_is_narrow(run, orders, monkeypatch) -> None:
    parameter = "predicate: ((country#347 = DE) AND (id#343L < 30))"
    assert parameter in run("history", orders).out, "a pipe has no width"
    monkeypatch.setenv("COLUMNS", "200")
    assert parameter in run("history", orders).out
    monkeypatch.setenv("COLUMNS", "80")
    assert "predicate" not in run("history", orders).out


@pytest.mark.parametrize("width", [3, 12, 40, 57, 59, 60, 61, 64, 70, 80])
@pytest.mark.parametrize(
    ("verb", "arguments"),
    [("schema", ["--history"]), ("summary", []), ("explain", ["id < 3"])],
    ids=["schema", "summary", "explain"],
)
def test_a_narrow_terminal_loses_no_character(
    run, orders, monkeypatch, verb, arguments, width
) -> None:
    def characters(columns: int) -> Counter[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        return Counter(re.sub(r"[\s─]", "", run(verb, orders, *arguments, "--utc").out))

    assert characters(width) == characters(200)


@pytest.mark.parametrize("width", [57, 60, 70, 80])
def test_a_column_title_is_broken_between_words(run, orders, monkeypatch, width) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = run("history", orders).out.splitlines()
    assert max(map(len, lines)) <= width
    titles = " ".join(itertools.takewhile(lambda line: "─" not in line, lines)).split()
    assert sorted(titles) == ["By", "Operation", "Rows", "Time", "Version", "and", "files"]


def test_history(run, orders) -> None:
    rows = run("history", orders, "--json", "--utc").lines
    assert [row["version"] for row in rows] == [7, 6, 5, 4, 3, 2, 1, 0]
    assert rows[0]["operationMetrics"]["numOutputRows"] == "30"
    assert rows[0]["timestamp"] == "2026-11-21T12:42:22.743000+00:00"
    _titles, _rule, *commits = run("history", orders, "-n", 3).out.splitlines()
    assert len(commits) == 3
    assert any("~1 row, +1 -1 files" in commit for commit in commits)
    header, first, *_ = csv.reader(io.StringIO(run("history", orders, "--csv").out))
    assert dict(zip(header, first, strict=True))["operation"] == "WRITE"


def test_head(run, orders) -> None:
    done = run("head", orders, "--filter", "id = 62", "--columns", "id,amount,placed_at", "--json")
    (row,) = done.lines
    assert list(row) == ["id", "amount", "placed_at"]
    assert (row["id"], row["amount"]) == (62, "201.50")
    assert len(run("head", orders, "--json").lines) == 10
    assert len(run("head", orders, "-n", 0, "--json").lines) == 260
    assert "201.50" in run("head", orders, "--filter", "id = 62").out
    assert "no rows" in run("head", orders, "--filter", "id = -1").out


def test_head_on_a_narrow_terminal_names_the_columns_left_out(run, orders, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    out = run("head", orders, "-n", 1).out
    assert "more columns: " in out
    assert "country; choose by --columns" in out


@pytest.mark.parametrize(
    ("value", "width", "fits"),
    [
        ("x" * 10, 20, True),
        ("x" * 10, 19, False),
        ("\u6771" * 5, 20, True),
        ("\u6771" * 5, 19, False),
    ],
    ids=["narrow", "too narrow", "wide characters", "too narrow for wide characters"],
)
def test_head_has_the_columns_that_fit(run, tmp_path, monkeypatch, value, width, fits) -> None:
    dr.write(tmp_path, pa.table({"a": [value], "b": ["y" * 7]}))
    monkeypatch.setenv("COLUMNS", str(width))
    out = run("head", tmp_path).out
    assert value in out
    assert ("y" * 7 in out, "1 more column: b" in out) == (fits, not fits)


def test_head_of_nested_values(run, tmp_path) -> None:
    created = dr.create_table(
        tmp_path,
        pa.schema(
            [
                ("s", pa.struct([("at", pa.timestamp("us", "UTC")), ("b", pa.binary())])),
                ("m", pa.map_(pa.string(), pa.int64())),
                ("l", pa.list_(pa.float64())),
            ]
        ),
    )
    timestamp = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)
    created.append([{"s": {"at": timestamp, "b": b"a"}, "m": {"k": 1}, "l": [1.5, float("nan")]}])
    created.append([{"s": None, "m": None, "l": None}])
    rows = run("head", tmp_path, "--json", "--utc").lines
    assert {"s": None, "m": None, "l": None} in rows
    assert {
        "s": {"at": "2026-01-02T00:00:00+00:00", "b": "YQ=="},
        "m": {"k": 1},
        "l": [1.5, "nan"],
    } in rows


def test_count(run, orders) -> None:
    assert run("count", orders).out == "260\n"
    expected = dr.Table(orders).snapshot().scan(filter="country = 'DE'").count()
    (facts,) = run("count", orders, "--filter", "country = 'DE'", "--json").lines
    assert facts == {"version": 7, "rows": expected}
    assert run("count", orders, "--version", 0).out == "0\n"


def test_a_filter_may_use_the_current_time(run, tmp_path) -> None:
    hours = [datetime.timedelta(hours=number) for number in (-3, -2, 5)]
    now = datetime.datetime.now(datetime.timezone.utc)
    dr.write(tmp_path, pa.table({"at": [now + hour for hour in hours]}))
    for verb in ("count", "summary"):
        (facts,) = run(verb, tmp_path, "--filter", "at < now() - INTERVAL 1 HOUR", "--json").lines
        assert facts["rows"] == 2
    assert run("count", tmp_path, "--filter", "at < current_date - INTERVAL 7 DAYS").out == "0\n"


def test_summary(run, orders) -> None:
    """The statistics module computes the same from the rows in the JSON output."""
    choice = ("--filter", "country = 'DE'", "--columns", "id,amount,customer")
    rows = run("head", orders, "-n", 0, *choice, "--json").lines
    done = run("summary", orders, *choice, "--json")
    assert (done.code, done.err) == (0, "")
    assert [facts["column"] for facts in done.lines] == ["id", "amount", "customer"]
    for facts in done.lines[:2]:
        values = [float(row[facts["column"]]) for row in rows]
        assert (facts["rows"], facts["nulls"], facts["approximate"]) == (len(rows), 0, False)
        assert (float(facts["min"]), float(facts["max"])) == (min(values), max(values))
        assert facts["mean"] == pytest.approx(statistics.fmean(values))
        expected = statistics.quantiles(values, n=4, method="inclusive")
        assert [facts["q25"], facts["q50"], facts["q75"]] == pytest.approx(expected)
    customers = [row["customer"] for row in rows]
    facts = done.lines[2]
    assert (facts["min"], facts["max"]) == (min(customers), max(customers))
    assert facts["mean"] is facts["q50"] is None
    header, first, *_ = csv.reader(io.StringIO(run("summary", orders, *choice, "--csv").out))
    assert dict(zip(header, first, strict=True))["column"] == "id"
    assert header == list(facts)


def test_summary_for_a_person(run, orders, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = run("summary", orders, "--columns", "id,placed_at", "--utc")
    assert max(map(len, done.out.splitlines())) <= 80
    for text in (
        "Quartiles",
        "269",
        "139.154",
        "74.75",
        "2026-01-01",
        "260 rows",
        "25, 50 and 75 %",
    ):
        assert text in done.out
    assert "approximate" not in done.out
    assert "0 rows" in run("summary", orders, "--version", 0).out


def test_summary_of_scalar_and_nested_types(run, tmp_path) -> None:
    timestamp = datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)
    values = {
        "n": pa.array([3, None, 1], pa.int64()),
        "nan": pa.array([float("nan"), 1.0, 2.0]),
        "at": pa.array([timestamp, None, None], pa.timestamp("us", "UTC")),
        "day": pa.array([None, None, timestamp.date()], pa.date32()),
        "yes": pa.array([True, False, None]),
        "raw": pa.array([b"b", b"a", None]),
        "l": pa.array([[1], None, [2]]),
        "s": pa.array([{"a": 1}, None, {"a": 2}]),
        "m": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        "none": pa.array([None, None, None], pa.int32()),
    }
    dr.write(tmp_path, pa.table(values))
    done = run("summary", tmp_path, "--json", "--utc")
    assert (done.code, done.err) == (0, "")
    result = {facts["column"]: facts for facts in done.lines}
    assert {name: facts["nulls"] for name, facts in result.items()} == {
        name: array.null_count for name, array in values.items()
    }
    bounds = {name: (facts["min"], facts["max"]) for name, facts in result.items()}
    assert bounds == {
        "n": (1, 3),
        "nan": (1.0, 2.0),
        "at": ("2026-01-02T00:00:00+00:00",) * 2,
        "day": ("2026-01-02",) * 2,
        "yes": (False, True),
        "raw": ("YQ==", "Yg=="),
        **dict.fromkeys(("l", "s", "m", "none"), (None, None)),
    }
    assert (result["n"]["mean"], result["nan"]["mean"], result["none"]["mean"]) == (
        2.0,
        "nan",
        None,
    )
    assert "2026-01-02 00:00:00" in run("summary", tmp_path, "--utc").out


def test_summary_of_more_rows_than_its_sample(run, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("deltareplay.cli._rows._SAMPLE", 1000)
    values = [number * 7919 % 20_011 for number in range(20_011)]  # a permutation
    dr.write(tmp_path, pa.table({"n": values[:9_000]}))
    dr.write(tmp_path, pa.table({"n": values[9_000:]}))
    done = run("summary", tmp_path, "--json")
    (facts,) = done.lines
    assert (facts["rows"], facts["min"], facts["max"]) == (20_011, 0, 20_010)
    assert facts["mean"] == pytest.approx(statistics.fmean(values))
    assert facts["approximate"]
    expected = statistics.quantiles(values, n=4, method="inclusive")
    # the tolerance is four standard errors of the median of 1,000 rows
    assert [facts["q25"], facts["q50"], facts["q75"]] == pytest.approx(expected, abs=1300)
    assert run("summary", tmp_path, "--json").out == done.out, "the sample differs"
    assert "approximate: of 1,000 rows at random" in run("summary", tmp_path).out


def test_summary_of_columns_without_an_order(run, log: logs.LogBuilder) -> None:
    columns = {"id": "long", "nothing": "void", "period": "interval day to second"}
    path = log.table / "f.parquet"
    pq.write_table(pa.table({"id": [1, 2]}), path)
    log.create(logs.schema(**columns), logs.add("f.parquet", size=path.stat().st_size))
    rows = run("summary", log.uri, "--json").lines
    assert [(row["column"], row["nulls"], row["max"]) for row in rows] == [
        ("id", 0, 2),
        ("nothing", 2, None),
        ("period", 2, None),
    ]
