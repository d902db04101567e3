"""A proxy that loses responses: by default, every third put of a commit fails."""

from __future__ import annotations

import http.client
import itertools
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: ``lost``: applied, and the connection is cut. ``failed_after``: applied, and the response is
#: 500. ``failed_before``: not applied, 503. ``late``: 500 at once, applied a moment later.
FAULTS = ("lost", "failed_after", "failed_before", "late")
#: Seconds until a ``late`` put is applied.
LATE_S = 0.3
COMMITS = re.compile(r"\d{20}(\.|%2E)json")
DATA_FILES = re.compile(r"/part[^/]*parquet|%2Fpart.*parquet")
_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length"}


@contextmanager
def serve(
    target: int,
    *,
    files: re.Pattern[str] = COMMITS,
    every: int = 3,
    faults: tuple[str, ...] = FAULTS,
    released: threading.Event | None = None,
) -> Iterator[tuple[int, Counter[str]]]:
    """Forward to the port ``target``; return the proxy's own port, and the number of each fault.

    Args:
        target: The port of the store.
        files: The names of files whose puts may fail.
        every: ``n``, if every n-th of these puts fails.
        faults: The faults, in turn.
        released: Set when ``late`` puts may be applied; by default, each is after ``LATE_S``.
    """
    counts: Counter[str] = Counter()
    state = {
        "target": target,
        "files": files,
        "every": every,
        "faults": faults,
        "released": released,
        "counts": counts,
        "count": itertools.count(1),
        "lock": threading.Lock(),
    }
    handler = type("Handler", (_Handler,), state)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield server.server_port, counts
        server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    target: int
    files: re.Pattern[str]
    every: int
    faults: tuple[str, ...]
    released: threading.Event | None
    counts: Counter[str]
    count: Iterator[int]
    lock: threading.Lock

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        # the connection may have the next request before a late one is executed
        request = (self.command, self.path, list(self.headers.items()), body)
        fault = self._fault()
        if fault == "failed_before":
            self._answer(503, {}, b"")
        elif fault == "late":
            threading.Thread(target=self._apply_late, args=request, daemon=True).start()
            self._answer(500, {}, b"")
        else:
            status, headers, answer = self._forward(*request)
            if fault == "lost":
                self.close_connection = True
            elif fault == "failed_after":
                self._answer(500, {}, b"")
            else:
                self._answer(status, headers, answer)

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _handle

    def _fault(self) -> str | None:
        if self.command != "PUT" or not self.files.search(self.path):
            return None
        with self.lock:
            number = next(self.count)
            if number % self.every:
                return None
            fault = self.faults[number // self.every % len(self.faults)]
            self.counts[fault] += 1
            return fault

    def _apply_late(self, *request: Any) -> None:
        if self.released is None:
            time.sleep(LATE_S)
        else:
            self.released.wait()
        self._forward(*request)

    def _forward(
        self, command: str, path: str, sent: list[tuple[str, str]], body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.target, timeout=60)
        try:
            connection.putrequest(command, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent:  # with the host: signatures cover it
                connection.putheader(name, value)
            connection.endheaders(body or None)
            answer = connection.getresponse()
            result = answer.read()
            headers = {
                name: value for name, value in answer.getheaders() if name.lower() not in _HOP
            }
            if command == "HEAD":
                headers["Content-Length"] = answer.headers.get("Content-Length", "0")
            return answer.status, headers, result
        finally:
            connection.close()

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...
