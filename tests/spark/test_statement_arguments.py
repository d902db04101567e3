"""Arguments of another type in statements on the executors: errors before the table is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import deltareplay as dr
from deltareplay import spark as dr_spark


def merge(spark: Any, path: Path, **options: Any) -> Any:
    return dr_spark.merge(spark, path, spark.range(1), "1 = 0", **options)


BAD: dict[str, tuple[str, Callable[[Any, Path], Any]]] = {
    "a number as a condition": (
        "argument.type",
        lambda spark, path: dr_spark.delete(spark, path, 1),  # type: ignore[arg-type]
    ),
    "a number as a value": (
        "argument.type",
        lambda spark, path: dr_spark.update(spark, path, None, {"id": 1}),  # type: ignore[dict-item]
    ),
    "a merge of something else": (
        "argument.type",
        lambda spark, path: dr_spark.merge(spark, path, [{"id": 1}], "1 = 0"),  # type: ignore[arg-type]
    ),
    "a merge without a condition": (
        "argument.type",
        lambda spark, path: dr_spark.merge(spark, path, spark.range(1), None),  # type: ignore[arg-type]
    ),
    "a number as a value of a merge": (
        "argument.type",
        lambda spark, path: merge(spark, path).when_not_matched_insert({"id": 1}),
    ),
    "a number as a condition of a clause": (
        "argument.type",
        lambda spark, path: merge(spark, path).when_matched_delete(1),
    ),
    "another mode of a merge": (
        "rows.schema_mode",
        lambda spark, path: merge(spark, path, schema_mode="overwrite"),
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_refuses_arguments_of_another_type(spark: Any, tmp_path: Path, case: str) -> None:
    code, run = BAD[case]
    with pytest.raises(dr.InvalidArgumentError) as caught:
        run(spark, tmp_path)
    assert caught.value.code == code
