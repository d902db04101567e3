"""``Table.report``: one complete, escaped file with the numbers of the log."""

from __future__ import annotations

import ast
import base64
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from support import logs, vectors
from support.html import Page

import deltareplay as dr
from deltareplay.viz.advice import advice, command, shell_command
from deltareplay.viz.facts import measure
from deltareplay.viz.live_files import Sizes, Times, live_files

DAY = 86_400_000
JANUARY = 1_767_225_600_000  # 2026-01-01
MIB = 1 << 20
HOSTILE = "</script><script>alert(1)</script><img src=http://evil.example/x onerror=alert(2)>'\"&"


def write_report(table: dr.Table, path: Path, **options: object) -> tuple[str, Page]:
    path = table.report(path / "report.html", **options)  # type: ignore[arg-type]
    text = path.read_text(encoding="utf-8")
    return text, Page(text)


def ascii_spaces(text: str) -> str:
    return text.replace("\u00a0", " ")


@pytest.fixture
def shop(log: logs.LogBuilder) -> logs.LogBuilder:
    """Ten files in each of two countries, one replaced by a file with half of its rows deleted."""
    log.create(
        logs.schema(
            id="long", name="string", country="string", **{f"c{n}": "long" for n in range(8)}
        ),
        partition_columns=["country"],
        configuration={"delta.targetFileSize": "256mb"},
        modified=JANUARY,
    )
    log.commit(
        logs.commit_info("WRITE", timestamp=JANUARY + DAY, engineInfo="Engine/1"),
        *(
            logs.add(
                f"country={country}/{number}.parquet",
                partition_values={"country": country},
                size=(number + 1) * MIB,
                stats=logs.stats(100, id=(0, 9, 0)) if number else None,
                modificationTime=JANUARY + number * DAY,
            )
            for country in ("DE", "FR")
            for number in range(10)
        ),
        modified=JANUARY + DAY,
    )
    half = logs.stats(20, id=(0, 19, 0))
    log.commit(
        logs.commit_info("DELETE", timestamp=JANUARY + 2 * DAY, engineInfo="Engine/2"),
        logs.remove(
            "country=DE/9.parquet",
            partition_values={"country": "DE"},
            size=10 * MIB,
            stats=logs.stats(100),
            deletion_timestamp=JANUARY + 2 * DAY,
        ),
        logs.add(
            "country=DE/10.parquet",
            partition_values={"country": "DE"},
            size=1000,
            stats=half,
            deletion_vector=vectors.inline(list(range(10))),
        ),
        modified=JANUARY + 2 * DAY,
    )
    return log


def test_the_report_is_one_page_without_requests(shop: logs.LogBuilder, tmp_path: Path) -> None:
    text, page = write_report(dr.Table(shop.uri), tmp_path)

    assert text.startswith("<!DOCTYPE html>")
    assert len(text) < 300_000
    assert len(page.ids) == len(set(page.ids))
    links = page.values("href")
    assert len(links) >= 9
    assert all(link[0] == "#" and link[1:] in page.ids for link in links)
    for name in ("aria-labelledby", "data-for"):
        result = page.values(name)
        assert result
        assert set(result) <= set(page.ids)
    assert not page.names & {"img", "iframe", "link", "base", "object", "embed", "form"}
    assert not [name for _, name, _ in page.attributes if name in ("src", "style", "srcset")]
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert "url(" not in text
    assert "//" not in re.sub(r"file:///[^<'&]+", "", text)


def test_the_policy_allows_only_its_own_style_and_script(
    shop: logs.LogBuilder, tmp_path: Path
) -> None:
    text, page = write_report(dr.Table(shop.uri), tmp_path)

    policy = next(value for value in page.values("content") if "default-src" in value)
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        (inside,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_the_report_is_accessible_to_screen_readers(shop: logs.LogBuilder, tmp_path: Path) -> None:
    text, page = write_report(dr.Table(shop.uri), tmp_path)

    assert '<html lang="en">' in text
    assert {"header", "nav", "main", "footer", "section", "figure", "caption"} <= page.names
    charts = re.findall(r'<svg [^>]*class="(?:chart|treemap)"[^>]*>', text)
    assert len(charts) >= 6
    assert all('role="img" aria-label="' in chart for chart in charts)
    assert text.count('class="chart"') == text.count("Numbers of this chart")
    heads = re.findall(r"<th\b[^>]*>", text)
    assert heads
    assert all('scope="col"' in head for head in heads)


def test_the_numbers_are_those_of_the_log(shop: logs.LogBuilder, tmp_path: Path) -> None:
    _, page = write_report(dr.Table(shop.uri), tmp_path)

    live = shop.state().adds.values()
    assert len(live) == 20
    parts = page.tables["Partitions, the largest first"].rows
    assert [ascii_spaces(cell) for cell in parts[1]] == ["FR", "10", "55 MiB", "900", "5.5 MiB"]
    assert [ascii_spaces(cell) for cell in parts[2]] == ["DE", "10", "45 MiB", "820", "4.5 MiB"]
    assert sum(body["size"] for body in live) == 100 * MIB + 1000
    sizes = page.tables["Files by size"].rows[1:]
    assert sum(int(row[1]) for row in sizes) == 20
    ages = page.tables["Files by age"].rows[1:]
    assert sum(int(row[1]) for row in ages) == 20
    worst = page.tables["The files with the most deleted rows"].rows
    assert [ascii_spaces(cell) for cell in worst[1]] == [
        "country=DE/10.parquet",
        "10",
        "20",
        "50 %",
        "1,000 B",
    ]
    coverage = page.tables["Files that have statistics of a column"].rows
    assert [ascii_spaces(cell) for cell in coverage[1]] == ["id", "long", "", "90 %", "90 %"]
    assert [ascii_spaces(cell) for cell in coverage[2]] == ["name", "string", "", "0 %", "0 %"]
    flows = page.tables["Rows in and out"].rows[1:]
    assert [row[1:] for row in flows if row[1:] != ["0", "0"]] == [
        ["1.8\u00a0k", "0"],
        ["10", "100"],
    ]
    operations = page.tables["Commits by operation"].rows
    assert sorted(operations[0][1:]) == ["CREATE TABLE", "DELETE", "WRITE"]
    assert sum(int(cell) for row in operations[1:] for cell in row[1:]) == 3
    writers = page.tables["Who committed, and when; the most frequent first"].rows[1:]
    assert {row[0]: row[2] for row in writers if row[0] != "unknown"} == {
        "Engine/1": "1",
        "Engine/2": "1",
    }
    output = ascii_spaces(" ".join(page.text))
    assert "20 live files of 100 MiB" in output
    assert "18 of 20 files (90 %) have a row count" in output
    assert "1 file (5 %) have a deletion vector; they delete 10 rows" in output


def test_advice_has_a_command_that_runs(shop: logs.LogBuilder, tmp_path: Path) -> None:
    _, page = write_report(dr.Table(shop.uri), tmp_path)

    output = ascii_spaces(" ".join(page.text))
    # 55 and 45 MiB fit into one file of 256 MiB each
    assert "20 of 20 files are smaller than 32 MiB" in output
    assert "About 2 files will remain, of up to 256 MiB" in output
    assert "10 rows that every scan decodes and drops" in output
    assert "removed 1 file longer ago than the retention period" in output
    commands = [item for item in page.text if item.startswith("import deltareplay as dr")]
    assert len(commands) >= 3
    (vacuum,) = (item for item in commands if "vacuum()" in item)
    exec(vacuum, {})
    assert f"deltareplay vacuum {dr.Table(shop.uri).uri}" in output


def test_the_commands_of_the_advice_exist(shop: logs.LogBuilder) -> None:
    pytest.importorskip("typer", reason="the command needs the extra cli")
    facts = measure(dr.Table(shop.uri), None, False)
    verbs = {item.verb.split()[0] for item in advice(facts) if item.verb} | {"checkpoint", "verify"}
    assert {"optimize", "vacuum"} <= verbs
    program = [sys.executable, "-m", "deltareplay"]
    help_text = subprocess.run([*program, "--help"], capture_output=True, text=True, check=True)
    assert verbs <= set(re.findall(r"[a-z-]+", help_text.stdout))
    words = shlex.split(shell_command(facts, "vacuum"))
    assert words[0] == "deltareplay"
    subprocess.run([*program, *words[1:]], capture_output=True, check=True)


def test_paths_in_commands_are_quoted(tmp_path: Path) -> None:
    path = tmp_path / "a'; touch owned; echo '$(touch owned)"
    hostile = logs.LogBuilder(path)
    hostile.create(logs.schema(id="long"))
    facts = measure(dr.Table(path), None, False)
    words = shlex.split(shell_command(facts, "optimize --yes"))
    assert words == ["deltareplay", "optimize", facts.table.uri, "--yes"]
    (uri,) = re.findall(r"dr\.Table\((.+)\)\.vacuum", command(facts, "vacuum()"))
    assert ast.literal_eval(uri) == facts.table.uri


def test_nested_columns_have_their_comments(log: logs.LogBuilder, tmp_path: Path) -> None:
    inner = [
        {"name": "x", "type": "long", "nullable": False, "metadata": {"comment": "east"}},
        {"name": "y", "type": "long", "nullable": True, "metadata": {}},
    ]
    kind = {"type": "struct", "fields": inner}
    fields = [
        {"name": "x", "type": "string", "nullable": True, "metadata": {"comment": "other"}},
        {"name": "point", "type": kind, "nullable": True, "metadata": {}},
    ]
    log.create(json.dumps({"type": "struct", "fields": fields}))
    _, page = write_report(dr.Table(log.uri), tmp_path)

    assert page.tables["3 columns"].rows[1:] == [
        ["x", "string", "", "other"],
        ["point.x", "long", "not null", "east"],
        ["point.y", "long", "", ""],
    ]


def test_text_from_the_table_is_escaped(log: logs.LogBuilder, tmp_path: Path) -> None:
    spoof = "invoice" + chr(0x202E) + "gpj.exe"
    log.create(
        logs.schema(**{"id": "long", HOSTILE: "string", "part": "string"}),
        partition_columns=["part"],
        name=HOSTILE,
        description=HOSTILE,
        configuration={HOSTILE: HOSTILE, "spoof": spoof},
    )
    log.commit(
        logs.commit_info(HOSTILE, engineInfo=HOSTILE, userName=HOSTILE),
        logs.txn(HOSTILE, 1),
        logs.add(
            HOSTILE,
            partition_values={"part": HOSTILE},
            stats=logs.stats(3),
            deletion_vector=vectors.inline([1]),
        ),
    )
    text, page = write_report(dr.Table(log.uri), tmp_path)

    assert page.names.isdisjoint({"img", "iframe"})
    assert len(page.scripts) == 1
    assert "alert" not in page.scripts[0]
    assert text.count("<script") == 1
    assert HOSTILE in "".join(page.text)  # it is displayed, escaped
    assert spoof not in text
    assert "invoice\\u202egpj.exe" in text


@pytest.mark.slow
def test_the_size_of_the_report_is_bounded(log: logs.LogBuilder, tmp_path: Path) -> None:
    long = '"' * 300  # each character is six in HTML
    columns = {f"{long}{number}": "long" for number in range(150)}
    configuration = {f"{long}{number}": long for number in range(500)}
    log.create(
        logs.schema(**columns, part="string"),
        partition_columns=["part"],
        name=long,
        description=long,
        configuration=configuration,
    )
    for version in range(60):
        log.commit(
            logs.commit_info(
                f"{version % 9}{long}",
                timestamp=JANUARY + version * DAY,
                engineInfo=f"{version}{long}",
            ),
            logs.txn(f"{version}{long}", version),
            *(
                logs.add(
                    f"{version}-{number}{long}",
                    partition_values={"part": f"{long}{version}-{number}"},
                    size=2 ** (version % 40),
                    stats=logs.stats(9),
                    modificationTime=JANUARY + version * DAY,
                    deletion_vector=vectors.inline([1]),
                )
                for number in range(3)
            ),
            modified=JANUARY + version * DAY,
        )
    text, page = write_report(dr.Table(log.uri), tmp_path)

    assert 100_000 < len(text.encode()) < 300_000
    assert re.search(r"[\d,]+ more rows are not shown", " ".join(page.text))


def test_a_broken_table_is_reported_as_far_as_possible(
    shop: logs.LogBuilder, tmp_path: Path
) -> None:
    (Path(shop.uri) / "_delta_log" / f"{1:020}.crc").write_text(
        json.dumps(
            {
                "tableSizeBytes": 1,
                "numFiles": 1,
                "numMetadata": 1,
                "numProtocol": 1,
                "metadata": shop.state().metadata,
                "protocol": shop.state().protocol,
            }
        )
    )
    table = dr.Table(shop.uri)
    _, page = write_report(table, tmp_path)

    (caption,) = (caption for caption in page.tables if caption.endswith("worst first"))
    codes = [row[1] for row in page.tables[caption].rows[1:]]
    assert "checksum.mismatch" in codes
    assert codes == [finding.code for finding in table.verify(data_files=False).findings]


def test_a_missing_commit_before_a_checkpoint_is_skipped(
    shop: logs.LogBuilder, tmp_path: Path
) -> None:
    shop.checkpoint()
    shop.commit(logs.commit_info("TRUNCATE"), modified=JANUARY + 3 * DAY)
    (Path(shop.uri) / "_delta_log" / f"{1:020}.json").unlink()
    _, page = write_report(dr.Table(shop.uri), tmp_path)

    assert "20 live files of 100 MiB" in ascii_spaces(" ".join(page.text))
    operations = page.tables["Commits by operation"].rows
    assert sorted(operations[0][1:]) == ["CREATE TABLE", "DELETE", "TRUNCATE"]
    flows = page.tables["Rows in and out"].rows[1:]
    assert [row[1:] for row in flows if row[1:] != ["0", "0"]] == [["10", "100"]]


def test_orphans_are_listed_on_request(shop: logs.LogBuilder, tmp_path: Path) -> None:
    orphan = Path(shop.uri) / "country=DE" / "orphan.parquet"
    orphan.parent.mkdir()
    orphan.write_bytes(b"x" * 4096)
    os.utime(orphan, (JANUARY / 1000, JANUARY / 1000))
    _, without = write_report(dr.Table(shop.uri), tmp_path)
    assert "Files that vacuum would delete" not in without.tables
    assert "not looked for" in " ".join(without.text)

    _, page = write_report(dr.Table(shop.uri), tmp_path, orphans=True)
    assert page.tables["Files that vacuum would delete"].rows[1:] == [["country=DE/orphan.parquet"]]
    assert "1 file of 4 KiB" in ascii_spaces(" ".join(page.text))


def test_a_finding_that_is_no_fault_leaves_the_table_sound(
    log: logs.LogBuilder, tmp_path: Path
) -> None:
    log.create(logs.schema(id="long"))
    sidecars = Path(log.uri) / "_delta_log" / "_sidecars"
    sidecars.mkdir()
    (sidecars / "stranger.parquet").write_bytes(b"x")
    _, page = write_report(dr.Table(log.uri), tmp_path)

    assert [row[:2] for row in page.tables["1 finding, worst first"].rows[1:]] == [
        ["info", "sidecar.orphan"]
    ]
    assert "Sound" in page.text
    assert "the log was replayed without errors and warnings" in page.text


def test_an_older_version_can_be_shown(shop: logs.LogBuilder, tmp_path: Path) -> None:
    _, page = write_report(dr.Table(shop.uri), tmp_path, version=1)

    output = ascii_spaces(" ".join(page.text))
    assert "20 live files of 110 MiB" in output
    assert "the latest is 2" in output
    operations = page.tables["Commits by operation"].rows
    assert "DELETE" not in operations[0]


def test_a_table_without_files_has_a_report(log: logs.LogBuilder, tmp_path: Path) -> None:
    log.create(logs.schema(id="long"))
    _, page = write_report(dr.Table(log.uri), tmp_path)
    assert "The table has no files." in page.text


def test_only_reports_are_overwritten(shop: logs.LogBuilder, tmp_path: Path) -> None:
    table = dr.Table(shop.uri)
    location = tmp_path / "report.html"
    assert table.report(str(location)) == location
    before = location.read_bytes()
    os.utime(location, (0, 0))
    table.report(location)
    assert location.stat().st_mtime > 0
    assert before[:100] == location.read_bytes()[:100]
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["report.html"]

    location.write_text("my notes")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)  # a reader would wait for a writer
    invalid = [
        location,
        pipe,
        tmp_path,
        tmp_path / "nowhere" / "report.html",
        tmp_path / ("x" * 300),
    ]
    for wrong in [*invalid, f"{tmp_path}/a\0b"]:
        with pytest.raises(dr.InvalidArgumentError) as caught:
            table.report(wrong)
        assert caught.value.code == "report.output"
    assert location.read_text() == "my notes"


def test_the_default_name_is_report_html(
    shop: logs.LogBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert dr.Table(shop.uri).report() == Path("report.html")
    assert (tmp_path / "report.html").stat().st_size > 10_000


def test_too_many_partitions_are_grouped_by_fewer_columns(
    log: logs.LogBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deltareplay.viz.live_files.MAX_PARTITIONS", 5)
    log.create(logs.schema(a="string", b="string", id="long"), partition_columns=["a", "b"])
    log.commit(
        *(
            logs.add(
                f"{number}", partition_values={"a": f"a{number % 3}", "b": f"{number}"}, size=7
            )
            for number in range(30)
        )
    )
    _, page = write_report(dr.Table(log.uri), tmp_path)

    rows = page.tables["Partitions, the largest first"].rows
    assert rows[0][:2] == ["a", "Files"]
    assert [row[:2] for row in sorted(rows[1:])] == [["a0", "10"], ["a1", "10"], ["a2", "10"]]
    assert "too many partitions" in " ".join(page.text)
    assert ">\u00a05" in page.text


@pytest.mark.parametrize(("number", "others"), [(60, None), (61, "2 others")])
def test_only_too_many_partitions_share_a_tile(
    log: logs.LogBuilder, tmp_path: Path, number: int, others: str | None
) -> None:
    log.create(logs.schema(p="string"), partition_columns=["p"])
    log.commit(
        *(
            logs.add(f"{index}", partition_values={"p": f"p{index:02}"}, size=1000 - index)
            for index in range(number)
        )
    )
    _, page = write_report(dr.Table(log.uri), tmp_path)

    texts = [ascii_spaces(text) for text in page.text]
    tiles = [text.partition(":")[0] for text in texts if text.endswith(" B, 1 file")]
    assert tiles == [f"p{index:02}" for index in range(59 if others else 60)]
    assert [text.partition(":")[0] for text in texts if ", 2 files" in text] == (
        [others] if others else []
    )


def test_many_time_buckets_become_wider() -> None:
    times = Times(("files",))
    for start in range(0, 1_000_000, 50_000):
        minutes = pa.array(range(start, start + 50_000), pa.int64())
        times.add(pc.multiply(minutes, 60_000), {"files": pa.array([1.0] * 50_000)})
        assert len(times.sums) <= 4096
    bars = times.bars(60)
    assert len(bars) <= 60
    assert sum(files for _, (files,) in bars) == 1_000_000
    assert bars[0][0] == 0


def test_times_of_a_century_fit_into_one_histogram() -> None:
    times = Times(("files",))
    times.add(pa.array([0, 2**62], pa.int64()), {"files": pa.array([1.0, 1.0])})
    bars = times.bars(60)
    assert len(bars) <= 60
    assert bars[0][1] == bars[-1][1] == [1.0]


def test_sizes_of_every_magnitude_fit_into_one_histogram() -> None:
    sizes = Sizes()
    sizes.add_sizes(pa.array([0.0, 1.0, 2.0**62, 1024.0, 1024.0]))
    steps, bars = sizes.bars()
    assert len(bars) <= 64
    assert steps == 1
    assert {key: files for key, files, _ in bars if files} == {0: 2, 10: 2, 62: 1}
    assert 1000 < sizes.quantile(0.6) < 1100


@pytest.mark.parametrize("time", [2**62, -(2**62), 10**15])
def test_impossible_times_and_sizes_are_accepted(
    log: logs.LogBuilder, tmp_path: Path, time: int
) -> None:
    log.create(
        logs.schema(id="long"),
        protocol_action=logs.protocol(1, 7, writer_features=["inCommitTimestamp"]),
        configuration={"delta.enableInCommitTimestamps": "true"},
    )
    log.commits[0][0] = logs.commit_info("CREATE TABLE", inCommitTimestamp=time)
    logs.write_commit(log.table, 0, log.commits[0])
    log.commit(
        logs.commit_info("WRITE", inCommitTimestamp=time + 1),
        logs.add(
            "a", size=2**62, modificationTime=time, stats='{"numRecords":9223372036854775807}'
        ),
        logs.add("b", size=2**62, modificationTime=-time, stats='{"numRecords":-5}'),
    )
    _, page = write_report(dr.Table(log.uri), tmp_path)
    output = ascii_spaces(" ".join(page.text))
    assert "2 live files of 8 EiB" in output
    assert "9e+18" in output, "rows, in the header"
    assert Page(dr.Table(log.uri)._repr_html_()).names


def test_a_part_beside_a_far_larger_one_has_a_tile(log: logs.LogBuilder, tmp_path: Path) -> None:
    log.create(logs.schema(id="long", p="string"), partition_columns=["p"])
    log.commit(
        logs.add("a", partition_values={"p": "x"}, size=2**62),
        logs.add("b", partition_values={"p": "y"}, size=1),
    )
    _, page = write_report(dr.Table(log.uri), tmp_path)
    assert "y: 1 B, 1 file" in map(ascii_spaces, page.text)


@pytest.mark.parametrize("mapping", ["none", "name", "id"])
def test_statistics_of_columns_are_counted_by_their_names_in_files(
    tmp_path: Path, mapping: str
) -> None:
    fields = [("id", pa.int64()), ("s", pa.struct([("a.b", pa.int64()), ("c", pa.string())]))]
    properties = {
        "delta.columnMapping.mode": mapping,
        "delta.dataSkippingStatsColumns": "id,s.`a.b`",
    }
    table = dr.create_table(tmp_path / "t", pa.schema(fields), properties=properties)
    table.append([{"id": 1, "s": {"a.b": 2, "c": "x"}}])
    columns = live_files(table.snapshot()).columns
    assert columns is not None
    counts = {column.name: (column.min_max, column.null_count) for column in columns}
    assert counts == {"id": (1, 1), "s.a.b": (1, 1), "s.c": (0, 0)}


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "No column can have statistics: the table has only partition columns, or none."),
        (201, "With more than 200 columns, they are not listed one by one."),
    ],
)
def test_missing_statistics_of_columns_have_a_reason(
    log: logs.LogBuilder, tmp_path: Path, number: int, expected: str
) -> None:
    columns = {f"c{index}": "long" for index in range(number)}
    log.create(logs.schema(p="string", **columns), partition_columns=["p"])
    log.commit(logs.add("a", partition_values={"p": "x"}, stats=logs.stats(1)))
    _, page = write_report(dr.Table(log.uri), tmp_path)
    assert expected in page.text


def test_time_is_linear_in_partition_columns(log: logs.LogBuilder) -> None:
    """1,600 columns take 0.5 s of CPU, and 5 s with a grouping for each column and prefix."""
    names = [f"p{number}" for number in range(1600)]
    fields = [
        {"name": name, "type": "string", "nullable": True, "metadata": {}}
        for name in ("id", *names)
    ]
    log.create(
        json.dumps({"type": "struct", "fields": fields}),
        logs.add("a.parquet", partition_values=dict.fromkeys(names, "x")),
        partition_columns=names,
    )
    start = time.process_time()
    dr.Table(log.uri).report(log.table / "report.html")
    assert time.process_time() - start < 2.5
