"""Verification: each injected fault is reported, and a valid table has none."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import data, logs, vectors

import deltareplay as dr

SCHEMA = logs.schema(id="long")


def data_file(log: logs.LogBuilder, name: str) -> logs.Action:
    """Write a data file of three rows; return its action."""
    return data.write(log.table, name, {"id": [0, 1, 2]})


def valid(root: Path, *, v2: bool = False) -> logs.LogBuilder:
    """A valid table with everything: four versions, a checkpoint and checksums."""
    log = logs.LogBuilder(root)
    listed = ["deletionVectors", "v2Checkpoint"] if v2 else ["deletionVectors"]
    protocol = logs.features(*listed, writer_only=["domainMetadata"])
    log.create(SCHEMA, protocol_action=protocol)
    log.commit(data_file(log, "a"), data_file(log, "b"), logs.txn("app", 1), logs.domain("d", "x"))
    log.checksum(1)
    vector = vectors.inline([0, 2])
    stats = '{"numRecords":3,"tightBounds":false}'
    size = log.state().adds[("a", None)]["size"]
    log.commit(
        logs.remove("a", size=size),
        logs.add("a", size=size, stats=stats, deletion_vector=vector),
        logs.remove("b"),
    )
    log.checkpoint(2, kind="v2-json" if v2 else "classic", hint=True)
    log.checksum(2)
    log.commit(data_file(log, "c"), logs.domain("d", "x", removed=True))
    log.checksum(3)
    return log


def findings(log: logs.LogBuilder, **options: Any) -> list[dr.Finding]:
    return list(dr.Table(log.uri).verify(**options).findings)


def codes(log: logs.LogBuilder) -> set[str]:
    return {finding.code for finding in findings(log)}


@pytest.mark.parametrize("v2", [False, True])
def test_a_valid_table_has_no_findings(v2: bool, tmp_path: Path) -> None:
    log = valid(tmp_path / "t", v2=v2)
    log.compact(1, 3)
    result = dr.Table(log.uri).verify()
    assert result.findings == ()
    assert result.ok
    assert (result.version, result.num_commits, result.num_files) == (3, 4, 2)
    assert (result.num_checkpoints, result.num_checksums) == (1, 3)
    assert str(result).endswith("nothing is wrong")
    assert json.loads(result.to_json())["findings"] == []


def test_a_log_cleanup_leaves_no_findings(tmp_path: Path) -> None:
    log = valid(tmp_path / "t")
    log.delete_commits(2)
    (logs.log_dir(log.table) / f"{1:020}.crc").unlink()
    assert findings(log) == []


def rewrite(log: logs.LogBuilder, version: int, change: Callable[[list[Any]], None]) -> None:
    change(log.commits[version])
    logs.write_commit(log.table, version, log.commits[version])


def injects(name: str) -> Callable[[Any], Any]:
    def register(fault: Any) -> Any:
        FAULTS[name] = fault
        return fault

    return register


#: By code: a function that injects a fault, and returns the version or the path to report.
FAULTS: dict[str, Callable[[logs.LogBuilder], Any]] = {}


@injects("log.gap")
def _gap(log: logs.LogBuilder) -> Any:
    (logs.log_dir(log.table) / logs.commit_name(1)).unlink()
    return 1


@injects("log.truncated")
def _truncated(log: logs.LogBuilder) -> Any:
    for path in logs.log_dir(log.table).glob("*.checkpoint*"):
        path.unlink()
    log.delete_commits(1)
    return 0


@injects("commit.empty")
def _empty(log: logs.LogBuilder) -> Any:
    (logs.log_dir(log.table) / logs.commit_name(1)).write_bytes(b"")
    return 1


@injects("commit.torn")
def _torn(log: logs.LogBuilder) -> Any:
    path = logs.log_dir(log.table) / logs.commit_name(1)
    path.write_bytes(path.read_bytes()[:-20])
    return 1


@injects("commit.json")
def _not_json(log: logs.LogBuilder) -> Any:
    path = logs.log_dir(log.table) / logs.commit_name(3)
    path.write_text("nonsense\n" + path.read_text())
    return 3


DUPLICATES = {
    "two protocols": (logs.protocol(1, 2), logs.protocol(1, 2)),
    "two metadatas": (logs.metadata(SCHEMA), logs.metadata(SCHEMA)),
    "an application twice": (logs.txn("x", 1), logs.txn("x", 2)),
    "a domain twice": (logs.domain("x"), logs.domain("x")),
    "a file added twice": (logs.add("c"),),
    "a file removed twice": (logs.remove("x"), logs.remove("x")),
    "a file added and removed": (logs.remove("c"),),
    "a second vector": (
        logs.add(
            "a",
            stats='{"numRecords":3,"tightBounds":false}',
            deletion_vector=vectors.inline([1]),
        ),
    ),
}


@pytest.mark.parametrize("kind", DUPLICATES)
def test_actions_that_must_not_be_combined_are_reported(kind: str, tmp_path: Path) -> None:
    log = valid(tmp_path / "t")
    rewrite(log, 3, lambda actions: actions.extend(DUPLICATES[kind]))
    reported = [finding for finding in findings(log) if finding.code == "commit.duplicate_action"]
    assert reported
    assert {item.version for item in reported} == {3}
    assert reported[0].severity == "error"


@injects("commit.partition_values")
def _partition_values(log: logs.LogBuilder) -> Any:
    log.commit(logs.add("p", partition_values={"day": "x"}))
    return 4


@injects("commit.vector")
def _vector_without_rows(log: logs.LogBuilder) -> Any:
    log.commit(logs.add("p", deletion_vector=vectors.inline([0])))
    return 4


@injects("commit.in_commit_timestamp")
def _timestamps(log: logs.LogBuilder) -> Any:
    protocol = logs.protocol(
        3,
        7,
        reader_features=["deletionVectors"],
        writer_features=["deletionVectors", "domainMetadata", "inCommitTimestamp"],
    )
    properties = {"delta.enableInCommitTimestamps": "true"}
    info = {"inCommitTimestamp": 10}
    log.commit(logs.commit_info(**info), protocol, logs.metadata(SCHEMA, configuration=properties))
    log.commit(logs.commit_info(**info))
    return 5


@injects("protocol.malformed")
def _malformed(log: logs.LogBuilder) -> Any:
    log.commit(logs.protocol(3, 7))
    return 4


@injects("protocol.dependency")
def _dependency(log: logs.LogBuilder) -> Any:
    log.commit(logs.features("deletionVectors", writer_only=["rowTracking"]))
    return 4


@injects("protocol.reader_features")
def _unknown_feature(log: logs.LogBuilder) -> Any:
    log.commit(logs.features("deletionVectors", "fromTheFuture", writer_only=["domainMetadata"]))
    return 4


@injects("transaction.feature_missing")
def _feature_missing(log: logs.LogBuilder) -> Any:
    log.commit(logs.metadata(SCHEMA, configuration={"delta.enableChangeDataFeed": "true"}))
    return 4


@injects("transaction.partition_columns")
def _partition_column(log: logs.LogBuilder) -> Any:
    log.commit(logs.metadata(SCHEMA, partition_columns=["nowhere"]))
    return 4


@injects("log.no_metadata")
def _no_metadata(log: logs.LogBuilder) -> Any:
    rewrite(log, 0, lambda actions: actions.pop(2))
    return 0


@injects("log.no_protocol")
def _no_protocol(log: logs.LogBuilder) -> Any:
    rewrite(log, 0, lambda actions: actions.pop(1))
    return 0


@injects("checksum.mismatch")
def _checksum(log: logs.LogBuilder) -> Any:
    log.checksum(2, numFiles=7)
    return 2


@injects("checksum.unreadable")
def _checksum_unreadable(log: logs.LogBuilder) -> Any:
    (logs.log_dir(log.table) / f"{2:020}.crc").write_text("{")
    return 2


@injects("checkpoint.mismatch")
def _checkpoint(log: logs.LogBuilder) -> Any:
    rows = [row for row in log.state(2).actions() if "add" not in row]
    logs.write_checkpoint(log.table, 2, rows)
    return 2


@injects("checkpoint.duplicate_row")
def _duplicate_row(log: logs.LogBuilder) -> Any:
    rows = log.state(2).actions()
    logs.write_checkpoint(log.table, 2, [*rows, *(row for row in rows if "add" in row)])
    return 2


@injects("checkpoint.parquet")
def _not_parquet(log: logs.LogBuilder) -> Any:
    path = logs.log_dir(log.table) / logs.classic_name(2)
    path.write_bytes(path.read_bytes()[:-8])
    return 2


@injects("log.empty_file")
def _empty_checkpoint(log: logs.LogBuilder) -> Any:
    (logs.log_dir(log.table) / logs.classic_name(3)).write_bytes(b"")
    return 3


@injects("checkpoint.incomplete")
def _incomplete(log: logs.LogBuilder) -> Any:
    first, _ = log.checkpoint(3, kind="multipart", hint=False)
    first.unlink()
    return 3


@injects("hint.wrong")
def _hint(log: logs.LogBuilder) -> Any:
    logs.write_hint(log.table, 3, 1)
    return 2


@injects("compacted.mismatch")
def _compacted(log: logs.LogBuilder) -> Any:
    actions = log.compacted_actions(1, 3)
    wrong = [action for action in actions if "remove" not in action]
    logs.write_compacted(log.table, 1, 3, wrong)
    return 3


@injects("file.missing")
def _missing(log: logs.LogBuilder) -> Any:
    (log.table / "c").unlink()
    return "c"


@injects("file.size")
def _size(log: logs.LogBuilder) -> Any:
    with (log.table / "c").open("ab") as file:
        file.write(b"x")
    return "c"


@injects("file.row_ids")
def _row_ids(log: logs.LogBuilder) -> Any:
    features = logs.features("deletionVectors", writer_only=["rowTracking", "domainMetadata"])
    configuration = {
        "delta.enableRowTracking": "true",
        "delta.rowTracking.materializedRowIdColumnName": "i",
        "delta.rowTracking.materializedRowCommitVersionColumnName": "v",
    }
    log.commit(features, logs.metadata(SCHEMA, configuration=configuration))
    return 4


@injects("file.orphan")
def _orphan(log: logs.LogBuilder) -> Any:
    path = log.table / "deep" / "orphan"
    path.parent.mkdir()
    path.write_bytes(b"x")
    os.utime(path, (10**9, 10**9))
    recent = log.table / "just-written"
    recent.write_bytes(b"x")
    hidden = log.table / "_hidden"
    hidden.write_bytes(b"x")
    os.utime(hidden, (10**9, 10**9))
    return "deep/orphan"


@injects("file.link")
def _link(log: logs.LogBuilder) -> Any:
    outside = log.table.parent / "away"
    os.replace(log.table / "c", outside)
    (log.table / "c").symlink_to(outside)
    (log.table / "inside").symlink_to("c")  # not a file of the table
    return "c"


def test_a_link_to_a_checkpoint_is_to_be_replaced_not_the_checkpoint(tmp_path: Path) -> None:
    log = valid(tmp_path / "t")
    (checkpoint,) = logs.log_dir(log.table).glob("*.checkpoint.parquet")
    checkpoint.rename(tmp_path / "away")
    checkpoint.symlink_to(tmp_path / "away")
    (reported,) = findings(log)
    assert reported.code == "file.link"
    assert reported.path == f"_delta_log/{checkpoint.name}"
    assert reported.remedy.startswith("replace the link by the file")


#: A change of a vector's file, changes of its descriptor, and the code.
VECTORS: dict[str, tuple[Callable[[bytes], bytes | None], dict[str, Any], str]] = {
    "missing": (lambda _: None, {}, "dv.missing"),
    "a bit flipped": (
        lambda data: data[:-6] + bytes([data[-6] ^ 1]) + data[-5:],
        {},
        "dv.checksum",
    ),
    "cut off": (lambda data: data[:-6], {}, "storage.truncated"),
    "another number of rows": (lambda data: data, {"cardinality": 3}, "dv.cardinality"),
}


def test_histograms_of_checksums_are_compared_with_the_files(tmp_path: Path) -> None:
    log = valid(tmp_path / "t")
    size = log.state().adds[("c", None)]["size"]
    for last, expected in ((2 * size, set()), (2 * size + 1, {"checksum.mismatch"})):
        bins = {"sortedBinBoundaries": [0, 1 << 30], "fileCounts": [2, 0], "totalBytes": [last, 0]}
        log.checksum(3, fileSizeHistogram=bins)
        assert codes(log) == expected


def test_the_state_begins_with_a_checkpoint_of_version_0_without_its_commit(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path / "t")
    log.create(SCHEMA, data_file(log, "a"))
    log.checkpoint(0)
    log.checksum(0)
    log.commit(data_file(log, "b"))
    log.checksum(1)
    log.delete_commits(1)
    assert findings(log) == []


def test_a_gap_and_a_lost_start_are_reported_once(tmp_path: Path) -> None:
    after_checkpoint = valid(tmp_path / "after_checkpoint")
    after_checkpoint.commit(data_file(after_checkpoint, "d"))
    after_checkpoint.delete_commits(4)
    between = logs.LogBuilder(tmp_path / "between")
    between.create(SCHEMA)
    between.commit(logs.txn("app", 1))
    between.commit(logs.txn("app", 2))
    _gap(between)
    start = valid(tmp_path / "start")
    _truncated(start)
    for log, expected in (
        (after_checkpoint, ("log.gap", 3)),
        (between, ("log.gap", 1)),
        (start, ("log.truncated", 0)),
    ):
        assert [(finding.code, finding.version) for finding in findings(log)] == [expected]


@pytest.mark.parametrize("stated", [1000, 1001])
def test_in_commit_timestamps_of_checksums_are_compared_with_the_commit(
    tmp_path: Path, stated: int
) -> None:
    log = logs.LogBuilder(tmp_path / "t")
    protocol = logs.features(writer_only=["inCommitTimestamp"])
    info = logs.commit_info(inCommitTimestamp=1000)
    enabled = {"delta.enableInCommitTimestamps": "true"}
    metadata = logs.metadata(SCHEMA, configuration=enabled)
    log.commit(info, protocol, metadata)
    log.checksum(0, inCommitTimestampOpt=stated)
    assert codes(log) == (set() if stated == 1000 else {"checksum.mismatch"})


def test_in_commit_timestamps_are_unknown_while_a_property_is_invalid(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path / "t")
    protocol = logs.features("columnMapping", writer_only=["inCommitTimestamp"])
    enabled = {"delta.enableInCommitTimestamps": "true"}
    metadata = logs.metadata(SCHEMA, configuration=enabled)
    log.commit(logs.commit_info(inCommitTimestamp=1000), protocol, metadata)
    invalid = logs.metadata(SCHEMA, configuration={**enabled, "delta.columnMapping.mode": "names"})
    log.commit(logs.commit_info(inCommitTimestamp=2000), invalid)
    log.checksum(1, inCommitTimestampOpt=2000)
    assert codes(log) == {"properties.column_mapping_mode"}


@pytest.mark.parametrize("kind", VECTORS)
def test_damaged_vectors_are_reported(kind: str, tmp_path: Path) -> None:
    log = valid(tmp_path / "t")
    change, fields, code = VECTORS[kind]
    name = uuid.UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
    content, (described,) = vectors.in_file([[0, 1]], name)
    changed = change(content)
    if changed is not None:
        (log.table / f"deletion_vector_{name}.bin").write_bytes(changed)
    action = data_file(log, "v")
    action["add"]["stats"] = '{"numRecords":3,"tightBounds":false}'
    action["add"]["deletionVector"] = {**described, **fields}
    log.commit(action)
    (reported,) = findings(log)
    assert reported.code == code
    assert reported.severity == "error"
    assert "the deletion vector of v" in reported.message


def test_a_vector_beyond_its_file_is_reported(tmp_path: Path) -> None:
    log = valid(tmp_path / "t")
    action = data_file(log, "v")
    action["add"]["stats"] = '{"numRecords":3,"tightBounds":false}'
    action["add"]["deletionVector"] = vectors.inline([7])
    log.commit(action)
    (reported,) = findings(log)
    assert reported.code == "dv.beyond_file"


@pytest.mark.parametrize("fault", FAULTS)
def test_reports_each_injected_fault(fault: str, tmp_path: Path) -> None:
    log = valid(tmp_path / "t")
    location = FAULTS[fault](log)
    result = dr.Table(log.uri).verify()
    reported = [finding for finding in result.findings if finding.code == fault]
    assert reported, [str(finding) for finding in result.findings]
    if isinstance(location, str):
        assert [finding.path for finding in reported] == [location]
    else:
        assert {finding.version for finding in reported} == {location}
    assert all(finding.remedy and finding.message for finding in reported)
    expected = {"file.orphan": "info", "file.link": "info", "protocol.reader_features": "info"}
    warnings = {"checksum.unreadable", "log.empty_file", "checkpoint.incomplete", "hint.wrong"}
    severity = "warning" if fault in warnings else expected.get(fault, "error")
    assert reported[0].severity == severity
    assert result.ok == (severity == "info" and len(result.findings) == len(reported))
    assert fault in str(result)
    parsed = json.loads(result.to_json())
    assert parsed["findings"][0]["code"] == result.findings[0].code


def test_an_invalid_property_is_reported_once_with_the_commit_that_set_it(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path / "t")
    log.create(
        logs.schema(id="long"),
        protocol_action=logs.features("columnMapping"),
        configuration={"delta.columnMapping.mode": "names"},
    )
    log.commit(logs.add("a"))
    log.commit(logs.remove("a", deletion_timestamp=1))
    (reported,) = findings(log)
    assert reported.code == "properties.column_mapping_mode"
    assert (reported.path, reported.version) == (f"_delta_log/{0:020}.json", 0)


CONTROL_ACTIONS = {
    "protocol": logs.protocol(1, 7, writer_features=["domainMetadata"]),
    "metaData": logs.metadata(SCHEMA, configuration={"delta.appendOnly": "true"}),
    "txn": logs.txn("app", 2),
    "domainMetadata": logs.domain("d", "x", removed=True),
}


@pytest.mark.parametrize("kind", CONTROL_ACTIONS)
def test_a_compacted_file_has_the_control_actions_of_its_commits(kind: str, tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path / "t")
    writer_only = ["appendOnly", "domainMetadata"]
    log.create(SCHEMA, protocol_action=logs.features(writer_only=writer_only))
    log.commit(logs.txn("app", 1), logs.domain("d", "x"))
    log.commit(CONTROL_ACTIONS[kind])
    log.compact(1, 2)
    assert findings(log, data_files=False) == []
    lines = [action for action in log.compacted_actions(1, 2) if kind not in action]
    logs.write_compacted(log.table, 1, 2, lines)
    (reported,) = findings(log, data_files=False)
    assert (reported.code, reported.version) == ("compacted.mismatch", 2)
    assert reported.path == f"_delta_log/{logs.compacted_name(1, 2)}"


def test_orphaned_and_missing_sidecars_are_found(tmp_path: Path) -> None:
    log = valid(tmp_path / "t", v2=True)
    side = logs.log_dir(log.table) / "_sidecars"
    (side / "stranger.parquet").write_bytes(b"x")
    (orphan,) = findings(log)
    assert (orphan.code, orphan.severity) == ("sidecar.orphan", "info")
    assert orphan.path == "_delta_log/_sidecars/stranger.parquet"
    lost = min(path for path in side.iterdir() if path.name != "stranger.parquet")
    lost.unlink()
    reported = [
        finding for finding in findings(log) if finding.code == "checkpoint.sidecar_missing"
    ]
    assert [item.path for item in reported] == [f"_delta_log/_sidecars/{lost.name}"]


def test_verify_changes_no_file(tmp_path: Path) -> None:
    log = valid(tmp_path / "t")
    for fault in ("checksum.mismatch", "checkpoint.duplicate_row", "file.size"):
        FAULTS[fault](log)
    before = {path: path.stat().st_mtime_ns for path in log.table.rglob("*")}
    assert {"checksum.mismatch", "checkpoint.duplicate_row", "file.size"} <= codes(log)
    assert {path: path.stat().st_mtime_ns for path in log.table.rglob("*")} == before


def test_many_faults_of_one_kind_are_counted(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path / "t")
    log.create(SCHEMA)
    log.commit(*(logs.add(f"f{number}") for number in range(1_100)))
    result = dr.Table(log.uri).verify()
    assert len(result.findings) == 1_000
    assert result.omitted == 100
    assert str(result).endswith("and 100 more")
    with_rows = dr.Table(log.uri).verify(rows=True)
    assert {finding.code for finding in with_rows.findings} == {"file.missing"}
    assert findings(log, data_files=False) == []


def test_a_repeated_fault_is_one_finding(tmp_path: Path) -> None:
    log = logs.LogBuilder(tmp_path / "t")
    log.create(SCHEMA)
    log.commit(*[logs.remove("a")] * 1_100)
    result = dr.Table(log.uri).verify()
    assert [finding.code for finding in result.findings] == ["commit.duplicate_action"]
    assert result.omitted == 0


def test_a_missing_table_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(dr.TableNotFoundError) as caught:
        dr.Table(tmp_path).verify()
    assert caught.value.code == "table.not_found"


def test_equivalent_spellings_are_not_reported(tmp_path: Path) -> None:
    """A schema with other whitespace, and a feature under the name of its preview."""
    log = valid(tmp_path / "t")
    state = log.state(2)
    assert state.metadata is not None
    spaced = json.dumps(json.loads(state.metadata["schemaString"]), indent=1)
    rows = [row for row in state.actions() if "metaData" not in row]
    rows.append({"metaData": {**state.metadata, "schemaString": spaced}})
    logs.write_checkpoint(log.table, 2, rows)
    log.commit(
        logs.features("deletionVectors", "typeWidening-preview", writer_only=["domainMetadata"]),
        logs.metadata(SCHEMA, configuration={"delta.enableTypeWidening": "true"}),
    )
    assert findings(log) == []


@pytest.mark.parametrize("ending", ["", "-preview"])
def test_features_of_previews_replace_the_final_ones(tmp_path: Path, ending: str) -> None:
    """And the reverse; changes of the definition keep the protocol, as in delta-spark."""
    log = logs.LogBuilder(tmp_path / "t")
    log.create(
        logs.schema(id="long", v="variant"),
        protocol_action=logs.features(f"variantType{ending}", f"variantShredding{ending}"),
        configuration={"delta.enableVariantShredding": "true"},
    )
    assert findings(log) == []
    table = dr.Table(log.uri)
    before = table.snapshot().protocol
    table.set_properties({"owner": "a"})
    assert table.snapshot().protocol == before
    assert findings(log) == []
