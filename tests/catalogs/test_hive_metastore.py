"""A client of a Hive Metastore, with valid and invalid responses.

tests/spark/test_hive_metastore.py uses a real metastore.
"""

from __future__ import annotations

import pickle
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from support.metastore import EXCEPTION, Metastore, reply, table, text

import deltareplay as dr
from deltareplay.catalogs import HiveMetastore, Located

DELTA = table("s3://lake/orders", table_type="DELTA")
FOUND = reply("get_table_req", {0: {1: DELTA}})
HEAD = struct.pack(">I", 0x80010002) + text("get_table_req") + bytes(4)


def locate(answer: bytes | Callable[[bytes], bytes], name: str = "sales.orders") -> Located:
    with Metastore(answer if callable(answer) else lambda _: answer) as server:
        return HiveMetastore(server.uri, timeout=60).locate(name)


def test_a_table_is_found() -> None:
    assert locate(FOUND) == Located("s3://lake/orders")


def test_the_call_follows_thrifts_binary_protocol() -> None:
    with Metastore(lambda _: FOUND) as server:
        HiveMetastore(server.uri).locate("hive://sales.orders")
    assert server.calls == [
        bytes.fromhex(
            "80010001 0000000d 6765745f7461626c655f726571 00000000"  # call, get_table_req
            "0c0001 0b0001 00000005 73616c6573 0b0002 00000006 6f7264657273 00 00"
        )
    ]


def test_an_older_metastore_gets_the_older_call() -> None:
    def answer(called: bytes) -> bytes:
        if b"get_table_req" in called:
            return reply("get_table_req", {1: "Invalid method name", 2: 1}, EXCEPTION)
        return reply("get_table", {0: DELTA})

    assert locate(answer) == Located("s3://lake/orders")


def test_the_catalog_of_the_name_must_match() -> None:
    named = {**DELTA, 17: "spark"}
    assert locate(reply("get_table_req", {0: {1: named}}), "Spark.sales.orders").uri
    # a metastore before Hive 3 has no catalogs, and ignores that of the call
    with pytest.raises(dr.TableNotFoundError, match="no catalog spark") as caught:
        locate(FOUND, "spark.sales.orders")
    assert caught.value.code == "catalog.no_table"


# field 0 of a response is the result, 1 a MetaException, and 2 a NoSuchObjectException
@pytest.mark.parametrize(
    ("fields", "code", "kind"),
    [
        ({2: {1: "no such"}}, "catalog.no_table", dr.TableNotFoundError),
        ({2: {}}, "catalog.no_table", dr.TableNotFoundError),
        ({1: {1: "the database is down"}}, "catalog.unreachable", dr.StorageError),
        ({}, "catalog.response", dr.StorageError),
        ({0: {}}, "catalog.response", dr.StorageError),
        ({0: "a table"}, "catalog.response", dr.StorageError),
        ({0: {1: 7}}, "catalog.response", dr.StorageError),
        ({0: {1: {**DELTA, 7: "no struct"}}}, "catalog.response", dr.StorageError),
        ({0: {1: {**DELTA, 9: {1: 2}}}}, "catalog.response", dr.StorageError),
        ({0: {1: {**DELTA, 9: {}}}}, "catalog.not_delta", dr.TableNotFoundError),
    ],
)
def test_responses_without_a_delta_table_raise_errors(
    fields: dict[int, Any], code: str, kind: type[dr.DeltaReplayError]
) -> None:
    with pytest.raises(kind) as caught:
        locate(reply("get_table_req", fields))
    assert caught.value.code == code


@pytest.mark.parametrize(
    "answer",
    {
        "HTTP": b"HTTP/1.1 400 Bad Request\r\n\r\n" + bytes(100),
        "SASL": b"\x04\x00\x00\x00\x12Invalid status -128",
        "a response to another call": reply("get_tables", {0: {1: DELTA}}),
        "an internal error": reply("get_table_req", {1: "out of memory", 2: 6}, EXCEPTION),
        "an error without a message": reply("get_table_req", {2: "no number"}, EXCEPTION),
        "a negative length": HEAD + b"\x0b\0\0\xff\xff\xff\xff",
        "a huge length": HEAD + b"\x0b\0\0\x7f\xff\xff\xff",
        "a huge list": HEAD + b"\x0f\0\0\x02\x7f\xff\xff\xff" + bytes(1_100_000),
        "an unknown type": HEAD + b"\x10\0\0" + bytes(16),
        "invalid UTF-8": HEAD + b"\x0b\0\0\0\0\0\x01\xff",
        "deep structs": HEAD + b"\x0c\0\0" * 5000,
        "deep lists": HEAD + b"\x0f\0\0" + b"\x0f\0\0\0\x01" * 5000,
        "a map with structs as keys": HEAD + b"\x0d\0\0\x0c\x08\0\0\0\x01\0" + bytes(4),
    }.items(),
    ids=lambda case: case[0],
)
def test_invalid_responses_raise_errors(answer: tuple[str, bytes]) -> None:
    with pytest.raises(dr.StorageError) as caught:
        locate(answer[1])
    assert caught.value.code == "catalog.response"
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("number", [1, 2])
def test_errors_do_not_repeat_long_texts(number: int) -> None:
    long = "x" * 1_000_000
    for answer in (
        reply("get_table_req", {number: {1: long}}),
        reply("get_table_req", {1: long, 2: 6}, EXCEPTION),
    ):
        with pytest.raises(dr.DeltaReplayError, match="xxx") as caught:
            locate(answer)
        assert len(str(caught.value)) < 2200


def test_truncated_responses_raise_errors() -> None:
    for length in range(len(FOUND)):
        cut = FOUND[:length]
        with Metastore(lambda _: cut) as server, pytest.raises(dr.StorageError) as caught:  # noqa: B023
            HiveMetastore(server.uri, timeout=0.02).locate("sales.orders")
        assert caught.value.code == "catalog.unreachable"


def test_changed_bytes_raise_only_typed_errors() -> None:
    for position in range(len(FOUND)):
        for byte in (0, 0x0F, 0x7F, 0xFF):
            changed = FOUND[:position] + bytes([byte]) + FOUND[position + 1 :]
            with Metastore(lambda _: changed) as server:  # noqa: B023
                metastore = HiveMetastore(server.uri, timeout=0.02)
                with suppress(dr.TableNotFoundError, dr.StorageError):
                    metastore.locate("sales.orders")


def test_slow_responses_time_out() -> None:
    began = time.monotonic()
    slow = Metastore(lambda _: FOUND, byte_every=0.1)
    with slow as server, pytest.raises(dr.StorageError, match=r"in time|timed out") as caught:
        HiveMetastore(server.uri, timeout=0.5).locate("sales.orders")
    assert caught.value.code == "catalog.unreachable"
    assert time.monotonic() - began < 5


def test_the_next_server_is_tried_if_one_does_not_respond() -> None:
    with Metastore(lambda _: b"") as down, Metastore(lambda _: FOUND) as server:
        metastore = HiveMetastore(f"{down.uri}, {server.uri}", timeout=2)
        assert metastore.locate("sales.orders").uri == "s3://lake/orders"
    with pytest.raises(dr.StorageError) as caught:
        HiveMetastore(f"{down.uri},thrift://127.0.0.1:{server.port}", timeout=2).locate("a.b")
    assert caught.value.code == "catalog.unreachable"
    assert f"127.0.0.1:{down.port}" in str(caught.value)
    assert f"127.0.0.1:{server.port}" in str(caught.value)


@pytest.mark.parametrize("name", ["orders", "a.b.c.d", "", "glue://a.b", "a..b", "hive://"])
def test_rejects_invalid_names(name: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        HiveMetastore("thrift://127.0.0.1:1").locate(name)
    assert caught.value.code == "catalog.name"


@pytest.mark.parametrize(
    "address",
    [
        "",
        "http://host",
        "thrift://",
        "thrift://host:port",
        "thrift://u:secret@host",
        "thrift://h/a",
    ],
)
def test_rejects_invalid_addresses(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HIVE_METASTORE_URI", raising=False)
    monkeypatch.delenv("HIVE_METASTORE_URIS", raising=False)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        HiveMetastore(address)
    assert caught.value.code == "catalog.address"
    assert "secret" not in str(caught.value)


def test_the_address_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HIVE_METASTORE_URI", raising=False)
    with Metastore(
        lambda _: reply("get_table_req", {0: {1: table("memory://m", provider="delta")}})
    ) as server:
        monkeypatch.setenv("HIVE_METASTORE_URIS", server.uri)
        dr.write("memory://m", {"id": [1]})
        for opened in (
            dr.Table.from_name("sales.orders", "hive"),
            dr.Table("hive://sales.orders"),
            dr.Table("sales.orders", catalog="hive"),
        ):
            assert opened.uri == "memory://m"
            assert opened.snapshot().version == 0
    monkeypatch.setenv("HIVE_METASTORE_URI", "thrift://first")
    assert HiveMetastore().uri == "thrift://first:9083"


def test_metastores_compare_and_pickle() -> None:
    metastore = HiveMetastore("thrift://a, b:1,[::1]:2", timeout=3)

    assert repr(metastore) == "HiveMetastore('thrift://a:9083,thrift://b:1,thrift://[::1]:2')"
    again = pickle.loads(pickle.dumps(metastore))
    assert (again, hash(again)) == (metastore, hash(metastore))
    assert metastore != HiveMetastore(metastore.uri)
