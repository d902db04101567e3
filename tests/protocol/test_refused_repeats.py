"""A store that executes the put of a commit, responds 500, and refuses to repeat the put."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

import deltareplay as dr

OPTIONS = {
    "aws_access_key_id": "AKIA",
    "aws_secret_access_key": "SECRET",
    "aws_region": "x",
    "allow_http": "true",
}
COMMIT = "_delta_log/00000000000000000001.json"


class Bucket(ThreadingHTTPServer):
    """A bucket whose objects are the files of a directory."""

    daemon_threads = True

    def __init__(self, directory: Path, refusal: int, *, refuses_reads: bool) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.directory = directory
        self.refusal = refusal
        self.refuses_reads = refuses_reads
        self.puts = 0


class Handler(BaseHTTPRequestHandler):
    server: Bucket

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        for name, value in (
            ("ETag", '"e"'),
            ("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT"),
            ("Content-Length", str(len(body))),
        ):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self) -> None:
        bucket, url = self.server, urlsplit(self.path)
        file = bucket.directory / unquote(url.path).removeprefix("/bucket").strip("/")
        if bucket.puts and bucket.refuses_reads:
            self._answer(bucket.refusal)
        elif url.query:
            self._answer(200, self._listing(parse_qs(url.query)["prefix"][0]))
        elif file.is_file():
            self._answer(200, file.read_bytes())
        else:
            self._answer(404)

    do_HEAD = do_GET

    def _listing(self, prefix: str) -> bytes:
        directory = self.server.directory
        entries = "".join(
            f"<Contents><Key>{key}</Key><Size>{file.stat().st_size}</Size>"
            "<LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>"
            for file in sorted(directory.rglob("*"))
            if file.is_file() and (key := str(file.relative_to(directory))).startswith(prefix)
        )
        return f"<ListBucketResult>{entries}</ListBucketResult>".encode()

    def do_PUT(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        file = self.server.directory / unquote(self.path).removeprefix("/bucket/")
        if not self.path.endswith(COMMIT):
            file.write_bytes(body)
            self._answer(200)
            return
        self.server.puts += 1
        if self.server.puts == 1:
            file.write_bytes(body)
        self._answer(500 if self.server.puts == 1 else self.server.refusal)

    def do_DELETE(self) -> None:
        (self.server.directory / unquote(self.path).removeprefix("/bucket/")).unlink()
        self._answer(204)

    def do_POST(self) -> None:  # deletes several objects
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        keys = [part.split("</Key>")[0] for part in body.split("<Key>")[1:]]
        for key in keys:
            (self.server.directory / key).unlink()
        deleted = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
        self._answer(200, f"<DeleteResult>{deleted}</DeleteResult>".encode())


@pytest.fixture
def bucket(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bucket]:
    dr.write(tmp_path / "t", {"id": [1]})
    refusal, refuses_reads = request.param
    with Bucket(tmp_path, refusal, refuses_reads=refuses_reads) as bucket:
        threading.Thread(target=bucket.serve_forever, args=(0.02,), daemon=True).start()
        yield bucket
        bucket.shutdown()


def table_in(bucket: Bucket) -> dr.Table:
    address = f"http://127.0.0.1:{bucket.server_port}"
    return dr.Table("s3://bucket/t", {**OPTIONS, "aws_endpoint": address})


@pytest.mark.parametrize(
    "bucket", [(status, False) for status in (401, 403, 404)], indirect=True, ids=str
)
def test_a_commit_is_found_after_its_repeat_was_refused(bucket: Bucket) -> None:
    assert table_in(bucket).append({"id": [2]}).version == 1
    assert bucket.puts == 2
    rows = dr.Table(bucket.directory / "t").snapshot().to_arrow()["id"].to_pylist()
    assert sorted(rows) == [1, 2]


@pytest.mark.parametrize("bucket", [(403, True)], indirect=True, ids=str)
def test_a_commit_is_unknown_after_its_repeat_and_reads_were_refused(bucket: Bucket) -> None:
    with pytest.raises(dr.CommitStateUnknownError) as caught:
        table_in(bucket).append({"id": [2]}, timeout=0.5)
    assert caught.value.code == "commit.unknown"
    rows = dr.Table(bucket.directory / "t").snapshot().to_arrow()["id"].to_pylist()
    assert sorted(rows) == [1, 2], "its data file was kept"
