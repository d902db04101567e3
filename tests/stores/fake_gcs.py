"""A small Google Cloud Storage: the part of the XML API that a table needs, in this process.

Objects live in memory. A put with ``x-goog-if-generation-match: 0`` is atomic: there is one lock.
Every request is recorded, so that tests can count them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

#: The size of a page of a listing; small, so that tests see more than one.
PAGE = 50


@dataclass
class Bucket:
    """The objects, the requests, and the seconds before each response.

    Attributes:
        reads: The ranges that were read: key, first byte, the byte after the last.
        most_in_flight: The most reads at the same time since it was set.
        trouble: ``n``, a fault and its seconds: the first read of every n-th data file is
            ``slow``, or ``busy`` (503 with Retry-After).
    """

    objects: dict[str, tuple[bytes, int, float]] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    generation: int = 0
    broken: bool = False
    latency: float = 0.0
    reads: list[tuple[str, int, int]] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    trouble: tuple[int, str, float] | None = None
    troubled: set[tuple[str, str]] = field(default_factory=set)

    def read(self, key: str, start: int, end: int) -> None:
        """Record a read, and wait."""
        with self.lock:
            self.reads.append((key, start, end))
            self.in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
        time.sleep(self.latency)
        with self.lock:
            self.in_flight -= 1

    def trouble_with(self, key: str) -> tuple[str, float] | None:
        """Return the fault of this read, once for each key."""
        with self.lock:
            if self.trouble is None or "/_delta_log/" in key:
                return None
            each, kind, seconds = self.trouble
            if (kind, key) in self.troubled:
                return None
            self.troubled.add((kind, key))
            number = sum(item[0] == kind for item in self.troubled)
            return (kind, seconds) if number % each == 0 else None


@contextmanager
def serve(name: str, broken: bool = False) -> Iterator[tuple[str, Bucket]]:
    """Start a server with one bucket: its URL, and the bucket itself.

    A broken one accepts every put, whatever its condition.
    """
    bucket = Bucket(broken=broken)
    handler = type("Handler", (_Handler,), {"bucket": bucket, "name": name})
    with _Server(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", bucket
        server.shutdown()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    #: The number of connections that wait: others are retried after seconds.
    request_queue_size = 256

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that have disconnected."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    bucket: Bucket
    name: str

    def do_GET(self) -> None:
        key = self._key("GET")
        if key is None:
            self._list()
            return
        result = self.bucket.objects.get(key)
        if result is None:
            self._answer(404)
            return
        body, status, headers = result[0], 200, self._headers_of(result)
        trouble = self.bucket.trouble_with(key)
        if trouble is not None and trouble[0] == "busy":
            self._answer(503, b"", {"Retry-After": str(round(trouble[1]))})
            return
        if trouble is not None:
            time.sleep(trouble[1])
        start, end = 0, len(body)
        expected = self.headers.get("Range", "")
        if expected.startswith("bytes="):
            first, last = expected.removeprefix("bytes=").split("-")
            start = int(first) if first else max(len(body) - int(last), 0)
            end = min(int(last) + 1, len(body)) if last and first else len(body)
            if start >= len(body):
                self._answer(416)
                return
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(body)}"
            body, status = body[start:end], 206
        self.bucket.read(key, start, end)
        self._answer(status, body, headers)

    def do_HEAD(self) -> None:
        result = self.bucket.objects.get(self._key("HEAD") or "")
        if result is None:
            self._answer(404)
            return
        headers = self._headers_of(result)
        headers["Content-Length"] = str(len(result[0]))
        self._answer(200, None, headers)

    def do_PUT(self) -> None:
        key = self._key("PUT") or ""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        only_new = self.headers.get("x-goog-if-generation-match") == "0"
        with self.bucket.lock:
            if only_new and key in self.bucket.objects and not self.bucket.broken:
                self._answer(412)
                return
            self.bucket.generation += 1
            self.bucket.objects[key] = (body, self.bucket.generation, time.time())
            etag = f'"{self.bucket.generation}"'
        self._answer(200, b"", {"ETag": etag})

    def do_DELETE(self) -> None:
        key = self._key("DELETE") or ""
        with self.bucket.lock:
            gone = self.bucket.objects.pop(key, None)
        self._answer(204 if gone else 404)

    def _key(self, method: str) -> str | None:
        """Return the object of a request; None for the bucket."""
        path = unquote(urlsplit(self.path).path)
        with self.bucket.lock:
            self.bucket.requests.append((method, self.path))
        key = path.removeprefix(f"/{self.name}").lstrip("/")
        if method != "GET" or not key:
            time.sleep(self.bucket.latency)
        return key or None

    def _list(self) -> None:
        query = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        after = query.get("continuation-token") or query.get("start-after", "")
        with self.bucket.lock:
            keys = sorted(key for key in self.bucket.objects if key.startswith(prefix))
        keys = [key for key in keys if key > after]
        page, cut = keys[:PAGE], len(keys) > PAGE
        contents, folders = "", set()
        for key in page:
            rest = key[len(prefix) :]
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.split(delimiter)[0] + delimiter)
                continue
            body, generation, timestamp = self.bucket.objects[key]
            contents += (
                f"<Contents><Key>{escape(key)}</Key><Size>{len(body)}</Size>"
                f"<LastModified>{_iso(timestamp)}</LastModified>"
                f'<ETag>"{generation}"</ETag><Generation>{generation}</Generation></Contents>'
            )
        shared = "".join(
            f"<CommonPrefixes><Prefix>{escape(item)}</Prefix></CommonPrefixes>"
            for item in sorted(folders)
        )
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if cut else ""
        text = (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult>'
            f"<IsTruncated>{str(cut).lower()}</IsTruncated>{token}{contents}{shared}"
            "</ListBucketResult>"
        )
        self._answer(200, text.encode(), {"Content-Type": "application/xml"})

    @staticmethod
    def _headers_of(stored: tuple[bytes, int, float]) -> dict[str, str]:
        _, generation, timestamp = stored
        return {
            "ETag": f'"{generation}"',
            "Last-Modified": formatdate(timestamp, usegmt=True),
            "x-goog-generation": str(generation),
        }

    def _answer(
        self, status: int, body: bytes | None = b"", headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if body is not None:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if body:
            self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


def _iso(timestamp: float) -> str:
    from datetime import datetime, timezone

    return datetime.fromtimestamp(timestamp, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
