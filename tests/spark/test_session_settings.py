"""Settings of delta-spark and Spark: applied as by delta-spark 4.4, or refused by name."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from spark.support.comparison import compare, compare_statements, create_table
from spark.support.settings import conf
from spark.support.statements import run_statement
from spark.support.tiers import NIGHTLY, pairs

import deltareplay as dr
from deltareplay import spark as dr_spark
from deltareplay.spark import DeltaTable
from deltareplay.spark.session import capabilities

pytestmark = pytest.mark.spark

DEFAULTS = "spark.databricks.delta.properties.defaults."


#: Settings without their prefix.
DEFAULT_PROPERTIES = [
    {"appendOnly": "true", "logRetentionDuration": "interval 60 days"},
    {"enableDeletionVectors": "true", "enableTypeWidening": "true"},
    {"feature.allowColumnDefaults": "supported"},
    {"minReaderVersion": "3", "minWriterVersion": "7"},
    {"minWriterVersion": "5", "ignoreProtocolDefaults": "true", "appendOnly": "true"},
    {"nobodyKnowsThis": "true", "appendonly": "true"},
    {"autoOptimize.optimizeWrite": "true", "dataSkippingNumIndexedCols": "5"},
]


def _write(spark: Any, path: Path) -> None:
    dr_spark.write(spark.range(3), path)


def _format(spark: Any, path: Path) -> None:
    dr_spark.register(spark)
    spark.range(3).write.format("deltareplay").mode("append").save(str(path))


def _theirs(spark: Any, path: Path) -> None:
    spark.range(3).write.format("delta").save(str(path))


@pytest.mark.slow
@pytest.mark.parametrize(("values", "ours"), pairs(DEFAULT_PROPERTIES, [_write, _format]))
def test_default_properties(spark: Any, tmp_path: Path, values: dict[str, str], ours: Any) -> None:
    with conf(spark, **{DEFAULTS + name: value for name, value in values.items()}):
        compare(
            spark,
            tmp_path,
            None,
            lambda path: _theirs(spark, path),
            lambda path: ours(spark, path),
        )
    protocol, expected = (
        dr.Table(tmp_path / name).snapshot().protocol for name in ("ours", "theirs")
    )
    assert protocol.min_reader_version == expected.min_reader_version
    assert protocol.min_writer_version == expected.min_writer_version
    assert set(protocol.writer_features or ()) == set(expected.writer_features or ())


#: Statements about ``{t}``.
CREATED = [
    "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('delta.APPENDONLY' = 'false')",
    "CREATE TABLE {t} (id INT) USING delta",
    "CREATE OR REPLACE TABLE {t} (id INT) USING delta",
    "CREATE OR REPLACE TABLE {t} USING delta AS SELECT 1 AS id",
    "CREATE TABLE {t} USING delta AS SELECT 1 AS id",
]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "exists"), pairs(CREATED, [False, True]))
def test_default_properties_in_sql(spark: Any, tmp_path: Path, text: str, exists: bool) -> None:
    if exists and "REPLACE" in text and "AS" not in text:
        pytest.skip("delta-spark does not replace the columns of a table by its path")
    base = create_table(spark, tmp_path / "base", *CREATED[1:2]) if exists else None
    values = {"appendOnly": "true", "enableChangeDataFeed": "true"}
    with conf(spark, **{DEFAULTS + name: value for name, value in values.items()}):
        *_, properties = compare(
            spark,
            tmp_path,
            base,
            lambda path: spark.sql(text.format(t=f"delta.`{path}`")),
            lambda path: run_statement(spark, text.format(t=f"delta.`{path}`")),
            succeeds=not exists or "REPLACE" in text,
        )
    assert exists or properties["delta.enableChangeDataFeed"] == "true"


def test_default_properties_of_builders_and_existing_tables(spark: Any, tmp_path: Path) -> None:
    with conf(spark, **{DEFAULTS + "appendOnly": "true"}):
        built = DeltaTable.create(spark).location(str(tmp_path / "built")).addColumn("id", "bigint")
        built.property("delta.checkpointInterval", "7").execute()
        dr_spark.write(spark.range(1), tmp_path / "built")
        spark.range(3).write.parquet(str(tmp_path / "converted"))
        dr_spark.convert(spark, tmp_path / "converted")
    for name in ("built", "converted"):
        properties = dr.Table(tmp_path / name).snapshot().properties
        assert properties.get("delta.appendOnly") == "true"
    dr_spark.write(spark.range(1), tmp_path / "plain")
    with conf(spark, **{DEFAULTS + "appendOnly": "true"}):
        dr_spark.write(spark.range(2), tmp_path / "plain", mode="overwrite")
        dr_spark.clone(spark, tmp_path / "plain", tmp_path / "cloned")
    assert dr.Table(tmp_path / "plain").snapshot().properties == {}
    assert dr.Table(tmp_path / "cloned").snapshot().properties == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("appendOnly", "perhaps"),
        ("checkpointInterval", "0"),
        ("enableIcebergCompatV2", "true"),
        ("feature.nobodyKnowsThis", "supported"),
        ("feature.appendOnly", "true"),
    ],
)
def test_rejects_invalid_default_properties(
    spark: Any, tmp_path: Path, name: str, value: str
) -> None:
    with conf(spark, **{DEFAULTS + name: value}):
        for create in (
            lambda path: dr_spark.write(spark.range(1), path),
            lambda path: (
                DeltaTable.create(spark).location(str(path)).addColumn("id", "bigint").execute()
            ),
        ):
            with pytest.raises(dr.DeltaReplayError, match=DEFAULTS + name) as caught:
                create(tmp_path / "t")
            assert caught.value.code == "spark.setting"
        dr_spark.register(spark)
        writer = spark.range(1).write.format("deltareplay").mode("append")
        with pytest.raises(Exception, match=DEFAULTS + name):
            writer.save(str(tmp_path / "t"))
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("by_table", [False, True])
@pytest.mark.parametrize("by_session", [None, "true", "false"])
def test_optimized_writes(
    spark: Any, tmp_path: Path, by_session: str | None, by_table: bool
) -> None:
    """The session's setting counts, then the table's, as in delta-spark."""
    properties = {"delta.autoOptimize.optimizeWrite": "true"} if by_table else {}
    name = "spark.databricks.delta.optimizeWrite.enabled"
    with conf(spark, **({} if by_session is None else {name: by_session})):
        rows = spark.range(0, 1000, 1, 4)
        written = dr_spark.write(rows, tmp_path / "t", properties=properties)
        dr_spark.update(spark, tmp_path / "t", None, {"id": "id + 1"})
    is_on = by_table if by_session is None else by_session == "true"
    assert (written.metrics["numFiles"] < 4) == is_on
    assert dr.Table(tmp_path / "t").snapshot().min_max("id") == (1, 1000)


@pytest.mark.parametrize("repartitions", [None, "false"])
@pytest.mark.parametrize("join", ["broadcast", "merge"])
def test_merges_write_few_files_for_each_partition(
    spark: Any, tmp_path: Path, join: str, repartitions: str | None
) -> None:
    """By default, one file of rows and one of changes for each partition, as in delta-spark."""
    path, rows = tmp_path / "t", spark.range(0, 600, 1, 1).selectExpr("id", "id % 3 AS p")
    properties = {"delta.enableChangeDataFeed": "true"}
    dr_spark.write(rows, path, partition_columns=["p"], properties=properties)
    source = spark.range(300, 900, 1, 4).selectExpr("id", "id % 3 AS p").hint(join)
    name = "spark__databricks__delta__merge__repartitionBeforeWrite__enabled"
    values = {} if repartitions is None else {name: repartitions}
    with conf(spark, spark__sql__adaptive__enabled="false", **values):
        merge = DeltaTable.forPath(spark, str(path)).alias("t")
        merge = merge.merge(source.alias("s"), "t.id = s.id")
        merge = merge.whenMatchedUpdate("t.id % 2 = 0", {"id": "s.id + 1000"})
        merge.whenNotMatchedInsertAll().execute()
    metrics = dict(dr.Table(path).history(limit=1).to_pylist()[0]["operationMetrics"])
    # a shuffle has two tasks, the source four; another task copies rows
    tasks = 2 if join == "merge" else 4
    files = (3, 3) if repartitions is None else (3 * (tasks + 1), 3 * tasks)
    written = (metrics["numTargetFilesAdded"], metrics["numTargetChangeFilesAdded"])
    assert tuple(map(int, written)) == files
    snapshot = dr.Table(path).snapshot()
    assert (snapshot.num_rows, snapshot.min_max("id")) == (900, (0, 1598))


def test_user_metadata_of_commits(spark: Any, tmp_path: Path) -> None:
    path, name = tmp_path / "t", "spark.databricks.delta.commitInfo.userMetadata"
    dr_spark.write(spark.range(5), path)
    target = f"delta.`{path}`"
    with conf(spark, **{name: "tonight"}):
        dr_spark.write(spark.range(5, 9), path)
        dr_spark.sql(spark, f"INSERT INTO {target} VALUES (10)")
        dr_spark.delete(spark, path, "id = 1")
        dr_spark.update(spark, path, "id = 2", {"id": "3"})
        merge = DeltaTable.forPath(spark, str(path)).alias("t")
        merge = merge.merge(spark.range(90, 91).alias("s"), "t.id = s.id")
        merge.whenNotMatchedInsertAll().execute()
        dr_spark.sql(spark, f"OPTIMIZE {target}")
        create = f"CREATE OR REPLACE TABLE {target} USING delta AS SELECT 1 AS id"
        run_statement(spark, create)
        dr_spark.write(spark.range(5, 9).selectExpr("CAST(id AS INT)"), path, user_metadata="own")
    texts = [row["userMetadata"] for row in dr.Table(path).history().to_pylist()]
    assert texts == ["own", *["tonight"] * 7, None]


POLICY = "spark.sql.storeAssignmentPolicy"


@pytest.mark.parametrize("policy", ["LEGACY", "STRICT"])
def test_other_policies_of_assignment(spark: Any, tmp_path: Path, policy: str) -> None:
    """LEGACY truncates values that do not fit: it is refused if a value is cast at all."""
    path = tmp_path / "t"
    dr_spark.write(spark.sql("SELECT 1 AS id, CAST(1 AS SMALLINT) AS k"), path)
    with conf(spark, **{POLICY: policy}):
        dr_spark.sql(spark, f"INSERT INTO delta.`{path}` SELECT 2S, 2S")
        for act in (
            lambda: dr_spark.sql(spark, f"INSERT INTO delta.`{path}` VALUES (3, 70000)"),
            lambda: dr_spark.sql(spark, f"INSERT INTO delta.`{path}` VALUES ('3', 7S)"),
            lambda: dr_spark.update(spark, path, "id = 1", {"k": "70000"}),
        ):
            with pytest.raises(dr.InvalidArgumentError, match=f"{POLICY} is {policy}") as caught:
                act()
            assert caught.value.code == "spark.setting"
    assert dr.Table(path).snapshot().version == 1


def test_strict_accepts_the_same_as_delta_spark(spark: Any, tmp_path: Path) -> None:
    """A column for each type and value; the other columns are null."""
    stored = [
        ("DOUBLE", "5"),
        ("STRING", "5"),
        ("DECIMAL(10,0)", "5"),
        ("DECIMAL(9,0)", "5"),
        ("TIMESTAMP", "DATE'2026-01-31'"),
        ("INT", "5L"),
        ("INT", "'5'"),
        ("DECIMAL(4,1)", "CAST(5 AS DECIMAL(4,2))"),
    ]
    columns = ", ".join(f"c{at} {type_}" for at, (type_, _) in enumerate(stored))
    base = create_table(
        spark,
        tmp_path / "base",
        f"CREATE TABLE {{t}} ({columns}) USING delta",
        "INSERT INTO {t} (c0) VALUES (1D)",
    )
    nulls = [f"CAST(NULL AS {type_})" for type_, _ in stored]
    texts = [
        f"INSERT INTO {{t}} SELECT {', '.join([*nulls[:at], value, *nulls[at + 1 :]])}"
        for at, (_, value) in enumerate(stored)
    ]
    with conf(spark, **{POLICY: "STRICT"}):
        compare_statements(spark, tmp_path, base, texts, changes=None)
    assert 3 < dr.Table(tmp_path / "ours").snapshot().version < len(stored)


DYNAMIC = {"spark.sql.sources.partitionOverwriteMode": "dynamic"}


def _overwrite_by_format(spark: Any, rows: Any, path: Path, options: dict[str, str]) -> None:
    dr_spark.register(spark)
    rows.write.format("deltareplay").mode("overwrite").options(**options).save(str(path))


def _overwrite_by_delta(rows: Any, path: Path, options: dict[str, str]) -> None:
    writer = rows.write.format("delta").mode("overwrite")
    if "partitionBy" in options:
        writer = writer.partitionBy(options["partitionBy"])
    rest = {name: value for name, value in options.items() if name != "partitionBy"}
    writer.options(**rest).save(str(path))


def _overwrite(spark: Any, rows: Any, path: Path, options: dict[str, str]) -> None:
    dr_spark.write(
        rows,
        path,
        mode="overwrite",
        where=options.get("replaceWhere"),
        partition_overwrite=options.get("partitionOverwriteMode"),  # type: ignore[arg-type]
        schema_mode="overwrite" if "overwriteSchema" in options else None,
        partition_columns=[options["partitionBy"]] if "partitionBy" in options else None,
    )


@pytest.fixture(scope="module")
def three_rows(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A table of three rows, without partitions and with them."""
    return {
        by: create_table(
            spark,
            tmp_path_factory.mktemp("three") / "t",
            f"CREATE TABLE {{t}} (id BIGINT, k BIGINT) USING delta {by}",
            "INSERT INTO {t} VALUES (1, 1), (2, 2), (3, 3)",
        )
        for by in ("", "PARTITIONED BY (k)")
    }


#: Whether the table is partitioned, and the call that overwrites it.
WAYS: dict[str, tuple[bool, Any]] = {
    "partitioned, by the format": (True, _overwrite_by_format),
    "by the function": (False, _overwrite),
    "partitioned, by the function": (True, _overwrite),
    "by the format": (False, _overwrite_by_format),
}
OVERWRITES: list[dict[str, str]] = [
    {},
    {"overwriteSchema": "true"},
    {"replaceWhere": "k = 1"},
    {"partitionOverwriteMode": "static"},
    {"overwriteSchema": "true", "partitionBy": "k"},
    {"overwriteSchema": "true", "partitionBy": "k", "partitionOverwriteMode": "static"},
]


@pytest.mark.parametrize(
    ("options", "way"),
    [*pairs(OVERWRITES, list(WAYS)), *([] if NIGHTLY else [({}, "partitioned, by the function")])],
)
def test_dynamic_partition_overwrites(
    spark: Any, tmp_path: Path, three_rows: dict[str, Path], options: dict[str, str], way: str
) -> None:
    """The session's setting applies if the write does not have the option."""
    partitioned, ours = WAYS[way]
    base = three_rows["PARTITIONED BY (k)" if partitioned else ""]
    rows = spark.sql("SELECT 9L AS id, 1L AS k")
    if options == {"overwriteSchema": "true"} and partitioned and ours is _overwrite:
        options = {**options, "partitionBy": "k"}  # kept otherwise, as docs/spark.md says
    with conf(spark, **DYNAMIC):
        _, left, *_ = compare(
            spark,
            tmp_path,
            base,
            lambda path: _overwrite_by_delta(rows, path, options),
            lambda path: ours(spark, rows, path, options),
            # new partition columns replace all rows, which has to be said
            succeeds="partitionBy" not in options or "partitionOverwriteMode" in options,
        )
    if not options:
        assert len(left) == (3 if partitioned else 1)


def test_an_overwrite_without_rows_leaves_partitions(spark: Any, tmp_path: Path) -> None:
    dr_spark.write(spark.range(3).selectExpr("id", "id AS k"), tmp_path, partition_columns=["k"])
    with conf(spark, **DYNAMIC):
        empty = spark.range(0).selectExpr("id", "id AS k")
        assert dr_spark.write(empty, tmp_path, mode="overwrite").version is None
    assert dr.Table(tmp_path).snapshot().num_rows == 3


TXN = "spark.databricks.delta.write.txn"

#: Statements about ``{t}``, and about rows ``s``, and how many of two versions they commit.
ONCE = {
    "INSERT INTO {t} VALUES (7, 7)": 2,
    "INSERT OVERWRITE {t} SELECT id + 10, k FROM {t}": 2,
    "DELETE FROM {t} WHERE id = 2": 1,  # the second time, it finds no row
    "UPDATE {t} SET id = id + 1": 2,
    "MERGE INTO {t} USING (SELECT 7L AS id, 7L AS k) AS s ON false "
    "WHEN NOT MATCHED THEN INSERT *": 2,
    "DELETE FROM {t} WHERE id + k = 99": 0,
    "UPDATE {t} SET id = 7 WHERE id + k = 99": 2,
    "MERGE INTO {t} USING (SELECT 7L AS id) AS s ON k = s.id WHEN MATCHED THEN DELETE": 2,
}


@pytest.mark.parametrize("text", ONCE)
def test_statements_use_the_transaction_of_the_session(
    spark: Any, tmp_path: Path, three_rows: dict[str, Path], text: str
) -> None:
    """A repeated version changes nothing, as in delta-spark; another version does.

    As there, ``UPDATE`` and ``MERGE`` commit the version without rows, and ``DELETE`` does not.
    """

    def run(act: Any, path: Path) -> None:
        for version in ("1", "1", "2"):
            with conf(spark, **{TXN + "AppId": "nightly", TXN + "Version": version}):
                act(text.format(t=f"delta.`{path}`"))

    compare(
        spark,
        tmp_path,
        three_rows[""],
        lambda path: run(spark.sql, path),
        lambda path: run(lambda own: dr_spark.sql(spark, own), path),
    )
    for name in ("ours", "theirs"):
        snapshot = dr.Table(tmp_path / name).snapshot()
        expected = {"nightly": ONCE[text]} if ONCE[text] else {}
        assert (snapshot.version, snapshot.transactions) == (1 + ONCE[text], expected)


def test_writes_use_the_transaction_of_the_session(spark: Any, tmp_path: Path) -> None:
    dr_spark.register(spark)
    with conf(spark, **{TXN + "AppId": "nightly", TXN + "Version": "4"}):
        for _ in range(2):
            dr_spark.write(spark.range(3), tmp_path / "written")
            writer = spark.range(3).write.format("deltareplay").mode("append")
            writer.save(str(tmp_path / "format"))
            writer.option("txnAppId", "own").option("txnVersion", "1").save(str(tmp_path / "own"))
            create = f"CREATE OR REPLACE TABLE delta.`{tmp_path}/as` USING delta AS SELECT 1 AS id"
            run_statement(spark, create)
    for name in ("written", "format", "own", "as"):
        snapshot = dr.Table(tmp_path / name).snapshot()
        application = {"own": 1} if name == "own" else {"nightly": 4}
        assert (snapshot.version, snapshot.transactions) == (0, application), name


@pytest.mark.parametrize(
    "values",
    [
        {TXN + "AppId": "nightly"},
        {TXN + "Version": "4"},
        {
            TXN + "AppId": "nightly",
            TXN + "Version": "4",
            TXN + "Version.autoReset.enabled": "true",
        },
    ],
    ids=lambda values: "-".join(values),
)
def test_rejects_invalid_transaction_settings(
    spark: Any, tmp_path: Path, values: dict[str, str]
) -> None:
    dr_spark.register(spark)
    dr_spark.write(spark.range(3), tmp_path / "t")
    merge = dr_spark.merge(spark, tmp_path / "t", spark.range(9), "target.id = source.id")
    merge.when_not_matched_insert_all()
    with conf(spark, **values):
        for act in (
            lambda: dr_spark.write(spark.range(3), tmp_path / "t"),
            lambda: dr_spark.delete(spark, tmp_path / "t", "id = 1"),
            lambda: dr_spark.update(spark, tmp_path / "t", None, {"id": "7"}),
            merge.execute,
            lambda: dr_spark.sql(spark, f"TRUNCATE TABLE delta.`{tmp_path}/t`"),
            lambda: (
                spark.range(3).write.format("deltareplay").mode("append").save(str(tmp_path / "t"))
            ),
        ):
            with pytest.raises(dr.InvalidArgumentError, match=TXN) as caught:
                act()
            assert caught.value.code == "spark.setting"
    assert dr.Table(tmp_path / "t").snapshot().version == 0


def test_timestamps_with_a_zone_if_others_are_the_default(spark: Any, tmp_path: Path) -> None:
    """``TIMESTAMP`` in SQL may be the type without a time zone, also in our own queries."""
    path = tmp_path / "t"
    rows = spark.sql("SELECT 1 AS id, TIMESTAMP_LTZ '2026-01-31 12:00:00' AS at")
    dr_spark.write(rows, path, partition_columns=["at"])
    time = dr.Table(path).snapshot().timestamp.strftime("%Y-%m-%d %H:%M:%S.%f+00:00")
    dr_spark.delete(spark, path, "id = 1")
    settings = {"timestampType": "TIMESTAMP_NTZ", "session__timeZone": "Europe/Berlin"}
    with conf(spark, **{f"spark__sql__{name}": value for name, value in settings.items()}):
        for table in (
            f"delta.`{path}` TIMESTAMP AS OF '{time}'",
            f"table_changes_by_path('{path}', '{time}', '{time}')",
        ):
            if not capabilities.has_delta(spark):  # delta-spark takes the time for another one
                assert dr_spark.sql(spark, f"SELECT id FROM {table}").collect() == [(1,)]
        DeltaTable.forPath(spark, str(path)).restoreToTimestamp(time)
        assert dr_spark.read(spark, path, filter="at > '2026-01-31 11:59:59'").count() == 1


@pytest.mark.parametrize("zone", ["PST", "GMT+5:30", "+9"])
def test_partition_values_without_a_zone(spark: Any, tmp_path: Path, zone: str) -> None:
    """Java has short names of zones, and offsets, that Python does not have."""
    path = str(tmp_path / "t")
    rows = spark.sql("SELECT id, TIMESTAMP '2026-07-01 12:00:00Z' AS at FROM range(2)")
    settings = {
        "spark__databricks__delta__write__utcTimestampPartitionValues": "false",
        "spark__sql__session__timeZone": zone,
    }
    with conf(spark, **settings):
        rows.write.format("delta").partitionBy("at").save(path)
        [values] = {*dr.Table(path).snapshot().files()["partitionValues"].to_pylist()[0]}
        assert "Z" not in values[1]
        expected = rows.selectExpr("id", "unix_micros(at)").collect()
        result = dr_spark.read(spark, path).selectExpr("id", "unix_micros(at)")
        assert sorted(result.collect()) == expected


#: Conditions, and the ids of the rows that they delete without ANSI mode.
NOT_ANSI = [
    ("i IN ('01', 2)", [2]),
    ("i NOT IN ('01', 2)", [1]),
    ("d IN ('2026-1-1', DATE '2026-01-02')", [2]),
    ("NOT (i = '2147483648')", []),
    ("s = 1 OR i = 2", [1, 2]),
]


@pytest.mark.parametrize("partitioned", [False, True])
def test_conditions_without_ansi_mode(spark: Any, tmp_path: Path, partitioned: bool) -> None:
    """``IN`` compares as strings, so that neither files are skipped nor removed as a whole."""
    by = ["i", "d"] if partitioned else []
    for number in (1, 2):
        row = f"SELECT {number} AS id, {number} AS i, '01' AS s, DATE '2026-01-0{number}' AS d"
        writer = spark.sql(row).write.format("delta").mode("append").partitionBy(*by)
        writer.save(str(tmp_path / "t"))
    with conf(spark, spark__sql__ansi__enabled="false"):
        for condition, ids in NOT_ANSI:
            read = spark.read.format("delta").load(str(tmp_path / "t")).where(condition)
            assert sorted(row.id for row in read.collect()) == ids, condition
            ours = dr_spark.read(spark, tmp_path / "t", filter=condition)
            assert sorted(row.id for row in ours.collect()) == ids, condition
            shutil.rmtree(tmp_path / "copy", ignore_errors=True)
            shutil.copytree(tmp_path / "t", tmp_path / "copy")
            dr_spark.delete(spark, tmp_path / "copy", condition)
            rows = dr.Table(tmp_path / "copy").snapshot().scan(["id"]).to_arrow().to_pylist()
            assert sorted(row["id"] for row in rows) == sorted({1, 2} - {*ids}), condition
