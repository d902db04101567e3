"""Invalid paths, URIs and options: an error without secrets, and no forged request.

A server on this machine records the requests.
"""

from __future__ import annotations

import socket
import threading
import traceback
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote

import pytest
from support.servers import Response, Servers

import deltareplay as dr

SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"


class Server:
    """Responds to every request with 404, and records it."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self) -> None:
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            with client:
                client.settimeout(5)
                self.requests.append(client.recv(1 << 16))
                client.sendall(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.socket.close()


def options(server: Server) -> dict[str, str]:
    return {
        "aws_access_key_id": "k",
        "aws_secret_access_key": SECRET,
        "aws_region": "x",
        "aws_endpoint": f"http://127.0.0.1:{server.port}",
        "aws_allow_http": "true",
        "max_retries": "0",
        "timeout": "3s",
    }


URIS = [
    *("", " ", ".", "//", "\x00", "a\x00b", "a\nb", "x" * 5000, "\u202e/x", "~/x", "$HOME/x"),
    *("file:", "file://", "file://host/x", "file:relative", "memory://", "memory:///../x"),
    *("s3://", "s3:///x", "s3://b@127.0.0.1/x", "s3://user:pw@bucket/x", "s3://b/../c"),
    *("s3://b/%2e%2e/c", "s3://b/a\r\nX-Evil: 1", "s3://b\r\nx/y", "s3://b/a b", "s3://[::1]/x"),
    *("s3://b/x?versionId=1", "s3://b/x#frag", "http://", "https://x:99999/y", "hdfs://"),
    *("http://user:{secret}@127.0.0.1:{port}/t", "http://127.0.0.1:{port}/t?sig={secret}"),
    *("http://user:{quoted}@127.0.0.1:{port}/t", "s3://user:{secret}@b/x"),
    *("gs://user:{secret}@b/x", "abfss://user:{secret}@a.dfs.core.windows.net/x"),
    *("http://127.0.0.1:{port}/a\r\nX-Evil: 1", "http://127.0.0.1:{port}\\@evil/x"),
    *(
        "uc://a.b",
        "uc://" + "a." * 50,
        "javascript:alert(1)",
        "data:,x",
        "ftp://x/y",
        "jar:file:/x",
    ),
    *("abfss://c@evil.example/x", "az://c/x", "gs://b/x", "delta.`/x`", "/x@v1", "C:\\x", "a:b"),
]


@pytest.mark.parametrize("uri", URIS, ids=repr)
def test_errors_of_uris_have_no_secrets(uri: str, server: Server) -> None:
    parts = {"{secret}": SECRET, "{quoted}": quote(SECRET, ""), "{port}": str(server.port)}
    for name, value in parts.items():
        uri = uri.replace(name, value)
    argument: Any = options(server) if uri.startswith("s3") else None
    # without limits, the client requests credentials from the machine for a long time
    if uri.startswith("gs"):
        argument = {"max_retries": "0", "timeout": "3s"}
    for call in (
        lambda: dr.Table(uri, argument).snapshot(),
        lambda: dr.is_table(uri, storage_options=argument),
        lambda: repr(dr.Table(uri, argument)),
    ):
        try:
            text = str(call())
        except dr.DeltaReplayError as error:
            text = f"{error} {error!r} {error.code}"
        # where a slash ends the host, an error may have a part of the secret
        for forbidden in (*SECRET.split("/"), "\r", "\x1b", "\u202e", "internal.panic"):
            assert forbidden not in text
    assert not any(b"\nX-Evil" in request for request in server.requests)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("aws_access_key_id", "a\r\nX-Evil: 1"), ("aws_session_token", "t\r\nX-Evil: 1")),
        *(("aws_access_key_id", "AKIA\n"), ("aws_region", "a\nb"), ("user_agent", "u\nX-Evil: 1")),
        *(("aws_endpoint", "host:9000"), ("aws_endpoint", ""), ("aws_endpoint", "http://a b/")),
        *(("timeout", "x"), ("max_retries", "-1"), ("nope", SECRET), (SECRET, "x"), ("", "x")),
        ("proxy_url", f"http://u:{SECRET}@127.0.0.1\n"),
    ],
)
def test_invalid_options(key: str, value: str, server: Server) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.Table("s3://bucket/t", {**options(server), key: value}).snapshot()
    assert caught.value.code in ("options.value", "options.unknown")
    assert SECRET not in str(caught.value)
    assert not any(b"\nX-Evil" in request for request in server.requests)


ADDRESSES = [
    ("s3", "aws_endpoint"),
    ("s3", "aws_metadata_endpoint"),
    ("s3", "aws_container_credentials_full_uri"),
    ("s3", "aws_endpoint_url_sts"),
    ("az", "azure_endpoint"),
    ("az", "azure_msi_endpoint"),
    ("az", "azure_authority_host"),
    ("gs", "google_base_url"),
]


@pytest.mark.parametrize(("scheme", "key"), ADDRESSES, ids=[key for _, key in ADDRESSES])
def test_an_option_that_must_be_an_address(scheme: str, key: str) -> None:
    """The clients of the stores panic on addresses that no request can use."""
    bare = ["user:secret@host:9000", "mailto:x", "host", "", " ", "\u00e9", "file:///x"]
    odd = ["", "/x", "a b", "[::1", "host:99999", "a|b", "host/{x}", 'host/"x"', "\u00e9/x"]
    for address in [*bare, *(f"http://{rest}" for rest in odd)]:
        account = {"account_name": "a", "client_id": "i", "client_secret": "s", "tenant_id": "t"}
        with pytest.raises(dr.InvalidArgumentError, match="an address") as caught:
            dr.Table(
                f"{scheme}://c/t", {**(account if scheme == "az" else {}), key: address}
            ).snapshot()
        assert caught.value.code == "options.value"
        assert "secret" not in str(caught.value)


def test_credentials_with_a_line_break_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, server: Server
) -> None:
    """The variable was set from a file with a trailing line break."""
    rest = options(server)
    del rest["aws_access_key_id"]
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA\n")
    with pytest.raises(dr.InvalidArgumentError, match="line breaks") as caught:
        dr.Table("s3://bucket/t", rest).snapshot()
    assert caught.value.code == "options.value"


STORES = {
    "s3": ("aws_endpoint", {"aws_region": "x"}),
    "az": ("azure_endpoint", {"account_name": "a", "sas_token": f"sv=1&sig={quote(SECRET, '')}"}),
    "gs": ("google_base_url", {"google_bearer_token": SECRET}),
}


@pytest.mark.parametrize("scheme", STORES)
def test_errors_omit_secrets_that_a_server_repeats(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3 repeats the headers that it signed, with the token (SignatureDoesNotMatch)."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, SECRET)
    servers = Servers()
    try:
        for status in (400, 403, 404, 409, 500):

            def repeated(path: str, status: int = status) -> Response:
                text = f"<Error><Message>{path} x-amz-security-token:{SECRET}</Message></Error>"
                return status, {}, f"{text} {unquote(path)}".encode()

            key, others = STORES[scheme]
            options = {
                **others,
                key: servers.start(repeated),
                "allow_http": "true",
                "max_retries": "0",
            }
            table = dr.Table(f"{scheme}://c/t", options)
            for verb, arguments in (
                ("snapshot", ()),
                ("append", [{"id": [1]}]),
                ("_repr_html_", ()),
            ):
                try:
                    text = str(getattr(table, verb)(*arguments))
                except dr.DeltaReplayError as error:
                    text = "".join(traceback.format_exception(error))
                assert SECRET not in text, text
                assert quote(SECRET, "") not in text, text
    finally:
        servers.stop()
