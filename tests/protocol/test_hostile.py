"""Logs are untrusted: typed errors, in bounded time and memory."""

# ruff: noqa: PT017  an error and a result may both be valid
from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
from protocol.reading import SCHEMA, commits, file, names, opened, paths
from support import logs, parquet_bytes

import deltareplay as dr

DEPTH = 10_000
SLOW = bool(os.environ.get("DELTAREPLAY_SLOW"))


def nested(open_: str, close: str, inner: str = "1") -> str:
    return open_ * DEPTH + inner + close * DEPTH


DEEP = {
    "unknown action": '{"future":' + nested('{"a":', "}") + "}",
    "unknown field": '{"add":{"path":"x","partitionValues":{},"size":1,"modificationTime":1,'
    '"dataChange":true,"new":' + nested("[", "]") + "}}",
    "commitInfo": '{"commitInfo":{"operationParameters":{"a":' + nested("[", "]") + "}}}",
    "stats": '{"add":{"path":"x","partitionValues":{},"size":1,"modificationTime":1,'
    '"dataChange":true,"stats":"' + nested("[", "]") + '"}}',
    "bare": nested("[", "]"),
    "open": "[" * DEPTH,
    "domain": '{"domainMetadata":{"domain":"d","removed":false,"configuration":"'
    + nested("[", "]")
    + '"}}',
}


@pytest.mark.parametrize("line", DEEP.values(), ids=DEEP.keys())
def test_deeply_nested_json_is_skipped_or_refused(log: logs.LogBuilder, line: str) -> None:
    commits(log, 2)
    logs.write_file(log.table, logs.commit_name(3), line.encode() + b"\n")

    try:
        snapshot = opened(log)
        result = paths(snapshot)
        snapshot.files()
        snapshot.files(columns=["path", "numRecords"])
        dr.Table(log.uri).history()
    except dr.CorruptTableError as error:
        assert logs.commit_name(3) in (error.path or "")
    else:
        assert set(result) - {"x"} == set(names(2))


def test_deeply_nested_schemas_are_read_or_refused(log: logs.LogBuilder) -> None:
    for depth in (50, 200, DEPTH):
        inner = '"long"'
        for _ in range(depth):
            inner = f'{{"type":"array","elementType":{inner},"containsNull":true}}'
        field = f'{{"name":"a","type":{inner},"nullable":true,"metadata":{{}}}}'
        schema = f'{{"type":"struct","fields":[{field}]}}'
        table = logs.LogBuilder(log.table / str(depth))
        table.create(schema)
        try:
            snapshot = opened(table)
            assert snapshot.schema_json == schema
        except dr.DeltaReplayError as error:
            assert depth > 100, error


@pytest.mark.parametrize("depth", [50, 180])
def test_deep_valid_schemas_are_read(log: logs.LogBuilder, depth: int) -> None:
    inner = '"long"'
    for level in range(depth):
        inner = (
            f'{{"type":"struct","fields":[{{"name":"c{level}","type":{inner},'
            f'"nullable":true,"metadata":{{}}}}]}}'
        )
    log.create(inner, logs.add("f"))
    log.checkpoint()

    assert paths(opened(log)) == ["f"]
    if depth < 60:  # pyarrow accepts no schema deeper than 64 levels
        assert opened(log).schema.names == [f"c{depth - 1}"]
    else:
        with pytest.raises(dr.UnsupportedFeatureError, match="schema_json") as error:
            _ = opened(log).schema
        assert error.value.code == "schema.pyarrow"


# -- paths outside of the table

#: Absolute paths of a file next to the table.
ABSOLUTE = ["file://{parent}/secret.parquet", "{parent}/secret.parquet"]
#: Paths of a sidecar outside of the table, and the codes of their errors.
OUTSIDE = {
    **dict.fromkeys(ABSOLUTE, "path.escapes_root"),
    "../../../secret.parquet": "path.escapes_root",
    "..%2F..%2F..%2Fsecret.parquet": "path.escapes_root",
    "a/../../../../secret.parquet": "path.escapes_root",
    "%2e%2e/%2e%2e/%2e%2e/secret.parquet": "path.escapes_root",
    "http://127.0.0.1:9/secret.parquet": "path.foreign",
    "s3://other-bucket/secret.parquet": "path.foreign",
    "file://otherhost/secret.parquet": "path.foreign",
    "a%00b.parquet": "path.encoding",
    "": "path.empty",
    ".": "path.escapes_root",
    "..": "path.escapes_root",
}


def write_manifest(log: logs.LogBuilder, path: str) -> None:
    """Write a checkpoint whose sidecar has this path, and a sidecar next to the table."""
    commits(log, 3)
    sidecar = logs.write_sidecar(log.table, "s.parquet", [logs.add("stolen")])["sidecar"]
    parent = log.table.parent
    (file(log, "_sidecars") / "s.parquet").rename(parent / "secret.parquet")
    sidecar["path"] = path.format(parent=parent)
    others = [row for row in log.state().actions() if "add" not in row]
    manifest = [logs.checkpoint_metadata(3), {"sidecar": sidecar}, *others]
    logs.write_file(log.table, logs.v2_name(3), logs.json_lines(manifest))


@pytest.mark.parametrize("path", OUTSIDE, ids=repr)
def test_a_sidecar_outside_of_the_table_is_not_opened(log: logs.LogBuilder, path: str) -> None:
    write_manifest(log, path)

    for deleted in (0, 4):
        log.delete_commits(deleted)
        with pytest.raises(dr.CorruptTableError) as caught:
            opened(log).files()
        assert caught.value.code == OUTSIDE[path]


@pytest.mark.parametrize("path", ABSOLUTE, ids=repr)
def test_a_sidecar_in_an_allowed_root_is_opened(log: logs.LogBuilder, path: str) -> None:
    write_manifest(log, path)

    table = dr.Table(log.uri, allowed_roots=[str(log.table.parent)])
    assert paths(table.snapshot()) == ["stolen"]


@pytest.mark.parametrize("path", [path for path in OUTSIDE if path.strip(".")], ids=repr)
def test_paths_of_files_are_returned_and_not_opened(log: logs.LogBuilder, path: str) -> None:
    log.create(SCHEMA)
    log.commit(logs.add(path))
    log.checkpoint()

    assert paths(opened(log)) == [path]


# -- wrong numbers


@pytest.mark.parametrize("kind", ["classic", "multipart", "v2-inline-parquet"])
@pytest.mark.parametrize("claimed", [2**60, 2**62, 2**31], ids=["2^60", "2^62", "2^31"])
def test_a_checkpoint_that_claims_rows_it_does_not_have(
    log: logs.LogBuilder, kind: str, claimed: int
) -> None:
    """In a separate process, whose memory is measured."""
    commits(log, 37)
    for path in log.checkpoint(20, kind=kind, parts=2):
        path.write_bytes(parquet_bytes.with_row_count(path, claimed))

    reported = run(
        f"""
        snapshot = dr.Table({log.uri!r}).snapshot()
        print(len(snapshot.files(columns=["path"])), len(snapshot.warnings) > 0)
        """
    )

    assert reported.split()[0] == "37", "the commits are read instead"
    assert reported.split()[1] == "True"


@pytest.mark.parametrize("kind", ["classic", "multipart", "v2-inline-parquet"])
def test_a_checkpoint_that_claims_to_be_empty(log: logs.LogBuilder, kind: str) -> None:
    """Its footer has no protocol: an error, or the commits are read instead."""
    commits(log, 37)
    for path in log.checkpoint(20, kind=kind, parts=2):
        path.write_bytes(parquet_bytes.with_row_count(path, 0))

    try:
        result = paths(opened(log))
    except dr.CorruptTableError as error:
        assert ".checkpoint." in (error.path or "")
    else:
        assert result == names(37)


def test_statistics_that_are_not_requested_are_not_decompressed(log: logs.LogBuilder) -> None:
    """Repeated bytes compress a thousandfold."""
    commits(log, 3)
    big = "x" * (4 << 20)
    rows = [*log.state(2).actions(), *(logs.add(f"z{i}", stats=big) for i in range(64))]
    logs.write_checkpoint(log.table, 2, rows, compression="zstd")

    def read(*columns: str) -> str:
        return run(
            f"""
            snapshot = dr.Table({log.uri!r}).snapshot()
            print(sum(b.num_rows for b in snapshot.file_batches(columns={columns!r})))
            """,
            limit_mib=200,
        )

    assert read("path", "size").strip() == "67"
    with pytest.raises(AssertionError):  # the limit is below the size of the statistics
        read("path", "stats")


@pytest.mark.slow
@pytest.mark.skipif(not SLOW, reason="writes a gigabyte: set DELTAREPLAY_SLOW=1")
def test_a_line_of_a_gigabyte(log: logs.LogBuilder) -> None:
    commits(log, 2)
    path = file(log, logs.commit_name(3))
    with path.open("wb") as out:
        out.write(b'{"add":{"path":"')
        for _ in range(1024):
            out.write(b"x" * (1 << 20))
        out.write(b'","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}\n')

    reported = run(
        f"""
        try:
            print(dr.Table({log.uri!r}).snapshot().num_files)
        except dr.CorruptTableError as error:
            print("refused", error.path)
        """,
        limit_mib=1024,
    )

    assert reported.startswith("refused")


def run(code: str, limit_mib: int = 1024) -> str:
    """Run code in a new process; fails if it dies or its memory exceeds the limit."""
    if sys.platform != "linux":
        pytest.skip("reads peak memory from /proc")
    script = (
        textwrap.dedent(
            """
        import resource, warnings
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        warnings.simplefilter("ignore")
        import deltareplay as dr
        """
        )
        + textwrap.dedent(code)
        + textwrap.dedent(
            """
        import sys
        # not ru_maxrss, which a child inherits from its parent
        with open("/proc/self/status") as status:
            peak = next(line.split()[1] for line in status if line.startswith("VmHWM"))
        print(peak, file=sys.stderr)
        """
        )
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stderr.split()[-1]) < limit_mib * 1024
    return done.stdout


def test_the_memory_limit_is_enforced() -> None:
    with pytest.raises(AssertionError, match=r"< \(150 \* 1024\)"):
        run("x = bytearray(200 << 20); print(len(x))", limit_mib=150)
