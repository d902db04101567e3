"""Time travel by the times of files, by in-commit timestamps, and by both."""

from __future__ import annotations

import datetime as dt
import os

import pytest
from protocol.reading import SCHEMA, file, opened, paths
from support import logs

import deltareplay as dr

T = logs.T0
ICT = {"delta.enableInCommitTimestamps": "true"}
ICT_PROTOCOL = logs.protocol(1, 7, writer_features=["inCommitTimestamp"])


def utc_datetime(ms: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(0, dt.timezone.utc) + dt.timedelta(milliseconds=ms)


def at(log: logs.LogBuilder, ms: int) -> int:
    version: int = dr.Table(log.uri).snapshot(timestamp=utc_datetime(ms)).version
    return version


def by_file_times(log: logs.LogBuilder, times: list[int]) -> None:
    for version, time in enumerate(times):
        if version == 0:
            log.create(SCHEMA, modified=time)
        else:
            log.commit(logs.add(f"f{version}"), modified=time)


def times(log: logs.LogBuilder, versions: int) -> list[int]:
    result = [opened(log, version).timestamp for version in range(versions)]
    return [round(time.timestamp() * 1000) for time in result]


def test_a_version_is_current_until_the_time_of_the_next(log: logs.LogBuilder) -> None:
    by_file_times(log, [T, T + 1000, T + 5000])

    requested = [T, T + 999, T + 1000, T + 4999, T + 5000]
    assert [at(log, ms) for ms in requested] == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("ms", [T - 1, 0, -1000])
def test_a_time_before_the_first_version(log: logs.LogBuilder, ms: int) -> None:
    by_file_times(log, [T, T + 1000])

    with pytest.raises(dr.VersionNotFoundError) as caught:
        at(log, ms)
    assert "2025-10-09" in str(caught.value), "the error names the range"


def test_a_time_after_the_last_version(log: logs.LogBuilder) -> None:
    by_file_times(log, [T, T + 1000])

    with pytest.raises(dr.VersionNotFoundError) as caught:
        at(log, T + 1001)
    assert caught.value.code == "version.timestamp"


def test_times_of_files_are_made_strictly_increasing(log: logs.LogBuilder) -> None:
    """If not later than the previous one, it becomes one millisecond later."""
    by_file_times(log, [T, T - 500, T - 500, T + 1, T + 10, T + 10])

    assert times(log, 6) == [T, T + 1, T + 2, T + 3, T + 10, T + 11]
    assert [at(log, T + ms) for ms in (0, 1, 2, 3, 9, 10, 11)] == [0, 1, 2, 3, 3, 4, 5]


def test_snapshots_history_and_time_travel_agree_on_timestamps(log: logs.LogBuilder) -> None:
    by_file_times(log, [T, T - 500, T - 500, T - 500, T + 1])
    history = dr.Table(log.uri).history()

    reported = {row["version"]: row["timestamp"] for row in history.to_pylist()}
    assert {v: round(t.timestamp() * 1000) for v, t in reported.items()} == dict(
        enumerate(times(log, 5))
    )
    assert [at(log, T + ms) for ms in range(5)] == [0, 1, 2, 3, 4]


def test_checkpoints_do_not_change_the_times(log: logs.LogBuilder) -> None:
    by_file_times(log, [T, T - 500, T - 500, T - 500, T + 1])
    before = times(log, 5)
    log.checkpoint(2)

    assert times(log, 5) == before
    assert at(log, T + 2) == 2


def test_a_checkpoint_alone_has_no_time(log: logs.LogBuilder) -> None:
    by_file_times(log, [T, T + 1000])
    log.checkpoint(1)
    log.delete_commits(2)

    with pytest.raises(dr.VersionNotFoundError, match="no commit is left in the log") as caught:
        at(log, T + 1000)
    assert caught.value.code == "version.timestamp"


def test_cleaned_up_versions_are_not_found(log: logs.LogBuilder) -> None:
    by_file_times(log, [T + 1000 * version for version in range(8)])
    log.checkpoint(4)
    log.delete_commits(4)

    assert at(log, T + 4500) == 4
    with pytest.raises(dr.VersionNotFoundError) as caught:
        at(log, T + 3500)
    assert caught.value.code == "version.timestamp"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2025-10-09T08:53:20Z", 0),
        ("2025-10-09T08:53:20.999Z", 0),
        ("2025-10-09T08:53:21Z", 1),
        ("2025-10-09T10:53:21+02:00", 1),
        ("2025-10-09T08:53:21", 1),
        ("2025-10-09 08:53:21", 1),
        ("2025-10-09T08:53:21.000000+00:00", 1),
    ],
)
def test_times_as_text(log: logs.LogBuilder, text: str, version: int) -> None:
    assert utc_datetime(T).isoformat() == "2025-10-09T08:53:20+00:00"
    by_file_times(log, [T, T + 1000])

    assert dr.Table(log.uri).snapshot(timestamp=text).version == version


def test_times_without_a_zone_are_utc(log: logs.LogBuilder) -> None:
    by_file_times(log, [T, T + 1000])
    naive = utc_datetime(T + 1000).replace(tzinfo=None)
    tokyo = utc_datetime(T).astimezone(dt.timezone(dt.timedelta(hours=9)))

    assert dr.Table(log.uri).snapshot(timestamp=naive).version == 1
    assert dr.Table(log.uri).snapshot(timestamp=tokyo).version == 0


@pytest.mark.parametrize("text", ["yesterday", "", "2025-13-01T00:00:00Z", "1760000000000"])
def test_invalid_texts_are_refused(log: logs.LogBuilder, text: str) -> None:
    by_file_times(log, [T])

    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.Table(log.uri).snapshot(timestamp=text)
    assert caught.value.code == "argument.timestamp"


def test_version_and_timestamp_together_are_refused(log: logs.LogBuilder) -> None:
    by_file_times(log, [T])

    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.Table(log.uri).snapshot(version=0, timestamp=utc_datetime(T))
    assert caught.value.code == "argument.version_and_timestamp"


# -- in-commit timestamps


def with_ict(log: logs.LogBuilder, timestamps: list[int], file_times: list[int]) -> None:
    for version, (timestamp, time) in enumerate(zip(timestamps, file_times, strict=True)):
        info = logs.commit_info(inCommitTimestamp=timestamp)
        if version == 0:
            start = [info, ICT_PROTOCOL, logs.metadata(SCHEMA, configuration=ICT)]
            log.commit(*start, modified=time)
        else:
            log.commit(info, logs.add(f"f{version}"), modified=time)


def test_in_commit_timestamps_precede_the_times_of_files(log: logs.LogBuilder) -> None:
    with_ict(log, [T, T + 100, T + 200], [T + 9000, T + 8000, T + 7000])

    assert times(log, 3) == [T, T + 100, T + 200]
    assert [opened(log, v).in_commit_timestamp for v in range(3)] == [T, T + 100, T + 200]
    assert [at(log, T + ms) for ms in (0, 99, 100, 199, 200)] == [0, 0, 1, 1, 2]
    with pytest.raises(dr.VersionNotFoundError) as caught:
        at(log, T - 1)
    assert caught.value.code == "version.timestamp"
    with pytest.raises(dr.VersionNotFoundError) as caught:
        at(log, T + 201)
    assert caught.value.code == "version.timestamp"


def test_in_commit_timestamps_are_ignored_unless_enabled(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, modified=T)
    log.commit(logs.commit_info(inCommitTimestamp=5), logs.add("f"), modified=T + 7)

    assert opened(log).in_commit_timestamp is None
    assert times(log, 2) == [T, T + 7]


def mixed(log: logs.LogBuilder) -> None:
    """File timestamps for 0 to 2, in-commit timestamps from 3 on."""
    by_file_times(log, [T, T + 1000, T + 2000])
    configuration = {
        **ICT,
        "delta.inCommitTimestampEnablementVersion": "3",
        "delta.inCommitTimestampEnablementTimestamp": str(T + 3000),
    }
    log.commit(
        logs.commit_info(inCommitTimestamp=T + 3000),
        ICT_PROTOCOL,
        logs.metadata(SCHEMA, configuration=configuration),
        modified=T + 50_000,
    )
    log.commit(logs.commit_info(inCommitTimestamp=T + 4000), logs.add("f4"), modified=T + 500)
    log.commit(logs.commit_info(inCommitTimestamp=T + 5000), logs.add("f5"), modified=T + 90_000)


def test_a_table_that_enabled_in_commit_timestamps_later(log: logs.LogBuilder) -> None:
    mixed(log)

    assert times(log, 6) == [T + 1000 * version for version in range(6)]
    assert [opened(log, v).in_commit_timestamp for v in (1, 2, 3, 5)] == [
        None,
        None,
        T + 3000,
        T + 5000,
    ]


@pytest.mark.parametrize("checkpoint", [None, 2, 3, 5])
def test_time_travel_across_the_enablement_version(
    log: logs.LogBuilder, checkpoint: int | None
) -> None:
    mixed(log)
    if checkpoint is not None:
        log.checkpoint(checkpoint)

    requested = [0, 999, 1000, 2000, 2999, 3000, 3999, 4000, 5000]
    assert [at(log, T + ms) for ms in requested] == [0, 0, 1, 2, 2, 3, 3, 4, 5]
    with pytest.raises(dr.VersionNotFoundError) as caught:
        at(log, T + 5001)
    assert caught.value.code == "version.timestamp"


def test_a_time_before_the_enablement_whose_versions_were_cleaned_up(log: logs.LogBuilder) -> None:
    mixed(log)
    log.checkpoint(4)
    log.delete_commits(below=4)

    with pytest.raises(dr.VersionNotFoundError) as caught:
        at(log, T)
    assert caught.value.code == "version.timestamp"
    oldest = utc_datetime(T + 4000).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert f"version 4, committed at {oldest}" in str(caught.value)


def test_history_of_a_mixed_table(log: logs.LogBuilder) -> None:
    mixed(log)

    rows = dr.Table(log.uri).history().to_pylist()

    assert [(r["version"], round(r["timestamp"].timestamp() * 1000) - T) for r in rows] == [
        (5, 5000),
        (4, 4000),
        (3, 3000),
        (2, 2000),
        (1, 1000),
        (0, 0),
    ]


def test_a_commit_without_its_in_commit_timestamp_is_corrupt(log: logs.LogBuilder) -> None:
    with_ict(log, [T, T + 1], [T, T])
    log.commit(logs.commit_info(), logs.add("f"))

    with pytest.raises(dr.CorruptTableError) as caught:
        snapshot = opened(log)
        assert snapshot.timestamp
        assert snapshot.in_commit_timestamp is not None
    assert logs.commit_name(2) in str(caught.value)
    assert opened(log, 1).in_commit_timestamp == T + 1


def test_a_commit_without_commit_info_is_corrupt_with_in_commit_timestamps(
    log: logs.LogBuilder,
) -> None:
    with_ict(log, [T], [T])
    log.commit(logs.add("f"))

    with pytest.raises(dr.CorruptTableError) as caught:
        snapshot = opened(log)
        assert snapshot.timestamp
        assert snapshot.in_commit_timestamp is not None
    assert logs.commit_name(1) in str(caught.value)


@pytest.mark.parametrize("second", ["Version", "Timestamp"])
def test_one_enablement_property_without_the_other_is_corrupt(
    log: logs.LogBuilder, second: str
) -> None:
    by_file_times(log, [T])
    configuration = {**ICT, f"delta.inCommitTimestampEnablement{second}": "1"}
    log.commit(
        logs.commit_info(inCommitTimestamp=T + 1),
        ICT_PROTOCOL,
        logs.metadata(SCHEMA, configuration=configuration),
    )

    with pytest.raises(dr.CorruptTableError) as caught:
        dr.Table(log.uri).snapshot(timestamp=utc_datetime(T))
    assert caught.value.code == "commit.in_commit_timestamp"


def test_in_commit_timestamps_with_checkpoints_and_compacted_files(
    log: logs.LogBuilder,
) -> None:
    with_ict(log, [T + 10 * v for v in range(6)], [T] * 6)
    log.checkpoint(3, kind="v2-json")
    log.compact(4, 5)

    assert opened(log).in_commit_timestamp == T + 50
    assert opened(log, 3).in_commit_timestamp == T + 30


def test_dropped_in_commit_timestamps_are_not_used(log: logs.LogBuilder) -> None:
    with_ict(log, [T, T + 10], [T, T])
    log.commit(
        logs.commit_info("DROP FEATURE"),
        logs.protocol(1, 2),
        logs.metadata(SCHEMA),
        modified=T + 900,
    )

    assert opened(log).in_commit_timestamp is None
    assert times(log, 3)[2] == T + 900


def test_a_timestamp_beyond_the_calendar_is_an_error(log: logs.LogBuilder) -> None:
    with_ict(log, [T, 2**63 - 1], [T, T])

    with pytest.raises(dr.CorruptTableError) as caught:
        assert opened(log).timestamp
    assert caught.value.code == "timestamp.range"
    assert paths(opened(log)) == ["f1"]


def test_times_of_files_are_truncated_to_milliseconds(log: logs.LogBuilder) -> None:
    by_file_times(log, [T, T + 5])
    os.utime(file(log, logs.commit_name(1)), ns=((T + 77) * 10**6 + 999_999,) * 2)

    assert times(log, 2)[1] == T + 77
