"""HTTP servers on this machine that send the responses of a test, or a table."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

#: A status, headers and a body, or a function that yields its pieces.
Response = tuple[int, dict[str, str], bytes | Callable[[], Iterator[bytes]]]

#: A response, or a function from the path of a request to one.
Responder = Response | Callable[[str], Response]

#: Headers of each object.
HEAD = {"ETag": '"e"', "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}


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


def listing(table: Path, kind: str) -> bytes:
    """Return the listing of the log, as each kind of store returns it."""
    date, names = "Mon, 01 Jan 2024 00:00:00 GMT", sorted((table / "_delta_log").iterdir())
    if kind == "s3":
        entries = "".join(
            f"<Contents><Key>t/_delta_log/{name.name}</Key><Size>{name.stat().st_size}</Size>"
            "<LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>"
            for name in names
        )
        return f"<ListBucketResult>{entries}</ListBucketResult>".encode()
    entries = "".join(
        f"<D:response><D:href>/t/_delta_log/{name.name}</D:href><D:propstat><D:prop>"
        f"<D:resourcetype/><D:getcontentlength>{name.stat().st_size}</D:getcontentlength>"
        f"<D:getlastmodified>{date}</D:getlastmodified></D:prop>"
        "<D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>"
        for name in names
    )
    return f'<D:multistatus xmlns:D="DAV:">{entries}</D:multistatus>'.encode()


def store(
    table: Path, kind: str, replacement: Callable[[str], Response | None]
) -> Callable[[str], Response]:
    """Return the responses of a store that serves the table, unless ``replacement`` returns one."""

    def respond(path: str) -> Response:
        replaced = replacement(path)
        if replaced is not None:
            return replaced
        if is_listing(path):
            return 207 if kind == "http" else 200, {}, listing(table, kind)
        file = table / path.partition("?")[0].rpartition("/t/")[2]
        if not file.is_file():
            return 404, {}, b""
        body = file.read_bytes()
        head = dict(HEAD)
        if file.suffix == ".parquet":  # requests for these have the range of the whole file
            head["Content-Range"] = f"bytes 0-{len(body) - 1}/{len(body)}"
        return 206 if file.suffix == ".parquet" else 200, head, body

    return respond


def is_listing(path: str) -> bool:
    return "list-type=" in path or path.rstrip("/").endswith("_delta_log")
