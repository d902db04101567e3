"""``ThriftClient``: a client of a Thrift server over a plain connection."""

from __future__ import annotations

import socket
import time
from typing import Any

from deltareplay._support import log
from deltareplay.catalogs import _thrift

#: The maximum size of a response.
_MAX_BYTES = 16 << 20


class ThriftClient:
    """A connection, to be used in a ``with`` block.

    Args:
        host: The server's name or address.
        port: Its port.
        timeout: Seconds for the connection, and again for all calls.

    Raises:
        OSError: The server does not respond, or not in time.
    """

    def __init__(self, host: str, port: int, timeout: float) -> None:
        self._socket = socket.create_connection((host, port), timeout)
        self._deadline = time.monotonic() + timeout
        self._buffer = bytearray()
        self._left = _MAX_BYTES

    def call(self, method: str, arguments: _thrift.Fields) -> dict[int, Any]:
        """Call a method.

        Raises:
            OSError: The server does not respond, or not in time.
            ThriftError: The response is not a valid reply to the call, or too long.
            ThriftRefusal: The server does not know the method, or failed.
        """
        began = time.monotonic()
        self._wait()
        self._socket.sendall(_thrift.encode_call(method, arguments))
        reply = _thrift.decode_reply(self._read, method)
        log.debug("thrift %s in %.3f s", method, time.monotonic() - began)
        return reply

    def _read(self, size: int) -> bytes:
        self._left -= size
        if self._left < 0:
            raise _thrift.ThriftError(f"it is longer than {_MAX_BYTES >> 20} MiB")
        while len(self._buffer) < size:
            self._wait()
            chunk = self._socket.recv(1 << 16)
            if not chunk:
                raise ConnectionError("it closed the connection")
            self._buffer += chunk
        piece = bytes(self._buffer[:size])
        del self._buffer[:size]
        return piece

    def _wait(self) -> None:
        """Limit the next operation of the socket to the remaining time."""
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError("it did not respond in time")
        self._socket.settimeout(remaining)

    def __enter__(self) -> ThriftClient:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()
