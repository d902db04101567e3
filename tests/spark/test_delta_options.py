"""Options of the format ``delta`` without delta-spark's jar: rows to replace, files to skip.

``test_without_jar.py`` runs this file in sessions without the jar.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from spark.support.delta_tables import rows_of
from spark.test_delta_format import delta, message, path, without_jar

import deltareplay as dr
from deltareplay import spark as dr_spark

__all__ = ["delta", "path"]  # fixtures

pytestmark = pytest.mark.spark


@without_jar
def test_rows_replace_those_that_match_them(delta: Any, tmp_path: Path) -> None:
    """As with ``replaceUsing`` and ``replaceOn`` of delta-spark 4.4."""
    path = str(tmp_path / "t")
    rows = delta.sql("SELECT id, 'old' AS v FROM VALUES (1), (2), (3), (NULL) AS t(id)")
    rows.write.format("delta").mode("append").save(path)
    new = delta.sql("SELECT id, 'new' AS v FROM VALUES (2), (NULL), (4) AS t(id)")
    new.write.format("delta").mode("Overwrite").option("replaceUsing", "id").save(path)
    result = [(1, "old"), (2, "new"), (3, "old"), (4, "new"), (None, "new"), (None, "old")]
    assert rows_of(delta.read.format("delta").load(path)) == result
    newer = delta.sql("SELECT CAST(NULL AS INT) AS id, 'newer' AS v, 5 AS more").alias("s")
    newer.write.save(
        path,
        format="delta",
        mode="overwrite",
        REPLACEON="t.id <=> s.id",
        targetAlias="t",
        mergeSchema=True,
        userMetadata="why",
    )
    result = [(1, "old", None), (2, "new", None), (3, "old", None), (4, "new", None)]
    assert rows_of(delta.read.format("delta").load(path)) == [*result, (None, "newer", 5)]
    [commit] = dr.Table(path).history(1).to_pylist()
    assert dict(commit["operationParameters"])["replaceOnCond"] == "t.id <=> s.id"
    assert commit["userMetadata"] == "why"
    for options in (
        {"replaceUsing": "id", "replaceOn": "true"},
        {"replaceUsing": "id", "replaceWhere": "true"},
        {"replaceUsing": "id", "partitionOverwriteMode": "dynamic"},
        {"replaceUsing": "id", "overwriteSchema": "true"},
        {"replaceUsing": "id,"},
    ):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            new.write.format("delta").mode("overwrite").options(**options).save(path)
        assert caught.value.code == "option.write"
    with pytest.raises(dr.InvalidArgumentError) as caught:
        new.write.format("delta").mode("append").option("replaceUsing", "id").save(path)
    assert caught.value.code == "option.write"
    stream = delta.readStream.format("delta").load(path).writeStream.format("delta")
    stream = stream.option("replaceUsing", "id").option("checkpointLocation", str(tmp_path / "c"))
    assert "option.replace" in message(
        lambda: stream.trigger(availableNow=True).start(f"{path}_2").awaitTermination()
    )


@without_jar
def test_a_batch_cannot_exclude_files(delta: Any, path: str) -> None:
    read = delta.read.format("delta").option("excludeRegex", "x")
    assert "option.stream" in message(lambda: read.load(path).collect())


@without_jar
def test_a_stream_excludes_files_by_their_paths(delta: Any, tmp_path: Path) -> None:
    """As in delta-spark's test of ``DeltaSource``: at the start, in commits, after a restart.

    The paths are those of the log, in which spaces of partition values are encoded.
    """
    path, streamed = str(tmp_path / "t"), str(tmp_path / "streamed")

    def add(*ids: int) -> None:
        rows = delta.createDataFrame([(id_, f"p {id_ % 3}") for id_ in ids], "id INT, p STRING")
        dr_spark.write(rows, path, partition_columns=["p"])

    def run(**options: Any) -> list[int]:
        rows = delta.readStream.format("delta").options(**options).load(path)
        query = rows.writeStream.format("delta").trigger(availableNow=True)
        query = query.option("checkpointLocation", str(tmp_path / "checkpoint"))
        query.start(streamed).awaitTermination()
        return sorted(row.id for row in delta.read.format("delta").load(streamed).collect())

    add(0, 1, 2, 3)
    add(4, 5)
    assert run(excludeRegex="p=p(%20| )1/") == [0, 2, 3, 5]
    add(6, 7, 8)
    assert run(excludeRegex=r"p=p\S*0/") == [0, 2, 3, 5, 7, 8]
    add(9, 10)
    assert run() == [0, 2, 3, 5, 7, 8, 9, 10]
    for bad in ("[abc", r"\p{Lu}"):
        add(12)
        assert "option.regex" in message(lambda bad=bad: run(excludeRegex=bad))


@without_jar
def test_a_stream_of_changes_excludes_files(delta: Any, tmp_path: Path) -> None:
    """Files of a commit whose rows must be compared cannot be excluded."""
    path = str(tmp_path / "t")
    created = dr_spark.DeltaTable.create(delta).location(path).addColumn("id", "INT")
    created.addColumn("p", "INT").partitionedBy("p").execute()
    dr_spark.write(delta.sql("SELECT id, id % 2 AS p FROM VALUES (1), (2), (3) AS v(id)"), path)

    def changes(number: int, **options: Any) -> list[tuple[Any, ...]]:
        rows = delta.readStream.format("delta").option("readChangeFeed", True)
        rows = rows.options(startingVersion=0, **options).load(path)
        query = rows.select("id", "_change_type").writeStream.format("parquet")
        query = query.option("checkpointLocation", str(tmp_path / f"checkpoint{number}"))
        query = query.trigger(availableNow=True)
        query.start(str(tmp_path / f"changes{number}")).awaitTermination()
        return rows_of(delta.read.parquet(str(tmp_path / f"changes{number}")))

    assert changes(0, excludeRegex="p=1") == [(2, "insert")]
    before = "|".join(map(re.escape, dr.Table(path).snapshot().files()["path"].to_pylist()))
    dr_spark.update(delta, path, "id = 3", {"id": "30"})
    assert "option.regex" in message(lambda: changes(1, excludeRegex=before))
