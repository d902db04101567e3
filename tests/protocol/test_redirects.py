"""Redirects of a server are followed within its own origin only."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from support.servers import Response, Servers

import deltareplay as dr

Redirect = Callable[[str], tuple[int, str]]
FAST = {"allow_http": "true", "max_retries": "0", "retry_timeout": "1s", "timeout": "5s"}


@pytest.fixture
def serve() -> Iterator[Callable[[Redirect], str]]:
    servers = Servers()

    def start(redirect: Redirect) -> str:
        def respond(path: str) -> Response:
            status, location = redirect(path)
            return status, {"Location": location} if location else {}, b""

        return servers.start(respond)

    yield start
    servers.stop()


def tables(address: str) -> dict[str, dr.Table]:
    keys = {"aws_access_key_id": "AKIA", "aws_secret_access_key": "SECRET", "aws_region": "x"}
    return {
        "http": dr.Table(f"{address}/t", FAST),
        "s3": dr.Table("s3://bucket/t", {**FAST, **keys, "aws_endpoint": address}),
    }


@pytest.mark.parametrize("kind", ["http", "s3"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_to_another_origin_are_refused(
    serve: Callable[[Redirect], str], kind: str, status: int
) -> None:
    requested: list[str] = []

    def elsewhere(path: str) -> tuple[int, str]:
        requested.append(path)
        return 200, ""

    other = serve(elsewhere)
    table = tables(serve(lambda path: (status, other + path)))[kind]
    with pytest.raises(dr.StorageError) as caught:
        table.snapshot()
    assert caught.value.code == "storage.redirect"
    assert requested == []
    assert "SECRET" not in str(caught.value)


def test_redirects_within_the_origin_are_followed(serve: Callable[[Redirect], str]) -> None:
    requested: list[str] = []

    def moved(path: str) -> tuple[int, str]:
        requested.append(path)
        return (404, "") if path.startswith("/new") else (307, f"/new{path}")

    with pytest.raises(dr.DeltaReplayError) as caught:
        dr.Table(f"{serve(moved)}/t", FAST).snapshot()
    assert caught.value.code != "storage.redirect"
    assert any(path.startswith("/new") for path in requested)


def test_redirect_loops_are_refused(serve: Callable[[Redirect], str]) -> None:
    with pytest.raises(dr.StorageError) as caught:
        dr.Table(f"{serve(lambda path: (307, path))}/t", FAST).snapshot()
    assert caught.value.code == "storage.redirect"
