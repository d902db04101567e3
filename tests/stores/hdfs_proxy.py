"""A proxy for a name node that loses responses: by default, every third commit's rename fails."""

from __future__ import annotations

import itertools
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

#: ``lost``: executed, and the connection is cut. ``failed_before``: cut before that. ``late``: cut
#: at once, executed a moment later.
FAULTS = ("lost", "failed_before", "late")
#: Seconds until a ``late`` call is executed.
LATE_S = 0.3
#: The name of a commit; that of a temporary file continues with a dot.
COMMITS = re.compile(rb"/\d{20}\.json(?!\.)")
DATA_FILES = re.compile(rb"/part[^/]*parquet(?!\.)")
#: The first bytes of a client: ``hrpc``, version, service class, kind of authentication.
_GREETING = 7


@contextmanager
def serve(
    target: int,
    *,
    files: re.Pattern[bytes] = COMMITS,
    every: int = 3,
    faults: tuple[str, ...] = FAULTS,
    released: threading.Event | None = None,
) -> Iterator[tuple[int, Counter[str]]]:
    """Forward to the name node on the port ``target``; like :func:`stores.fault_proxy.serve`."""
    proxy = _Proxy(target, files, every, faults, released)
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=proxy.accept, args=[server], daemon=True).start()
        yield server.getsockname()[1], proxy.counts


@dataclass
class _Proxy:
    target: int
    files: re.Pattern[bytes]
    every: int
    faults: tuple[str, ...]
    released: threading.Event | None
    counts: Counter[str] = field(default_factory=Counter)
    count: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def accept(self, server: socket.socket) -> None:
        with suppress(OSError):  # closed: the test is over
            while True:
                client, _ = server.accept()
                threading.Thread(target=self.forward, args=[client], daemon=True).start()

    def forward(self, client: socket.socket) -> None:
        """Forward calls one by one, and responses as they arrive."""
        with client, socket.create_connection(("127.0.0.1", self.target)) as node:
            muted = threading.Event()
            threading.Thread(target=_answers, args=[node, client, muted], daemon=True).start()
            with suppress(OSError, EOFError):
                node.sendall(_read(client, _GREETING))
                while True:
                    length = _read(client, 4)
                    call = length + _read(client, *struct.unpack(">I", length))
                    fault = self.fault(call)
                    if fault is None:
                        node.sendall(call)
                        continue
                    muted.set()
                    if fault == "late":
                        _cut(client)
                        if self.released is None:
                            time.sleep(LATE_S)
                        else:
                            self.released.wait()
                    if fault != "failed_before":
                        node.sendall(call)
                        time.sleep(0.2)  # for the name node to execute it
                    _cut(client)
                    return

    def fault(self, call: bytes) -> str | None:
        if b"rename2" not in call or not self.files.search(call):
            return None
        number = next(self.count)
        if number % self.every:
            return None
        fault = self.faults[number // self.every % len(self.faults)]
        self.counts[fault] += 1
        return fault


def _answers(node: socket.socket, client: socket.socket, muted: threading.Event) -> None:
    with suppress(OSError):
        while (output := node.recv(1 << 16)) and not muted.is_set():
            client.sendall(output)


def _read(connection: socket.socket, length: int) -> bytes:
    result = b""
    while len(result) < length:
        piece = connection.recv(length - len(result))
        if not piece:
            raise EOFError
        result += piece
    return result


def _cut(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
