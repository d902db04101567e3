"""Responses that claim, or have, more bytes than requested: an error without much memory.

Each case runs in a separate process: memory for the claimed length would kill it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.servers import Response, Servers

import deltareplay as dr

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads peak memory from /proc")

#: Headers of each object.
HEAD = {"ETag": '"e"', "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}
TERABYTE = 10**12
MIB = 1 << 20
CHILD = """
import json, sys
import deltareplay as dr
try:
    result = dr.Table(sys.argv[1], json.loads(sys.argv[2])).snapshot().to_arrow().num_rows
except dr.DeltaReplayError as error:
    result = error.code
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([result, int(peak.split()[1]) >> 10]))
"""
FAST = {"allow_http": "true", "max_retries": "0", "retry_timeout": "1s", "timeout": "9s"}
KEYS = {"aws_access_key_id": "AKIA", "aws_secret_access_key": "SECRET", "aws_region": "x"}


@pytest.fixture
def servers() -> Iterator[Servers]:
    servers = Servers()
    yield servers
    servers.stop()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    dr.write(tmp_path / "t", {"id": [1, 2, 3]})
    return tmp_path / "t"


def opened(kind: str, address: str) -> tuple[Any, int]:
    """Return the output of a process about the table at a server, and its memory in MiB."""
    uri, options = f"{address}/t", FAST
    if kind == "s3":
        uri, options = "s3://bucket/t", {**FAST, **KEYS, "aws_endpoint": address}
    call = [sys.executable, "-W", "ignore", "-c", CHILD, uri, json.dumps(options)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    output, peak = json.loads(done.stdout)
    return output, peak


def endless() -> Iterator[bytes]:
    while True:
        yield b"{}\n" * 100_000


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


REQUESTS: dict[str, Callable[[str], bool]] = {
    "listing": is_listing,
    "hint": lambda path: "_last_checkpoint" in path,
    "commit": lambda path: ".json" in path,
    "data": lambda path: ".parquet" in path,
}


@pytest.mark.parametrize("kind", ["http", "s3"])
def test_a_store_without_replaced_responses_is_read(
    servers: Servers, table: Path, kind: str
) -> None:
    output, _ = opened(kind, servers.start(store(table, kind, lambda path: None)))
    assert output == 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["http", "s3"])
@pytest.mark.parametrize("target", REQUESTS)
@pytest.mark.parametrize("status", [200, 206, 404, 500])
def test_a_claimed_length_allocates_no_memory(
    servers: Servers, table: Path, kind: str, target: str, status: int
) -> None:
    """The body or the connection ends long before the length in the header."""

    def replacement(path: str) -> Response | None:
        if not REQUESTS[target](path):
            return None
        head = dict(HEAD)
        head["Content-Length"] = str(TERABYTE)
        head["Content-Range"] = f"bytes 0-{TERABYTE - 1}/{TERABYTE}"
        return status, head, lambda: iter([b"{}\n" * 1000] * 3)

    output, peak = opened(kind, servers.start(store(table, kind, replacement)))
    assert output == 3 or isinstance(output, str)
    assert peak < 300


@pytest.mark.parametrize("kind", ["http", "s3"])
@pytest.mark.parametrize("target", ["listing", "data"])
def test_an_endless_response_is_not_read_forever(
    servers: Servers, table: Path, kind: str, target: str
) -> None:
    size = next(table.glob("*.parquet")).stat().st_size

    def replacement(path: str) -> Response | None:
        if not REQUESTS[target](path):
            return None
        head = dict(HEAD)
        head["Content-Length"] = str(TERABYTE)
        head["Content-Range"] = f"bytes 0-{size - 1}/{size}"
        return 206 if target == "data" else 500, head, endless

    output, peak = opened(kind, servers.start(store(table, kind, replacement)))
    assert str(output).startswith("storage.")
    assert peak < 400


def test_a_listing_that_repeats_its_page_is_an_error(servers: Servers, table: Path) -> None:
    more = b"<IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>"

    def replacement(path: str) -> Response | None:
        if not is_listing(path):
            return None
        return 200, {}, listing(table, "s3").replace(b"<Contents>", more + b"<Contents>", 1)

    output, _ = opened("s3", servers.start(store(table, "s3", replacement)))
    assert output == "storage.io"


def test_a_listing_that_repeats_its_token_is_an_error(servers: Servers, table: Path) -> None:
    more = b"<IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>"
    page = b"<ListBucketResult>" + more + b"</ListBucketResult>"
    replaced = store(table, "s3", lambda path: (200, {}, page) if is_listing(path) else None)
    output, _ = opened("s3", servers.start(replaced))
    assert output == "storage.io"
