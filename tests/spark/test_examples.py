"""The example and the pages that need Spark run; the example's results are computed by hand."""

from __future__ import annotations

import importlib.util
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.pages import HOLDS, needs_spark, paste

import deltareplay as dr

pytestmark = pytest.mark.spark
EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow  # `make demo` runs it
def test_the_orders_example(spark: Any, tmp_path: Path) -> None:
    report = example("orders").main(tmp_path, spark)
    # the third day: ten new orders (20 to 29), and changes of ten (10 to 19)
    amounts = {order: Decimal(order * 3 + 1) + Decimal("0.5") for order in range(30)}
    cancelled = [10, 15]
    assert report == [
        {"state": "cancelled", "orders": 2, "amount": sum(amounts[item] for item in cancelled)},
        {
            "state": "paid",
            "orders": 8,
            "amount": sum(amounts[number] for number in range(10, 20) if number not in cancelled),
        },
        {
            "state": "placed",
            "orders": 10,
            "amount": sum(amounts[number] for number in range(20, 30)),
        },
    ]
    silver = dr.Table(tmp_path / "silver").snapshot()
    result = {
        row["order_id"]: (row["state"], row["amount"])
        for row in silver.scan(["order_id", "state", "amount"]).to_arrow().to_pylist()
    }
    assert result == {
        order: (
            "placed" if order >= 20 else "cancelled" if order % 5 == 0 else "paid",
            amounts[order],
        )
        for order in range(30)
    }
    assert dr.Table(tmp_path / "bronze").snapshot().num_rows == 10 + 20 + 20
    assert list(silver.transactions) == ["orders-to-silver"]


@pytest.mark.slow  # a session for each page
@pytest.mark.parametrize("page", [page for page in HOLDS if needs_spark(page)])
def test_the_code_of_a_page_runs(page: str, tmp_path: Path) -> None:
    done = paste(page, tmp_path)
    assert done.returncode == 0, done.stderr
