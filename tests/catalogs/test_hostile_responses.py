"""Invalid responses of Unity Catalog cause a typed error, promptly and without secrets."""

from __future__ import annotations

import json
import math
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.servers import Responder, Response, Servers

import deltareplay as dr
from deltareplay.catalogs import UnityCatalog

TOKEN = "tok-SECRET-123"
NESTED = b'{"metadata":' + b"[" * 200_000 + b"]" * 200_000 + b"}"


def table_response(metadata: dict[str, Any] | None = None, **more: Any) -> Response:
    defaults = {"location": "file:///nowhere", "table-type": "MANAGED", "table-uuid": "u"}
    body = {"metadata": {**defaults, **(metadata or {})}, "latest-table-version": 0, "commits": []}
    return 200, {}, json.dumps({**body, **more}).encode()


def ratified(version: Any) -> dict[str, Any]:
    return {
        "version": version,
        "file-name": f"{0:020d}.aa.json",
        "file-size": 1,
        "file-modification-timestamp": 1,
    }


class OlderApi:
    """The older API, whose list of commits never ends."""

    def __init__(self) -> None:
        self.version = -1

    def __call__(self, path: str) -> Response:
        if "/delta/v1" in path:
            error = {"type": "UnsupportedTableFormatException", "message": ""}
            return 400, {}, json.dumps({"error": error}).encode()
        if "/tables/" in path:
            managed = {"delta.feature.catalogManaged": "supported"}
            table = {"storage_location": "file:///nowhere", "table_id": "t", "properties": managed}
            return 200, {}, json.dumps(table).encode()
        self.version += 1
        commit = {
            "version": self.version,
            "file_name": "x",
            "file_size": 1,
            "file_modification_timestamp": 1,
        }
        commits = {"latest_table_version": 2**62, "commits": [commit]}
        return 200, {}, json.dumps(commits).encode()


def trickle() -> Iterator[bytes]:
    for _ in range(300):
        yield b" "
        time.sleep(0.1)


RESPONSES: dict[str, tuple[Responder, str]] = {
    "nested": ((200, {}, NESTED), "catalog.response"),
    "nested error": ((400, {}, NESTED), "catalog.refused"),
    "an error with the token": (
        (400, {}, json.dumps({"error": {"type": TOKEN, "message": f"no {TOKEN}"}}).encode()),
        "catalog.refused",
    ),
    "not an object": ((200, {}, b"[]"), "catalog.response"),
    "no location": (table_response({"location": None}), "catalog.response"),
    "relative location": (table_response({"location": "some/where"}), "catalog.response"),
    "relative location like a URI": (table_response({"location": "a/b://c"}), "catalog.response"),
    "location by name": (table_response({"location": "uc://main.s.t"}), "catalog.response"),
    "location with NUL": (table_response({"location": "file:///tmp/\0x"}), "catalog.response"),
    "a list as a commit": (table_response(commits=[["x"]]), "catalog.response"),
    "huge version": (table_response(commits=[ratified(10**400)]), "catalog.response"),
    "negative version": (table_response(commits=[ratified(-1)]), "catalog.response"),
    "infinite version": (table_response(**{"latest-table-version": math.inf}), "catalog.response"),
    "endless pages": (OlderApi(), "catalog.response"),
    "too long": (table_response(padding="x" * (16 << 20)), "catalog.response"),
    "slow": ((200, {}, trickle), "catalog.unreachable"),
    "wait for years": ((429, {"Retry-After": "315360000"}, b"{}"), "catalog.unreachable"),
    "wait for \u00b2": ((429, {"Retry-After": "\u00b2"}, b"{}"), "catalog.unreachable"),
}


@pytest.fixture
def serve() -> Iterator[Callable[[Responder], str]]:
    servers = Servers()
    yield servers.start
    servers.stop()


@pytest.mark.parametrize("name", RESPONSES)
def test_an_invalid_response_is_a_typed_error(name: str, serve: Callable[..., str]) -> None:
    response, code = RESPONSES[name]
    catalog = UnityCatalog(serve(response), token=TOKEN, timeout=0.5)
    began = time.monotonic()
    with pytest.raises(dr.DeltaReplayError) as caught:
        dr.Table.from_name("main.s.t", catalog).snapshot()
    assert time.monotonic() - began < 20
    assert caught.value.code == code
    assert TOKEN not in "".join(traceback.format_exception(caught.value))
    assert TOKEN not in repr(caught.value.__context__)


RESPONSES_WITH_TOKEN = {
    "cut off": f'{{"token": "{TOKEN}"'.encode(),
    "not JSON": f"<html>{TOKEN}</html>".encode(),
    "not UTF-8": TOKEN.encode() + b"\xff",
    "a list": f'["{TOKEN}"]'.encode(),
    "no metadata": f'{{"location": 5, "token": "{TOKEN}"}}'.encode(),
}


@pytest.mark.parametrize("name", RESPONSES_WITH_TOKEN)
def test_no_error_keeps_a_response_with_the_token(name: str, serve: Callable[..., str]) -> None:
    catalog = UnityCatalog(serve((200, {}, RESPONSES_WITH_TOKEN[name])), token=TOKEN, timeout=5)
    with pytest.raises(dr.DeltaReplayError) as caught:
        dr.Table.from_name("main.s.t", catalog).snapshot()
    assert caught.value.code == "catalog.response"
    pending: list[BaseException | None] = [caught.value]
    while pending:
        error = pending.pop()
        if error is None:
            continue
        pending += [error.__cause__, error.__context__]
        kept = [getattr(error, attribute, None) for attribute in ("args", "doc", "object")]
        assert TOKEN not in repr([vars(error), *kept])


def test_a_redirect_is_not_followed(serve: Callable[..., str]) -> None:
    requested: list[str] = []

    def record(path: str) -> Response:
        requested.append(path)
        return table_response()

    location = serve(record)
    catalog = UnityCatalog(serve((302, {"Location": f"{location}/x"}, b"")), token=TOKEN)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.Table.from_name("main.s.t", catalog)
    assert caught.value.code == "catalog.refused"
    assert requested == []


@pytest.mark.parametrize("secret", [5, ["x"], {"a": "b"}])
def test_a_vended_secret_that_is_not_a_string_is_refused(
    serve: Callable[..., str], tmp_path: Path, secret: object
) -> None:
    def respond(path: str) -> Response:
        if "/credentials" not in path:
            return table_response({"location": tmp_path.as_uri()})
        config = {"s3.access-key-id": "a", "s3.secret-access-key": secret}
        vended = {"prefix": tmp_path.as_uri(), "config": config}
        return 200, {}, json.dumps({"storage-credentials": [vended]}).encode()

    catalog = UnityCatalog(serve(respond), token=TOKEN)
    with pytest.raises(dr.DeltaReplayError) as caught:
        dr.Table.from_name("main.s.t", catalog).snapshot()
    assert caught.value.code == "catalog.response"


KEYS = {"s3.access-key-id": "a", "s3.secret-access-key": "SECRET"}
VENDED: dict[str, tuple[object, str]] = {
    "not a list": (5, "catalog.response"),
    "a string": ("x", "catalog.response"),
    "an object": ({"config": KEYS}, "catalog.response"),
    "a list of null": ([None], "catalog.response"),
    "a number as prefix": ([{"prefix": 5, "config": KEYS}], "catalog.response"),
    "a list as prefix": ([{"prefix": ["s3://b"], "config": KEYS}], "catalog.response"),
    "a list as config": ([{"prefix": "s3://b", "config": [KEYS]}], "catalog.response"),
    **{
        f"expiry {expiry}": (
            [{"prefix": "s3://b", "config": KEYS, "expiration-time-ms": expiry}],
            "catalog.response",
        )
        for expiry in (-1, 2**63, 10**400, 1.5, True, "soon", [1], {})
    },
    "a line break": (
        [{"prefix": "s3://b", "config": {**KEYS, "s3.session-token": "a\r\nHost: evil"}}],
        "options.value",
    ),
    "a lone surrogate": (
        [{"prefix": "s3://b", "config": {**KEYS, "s3.session-token": "\ud800"}}],
        "catalog.answer",
    ),
    # expired, or with another endpoint: the caller's endpoint is used, where nothing listens
    "expired": ([{"prefix": "s3://b", "config": KEYS, "expiration-time-ms": 0}], "storage.io"),
    "another host": (
        [{"prefix": "s3://b", "config": {**KEYS, "s3.endpoint": "http://other.example"}}],
        "storage.io",
    ),
}


@pytest.mark.parametrize("name", VENDED)
def test_hostile_vended_credentials_are_not_displayed(name: str, serve: Callable[..., str]) -> None:
    offered, code = VENDED[name]

    def respond(path: str) -> Response:
        if "/credentials" not in path:
            return table_response({"location": "s3://b/t"})
        return 200, {}, json.dumps({"storage-credentials": offered}).encode()

    options = {
        "aws_endpoint": "http://127.0.0.1:9",
        "aws_allow_http": "true",
        "aws_region": "x",
        "max_retries": "0",
    }
    catalog = UnityCatalog(serve(respond), token=TOKEN)
    with pytest.raises(dr.DeltaReplayError) as caught:
        dr.Table.from_name("main.s.t", catalog, storage_options=options).snapshot()
    assert caught.value.code == code
    text = "".join(traceback.format_exception(caught.value))
    assert "SECRET" not in text
    assert "other.example" not in text


@pytest.mark.parametrize(
    "address",
    [
        "https://tok:SECRET@host",
        "host?token=SECRET",
        "https://host/p?access_token=SECRET",
        "h#SECRET",
        "host:1;SECRET",
        "https://SECRET..example",
        "http:/tok:SECRET@host",
        "https://host/SECRET \u00e9",
        f"https://SECRET{'x' * 70}",
    ],
)
def test_an_address_with_a_secret_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        UnityCatalog(address)
    assert caught.value.code == "catalog.address"
    assert "SECRET" not in str(caught.value)


def test_a_line_break_after_the_token_is_ignored(serve: Callable[..., str], tmp_path: Path) -> None:
    catalog = UnityCatalog(
        serve(table_response({"location": tmp_path.as_uri()})), token=f"{TOKEN}\n"
    )
    assert dr.Table.from_name("main.s.t", catalog).uri == tmp_path.as_uri()


@pytest.mark.parametrize("end", ["\n2", "\ud800", "\u20ac", "\0"])
def test_a_token_that_is_invalid_in_a_header_is_not_displayed(end: str) -> None:
    catalog = UnityCatalog("http://127.0.0.1:1", token=TOKEN + end, timeout=1)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        catalog.locate("main.s.t")
    assert caught.value.code == "catalog.denied"
    assert TOKEN not in "".join(traceback.format_exception(caught.value))
