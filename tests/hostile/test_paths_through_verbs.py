"""Paths into the log, hidden directories, links and other tables, through copies and deletions.

Whatever path the log names, in any spelling, a verb creates, changes and deletes files only in the
table that it writes, and there neither existing files of the log nor hidden ones. Logs are written
by hand.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs
from support.logs import commit_name

import deltareplay as dr

AT_ONCE: dict[str, Any] = {"retention": timedelta(0), "dry_run": False, "force": True}

#: Files of the attacked table ``s``, of another one and of a victim beside it.
FILES = [
    *(f"_delta_log/{name}" for name in (commit_name(0), commit_name(7), "_last_checkpoint")),
    *("_delta_log/x.parquet", "_hidden/x.parquet", ".x.parquet", "_spark_metadata/0"),
    *("a/_hidden/x.parquet", f"a/_delta_log/{commit_name(0)}", "link/v.parquet", "file.parquet"),
    *("../victim/v.parquet", f"../t/_delta_log/{commit_name(0)}", "a/../../victim/v.parquet"),
    "live.parquet",
]
SPELLINGS: list[Callable[[str, str], str]] = [
    lambda path, _: path,
    lambda path, _: f"./{path}",
    lambda path, _: f"a/../{path}",
    lambda path, _: f"{path}/",
    lambda path, _: path.replace("/", "//"),
    lambda path, _: path.replace("/", "\\"),
    lambda path, _: quote(path, "").replace("_", "%5F").replace(".", "%2E"),
    lambda path, _: path.upper(),
    lambda path, root: f"{root}/s/{path}",
    lambda path, root: f"file:{os.path.normpath(f'{root}/s/{path}')}",
    lambda path, root: f"FILE://localhost{os.path.normpath(f'{root}/s/{path}')}",
    lambda path, _: f"../s/{path}",
    lambda path, _: f"%2e%2e/s/{path}",
    lambda path, _: f"{path}%00",
]
#: Verbs, and the table that each may write.
VERBS: dict[str, tuple[str, Callable[[Path, dr.Table], Any]]] = {
    "deep": ("new", lambda root, table: table.clone(root / "new", shallow=False)),
    "over": ("t", lambda root, table: table.clone(root / "t", shallow=False, or_replace=True)),
    "shallow": ("new", lambda root, table: _cloned(root, table)),
    "restore": ("s", lambda _, table: table.restore(0, ignore_missing_files=True)),
    "generate": ("s", lambda _, table: table.generate()),
    "lite": ("s", lambda _, table: table.vacuum(**AT_ONCE, lite=True)),
    "full": ("s", lambda _, table: table.vacuum(**AT_ONCE)),
    "overwrite": ("s", lambda _, table: (table.overwrite({"id": [5]}), _vacuumed(table))),
}


def _vacuumed(table: dr.Table) -> None:
    table.vacuum(**AT_ONCE, lite=True)
    table.vacuum(**AT_ONCE)


def _cloned(root: Path, table: dr.Table) -> None:
    clone = table.clone(root / "new")
    clone.delete("id = 1")
    _vacuumed(clone)


def data(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": pa.array([1], pa.int64())}), path)
    os.utime(path, (1, 1))
    return path.stat().st_size


def build(root: Path, action: str, spell: Callable[[str, str], str], path: str) -> dr.Table:
    tables = {name: logs.LogBuilder(root / name) for name in ("s", "t", "victim")}
    for name, log in tables.items():
        size = data(log.table / f"{name[0]}.parquet")
        log.create(
            logs.schema(id="long"),
            logs.add(f"{name[0]}.parquet", size=size),
            configuration={"delta.deletedFileRetentionDuration": "interval 0 seconds"},
        )
    source = root / "s"
    (source / "link").symlink_to(root / "victim")
    (source / "file.parquet").symlink_to(root / "victim" / "v.parquet")
    for name in FILES:
        file = Path(os.path.normpath(source / name))
        if not file.exists() and not name.startswith("_delta_log/0"):  # no gap in the log
            data(file)
    spelled = spell(path, str(root))
    tables["s"].commit(
        logs.add(spelled, size=size)
        if action == "add"
        else logs.remove(spelled, deletion_timestamp=1)
    )
    return dr.Table(source)


def tree(root: Path) -> Iterator[tuple[str, str]]:
    for directory, _, names in os.walk(root):
        for name in names:
            file = Path(directory, name)
            content = os.readlink(file).encode() if file.is_symlink() else file.read_bytes()
            yield str(file.relative_to(root)), hashlib.md5(content).hexdigest()


def may_change(own: str, verb: str, path: str, is_new: bool) -> bool:
    table, *parts = path.split("/")
    if table != own:
        return False
    if parts[0] == "_delta_log":
        return is_new and (parts[1] == "_last_vacuum_info" or parts[1][:20].isdigit())
    hidden = any(part.startswith(("_", ".")) for part in parts)
    if is_new:
        return not hidden or parts[-1].endswith(".tmp") or parts[0] == "_symlink_format_manifest"
    return not hidden and verb in ("lite", "full", "overwrite", "shallow")


@pytest.mark.filterwarnings("ignore:the hint was ignored")
def test_paths_through_verbs(tmp_path: Path) -> None:
    changes = 0
    cases = list(itertools.product(("add", "remove"), FILES, SPELLINGS, VERBS))
    for number, (action, path, spell, verb) in enumerate(
        cases if os.environ.get("DELTAREPLAY_SLOW") else random.Random(1).sample(cases, 80)
    ):
        root = tmp_path / str(number)
        table = build(root, action, spell, path)
        before = dict(tree(root))
        own, call = VERBS[verb]
        with contextlib.suppress(dr.DeltaReplayError):
            call(root, table)
        after = dict(tree(root))
        for file in before.keys() | after.keys():
            if before.get(file) != after.get(file):
                case = (action, spell(path, "ROOT"), verb, file)
                assert may_change(own, verb, file, file not in before), case
                changes += 1
    assert changes > 80, "verbs write and delete something"
