"""Tables that a catalog manages, with commits that are staged but not published."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
from support import logs
from support.memory_catalog import MemoryCatalog

import deltareplay as dr
from deltareplay.catalogs import RatifiedCommit

FEATURES = ("catalogManaged", "vacuumProtocolCheck", "inCommitTimestamp")
SCHEMA = logs.schema(id="long")
ENABLED = {"delta.feature.catalogManaged": "supported"}


def created(root: Path, catalog: MemoryCatalog, **properties: str) -> dr.Table:
    """Create a table that the catalog manages."""
    schema = pa.schema([("id", pa.int64())])
    return dr.create_table(root, schema, properties=ENABLED | properties, catalog=catalog)


class ManagedLog:
    """A log whose newest commits are staged, and known to its catalog.

    Attributes:
        log: All commits, up to version ``newest``.
        directory: ``_staged_commits``, which has those after version ``published``.
        catalog: Its responses name the staged commits.
    """

    def __init__(self, table: Path, *, published: int, newest: int, **options: Any) -> None:
        self.log = logs.LogBuilder(table)
        self.log.commit(
            commit_info(0),
            {
                "protocol": {
                    "minReaderVersion": 3,
                    "minWriterVersion": 7,
                    "readerFeatures": ["catalogManaged", "vacuumProtocolCheck"],
                    "writerFeatures": list(FEATURES),
                }
            },
            logs.metadata(SCHEMA, configuration={"delta.enableInCommitTimestamps": "true"}),
        )
        for version in range(1, newest + 1):
            self.log.commit(commit_info(version), logs.add(f"f{version}"))
        self.directory = table / "_delta_log" / "_staged_commits"
        self.directory.mkdir()
        staged = [self.stage(version) for version in range(published + 1, newest + 1)]
        self.catalog = MemoryCatalog(newest, tuple(staged), **options)

    def published(self, version: int) -> Path:
        """Return the path of a published version."""
        return self.log.table / "_delta_log" / f"{version:020}.json"

    def stage(self, version: int) -> RatifiedCommit:
        """Move a published commit to its staged path."""
        name = f"{version:020}.{uuid.UUID(int=version)}.json"
        self.published(version).rename(self.directory / name)
        return RatifiedCommit(version, name)

    def move_commits_inline(self) -> None:
        """Move staged commits from files into the catalog."""
        for version, commit in self.catalog.commits.items():
            file = self.directory / str(commit.file_name)
            self.catalog.commits[version] = RatifiedCommit(version, content=file.read_bytes())
            file.unlink()

    def table(self) -> dr.Table:
        return dr.Table(self.log.uri, catalog=self.catalog)


def commit_info(version: int) -> logs.Action:
    """Return the ``commitInfo`` action of a version."""
    timestamp = 1_800_000_000_000 + version
    return logs.commit_info(
        timestamp=timestamp,
        inCommitTimestamp=timestamp,
        operationParameters={},
        txnId=str(uuid.UUID(int=version)),
    )


def paths(snapshot: dr.Snapshot) -> list[str]:
    """Return the sorted paths of a snapshot's files."""
    return sorted(snapshot.files(columns=["path"])["path"].to_pylist())
