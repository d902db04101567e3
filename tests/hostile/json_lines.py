"""Commits with invalid lines."""

# ruff: noqa: E501  one case a line
from __future__ import annotations

import os
from collections.abc import Callable

from hostile.cases import BOTH, GOOD, Refused, case, data, line, raw
from support import logs, vectors
from support.logs import LogBuilder

COMMIT = logs.commit_name(2)
DEPTH = 100_000
ADD = b'"path":"more.parquet","partitionValues":{},"size":%d,"modificationTime":1,"dataChange":true'


def adding(log: LogBuilder, extra: bytes = b"") -> bytes:
    """Return the body of an action that adds the second file, with additional content."""
    return b'{"add":{' + ADD % (log.table / "more.parquet").stat().st_size + extra + b"}}\n"


#: Additions before or around the action that have no effect.
HARMLESS: dict[str, Callable[[LogBuilder], bytes]] = {
    "an unknown action of 900 levels": lambda log: (
        b'{"x":' + b"[" * 900 + b"]" * 900 + b"}\n" + adding(log)
    ),
    "an unknown field of 900 levels": lambda log: adding(
        log, b',"x":' + b'{"a":' * 900 + b"1" + b"}" * 900
    ),
    "an empty object": lambda log: b"{}\n" + adding(log),
    "an action that is null": lambda log: b'{"remove":null}\n' + adding(log),
    "all other actions null": lambda log: adding(log).replace(b"}}\n", b'},"remove":null}\n'),
    "empty lines": lambda log: b"\n\n" + adding(log) + b"\n\n",
    "lines that end in CR LF": lambda log: adding(log).replace(b"\n", b"\r\n"),
    "no end of the last line": lambda log: adding(log).rstrip(b"\n"),
    "spaces between tokens": lambda log: adding(log).replace(b'"add":', b' \t"add" : '),
    "an action spelled with escapes": lambda log: adding(log).replace(b'"add"', b'"\\u0061dd"'),
    "a field spelled with escapes": lambda log: adding(log).replace(b'"path"', b'"p\\u0061th"'),
    "an action of another case": lambda log: b'{"ADD":{"path":"x"}}\n' + adding(log),
    "a lone surrogate in an unknown field": lambda log: adding(log, b',"x":"\\ud800"'),
    "a number too large for a double in an unknown field": lambda log: adding(log, b',"x":1e99999'),
    "a megabyte of tags": lambda log: adding(log, b',"tags":{"k":"' + b"x" * (1 << 20) + b'"}'),
    "10,000 tags": lambda log: adding(
        log, b',"tags":{' + b",".join(b'"%d":"x"' % n for n in range(10_000)) + b"}"
    ),
    "a byte order mark": lambda log: b"\xef\xbb\xbf" + adding(log),
    "10,000 unknown actions": lambda log: b'{"x":{}}\n' * 10_000 + adding(log),
}

#: Lines that no reader can parse.
INVALID = {
    # skipped values may have up to 1,000 levels
    "an unknown action, too deep": b'{"x":' + b"[" * DEPTH + b"]" * DEPTH + b"}\n",
    "an unknown field, too deep": b'{"add":{"path":"x","x":' + b'{"a":' * DEPTH + b"1",
    "commitInfo, too deep": b'{"commitInfo":{"x":' + b"[" * DEPTH + b"]" * DEPTH + b"}}\n",
    "brackets that never close": b"[" * DEPTH,
    "objects that never close": b'{"a":' * DEPTH,
    "an array": b"[]\n",
    "a number": b"1\n",
    "a string": b'"add"\n',
    "null": b"null\n",
    "not JSON": b"add\n",
    "single quotes": b"{'add':{}}\n",
    "a comment": b"// nothing\n",
    "a comma too many": b'{"txn":{"appId":"a","version":1,}}\n',
    "two values in a line": b'{"x":1} {"x":2}\n',
    "UTF-16": '{"x":1}\n'.encode("utf-16"),
    "zero bytes": bytes(100),
    "zero bytes after it": line("txn", appId="a", version=1) + bytes(100),
    "cut within a line": line("txn", appId="abc", version=1)[:-10],
    "cut within a key": b'{"tx',
    "add without a path": b'{"add":{"size":1}}\n',
    "add is an array": b'{"add":[]}\n',
    "add is a string": b'{"add":"x"}\n',
    "remove without a path": b'{"remove":{"dataChange":true}}\n',
    "a path that is a number": line("add", path=1, partitionValues={}, size=1),
    "a path that is null": line("add", path=None, partitionValues={}, size=1),
    "a path that is not UTF-8": b'{"add":{"path":"\xff","partitionValues":{},"size":1}}\n',
    "a size that is a string": line("add", path="x", partitionValues={}, size="1"),
    "a size beyond 64 bits": b'{"add":{"path":"x","partitionValues":{},"size":99999999999999999999}}\n',
    "a size of 1e400": b'{"add":{"path":"x","partitionValues":{},"size":1e400}}\n',
    "a size that is NaN": b'{"add":{"path":"x","partitionValues":{},"size":NaN}}\n',
    "partition values that are an array": line("add", path="x", partitionValues=[], size=1),
    "stats that are an array": line("add", path="x", partitionValues={}, size=1, stats=[]),
    "a line break in a string": b'{"txn":{"appId":"a\nb","version":1}}\n',
    "a version beyond 64 bits": b'{"txn":{"appId":"a","version":9223372036854775808}}\n',
    "txn without an application": b'{"txn":{"version":1}}\n',
    "a domain without a name": b'{"domainMetadata":{"configuration":"","removed":false}}\n',
    "a domain whose removed is a string": line(
        "domainMetadata", domain="d", configuration="", removed="no"
    ),
}


def harmless(name: str, content: Callable[[LogBuilder], bytes]) -> None:
    @case("JSON", name, snapshot=2, rows=BOTH)
    def _(log: LogBuilder) -> None:
        raw(log, content(log))


def invalid(name: str, text: bytes) -> None:
    @case("JSON", name, snapshot=Refused(COMMIT), verify=("commit.",), finding=COMMIT)
    def _(log: LogBuilder) -> None:
        raw(log, text)


for _name, _content in HARMLESS.items():
    harmless(_name, _content)
for _name, _text in INVALID.items():
    invalid(_name, _text)


@case("JSON", "a key twice: the last counts", snapshot=2, rows=BOTH)
def _twice(log: LogBuilder) -> None:
    raw(log, adding(log).replace(b'{"path"', b'{"path":"nowhere","path"'))


@case("JSON", "control characters in a path", snapshot=2, rows=BOTH)
def _control(log: LogBuilder) -> None:
    (log.table / "m\x01\n.parquet").write_bytes((log.table / "more.parquet").read_bytes())
    log.commit(data(log, "more.parquet", "m\x01\n.parquet"))


@case("JSON", "a pair of surrogates in a path", snapshot=2, rows=BOTH)
def _pair(log: LogBuilder) -> None:
    (log.table / "\U0001f600.parquet").write_bytes((log.table / "more.parquet").read_bytes())
    raw(log, adding(log).replace(b'"more.parquet"', b'"\\ud83d\\ude00.parquet"'))


@case(
    "JSON",
    "an empty commit",
    snapshot=1,
    rows=GOOD,
    verify=("commit.empty",),
    finding=COMMIT,
)
def _empty(log: LogBuilder) -> None:
    raw(log, b"")


@case(
    "JSON",
    "a file added twice in one commit",
    snapshot=2,
    rows=BOTH,
    verify=("commit.duplicate_action",),
    finding="more.parquet",
)
def _added_twice(log: LogBuilder) -> None:
    log.commit(data(log, "more.parquet"), data(log, "more.parquet"))


@case(
    "JSON",
    "a file added with two vectors",
    snapshot=2,
    rows=GOOD + GOOD,
    verify=("commit.duplicate_action",),
    finding="good.parquet",
)
def _two_vectors(log: LogBuilder) -> None:
    # illegal: replay has two keys, so the rows occur twice
    log.commit(logs.features("deletionVectors"))
    log.commit(data(log, "good.parquet", deletion_vector=vectors.inline([])))


@case("JSON", "removes of unknown files", snapshot=1, rows=GOOD)
def _unknown_files(log: LogBuilder) -> None:
    log.commit(*(logs.remove(f"{n}.parquet") for n in range(1000)))


@case(
    "JSON",
    "a path of a lone surrogate",
    snapshot=2,
    rows=Refused("\ufffd"),  # no such character: it is replaced, and there is no such file
    verify=("file.missing",),
    finding="\ufffd",
)
def _surrogate(log: LogBuilder) -> None:
    raw(log, b'{"add":{"path":"\\ud800","partitionValues":{},"size":100}}\n')


@case(
    "JSON",
    "a partition value that is a number",
    snapshot=2,
    rows=BOTH,
    verify=("commit.partition_values",),
    finding="more.parquet",
)
def _number(log: LogBuilder) -> None:
    raw(log, adding(log).replace(b'"partitionValues":{}', b'"partitionValues":{"a":1}'))


@case(
    "JSON line",
    "1 GiB of zeros",
    snapshot=Refused(COMMIT),
    verify=("commit.line_too_long",),
    finding=COMMIT,
)
def _gibibyte(log: LogBuilder) -> None:
    # sparse: it takes no space on the disk
    path = raw(log, b'{"add":{"path":"')
    os.truncate(path, 1 << 30)
