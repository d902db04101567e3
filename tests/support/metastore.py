"""A Hive metastore that responds with the bytes of a test."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

#: The first word of a response: its version and kind.
REPLY, EXCEPTION = 0x80010002, 0x80010003


class Metastore:
    """Sends the result of ``answer`` for each call, slowly if requested; disconnects if empty.

    Attributes:
        calls: The bytes of each call.
    """

    def __init__(self, answer: Callable[[bytes], bytes], byte_every: float = 0) -> None:
        self.calls: list[bytes] = []
        self._answer, self._byte_every = answer, byte_every
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.uri = f"thrift://127.0.0.1:{self.port}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return  # it was closed
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):  # the client hangs up when it has read enough
            while called := connection.recv(1 << 16):
                self.calls.append(called)
                answer = self._answer(called)
                if not answer:
                    return
                if not self._byte_every:
                    connection.sendall(answer)
                    continue
                for byte in answer:
                    connection.sendall(bytes([byte]))
                    time.sleep(self._byte_every)

    def __enter__(self) -> Metastore:
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)  # otherwise it would accept one more
        self._listening.close()


def text(value: str) -> bytes:
    encoded = value.encode()
    return struct.pack(">i", len(encoded)) + encoded


def encoded(value: Any) -> tuple[int, bytes]:
    """Return type and bytes of a value: text, number, struct by numbers, or map of texts."""
    if isinstance(value, str):
        return 11, text(value)
    if isinstance(value, int):
        return 8, struct.pack(">i", value)
    if all(isinstance(key, str) for key in value) and value:
        pairs = b"".join(text(key) + text(item) for key, item in value.items())
        return 13, b"\x0b\x0b" + struct.pack(">i", len(value)) + pairs
    body = b""
    for number, item in value.items():
        kind, part = encoded(item)
        body += struct.pack(">bh", kind, number) + part
    return 12, body + b"\0"


def reply(method: str, fields: Mapping[int, Any], kind: int = REPLY) -> bytes:
    """Return the response to a call."""
    return struct.pack(">I", kind) + text(method) + bytes(4) + encoded(fields)[1]


def table(location: str, **parameters: str) -> dict[int, Any]:
    """Return a table as stored in the metastore."""
    return {1: "orders", 2: "sales", 7: {2: location, 7: {}}, 9: parameters, 12: "EXTERNAL_TABLE"}
