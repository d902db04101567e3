"""Committing to a table that a catalog manages: staged, ratified, published in order.

Protocol: "Catalog-managed tables".
"""

from __future__ import annotations

import json
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from catalogs.managed import ENABLED, ManagedLog, commit_info, created, paths
from support import logs
from support.memory_catalog import MemoryCatalog

import deltareplay as dr
from deltareplay.catalogs import LogTail, Ratification, StagedCommit


def ids(table: dr.Table) -> list[int]:
    return sorted(table.snapshot().scan().to_arrow()["id"].to_pylist())


def names(root: Path) -> list[str]:
    return sorted(file.name for file in (root / "_delta_log").glob("*.json"))


def staged(root: Path) -> list[Path]:
    return sorted((root / "_delta_log" / "_staged_commits").glob("*.json"))


def test_a_new_table_is_published_and_registered(tmp_path: Path) -> None:
    catalog = MemoryCatalog()
    table = created(tmp_path, catalog)

    assert catalog.max_version == 0
    assert staged(tmp_path) == []
    features = table.snapshot().protocol.writer_features
    assert features is not None
    assert {"catalogManaged", "inCommitTimestamp", "vacuumProtocolCheck"} <= set(features)
    assert table.snapshot().in_commit_timestamp is not None


def test_a_commit_is_staged_ratified_and_published(tmp_path: Path) -> None:
    catalog = MemoryCatalog()
    table = created(tmp_path, catalog)
    catalog.calls.clear()

    assert table.append({"id": [1, 2]}).version == 1

    (file,) = staged(tmp_path)
    published = tmp_path / "_delta_log" / "00000000000000000001.json"
    assert file.read_bytes() == published.read_bytes()
    lines = [json.loads(line) for line in published.read_text().splitlines()]
    requested = catalog.staged[1]
    assert lines[0]["commitInfo"]["txnId"] in file.name
    assert (requested.file_name, requested.size) == (file.name, file.stat().st_size)
    assert requested.timestamp == lines[0]["commitInfo"]["inCommitTimestamp"]
    assert (requested.metadata, requested.protocol, requested.published_version) == (None, None, 0)
    assert catalog.calls.count("commit") == catalog.calls.count("published") == 1
    assert catalog.commits == {}


def test_every_verb_commits_through_the_catalog(tmp_path: Path) -> None:
    catalog = MemoryCatalog()
    table = created(tmp_path, catalog)
    table.append({"id": [1, 2, 3, 4]})
    table.delete("id = 2")
    table.update("id = 3", {"id": "id + 10"})
    merge = table.merge({"id": [4, 5]}, "id").when_matched_delete()
    merge.when_not_matched_insert_all().execute()
    table.overwrite({"id": [5]}, "id = 5")
    table.set_properties({"delta.appendOnly": "false"})
    table.restore(4)

    assert sorted(catalog.staged) == [1, 2, 3, 4, 5, 6, 7]
    assert ids(table) == [1, 5, 13]
    assert catalog.staged[6].metadata is not None
    assert catalog.staged[6].metadata.configuration["delta.appendOnly"] == "false"
    assert ids(dr.Table(tmp_path, catalog=catalog)) == [1, 5, 13]


def test_the_catalog_decides_a_race(tmp_path: Path) -> None:
    catalog = MemoryCatalog()
    table = created(tmp_path, catalog)
    other = dr.Table(tmp_path, catalog=catalog)

    with table.transaction("WRITE") as late:
        other.append({"id": [1]})
        late.add_files(pa.Table.from_pylist([file("late")]))

    assert table.snapshot().version == 2
    assert sorted(catalog.staged) == [1, 2]
    # the losing commit stays where it is and is never read
    assert len(staged(tmp_path)) == 3


def file(name: str) -> dict[str, Any]:
    return {
        "path": name,
        "partitionValues": {},
        "size": 1,
        "modificationTime": 1,
        "dataChange": True,
    }


def test_conflicting_commits_raise_an_error(tmp_path: Path) -> None:
    catalog = MemoryCatalog()
    table = created(tmp_path, catalog)
    table.append({"id": [1]})

    with pytest.raises(dr.CommitConflictError) as caught, table.transaction("DELETE") as late:
        late.read()
        late.remove_files(late.snapshot.files())
        table.delete("id = 1")
    assert caught.value.code == "conflict.delete_read"


class LossyCatalog(MemoryCatalog):
    """Ratify commits and lose the responses, as often as requested."""

    lost = 1

    def commit(self, staged: StagedCommit) -> Ratification:
        answer = super().commit(staged)
        if self.lost:
            self.lost -= 1
            raise TimeoutError("no answer")
        return answer


@pytest.mark.parametrize("lost", [1, 3])
def test_a_lost_answer_commits_once(tmp_path: Path, lost: int) -> None:
    catalog = LossyCatalog()
    table = created(tmp_path, catalog)
    catalog.lost = lost

    assert table.append({"id": [1]}).version == 1
    assert ids(table) == [1]
    assert catalog.max_version == 1


class UnreachableCatalog(MemoryCatalog):
    def commit(self, staged: StagedCommit) -> Ratification:
        raise ConnectionError("refused")


def test_an_unreachable_catalog_leaves_the_commit_unknown(tmp_path: Path) -> None:
    table = created(tmp_path, catalog := UnreachableCatalog())

    with pytest.raises(dr.CommitStateUnknownError) as caught:
        table.append({"id": [1]}, timeout=0.2)
    assert isinstance(caught.value.__cause__, ConnectionError)
    assert catalog.max_version == 0
    assert ids(table) == []


@pytest.mark.parametrize("error", [ValueError, TypeError])
def test_refusals_of_a_catalog_are_not_retried(tmp_path: Path, error: type[Exception]) -> None:
    table = created(tmp_path, catalog := MemoryCatalog())

    def refuse(method: str) -> None:
        if method == "commit":
            raise error("not yours")

    catalog.before = refuse
    with pytest.raises(dr.DeltaReplayError) as caught:
        table.append({"id": [1]}, timeout=60)
    assert isinstance(caught.value.__cause__, error)
    assert catalog.calls.count("commit") == 1
    assert ids(table) == []


class BackloggedCatalog(MemoryCatalog):
    def commit(self, staged: StagedCommit) -> Ratification:
        return "publish-first"


def test_a_backlog_is_published_first(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=1, newest=4, most_unpublished=2)

    assert managed.table().append({"id": [1]}).version == 5
    assert names(tmp_path) == [f"{version:020}.json" for version in range(6)]
    assert managed.catalog.calls.count("commit") == 2


def test_a_backlog_that_never_ends_is_an_error(tmp_path: Path) -> None:
    table = created(tmp_path, BackloggedCatalog())

    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        table.append({"id": [1]})
    assert caught.value.code == "catalog.backlog"


class InvalidCatalog(MemoryCatalog):
    def commit(self, staged: StagedCommit) -> Ratification:
        return "perhaps"  # type: ignore[return-value]


def test_rejects_an_invalid_response(tmp_path: Path) -> None:
    table = created(tmp_path, InvalidCatalog())

    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.append({"id": [1]})
    assert caught.value.code == "catalog.answer"


class WronglyAnsweringCatalog(MemoryCatalog):
    def commit(self, staged: StagedCommit) -> Ratification:
        super().commit(staged)
        return None  # type: ignore[return-value]


def test_a_commit_that_was_taken_keeps_its_files(tmp_path: Path) -> None:
    catalog = WronglyAnsweringCatalog()
    table = created(tmp_path, catalog)

    assert table.append({"id": [1]}).version == 1
    assert ids(dr.Table(tmp_path, catalog=catalog)) == [1]


# -- publishing


def test_the_next_writer_publishes_remaining_commits(tmp_path: Path) -> None:
    catalog = MemoryCatalog()
    table = created(tmp_path, catalog)

    def stop(method: str) -> None:
        if method == "published":
            raise OSError("killed")

    catalog.before = stop
    with pytest.warns(dr.DeltaReplayWarning, match="killed"):
        assert table.append({"id": [1]}).version == 1
    catalog.before = lambda _: None

    assert ids(dr.Table(tmp_path, catalog=catalog)) == [1]
    assert dr.Table(tmp_path, catalog=catalog).append({"id": [2]}).version == 2
    assert names(tmp_path) == [f"{version:020}.json" for version in range(3)]
    assert catalog.commits == {}


def test_published_commits_are_unchanged(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=1, newest=3)
    logs.write_commit(tmp_path, 2, [commit_info(2), logs.add("f2")])
    before = managed.published(2).read_bytes()

    managed.table().append({"id": [1]})

    assert managed.published(2).read_bytes() == before
    assert names(tmp_path) == [f"{version:020}.json" for version in range(5)]


def test_inline_commits_are_published_as_files(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=1, newest=3)
    managed.move_commits_inline()
    content = managed.catalog.commits[2].content

    managed.table().append({"id": [1]})

    assert managed.published(2).read_bytes() == content


def test_checkpoints_and_compacted_files_are_of_published_versions(tmp_path: Path) -> None:
    managed = ManagedLog(tmp_path, published=1, newest=5)

    managed.table().snapshot(version=3)
    managed.table().checkpoint()
    assert names(tmp_path) == [f"{version:020}.json" for version in range(6)]

    managed = ManagedLog(tmp_path / "other", published=1, newest=5)
    managed.table().compact_log(1, 3)
    assert managed.published(3).exists()
    assert not managed.published(4).exists()
    assert paths(managed.table().snapshot()) == ["f1", "f2", "f3", "f4", "f5"]


def test_a_checkpoint_that_is_due_comes_after_publishing(tmp_path: Path) -> None:
    catalog = MemoryCatalog()
    table = created(tmp_path, catalog, **{"delta.checkpointInterval": "3"})
    for number in range(3):
        table.append({"id": [number]})

    assert (tmp_path / "_delta_log" / "00000000000000000003.checkpoint.parquet").exists()
    assert (tmp_path / "_delta_log" / "00000000000000000003.json").exists()


# -- permissions of a catalog


def test_maintenance_is_refused_unless_the_catalog_allows_it(tmp_path: Path) -> None:
    catalog = MemoryCatalog()
    table = created(tmp_path, catalog)
    for number in range(3):
        table.append({"id": [number]})
    works = {
        "vacuum": lambda: table.vacuum(dry_run=False),
        "optimize": table.optimize,
        "cleanup_log": lambda: table.cleanup_log(dry_run=False),
    }

    for name, work in works.items():
        with pytest.raises(dr.UnsupportedFeatureError) as caught:
            work()
        assert caught.value.code == "catalog.maintenance"
        assert name in str(caught.value)
    table.vacuum(dry_run=True)
    table.cleanup_log(dry_run=True)

    catalog.allowed = ("vacuum", "optimize", "cleanup_log")
    for work in works.values():
        work()
    assert ids(table) == [0, 1, 2]


def test_a_write_compacts_files_only_if_the_catalog_allows_it(tmp_path: Path) -> None:
    catalog = MemoryCatalog()
    table = created(tmp_path, catalog, **{"delta.autoOptimize.autoCompact": "true"})
    for number in range(50):
        table.append({"id": [number]}, durable=False)
    assert table.snapshot().num_files == 50

    catalog.allowed = ("optimize",)
    table.append({"id": [50]})
    assert table.snapshot().num_files == 1
    assert ids(table) == list(range(51))


# -- enabling and disabling catalogManaged


def test_a_table_is_handed_over_and_taken_back(tmp_path: Path) -> None:
    catalog = MemoryCatalog()
    dr.write(tmp_path, {"id": [1]})
    table = dr.Table(tmp_path, catalog=catalog)
    table.append({"id": [2]})
    assert catalog.staged == {}

    table.set_properties(ENABLED | {"delta.enableInCommitTimestamps": "true"})
    assert catalog.max_version == 2
    table.append({"id": [3]})
    assert sorted(catalog.staged) == [3]
    with pytest.raises(dr.UnsupportedFeatureError, match="catalog="):
        dr.Table(tmp_path).append({"id": [4]})

    table.drop_feature("catalogManaged")
    assert catalog.max_version is None
    dr.Table(tmp_path).append({"id": [4]})
    assert ids(dr.Table(tmp_path)) == ids(table) == [1, 2, 3, 4]


def test_enabling_requires_a_catalog_and_timestamps(tmp_path: Path) -> None:
    dr.write(tmp_path, {"id": [1]})
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr.Table(tmp_path).set_properties(ENABLED)
    assert caught.value.code == "catalog.required"

    table = dr.Table(tmp_path, catalog=MemoryCatalog())
    with pytest.raises(dr.InvalidArgumentError) as invalid:
        table.set_properties(ENABLED | {"delta.enableInCommitTimestamps": "false"})
    assert invalid.value.code == "catalog.in_commit_timestamps"


class RefusingCatalog(MemoryCatalog):
    """Does not take tables over."""

    def load(self) -> LogTail:
        return replace(super().load(), allowed=())


def test_a_catalog_that_refuses_to_take_over_leaves_tables_unchanged(tmp_path: Path) -> None:
    dr.write(tmp_path / "old", {"id": [1]})
    old = dr.Table(tmp_path / "old", catalog=RefusingCatalog())
    on = ENABLED | {"delta.enableInCommitTimestamps": "true"}

    for work in (
        lambda: old.set_properties(on),
        lambda: created(tmp_path / "new", RefusingCatalog()),
    ):
        with pytest.raises(dr.UnsupportedFeatureError) as caught:
            work()
        assert caught.value.code == "catalog.take_over"
    assert ids(dr.Table(tmp_path / "old")) == [1]
    assert not dr.is_table(tmp_path / "new")


# -- the table's identity

TABLE_ID = "io.unitycatalog.tableId"


def test_a_replaced_table_keeps_its_identity(tmp_path: Path) -> None:
    catalog = MemoryCatalog()
    own = {TABLE_ID: "a1", "delta.checkpointPolicy": "v2"}
    table = created(tmp_path, catalog, **own)
    before = table.snapshot()

    other = pa.schema([("name", pa.string())])
    dr.create_table(tmp_path, other, or_replace=True, catalog=catalog)

    after = table.snapshot()
    assert (after.version, after.schema.names) == (1, ["name"])
    assert after.metadata.id == before.metadata.id
    assert after.properties == before.properties
    with pytest.raises(dr.InvalidArgumentError, match="the id of the table in its catalog"):
        dr.create_table(
            tmp_path, other, or_replace=True, properties={TABLE_ID: "b2"}, catalog=catalog
        )


def test_what_the_catalog_relies_on_cannot_be_changed(tmp_path: Path) -> None:
    table = created(tmp_path, MemoryCatalog())
    table.set_properties({TABLE_ID: "a1"})

    for work, code in (
        (lambda: table.set_properties({TABLE_ID: "b2"}), "properties.internal"),
        (lambda: table.unset_properties([TABLE_ID]), "properties.internal"),
        (
            lambda: table.unset_properties(["delta.enableInCommitTimestamps"]),
            "catalog.in_commit_timestamps",
        ),
    ):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            work()
        assert caught.value.code == code
    assert table.snapshot().version == 1
    table.append({"id": [1]})
    table.restore(0)
    assert table.snapshot().properties[TABLE_ID] == "a1"


@pytest.mark.parametrize("shallow", [True, False], ids=["shallow", "deep"])
def test_no_catalog_manages_a_clone(tmp_path: Path, shallow: bool) -> None:
    table = created(tmp_path / "from", MemoryCatalog(), **{TABLE_ID: "a1"})
    table.append({"id": [1, 2]})

    clone = table.clone(tmp_path / "to", shallow=shallow)

    protocol = clone.snapshot().protocol
    assert protocol.reader_features == ["vacuumProtocolCheck"]
    assert "catalogManaged" not in (protocol.writer_features or [])
    assert clone.snapshot().properties == {"delta.enableInCommitTimestamps": "true"}
    clone.append({"id": [3]})
    assert ids(dr.Table(clone.uri, allowed_roots=[table.uri])) == [1, 2, 3]


# -- concurrency


def test_concurrent_writers_and_readers_lose_nothing(tmp_path: Path) -> None:
    catalog = MemoryCatalog(most_unpublished=3)
    # a reader may see a checkpoint before its hint, and is warned
    created(tmp_path, catalog, **{"delta.checkpointInterval": "1000"})
    errors: list[BaseException] = []

    def write(first: int) -> None:
        table = dr.Table(tmp_path, catalog=catalog)
        try:
            for number in range(first, first + 10):
                table.append({"id": [number]})
        except BaseException as error:
            errors.append(error)

    def read() -> None:
        table = dr.Table(tmp_path, catalog=catalog)
        try:
            snapshot = table.snapshot()
            while snapshot.version < 40 and not errors:
                snapshot = snapshot.refresh()
                assert snapshot.num_files == snapshot.version
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(100 * number,)) for number in range(4)]
    threads.append(threading.Thread(target=read))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    table = dr.Table(tmp_path, catalog=catalog)
    assert table.snapshot().version == 40
    assert ids(table) == [100 * item + number for item in range(4) for number in range(10)]
    assert table.verify().findings == ()
    # the published commit of each version is the ratified one
    for version, commit in catalog.staged.items():
        path = tmp_path / "_delta_log" / "_staged_commits" / commit.file_name
        published = tmp_path / "_delta_log" / f"{version:020}.json"
        assert path.read_bytes() == published.read_bytes()
