"""``deltareplay.spark.read``, without Python, and the core read the same rows as delta-spark."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark.support import delta_spark_rows, rows_cases, stored
from spark.support.settings import conf
from spark.support.tiers import NIGHTLY
from spark.test_rows import check_core, lines, read_by_spark, versions
from support import logs

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark.scan import driver_classes, filters
from deltareplay.spark.session import capabilities

pytestmark = pytest.mark.spark
CASES = rows_cases.cases()


def arrow(frame: Any) -> pa.Table:
    """Convert a DataFrame to Arrow; PySpark fails on null variants, so they are passed as rows."""
    try:
        return frame.toArrow()
    except pa.ArrowInvalid:
        schema = frame.limit(0).toArrow().schema
    assert "variant" in frame.schema.simpleString()
    rows = [[with_bytes(value) for value in row] for row in frame.collect()]
    columns = zip(*rows, strict=True)
    result = pa.table(
        [
            pa.array(values, nullable(column.type))
            for values, column in zip(columns, schema, strict=True)
        ],
        names=schema.names,
    )
    # pyarrow fills values below a null struct; the suite compares them, and Parquet stores none
    file = pa.BufferOutputStream()
    pq.write_table(result, file)
    return pq.read_table(pa.BufferReader(file.getvalue()))


def nullable(type_: pa.DataType) -> pa.DataType:
    """Return the type with all fields nullable: below a null struct there is nothing."""
    if pa.types.is_struct(type_):
        return pa.struct([(item.name, nullable(item.type)) for item in type_])
    if pa.types.is_list(type_):
        return pa.list_(nullable(type_.value_type))
    if pa.types.is_map(type_):
        return pa.map_(nullable(type_.key_type), nullable(type_.item_type))
    return type_


def with_bytes(value: Any) -> Any:
    """Return a value with its variants as their two binaries, as pyarrow accepts it."""
    if type(value).__name__ == "VariantVal":
        return {"value": bytes(value.value), "metadata": bytes(value.metadata)}
    if hasattr(value, "asDict"):
        return {name: with_bytes(item) for name, item in value.asDict().items()}
    if isinstance(value, list):
        return [with_bytes(item) for item in value]
    if isinstance(value, dict):
        return [(with_bytes(key), with_bytes(item)) for key, item in value.items()]
    return value


def plan(frame: Any) -> str:
    """Return the executed plan in full."""
    text: str = frame._jdf.queryExecution().toString()
    return text


@pytest.mark.parametrize("rows", CASES, ids=str)
def test_reads_the_rows_of_the_conformance_suite(spark: Any, rows: rows_cases.Rows) -> None:
    def read(table: dr.Table, version: int) -> pa.Table:
        with conf(spark, spark__sql__readSideCharPadding="false"):  # as the suite was read
            return arrow(dr_spark.read(spark, table, version=version))

    assert rows_cases.check(rows.few(), read)


@pytest.mark.skipif(not CASES, reason="the conformance suite is not on this machine")
def test_the_suite_has_rows() -> None:
    assert len(CASES) > 180
    assert sum(len(rows.versions) for rows in CASES) > 500


@pytest.fixture(scope="module")
def read_by_delta_spark(
    request: pytest.FixtureRequest, spark: Any
) -> Callable[[Path, int], stored.Read]:
    """A function that returns what delta-spark reads of a version, stored if possible."""
    if NIGHTLY:
        return lambda path, version: stored.read(spark, path, version)
    directory = request.getfixturevalue("stored_tables")
    return lambda path, version: (
        stored.stored_read(directory, path.name, version) or stored.read(spark, path, version)
    )


@pytest.mark.parametrize("name", delta_spark_rows.ROWS)
def test_rows_and_types_are_those_of_delta_spark(
    spark: Any, tables: Any, read_by_delta_spark: Any, name: str
) -> None:
    path = tables(name)
    checked = 0
    for version in versions(path):
        with conf(spark, spark__sql__readSideCharPadding="false"):
            ours = dr_spark.read(spark, path, version=version)
            result = arrow(ours)
        theirs = read_by_delta_spark(path, version)
        assert ours.schema.json() == without_defaults(theirs.schema)
        assert lines(result) == theirs.lines
        checked += check_core(path, version, theirs)
    assert checked


def without_nullability(schema: Any) -> str:
    """Return a schema as JSON with everything nullable."""
    text: str = schema.json()
    return re.sub(r'("nullable"|"containsNull"|"valueContainsNull"):false', r"\1:true", text)


def without_defaults(schema: str) -> str:
    """Return a schema, as JSON, without the SQL of defaults.

    delta-spark leaves it in the metadata; here the SQL of one table does not reach another.
    """
    return re.sub(r'"CURRENT_DEFAULT":"[^"]*"', "", schema)


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Asia/Kathmandu"])
def test_session_time_zones(spark: Any, tables: Any, zone: str) -> None:
    for name in ("partition_values", "moments_int96"):
        path = tables(name)
        with conf(spark, spark__sql__session__timeZone=zone):
            theirs = spark.read.format("delta").load(str(path)).toArrow()
            ours = dr_spark.read(spark, path).toArrow()
            assert lines(ours) == lines(theirs)


@pytest.mark.skipif(not CASES, reason="the conformance suite is not on this machine")
@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Asia/Kathmandu"])
def test_timestamps_without_a_zone_are_in_the_session_zone(spark: Any, zone: str) -> None:
    for name in ("golden-kernel-timestamp-PST", "golden-kernel-timestamp-partition-col-ISO8601"):
        [rows] = [rows for rows in CASES if rows.case.name == name]
        path = f"{rows.case.directory}/table"
        with conf(spark, spark__sql__session__timeZone=zone):
            theirs = spark.read.format("delta").load(path)
            ours = dr_spark.read(spark, path)
            assert lines(ours.toArrow()) == lines(theirs.toArrow())
            # a filter on such a partition finds its rows, too
            [part] = dr.Table(path).snapshot().partition_columns
            timestamp = theirs.selectExpr(f"cast(max({part}) as string)").first()[0]
            kept = dr_spark.read(spark, path, filter=f"{part} >= '{timestamp}'")
            assert kept.count() == theirs.where(f"{part} >= '{timestamp}'").count() > 0


#: Filters on a table of a file for each day, each with the number of files that UTC opens.
ZONED = [
    ("at >= '2024-03-31'", 4),
    ("at >= TIMESTAMP '2024-03-31 02:30:00' AND state <> 'x'", 4),
    ("DATE '2024-04-01' > at", 5),
    ("at BETWEEN '2024-03-30' AND '2024-03-30 12:00:00'", 1),
    ("at = '2024-03-30 06:00:00Z'", 1),
    ("at IN (TIMESTAMP_NTZ '2024-03-30 06:00:00', TIMESTAMP '2024-04-01T06:00:00+00:00')", 2),
    ("state = 's3' AND at IS NOT NULL", 1),
    ("ntz < TIMESTAMP_NTZ '2024-03-29 00:00:00'", 2),
    ("day = '2024-04-02'", 1),
    ([("at", ">=", datetime.datetime(2024, 4, 2)), ("state", "!=", "at")], 2),
    ([("at", "<", datetime.datetime(2024, 3, 28, tzinfo=datetime.timezone.utc))], 1),
]


@pytest.fixture(scope="module")
def a_file_a_day(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight days from 2024-03-27 on, with Europe's clock change; rows at 06:00 and 18:00 UTC."""
    path = tmp_path_factory.mktemp("zoned") / "t"
    rows = spark.sql(
        """SELECT concat('s', id div 2) AS state, at, CAST(at AS TIMESTAMP_NTZ) AS ntz,
        CAST(at AS DATE) AS day FROM (SELECT id,
        TIMESTAMP '2024-03-27 06:00:00' + make_dt_interval(0, id * 12) AS at FROM range(16))"""
    )
    rows.repartitionByRange(8, "at").sortWithinPartitions("at").write.format("delta").save(
        str(path)
    )
    assert dr.Table(path).snapshot().num_files == 8
    return path


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata"])
def test_filters_skip_files_in_every_time_zone(spark: Any, a_file_a_day: Path, zone: str) -> None:
    in_utc, opened = [], []
    for filter, files in ZONED:
        result = dr_spark.read(spark, a_file_a_day, filter=filter)
        in_utc.append(len(result.inputFiles()))
        assert in_utc[-1] == files, filter
        with conf(spark, spark__sql__session__timeZone=zone):
            result = dr_spark.read(spark, a_file_a_day, filter=filter)
            rows = dr_spark.read(spark, a_file_a_day).where(filters.condition(filter))
            assert result.toArrow() == rows.toArrow(), filter
            assert result.count() > 0
            touched = {row.f for row in rows.selectExpr("_metadata.file_path AS f").collect()}
            # opened files have such rows, or inconclusive bounds
            opened.append(len(result.inputFiles()))
            assert len(touched) <= opened[-1] <= len(touched) + 1, filter
    assert sum(opened) <= sum(in_utc) + len(ZONED)


def test_conditions_that_depend_on_the_zone_do_not_skip_files(
    spark: Any, a_file_a_day: Path
) -> None:
    with conf(spark, spark__sql__session__timeZone="Asia/Kolkata"):
        for text in ("hour(at) = 11", "CAST(at AS DATE) = '2024-03-30'", "ntz = at", "day = at"):
            result = dr_spark.read(spark, a_file_a_day, filter=text)
            assert len(result.inputFiles()) == 8
            assert result.toArrow() == dr_spark.read(spark, a_file_a_day).where(text).toArrow()


@pytest.mark.parametrize(
    "filter",
    ["at LIKE '2025-12-31%'", "hour(text) = 16", "text = TIMESTAMP '2026-01-01T00:00:00Z'"],
)
def test_partitions_are_not_skipped_by_their_text_in_utc(
    spark: Any, tmp_path: Path, filter: str
) -> None:
    times = [datetime.datetime(2026, month, 1, tzinfo=datetime.timezone.utc) for month in (1, 6)]
    texts = ["2026-01-01T00:00:00Z", "2026-06-01 00:00:00"]
    rows = pa.table({"id": [1, 2], "at": pa.array(times, pa.timestamp("us", "UTC")), "text": texts})
    dr.write(tmp_path, rows, partition_columns=["at", "text"])
    with conf(spark, spark__sql__session__timeZone="America/Los_Angeles"):
        theirs = spark.read.format("delta").load(str(tmp_path)).where(filter)
        [row] = dr_spark.read(spark, tmp_path, filter=filter).collect()
        assert [row] == theirs.collect()
        assert row.id == 1


def test_plans_have_no_python_and_push_filters(spark: Any, tables: Any) -> None:
    path = tables("changed_with_vectors")
    snapshot = dr.Table(path).snapshot(version=3)
    frame = dr_spark.read(spark, snapshot, filter="p = 1 and id > 3000", with_row_index=True)
    text = plan(frame)
    assert "Python" not in text
    assert text.count("FileScan parquet") == 1 + ("Union" in text)
    assert re.search(r"PartitionFilters: \[[^]]*p#\d+ = 1", text)
    assert re.search(r"PushedFilters: \[[^]]*GreaterThan\(id,3000\)", text)
    listed = snapshot.scan(filter="p = 1 and id > 3000").files(["path"])
    assert len(frame.inputFiles()) == listed.num_rows < snapshot.num_files


def test_reads_by_paths_if_internals_of_spark_differ(
    spark: Any, tables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = lines(dr_spark.read(spark, tables("plain")).toArrow())
    monkeypatch.setattr(driver_classes, "compiled", lambda spark, name: spark._jvm.no.such.Index)
    with pytest.warns(dr.DeltaReplayWarning, match="look up each path"):
        result = dr_spark.read(spark, tables("plain"))
    assert lines(result.toArrow()) == expected


def test_a_newer_spark_is_reported() -> None:
    class Session:
        version = "4.99.0"

        def createDataFrame(self) -> None: ...

    with pytest.warns(dr.DeltaReplayWarning, match=r"was tested with 3\.5 to 4\.3"):
        capabilities.check(Session())


def test_files_without_vectors_have_no_join(spark: Any, tables: Any) -> None:
    path = tables("changed_with_vectors")
    vectors = dr.Table(path).snapshot(version=2).files()["deletionVector"]
    assert 0 < vectors.null_count < len(vectors)
    both = plan(dr_spark.read(spark, path, version=2))
    assert "Union" in both
    assert "LeftAnti" in both
    assert both.count("FileScan") == 2
    assert "getbit" in both
    none = plan(dr_spark.read(spark, path, version=1))
    assert "Join" not in none
    assert "Union" not in none
    assert "row_index" not in none


def test_filters_on_the_frame_reach_the_scan(spark: Any, tables: Any) -> None:
    frame = dr_spark.read(spark, tables("changed_with_vectors"), version=3)
    text = plan(frame.where("p = 0 and s = 'x'").select("id"))
    assert len(re.findall(r"PartitionFilters: \[[^]]*p#\d+ = 0", text)) >= 1
    assert "EqualTo(s,x)" in text
    assert re.search(r"ReadSchema: struct<id:bigint,s:string", text)
    kept = frame.where("p = 0 and s = 'x'").count()
    assert kept == sum(row.p == 0 and row.s == "x" for row in frame.collect())


FILTERS: list[Any] = [
    "id > 3000",
    "id > 3000 and s is not null",
    "s like 'x%' or p = 0",
    "not (id between 10 and 3990)",
    "s in ('m', 'xx!') ",
    "id % 10 = 3 and p = 1",
    "length(s) * id > 5000 or s is null",
    "id <> 0 and 10000 / id > p * 3 and not upper(s) = 'X'",
    "case when p = 0 then id > 3000 else substring(s, 1, 1) in ('x', 'm') end",
    "cast(id as timestamp) >= '1970-01-01 00:50:00'",
    "cast(cast(id / 8 as timestamp) as bigint) % 7 = 3",
    "cast(cast(id / 8 as timestamp) as double) * 8 = id and id < 50",
    "coalesce(s, 'x') like 'x%' and cast(id as string) >= '3'",
    [("id", ">", 3000)],
    [("id", "<=", 3000), ("s", "!=", "x")],
    [[("p", "=", 0), ("id", "<", 100)], [("s", "in", ["m", None])]],
    [("s", "not in", ["", "x"]), ("p", "not in", [1])],
    [("s", "=", None)],
    [("s", "is not", None), ("id", ">=", 10), ("id", "<", 20)],
    [("s", "not in", [])],
    [("s", "not in", ["x", None])],
    [("s", "=", dr.lit("x")), ("id", "in", dr.lit([13, 23, 40]))],
    [("s", "in", [dr.lit("m"), numpy.str_("x")]), ("id", "<", numpy.int64(100))],
]


@pytest.mark.parametrize("filter", FILTERS, ids=str)
def test_filters_keep_the_same_rows_as_the_scan(spark: Any, tables: Any, filter: Any) -> None:
    snapshot = dr.Table(tables("changed_with_vectors")).snapshot()
    ours = dr_spark.read(spark, snapshot, filter=filter).toArrow()
    assert lines(ours) == lines(snapshot.scan(filter=filter).to_arrow())


def test_columns_are_chosen_and_ordered(spark: Any, tables: Any) -> None:
    path = tables("changed_with_vectors")
    frame = dr_spark.read(spark, path, columns=["S", "id"], filter="p = 1", with_file_path=True)
    assert frame.columns == ["s", "id", "_file_path"]
    scan = dr.Table(path).snapshot().scan(["s", "id"], "p = 1", with_file_path=True)
    assert lines(frame.toArrow()) == lines(scan.to_arrow())


@pytest.mark.parametrize("name", ["row_tracking", "tracked", "tracked_later"])
def test_row_ids(spark: Any, tables: Any, name: str) -> None:
    path = tables(name)
    checked = 0
    for version in versions(path):
        snapshot = dr.Table(path).snapshot(version=version)
        if snapshot.properties.get("delta.enableRowTracking") != "true":
            continue
        theirs = read_by_spark(
            spark, path, version, "_metadata.row_id", "_metadata.row_commit_version"
        )
        ours = dr_spark.read(spark, snapshot, with_row_id=True).toArrow()
        for rows in (ours, snapshot.scan(with_row_id=True).to_arrow()):
            assert rows.schema.names[-2:] == ["_row_id", "_row_commit_version"]
            assert rows["_row_id"].null_count == 0
            assert lines(rows) == lines(theirs), f"version {version} of {path}"
        checked += ours.num_rows
    assert checked


def test_all_the_extra_columns_are_those_of_the_scan(spark: Any, tables: Any) -> None:
    snapshot = dr.Table(tables("tracked")).snapshot()
    extra = {"with_row_id": True, "with_file_path": True, "with_row_index": True}
    ours = dr_spark.read(spark, snapshot, **extra).toArrow()
    theirs = snapshot.scan(**extra).to_arrow()
    assert ours.schema.names == theirs.schema.names
    assert lines(ours) == lines(theirs)


def test_reads_by_paths_as_on_connect(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths go through the public API, and constants of files through a join."""
    monkeypatch.setattr("deltareplay.spark.scan.relation.is_classic", lambda _: False)
    path = tmp_path / "a b%20ä=[1]+"
    values = ["a b", "a%20b", "x=1", "ä/ö", "[1]", "{a,b}", "c:d", "1+1", "*?", "'#\"", "~^`|"]
    frame = spark.createDataFrame(
        [(value, n) for n in range(3) for value in values], "p string, id int"
    )
    frame.coalesce(1).write.format("delta").partitionBy("p").option(
        "delta.enableDeletionVectors", "true"
    ).save(str(path))
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = length(p) % 3 AND p <> '1+1'")
    snapshot = dr.Table(path).snapshot()
    ours = dr_spark.read(spark, snapshot, with_file_path=True, with_row_index=True)
    scan = snapshot.scan(with_file_path=True, with_row_index=True)
    assert lines(ours.toArrow()) == lines(scan.to_arrow())
    monkeypatch.setattr("deltareplay.spark.scan.by_paths.as_metadata_path", lambda path: path + "?")
    with pytest.raises(Exception, match="does not recognise the file"):
        dr_spark.read(spark, snapshot).collect()


def test_positions_and_paths(spark: Any, tables: Any) -> None:
    snapshot = dr.Table(tables("changed_with_vectors")).snapshot(version=3)
    ours = dr_spark.read(spark, snapshot, with_file_path=True, with_row_index=True).toArrow()
    scan = snapshot.scan(with_file_path=True, with_row_index=True)
    assert lines(ours) == lines(scan.to_arrow())


def test_unusual_names(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "a b%20ä=[1]{x}*?"
    table = f"delta.`{path}`"
    spark.sql(
        f"CREATE TABLE {table} (id LONG, p STRING) USING delta PARTITIONED BY (p) "
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    values = ["a b", "a%20b", "x=1", "ä/ö", "[1]", "{a,b}", "c:d", "_x", ".y", "*"]
    listed = ", ".join(f"'{value}'" for value in values)
    spark.sql(f"INSERT INTO {table} SELECT id, explode(array({listed})) FROM range(0, 9, 1, 1)")
    spark.sql(f"DELETE FROM {table} WHERE id = length(p)")
    ours = dr_spark.read(spark, path).toArrow()
    assert ours.num_rows == 8 * len(values)
    assert dr.Table(path).snapshot().files()["deletionVector"].null_count == 0
    assert lines(ours) == lines(spark.read.format("delta").load(str(path)).toArrow())


def test_hidden_file_names_are_read(spark: Any, tmp_path: Path) -> None:
    spark.range(5).coalesce(1).write.format("delta").save(str(tmp_path / "t"))
    log = tmp_path / "t" / "_delta_log" / "00000000000000000000.json"
    [data] = (tmp_path / "t").glob("*.parquet")
    data.rename(data.with_name("_hidden.parquet"))
    log.write_text(log.read_text().replace(data.name, "_hidden.parquet"))
    assert dr_spark.read(spark, tmp_path / "t").count() == 5


def test_reads_a_version_without_files(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    spark.range(5).coalesce(1).write.format("delta").save(str(path))
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableDeletionVectors'=true)")
    spark.sql(f"DELETE FROM delta.`{path}`")
    assert dr_spark.read(spark, path).collect() == []
    assert dr_spark.read(spark, path, version=0).count() == 5


def test_rejects_a_version_for_a_snapshot(spark: Any, tables: Any) -> None:
    snapshot = dr.Table(tables("plain")).snapshot(version=1)
    assert dr_spark.read(spark, snapshot).count() == snapshot.scan().count()
    with pytest.raises(dr.InvalidArgumentError, match="already has a version") as caught:
        dr_spark.read(spark, snapshot, version=0)
    assert caught.value.code == "argument.version"


def test_a_damaged_vector_names_file_and_version(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "t"
    spark.range(50).coalesce(1).write.format("delta").option(
        "delta.enableDeletionVectors", "true"
    ).save(str(path))
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id % 2 = 0")
    [vector] = path.glob("deletion_vector_*.bin")
    vector.write_bytes(vector.read_bytes()[:-3] + b"\0\0\0")
    with pytest.raises(dr.CorruptTableError) as caught:
        dr_spark.read(spark, path)
    assert caught.value.version == 1
    assert caught.value.path == vector.name
    assert caught.value.code.startswith("dv.")


def test_columns_are_found_by_id_in_any_session(spark: Any, tables: Any) -> None:
    path = tables("nested_by_id")
    with conf(spark, spark__sql__parquet__fieldId__read__enabled="false"):
        ours = dr_spark.read(spark, path, version=1).toArrow()
        assert spark.conf.get("spark.sql.parquet.fieldId.read.enabled") == "false"
    assert lines(ours) == lines(dr.Table(path).snapshot(version=1).scan().to_arrow())


def test_a_column_may_be_named_metadata(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    frame = spark.range(100).selectExpr("id", "named_struct('row_index', -id) AS _metadata")
    frame.coalesce(1).write.format("delta").save(path)  # delta-spark's DELETE fails on the name
    ours = dr_spark.read(spark, path, with_row_index=True).toArrow()
    scan = dr.Table(path).snapshot().scan(with_row_index=True)
    assert lines(ours) == lines(scan.to_arrow())
    assert sorted(ours["_row_index"].to_pylist()) == list(range(100))


def test_bad_arguments(spark: Any, tables: Any) -> None:
    path = tables("plain")
    with pytest.raises(dr.InvalidArgumentError, match="SparkSession"):
        dr_spark.read(path, spark)
    with pytest.raises(dr.InvalidArgumentError, match="no_such"):
        dr_spark.read(spark, path, columns=["no_such"])
    with pytest.raises(dr.InvalidArgumentError, match="no_such"):
        dr_spark.read(spark, path, filter="no_such = 1")
    with (
        conf(spark, spark__sql__session__timeZone="Asia/Tokyo"),
        pytest.raises(dr.InvalidArgumentError, match="no_such"),
    ):
        dr_spark.read(spark, path, filter="no_such = timestamp'2024-01-01'")


def test_vectors_too_large_to_broadcast(
    spark: Any, tables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deltareplay.spark.scan.deletion_vectors._MAX_BYTES", 100)
    with pytest.raises(dr.UnsupportedFeatureError, match="OPTIMIZE") as caught:
        dr_spark.read(spark, tables("changed_with_vectors"), version=3)
    assert caught.value.code == "spark.vectors"


@pytest.mark.parametrize("bits", [6, 9, 16])
def test_chunks_of_any_size(
    spark: Any, tables: Any, monkeypatch: pytest.MonkeyPatch, bits: int
) -> None:
    monkeypatch.setattr("deltareplay.spark.scan.deletion_vectors._CHUNKS", (bits,))
    snapshot = dr.Table(tables("changed_with_vectors")).snapshot(version=3)
    assert lines(dr_spark.read(spark, snapshot).toArrow()) == lines(snapshot.scan().to_arrow())


def test_imports_without_pyspark() -> None:
    code = (
        "import sys; sys.modules['pyspark'] = None; import deltareplay; "
        "assert 'deltareplay.spark' not in sys.modules; import deltareplay.spark"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_slow_run_reads_all_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain run skips versions, the slow one none."""
    monkeypatch.delenv("DELTAREPLAY_SLOW", raising=False)
    assert all([*rows.few().versions] == [max(rows.versions)] for rows in CASES)
    monkeypatch.setenv("DELTAREPLAY_SLOW", "1")
    assert all(rows.few() == rows for rows in CASES)


def test_columns_that_are_not_null(spark: Any, tmp_path: Path) -> None:
    """As in delta-spark 4.4: by ``read``, ``toDF`` and ``sql``, with and without vectors."""
    name = f"delta.`{tmp_path / 't'}`"
    spark.sql(
        f"CREATE TABLE {name} (k INT NOT NULL COMMENT 'key', s STRUCT<a: INT NOT NULL, b: "
        "ARRAY<INT>>, p VARCHAR(5) NOT NULL COMMENT 'part') USING delta PARTITIONED BY (p) "
        "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    )
    values = "(1, struct(1, array(1)), 'x'), (2, struct(2, NULL), 'y'), (3, struct(3, NULL), 'y')"
    spark.sql(f"INSERT INTO {name} VALUES {values}")
    for condition in ("k = 0", "k = 3"):
        spark.sql(f"DELETE FROM {name} WHERE {condition}")
        theirs = spark.read.format("delta").load(str(tmp_path / "t"))
        for ours in (
            dr_spark.read(spark, tmp_path / "t"),
            dr_spark.DeltaTable.forPath(spark, str(tmp_path / "t")).toDF(),
            dr_spark.sql(spark, f"SELECT * FROM {name}"),
        ):
            assert ours.schema == theirs.schema
            assert not ours.schema["k"].nullable
            assert sorted(ours.collect()) == sorted(theirs.collect())
            assert ours.where("k = 2 AND p = 'y'").count() == 1


def test_nulls_in_a_required_partition_column_are_read(spark: Any, tmp_path: Path) -> None:
    """Writers before Delta 4 stored an empty string as null, in columns that are NOT NULL, too."""
    path = tmp_path / "t"
    spark.sql(f"CREATE TABLE delta.`{path}` (k INT, p STRING) USING delta PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO delta.`{path}` VALUES (1, NULL), (2, 'x')")
    with logs.edited_commit(path, 0) as actions:
        [metadata] = [action["metaData"] for action in actions if "metaData" in action]
        schema = json.loads(metadata["schemaString"])
        schema["fields"][1]["nullable"] = False
        metadata["schemaString"] = json.dumps(schema)
    read = dr_spark.read(spark, path)
    assert read.where("p IS NULL").count() == 1
