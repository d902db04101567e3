"""Paths of data files, vectors and sidecars that lead out of the table."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hostile.cases import BOTH, GOOD, Refused, case, data, fifo, log_path, write_data
from support import logs
from support.logs import LogBuilder

#: Paths out of the table, in all spellings, and invalid ones.
OUTSIDE = [
    "../secret.parquet",
    "..%2Fsecret.parquet",
    "%2e%2e/secret.parquet",
    "%2E%2E%2Fsecret.parquet",
    "a/../../secret.parquet",
    "a/%2e%2e/%2e%2e/secret.parquet",
    "a/../../t/more.parquet",
    "/etc/hostname",
    "file:///etc/hostname",
    "file:/etc/hostname",
    "file:/etc/../etc/hostname",
    "file://otherhost/etc/hostname",
    "//otherhost/share/x",
    "http://127.0.0.1:9/x.parquet",
    "https://169.254.169.254/latest/meta-data",
    "s3://bucket/x.parquet",
    "hdfs://host/x.parquet",
    "javascript:alert(1)",
    "jar:file:/x!/y",
    "a%00b.parquet",
    "a\x00b.parquet",
    "%ff.parquet",
    "",
    ".",
    "./",
    "/",
]


def data_file_case(path: str) -> None:
    # a snapshot returns paths as they are; only opening the file behind one must be refused
    @case(
        "path of a data file",
        repr(path),
        snapshot=2,
        rows=Refused(path),
        verify=(code_of(path),),
        finding=path,
    )
    def _(log: LogBuilder) -> None:
        write_data(log.table.parent, "secret.parquet", (99,))
        log.commit(data(log, "more.parquet", path))


def vector_case(path: str) -> None:
    @case(
        "path of a vector",
        repr(path),
        snapshot=1,
        rows=Refused(path or "good.parquet"),
        verify=(code_of(path) if path else "dv.path",),
        finding=path or "good.parquet",
        start=False,
    )
    def _(log: LogBuilder) -> None:
        vector = logs.deletion_vector(path, storage_type="p")
        log.create(logs.schema(id="long"), protocol_action=logs.features("deletionVectors"))
        log.commit(data(log, "good.parquet", deletion_vector=vector))


def sidecar_case(path: str) -> None:
    @case(
        "path of a sidecar",
        repr(path),
        snapshot=Refused(path),
        verify=(code_of(path),),
        finding=path,
    )
    def _(log: LogBuilder) -> None:
        manifest(log, [logs.sidecar(path, 100)])


def code_of(path: str) -> str:
    """Return the expected code of the error for a path."""
    if not path:
        return "path.empty"
    if "delta_log" in path.lower():
        return "path.in_log"
    if "%00" in path or "\x00" in path or "%ff" in path:
        return "path.encoding"
    scheme = path.split(":", 1)[0] if ":" in path else ""
    if path.startswith("//") or "otherhost" in path or scheme not in ("", "file"):
        return "path.foreign"
    return "path.escapes_root"


def manifest(log: LogBuilder, sidecars: list[logs.Action], *rows: logs.Action) -> None:
    """Write a V2 checkpoint of version 1 with these sidecars; its commits are deleted."""
    log.commits = log.commits[:0]
    log.create(logs.schema(id="long"), protocol_action=logs.features("v2Checkpoint"))
    log.commit(data(log, "good.parquet"))
    control = [row for row in log.state().actions() if "add" not in row]
    content = [logs.checkpoint_metadata(1), *sidecars, *control, *rows]
    logs.write_file(log.table, logs.v2_name(1), logs.json_lines(content))
    logs.write_hint(log.table, 1)
    log.delete_commits(1)


for _path in OUTSIDE:
    data_file_case(_path)
for _path in ("_delta_log/00000000000000000000.json", "x/%5FDELTA_log/a.parquet"):
    data_file_case(_path)
for _path in OUTSIDE:
    if _path not in (".", "./", "/", "%2E%2E%2Fsecret.parquet"):
        sidecar_case(_path)


@case("path of a data file", "its own name, encoded", snapshot=2, rows=BOTH)
def _encoded(log: LogBuilder) -> None:
    (log.table / "m e.parquet").write_bytes((log.table / "more.parquet").read_bytes())
    log.commit(data(log, "m e.parquet", "m%20e.parquet"))


@case("path of a data file", "inside the table, through a parent directory", snapshot=2, rows=BOTH)
def _climbing(log: LogBuilder) -> None:
    # RFC 3986, section 5.2.4; as delta-spark, whose paths are normalised URIs
    log.commit(data(log, "more.parquet", "no-such/../more.parquet"))


@case("path of a data file", "inside the table, absolute", snapshot=2, rows=BOTH)
def _absolute(log: LogBuilder) -> None:
    log.commit(data(log, "more.parquet", f"file://{log.table}/more.parquet"))


@case(
    "path of a data file",
    "100,000 letters",
    snapshot=2,
    rows=Refused("aaaa", "StorageError"),
    verify=("storage.name",),
    finding="aaaa",
)
def _long(log: LogBuilder) -> None:
    log.commit(data(log, "more.parquet", "a" * 100_000))


@case(
    "path of a data file",
    "a commit of its own log",
    snapshot=2,
    rows=Refused("_delta_log"),
    verify=("path.in_log",),
    finding="_delta_log",
)
def _own_log(log: LogBuilder) -> None:
    log.commit(data(log, "more.parquet", f"_delta_log/{logs.commit_name(0)}"))


# the owner of the machine is trusted: links are followed


@case("link", "a data file elsewhere", snapshot=2, rows=BOTH)
def _link(log: LogBuilder) -> None:
    elsewhere = Path(f"{log.table}-elsewhere.parquet")
    os.replace(log.table / "more.parquet", elsewhere)
    (log.table / "more.parquet").symlink_to(elsewhere)
    log.commit(data(log, "more.parquet"))


def special_file(name: str, create: Callable[[Path], Any], verify: str) -> None:
    """Register a data file that is not a regular file."""

    @case(
        "link",
        name,
        snapshot=2,
        rows=Refused("special.parquet", "StorageError"),
        verify=(verify,),
        finding="special.parquet",
    )
    def _(log: LogBuilder) -> None:
        create(log.table / "special.parquet")
        log.commit(data(log, "special.parquet"))


special_file("to /dev/zero", lambda path: path.symlink_to("/dev/zero"), "storage.not_a_file")
special_file("to /dev/tty", lambda path: path.symlink_to("/dev/tty"), "storage.not_a_file")
special_file("in a loop", lambda path: path.symlink_to(path), "storage.name")
special_file("a pipe", fifo, "storage.not_a_file")
special_file("a directory", lambda path: path.mkdir(), "storage.not_a_file")


@case("sidecar", "valid", snapshot=1, rows=GOOD)
def _sidecar(log: LogBuilder) -> None:
    manifest(log, [logs.write_sidecar(log.table, "s.parquet", [data(log, "good.parquet")])])


@case(
    "sidecar",
    "missing",
    snapshot=Refused("s.parquet"),
    verify=("checkpoint.sidecar_missing",),
    finding="s.parquet",
)
def _missing(log: LogBuilder) -> None:
    manifest(log, [logs.sidecar("s.parquet", 100)])


@case("sidecar", "named twice", snapshot=1, rows=GOOD)
def _twice(log: LogBuilder) -> None:
    sidecar = logs.write_sidecar(log.table, "s.parquet", [data(log, "good.parquet")])
    manifest(log, [sidecar, sidecar])


@case(
    "sidecar",
    # a checkpoint is reconciled: plain readers accept its content
    "a file in two of them",
    snapshot=2,
    rows=(1, 1, 2, 2, 3, 3),
    verify=("checkpoint.duplicate_row",),
    finding="checkpoint",
)
def _in_two(log: LogBuilder) -> None:
    rows = [data(log, "good.parquet")]
    manifest(log, [logs.write_sidecar(log.table, f"{n}.parquet", rows) for n in "st"])


def broken_sidecar(content: bytes) -> None:
    @case(
        "sidecar",
        f"the bytes {content[:12]!r}",
        snapshot=Refused("s.parquet"),
        verify=("checkpoint.parquet",),
        finding="s.parquet",
    )
    def _(log: LogBuilder) -> None:
        log_path(log, "_sidecars").mkdir(parents=True)
        log_path(log, "_sidecars/s.parquet").write_bytes(content)
        manifest(log, [logs.sidecar("s.parquet", len(content))])


for _content in (b"", b"PAR1", bytes(100), b'{"add":{}}\n'):
    broken_sidecar(_content)


@case("sidecar", "with a sidecar action", snapshot=1, rows=GOOD)
def _sidecar_action(log: LogBuilder) -> None:
    # a sidecar only has add and remove: other actions are ignored
    schema = logs.checkpoint_schema(("add", "remove", "sidecar"))
    rows = [data(log, "good.parquet"), logs.sidecar("s.parquet", 100)]
    manifest(log, [logs.write_sidecar(log.table, "s.parquet", rows, schema=schema)])


for _path in ("../v.bin", "/etc/hostname", "s3://bucket/v.bin", "a%00b", ""):
    vector_case(_path)
