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
    """Add the second file in version 2, and write its checkpoint.

    Args:
        log: The valid table.
        cleaned: Whether to delete the commits before version 2.
        options: Options of ``LogBuilder.checkpoint``.

    Returns:
        The paths of the checkpoint's files.
    """
    log.commit(data(log, "more.parquet"))
    paths = log.checkpoint(2, store_schema=False, **options)
    if cleaned:
        log.delete_commits(2)
    return paths


def only_footer(footer: bytes, length: int | None = None) -> bytes:
    """Return a Parquet file that is only a footer."""
    size = (len(footer) if length is None else length).to_bytes(4, "little")
    return b"PAR1" + footer + size + b"PAR1"


#: 2^31 - 1 and 2^32 - 1 as varints, the sizes of collections and strings in Thrift.
MAX_I32 = b"\xff\xff\xff\xff\x07"
MAX_U32 = b"\xff\xff\xff\xff\x0f"

#: Replacements of a Parquet file of the log; each could crash a decoder or use much memory.
BROKEN: dict[str, Callable[[Path], bytes]] = {
    "zero bytes": lambda path: bytes(4096),
    "only the magic": lambda path: b"PAR1",
    "the magic twice": lambda path: b"PAR1PAR1",
    "JSON lines": lambda path: b'{"add":{}}\n' * 20,
    "its first half": lambda path: path.read_bytes()[: path.stat().st_size // 2],
    "without its last byte": lambda path: path.read_bytes()[:-1],
    "an encrypted footer": lambda path: path.read_bytes()[:-4] + b"PARE",
    "a footer longer than the file": lambda path: only_footer(b"", 0x7FFF_FFFF),
    "a footer of 2^32 - 1 bytes": lambda path: only_footer(b"", 0xFFFF_FFFF),
    "an empty footer": lambda path: only_footer(b""),
    "2^31 - 1 columns": lambda path: only_footer(b"\x15\x02\x19\xfc" + MAX_I32),
    "2^32 - 1 strings as columns": lambda path: only_footer(b"\x15\x02\x19\xf8" + MAX_U32),
    "a string of 2^32 - 1 bytes": lambda path: only_footer(b"\x28" + MAX_U32),
    "structs in structs": lambda path: only_footer(b"\x1c" * 5000),
    "lists in lists": lambda path: only_footer(b"\x19\x19" * 5000),
    "a map of 2^31 - 1 entries": lambda path: only_footer(b"\x1b" + MAX_I32 + b"\x88"),
    "2^31 - 1 booleans": lambda path: only_footer(b"\x19\xf1" + MAX_I32),
    # in an unknown field: decoders that skip booleans as zero bytes each would count to 2^31 - 1
    "an unknown list of 2^31 - 1 booleans": lambda path: only_footer(
        b"\xf9\xf1" + MAX_I32 + b"\x00"
    ),
    "an unknown set of 2^31 - 1 booleans": lambda path: only_footer(
        b"\xfa\xf2" + MAX_I32 + b"\x00"
    ),
    "an unknown map of 2^31 - 1 booleans": lambda path: only_footer(
        b"\xfb" + MAX_I32 + b"\x11\x00"
    ),
    "an unknown list of 2^31 - 1 items without a type": lambda path: only_footer(
        b"\xf9\xf0" + MAX_I32 + b"\x00"
    ),
    "a footer of 65 MiB": lambda path: (
        b"PAR1" + bytes(65 << 20) + (65 << 20).to_bytes(4, "little") + b"PAR1"
    ),
    "a column with 2^31 - 1 children": lambda path: only_footer(
        b"\x15\x02\x19\x2c\x48\x01a\x15\xfe\xff\xff\xff\x0f\x00\x48\x01b\x00\x00"
    ),
    # num_children as a byte: decoders that only check the field's id read a varint of five bytes
    "a column with as many children, as a byte": lambda path: only_footer(
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


def broken_case(name: str, change: Callable[[Path], bytes]) -> None:
    """Register a table with a broken checkpoint, and one that also lacks the commits before it."""
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
    broken_case(_name, _change)


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


@case(
    "checkpoint",
    "a part of another checkpoint",
    snapshot=2,
    rows=BOTH,
    verify=("checkpoint.incomplete",),
)
def _part_of_another(log: LogBuilder) -> None:
    write_checkpoint(log, cleaned=False, kind="multipart")
    content = log_path(log, logs.part_name(2, 1, 2)).read_bytes()
    logs.write_file(log.table, logs.part_name(2, 3, 3), content)


@case(
    "checkpoint",
    "part 4,000,000,000 of 4,000,000,000",
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
        content = rows(log)
        if isinstance(content, pa.Table):
            pq.write_table(content, log_path(log, CHECKPOINT), **options)
        else:
            logs.write_checkpoint(log.table, 2, content, **options)
        logs.write_hint(log.table, 2)
        log.delete_commits(2)


def without(log: LogBuilder, kind: str) -> list[logs.Action]:
    return [row for row in log.state().actions() if kind not in row]


def with_field(
    actions: list[logs.Action], field: str, change: Callable[[pa.Array], pa.Array]
) -> pa.Table:
    """Return the checkpoint of these actions, with a field of ``add`` replaced by its change."""
    table = logs.checkpoint_table(actions, logs.checkpoint_schema())
    add = table.column("add").combine_chunks()
    names = [item.name for item in add.type]
    fields = [change(add.field(n)) if n == field else add.field(n) for n in names]
    changed = pa.StructArray.from_arrays(fields, names, mask=add.is_null())
    return table.set_column(table.schema.get_field_index("add"), "add", changed)


def with_state_field(
    log: LogBuilder, field: str, change: Callable[[pa.Array], pa.Array]
) -> pa.Table:
    """Return the checkpoint of the table, with a field of ``add`` replaced by its change."""
    return with_field(log.state().actions(), field, change)


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
    # readers rely on a checkpoint being reconciled; only verification notices
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
for _name, _field, _change in (
    ("paths that are numbers", "path", lambda a: pa.array([1] * len(a))),
    ("sizes that are lists", "size", lambda a: pa.array([[1]] * len(a))),
    ("partition values that are a list", "partitionValues", lambda a: pa.array([["x"]] * len(a))),
    ("a deletion vector that is a string", "deletionVector", lambda a: pa.array(["x"] * len(a))),
):
    checkpoint_case(
        _name,
        lambda log, f=_field, c=_change: with_state_field(log, f, c),
        {**REFUSED, "verify": ("checkpoint.",)},
    )


# a row whose action lacks a required field is refused, not skipped like a row without that action
WITHOUT_REQUIRED = {**REFUSED, "verify": ("checkpoint.rows",)}
checkpoint_case(
    "paths that are null",
    lambda log: with_state_field(log, "path", lambda a: pa.array([None] * len(a), pa.string())),
    WITHOUT_REQUIRED,
)
for _action in (
    {"add": {**logs.add("x")["add"], "path": None}},
    {"remove": {**logs.remove("x")["remove"], "path": None}},
    {"txn": {"appId": None, "version": 1}},
    {"domainMetadata": {"domain": None, "configuration": "", "removed": False}},
):
    [_kind] = _action
    for _groups in (1, 1 << 20):
        checkpoint_case(
            f"{_kind} without its key among others, {_groups} rows a group",
            lambda log, action=_action: [*log.state().actions(), action],
            # a scan does not read removed files
            {**WITHOUT_REQUIRED, "rows": BOTH} if _kind == "remove" else WITHOUT_REQUIRED,
            row_group_size=_groups,
        )
checkpoint_case(
    "add without a column path",
    lambda log: logs.checkpoint_table(
        log.state().actions(), logs.checkpoint_schema(drop=["add.path"])
    ),
    {**REFUSED, "verify": ("checkpoint.columns",)},
)
for _field, _type in (
    ("size", pa.string()),
    ("dataChange", pa.int32()),
    ("modificationTime", pa.timestamp("ms")),
    ("clusteringProvider", pa.list_(pa.string())),
):
    checkpoint_case(
        f"{_field} of type {_type}",
        lambda log, f=_field, t=_type: with_state_field(
            log, f, lambda a: pa.array([None] * len(a), t)
        ),
        {**REFUSED, "verify": ("checkpoint.columns",)},
    )
checkpoint_case(
    "32-bit sizes",  # the same numbers
    lambda log: with_state_field(log, "size", lambda a: a.cast(pa.int32())),
    {"snapshot": 2, "rows": BOTH},
)
checkpoint_case(
    "sizes beyond 64 bits",
    lambda log: with_state_field(log, "size", lambda a: pa.array([2**63] * len(a), pa.uint64())),
    {**REFUSED, "verify": ("checkpoint.columns",)},
)
checkpoint_case(
    "sizes that are null",
    lambda log: with_state_field(log, "size", lambda a: pa.array([None] * len(a), pa.int64())),
    {"snapshot": 2, "rows": BOTH, "verify": ("file.size",), "finding": "more.parquet"},
)
checkpoint_case(
    "statistics that are numbers",
    lambda log: with_state_field(log, "stats", lambda a: pa.array([1] * len(a))),
    {**REFUSED, "verify": ("checkpoint.columns",)},
)


# -- a few bytes that expand to gigabytes


def bomb_case(codec: str, field: str, expected: dict[str, Any]) -> None:
    """Register 4,096 rows that refer to one MiB of text in a dictionary: 4 GiB if expanded."""

    @case("bomb", f"4 GiB of {field} in {codec}", **expected)
    def _(log: LogBuilder) -> None:
        log.commit(data(log, "more.parquet"))
        state = log.state().actions()

        def expanding(values: pa.Array) -> pa.Array:
            """Replace the values of the additional rows by the large one."""
            texts = values.to_pylist()
            kept = list(dict.fromkeys(text for text in texts[: len(state)] if text is not None))
            indexes = {text: index for index, text in enumerate(kept, 1)}
            column = [None if text is None else indexes.get(text, 0) for text in texts]
            dictionary = ["x" * (1 << 20), *kept]
            return pa.DictionaryArray.from_arrays(pa.array(column, pa.int32()), dictionary)

        actions = [*state, *(logs.add(f"z{n}", stats="s") for n in range(4096))]
        table = with_field(actions, field, expanding)
        pq.write_table(table, log_path(log, CHECKPOINT), compression=codec, store_schema=False)
        logs.write_hint(log.table, 2)
        log.delete_commits(2)


for _codec in ("snappy", "gzip", "zstd", "brotli", "lz4"):
    bomb_case(
        _codec,
        "stats",
        {
            "snapshot": 4098,  # statistics were not requested
            "rows": Refused("z0"),  # there is no such file
            "verify": ("checkpoint.columns",),
            "finding": CHECKPOINT,
        },
    )
bomb_case(
    "zstd",
    "path",
    {"snapshot": Refused(CHECKPOINT), "verify": ("checkpoint.columns",), "finding": CHECKPOINT},
)
