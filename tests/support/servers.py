"""HTTP servers on this machine that send the responses of a test."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: A status, headers and a body, or a function that yields its pieces.
Response = tuple[int, dict[str, str], bytes | Callable[[], Iterator[bytes]]]

#: A response, or a function from the path of a request to one.
Responder = Response | Callable[[str], Response]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256  # with 5, many requests at a time are dropped and repeated


class Servers:
    """Starts servers, and stops them all."""

    def __init__(self) -> None:
        self._running: list[ThreadingHTTPServer] = []

    def start(self, responder: Responder) -> str:
        """Start a server; return its address."""
        server = _Server(("127.0.0.1", 0), _handler(responder))
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        self._running.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    def stop(self) -> None:
        for server in self._running:
            server.shutdown()
            server.server_close()


def _handler(responder: Responder) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def _any(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, headers, body = responder(self.path) if callable(responder) else responder
            with contextlib.suppress(OSError):  # the client has disconnected, as it should
                self.send_response(status)
                for key, value in headers.items():
                    self.send_header(key, value)
                size = len(body) if isinstance(body, bytes) else 1000
                if "Content-Length" not in headers:
                    self.send_header("Content-Length", str(size))
                self.end_headers()
                for piece in [body] if isinstance(body, bytes) else body():
                    self.wfile.write(piece)
                    self.wfile.flush()

        do_GET = do_HEAD = do_POST = do_PUT = do_PROPFIND = _any

    return Handler
