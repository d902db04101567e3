"""The protocol of a table: compared with delta-spark 4.3 for the same properties."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import deltareplay as dr

RECORDED = json.loads((Path(__file__).parent / "protocols_of_delta_spark.json").read_text())
LISTS = ("readerFeatures", "writerFeatures")


def protocol(body: dict[str, Any]) -> dr.Protocol:
    """Return a protocol action as a value; its lists of features are sorted."""
    lists = [sorted(body[name]) if name in body else None for name in LISTS]
    return dr.Protocol(body["minReaderVersion"], body["minWriterVersion"], *lists)


def case_id(case: dict[str, Any]) -> str:
    return ",".join(f"{key}={value}" for key, value in case["properties"].items()) or "nothing"


@pytest.mark.parametrize("case", RECORDED["new_tables"], ids=case_id)
def test_protocols_of_new_tables(case: dict[str, Any]) -> None:
    metadata = dr.Metadata(schema_string=case.get("schema", ""), configuration=case["properties"])
    assert dr.Protocol.for_new_table(metadata) == protocol(case["protocol"])


@pytest.mark.parametrize(
    "case",
    # protocol versions as properties are refused: see the last test
    [case for case in RECORDED["upgrades"] if "delta.minWriterVersion" not in case["properties"]],
    ids=case_id,
)
def test_upgraded_protocols(case: dict[str, Any]) -> None:
    old = protocol(case["from"])
    new = old.upgrade_for(dr.Metadata(configuration=case["properties"]))

    assert new == protocol(case["to"])
    assert old.can_upgrade_to(new)
    assert new == old or not new.can_upgrade_to(old)


@pytest.mark.parametrize(
    "case",
    # checkpointProtection is added by Table.drop_feature, not by without_feature
    [case for case in RECORDED["drops"] if "checkpointProtection" not in str(case.get("to"))],
    ids=lambda case: case["feature"],
)
def test_dropped_features(case: dict[str, Any]) -> None:
    codes = {
        "DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE": "protocol.not_removable",
        "DELTA_FEATURE_DROP_DEPENDENT_FEATURE": "protocol.feature_required",
        "DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT": "protocol.feature_absent",
    }
    if "error" in case:
        with pytest.raises(dr.InvalidArgumentError) as caught:
            protocol(case["from"]).without_feature(case["feature"])
        assert caught.value.code == codes[case["error"]]
    else:
        assert protocol(case["from"]).without_feature(case["feature"]) == protocol(case["to"])


def test_the_record_is_complete() -> None:
    assert len(RECORDED["new_tables"]) > 30
    assert len(RECORDED["upgrades"]) > 10
    assert len(RECORDED["drops"]) > 5


def test_append_only_requires_writer_version_2() -> None:
    metadata = dr.Metadata(configuration={"delta.appendOnly": "true"})
    result = dr.Protocol.for_new_table(metadata)

    assert result.min_reader_version == 1
    assert result.min_writer_version == 2


@pytest.mark.parametrize("key", ["delta.minReaderVersion", "delta.minWriterVersion"])
def test_protocol_versions_are_refused_as_table_properties(key: str) -> None:
    metadata = dr.Metadata(configuration={key: "2"})
    message = rf"Should not have the protocol version \({key}\) as part of table properties"

    for ask in (dr.Protocol(1, 2).upgrade_for, dr.Protocol.required_minimum):
        with pytest.raises(dr.InvalidArgumentError, match=message):
            ask(metadata)
