"""Builders of new tables on a version of Spark that can only read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import deltareplay as dr
from deltareplay.spark import DeltaTable
from deltareplay.spark.session import capabilities


@pytest.mark.parametrize("method", ["create", "createIfNotExists", "replace", "createOrReplace"])
def test_spark_3_is_too_old(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.setattr(capabilities, "check", lambda _: None)
    session: Any = SimpleNamespace(version="3.5.9")
    with pytest.raises(dr.UnsupportedFeatureError, match="creating a table") as caught:
        getattr(DeltaTable, method)(session)
    assert caught.value.code == "spark.too_old"
