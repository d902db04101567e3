"""The files of a log, and those that make up a version."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from protocol.reading import SCHEMA, codes, commits, file, names, opened, paths
from support import logs

import deltareplay as dr

CHECKPOINT_KINDS = [
    "classic",
    "multipart",
    "v2-json",
    "v2-parquet",
    "v2-classic",
    "v2-inline-json",
    "v2-inline-parquet",
]


@pytest.mark.parametrize(
    "name",
    [
        ".00000000000000000003.json.crc",
        ".00000000000000000004.json.0b1c.tmp",
        "00000000000000000004.json.tmp",
        "0000000000000000004.json",
        "000000000000000000004.json.bak",
        "00000000000000000004",
        "00000000000000000004.txt",
        "x00000000000000000004.json",
        "00000000000000000004.checkpoint.a.b.c.parquet",
        "00000000000000000004.checkpoint",
        "00000000000000000003.00000000000000000004.compacted.json.tmp",
        "_last_checkpoint.bak",
        "_delta_something/00000000000000000004.json",
        "_staged_commits/00000000000000000004.8d1c.json",
        "_commits/00000000000000000004.8d1c.json",
        "_last_vacuum_info",
        "notes",
    ],
)
def test_other_names_are_ignored(log: logs.LogBuilder, name: str) -> None:
    commits(log, 3)
    logs.write_file(log.table, name, b'{"add":{"path":"stranger"}}\n')

    snapshot = opened(log, strict=True)

    assert snapshot.version == 3
    assert paths(snapshot) == names(3)


def test_a_directory_with_the_name_of_a_commit_is_ignored(log: logs.LogBuilder) -> None:
    commits(log, 2)
    file(log, logs.commit_name(3)).mkdir()

    assert opened(log).version == 2


def test_checksum_files_of_hadoop_are_ignored(log: logs.LogBuilder) -> None:
    commits(log, 2)
    for version in range(3):
        logs.write_file(log.table, f".{logs.commit_name(version)}.crc", b"crc\x00\x00\x00\x02")
        logs.write_file(log.table, f".{logs.checksum_name(version)}.crc", b"crc\x00\x00\x00\x02")

    snapshot = opened(log, strict=True)

    assert (snapshot.num_files, codes(snapshot)) == (2, [])


@pytest.mark.parametrize("kind", CHECKPOINT_KINDS)
def test_every_kind_of_checkpoint_replaces_earlier_commits(log: logs.LogBuilder, kind: str) -> None:
    commits(log, 4)
    log.checkpoint(3, kind=kind)
    log.delete_commits(3)

    assert paths(opened(log, strict=True)) == names(4)
    assert paths(opened(log, 3)) == names(3)


@pytest.mark.parametrize("kind", CHECKPOINT_KINDS)
def test_a_checkpoint_is_found_without_a_hint(log: logs.LogBuilder, kind: str) -> None:
    commits(log, 4)
    log.checkpoint(3, kind=kind, hint=False)
    log.delete_commits(4)

    assert paths(opened(log)) == names(4)


def state_with_file(log: logs.LogBuilder, version: int, marker: str) -> list[logs.Action]:
    """Return the state at ``version`` with one more file, to see which checkpoint was read."""
    return [*log.state(version).actions(), logs.add(marker)]


def test_a_uuid_named_checkpoint_is_preferred_to_others_of_its_version(
    log: logs.LogBuilder,
) -> None:
    commits(log, 3)
    logs.write_checkpoint(log.table, 3, state_with_file(log, 3, "classic"))
    logs.write_multipart(log.table, 3, state_with_file(log, 3, "multipart"), 2)
    logs.write_v2(log.table, 3, state_with_file(log, 3, "v2"))

    assert "v2" in paths(opened(log))


def test_multipart_is_preferred_to_classic_and_more_parts_to_fewer(log: logs.LogBuilder) -> None:
    commits(log, 3)
    logs.write_checkpoint(log.table, 3, state_with_file(log, 3, "classic"))
    logs.write_multipart(log.table, 3, state_with_file(log, 3, "two"), 2)

    assert "two" in paths(opened(log))

    logs.write_multipart(log.table, 3, state_with_file(log, 3, "three"), 3)

    assert "three" in paths(opened(log))


def test_the_greater_name_of_two_uuid_named_checkpoints_is_read(log: logs.LogBuilder) -> None:
    commits(log, 3)
    for unique in ("aaaaaaaa", "bbbbbbbb"):
        name = logs.v2_name(3, "json", unique)
        logs.write_v2(log.table, 3, state_with_file(log, 3, unique), sidecars=0, name=name)

    assert "bbbbbbbb" in paths(opened(log))


def test_parts_of_different_checkpoints_are_not_combined(log: logs.LogBuilder) -> None:
    commits(log, 3)
    two = logs.write_multipart(log.table, 3, state_with_file(log, 3, "two"), 2)
    three = logs.write_multipart(log.table, 3, state_with_file(log, 3, "three"), 3)
    two[0].unlink()
    three[1].unlink()

    assert paths(opened(log)) == names(3)


def test_an_incomplete_multipart_is_skipped_for_an_older_checkpoint(
    log: logs.LogBuilder,
) -> None:
    commits(log, 5)
    log.checkpoint(2)
    log.delete_commits(2)
    log.checkpoint(4, kind="multipart", parts=3)
    file(log, logs.part_name(4, 2, 3)).unlink()

    snapshot = opened(log)

    assert paths(snapshot) == names(5)


def test_invalid_part_numbers_are_ignored(log: logs.LogBuilder) -> None:
    """Part 3 of 2, and part 0: the set of 2 stays incomplete."""
    commits(log, 3)
    parts = logs.write_multipart(log.table, 3, state_with_file(log, 3, "two"), 2)
    shutil.copy(parts[0], file(log, logs.part_name(3, 3, 2)))
    shutil.copy(parts[0], file(log, logs.part_name(3, 0, 2)))
    parts[0].unlink()

    assert paths(opened(log)) == names(3)


@pytest.mark.parametrize("kind", ["classic", "v2-json", "v2-parquet"])
def test_an_empty_checkpoint_is_skipped_with_a_warning(log: logs.LogBuilder, kind: str) -> None:
    commits(log, 3)
    [path] = log.checkpoint(3, kind=kind)
    path.write_bytes(b"")

    snapshot = opened(log)

    assert paths(snapshot) == names(3)
    warnings = [(warning.code, warning.path) for warning in snapshot.warnings]
    assert ("log.empty_file", f"_delta_log/{path.name}") in warnings


def test_a_checkpoint_newer_than_the_requested_version_is_not_used(log: logs.LogBuilder) -> None:
    commits(log, 6)
    log.checkpoint(5)

    for version in range(7):
        assert paths(opened(log, version)) == names(version)


def test_older_checkpoints_are_used_for_older_versions(log: logs.LogBuilder) -> None:
    commits(log, 9)
    log.checkpoint(3)
    log.checkpoint(6, kind="v2-json")
    log.delete_commits(3)

    for version in range(3, 10):
        assert paths(opened(log, version)) == names(version)
    with pytest.raises(dr.VersionNotFoundError) as caught:
        opened(log, 2)
    assert caught.value.code == "version.not_found"


def test_a_log_with_only_a_checkpoint_is_read_with_a_warning(log: logs.LogBuilder) -> None:
    commits(log, 3)
    log.checkpoint(3)
    log.delete_commits(4)

    snapshot = opened(log)

    assert (snapshot.version, paths(snapshot)) == (3, names(3))
    assert codes(snapshot) == ["log.checkpoint_only"]


# -- compacted files


def compact_with_marker(log: logs.LogBuilder, start: int, end: int) -> str:
    """Write a compacted file with one more file, to see whether it was read; return its path."""
    marker = f"compacted-{start}-{end}"
    actions = log.compacted_actions(start, end)
    logs.write_compacted(log.table, start, end, [*actions, logs.add(marker)])
    return marker


def test_a_compacted_file_replaces_its_commits(log: logs.LogBuilder) -> None:
    commits(log, 6)
    marker = compact_with_marker(log, 2, 4)

    assert marker in paths(opened(log))
    assert marker not in paths(opened(log, 3)), "it ends after the requested version"
    assert marker in paths(opened(log, 4))


def test_a_compacted_file_that_begins_before_the_checkpoint_is_not_used(
    log: logs.LogBuilder,
) -> None:
    commits(log, 6)
    log.checkpoint(3)
    marker = compact_with_marker(log, 2, 5)

    assert marker not in paths(opened(log))


def test_a_compacted_file_right_after_the_checkpoint_is_used(log: logs.LogBuilder) -> None:
    commits(log, 6)
    log.checkpoint(3)
    marker = compact_with_marker(log, 4, 6)

    assert marker in paths(opened(log))


def test_overlapping_compacted_files_are_each_used_whole_or_not_at_all(
    log: logs.LogBuilder,
) -> None:
    commits(log, 8)
    first = compact_with_marker(log, 1, 3)
    compact_with_marker(log, 2, 6)
    last = compact_with_marker(log, 4, 5)

    assert [p for p in paths(opened(log)) if p.startswith("c")] == [first, last]


def test_the_shorter_of_two_compacted_files_with_one_start_is_used(log: logs.LogBuilder) -> None:
    commits(log, 8)
    compact_with_marker(log, 1, 6)
    shorter = compact_with_marker(log, 1, 3)

    assert [p for p in paths(opened(log)) if p.startswith("c")] == [shorter]


def test_an_empty_compacted_file_is_ignored(log: logs.LogBuilder) -> None:
    commits(log, 5)
    logs.write_file(log.table, logs.compacted_name(1, 4), b"")

    assert paths(opened(log)) == names(5)


def test_a_compacted_file_does_not_fill_a_gap(log: logs.LogBuilder) -> None:
    """According to the protocol, the commits of a compacted file exist."""
    commits(log, 4)
    log.compact(1, 4)
    file(log, logs.commit_name(2)).unlink()

    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log)
    assert caught.value.code == "log.gap"


def test_removes_and_removed_domains_of_a_compacted_file_apply(log: logs.LogBuilder) -> None:
    """An expired tombstone in a compacted file still cancels an add from before its range."""
    log.create(SCHEMA, logs.add("old"), logs.add("kept"), logs.domain("gone", removed=False))
    log.commit(logs.remove("old", deletion_timestamp=1))
    log.commit(logs.domain("gone", removed=True))
    marker = compact_with_marker(log, 1, 2)

    snapshot = opened(log)

    assert paths(snapshot) == [marker, "kept"]
    assert dict(snapshot.domain_metadata) == {}


# -- gaps, ends, empty logs


def test_a_gap_names_the_missing_version(log: logs.LogBuilder) -> None:
    commits(log, 5)
    file(log, logs.commit_name(3)).unlink()

    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log)
    assert caught.value.code == "log.gap"
    assert caught.value.path == f"_delta_log/{logs.commit_name(3)}"
    assert paths(opened(log, 2)) == names(2), "versions before the gap can be read"


def test_a_gap_after_the_checkpoint_is_an_error(log: logs.LogBuilder) -> None:
    commits(log, 5)
    log.checkpoint(2)
    file(log, logs.commit_name(3)).unlink()

    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log)
    assert caught.value.code == "log.gap"


def test_a_gap_before_the_checkpoint_does_not_matter(log: logs.LogBuilder) -> None:
    commits(log, 5)
    log.checkpoint(4)
    file(log, logs.commit_name(2)).unlink()

    assert paths(opened(log)) == names(5)


def test_missing_first_commits_are_an_error(log: logs.LogBuilder) -> None:
    commits(log, 5)
    log.delete_commits(2)

    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log)
    assert caught.value.code == "log.truncated"


def test_an_empty_log_is_not_a_table(log: logs.LogBuilder) -> None:
    assert not dr.is_table(log.uri)
    with pytest.raises(dr.TableNotFoundError) as caught:
        opened(log)
    assert caught.value.code == "table.not_found"


def test_a_directory_without_a_log_is_not_a_table(tmp_path: Path) -> None:
    assert not dr.is_table(str(tmp_path))
    with pytest.raises(dr.TableNotFoundError) as caught:
        dr.Table(str(tmp_path)).snapshot()
    assert tmp_path.as_uri() in str(caught.value)


def test_a_path_that_does_not_exist_is_not_a_table(tmp_path: Path) -> None:
    missing = tmp_path / "not" / "here"
    assert not dr.is_table(missing)
    with pytest.raises(dr.TableNotFoundError) as caught:
        dr.Table(missing).snapshot()
    assert caught.value.code == "table.not_found"


def test_a_log_with_only_other_files_is_not_a_table(log: logs.LogBuilder) -> None:
    logs.write_file(log.table, "notes.txt", b"x")

    with pytest.raises(dr.TableNotFoundError) as caught:
        opened(log)
    assert caught.value.code == "table.not_found"


@pytest.mark.parametrize("version", [6, 100, 2**40])
def test_errors_for_future_versions_name_the_range(log: logs.LogBuilder, version: int) -> None:
    commits(log, 5)

    with pytest.raises(dr.VersionNotFoundError, match="versions 0 to 5 can be read"):
        opened(log, version)


def test_errors_for_deleted_versions_name_the_range(log: logs.LogBuilder) -> None:
    commits(log, 25)
    log.checkpoint(17)
    log.delete_commits(17)

    with pytest.raises(dr.VersionNotFoundError, match="versions 17 to 25 can be read"):
        opened(log, 12)


@pytest.mark.parametrize("version", [-1, -(2**40)])
def test_a_negative_version_is_refused(log: logs.LogBuilder, version: int) -> None:
    commits(log, 1)

    with pytest.raises(dr.InvalidArgumentError) as caught:
        opened(log, version)
    assert caught.value.code == "argument.range"


def test_more_than_a_thousand_commits_are_listed(log: logs.LogBuilder) -> None:
    commits(log, 1200)

    assert opened(log).num_files == 1200
    assert opened(log, 1001).num_files == 1001
