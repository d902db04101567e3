"""Version checksums: results without replay, and a check of replay. Never required."""

from __future__ import annotations

from typing import Any

import pytest
from protocol.reading import SCHEMA, codes, commits, file, names, opened, paths
from support import logs

import deltareplay as dr


def test_counts_come_from_the_checksum_without_replay(log: logs.LogBuilder) -> None:
    """The only checkpoint's file actions are unreadable; the counts do not need them."""
    commits(log, 5)
    log.checkpoint(5, kind="v2-json")
    log.checksum(5)
    log.delete_commits(5)
    for sidecar in (logs.log_dir(log.table) / "_sidecars").iterdir():
        sidecar.write_bytes(b"not parquet")

    snapshot = opened(log)

    assert (snapshot.num_files, snapshot.size_in_bytes) == (5, 500)


@pytest.mark.parametrize(
    "without",
    [
        [],
        ["setTransactions", "domainMetadata"],
        ["setTransactions"],
        ["numMetadata", "numProtocol"],
        ["metadata"],
        ["protocol"],
        ["metadata", "protocol", "setTransactions", "domainMetadata"],
    ],
    ids=lambda value: ",".join(value) or "whole",
)
def test_absent_fields_are_unknown_not_empty(log: logs.LogBuilder, without: list[str]) -> None:
    log.create(SCHEMA, logs.txn("a", 1), logs.domain("d", "x"), configuration={"k": "v"})
    log.commit(logs.add("f"))
    log.checksum(1, **dict.fromkeys(without))

    snapshot = opened(log, strict=True)

    assert dict(snapshot.transactions) == {"a": 1}
    assert dict(snapshot.domain_metadata) == {"d": "x"}
    assert dict(snapshot.properties) == {"k": "v"}
    assert snapshot.num_files == 1
    assert codes(snapshot) == []


def test_the_old_form_of_the_checksum_is_read(log: logs.LogBuilder) -> None:
    """As written by Databricks 10.4: ``histogramOpt``, and neither transactions nor domains."""
    commits(log, 2)
    old = {
        "tableSizeBytes": 200,
        "numFiles": 2,
        "numMetadata": 1,
        "numProtocol": 1,
        "protocol": {"minReaderVersion": 1, "minWriterVersion": 2},
        "metadata": log.state().metadata,
        "histogramOpt": {
            "sortedBinBoundaries": [0, 8192],
            "fileCounts": [2, 0],
            "totalBytes": [200, 0],
        },
    }
    logs.write_checksum(log.table, 2, old)

    snapshot = opened(log, strict=True)

    assert (snapshot.num_files, snapshot.size_in_bytes) == (2, 200)
    assert paths(snapshot) == names(2)


def test_a_checksum_with_every_field_and_unknown_ones_is_read(log: logs.LogBuilder) -> None:
    commits(log, 2)
    histogram = {"sortedBinBoundaries": [0, 8192], "fileCounts": [2, 0], "totalBytes": [200, 0]}
    log.checksum(
        2,
        txnId="a",
        fileSizeHistogram=histogram,
        histogramOpt=histogram,
        allFiles=[{**a, "dataChange": False} for a in log.state().adds.values()],
        numDeletedRecordsOpt=0,
        numDeletionVectorsOpt=0,
        deletedRecordCountsHistogramOpt={"deletedRecordCounts": [2, 0, 0, 0, 0, 0, 0, 0, 0, 0]},
        future={"x": 1},
    )

    snapshot = opened(log, strict=True)

    assert (snapshot.num_files, paths(snapshot)) == (2, names(2))


@pytest.mark.parametrize(
    "content",
    [b"", b"garbage", b"{", b"[]", b"null", b'{"numFiles":"2"}', b"\xff" * 100, b"{}"],
    ids=repr,
)
def test_a_broken_checksum_is_ignored(log: logs.LogBuilder, content: bytes) -> None:
    commits(log, 3)
    logs.write_file(log.table, logs.checksum_name(3), content)

    snapshot = opened(log)

    assert (snapshot.num_files, snapshot.size_in_bytes) == (3, 300)
    assert paths(snapshot) == names(3)


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"numFiles": 7}, "checksum.mismatch"),
        ({"tableSizeBytes": 1}, "checksum.mismatch"),
        ({"numFiles": -1}, "checksum.unreadable"),
    ],
    ids=["numFiles", "tableSizeBytes", "negative"],
)
def test_a_wrong_checksum_is_detected_by_replay(
    log: logs.LogBuilder, wrong: dict[str, Any], code: str
) -> None:
    """A warning, and the files are those of the log; an error in strict mode."""
    commits(log, 3)
    log.checksum(3, **wrong)

    snapshot = opened(log)
    snapshot.files()  # decodes the sizes, too
    assert paths(snapshot) == names(3)
    assert any(logs.checksum_name(3) in (w.path or "") + w.message for w in snapshot.warnings)
    assert (snapshot.num_files, snapshot.size_in_bytes) == (3, 300)
    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log, strict=True).files()
    assert caught.value.code == code


@pytest.mark.parametrize("action", ["metadata", "protocol"])
def test_a_checksum_that_contradicts_its_commit_is_an_error_in_strict_mode(
    log: logs.LogBuilder, action: str
) -> None:
    log.create(SCHEMA, configuration={"k": "v"})
    other = (
        {"metadata": {**(log.state().metadata or {}), "configuration": {"k": "other"}}}
        if action == "metadata"
        else {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
    )
    log.checksum(0, **other)

    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log, strict=True).files()
    assert caught.value.code == "checksum.mismatch"


def test_an_empty_commit_that_a_checksum_contradicts_is_an_error(log: logs.LogBuilder) -> None:
    """The commit lost its bytes after the checksum of its version was written."""
    commits(log, 3)
    log.checksum(3)
    file(log, logs.commit_name(3)).write_bytes(b"")

    with pytest.raises(dr.CorruptTableError) as caught:
        snapshot = opened(log)
        snapshot.files()
    assert logs.commit_name(3) in str(caught.value) or logs.checksum_name(3) in str(caught.value)


def test_an_empty_commit_before_the_version_of_the_checksum_is_an_error(
    log: logs.LogBuilder,
) -> None:
    commits(log, 4)
    log.checksum(4)
    file(log, logs.commit_name(3)).write_bytes(b"")

    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log).files()
    assert caught.value.code == "checksum.mismatch"


def test_an_empty_commit_with_a_matching_checksum_is_an_empty_version(
    log: logs.LogBuilder,
) -> None:
    commits(log, 2)
    log.commit()
    log.checksum(3)

    snapshot = opened(log)

    assert (snapshot.version, paths(snapshot)) == (3, names(2))
    assert len(snapshot.warnings) == 1


def test_a_checksum_of_another_version_is_not_used(log: logs.LogBuilder) -> None:
    commits(log, 5)
    log.checksum(3)

    assert opened(log).num_files == 5
    assert opened(log, 2).num_files == 2
    assert opened(log, 3).num_files == 3


def test_metadata_is_that_of_the_version_not_of_an_older_checksum(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, configuration={"k": "0"})
    log.checksum(0)
    log.commit(logs.metadata(SCHEMA, configuration={"k": "1"}))
    log.commit(logs.add("f"))

    assert dict(opened(log).properties) == {"k": "1"}
    assert dict(opened(log, 0).properties) == {"k": "0"}


def test_a_checksum_older_than_the_checkpoint_is_not_used(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, configuration={"k": "0"})
    log.checksum(0)
    log.commit(logs.metadata(SCHEMA, configuration={"k": "1"}))
    log.checkpoint(1)
    log.commit(logs.add("f"))

    assert dict(opened(log).properties) == {"k": "1"}


def test_domains_that_a_checksum_lists_as_removed_are_gone(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, logs.domain("d", "x"))
    log.commit(logs.domain("d", "x", removed=True))
    log.checksum(1, domainMetadata=[{"domain": "d", "configuration": "x", "removed": True}])

    assert dict(opened(log).domain_metadata) == {}


def test_a_checksum_that_is_nested_too_deeply_is_ignored(log: logs.LogBuilder) -> None:
    commits(log, 2)
    checksum = log.checksum(2, numFiles=7, x=[]).read_text()
    deep = checksum.replace("[]}", "[" * 10_000 + "]" * 10_000 + "}")
    logs.write_file(log.table, logs.checksum_name(2), deep.encode())

    snapshot = opened(log)

    assert (snapshot.num_files, codes(snapshot)) == (2, ["checksum.unreadable"])
