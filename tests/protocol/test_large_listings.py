"""Listings of many pages: the directories of a large table are listed in parallel.

The server sends three keys a page, so that small tables have many pages.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import pytest
from support.servers import Response, Servers

import deltareplay as dr

PAGE = 3
#: The number of pages after which directories are listed in parallel.
FIRST_PAGES = 4
OLD = 1_700_000_000
KEYS = {"aws_access_key_id": "AKIA", "aws_secret_access_key": "SECRET", "aws_region": "x"}

#: Files that no action names, and hidden ones, which a vacuum ignores.
TABLES: dict[str, list[str]] = {
    "two pages": ["a", "b"],
    "one directory": [f"part-{number}.parquet" for number in range(40)],
    "few directories": [f"p={p}/part-{number}" for p in range(3) for number in range(15)],
    "directories in directories": [
        *(f"y={y}/m={m}/d={d}/x" for y in range(2) for m in range(7) for d in range(9)),
        *("y=0/above", "y=1/m=3/above", "top"),
    ],
    "many directories": [f"p={p}/x" for p in range(80)],
    "more directories than are listed in parallel": [f"p={p}/x" for p in range(1001)],
    "few directories with many in them": [f"p={p % 2}/q={p}/x" for p in range(1001)],
    "hidden": [*(f".hidden/{number}" for number in range(40)), "p=1/x", "p=1/_y", "_z/x"],
    "names that are encoded": [f"p=%2F {p}/a b%20&.parquet" for p in range(30)],
}


class Bucket:
    """Serves the files of a directory as S3 does; keeps the requests for listings."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.keys = sorted(
            path.relative_to(directory).as_posix()
            for path in directory.rglob("*")
            if path.is_file()
        )
        self.listings: list[dict[str, str]] = []

    def __call__(self, path: str) -> Response:
        split = urlsplit(path)
        query = {key: values[0] for key, values in parse_qs(split.query).items()}
        if "list-type" in query:
            self.listings.append(query)
            return 200, {}, self.page(query)
        file = self.directory / unquote(split.path).removeprefix("/bucket/")
        if not file.is_file():
            return 404, {}, b""
        head = {"ETag": '"e"', "Last-Modified": "Tue, 14 Nov 2023 22:13:20 GMT"}
        return 200, head, file.read_bytes()

    def page(self, query: dict[str, str]) -> bytes:
        prefix = query.get("prefix", "")
        after = query.get("continuation-token", query.get("start-after", ""))
        entries: dict[str, str] = {}
        for key in self.keys:
            if not key.startswith(prefix):
                continue
            name, slash, _ = key[len(prefix) :].partition("/")
            if slash and query.get("delimiter"):
                entry = f"{prefix}{name}/"
                xml = f"<CommonPrefixes><Prefix>{escape(entry)}</Prefix></CommonPrefixes>"
            else:
                entry, size = key, (self.directory / key).stat().st_size
                xml = (
                    f"<Contents><Key>{escape(key)}</Key><Size>{size}</Size>"
                    "<LastModified>2023-11-14T22:13:20.000Z</LastModified></Contents>"
                )
            if entry > after:
                entries[entry] = xml
        shown = list(entries)[:PAGE]
        token = ""
        if len(shown) < len(entries):
            token = f"<NextContinuationToken>{escape(shown[-1])}</NextContinuationToken>"
        body = "".join(entries[entry] for entry in shown)
        return f"<ListBucketResult>{body}{token}</ListBucketResult>".encode()


@pytest.fixture
def servers() -> Iterator[Servers]:
    servers = Servers()
    yield servers
    servers.stop()


def write_table(directory: Path, names: list[str]) -> None:
    """Write a table with these additional files, all of them old."""
    dr.write(directory, {"id": [1]})
    for name in names:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(b"orphan")
    for path in directory.rglob("*"):
        if path.is_file():
            os.utime(path, (OLD, OLD))


def is_hidden(name: str) -> bool:
    return any(part.startswith(("_", ".")) for part in name.split("/"))


@pytest.mark.slow
@pytest.mark.parametrize("case", TABLES)
def test_a_vacuum_sees_each_file(servers: Servers, tmp_path: Path, case: str) -> None:
    names = TABLES[case]
    write_table(tmp_path / "t", names)
    bucket = Bucket(tmp_path)
    options = {**KEYS, "aws_endpoint": servers.start(bucket), "allow_http": "true"}
    table = dr.Table("s3://bucket/t", options)
    table.snapshot()
    bucket.listings.clear()
    files = table.vacuum(datetime.timedelta(0), force=True).files
    assert files == tuple(sorted(name for name in names if not is_hidden(name)))

    pages = [query for query in bucket.listings if query.get("prefix") == "t/"]
    recursive = [query for query in pages if "delimiter" not in query]
    if case == "more directories than are listed in parallel":
        assert len(recursive) == (len(bucket.keys) + PAGE - 1) // PAGE
    else:
        assert len(recursive) <= FIRST_PAGES
    prefixes = {query.get("prefix", "") for query in bucket.listings} - {"t/", "t/_delta_log/"}
    assert not any(is_hidden(prefix.rstrip("/")) for prefix in prefixes)


def test_verify_finds_each_orphan(servers: Servers, tmp_path: Path) -> None:
    names = TABLES["directories in directories"]
    write_table(tmp_path / "t", names)
    options = {**KEYS, "aws_endpoint": servers.start(Bucket(tmp_path)), "allow_http": "true"}
    findings = dr.Table("s3://bucket/t", options).verify().findings
    orphans = {finding.path for finding in findings if finding.code == "file.orphan"}
    assert orphans == set(names)


class EndlessDirectories(Bucket):
    """A store in which each directory has another one."""

    def page(self, query: dict[str, str]) -> bytes:
        prefix = query.get("prefix", "")
        if not query.get("delimiter") or "_delta_log" in prefix:
            return super().page(query)
        deeper = f"<CommonPrefixes><Prefix>{prefix}x/</Prefix></CommonPrefixes>"
        return f"<ListBucketResult>{deeper}</ListBucketResult>".encode()


def test_endlessly_nested_directories(servers: Servers, tmp_path: Path) -> None:
    write_table(tmp_path / "t", TABLES["one directory"])
    bucket = EndlessDirectories(tmp_path)
    options = {**KEYS, "aws_endpoint": servers.start(bucket), "allow_http": "true"}
    table = dr.Table("s3://bucket/t", options)
    table.vacuum(datetime.timedelta(0), force=True)
    assert len(bucket.listings) < 50
