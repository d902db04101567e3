"""Every table of the conformance suite has the same state here as in the reference."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path

import pytest
from conformance import adapter, suite
from conformance.refusals import CLASSES
from conformance.same_state import assert_same_state, file_key, same_stats

import deltareplay as dr

CASES = suite.cases()
ABSENT = (
    f"the conformance suite is not here: set {suite.VARIABLE} to its directory, or put it at "
    "../shared/conformance beside the checkout"
)
pytestmark = [
    pytest.mark.skipif(suite.root() is None, reason=ABSENT),
    # the runner leaves closing files to Python
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

READABLE = [case for case in CASES if case.expected["expect"] == "ok"]
REFUSED = [case for case in CASES if case.expected["expect"] == "error"]

# Tables whose checksum has wrong counts, which are used until the files are replayed.
WRONG_COUNTS = {"kernelrs-crc-full"}
# Tables that the reference refuses and this reader accepts, with the version, and the reason.
ACCEPTED = {
    # the reference requires a setting for geospatial types
    "kernelrs-table-with-geo": 0,
    # a log with only a checkpoint has everything that a state needs
    "deltars-table-with-domain-metadata": 108,
}


@pytest.fixture(autouse=True)
def _quiet() -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dr.DeltaReplayWarning)
        yield


@pytest.mark.parametrize("case", [case for case in CASES if not case.contested], ids=str)
def test_passes_the_runner(case: suite.Case) -> None:
    results = suite.runner().run_case(adapter, case.name, str(case.directory))

    if case.name in ACCEPTED:
        # the runner reports that an error is missing, and nothing else
        assert results
        assert all(verdict == "fail" for _, verdict, _ in results)
        assert all(detail.endswith("but succeeded") for _, _, detail in results)
        return
    failed = [
        f"{name}: {detail}" for name, verdict, detail in results if verdict in ("fail", "err")
    ]
    assert not failed, "; ".join(failed)
    assert Counter(verdict for _, verdict, _ in results)["pass"] > 0, "nothing was checked"


@pytest.mark.parametrize("case", READABLE, ids=str)
def test_reads_the_state_that_the_reference_read(case: suite.Case) -> None:
    with suite.table_of(case) as table:
        for version in case.expected["versions"]:
            expected = suite.materialized_state(table, version)
            assert_same_state(adapter.snapshot(table, version), expected)


@pytest.mark.parametrize("case", [case for case in READABLE if not case.contested], ids=str)
def test_an_update_has_the_state_of_a_new_snapshot(case: suite.Case) -> None:
    with suite.table_of(case) as table:
        versions = case.expected["versions"]
        latest = adapter.snapshot(table)
        assert latest["version"] == max(versions)
        for version in versions[:10]:
            updated = adapter.state(dr.Table(table).snapshot(version=version).update())
            updated["files"].sort(key=file_key)
            assert updated == {**latest, "files": sorted(latest["files"], key=file_key)}


@pytest.mark.parametrize("case", READABLE, ids=str)
def test_counts_agree_with_the_files(case: suite.Case) -> None:
    with suite.table_of(case) as table:
        for version in case.expected["versions"][-5:]:
            expected = case.state(version)["files"]
            snapshot = dr.Table(table).snapshot(version=version)
            if case.name in WRONG_COUNTS:
                assert snapshot.files(columns=["size"]).num_rows == len(expected)
                continue
            assert snapshot.num_files == len(expected)
            assert snapshot.size_in_bytes == sum(file["size"] for file in expected)
            batches = snapshot.file_batches(columns=["path"]).read_all()
            assert sorted(batches["path"].to_pylist()) == sorted(
                snapshot.files(columns=["path"])["path"].to_pylist()
            )


@pytest.mark.parametrize("case", READABLE, ids=str)
def test_history_numbers_every_commit(case: suite.Case) -> None:
    with suite.table_of(case) as table:
        log = Path(table) / "_delta_log"
        commits = sorted(
            (int(path.name[:20]) for path in log.glob("*.json") if path.name[20:] == ".json"),
            reverse=True,
        )
        history = dr.Table(table).history()
        latest = case.expected["latest_version"]
        assert history["version"].to_pylist() == [v for v in commits if v <= latest]


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_refuses_with_the_right_class(case: suite.Case) -> None:
    with suite.table_of(case) as table:
        if case.name in ACCEPTED:
            snapshot = dr.Table(table).snapshot()
            assert snapshot.version == ACCEPTED[case.name]
            assert snapshot.num_files == snapshot.files(columns=["path"]).num_rows
            return
        with pytest.raises(CLASSES[case.name]) as caught:
            dr.Table(table).snapshot().files()
        assert caught.value.code
        assert len(str(caught.value)) > 20


@pytest.mark.parametrize("case", READABLE, ids=str)
def test_a_missing_version_names_the_latest(case: suite.Case) -> None:
    absent = [
        error["version"]
        for error in case.expected["errors"]
        if error["op"] == "snapshot" and error.get("error_class") == "DELTA_VERSION_NOT_FOUND"
    ]
    with suite.table_of(case) as table:
        for version in absent:
            with pytest.raises(dr.VersionNotFoundError) as caught:
                dr.Table(table).snapshot(version=version)
            latest = case.expected["latest_version"]
            assert f" to {latest} can be read" in str(caught.value)


def test_the_suite_is_complete() -> None:
    assert len(CASES) > 200
    assert len(READABLE) > 200
    assert sum(len(case.expected["versions"]) for case in READABLE) > 500
    refused = {case.name for case in REFUSED}
    assert refused == set(CLASSES) | set(ACCEPTED), (
        "the suite changed: list the error of each refused table in CLASSES"
    )
    stats = [
        file["stats"]
        for case in READABLE
        for version in case.expected["versions"]
        for file in case.state(version)["files"]
        if file.get("stats")
    ]
    assert len(stats) > 1000
    assert not same_stats(stats[0], stats[0].replace("numRecords", "numrecords"))
