"""Responses that Glue does not send: a typed error without secrets."""

from __future__ import annotations

import copy
import json
import time
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from support.servers import Response, Servers

import deltareplay as dr
from deltareplay.catalogs import GlueCatalog

pytest.importorskip("boto3", reason="pip install --group stores")

SECRET = "hush-hush-secret"
TARGET = {"CatalogId": "1", "DatabaseName": "x", "Name": "y", "Region": "eu-west-1"}
TABLE = {
    "Table": {
        "Name": "t",
        "TableType": "EXTERNAL_TABLE",
        "Parameters": {"spark.sql.sources.provider": "delta"},
        "StorageDescriptor": {
            "Location": "file:///nowhere",
            "InputFormat": "x",
            "SerdeInfo": {"Parameters": {"path": "file:///nowhere"}},
        },
    }
}
LINK = {"Table": {**TABLE["Table"], "TargetTable": TARGET}}
ODD: list[Any] = [None, 5, 1.5, True, "", "\x1b[31m", "\ud800", "\0", [], ["x"], {}, {"a": 5}]
ODD += [{"a": None}, 2**70, "x" * 100_000]


@pytest.fixture(scope="module")
def catalog() -> Iterator[tuple[GlueCatalog, dict[str, Any]]]:
    """Yield a catalog, and the status and body with which its server responds."""
    current: dict[str, Any] = {}

    def respond(_: str) -> Response:
        return current["status"], {}, current["body"]

    servers = Servers()
    url = servers.start(respond)
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_MAX_ATTEMPTS": "1",
        }.items():
            monkeypatch.setenv(name, value)
        yield GlueCatalog(region="eu-west-1", endpoint_url=url, timeout=2), current
    servers.stop()


@pytest.mark.parametrize(
    "address",
    ["https://u:hush@host", "http://host?token=hush", "http://host#hush", "http://host:1;hush"],
)
def test_an_address_with_a_secret_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        GlueCatalog(region="eu-west-1", endpoint_url=address)
    assert caught.value.code == "catalog.address"
    assert "hush" not in "".join(traceback.format_exception(caught.value))


def test_an_address_of_the_environment_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://user:hush@127.0.0.1:1/?token=hush")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(dr.StorageError) as caught:
        GlueCatalog(region="eu-west-1", timeout=1).locate("d.t")
    assert caught.value.code == "catalog.unreachable"
    assert "hush" not in "".join(traceback.format_exception(caught.value))


def fields(body: dict[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in body.items():
        yield (*above, key)
        if isinstance(value, dict):
            yield from fields(value, (*above, key))


def changed(body: dict[str, Any], path: tuple[str, ...], value: Any) -> bytes:
    body = copy.deepcopy(body)
    struct = body
    for key in path[:-1]:
        struct = struct[key]
    struct[path[-1]] = value
    return json.dumps(body).encode()


def code_of(catalog: GlueCatalog) -> str:
    """Return the code of the error in locating the table."""
    try:
        assert catalog.locate("d.t").uri.startswith("file:///nowhere")
    except dr.DeltaReplayError as caught:
        error = caught
    else:
        return ""
    assert SECRET not in "".join(traceback.format_exception(error))
    assert SECRET not in repr(error.__context__)
    assert len(str(error)) < 10_000
    assert str(error).replace("\n", "").isprintable()
    return error.code


@pytest.mark.parametrize("body", [TABLE, LINK], ids=["table", "link"])
def test_odd_types_in_each_field(
    catalog: tuple[GlueCatalog, dict[str, Any]], body: dict[str, Any]
) -> None:
    glue, current = catalog
    current["status"] = 200
    codes = set()
    for path in fields(body):
        for value in ODD:
            current["body"] = changed(body, path, value)
            codes.add(code_of(glue))
    assert {"", "catalog.response", "catalog.not_delta"} <= codes
    assert codes <= {"", "catalog.response", "catalog.not_delta", "catalog.address"} | {
        "catalog.no_location",
        "catalog.refused",
        "catalog.unreachable",
    }


@pytest.mark.parametrize("status", [200, 400, 403, 404])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"{",
        b'"x"',
        b"\xff",
        b"[" * 100_000,
        b'{"__type":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"__type":5,"message":["x"]}',
        b'{"__type":{"a":1}}',
        b'{"__type":"hush-hush-secret","message":"no hush-hush-secret"}',
        b'{"Table":NaN}',
    ],
    ids=lambda body: ascii(body[:12]),
)
def test_invalid_responses_raise_typed_errors(
    catalog: tuple[GlueCatalog, dict[str, Any]], status: int, body: bytes
) -> None:
    glue, current = catalog
    current.update(status=status, body=body)
    assert code_of(glue)


def test_slow_responses_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The timeout of boto3 applies to each packet."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, SECRET)

    def trickle() -> Iterator[bytes]:
        for _ in range(100):
            yield b" "
            time.sleep(0.1)

    servers = Servers()
    url = servers.start((200, {}, trickle))
    began = time.monotonic()
    with pytest.raises(dr.StorageError, match="in time") as caught:
        GlueCatalog(region="eu-west-1", endpoint_url=url, timeout=0.5).locate("d.t")
    assert time.monotonic() - began < 5
    assert caught.value.code == "catalog.unreachable"
    servers.stop()
