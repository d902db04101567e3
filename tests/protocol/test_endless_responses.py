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
from support.servers import HEAD, Response, Servers, is_listing, listing, store

import deltareplay as dr

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads peak memory from /proc")

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
