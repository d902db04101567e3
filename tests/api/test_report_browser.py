"""``Table.report`` in a real browser: no script error, no request, and visible content."""

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
        browser
        for name in ("chromium", "chromium-browser", "google-chrome", "chrome")
        if (browser := shutil.which(name))
    ),
    None,
)

#: Chromium checks for its own updates, whatever it displays.
BROWSERS_OWN = re.compile(r"(^|[/.])(google|googleapis|gstatic)\.com(:443)?(/|$)")

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no chromium on the path: apt-get install chromium"
)


@pytest.fixture
def proxy_server() -> Iterator[tuple[str, list[str]]]:
    """The address of a proxy without useful responses, and the requests to it."""
    paths: list[str] = []

    class Proxy(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_error(404)

        do_CONNECT = do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_port}", paths
    server.shutdown()
    server.server_close()
    thread.join()


def browse(page: Path, proxy: str, *options: str) -> tuple[str, str]:
    """Return the page after its scripts have run, and the messages of the browser."""
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


def image_size(png: bytes) -> tuple[int, int, int]:
    """Return width, height and the number of different rows of pixels of a screenshot."""
    assert png.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", png[16:24])
    at, data = 8, b""
    while at < len(png):
        (length,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + length]
        at += 12 + length
    rows = zlib.decompress(data)
    line = len(rows) // height
    return width, height, len({rows[at : at + line] for at in range(0, len(rows), line)})


def test_the_report_runs_without_errors_or_requests(
    events: logs.LogBuilder, tmp_path: Path, proxy_server: tuple[str, list[str]]
) -> None:
    proxy, paths = proxy_server
    picture = tmp_path / "report.png"
    page = dr.Table(events.uri).report(tmp_path / "report.html")

    content, output = browse(page, proxy, "--dump-dom")
    assert output == ""
    assert 'data-ready="true"' in content  # its script ran to the end
    assert 'aria-label="Switch to dark colours"' in content
    assert re.search(r'<th scope="col"[^>]*><button type="button">', content)

    browse(page, proxy, f"--screenshot={picture}", "--window-size=400,2400")
    width, height, rows = image_size(picture.read_bytes())
    assert (width, height) == (400, 2400)
    assert rows > 300  # text and charts, not a blank page
    assert [path for path in paths if not BROWSERS_OWN.search(path)] == []

    # the same method detects errors and requests
    bad = tmp_path / "bad.html"
    bad.write_text('<img src="http://evil.example/x"><script>nowhere()</script>')
    _, output = browse(bad, proxy, "--dump-dom")
    assert "nowhere is not defined" in output
    assert "http://evil.example/x" in paths


def test_its_policy_blocks_injected_content(
    events: logs.LogBuilder, tmp_path: Path, proxy_server: tuple[str, list[str]]
) -> None:
    proxy, paths = proxy_server
    page = dr.Table(events.uri).report(tmp_path / "report.html")
    attack = '<img src="http://evil.example/x"><script>document.title = "owned"</script>'
    page.write_text(page.read_text().replace("</main>", f"{attack}</main>"))

    content, output = browse(page, proxy, "--dump-dom")
    assert "<title>owned</title>" not in content
    assert output.count("Content Security Policy") >= 2
    assert not [path for path in paths if "evil.example" in path]
