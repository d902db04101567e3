"""Features that are dropped with the history that needs them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
import pytest
from support.files import local_path
from support.writing import actions, bodies

import deltareplay as dr


def filled(root: Path, **properties: str) -> dr.Table:
    schema = pa.schema([("id", pa.int32()), ("part", pa.string())])
    named = {f"delta.{key}": value for key, value in properties.items()}
    table = dr.create_table(root / "t", schema, properties=named)
    for first in (0, 4, 8):
        table.append({"id": list(range(first, first + 4)), "part": list("abab")})
    return table


def with_vectors(root: Path) -> dr.Table:
    table = filled(root, enableDeletionVectors="true")
    table.delete("id IN (1, 5)")
    return table


def mapped(root: Path) -> dr.Table:
    return filled(root, **{"columnMapping.mode": "name"})


def widened(root: Path) -> dr.Table:
    table = filled(root, enableTypeWidening="true")
    table.widen_column("id", pa.int64())
    table.append({"id": [2**40], "part": ["a"]})
    return table


def v2(root: Path) -> dr.Table:
    table = filled(root, checkpointPolicy="v2")
    table.checkpoint()
    return table


TABLES: dict[str, Callable[[Path], dr.Table]] = {
    "deletionVectors": with_vectors,
    "columnMapping": mapped,
    "typeWidening": widened,
    "v2Checkpoint": v2,
}


def log(table: dr.Table) -> Path:
    return local_path(table.uri) / "_delta_log"


def age(table: dr.Table, hours: float) -> None:
    """Make every file of the log older by this many hours."""
    for path in log(table).rglob("*"):
        changed = path.stat().st_mtime - hours * 3600
        os.utime(path, (changed, changed))


def commits(table: dr.Table) -> list[int]:
    return sorted(int(path.stem) for path in log(table).glob("*.json") if path.stem.isdigit())


def ids(table: dr.Table) -> list[int]:
    return sorted(table.snapshot().scan(["id"]).to_arrow()["id"].to_pylist())


def features(table: dr.Table) -> set[str]:
    protocol = table.snapshot().protocol
    return {*(protocol.reader_features or ()), *(protocol.writer_features or ())}


def refused(table: dr.Table, feature: str) -> dr.InvalidArgumentError:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.drop_feature(feature, truncate_history=True)
    assert caught.value.code == "alter.feature_in_history"
    return caught.value


def retry_time(error: dr.InvalidArgumentError) -> datetime:
    """Return the time to retry, from the message."""
    [text] = re.findall(r"again from (\S+)Z on", str(error))
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


def traces(table: dr.Table, feature: str) -> list[int]:
    """Return the commits with actions or metadata of a feature."""
    needs = {
        "deletionVectors": lambda line: (
            "deletionVector" in str(line.get("add", "")) + str(line.get("remove", ""))
            or '"delta.enableDeletionVectors": "true"' in str(line).replace("'", '"')
        ),
        "columnMapping": lambda line: "physicalName" in str(line.get("metaData", "")),
        "typeWidening": lambda line: "typeChanges" in str(line.get("metaData", "")),
        "v2Checkpoint": lambda line: "checkpointPolicy" in str(line.get("metaData", "")),
    }[feature]
    return [
        version
        for version in commits(table)
        if any(needs(line) for line in actions(table, version))
    ]


@pytest.mark.parametrize("feature", TABLES)
def test_a_feature_is_dropped_once_its_history_has_expired(feature: str, tmp_path: Path) -> None:
    table = TABLES[feature](tmp_path)
    rows, before = ids(table), table.snapshot().version
    assert traces(table, feature)

    error = refused(table, feature)
    assert feature in features(table), "it stays until nothing needs it"
    assert "24 hours" in str(error)
    wait = retry_time(error) - datetime.now(timezone.utc)
    assert timedelta(hours=24) < wait + timedelta(seconds=5) < timedelta(hours=24, minutes=2)
    barrier = max(commits(table))
    # of v2Checkpoint, the last trace is the checkpoint of this version
    assert error.version == max(
        traces(table, feature) + ([before] if feature == "v2Checkpoint" else [])
    )
    assert (log(table) / f"{barrier:020}.checkpoint.parquet").exists()
    assert ids(table) == rows

    age(table, 23)
    second = refused(table, feature)
    assert max(commits(table)) == barrier, "nothing more is committed"
    assert abs(retry_time(second) - retry_time(error) + timedelta(hours=23)) <= timedelta(minutes=1)

    age(table, 1.1)
    table.append({"id": [77], "part": ["c"]})
    version = table.drop_feature(feature, truncate_history=True)
    after = table.snapshot()
    assert after.version == version == barrier + 2
    assert feature not in features(table)
    assert "checkpointProtection" not in features(table)
    assert not [key for key in after.properties if "protect" in key.lower()]
    assert commits(table) == [barrier, barrier + 1, version]
    assert traces(table, feature) == []
    assert not list(log(table).glob("*.checkpoint.*-*"))
    parameters = bodies(table, version, "commitInfo")[0]["operationParameters"]
    assert parameters == {"featureName": feature, "truncateHistory": True}
    assert ids(table) == sorted([*rows, 77])
    # a sidecar stays for one to two days, even if no checkpoint refers to it
    assert {finding.code for finding in table.verify().findings} <= {"sidecar.orphan"}


def test_a_feature_without_traces_is_dropped_at_once(tmp_path: Path) -> None:
    table = filled(tmp_path, **{"feature.vacuumProtocolCheck": "supported"})
    version = table.drop_feature("vacuumProtocolCheck", truncate_history=True)
    assert version == 4
    assert features(table) == set()
    assert commits(table) == list(range(5))


def test_metadata_of_a_checkpoint_needs_the_feature(tmp_path: Path) -> None:
    """The commits that mapped columns are deleted, the checkpoint with their metadata is not."""
    table = mapped(tmp_path)
    table.checkpoint()
    for path in log(table).glob("*"):
        if path.name < f"{3:020}" and path.name[0] == "0":
            path.unlink()
    rows = ids(table)
    error = refused(table, "columnMapping")
    assert error.version is None, "no commit is to blame"
    age(table, 25)
    table.drop_feature("columnMapping", truncate_history=True)
    assert features(table) == set()
    assert ids(table) == rows
    assert min(commits(table)) > 3


def test_the_retention_is_a_property(tmp_path: Path) -> None:
    retention = "interval 90 minutes"
    table = filled(
        tmp_path,
        enableDeletionVectors="true",
        **{"dropFeatureTruncateHistory.retentionDuration": retention},
    )
    error = refused(table, "deletionVectors")
    assert "90 minutes" in str(error)
    age(table, 1.6)
    table.drop_feature("deletionVectors", truncate_history=True)
    assert features(table) == set()


def test_a_feature_that_is_enabled_again_waits_again(tmp_path: Path) -> None:
    table = with_vectors(tmp_path)
    refused(table, "deletionVectors")
    age(table, 25)
    table.set_properties({"delta.enableDeletionVectors": "true"})
    table.delete("id = 2")
    rows = ids(table)
    refused(table, "deletionVectors")
    assert "deletionVectors" in features(table)
    assert ids(table) == rows


def test_protection_is_dropped_with_its_history(tmp_path: Path) -> None:
    table = with_vectors(tmp_path)
    table.drop_feature("deletionVectors")
    protected = table.snapshot().version
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.drop_feature("checkpointProtection")
    assert caught.value.code == "alter.truncate_history"
    assert "truncate_history=True" in str(caught.value)
    error = refused(table, "checkpointProtection")
    assert error.version == protected - 1
    assert max(commits(table)) == protected, "the checkpoint after it exists"
    rows = ids(table)
    age(table, 25)
    version = table.drop_feature("checkpointProtection", truncate_history=True)
    assert commits(table) == [protected, version]
    assert features(table) == set()
    assert "delta.requireCheckpointProtectionBeforeVersion" not in table.snapshot().properties
    assert ids(table) == rows
    assert table.verify().findings == ()


def test_a_damaged_checkpoint_prevents_truncation(tmp_path: Path) -> None:
    """The checkpoint is old enough, and does not decode."""
    table = with_vectors(tmp_path)
    refused(table, "deletionVectors")
    [checkpoint] = log(table).glob("*.checkpoint.parquet")
    whole = checkpoint.read_bytes()
    third = len(whole) // 3
    checkpoint.write_bytes(whole[:third] + bytes(64) + whole[third + 64 :])
    age(table, 25)
    error = refused(table, "deletionVectors")
    version = int(checkpoint.name[:20])
    reason = (
        f"the checkpoint of version {version} cannot replace the log before it: it cannot be read"
    )
    assert reason in str(error)
    assert min(commits(table)) == 0, "nothing is deleted"


@pytest.mark.parametrize("feature", ["domainMetadata", "rowTracking"])
def test_writer_features_refuse_truncation(feature: str, tmp_path: Path) -> None:
    table = filled(tmp_path, enableRowTracking="true")
    if feature == "domainMetadata":
        table.drop_feature("rowTracking")
    version = table.snapshot().version
    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.drop_feature(feature, truncate_history=True)
    assert caught.value.code == "alter.truncate_history"
    assert table.snapshot().version == version


def test_a_table_without_the_feature(tmp_path: Path) -> None:
    table = filled(tmp_path)
    for feature in ("deletionVectors", "checkpointProtection"):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            table.drop_feature(feature, truncate_history=True)
        assert caught.value.code == "protocol.feature_absent"
