"""Features that this release reads or refuses, and the errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from protocol.reading import SCHEMA, opened, paths
from support import logs

import deltareplay as dr

ROOT = Path(__file__).resolve().parents[2]
# Features with duties for readers of snapshots that this release fulfils.
READABLE = [
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "typeWidening",
    "typeWidening-preview",
    "variantType",
    "variantType-preview",
    "geospatial",
    "geospatial-dev",
]
# Features without duties for readers.
WRITER_ONLY = [
    "appendOnly",
    "invariants",
    "checkConstraints",
    "changeDataFeed",
    "generatedColumns",
    "identityColumns",
    "domainMetadata",
    "rowTracking",
    "clustering",
    "allowColumnDefaults",
    "inCommitTimestamp",
    "icebergCompatV1",
    "icebergCompatV2",
    "icebergCompatV3",
    "icebergWriterCompatV1",
    "materializePartitionColumns",
    "checkpointProtection",
    "coordinatedCommits-preview",
    "collations-preview",
    "aFeatureOfTheFuture",
]
# Features that are refused: those in the section on `protocol.reader_features`, and others.
EXPLAINED = [
    feature
    for row in re.findall(
        r"^\| (`.+?) \|",
        (ROOT / "docs" / "troubleshooting" / "definition.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    for feature in re.findall(r"`(.+?)`", row)
]
REFUSED = [*EXPLAINED, "aFeatureOfTheFuture"]


def table(log: logs.LogBuilder, protocol: logs.Action, **options: object) -> logs.LogBuilder:
    log.create(SCHEMA, logs.add("f"), protocol_action=protocol, **options)
    return log


@pytest.mark.parametrize(
    ("reader", "writer"),
    [(1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (2, 2), (2, 5), (2, 6)],
)
def test_versions_without_feature_lists_are_read(
    log: logs.LogBuilder, reader: int, writer: int
) -> None:
    result = opened(table(log, logs.protocol(reader, writer)))

    assert (result.protocol.min_reader_version, result.protocol.min_writer_version) == (
        reader,
        writer,
    )
    assert (result.protocol.reader_features, result.protocol.writer_features) == (None, None)
    assert result.protocol.why_not_readable() == []
    assert paths(result) == ["f"]


@pytest.mark.parametrize(
    ("reader", "features"),
    [(1, []), (1, ["appendOnly"]), (2, ["columnMapping"]), (1, ["rowTracking", "domainMetadata"])],
)
def test_writer_version_7_with_an_older_reader_version(
    log: logs.LogBuilder, reader: int, features: list[str]
) -> None:
    result = opened(table(log, logs.protocol(reader, 7, writer_features=features)))

    assert result.protocol.reader_features is None
    assert sorted(result.protocol.writer_features) == sorted(features)
    assert result.protocol.why_not_readable() == []


@pytest.mark.parametrize("feature", READABLE)
def test_reader_features_that_are_read(log: logs.LogBuilder, feature: str) -> None:
    result = opened(table(log, logs.features(feature)))

    assert result.protocol.why_not_readable() == []
    assert list(result.protocol.reader_features) == [feature]


@pytest.mark.parametrize("feature", WRITER_ONLY)
def test_writer_features_do_not_affect_readers(log: logs.LogBuilder, feature: str) -> None:
    for reader, reader_features in ((1, None), (3, [])):
        protocol = logs.protocol(
            reader, 7, reader_features=reader_features, writer_features=[feature]
        )
        result = opened(table(logs.LogBuilder(log.table / str(reader)), protocol))
        assert result.protocol.why_not_readable() == []
        assert paths(result) == ["f"]


@pytest.mark.parametrize("feature", REFUSED)
def test_reader_features_that_are_refused_are_named(log: logs.LogBuilder, feature: str) -> None:
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        opened(table(log, logs.features(feature)))
    assert feature in str(caught.value)


def test_the_documentation_explains_every_known_feature_that_is_refused() -> None:
    source = (ROOT / "rust" / "core" / "src" / "spec" / "features.rs").read_text(encoding="utf-8")
    reasons = re.findall(r"\bunsupported\(\s*\"(.+?)\"", source)

    assert len(reasons) > 3, "the pattern finds no features any more"
    assert sorted({*reasons} - {*EXPLAINED}) == []


def test_one_error_names_every_missing_feature(log: logs.LogBuilder) -> None:
    names = ["notYetA", "deletionVectors", "notYetB", "timestampNanos"]
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        opened(table(log, logs.features(*names)))
    message = str(caught.value)
    assert all(name in message for name in ("notYetA", "notYetB", "timestampNanos"))
    assert "deletionVectors" not in message


@pytest.mark.parametrize("reader", [4, 5, 99, 2**31 - 1])
def test_unknown_reader_versions_are_refused(log: logs.LogBuilder, reader: int) -> None:
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        opened(table(log, logs.protocol(reader, 7, writer_features=[])))
    assert f"minReaderVersion={reader}:" in str(caught.value)


def test_unknown_writer_versions_do_not_affect_readers(log: logs.LogBuilder) -> None:
    result = opened(table(log, logs.protocol(1, 8)))

    assert paths(result) == ["f"]
    assert result.protocol.why_not_writable() != []


def test_feature_names_are_case_insensitive(log: logs.LogBuilder) -> None:
    result = opened(table(log, logs.features("DELETIONVECTORS", "TimestampNTZ")))

    assert result.protocol.why_not_readable() == []
    assert sorted(result.protocol.reader_features) == ["DELETIONVECTORS", "TimestampNTZ"]


def test_obstacles_have_a_reason_and_a_remedy() -> None:
    obstacles = dr.Protocol(
        3, 7, ["fancy", "deletionVectors", "plush"], ["fancy"]
    ).why_not_readable()

    assert sorted(obstacle.feature for obstacle in obstacles) == ["fancy", "plush"]
    for obstacle in obstacles:
        assert obstacle.reason
        assert obstacle.remedy
        assert obstacle.feature in str(obstacle)


def test_every_obstacle_to_writing_is_listed() -> None:
    names = ["fancy", "deletionVectors", "plush"]
    obstacles = dr.Protocol(3, 7, names, [*names, "writerFancy"]).why_not_writable()

    assert {"fancy", "plush", "writerFancy"} <= {obstacle.feature for obstacle in obstacles}


# -- well-formedness


@pytest.mark.parametrize(
    ("protocol", "code"),
    [
        (logs.protocol(3, 7), "protocol.malformed"),
        (logs.protocol(3, 7, reader_features=["deletionVectors"]), "protocol.malformed"),
        (logs.protocol(3, 6, reader_features=[]), "protocol.malformed"),
        (logs.protocol(0, 0), "protocol.malformed"),
        (logs.protocol(-1, 2), "protocol.malformed"),
        ({"protocol": {"minReaderVersion": 1}}, "commit.action"),
        ({"protocol": {"minReaderVersion": "1", "minWriterVersion": "2"}}, "commit.action"),
        # as in two examples of the protocol's text, but in no log
        (
            {"protocol": {"readerVersion": 2, "writerVersion": 7, "writerFeatures": []}},
            "commit.action",
        ),
        ({"protocol": {}}, "commit.action"),
    ],
    ids=str,
)
def test_malformed_protocols_are_refused(
    log: logs.LogBuilder, protocol: logs.Action, code: str
) -> None:
    with pytest.raises(dr.CorruptTableError) as caught:
        opened(table(log, protocol))
    assert caught.value.code == code


# -- each version by its own protocol


def test_each_version_is_checked_by_its_own_protocol(log: logs.LogBuilder) -> None:
    """Features are added and dropped; a table may be readable now and not before."""
    log.create(SCHEMA, logs.add("f0"))
    log.commit(logs.features("fancy"), logs.add("f1"))
    log.commit(logs.add("f2"))
    log.commit(logs.protocol(1, 2), logs.add("f3"))

    assert paths(opened(log)) == ["f0", "f1", "f2", "f3"]
    assert paths(opened(log, 0)) == ["f0"]
    for version in (1, 2):
        with pytest.raises(dr.UnsupportedFeatureError) as caught:
            opened(log, version)
        assert caught.value.code == "protocol.reader_features"


def test_an_update_into_an_unreadable_version_is_refused(log: logs.LogBuilder) -> None:
    log.create(SCHEMA)
    before = opened(log)
    log.commit(logs.features("fancy"))

    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        before.update()
    assert "fancy" in str(caught.value)
    assert before.version == 0


@pytest.mark.parametrize("kind", ["classic", "multipart", "v2-json", "v2-parquet"])
def test_an_unreadable_protocol_inside_a_checkpoint_is_refused(
    log: logs.LogBuilder, kind: str
) -> None:
    log.create(SCHEMA, protocol_action=logs.features("fancy"))
    log.checkpoint(kind=kind)
    log.delete_commits(1)

    with pytest.raises(dr.UnsupportedFeatureError, match="fancy") as caught:
        opened(log)
    assert caught.value.code == "protocol.reader_features"


def test_vectors_apply_even_if_the_property_is_false(log: logs.LogBuilder) -> None:
    vector = logs.deletion_vector()
    log.create(
        SCHEMA,
        logs.add("f", deletion_vector=vector, stats=logs.stats(9)),
        protocol_action=logs.features("deletionVectors"),
        configuration={"delta.enableDeletionVectors": "false"},
    )
    (row,) = opened(log).files().to_pylist()

    assert row["deletionVector"]["cardinality"] == 2


# -- required actions


@pytest.mark.parametrize(
    ("absent", "code"), [("protocol", "log.no_protocol"), ("metaData", "log.no_metadata")]
)
def test_a_log_without_protocol_or_metadata_is_corrupt(
    log: logs.LogBuilder, absent: str, code: str
) -> None:
    actions = [logs.protocol(), logs.metadata(SCHEMA), logs.add("f")]
    log.commit(*(action for action in actions if absent not in action))
    log.commit(logs.add("g"))

    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "schema",
    [
        "{",
        "[]",
        "null",
        '"long"',
        '{"type":"struct"}',
        '{"type":"struct","fields":{}}',
        '{"type":"struct","fields":[{"name":"a","type":"nonsense","nullable":true,"metadata":{}}]}',
        '{"type":"struct","fields":[{"type":"long","nullable":true,"metadata":{}}]}',
        '{"type":"struct","fields":[{"name":"a","type":"decimal(99,2)","nullable":true,"metadata":{}}]}',
    ],
)
def test_invalid_schemas_are_refused(log: logs.LogBuilder, schema: str) -> None:
    log.create(schema)

    with pytest.raises(dr.CorruptTableError) as caught:
        opened(log)
    assert caught.value.code.startswith("schema.")
