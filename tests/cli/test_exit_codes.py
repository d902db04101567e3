"""How the command ends: exit codes, messages, signals, pipes."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pyarrow as pa
import pytest
from support import logs, samples
from support.pages import ROOT

import deltareplay as dr
from deltareplay import cli

COMMAND = [sys.executable, "-m", "deltareplay"]


def test_shows_help_without_arguments(run) -> None:
    done = run()
    assert done.code == 0
    assert "deltareplay show demo/orders" in done.out
    assert "Exit codes" in done.out


def test_shows_the_version_of_the_package(run) -> None:
    assert run("--version").out == f"deltareplay {dr.__version__}\n"


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("deltareplay ch", ["changes", "checkpoint"]),
        ("deltareplay changes table 0 --ki", ["--kind"]),
        ("deltareplay checkpoint table --layout v2", ["v2", "v2-json"]),
    ],
)
def test_shells_complete_verbs_options_and_choices(run, monkeypatch, words, completed) -> None:
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    monkeypatch.setenv("_DELTAREPLAY_COMPLETE", "complete_bash")
    assert run().out.split() == completed


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["show", "{orders}/nothing"], 3, "[table.not_found]"),
        (["show", "{orders}/nothing", "--version", "0"], 3, "[table.not_found]"),
        (["diff", "{orders}/nothing", "0", "1"], 3, "[table.not_found]"),
        (["actions", "{orders}/nothing", "1"], 3, "[table.not_found]"),
        (["show", "{orders}", "--version", "99"], 2, "[version.not_found]"),
        (["head", "{orders}", "--columns", "nothing"], 2, "nothing"),
        (["count", "{orders}", "--filter", "country ="], 2, "try: "),
        (["show", "{orders}", "--json", "--csv"], 2, "cannot be combined"),
        (["show", "{orders}", "--storage-option", "s3cret"], 2, "KEY=VALUE"),
        (["show", "{orders}", "--version", "seven"], 2, "--version"),
        (["explain", "{orders}", "id > 1", "--min-pruning", "nan"], 2, "--min-pruning"),
        (["vacuum", "{orders}", "--retain-hours", "inf"], 2, "--retain-hours"),
        (["watch", "{orders}", "--interval", "nan"], 2, "--interval"),
        (["watch", "{orders}", "--interval", "1e300"], 2, "--interval"),
        (["sing"], 2, "sing"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_errors(run, orders, arguments, code, message) -> None:
    done = run(*(text.format(orders=orders) for text in arguments))
    assert done.code == code
    assert message in done.err
    assert done.out == ""
    assert "Traceback" not in done.err
    assert "s3cret" not in done.err


@pytest.mark.parametrize("verb", ["head", "files", "partitions", "history"])
def test_any_limit_is_taken(run, orders, verb) -> None:
    everything = run(verb, orders, "--json", "--limit", 0)
    assert run(verb, orders, "--json", "--limit", 2**64) == everything


def test_any_retention_is_taken(run, tmp_path) -> None:
    dr.create_table(tmp_path, pa.schema([("id", pa.int64())]))
    assert "nothing to delete" in run("vacuum", tmp_path, "--retain-hours", 1e300).out


def test_a_damaged_log(run, log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    (log.table / "_delta_log" / f"{1:020}.json").write_text("{nonsense")
    done = run("show", log.uri)
    assert done.code == 3
    assert "deltareplay verify" in done.err


def test_damage_that_was_worked_around_is_a_warning(run, events: logs.LogBuilder) -> None:
    (events.table / "_delta_log" / "_last_checkpoint").write_text("nonsense")
    done = run("count", events.uri, "--json")
    assert done.lines == [{"version": 2, "rows": 6}]
    assert done.err.startswith("warning: ")


def test_an_error_has_a_remedy_and_a_link(run, orders) -> None:
    first, second, third = run("show", orders, "--version", 99).err.splitlines()
    assert first.startswith("error: version 99 is not in the log")
    assert f"`deltareplay history {orders}`" in second
    assert third.endswith("docs/troubleshooting/tables.md#versionnot_found")


def test_an_error_points_into_the_filter(run, orders) -> None:
    output = run("count", orders, "--filter", "country = = 'DE'").err.splitlines()
    assert output[1:3] == ["  country = = 'DE'", "            ^ [filter.syntax]"]
    assert "`deltareplay count --help`" in output[3]


def test_storage_options_are_never_printed(run, orders) -> None:
    option = ("--storage-option", "aws_secret_access_key=s3cret")
    for arguments in (("show", orders), ("show", orders, "-v"), ("show", f"{orders}/nothing")):
        done = run(*arguments, *option)
        assert "s3cret" not in done.out + done.err


def test_pasted_commands_are_quoted(run, tmp_path) -> None:
    path = tmp_path / "a table"
    dr.create_table(path, pa.schema([("id", pa.int64())]))
    assert f"`deltareplay history '{path}'`" in run("show", path, "--version", 9).err


def test_a_uri_with_secrets_is_refused_without_them(run) -> None:
    done = run("show", "https://user:s3cret@127.0.0.1:1/table?sig=s3cret")
    assert done.code == 2
    assert "[uri.form]" in done.err
    assert "s3cret" not in done.out + done.err


def test_verbose_logs_reads(run, orders) -> None:
    done = run("count", orders, "-v")
    assert done.out == "260\n"
    assert " INFO opened version 7 of Table('file://" in done.err
    assert run("count", orders).err == ""


def test_a_missing_extra_is_reported(monkeypatch, capsys) -> None:
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "deltareplay.cli._app", raising=False)
    assert cli.main(["show"]) == 2
    output = capsys.readouterr().err
    needs = re.findall("(?m)^cli = (.*)]", (ROOT / "pyproject.toml").read_text())
    (extra,) = (re.findall('"(.+?)"', item) for item in needs)
    assert f"pip install {shlex.join(extra)}\n" in output


def test_colours(run, orders, monkeypatch) -> None:
    assert "\x1b[" not in run("show", orders).out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in run("show", orders).out


def test_as_a_process(tmp_path) -> None:
    done = subprocess.run([*COMMAND, "show", tmp_path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("error: ")


@pytest.mark.parametrize(
    ("form", "message"), [("--json", r'{"s": "\u00e4"}'), ("--csv", "s\n\\xe4"), ("--utc", r"\xe4")]
)
def test_a_terminal_without_the_characters(tmp_path, form, message) -> None:
    dr.create_table(tmp_path, pa.schema([("s", pa.string())])).append([{"s": "ä"}])
    done = subprocess.run(
        [*COMMAND, "head", tmp_path, form],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert message in done.stdout


@pytest.mark.parametrize("errors", ["&-", "/dev/full", " >(true)"], ids=["closed", "full", "pipe"])
def test_messages_that_cannot_be_written_change_nothing(events: logs.LogBuilder, errors) -> None:
    def run(verb: str, uri: str) -> tuple[int, str]:
        command = f"{shlex.join([*COMMAND, verb, uri])} 2>{errors}"
        done = subprocess.run(["bash", "-c", command], stdout=subprocess.PIPE, text=True)
        return done.returncode, done.stdout

    (events.table / "_delta_log" / "_last_checkpoint").write_text("nonsense")  # a warning
    assert run("count", events.uri) == (0, "6\n")
    assert run("show", f"{events.uri}/nothing") == (3, "")


@pytest.mark.parametrize("option", ["--json", "--limit=0"])
def test_ignores_a_closed_pipe(tmp_path, option) -> None:
    log = samples.many_files(tmp_path / "t", commits=10, files=1000)
    command = subprocess.Popen(
        [*COMMAND, "files", log.uri, option], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert command.stdout is not None
    assert command.stderr is not None
    assert command.stdout.readline()
    command.stdout.close()
    assert command.stderr.read() == b""
    assert command.wait(60) == 0
    command.stderr.close()


def test_ignores_a_closed_pipe_of_the_help() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*COMMAND, "--help"], stdout=write, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize(
    "arguments",
    [
        "show {}",
        "files {} --json",
        "files {} --csv",
        "head {}",
        "report {} -o {report}",
        "--help",
        "--version",
    ],
)
def test_output_that_cannot_be_written(orders, tmp_path, arguments) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, *arguments.format(orders, report=tmp_path / "r.html").split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.stderr == "error: the output cannot be written: No space left on device\n"
    assert done.returncode == 3


def test_output_that_is_closed(run, orders, monkeypatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        code = cli.main(["show", orders])
    assert code == 3


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for another process")
def test_ctrl_c_ends_a_command_that_waits() -> None:
    requested = threading.Event()
    release = threading.Event()

    class Slow(BaseHTTPRequestHandler):
        """A store that does not respond."""

        def do_GET(self) -> None:
            requested.set()
            release.wait(60)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        options = {
            "aws_endpoint": f"http://127.0.0.1:{server.server_port}",
            "aws_region": "here",
            "allow_http": "true",
            "aws_skip_signature": "true",
        }
        arguments = [f"--storage-option={name}={value}" for name, value in options.items()]
        command = subprocess.Popen(
            [*COMMAND, "show", "s3://bucket/table", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            assert requested.wait(60)
            time.sleep(0.1)
            command.send_signal(signal.SIGINT)
            out, err = command.communicate(timeout=60)
        finally:
            release.set()
            server.shutdown()
    assert (command.returncode, out) == (130, b"")
    assert b"Traceback" not in err


def test_slow_imports_are_avoided(tmp_path) -> None:
    dr.write(tmp_path / "t", [{"id": 1}])
    code = (
        "import sys; from deltareplay.cli import main\n"
        f"assert main(['show', {str(tmp_path / 't')!r}]) == 0\n"
        "slow = {'pandas', 'pyarrow.compute', 'polars'} & set(sys.modules)\n"
        "assert not slow, slow\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
