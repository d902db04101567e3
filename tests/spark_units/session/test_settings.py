"""Other values of boolean settings of the session are errors, as in Spark's configuration."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import deltareplay as dr
from deltareplay.spark.session import settings

FLAGS = {
    "spark.databricks.delta.schema.autoMerge.enabled": settings.merges_schemas,
    "spark.databricks.delta.retentionDurationCheck.enabled": settings.checks_retention,
    "spark.databricks.delta.optimizeWrite.enabled": settings.optimizes_writes,
    "spark.databricks.delta.merge.repartitionBeforeWrite.enabled": settings.repartitions_merges,
    "spark.sql.caseSensitive": lambda spark: settings.name_key(spark)("A") == "A",
}


def session(**values: str) -> Any:
    return SimpleNamespace(conf=SimpleNamespace(get=values.get))


@pytest.mark.parametrize("name", FLAGS)
def test_boolean_settings(name: str) -> None:
    for text, value in {"true": True, " TRUE": True, "False": False}.items():
        assert FLAGS[name](session(**{name: text})) is value
    for text in ("yes", "", "1"):
        with pytest.raises(dr.InvalidArgumentError, match=f"{name} is '{text}'") as caught:
            FLAGS[name](session(**{name: text}))
        assert caught.value.code == "spark.setting"


def test_defaults_of_boolean_settings() -> None:
    assert settings.merges_schemas(session()) is False
    assert settings.checks_retention(session()) is True
    assert settings.optimizes_writes(session()) is None
