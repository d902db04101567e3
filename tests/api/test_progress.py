"""A long call shows its progress on a terminal, and nowhere else."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import deltareplay as dr
from deltareplay._support import progress

pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")

CODE = """
import sys, deltareplay as dr
options = {"aws_endpoint": sys.argv[1], "aws_region": "here", "allow_http": "true",
           "aws_skip_signature": "true"}
try:
    dr.Table("s3://bucket/table", options).snapshot()
except dr.DeltaReplayError as error:
    print(type(error).__name__)
"""


class Slow(BaseHTTPRequestHandler):
    """A store that responds slowly, and is empty."""

    def do_GET(self) -> None:
        time.sleep(0.8)
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def endpoint() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_terminal_shows_progress_and_is_left_clean(endpoint: str) -> None:
    displayed = on_a_terminal(endpoint)
    assert re.search(r"deltareplay 0:00:0[1-9]", displayed)
    assert displayed.rstrip().endswith("\r\x1b[K")


def test_an_environment_variable_disables_progress(endpoint: str) -> None:
    assert on_a_terminal(endpoint, DELTAREPLAY_PROGRESS="0") == ""


def test_a_pipe_stays_silent(endpoint: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, endpoint], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().endswith("Error")
    assert done.stderr == ""


def open_slowly(endpoint: str) -> None:
    options = {
        "aws_endpoint": endpoint,
        "aws_region": "here",
        "allow_http": "true",
        "aws_skip_signature": "true",
    }
    with pytest.raises(dr.DeltaReplayError) as caught:
        dr.Table("s3://bucket/table", options).snapshot()
    assert caught.value.code == "storage.io"


def test_a_callback_is_called_instead(endpoint: str) -> None:
    reported: list[dr.Progress] = []
    with dr.progress(reported.append):
        open_slowly(endpoint)
    assert [item.finished for item in reported] == [False] * (len(reported) - 1) + [True]
    seconds = [item.seconds for item in reported]
    assert len(reported) >= 2
    assert seconds[0] >= 1
    assert seconds == sorted(seconds)
    assert {item.fraction for item in reported} == {None}


def test_a_callback_that_fails_does_not_fail_the_call(endpoint: str, caplog) -> None:
    def fails(_: dr.Progress) -> None:
        raise OSError("the bar is gone")

    with dr.progress(fails):
        open_slowly(endpoint)
    assert "the bar is gone" in caplog.text


def test_a_bar_in_colour_is_as_wide_as_one_without() -> None:
    now = progress.Progress(1.0, 0, 10, 0.5)
    coloured = progress.line(now, bars=True, colours=True)
    assert re.sub(r"\x1b\[[0-9]*m", "", coloured).replace("─", "━") == progress.line(
        now, bars=True
    ).replace("─", "━")
    assert coloured.count("\x1b[0m") == 2


def on_a_terminal(endpoint: str, **environment: str) -> str:
    """Return the output of a slow call on a terminal."""
    parent_end, child_end = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", CODE, endpoint],
        stdout=subprocess.PIPE,
        stderr=child_end,
        env={**os.environ, **environment},
    )
    os.close(child_end)
    result = b""
    while True:
        try:
            piece = os.read(parent_end, 1000)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        result += piece
    os.close(parent_end)
    assert child.communicate()[0].decode().strip().endswith("Error")
    return result.decode()


def test_progress_without_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert progress.attached() is None
    progress.show(1.0, 0, 0, (1, 2))
    progress.clear()


def test_progress_with_a_closed_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def isatty(self) -> bool:
            return True

        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Gone())
    progress.show(1.0, 0, 0, (1, 2))
    progress.clear()

    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    assert progress.attached() is None
