"""The page about other engines: its blocks for engines that `make demo` does not install."""

from __future__ import annotations

from typing import Any

import pytest
from support.pages import IMPORT, OPTIONAL, ROOT, blocks

import deltareplay as dr

PAGE = "docs/guide/engines.md"
#: The block of each engine, by its package.
BLOCKS = {
    package: code for code in blocks(PAGE) for package in sorted(OPTIONAL & {*IMPORT.findall(code)})
}


def test_each_optional_engine_has_a_block() -> None:
    assert BLOCKS.keys() == OPTIONAL


@pytest.mark.parametrize("package", sorted(OPTIONAL))
@pytest.mark.filterwarnings("ignore")
def test_another_engine_reads_the_rows(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(package, reason=f"pip install {package}")
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}
    exec(f"{blocks(PAGE)[0]}\n{BLOCKS[package]}", names)
    rows = dr.Table("demo/orders").snapshot().scan().to_arrow()
    match package:
        case "dask":
            by_country = names["frame"].groupby("country")["id"].count().compute().to_dict()
            counts = rows.group_by("country").aggregate([("id", "count")]).to_pylist()
            assert by_country == {item["country"]: item["id_count"] for item in counts}
        case "datafusion":
            sums = rows.group_by("country").aggregate([("amount", "sum")]).to_pylist()
            expected = {item["country"]: item["amount_sum"] for item in sums}
            result = {row["country"]: row["amount"] for row in names["totals"].to_pylist()}
            assert result == expected
        case "ray":
            assert names["count"] == rows.num_rows
        case _:
            pytest.fail(f"no expected result for {package}")
