"""Real object stores: reads, races with one winner, and lost responses."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from concurrency import race as row_race
from stores import fault_proxy, hdfs_proxy, servers
from stores.servers import Store

import deltareplay as dr

pytestmark = pytest.mark.stores
WRITER = Path(__file__).parents[1] / "concurrency" / "writer.py"
PROCESSES = int(os.environ.get("DELTAREPLAY_WRITERS", "4"))
COMMITS = int(os.environ.get("DELTAREPLAY_COMMITS", "4"))
FAULTY_COMMITS = max(3 * len(fault_proxy.FAULTS), COMMITS)
SCHEMA = pa.schema([("id", pa.int64())])


def create(store: Store, name: str) -> dr.Table:
    return dr.create_table(f"{store.root}/{name}", SCHEMA, storage_options=store.options)


def test_committed_files_are_read(store: Store) -> None:
    table = create(store, "reading/a b%20ä")
    for number in range(12):
        with table.transaction() as transaction:
            transaction.add(f"f{number}", size=number, stats={"numRecords": number})
    again = dr.Table(table.uri, store.options)
    snapshot = again.snapshot()
    assert snapshot.version == 12
    assert snapshot.num_files == snapshot.files().num_rows == 12
    assert snapshot.num_rows == sum(range(12))
    assert not snapshot.warnings
    assert again.snapshot(version=5).num_files == 5
    assert again.history()["version"].to_pylist() == list(range(12, -1, -1))
    assert dr.is_table(table.uri, store.options)
    assert not dr.is_table(f"{store.root}/nowhere", store.options)


def test_missing_objects_are_reported(store: Store) -> None:
    with pytest.raises(dr.TableNotFoundError) as caught:
        dr.Table(f"{store.root}/nowhere", store.options).snapshot()
    assert caught.value.code == "table.not_found"
    table = create(store, "missing")
    with table.transaction() as transaction:
        transaction.add("gone.parquet", size=100)
    with pytest.raises(dr.DeltaReplayError) as caught:
        table.snapshot().scan().to_arrow()
    assert caught.value.path == "gone.parquet"


def test_unused_files_are_deleted(store: Store) -> None:
    table = create(store, "vacuum/a b")
    table.append({"id": [1, 2, 3]})
    removed = table.snapshot().files(columns=["path"])["path"].to_pylist()
    table.delete("id = 2")
    table.append({"id": [4]})
    time.sleep(1.1)  # the stores count seconds
    assert table.vacuum().files == (), "the retention period is a week"
    done = table.vacuum(timedelta(0), force=True, dry_run=False)
    assert list(done.files) == removed
    assert table.vacuum(timedelta(0), force=True).files == ()
    rows = table.snapshot().scan().to_arrow()["id"].to_pylist()
    assert sorted(rows) == [1, 3, 4]


def test_the_log_is_cleaned_up(store: Store) -> None:
    table = create(store, "cleaned")
    for number in range(3):
        table.append({"id": [number]})
    table.checkpoint()
    table.append({"id": [3]})
    expected = []
    if make_older(store, "cleaned", timedelta(days=40), range(4)):
        expected = [f"_delta_log/{version:020}.json" for version in range(3)]
    done = table.cleanup_log(dry_run=False)
    assert [name for name in done.files if name.endswith(".json")] == expected
    again = dr.Table(table.uri, store.options).snapshot(strict=True)
    assert sorted(again.scan().to_arrow()["id"].to_pylist()) == [0, 1, 2, 3]
    if expected:
        with pytest.raises(dr.VersionNotFoundError) as caught:
            table.snapshot(version=1)
        assert caught.value.code == "version.not_found"


def make_older(store: Store, table: str, age: timedelta, versions: Iterable[int]) -> bool:
    """Make the log files of some versions older; return whether the store allows it."""
    names = tuple(f"{version:020}." for version in versions)
    log, seconds = f"{table}/_delta_log/", age.total_seconds()
    if store.bucket is not None:
        for key, (body, generation, timestamp) in list(store.bucket.objects.items()):
            if key.startswith(log) and key.removeprefix(log).startswith(names):
                store.bucket.objects[key] = (body, generation, timestamp - seconds)
    if store.directory is not None:
        for path in (store.directory / log).iterdir():
            if path.name.startswith(names):
                timestamp = path.stat().st_mtime - seconds
                os.utime(path, (timestamp, timestamp))
    return not (store.bucket is None and store.directory is None)


def test_a_feature_is_dropped_with_its_history(store: Store) -> None:
    properties = {"delta.enableDeletionVectors": "true"}
    table = dr.create_table(
        f"{store.root}/truncated", SCHEMA, storage_options=store.options, properties=properties
    )
    table.append({"id": [1, 2, 3]})
    table.delete("id = 2")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.drop_feature("deletionVectors", truncate_history=True)
    assert caught.value.code == "alter.feature_in_history"
    newest = table.snapshot().version
    if make_older(store, "truncated", timedelta(hours=25), range(newest + 1)):
        table.drop_feature("deletionVectors", truncate_history=True)
        after = dr.Table(table.uri, store.options).snapshot(verify=True)
        assert "deletionVectors" not in (after.protocol.reader_features or ())
        with pytest.raises(dr.VersionNotFoundError) as caught:
            table.snapshot(version=2)
        assert caught.value.code == "version.not_found"
    assert sorted(table.snapshot().scan().to_arrow()["id"].to_pylist()) == [1, 3]


def test_restore_and_compact_log(store: Store) -> None:
    table = create(store, "restored")
    table.append({"id": [1, 2]})
    table.append({"id": [3]})
    table.delete("id = 1")
    assert table.restore(1).version == 4
    compacted = table.compact_log(1, 4)
    assert (compacted.start, compacted.end) == (1, 4)
    again = dr.Table(table.uri, store.options)
    snapshot = again.snapshot(verify=True)
    assert sorted(snapshot.scan().to_arrow()["id"].to_pylist()) == [1, 2]
    assert sorted(again.snapshot(version=3).scan().to_arrow()["id"].to_pylist()) == [2, 3]
    assert again.verify(rows=True).ok


def race(store: Store) -> None:
    """Run concurrent writers: every version has one winner, and nothing is lost."""
    table = create(store, "race")
    options = json.dumps(store.options)
    writers = [
        subprocess.Popen(
            [sys.executable, str(WRITER), table.uri, f"w{number}", str(COMMITS), options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(PROCESSES)
    ]
    output = [writer.communicate(timeout=300) for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * PROCESSES, output
    acknowledged = [int(version) for versions, _ in output for version in versions.split()]
    removed = COMMITS // 4
    assert len(set(acknowledged)) == PROCESSES * COMMITS
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dr.DeltaReplayWarning)
        snapshot = table.snapshot()
    assert snapshot.version == PROCESSES * (COMMITS + removed)
    assert snapshot.transactions == {f"w{number}": COMMITS - 1 for number in range(PROCESSES)}
    live = snapshot.files(columns=["path"])["path"].to_pylist()
    assert len(live) == len(set(live)) == PROCESSES * (COMMITS - removed)


def test_a_race_has_one_winner_for_each_version(store: Store) -> None:
    race(store)


def test_appended_rows_occur_once_for_every_reader(store: Store) -> None:
    uri, options = f"{store.root}/appends", store.options
    table = dr.create_table(uri, row_race.SCHEMA, storage_options=options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dr.DeltaReplayWarning)
        row_race.append_concurrently(table, options, PROCESSES, COMMITS)


def fails_without_conditional_puts(check: Callable[[Store], None]) -> bool:
    with servers.gcs(broken=True) as store:
        assert store.bucket is not None
        store.bucket.latency = 0.02  # so that commits overlap
        try:
            check(store)
        except AssertionError:
            return True
    return False


@pytest.mark.parametrize("check", [race, test_appended_rows_occur_once_for_every_reader])
def test_a_store_without_conditional_puts_fails_the_race(check: Callable[[Store], None]) -> None:
    """A process that ends before the next one begins loses nothing: several attempts."""
    assert any(fails_without_conditional_puts(check) for _ in range(10))


@contextmanager
def behind_proxy(
    store: Store, name: str, monkeypatch: pytest.MonkeyPatch, **faults: Any
) -> Iterator[tuple[dr.Table, Counter[str]]]:
    """A table through a proxy; the environment is restored afterwards."""
    serve = proxy_of(store).serve
    with serve(store.port, **faults) as (port, counts), monkeypatch.context() as patch:
        behind = store.behind(port)
        for variable, value in behind.environment.items():
            patch.setenv(variable, value)
        yield dr.Table(f"{behind.root}/{name}", {**behind.options, "max_retries": "2"}), counts


def proxy_of(store: Store) -> Any:
    """Return the proxy for the store's protocol."""
    return hdfs_proxy if store.name == "hdfs" else fault_proxy


@pytest.mark.parametrize("kind", ["commits", "data"])
def test_lost_responses_neither_lose_nor_duplicate_rows(
    store: Store, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, proxy = f"lost-rows-{kind}", proxy_of(store)
    table = create(store, name)
    files, faults = proxy.COMMITS, proxy.FAULTS
    if kind == "data":
        # a put that fails at once and is executed later would leave a data file, and no rows
        files, faults = proxy.DATA_FILES, tuple(fault for fault in faults if fault != "late")
    acknowledged = {}
    with behind_proxy(store, name, monkeypatch, files=files, faults=faults) as (faulty, counts):
        for number in range(FAULTY_COMMITS):
            acknowledged[faulty.append({"id": [2 * number, 2 * number + 1]}).version] = number
    assert set(counts) == set(faults)
    assert sorted(acknowledged) == list(range(1, FAULTY_COMMITS + 1))
    snapshot = table.snapshot()
    assert snapshot.version == FAULTY_COMMITS, "as many versions as acknowledgements"
    rows = snapshot.scan().to_arrow()["id"].to_pylist()
    assert sorted(rows) == list(range(2 * FAULTY_COMMITS)), "no row is lost or duplicated"


@pytest.mark.parametrize("store", ["hdfs"], indirect=True)
def test_copies_on_hdfs_appear_as_a_whole(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are written under another name, then renamed; one response to that is lost."""
    create(store, "copied").append({"id": [1, 2]})
    lost = {"files": hdfs_proxy.DATA_FILES, "every": 2, "faults": ("lost",)}
    with behind_proxy(store, "copied", monkeypatch, **lost) as (faulty, counts):
        for name in ("first", "second"):
            clone = faulty.clone(f"{faulty.uri}-{name}", shallow=False)
            assert clone.snapshot().scan().to_arrow()["id"].to_pylist() == [1, 2]
    assert dict(counts) == {"lost": 1}


def test_a_put_executed_after_giving_up_was_reported_as_unknown(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(store, "given-up")
    released = threading.Event()
    late = {"every": 1, "faults": ("late",), "released": released}
    with behind_proxy(store, "given-up", monkeypatch, **late) as (faulty, _):
        faulty = dr.Table(faulty.uri, {**faulty.storage_options, "max_retries": "0"})
        with pytest.raises(dr.CommitStateUnknownError) as caught:
            faulty.append({"id": [1, 2]}, timeout=0.1)
        assert caught.value.code == "commit.unknown"
        assert caught.value.version == 1
        assert table.snapshot().version == 0, "not yet"
        released.set()
        deadline = time.monotonic() + 30
        while table.snapshot().version == 0 and time.monotonic() < deadline:
            time.sleep(0.1)
    snapshot = table.snapshot()
    assert snapshot.version == 1
    assert snapshot.scan().to_arrow()["id"].to_pylist() == [1, 2], "its data file was kept"


def test_credentials_stay_hidden(store: Store) -> None:
    secrets = [
        value
        for name, value in store.options.items()
        if any(word in name for word in ("secret", "account_key"))
    ]
    table = dr.Table(f"{store.root}/nowhere", store.options)
    with pytest.raises(dr.DeltaReplayError) as caught:
        table.snapshot()
    wrong = {
        name: value.replace(f":{store.port}", ":9") if "endpoint" in name else value
        for name, value in store.options.items()
    }
    texts = [repr(table), str(caught.value), repr(caught.value)]
    texts.append(repr(pickle.loads(pickle.dumps(table))))
    if wrong != store.options:
        with pytest.raises(dr.StorageError) as refused:
            dr.Table(f"{store.root}/t", {**wrong, "max_retries": "0"}).snapshot()
        texts.append(str(refused.value))
    for text in texts:
        assert not any(secret in text for secret in secrets)


@pytest.mark.parametrize("store", ["gcs"], indirect=True)
def test_a_cold_snapshot_is_one_hint_one_listing_and_reads(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = many_commits(store, "counted")
    assert store.bucket is not None
    monkeypatch.setenv("DELTAREPLAY_LOG_CACHE", "0")
    store.bucket.requests.clear()
    dr.Table(table.uri, store.options).snapshot()
    requested = [path for _, path in store.bucket.requests]
    assert "_last" in requested[0] or "%5Flast" in requested[0]
    assert "list-type=2" in requested[1]
    assert [path.rsplit("%2F", 1)[-1] for path in sorted(requested[2:])] == [
        f"{15:020}%2Ecrc",
        f"{15:020}%2Ejson",
    ]
    assert all(method == "GET" for method, _ in store.bucket.requests)


@pytest.mark.parametrize("store", ["gcs"], indirect=True)
def test_a_process_that_wrote_the_log_does_not_read_it(store: Store) -> None:
    table = many_commits(store, "known")
    dr.Table(table.uri, store.options).snapshot()
    assert store.bucket is not None
    store.bucket.requests.clear()
    snapshot = dr.Table(table.uri, store.options).snapshot()
    assert (snapshot.version, snapshot.num_files) == (15, 15)
    requested = sorted(path for _, path in store.bucket.requests)
    assert len(requested) == 2, requested
    assert "list-type=2" in requested[1]
    # other credentials may not read the table, so what is cached is not used for them
    other = {**store.options, "max_retries": "3"}
    store.bucket.requests.clear()
    assert dr.Table(table.uri, other).snapshot().version == 15
    assert any(path.endswith(f"{15:020}%2Ejson") for _, path in store.bucket.requests)


def many_commits(store: Store, name: str) -> dr.Table:
    """Create a table of 16 versions, with a checkpoint of the tenth."""
    table = create(store, name)
    for number in range(15):
        with table.transaction() as transaction:
            transaction.add(f"f{number}", size=number)
    return table
