"""Responses that are complete by a deadline, or fail.

The timeout of the standard library applies to each packet: a server that sends a byte now and then
could hold its client forever.
"""

from __future__ import annotations

import concurrent.futures
import functools
import http.client
import io
import socket
import threading
import time
import urllib.request
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def in_time(call: Callable[[], T], seconds: float) -> T:
    """Make a call of a library whose timeouts apply to each packet.

    A call that takes longer goes on in its own thread, and its result is dropped.

    Raises:
        TimeoutError: The call took longer than these seconds.

    >>> in_time(lambda: 5, 1.0)
    5
    """
    future: concurrent.futures.Future[T] = concurrent.futures.Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="deltareplay-catalog", daemon=True).start()
    concurrent.futures.wait([future], seconds)
    if not future.done():
        raise TimeoutError("it did not respond in time")
    return future.result()


def timely_opener(
    deadline: float, *handlers: type[urllib.request.BaseHandler]
) -> urllib.request.OpenerDirector:
    """Return an opener of requests whose responses must be complete by ``deadline``.

    Args:
        deadline: A time of ``time.monotonic``.
        handlers: Additional handlers of ``urllib``.
    """
    response = functools.partial(_Response, deadline=deadline)

    class Plain(http.client.HTTPConnection):
        response_class = response  # type: ignore[assignment]

    class Secure(http.client.HTTPSConnection):
        response_class = response  # type: ignore[assignment]

    class PlainHandler(urllib.request.HTTPHandler):
        def http_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
            return self.do_open(Plain, request)

    class SecureHandler(urllib.request.HTTPSHandler):
        def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
            return self.do_open(Secure, request)

    return urllib.request.build_opener(PlainHandler, SecureHandler, *handlers)


class _Response(http.client.HTTPResponse):
    def __init__(
        self, connection: socket.socket, *arguments: Any, deadline: float, **more: Any
    ) -> None:
        super().__init__(connection, *arguments, **more)
        self.fp.close()
        raw = connection.makefile("rb", buffering=0)
        self.fp = io.BufferedReader(_Timely(connection, raw, deadline))


class _Timely(io.RawIOBase):
    """A connection whose reads are limited to the remaining time."""

    def __init__(self, connection: socket.socket, raw: io.RawIOBase, deadline: float) -> None:
        self._connection = connection
        self._raw = raw
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        remaining = self._deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError("it did not respond in time")
        self._connection.settimeout(remaining)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()
