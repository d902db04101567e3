"""Checkpoints with wrong content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hostile.cases import BOTH, MORE, Refused, case, data, log_path
from support import logs, parquet_bytes
from support.logs import LogBuilder

CHECKPOINT = logs.classic_name(2)


def write_checkpoint(log: LogBuilder, cleaned: bool, **options: Any) -> list[Path]:
    """Write a checkpoint of version 2, with the second file; without its commits if ``cleaned``."""
    log.commit(data(log, "more.parquet"))
    result = log.checkpoint(2, store_schema=False, **options)
    if cleaned:
        log.delete_commits(2)
    return result


def only_footer(footer: bytes, length: int | None = None) -> bytes:
    """Return a Parquet file that is only a footer."""
    size = (len(footer) if length is None else length).to_bytes(4, "little")
    return b"PAR1" + footer + size + b"PAR1"


#: 2^31 - 1 as a varint.
HUGE = b"\xff\xff\xff\xff\x07"

#: Replacements of a Parquet file of the log; each could crash a decoder or use much memory.
BROKEN: dict[str, Callable[[Path], bytes]] = {
    "zero bytes": lambda path: bytes(4096),
    "only the magic": lambda path: b"PAR1",
    "the magic twice": lambda path: b"PAR1PAR1",
    "text": lambda path: b'{"add":{}}\n' * 20,
    "its first half": lambda path: path.read_bytes()[: path.stat().st_size // 2],
    "without its last byte": lambda path: path.read_bytes()[:-1],
    "an encrypted footer": lambda path: path.read_bytes()[:-4] + b"PARE",
    "a footer longer than the file": lambda path: only_footer(b"", 0x7FFF_FFFF),
    "a footer of 2^32 - 1 bytes": lambda path: only_footer(b"", 0xFFFF_FFFF),
    "an empty footer": lambda path: only_footer(b""),
    "a list of 2^31 columns": lambda path: only_footer(b"\x15\x02\x19\xfc\xff\xff\xff\xff\x07"),
    "a list of 2^32 groups": lambda path: only_footer(b"\x15\x02\x19\xf8\xff\xff\xff\xff\x0f"),
    "a text of 2^32 bytes": lambda path: only_footer(b"\x28\xff\xff\xff\xff\x0f"),
    "structs in structs": lambda path: only_footer(b"\x1c" * 5000),
    "lists in lists": lambda path: only_footer(b"\x19\x19" * 5000),
    "maps of 2^31 entries": lambda path: only_footer(b"\x1b\xff\xff\xff\xff\x07\x88"),
    "a list of 2^31 booleans": lambda path: only_footer(b"\x19\xf1\xff\xff\xff\xff\x07"),
    # of an unknown field: decoders that skip booleans without bytes count to 2^31
    "an unknown list of 2^31 booleans": lambda path: only_footer(b"\xf9\xf1" + HUGE + b"\x00"),
    "an unknown set of 2^31 booleans": lambda path: only_footer(b"\xfa\xf2" + HUGE + b"\x00"),
    "an unknown map of 2^31 booleans": lambda path: only_footer(b"\xfb" + HUGE + b"\x11\x00"),
    "an unknown list of 2^31 of no type": lambda path: only_footer(b"\xf9\xf0" + HUGE + b"\x00"),
    "a footer of 65 MiB": lambda path: (
        b"PAR1" + bytes(65 << 20) + (65 << 20).to_bytes(4, "little") + b"PAR1"
    ),
    "a column of 2^31 columns": lambda path: only_footer(
        b"\x15\x02\x19\x2c\x48\x01a\x15\xfe\xff\xff\xff\x0f\x00\x48\x01b\x00\x00"
    ),
    # decoders that trust the field's number read five bytes for its count, others one
    "a column of as many, as a byte": lambda path: only_footer(
        b"\x15\x02\x19\x2c\x48\x01a\x13\xfe\xf5\xff\xff\x0f\x00\x48\x01b\x00\x00"
    ),
    "100,000 nested columns": lambda path: only_footer(
        b"\x15\x02\x19\xfc\xa1\x8d\x06" + b"\x48\x01a\x15\x02\x00" * 100_000 + b"\x48\x01b\x00\x00"
    ),
    "2^31 rows": lambda path: parquet_bytes.with_row_count(path, 2**31),
    "2^60 rows": lambda path: parquet_bytes.with_row_count(path, 2**60),
    "2^62 rows": lambda path: parquet_bytes.with_row_count(path, 2**62),
    "-1 rows": lambda path: parquet_bytes.with_row_count(path, -1),
    "pages of other bytes": parquet_bytes.with_other_pages,
}


def broken(name: str, change: Callable[[Path], bytes]) -> None:
    # an encrypted file is valid but cannot be read
    encrypted = name == "an encrypted footer"
    code = "data.encrypted" if encrypted else "checkpoint."
    error = "UnsupportedFeatureError" if encrypted else "CorruptTableError"

    @case("checkpoint", name, snapshot=2, rows=BOTH, verify=(code,), finding=CHECKPOINT)
    def _(log: LogBuilder) -> None:
        [path] = write_checkpoint(log, cleaned=False)
        path.write_bytes(change(path))

    @case(
        "checkpoint, commits gone",
        name,
        snapshot=Refused(CHECKPOINT, error),
        verify=(code,),
        finding=CHECKPOINT,
    )
    def _(log: LogBuilder) -> None:
        [path] = write_checkpoint(log, cleaned=True)
        path.write_bytes(change(path))


for _name, _change in BROKEN.items():
    broken(_name, _change)


@case("checkpoint", "empty", snapshot=2, rows=BOTH, verify=("log.empty_file",), finding=CHECKPOINT)
def _empty(log: LogBuilder) -> None:
    write_checkpoint(log, cleaned=False)[0].write_bytes(b"")


@case("checkpoint", "a part missing", snapshot=2, rows=BOTH, verify=("checkpoint.incomplete",))
def _part_missing(log: LogBuilder) -> None:
    write_checkpoint(log, cleaned=False, kind="multipart")[1].unlink()


@case(
    "checkpoint, commits gone",
    "a part missing",
    snapshot=Refused(""),
    verify=("checkpoint.incomplete",),
)
def _part_missing_cleaned(log: LogBuilder) -> None:
    write_checkpoint(log, cleaned=True, kind="multipart")[1].unlink()


@case("checkpoint", "a part too many", snapshot=2, rows=BOTH, verify=("checkpoint.incomplete",))
def _part_more(log: LogBuilder) -> None:
    write_checkpoint(log, cleaned=False, kind="multipart")
    content = log_path(log, logs.part_name(2, 1, 2)).read_bytes()
    logs.write_file(log.table, logs.part_name(2, 3, 3), content)


@case(
    "checkpoint",
    "part 4,000,000,000 of as many",
    snapshot=2,
    rows=BOTH,
    verify=("checkpoint.incomplete",),
)
def _many_parts(log: LogBuilder) -> None:
    write_checkpoint(log, cleaned=False)
    content = log_path(log, CHECKPOINT).read_bytes()
    logs.write_file(log.table, logs.part_name(2, 4_000_000_000, 4_000_000_000), content)


@case("checkpoint", "two kinds of one version", snapshot=2, rows=BOTH)
def _two_kinds(log: LogBuilder) -> None:
    write_checkpoint(log, cleaned=False)
    log.checkpoint(2, kind="multipart")


def checkpoint_case(
    name: str, rows: Callable[[LogBuilder], Any], expected: dict[str, Any], **options: Any
) -> None:
    """Register a table whose checkpoint decodes, but has unusual content."""

    @case("checkpoint, commits gone", name, **{"finding": CHECKPOINT, **expected})
    def _(log: LogBuilder) -> None:
        log.commit(data(log, "more.parquet"))
        result = rows(log)
        if isinstance(result, pa.Table):
            pq.write_table(result, log_path(log, CHECKPOINT), **options)
        else:
            logs.write_checkpoint(log.table, 2, result, **options)
        logs.write_hint(log.table, 2)
        log.delete_commits(2)


def without(log: LogBuilder, kind: str) -> list[logs.Action]:
    return [row for row in log.state().actions() if kind not in row]


def retyped(log: LogBuilder, field: str, change: Callable[[Any], Any]) -> pa.Table:
    """Return the checkpoint with one field of ``add`` changed, such as to another type."""
    table = logs.checkpoint_table(log.state().actions(), logs.checkpoint_schema())
    add = table.column("add").combine_chunks()
    names = [item.name for item in add.type]
    fields = [change(add.field(n)) if n == field else add.field(n) for n in names]
    created = pa.StructArray.from_arrays(fields, names, mask=add.is_null())
    return table.set_column(table.schema.get_field_index("add"), "add", created)


REFUSED = {"snapshot": Refused(CHECKPOINT)}
checkpoint_case(
    "no protocol",
    lambda log: without(log, "protocol"),
    {**REFUSED, "verify": ("checkpoint.mismatch",)},
)
checkpoint_case(
    "no metadata",
    lambda log: without(log, "metaData"),
    {**REFUSED, "verify": ("checkpoint.mismatch",)},
)
checkpoint_case("no rows", lambda log: [], {**REFUSED, "verify": ("checkpoint.mismatch",)})
checkpoint_case(
    # a checkpoint is reconciled: plain readers accept its content
    "a file twice",
    lambda log: [*log.state().actions(), log.state().actions()[-1]],
    {"snapshot": 3, "rows": (*BOTH, *MORE), "verify": ("checkpoint.duplicate_row",)},
)
checkpoint_case(
    "a file added and removed",
    lambda log: [*log.state().actions(), logs.remove("good.parquet")],
    {"snapshot": 2, "rows": BOTH, "verify": ("checkpoint.duplicate_row",)},
)
checkpoint_case(
    "no column add",  # contains no live file
    lambda log: logs.checkpoint_table(log.state().actions(), logs.checkpoint_schema()).drop(
        ["add"]
    ),
    {"snapshot": 0, "rows": ()},
)
checkpoint_case(
    "add is a number",
    lambda log: (
        logs.checkpoint_table(log.state().actions(), logs.checkpoint_schema())
        .drop(["add"])
        .append_column("add", pa.array(range(len(log.state().actions()))))
    ),
    {**REFUSED, "verify": ("checkpoint.columns",)},
)
for _name, _path, _change in (
    ("paths that are numbers", "path", lambda a: pa.array([1] * len(a))),
    ("sizes that are lists", "size", lambda a: pa.array([[1]] * len(a))),
    ("partition values that are a list", "partitionValues", lambda a: pa.array([["x"]] * len(a))),
    ("a vector that is a text", "deletionVector", lambda a: pa.array(["x"] * len(a))),
):
    checkpoint_case(
        _name,
        lambda log, p=_path, c=_change: retyped(log, p, c),
        {**REFUSED, "verify": ("checkpoint.",)},
    )


# a row with an action counts as such even if it lacks the action's required field
LOST = {**REFUSED, "verify": ("checkpoint.rows",)}
checkpoint_case(
    "paths that are null",
    lambda log: retyped(log, "path", lambda a: pa.array([None] * len(a), pa.string())),
    LOST,
)
for _lost in (
    {"add": {**logs.add("x")["add"], "path": None}},
    {"remove": {**logs.remove("x")["remove"], "path": None}},
    {"txn": {"appId": None, "version": 1}},
    {"domainMetadata": {"domain": None, "configuration": "", "removed": False}},
):
    [_kind] = _lost
    for _groups in (1, 1 << 20):
        checkpoint_case(
            f"{_kind} without its key among others, {_groups} rows a group",
            lambda log, lost=_lost: [*log.state().actions(), lost],
            # only tombstones need removed files
            {**LOST, "rows": BOTH} if _kind == "remove" else LOST,
            row_group_size=_groups,
        )
checkpoint_case(
    "add without a column path",
    lambda log: logs.checkpoint_table(
        log.state().actions(), logs.checkpoint_schema(drop=["add.path"])
    ),
    {**REFUSED, "verify": ("checkpoint.columns",)},
)
for _path, _type in (
    ("size", pa.string()),
    ("dataChange", pa.int32()),
    ("modificationTime", pa.timestamp("ms")),
    ("clusteringProvider", pa.binary()),
):
    checkpoint_case(
        f"{_path} of type {_type}",
        lambda log, p=_path, t=_type: retyped(log, p, lambda a: pa.array([None] * len(a), t)),
        {**REFUSED, "verify": ("checkpoint.columns",)},
    )
checkpoint_case(
    "32-bit sizes",  # the same numbers
    lambda log: retyped(log, "size", lambda a: a.cast(pa.int32())),
    {"snapshot": 2, "rows": BOTH},
)
checkpoint_case(
    "sizes beyond 64 bits",
    lambda log: retyped(log, "size", lambda a: pa.array([2**63] * len(a), pa.uint64())),
    {**REFUSED, "verify": ("checkpoint.columns",)},
)
checkpoint_case(
    "sizes that are null",
    lambda log: retyped(log, "size", lambda a: pa.array([None] * len(a), pa.int64())),
    {"snapshot": 2, "rows": BOTH, "verify": ("file.size",), "finding": "more.parquet"},
)
checkpoint_case(
    "statistics that are numbers",
    lambda log: retyped(log, "stats", lambda a: pa.array([1] * len(a))),
    {**REFUSED, "verify": ("checkpoint.columns",)},
)


# -- a few bytes that expand to gigabytes


def bomb(codec: str, field: str, expected: dict[str, Any]) -> None:
    """Register 4,096 rows that refer to one MiB of text in a dictionary: 4 GiB if expanded."""

    @case("bomb", f"4 GiB of {field} in {codec}", **expected)
    def _(log: LogBuilder) -> None:
        log.commit(data(log, "more.parquet"))
        rows = [*log.state().actions(), *(logs.add(f"z{n}", stats="s") for n in range(4096))]
        table = logs.checkpoint_table(rows, logs.checkpoint_schema())
        add = table.column("add").combine_chunks()
        names = [item.name for item in add.type]
        texts = add.field(names.index(field)).to_pylist()
        others = [text for text in dict.fromkeys(texts) if text and text[0] not in "sz"]
        values = ["x" * (1 << 20), *others]
        known = {text: values.index(text) for text in others}
        indices = [None if text is None else known.get(text, 0) for text in texts]
        column = pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), values)
        fields = [column if n == field else add.field(i) for i, n in enumerate(names)]
        created = pa.StructArray.from_arrays(fields, names, mask=add.is_null())
        table = table.set_column(table.schema.get_field_index("add"), "add", created)
        pq.write_table(table, log_path(log, CHECKPOINT), compression=codec, store_schema=False)
        logs.write_hint(log.table, 2)
        log.delete_commits(2)


for _codec in ("snappy", "gzip", "zstd", "brotli", "lz4"):
    bomb(
        _codec,
        "stats",
        {
            "snapshot": 4098,  # statistics were not requested
            "rows": Refused("z0"),  # there is no such file
            "verify": ("checkpoint.columns",),
            "finding": CHECKPOINT,
        },
    )
bomb(
    "zstd",
    "path",
    {"snapshot": Refused(CHECKPOINT), "verify": ("checkpoint.columns",), "finding": CHECKPOINT},
)
