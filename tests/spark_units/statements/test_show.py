"""The columns of DESCRIBE."""

from __future__ import annotations

import json

import pytest
from support import logs

import deltareplay as dr
from deltareplay.spark.statements import show

pytest.importorskip("pyspark")


@pytest.mark.parametrize("comment", [[1, 2], 7, {"a": 1}, None])
def test_a_comment_that_is_not_a_string_is_left_out(log: logs.LogBuilder, comment: object) -> None:
    def field(name: str, comment: object) -> dict[str, object]:
        return {
            "name": name,
            "type": "long",
            "nullable": True,
            "metadata": {"comment": comment},
        }

    log.create(
        json.dumps({"type": "struct", "fields": [field("id", "a key"), field("odd", comment)]})
    )
    columns = show._columns(dr.Table(log.uri).snapshot())
    assert [tuple(column) for column in columns] == [
        ("id", "bigint", "a key"),
        ("odd", "bigint", None),
    ]
