"""Requests to a catalog that speaks JSON over HTTP."""

from __future__ import annotations

import http.client
import json
import random
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Container, Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from deltareplay._support import log
from deltareplay.catalogs._timely import timely_opener
from deltareplay.exceptions import InvalidArgumentError, StorageError

Json = dict[str, Any]

#: The maximum size of a response in bytes.
_MAX_BYTES = 16 << 20
#: The maximum number of characters of an error's text that a message repeats.
_MAX_MESSAGE = 2000
#: The maximum number of attempts of a request, and the minimum wait before the second in seconds.
_ATTEMPTS = 4
_MIN_WAIT = 0.2
#: The statuses after which a retry may succeed.
_RETRYABLE = {429, 502, 503, 504}


class RestError(Exception):
    """An error response.

    Attributes:
        status: The HTTP status.
        kind: The catalog's name of the error, e.g. ``NoSuchTableException``; or "".
        message: The catalog's message.
    """

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(f"{kind or status}: {message}")
        self.status = status
        self.kind = kind
        self.message = message


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Rejects redirects, which would send the token to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None


def check_address(address: str, advice: str) -> None:
    """Check the address of a catalog, which must not contain secrets.

    Raises:
        InvalidArgumentError: ``catalog.address``, with the advice what to do instead.
    """
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
        (host or "").encode("idna")
    except ValueError:  # an invalid port or host
        parts, host = urlsplit(""), None
    is_bare = host and "@" not in address and not parts.query and not parts.fragment
    is_sendable = address.isprintable() and " " not in address and parts.path.isascii()
    if not (is_bare and is_sendable) or parts.scheme not in ("http", "https"):
        # not repeated: what does not belong there may be a secret
        raise InvalidArgumentError(
            f"the address of a catalog is http(s)://host, without a user or a query: {advice}",
            code="catalog.address",
        )


class RestClient:
    """A client of one address. The token is never printed.

    Args:
        base: The address, without a slash at its end.
        token: The bearer token, or a function that returns it for each request.
        timeout: Seconds for a request, up to the last byte of its response.
    """

    def __init__(self, base: str, token: str | Callable[[], str] | None, timeout: float) -> None:
        check_address(base, "pass a token as the argument token")
        self.base = base
        self._token = token
        self._timeout = timeout

    def __repr__(self) -> str:
        return f"RestClient({self.base!r})"

    def token(self) -> str:
        """Return the bearer token of the next request, without a line break at its end.

        Raises:
            InvalidArgumentError: ``catalog.denied``: the token cannot be sent in a header.
        """
        token = str((self._token() if callable(self._token) else self._token) or "").strip()
        if not (token.isascii() and token.isprintable()):
            raise InvalidArgumentError(  # not repeated
                "the token has invalid characters: check where it comes from",
                code="catalog.denied",
            )
        return token

    def path(self, *parts: str) -> str:
        """Join parts, which may contain any character, to a path."""
        return "/" + "/".join(quote(part, safe="") for part in parts)

    def get(
        self, path: str, query: Mapping[str, str] | None = None, body: Json | None = None
    ) -> Json:
        """Make a GET request; retry while the server is busy or unreachable."""
        return self._send_with_retries("GET", path, query, body, {*_RETRYABLE, None})

    def post(self, path: str, body: Json) -> Json:
        """Make a POST request; retry only if the server reports that it is too busy (429, 503)."""
        return self._send_with_retries("POST", path, None, body, {429, 503})

    def post_commit(self, path: str, body: Json) -> Json:
        """Make a POST request that commits; retry only after "too many requests" (429).

        A 503 may come from a proxy that lost the response to a successful commit. A retry would
        then be rejected as a conflict with that commit, so the caller must look for it first.
        """
        return self._send_with_retries("POST", path, None, body, {429})

    def _send_with_retries(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: Json | None,
        retried: Container[int | None],
    ) -> Json:
        """Make a request; retry after these statuses, and with None if there is no response."""
        attempt = 1
        while True:
            try:
                return self._send(method, path, query, body)
            except _RetryableError as error:
                status = error.error.status if isinstance(error.error, RestError) else None
                if attempt == _ATTEMPTS or status not in retried:
                    raise error.error from error.error.__cause__
                wait = error.retry_after or _MIN_WAIT * 2**attempt * random.uniform(0.5, 1.0)
                if wait > max(self._timeout, _MIN_WAIT * 2**_ATTEMPTS):
                    raise error.error from error.error.__cause__  # longer than the caller waits
                log.warning("%s %s: %s; again in %.1f s", method, path, error.error, wait)
            time.sleep(wait)
            attempt += 1

    def _send(
        self, method: str, path: str, query: Mapping[str, str] | None, body: Json | None
    ) -> Json:
        url = self.base + path + (f"?{urlencode(query)}" if query else "")
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, method=method)
        request.add_header("Accept", "application/json")
        if data is not None:
            request.add_header("Content-Type", "application/json")
        token = self.token()
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        began = time.monotonic()
        opener = timely_opener(began + self._timeout, _NoRedirects)
        refusal = None
        try:
            with opener.open(request, timeout=self._timeout) as response:
                answer = _decoded(response.read(_MAX_BYTES + 1), path)
        except urllib.error.HTTPError as error:
            refusal = _refusal(error, token)
        except (OSError, http.client.HTTPException) as error:
            # without the request, which has the token
            unreachable = StorageError(
                f"the catalog at {self.base} did not respond: {error}", code="catalog.unreachable"
            )
            unreachable.__cause__ = error
            raise _RetryableError(unreachable, None) from None
        if refusal is not None:
            raise refusal  # without the response as its context, which may repeat the token
        log.debug("%s %s in %.3f s", method, path, time.monotonic() - began)
        return answer


class _RetryableError(Exception):
    """A failure after which a retry may succeed; it never leaves this module."""

    def __init__(self, error: Exception, retry_after: float | None) -> None:
        super().__init__(str(error))
        self.error = error
        self.retry_after = retry_after


def _decoded(content: bytes, path: str) -> Json:
    if not content:
        return {}
    try:
        if len(content) > _MAX_BYTES:
            raise ValueError(f"it has more than {_MAX_BYTES} bytes")
        answer = json.loads(content, parse_constant=_no_number)
        if isinstance(answer, dict):
            return answer
        problem = "is not a JSON object"
    except RecursionError:
        problem = "is nested too deeply"
    except ValueError as error:
        problem = f"is invalid: {error}"
    # without the JSON error as its context: that has the content, which may repeat the token
    raise StorageError(f"the catalog's response to {path} {problem}", code="catalog.response")


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON number")


def _refusal(error: urllib.error.HTTPError, token: str) -> Exception:
    """Convert an error response to the exception for it, which does not repeat the token."""
    kind, message = "", error.reason or ""
    try:
        body = json.loads(error.read(1 << 20))
        inner = body.get("error", body)
        if isinstance(inner, dict):
            kind = str(inner.get("type") or inner.get("error_code") or "")
            message = str(inner.get("message") or message)
    except (ValueError, OSError, AttributeError, RecursionError, http.client.HTTPException):
        pass  # a proxy answers in HTML
    if token:
        kind, message = kind.replace(token, "\u2026"), message.replace(token, "\u2026")
    refusal = RestError(error.code, kind[:_MAX_MESSAGE], message[:_MAX_MESSAGE])
    exhausted = kind in ("ResourceExhaustedException", "RESOURCE_EXHAUSTED")
    if error.code not in _RETRYABLE or exhausted:
        return refusal
    after = error.headers.get("Retry-After", "")
    seconds = after if after.isascii() and after.isdigit() and len(after) < 10 else ""
    return _RetryableError(refusal, float(seconds) if seconds else None)
