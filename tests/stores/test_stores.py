"""Real object stores: what is written is read, races have one winner, lost answers lose nothing."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import pyarrow as pa
import pytest
from concurrency import race as row_race
from stores import fault_proxy, servers
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


def test_what_is_committed_is_read(store: Store) -> None:
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


def test_what_is_not_there_is_said(store: Store) -> None:
    with pytest.raises(dr.TableNotFoundError):
        dr.Table(f"{store.root}/nowhere", store.options).snapshot()
    table = create(store, "missing")
    with table.transaction() as transaction:
        transaction.add("gone.parquet", size=100)
    with pytest.raises(dr.DeltaReplayError) as caught:
        table.snapshot().scan().to_arrow()
    assert caught.value.path == "gone.parquet"


def race(store: Store) -> None:
    """Writers side by side: every version has one winner, and nothing is lost."""
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
    said = [writer.communicate(timeout=300) for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * PROCESSES, said
    acknowledged = [int(version) for versions, _ in said for version in versions.split()]
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


def test_appended_rows_are_there_once_for_every_reader(store: Store) -> None:
    uri, options = f"{store.root}/appends", store.options
    table = dr.create_table(uri, row_race.SCHEMA, storage_options=options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dr.DeltaReplayWarning)
        row_race.appends(table, options, PROCESSES, COMMITS)


def test_a_store_whose_conditions_do_not_hold_fails_the_race() -> None:
    with servers.gcs(broken=True) as store:
        with pytest.raises(AssertionError):
            race(store)
        with pytest.raises(AssertionError):
            test_appended_rows_are_there_once_for_every_reader(store)


def test_lost_answers_lose_and_double_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = create(store, "faults")
    with fault_proxy.serve(store.port) as (port, struck):
        behind = store.behind(port)
        for name, value in behind.environment.items():
            monkeypatch.setenv(name, value)
        faulty = dr.Table(table.uri, behind.options)
        versions = []
        for number in range(FAULTY_COMMITS):
            with faulty.transaction() as transaction:
                transaction.add(f"f{number}", size=1)
            versions.append(transaction.version)
    for name, value in store.environment.items():
        monkeypatch.setenv(name, value)
    assert set(struck) == set(fault_proxy.FAULTS)
    assert versions == sorted(set(versions))
    snapshot = dr.Table(table.uri, store.options).snapshot()
    live = snapshot.files(columns=["path"])["path"].to_pylist()
    assert sorted(live) == sorted(f"f{number}" for number in range(FAULTY_COMMITS))
    assert snapshot.version == FAULTY_COMMITS, "every commit is there once"


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
def test_a_cold_snapshot_is_one_hint_one_listing_and_reads(store: Store) -> None:
    table = create(store, "counted")
    for number in range(15):
        with table.transaction() as transaction:
            transaction.add(f"f{number}", size=number)
    assert store.bucket is not None
    store.bucket.requests.clear()
    dr.Table(table.uri, store.options).snapshot()
    asked = [path for _, path in store.bucket.requests]
    assert "_last" in asked[0] or "%5Flast" in asked[0]
    assert "list-type=2" in asked[1]
    assert [path.rsplit("%2F", 1)[-1] for path in sorted(asked[2:])] == [
        f"{15:020}%2Ecrc",
        f"{15:020}%2Ejson",
    ]
    assert all(method == "GET" for method, _ in store.bucket.requests)
