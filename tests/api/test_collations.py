"""Columns with a collation: comparisons are refused, as only Spark has the rules.

The metadata is that of delta-io/delta's request for comments on collated string types.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pds
import pyarrow.parquet as pq
import pytest
from support import logs

import deltareplay as dr


def write(root: Path, collation: str, partition: bool = False) -> dr.Table:
    """Write three files with one value each, a, A and b, and bounds by which files are skipped."""
    log = logs.LogBuilder(root)
    fields = [logs.field_json("v", "long"), logs.field_json("s", "string")]
    fields[1]["metadata"] = {"__COLLATIONS": {"s": collation}}
    log.create(
        logs.dumps({"type": "struct", "fields": fields}),
        partition_columns=["s"] if partition else [],
        protocol_action=logs.protocol(1, 2),
    )
    adds = []
    for number, text in enumerate(["a", "A", "b"]):
        path = root / f"p{number}.parquet"
        columns = {"v": [number]} if partition else {"v": [number], "s": [text]}
        pq.write_table(pa.table(columns), path)
        bounds = {"v": number} if partition else {"v": number, "s": text}
        stats = {"numRecords": 1, "minValues": bounds, "maxValues": bounds}
        values = {"s": text} if partition else {}
        adds.append(
            logs.add(
                path.name,
                stats=logs.dumps(stats),
                size=path.stat().st_size,
                partition_values=values,
            )
        )
    log.commit(*adds)
    return dr.Table(root)


CONDITIONS = [
    "s = 'A'",
    "'A' <=> s",
    "s <> 'A'",
    "s < 'B'",
    "s BETWEEN 'A' AND 'B'",
    "s IN ('A', 'B')",
    "s LIKE 'A%'",
    "s RLIKE 'A'",
    "upper(s) = 'A'",
    "s || 'x' = 'Ax'",
    "v = 1 AND NOT s = 'A'",
    "nullif(s, 'A') IS NULL",
    "greatest(s, 'A') IS NOT NULL",
    "CASE s WHEN 'A' THEN true ELSE false END",
]


@pytest.mark.parametrize("partition", [False, True])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_comparisons_are_refused(condition: str, partition: bool, tmp_path: Path) -> None:
    snapshot = write(tmp_path, "spark.UTF8_LCASE", partition).snapshot()
    for call in (snapshot.scan, snapshot.files):
        with pytest.raises(dr.UnsupportedFeatureError) as caught:
            call(filter=condition)
        assert '"s" has the collation "spark.UTF8_LCASE"' in str(caught.value)
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        snapshot.scan(filter=[("s", "=", "A")])
    assert caught.value.code == "expression.collation"


def test_statements_are_refused(tmp_path: Path) -> None:
    table = write(tmp_path, "ICU.de_DE")
    source = [{"v": 9, "s": "A"}]
    calls: list[Any] = [
        lambda: table.delete("s = 'A'"),
        lambda: table.update("s = 'A'", {"v": "0"}),
        lambda: table.update("v = 0", {"v": "if(s = 'A', 1, 2)"}),
        lambda: table.overwrite(source, where="s = 'A'"),
        lambda: table.merge(source, "s").when_matched_delete().execute(),
        lambda: table.merge(source, "v").when_matched_delete("target.s = 'A'").execute(),
        lambda: table.add_constraint("c", "s <> 'A'"),
        lambda: table.changes(1, kind="upsert", key=["s"]),
        lambda: table.snapshot().min_max("s"),
    ]
    for number, call in enumerate(calls):
        with pytest.raises(dr.UnsupportedFeatureError) as caught:
            call()
        assert caught.value.code == "expression.collation", number
    assert table.snapshot().version == 1


def test_uses_without_comparisons_are_supported(tmp_path: Path) -> None:
    table = write(tmp_path, "spark.UTF8_LCASE")
    snapshot = table.snapshot()
    assert snapshot.scan(filter="s IS NOT NULL AND v > 0").count() == 2
    assert snapshot.scan(filter="length(s) = 1").count() == 3
    table.update("v = 2", {"s": "upper(s)"})
    table.append([{"v": 3, "s": "c"}])
    source = [{"v": 3, "s": "d"}]
    table.merge(source, "v").when_matched_update_all().execute()
    rows = table.snapshot().scan().to_arrow().to_pylist()
    assert sorted(row["s"] for row in rows) == ["A", "B", "a", "d"]
    assert "spark.UTF8_LCASE" in table.snapshot().schema_json


def test_the_binary_collation_is_compared(tmp_path: Path) -> None:
    snapshot = write(tmp_path, "spark.UTF8_BINARY").snapshot()
    assert snapshot.scan(filter="s = 'A'").count() == 1


def test_other_engines_compare_bytes(tmp_path: Path) -> None:
    """Conditions on collated columns are not pushed into the scan: the libraries evaluate them."""
    snapshot = write(tmp_path, "spark.UTF8_LCASE").snapshot()
    rows = snapshot.dataset().to_table(filter=(pds.field("s") == "A") & (pds.field("v") > 0))
    assert rows["v"].to_pylist() == [1]
    polars = pytest.importorskip("polars")
    lazy = snapshot.scan().to_polars_lazy().filter(polars.col("s") == "A")
    assert lazy.collect()["v"].to_list() == [1]
