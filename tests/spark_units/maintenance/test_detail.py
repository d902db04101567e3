"""The row of ``DESCRIBE DETAIL``, before Spark gets it."""

from __future__ import annotations

from pathlib import Path

from support import logs

import deltareplay as dr
from deltareplay.spark.maintenance import detail


def test_a_location_is_decoded() -> None:
    """As Hadoop's ``Path.toString`` prints it."""
    assert detail.location("file:///t/a%20b%25%5B1%5D") == "file:/t/a b%[1]"
    assert detail.location("s3://bucket/a%20b") == "s3://bucket/a b"


def test_a_feature_is_implied_by_both_of_its_versions(tmp_path: Path) -> None:
    """Column mapping requires reader version 2 and writer version 5."""
    log = logs.LogBuilder(tmp_path)
    log.commit(logs.protocol(1, 5), logs.metadata(logs.schema(id="long")))

    row = detail._row(dr.Table(tmp_path).snapshot())

    assert (row["minReaderVersion"], row["minWriterVersion"]) == (1, 5)
    assert row["tableFeatures"] == [
        *("appendOnly", "changeDataFeed", "checkConstraints", "generatedColumns", "invariants")
    ]
