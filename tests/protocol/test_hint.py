"""``_last_checkpoint`` is a hint: it shortens the listing, and is never authoritative."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from protocol.reading import codes, commits, file, names, opened, paths
from support import logs
from support.servers import Response, Servers, store

import deltareplay as dr


@pytest.fixture
def servers() -> Iterator[Servers]:
    servers = Servers()
    yield servers
    servers.stop()


def hint(log: logs.LogBuilder, content: bytes) -> None:
    logs.write_file(log.table, "_last_checkpoint", content)


BAD = {
    "empty": b"",
    "torn": b'{"version":',
    "binary": b"\xff\xfe\x00\x01",
    "array": b"[]",
    "null": b"null",
    "text": b"3",
    "no version": b'{"size":3}',
    "version null": b'{"version":null,"size":3}',
    "version text": b'{"version":"3","size":3}',
    "version negative": b'{"version":-3,"size":3}',
    "version too large": b'{"version":99999999999999999999999,"size":3}',
    "version a fraction": b'{"version":3.5,"size":3}',
    "a key twice": b'{"version":3,"version":2,"size":3}',
    "checksum wrong": b'{"version":3,"size":3,"checksum":"00000000000000000000000000000000"}',
    "deeply nested": b'{"version":3,"size":3,"tags":' + b'{"a":' * 10_000 + b"1" + b"}" * 10_001,
    "huge": b'{"version":3,"size":3,"tags":{"a":"' + b"x" * 5_000_000 + b'"}}',
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD.keys())
@pytest.mark.parametrize("with_checkpoint", [True, False], ids=["checkpoint", "no checkpoint"])
def test_a_broken_hint_changes_nothing(
    log: logs.LogBuilder, content: bytes, with_checkpoint: bool
) -> None:
    commits(log, 5)
    if with_checkpoint:
        log.checkpoint(3, hint=False)
        log.delete_commits(3)
    hint(log, content)

    assert paths(opened(log)) == names(5)


@pytest.mark.parametrize(
    "name", ["empty", "torn", "binary", "array", "no version", "checksum wrong"]
)
def test_a_broken_hint_is_a_warning_or_an_error_in_strict_mode(
    log: logs.LogBuilder, name: str
) -> None:
    commits(log, 5)
    hint(log, BAD[name])

    snapshot = opened(log)

    assert any("_last_checkpoint" in (w.path or "") + w.message for w in snapshot.warnings)
    with pytest.raises(dr.DeltaReplayError) as caught:
        paths(opened(log, strict=True))
    assert "_last_checkpoint" in str(caught.value)


@pytest.mark.parametrize("version", [0, 1, 2, 4, 5, 6, 50])
def test_a_hint_at_a_version_without_a_checkpoint_changes_nothing(
    log: logs.LogBuilder, version: int
) -> None:
    commits(log, 5)
    log.checkpoint(3, hint=False)
    log.delete_commits(3)
    logs.write_hint(log.table, version)

    assert paths(opened(log)) == names(5)


def test_a_stale_hint_does_not_hide_a_newer_checkpoint(log: logs.LogBuilder) -> None:
    commits(log, 9)
    log.checkpoint(3)
    log.checkpoint(7, hint=False)
    for version in (4, 5, 6):
        file(log, logs.commit_name(version)).unlink()  # only the newer checkpoint replaces these

    assert paths(opened(log)) == names(9)


def test_a_hint_whose_checkpoint_was_cleaned_up_changes_nothing(log: logs.LogBuilder) -> None:
    commits(log, 9)
    log.checkpoint(3)
    log.checkpoint(7, hint=False)
    log.delete_commits(7)
    file(log, logs.classic_name(3)).unlink()

    assert paths(opened(log)) == names(9)


def test_a_hint_after_the_requested_version_is_skipped(log: logs.LogBuilder) -> None:
    commits(log, 9)
    log.checkpoint(3, hint=False)
    log.checkpoint(8)
    log.delete_commits(3)

    assert paths(opened(log, 5)) == names(5)


def test_a_hint_with_a_wrong_number_of_parts_is_ignored(log: logs.LogBuilder) -> None:
    commits(log, 5)
    log.checkpoint(3, kind="multipart", parts=2)
    log.delete_commits(3)
    logs.write_hint(log.table, 3, parts=3)

    assert paths(opened(log)) == names(5)


def test_a_hint_of_a_recreated_table_changes_nothing(log: logs.LogBuilder) -> None:
    commits(log, 2)
    logs.write_hint(log.table, 40)

    assert paths(opened(log)) == names(2)


def test_a_log_with_only_a_hint_is_not_a_table(log: logs.LogBuilder) -> None:
    logs.write_hint(log.table, 3)

    with pytest.raises(dr.TableNotFoundError) as caught:
        opened(log)
    assert caught.value.code == "table.not_found"


# The canonical form omits only the top-level checksum, encodes a space as %20 and keeps numbers
# and literals as written.
@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"sizeInBytes": 9, "numOfAddFiles": 3},
        {"tags": {"a b": "ü/ ~x", "checksum": "nested stays"}},
        {"checkpointSchema": {"type": "struct", "fields": [{"name": "add", "nullable": True}]}},
        {
            "v2Checkpoint": {
                "path": "x",
                "sizeInBytes": 1,
                "modificationTime": 1,
                "sidecarFiles": [],
                "nonFileActions": [],
            }
        },
    ],
    ids=["plain", "numbers", "tags", "schema", "v2"],
)
def test_a_valid_checksum_causes_no_warning(log: logs.LogBuilder, extra: dict[str, object]) -> None:
    commits(log, 5)
    log.checkpoint(3, hint=False)
    body = {"version": 3, "size": 6, **extra}
    logs.write_hint(log.table, 3, 6, **extra, checksum=logs.hint_checksum(body))

    snapshot = opened(log, strict=True)

    assert (paths(snapshot), codes(snapshot)) == (names(5), [])


def test_checksum_of_the_example_in_the_protocol() -> None:
    example = (
        '{"k0":"\'v 0\'","checksum":"adsaskfljadfkjadfkj","k1":{"k2":2,"k3":["v3",[1,2],'
        '{"k4":"v4","k5":["v5","v6","v7"]}]}}'
    )
    assert logs.hint_checksum(json.loads(example)) == "6a92d155a59bf2eecbd4b4ec7fd1f875"


def test_a_hint_with_every_field_and_unknown_ones_is_read(log: logs.LogBuilder) -> None:
    commits(log, 5)
    log.checkpoint(3, kind="multipart", parts=2)
    logs.write_hint(
        log.table,
        3,
        -1,
        parts=2,
        sizeInBytes=1,
        numOfAddFiles=3,
        checkpointSchema={"type": "struct", "fields": []},
        tags={},
        unknown={"deep": [1, None]},
    )

    snapshot = opened(log, strict=True)

    assert (paths(snapshot), codes(snapshot)) == (names(5), [])


def served(servers: Servers, log: logs.LogBuilder, refused: str, status: int) -> dr.Table:
    """Return a table at a server that sends this status for paths that contain ``refused``."""

    def refusal(path: str) -> Response | None:
        return (status, {}, b"<Error/>") if refused in path else None

    address = servers.start(store(log.table, "http", refusal))
    options = {"allow_http": "true", "max_retries": "1", "retry_timeout": "1s"}
    return dr.Table(f"{address}/t", options)


@pytest.mark.parametrize("status", [400, 401, 403, 410, 416, 451, 500, 501, 503])
@pytest.mark.parametrize("with_checkpoint", [True, False], ids=["checkpoint", "no checkpoint"])
def test_a_hint_that_the_store_does_not_return_is_a_warning(
    servers: Servers, log: logs.LogBuilder, status: int, with_checkpoint: bool
) -> None:
    commits(log, 5)
    if with_checkpoint:
        log.checkpoint(3, kind="v2-inline-json")
        log.delete_commits(3)
    table = served(servers, log, "_last_checkpoint", status)

    with pytest.warns(dr.DeltaReplayWarning, match="the hint was ignored"):
        snapshot = table.snapshot()

    assert (paths(snapshot), codes(snapshot)) == (names(5), ["hint.unreadable"])
    assert snapshot.warnings[0].path == "_delta_log/_last_checkpoint"
    assert str(status) in snapshot.warnings[0].message
    assert paths(table.snapshot(version=4)) == names(4)
    with pytest.raises(dr.CorruptTableError) as caught:
        table.snapshot(strict=True)
    assert caught.value.code == "hint.unreadable"


@pytest.mark.parametrize(("status", "code"), [(403, "storage.permission"), (500, "storage.io")])
def test_a_store_that_refuses_everything_is_an_error(
    servers: Servers, log: logs.LogBuilder, status: int, code: str
) -> None:
    commits(log, 2)
    with pytest.raises(dr.StorageError) as caught:
        served(servers, log, "/t", status).snapshot()
    assert caught.value.code == code
    assert str(status) in str(caught.value)


def test_a_store_that_does_not_respond_is_not_listed() -> None:
    options = {"allow_http": "true", "max_retries": "0", "retry_timeout": "1s"}
    with pytest.raises(dr.StorageError) as caught:
        dr.Table("http://127.0.0.1:9/t", options).snapshot()
    assert (caught.value.code, caught.value.path) == ("storage.io", "_delta_log/_last_checkpoint")
