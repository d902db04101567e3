"""``Table.report`` in a real browser: no script error, no request, and something to see."""

from __future__ import annotations

import http.server
import re
import shutil
import struct
import subprocess
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import logs

import deltareplay as dr

BROWSER = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome", "chrome")
        if (found := shutil.which(name))
    ),
    None,
)

#: Chromium looks for its own updates, whatever it shows.
BROWSERS_OWN = re.compile(r"(^|[/.])(google|googleapis|gstatic)\.com(:443)?(/|$)")

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no chromium on the path: apt-get install chromium"
)


@pytest.fixture
def asked() -> Iterator[tuple[str, list[str]]]:
    """The address of a proxy that answers nothing useful, and what it was asked for."""
    paths: list[str] = []

    class Proxy(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_error(404)

        do_CONNECT = do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_port}", paths
    server.shutdown()
    server.server_close()
    thread.join()


def browse(page: Path, proxy: str, *options: str) -> tuple[str, str]:
    """The page after its scripts, and what the browser said."""
    done = subprocess.run(
        [
            str(BROWSER),
            "--headless=new",
            "--no-sandbox",  # as root in a container
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            f"--proxy-server={proxy}",
            f"--user-data-dir={page.parent / 'profile'}",
            *options,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, "\n".join(
        line for line in done.stderr.splitlines() if ":CONSOLE" in line or "Uncaught" in line
    )


def colours(png: bytes) -> tuple[int, int, int]:
    """Width, height and the number of different rows of a screenshot."""
    assert png.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", png[16:24])
    place, data = 8, b""
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        if png[place + 4 : place + 8] == b"IDAT":
            data += png[place + 8 : place + 8 + length]
        place += 12 + length
    rows = zlib.decompress(data)
    line = len(rows) // height
    return width, height, len({rows[at : at + line] for at in range(0, len(rows), line)})


def test_runs_without_an_error_or_a_request(
    events: logs.LogBuilder, tmp_path: Path, asked: tuple[str, list[str]]
) -> None:
    proxy, paths = asked
    picture = tmp_path / "report.png"
    page = dr.Table(events.uri).report(tmp_path / "report.html")

    content, said = browse(page, proxy, "--dump-dom")
    assert said == ""
    assert 'data-ready="true"' in content  # its script ran to the end
    assert 'aria-label="Switch to dark colours"' in content
    assert re.search(r'<th scope="col"[^>]*><button type="button">', content)

    browse(page, proxy, f"--screenshot={picture}", "--window-size=400,2400")
    width, height, rows = colours(picture.read_bytes())
    assert (width, height) == (400, 2400)
    assert rows > 300  # text and charts, not a blank page
    assert [path for path in paths if not BROWSERS_OWN.search(path)] == []

    # the same means do see errors and requests
    bad = tmp_path / "bad.html"
    bad.write_text('<img src="http://evil.example/x"><script>nowhere()</script>')
    _, said = browse(bad, proxy, "--dump-dom")
    assert "nowhere is not defined" in said
    assert "http://evil.example/x" in paths


def test_its_policy_stops_what_an_attacker_adds(
    events: logs.LogBuilder, tmp_path: Path, asked: tuple[str, list[str]]
) -> None:
    proxy, paths = asked
    page = dr.Table(events.uri).report(tmp_path / "report.html")
    attack = '<img src="http://evil.example/x"><script>document.title = "owned"</script>'
    page.write_text(page.read_text().replace("</main>", f"{attack}</main>"))

    content, said = browse(page, proxy, "--dump-dom")
    assert "<title>owned</title>" not in content
    assert said.count("Content Security Policy") >= 2
    assert not [path for path in paths if "evil.example" in path]
