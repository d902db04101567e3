"""A statement looks each table up once, and tokenizes its text once: counted by spies."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deltareplay import spark as dr_spark
from deltareplay.spark.syntax import tokens

pytestmark = pytest.mark.spark

#: A value that distinguishes the texts of a statement from those of Spark and the log.
MARK = "'mark 7'"

#: Statements, and the number of their tables.
STATEMENTS = [
    (f"SELECT * FROM t a JOIN t b ON a.id = b.id WHERE a.s <> {MARK}", 1),
    (f"SELECT * FROM t VERSION AS OF 0 UNION ALL SELECT * FROM t WHERE s = {MARK}", 1),
    (f"DELETE FROM t WHERE s = {MARK} AND id IN (SELECT max(id) FROM t)", 1),
    (f"UPDATE t SET s = {MARK} WHERE id = 1", 1),
    (
        f"MERGE INTO t USING (SELECT * FROM t) s ON t.id = s.id AND s.s <> {MARK} "
        "WHEN MATCHED THEN UPDATE SET t.s = s.s WHEN NOT MATCHED THEN INSERT *",
        1,
    ),
    (f"INSERT INTO t VALUES (7, {MARK}, 1)", 1),
    (f"INSERT INTO t (id, s, p) SELECT id + 1, {MARK}, p FROM t", 1),
    (f"INSERT INTO t REPLACE WHERE s = {MARK} SELECT 8, {MARK}, 1", 1),
    (f"WITH q AS (SELECT 9 id, {MARK} s, 1 p) INSERT INTO t SELECT * FROM q", 1),
    ("TRUNCATE TABLE t", 1),
    ("OPTIMIZE t WHERE p = 1", 1),
    ("REORG TABLE t APPLY (PURGE)", 1),
    ("VACUUM t DRY RUN", 1),
    ("DESCRIBE HISTORY t", 1),
    ("DESCRIBE DETAIL t", 1),
    ("DESCRIBE TABLE EXTENDED t", 1),
    ("SHOW TBLPROPERTIES t", 1),
    ("SHOW COLUMNS IN t", 1),
    ("SHOW PARTITIONS t", 1),
    ("RESTORE TABLE t TO VERSION AS OF 0", 1),
    (f"COMMENT ON TABLE t IS {MARK}", 1),
    ("ALTER TABLE t SET TBLPROPERTIES ('a' = 'b')", 1),
    (f"ALTER TABLE t ADD CONSTRAINT c CHECK (s <> {MARK})", 1),
    ("GENERATE symlink_format_manifest FOR TABLE t", 1),
    ("CACHE TABLE t", 1),
    ("REFRESH TABLE t", 1),
    ("UNCACHE TABLE t", 1),
    (f"CREATE OR REPLACE TEMPORARY VIEW v AS SELECT * FROM t WHERE s <> {MARK}", 1),
    (f"CREATE OR REPLACE TABLE t USING delta AS SELECT id, s, p FROM t WHERE s <> {MARK}", 1),
    ("CREATE OR REPLACE TABLE t SHALLOW CLONE u", 2),
    (f"CREATE TABLE IF NOT EXISTS t (id INT) USING delta COMMENT {MARK}", 1),
    ("DROP TABLE t", 1),
]


@pytest.fixture
def names(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Two tables of the catalog, in a session where ``sql`` runs every statement."""
    monkeypatch.setattr("deltareplay.spark.session.capabilities.has_delta", lambda _: False)
    tables = {"t": "looked_up", "u": "looked_up_too"}
    for name in tables.values():
        path = tmp_path / name
        rows = spark.createDataFrame([(1, "a", 1), (2, "b", 2)], "id INT, s STRING, p INT")
        dr_spark.write(rows, path, partition_by=["p"])
        spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{path}'")
    yield tables
    for name in tables.values():
        spark.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.mark.parametrize(("text", "count"), STATEMENTS, ids=[text for text, _ in STATEMENTS])
def test_each_name_is_looked_up_once(
    spark: Any,
    names: dict[str, str],
    text: str,
    count: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for short, name in names.items():
        text = re.sub(rf"\b{short}\b", name, text)
    lookups: Counter[str] = Counter()
    scans: list[str] = []
    run, scan = type(spark).sql, tokens._tokenize

    def sql(self: Any, query: str, *args: Any, **kwargs: Any) -> Any:
        lookups[query] += query.startswith("SHOW TABLE EXTENDED")
        return run(self, query, *args, **kwargs)

    def scanned(query: str) -> list[tokens.Token]:
        scans.append(query)
        return scan(query)

    monkeypatch.setattr(type(spark), "sql", sql)
    monkeypatch.setattr(tokens, "_tokenize", scanned)
    dr_spark.sql(spark, text)
    assert (+lookups).total() == len(+lookups) == count
    assert sum(MARK in query for query in scans) <= 1
    assert scans[0] == text
