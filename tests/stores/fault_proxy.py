"""A proxy that loses answers: every third put of a commit goes wrong, each time in another way."""

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

#: ``lost``: applied, and the connection is cut. ``failed_after``: applied, and the answer is 500.
#: ``failed_before``: not applied, 503. ``late``: 500 at once, applied a moment later.
FAULTS = ("lost", "failed_after", "failed_before", "late")
LATE = 0.3
_COMMIT = re.compile(r"\d{20}(\.|%2E)json")
_HOP = {"connection", "transfer-encoding", "keep-alive", "content-length"}


@contextmanager
def serve(target: int) -> Iterator[tuple[int, Counter[str]]]:
    """Forwards to the port ``target``; the proxy's own port, and how often each fault struck."""
    struck: Counter[str] = Counter()
    state = {
        "target": target,
        "struck": struck,
        "count": itertools.count(1),
        "lock": threading.Lock(),
    }
    handler = type("Handler", (_Handler,), state)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port, struck
        server.shutdown()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    target: int
    struck: Counter[str]
    count: Iterator[int]
    lock: threading.Lock

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self._fault()
        if fault == "failed_before":
            self._answer(503, {}, b"")
        elif fault == "late":
            threading.Thread(target=self._apply_late, args=(body,), daemon=True).start()
            self._answer(500, {}, b"")
        else:
            status, headers, answer = self._forward(body)
            if fault == "lost":
                self.close_connection = True
            elif fault == "failed_after":
                self._answer(500, {}, b"")
            else:
                self._answer(status, headers, answer)

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _handle

    def _fault(self) -> str | None:
        if self.command != "PUT" or not _COMMIT.search(self.path):
            return None
        with self.lock:
            number = next(self.count)
            if number % 3:
                return None
            fault = FAULTS[number // 3 % len(FAULTS)]
            self.struck[fault] += 1
            return fault

    def _apply_late(self, body: bytes) -> None:
        time.sleep(LATE)
        self._forward(body)

    def _forward(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.target, timeout=60)
        try:
            connection.putrequest(
                self.command, self.path, skip_host=True, skip_accept_encoding=True
            )
            for name, value in self.headers.items():  # with the host: signatures cover it
                connection.putheader(name, value)
            connection.endheaders(body or None)
            answer = connection.getresponse()
            found = answer.read()
            headers = {
                name: value for name, value in answer.getheaders() if name.lower() not in _HOP
            }
            if self.command == "HEAD":
                headers["Content-Length"] = answer.headers.get("Content-Length", "0")
            return answer.status, headers, found
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
