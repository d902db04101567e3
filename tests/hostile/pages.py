"""Pages of Parquet files that contradict their checksums."""

from __future__ import annotations

from typing import Any

from hostile.cases import Refused, case, data, write_data
from hostile.checkpoints import CHECKPOINT, write_checkpoint
from support.logs import LogBuilder

DATA = "more.parquet"
#: Pages as they are, each with its checksum.
CHECKED: dict[str, Any] = {
    "compression": "none",
    "use_dictionary": False,
    "write_statistics": False,
    "write_page_checksum": True,
}


@case(
    "checkpoint, commits gone",
    "another letter in a path",
    snapshot=Refused(CHECKPOINT),
    verify=("checkpoint.parquet",),
    finding=CHECKPOINT,
)
def _another_letter(log: LogBuilder) -> None:
    [path] = write_checkpoint(log, cleaned=True, **CHECKED)
    content = path.read_bytes()
    assert content.count(b"more.parquet") == 1
    path.write_bytes(content.replace(b"more.parquet", b"mare.parquet"))


@case("data file", "another number in a page", snapshot=2, rows=Refused(DATA))
def _another_number(log: LogBuilder) -> None:
    path = write_data(log.table, DATA, (4, 5), **CHECKED)
    content = path.read_bytes()
    numbers = b"".join(number.to_bytes(8, "little") for number in (4, 5))
    assert content.count(numbers) == 1
    path.write_bytes(content.replace(numbers, numbers[::-1]))
    log.commit(data(log, DATA))
