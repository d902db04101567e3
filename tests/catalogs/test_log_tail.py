"""Reading a table whose catalog ratifies its commits.

Protocol: "Catalog-managed tables".
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import pytest
from catalogs.managed import ManagedLog, commit_info, created, paths
from support import logs
from support.memory_catalog import MemoryCatalog

import deltareplay as dr
from deltareplay.catalogs import Credentials, LogTail, RatifiedCommit


def files(newest: int) -> list[str]:
    return [f"f{version}" for version in range(1, newest + 1)]


def test_reads_the_staged_commits_that_the_catalog_names(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=2, newest=5)

    snapshot = managed.table().snapshot()

    assert snapshot.version == 5
    assert paths(snapshot) == files(5)
    assert paths(managed.table().snapshot(version=4)) == files(4)
    assert managed.table().history()["version"].to_pylist() == [5, 4, 3, 2, 1, 0]
    actions = managed.table().actions(3).read_all().to_pylist()
    assert [row["add"]["path"] for row in actions if row["add"]] == ["f3", "f4", "f5"]


@pytest.mark.parametrize("published", [0, 3, 5])
def test_one_request_opens_a_table(tmp_path: Path, published: int) -> None:
    managed = ManagedLog(tmp_path, published=published, newest=5)

    managed.table().snapshot()

    assert managed.catalog.calls.count("load") == 1


def test_rejects_a_managed_table_without_its_catalog(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=2, newest=3)

    for look in (lambda t: t.snapshot(), lambda t: t.history(), lambda t: t.append({"id": [1]})):
        with pytest.raises(dr.UnsupportedFeatureError) as caught:
            look(dr.Table(managed.log.uri))
        assert caught.value.code == "catalog.required"
        assert "catalog=" in str(caught.value)


def test_rejects_a_catalog_that_does_not_manage_the_table(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=3, newest=3)

    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr.Table(managed.log.uri, catalog=MemoryCatalog()).snapshot()
    assert caught.value.code == "catalog.required"


def test_ignores_published_files_after_the_newest_version(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=5, newest=5)
    managed.log.checkpoint(5, hint=False)
    managed.log.checksum(5)
    managed.catalog.max_version = 3

    assert managed.table().snapshot().version == 3
    assert paths(managed.table().snapshot()) == files(3)
    with pytest.raises(dr.VersionNotFoundError) as caught:
        managed.table().snapshot(version=4)
    assert caught.value.code == "version.not_found"


def test_the_commit_of_the_catalog_precedes_the_published_one(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=2, newest=3)
    logs.write_commit(managed.log.table, 3, [commit_info(3), logs.add("wrong")])

    assert paths(managed.table().snapshot()) == files(3)


def test_staged_commits_are_ignored_until_ratified(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=2, newest=3)
    for version in (3, 4, 5):
        path = managed.directory / f"{version:020}.ffffffff-0000-0000-0000-000000000000.json"
        path.write_text("never read")

    assert paths(managed.table().snapshot()) == files(3)


def test_inline_commits_are_read_like_files(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=2, newest=5)
    managed.move_commits_inline()

    snapshot = managed.table().snapshot()

    assert paths(snapshot) == files(5)
    assert managed.table().history()["version"].to_pylist()[0] == 5
    assert managed.table().verify(data_files=False).findings == ()


def test_a_corrupt_inline_commit_is_reported(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=2, newest=2)
    managed.catalog.commits[3] = RatifiedCommit(3, content=b'{"add":{"path":')
    managed.catalog.max_version = 3

    with pytest.raises(dr.CorruptTableError) as caught:
        managed.table().snapshot()
    assert caught.value.version == 3
    assert caught.value.line == 1


def test_refresh_reads_newly_ratified_commits(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=2, newest=5)
    newer = {version: managed.catalog.commits.pop(version) for version in (4, 5)}
    managed.catalog.max_version = 3
    before = managed.table().snapshot()
    assert paths(before) == files(3)

    managed.catalog.commits.update(newer)
    managed.catalog.max_version = 5
    assert paths(before.refresh()) == files(5)


def test_refresh_continues_with_published_commits(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=2, newest=4)
    before = managed.table().snapshot()
    for version in (3, 4):
        staged = managed.directory / str(managed.catalog.commits[version].file_name)
        staged.rename(managed.published(version))
    managed.catalog.commits.clear()

    assert before.refresh().version == 4
    # the staged files of the snapshot are gone: it reads the published ones
    assert paths(before) == files(4)


def test_refresh_ignores_an_older_response(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=5, newest=5)
    snapshot = managed.table().snapshot()
    managed.catalog.max_version = 3

    assert snapshot.refresh().version == 5


def test_changes_and_streams_see_the_catalogs_commits(tmp_path: Path) -> None:
    path, catalog = tmp_path / "t", MemoryCatalog()
    table = created(path, catalog)
    table.append({"id": [1, 2]})
    table.delete("id = 1")
    for version in (1, 2):  # as if nobody had published yet
        (path / "_delta_log" / f"{version:020}.json").unlink()
        commit = catalog.staged[version]
        catalog.commits[version] = RatifiedCommit(version, commit.file_name)

    changes = dr.Table(path, catalog=catalog).changes(1).to_arrow()
    assert sorted(changes["_change_type"].to_pylist()) == ["delete", "insert", "insert"]
    stream = table.follow(starting_version=0, read_change_feed=True, available_now=True)
    assert sum(batch.data.num_rows for batch in stream) == 3
    assert table.snapshot(version=1).diff(table.snapshot()).versions == (1, 2)


# -- invalid responses


@pytest.mark.parametrize("missing", [3, 4])
def test_a_tail_with_a_gap_is_refused(tmp_path: Path, missing: int) -> None:
    managed = ManagedLog(tmp_path, published=2, newest=5)
    del managed.catalog.commits[missing]

    with pytest.raises(dr.CorruptTableError) as caught:
        managed.table().snapshot()
    assert caught.value.code == ("catalog.gap" if missing == 3 else "catalog.tail")


@pytest.mark.parametrize("newest", [4, 6, None])
def test_a_tail_that_does_not_end_with_the_newest_version_is_refused(
    tmp_path: Path, newest: int | None
) -> None:
    managed = ManagedLog(tmp_path, published=2, newest=5)
    managed.catalog.max_version = newest

    with pytest.raises(dr.CorruptTableError) as caught:
        managed.table().snapshot()
    assert caught.value.code == "catalog.tail"


def test_a_newest_version_without_a_commit_is_refused(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=5, newest=5)
    managed.catalog.max_version = 6

    with pytest.raises(dr.CorruptTableError) as caught:
        managed.table().snapshot()
    assert caught.value.code == "catalog.gap"
    assert caught.value.version == 6


@pytest.mark.parametrize(
    "name",
    [
        "00000000000000000004.00000000-0000-0000-0000-000000000003.json",
        "../../elsewhere/00000000000000000003.a.json",
        "00000000000000000003.a/b.json",
        "3.json",
        "",
    ],
)
def test_rejects_a_file_name_of_another_version(tmp_path: Path, name: str) -> None:
    managed = ManagedLog(tmp_path, published=2, newest=3)
    managed.catalog.commits[3] = RatifiedCommit(3, name)

    with pytest.raises(dr.CorruptTableError) as caught:
        managed.table().snapshot()
    assert caught.value.code == "catalog.tail"


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_missing_file_is_named(tmp_path: Path, is_listed: bool) -> None:
    managed = ManagedLog(tmp_path, published=2, newest=3)
    commit = managed.catalog.commits[3]
    (managed.directory / str(commit.file_name)).unlink()
    if is_listed:
        managed.catalog.commits[3] = replace(commit, size=10, modification_time=1)

    with pytest.raises(dr.CorruptTableError) as caught:
        managed.table().snapshot()
    assert caught.value.code == "catalog.commit_missing"
    assert str(commit.file_name) in str(caught.value)


def test_another_table_under_the_same_name_is_noticed(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=2, newest=2)
    snapshot = managed.table().snapshot()
    managed.catalog.load = lambda: LogTail(7, [], "another")  # type: ignore[method-assign]

    with pytest.raises(dr.CorruptTableError) as caught:
        snapshot.refresh()
    assert caught.value.code == "catalog.table_id"


@pytest.mark.parametrize(
    "answer",
    [
        None,
        7,
        LogTail(-1),
        LogTail(2, [RatifiedCommit(2)]),
        LogTail(2, [RatifiedCommit(2, "a", content=b"b")]),
        LogTail(2, allowed=["everything"]),  # type: ignore[list-item]
    ],
)
def test_rejects_an_invalid_response(tmp_path: Path, answer: object) -> None:
    managed = ManagedLog(tmp_path, published=2, newest=2)
    managed.catalog.load = lambda: answer  # type: ignore[method-assign,assignment,return-value]

    with pytest.raises(dr.InvalidArgumentError) as caught:
        managed.table().snapshot()
    assert caught.value.code == "catalog.answer"


class VendingCatalog(MemoryCatalog):
    def credentials(self, operation: Literal["READ", "READ_WRITE"]) -> Credentials:
        super().credentials(operation)
        return Credentials(MappingProxyType({"aws_region": "eu-west-1"}))


def test_vended_storage_options_may_be_any_mapping(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=2, newest=2)
    catalog = VendingCatalog(2)

    assert dr.Table(managed.log.uri, catalog=catalog).snapshot().version == 2
    assert "credentials READ" in catalog.calls


# -- exceptions of a catalog


class FailingCatalog(MemoryCatalog):
    error: BaseException

    def load(self) -> LogTail:
        raise self.error


@pytest.mark.parametrize("error", [OSError("no route"), KeyError("table"), RuntimeError("odd")])
def test_exceptions_of_a_catalog_are_the_cause(tmp_path: Path, error: Exception) -> None:
    managed = ManagedLog(tmp_path, published=2, newest=2)
    catalog = FailingCatalog(2)
    catalog.error = error

    with pytest.raises(dr.DeltaReplayError) as caught:
        dr.Table(managed.log.uri, catalog=catalog).snapshot()
    assert caught.value.code == "catalog.failed"
    assert caught.value.__cause__ is error
    assert isinstance(caught.value, dr.StorageError) == isinstance(error, OSError)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), dr.StorageError("down", code="storage.io")])
def test_own_exceptions_and_ctrl_c_are_raised_unchanged(
    tmp_path: Path, error: BaseException
) -> None:
    managed = ManagedLog(tmp_path, published=2, newest=2)
    catalog = FailingCatalog(2)
    catalog.error = error

    with pytest.raises(type(error)) as caught:
        dr.Table(managed.log.uri, catalog=catalog).snapshot()
    assert caught.value is error


# -- the table as a value


class Picklable:
    """A stateless catalog."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Picklable)

    __hash__ = None  # type: ignore[assignment]

    def load(self) -> LogTail:
        return LogTail(2)


def test_a_pickled_table_keeps_its_catalog(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=2, newest=2)
    table = dr.Table(managed.log.uri, catalog=Picklable())  # type: ignore[arg-type]

    assert repr(table).endswith("catalog=<Picklable>)")
    assert pickle.loads(pickle.dumps(table)) == table
    assert table != dr.Table(managed.log.uri)
