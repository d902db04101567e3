"""Servers whose responses are not those of an HDFS name node, or that do not respond."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

import deltareplay as dr


def silent(connection: socket.socket) -> None:
    connection.recv(1 << 16)


def slow(connection: socket.socket) -> None:
    for byte in b"\x00\x00\x00\x40" + bytes(64):
        connection.sendall(bytes([byte]))
        time.sleep(0.5)


def long(connection: socket.socket) -> None:
    connection.sendall(b"\x00\x10\x00\x00")  # announces a megabyte, but sends nothing


def negative(connection: socket.socket) -> None:
    connection.sendall(b"\xff\xff\xff\xfe")


@contextlib.contextmanager
def served(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """Answer each connection in a separate thread, and keep it open."""
    ended = threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            answer(connection)
            ended.wait()

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield listening.getsockname()[1]
        finally:
            ended.set()
            listening.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("answer", [silent, slow, long, negative])
def test_requests_to_invalid_name_nodes_time_out(answer: Callable[[socket.socket], None]) -> None:
    with served(answer) as port:
        options = {"timeout": "300ms", "max_retries": "0"}
        table = dr.Table(f"hdfs://127.0.0.1:{port}/t", options)
        began = time.monotonic()
        with pytest.raises(dr.StorageError) as raised:
            table.snapshot()
        assert "no response within 300ms" in str(raised.value)
        with pytest.raises(dr.StorageError) as raised:
            table.append({"id": [1]})
        assert raised.value.code == "storage.io"
        assert time.monotonic() - began < 20
