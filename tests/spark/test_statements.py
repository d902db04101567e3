"""Statements of ours and delta-spark's: on equal tables, with equal rows afterwards."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

Rows = list[dict[str, Any]]
#: Adds clauses to a merge of ours.
Clauses = Callable[[dr.Merge], dr.Merge]

TARGET = pa.schema([("id", pa.int64()), ("v", pa.int32())])
TARGET_ROWS: Rows = [{"id": 1, "v": 0}, {"id": 5, "v": 5}, {"id": None, "v": 8}]
SOURCE = pa.schema([("id", pa.int64()), ("n", pa.int32())])
SOURCE_ROWS: Rows = [{"id": 1, "n": 1}, {"id": None, "n": 2}, {"id": 7, "n": 7}]

UPDATE_SQL = "WHEN MATCHED THEN UPDATE SET v = s.n + 100"
INSERT_SQL = "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.n)"
DELETE_SQL = "WHEN MATCHED THEN DELETE"


def update(merge: dr.Merge) -> dr.Merge:
    return merge.when_matched_update({"v": "s.n + 100"})


def insert(merge: dr.Merge) -> dr.Merge:
    return merge.when_not_matched_insert({"id": "s.id", "v": "s.n"})


class TablePair:
    """Two equal tables: ours, and delta-spark's."""

    def __init__(self, spark: Any, root: Path) -> None:
        self.spark = spark
        self.path = root / "theirs"
        self.ours = dr.Table(root / "ours")

    @classmethod
    def create(
        cls,
        spark: Any,
        root: Path,
        schema: pa.Schema,
        *files: Rows,
        partitions: Sequence[str] = (),
    ) -> TablePair:
        """Create both tables with these files."""
        for name in ("ours", "theirs"):
            table = dr.create_table(root / name, schema, partitions)
            for rows in files:
                table.append(pa.Table.from_pylist(rows, schema))
        return cls(spark, root)

    def sql(self, text: str) -> str | None:
        """Run a statement on ``{t}``; return the condition of its error."""
        try:
            self.spark.sql(text.replace("{t}", f"delta.`{self.path}`")).collect()
        except Exception as error:
            return str(getattr(error, "getCondition", lambda: None)() or error)
        return None

    def merge(self, on: str, source: pa.Table, clauses: Clauses, sql: str) -> list[str | None]:
        """Run the same merge on both sides; return the errors."""
        self.spark.createDataFrame(source).createOrReplaceTempView("given")
        theirs = self.sql(f"MERGE INTO {{t}} t USING given s ON {on} {sql}")
        merge = self.ours.merge(source, on, source_alias="s", target_alias="t")
        try:
            clauses(merge).execute()
        except dr.DeltaReplayError as error:
            return [error.code, theirs]
        return [None, theirs]

    def same_rows(self, *chars: str) -> Rows:
        """Return the rows of both; columns of ``char(n)`` without padding, which Spark adds."""
        names = self.ours.snapshot().schema.names
        read = self.spark.read.format("delta").load(str(self.path)).collect()
        theirs = [row.asDict(recursive=True) for row in read]
        ours = self.ours.snapshot().scan().to_arrow().to_pylist()
        for row in ours:  # Spark collects timestamps without their zone, which is UTC here
            moments = [name for name in names if isinstance(row[name], datetime.datetime)]
            row.update({name: row[name].replace(tzinfo=None) for name in moments})
        for row in [*ours, *theirs]:
            row.update({name: row[name].rstrip(" ") for name in chars if row[name] is not None})

        def sort(rows: Rows) -> Rows:
            return sorted(rows, key=lambda row: [(row[n] is not None, str(row[n])) for n in names])

        assert sort(ours) == sort(theirs)
        return sort(ours)


ON: list[tuple[str, int]] = [
    ("t.id <=> s.id", 2),
    ("t.id IS NOT DISTINCT FROM s.id", 2),
    ("t.id <=> s.id AND t.v = 8", 1),
    ("s.id <=> t.id AND v + 0 <=> n + 6", 1),
    ("t.id = s.id OR t.v = s.n + 6", 2),
    ("t.id = s.id OR (t.id IS NULL AND s.id IS NULL)", 2),
    ("t.id > s.id", 1),
    ("v = 5 AND n = 1", 1),
    ("s.n = 2", 3),
    ("t.id IN (s.id, s.n + 3)", 2),
    ("t.id BETWEEN s.id AND s.n", 1),
    ("t.v = s.n - 1 AND t.id = s.id", 1),
    ("1 = 0", 0),
]


@pytest.mark.parametrize(("on", "updated"), ON, ids=[on for on, _ in ON])
def test_any_condition_joins(spark: Any, tmp_path: Path, on: str, updated: int) -> None:
    both = TablePair.create(spark, tmp_path, TARGET, TARGET_ROWS[:1], TARGET_ROWS[1:])
    source = pa.Table.from_pylist(SOURCE_ROWS, SOURCE)
    done = both.merge(on, source, lambda merge: insert(update(merge)), f"{UPDATE_SQL} {INSERT_SQL}")
    assert done == [None, None]
    assert sum(row["v"] > 100 for row in both.same_rows()) == updated


def test_a_delete_may_match_several_source_rows(spark: Any, tmp_path: Path) -> None:
    both = TablePair.create(spark, tmp_path, TARGET, TARGET_ROWS)
    source = pa.Table.from_pylist(SOURCE_ROWS, SOURCE)
    assert both.merge(
        "NOT (t.id <=> s.id)", source, lambda merge: merge.when_matched_delete(), DELETE_SQL
    ) == [None, None]
    assert both.same_rows() == []


def test_the_feed_has_each_deleted_row_once(spark: Any, tmp_path: Path) -> None:
    uri = str(tmp_path / "t")
    dr_spark.write(spark.range(8), uri, properties={"delta.enableChangeDataFeed": "true"})
    source = spark.createDataFrame([(6,), (6,), (7,), (8,)], "id long")
    merge = dr_spark.merge(spark, uri, source, "target.id = source.id")
    merge.when_matched_delete().when_not_matched_insert_all().execute()

    changes = dr_spark.changes(spark, uri, 1).collect()
    assert sorted((row.id, row._change_type) for row in changes) == [
        (6, "delete"),
        (7, "delete"),
        (8, "insert"),
    ]


def test_columns_that_the_table_lacks_are_left_out(spark: Any, tmp_path: Path) -> None:
    both = TablePair.create(spark, tmp_path, TARGET, TARGET_ROWS)
    source = pa.table(
        {
            "extra": ["x", "y"],
            "id": pa.array([1, 6], pa.int64()),
            "v": pa.array([11, 66], pa.int32()),
            "more": [[1], None],
        }
    )
    everything = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    assert both.merge(
        "t.id = s.id",
        source,
        lambda merge: merge.when_matched_update_all().when_not_matched_insert_all(),
        everything,
    ) == [None, None]
    assert {"id": 6, "v": 66} in both.same_rows()
    ours, theirs = both.merge(
        "t.id = s.id",
        source,
        lambda merge: merge.when_matched_update({"extra": "s.extra"}),
        "WHEN MATCHED THEN UPDATE SET extra = s.extra",
    )
    assert ours == "rows.column"
    assert theirs is not None


TWICE = "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE"
SEVERAL: list[tuple[str, Clauses, bool]] = [
    (
        "WHEN MATCHED AND s.n = 2 THEN UPDATE SET v = s.n",
        lambda merge: merge.when_matched_update({"v": "s.n"}, "s.n = 2"),
        False,
    ),
    (
        "WHEN MATCHED AND s.n = 9 THEN DELETE",
        lambda merge: merge.when_matched_delete("s.n = 9"),
        False,
    ),
    (
        "WHEN MATCHED AND s.n = 1 THEN DELETE WHEN MATCHED THEN DELETE",
        lambda merge: merge.when_matched_delete("s.n = 1").when_matched_delete(),
        False,
    ),
    ("WHEN MATCHED AND true THEN DELETE", lambda merge: merge.when_matched_delete("true"), False),
    (DELETE_SQL, lambda merge: merge.when_matched_delete(), True),
    (
        f"{DELETE_SQL} {INSERT_SQL}",
        lambda merge: insert(merge.when_matched_delete()),
        True,
    ),
    (
        f"{DELETE_SQL} WHEN NOT MATCHED BY SOURCE THEN DELETE",
        lambda merge: merge.when_matched_delete().when_not_matched_by_source_delete(),
        True,
    ),
    (INSERT_SQL, insert, True),
    (
        "WHEN NOT MATCHED BY SOURCE THEN DELETE",
        lambda merge: merge.when_not_matched_by_source_delete(),
        False,
    ),
    (
        f"{INSERT_SQL} WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = -1",
        lambda merge: insert(merge).when_not_matched_by_source_update({"v": -1}),
        False,
    ),
]


@pytest.mark.parametrize(("sql", "clauses", "allowed"), SEVERAL, ids=[sql for sql, *_ in SEVERAL])
def test_several_source_rows_match_a_target_row(
    spark: Any, tmp_path: Path, sql: str, clauses: Clauses, allowed: bool
) -> None:
    both = TablePair.create(spark, tmp_path, TARGET, TARGET_ROWS)
    rows = [{"id": 1, "n": 1}, {"id": 1, "n": 2}, {"id": 9, "n": 9}]
    source = pa.Table.from_pylist(rows, SOURCE)
    expected = [None, None] if allowed else ["rows.ambiguous", TWICE]
    assert both.merge("t.id = s.id", source, clauses, sql) == expected
    both.same_rows()


MIXED = pa.schema(
    [
        ("id", pa.int32()),
        ("s", pa.string()),
        ("i", pa.int32()),
        ("b", pa.int8()),
        ("f", pa.float32()),
        ("x", pa.float64()),
        ("m", pa.decimal128(10, 2)),
        ("o", pa.bool_()),
        ("d", pa.date32()),
        ("t", pa.timestamp("us", "UTC")),
        ("n", pa.timestamp("us")),
        ("z", pa.binary()),
    ]
)
NUMBERS = ["2", " 2 ", "02", "+2", None, "10", "9", "-3"]
DAYS = ["2024-01-02", "2024-1-2", " 2024-01-02", "2024-01-02 00:00:00", "2023-12-31", None]
TRUTHS = ["true", "T", "1", "yes", " n", "FALSE", None]
FLOATS = ["2", "2.0", "2.5", " 2.5d", "1e1", "NaN", "-Infinity", None]


def mixed(texts: list[str | None]) -> Rows:
    """A row for each string, with equal and different values."""
    return [
        {
            "id": number,
            "s": text,
            "i": None if number == 4 else number,
            "b": number,
            "f": number + 0.1,
            "x": number / 2,
            "m": Decimal(number) / 2,
            "o": number % 2 == 0,
            "d": datetime.date(2024, 1, number + 1),
            "t": datetime.datetime(2024, 1, number + 1, tzinfo=datetime.timezone.utc),
            "n": datetime.datetime(2024, 1, number + 1),
            "z": str(number).encode(),
        }
        for number, text in enumerate(texts)
    ]


#: Values of the string column, and filters, some of which are errors.
FILTERS: dict[str, tuple[list[str | None], list[str]]] = {
    "numbers": (
        NUMBERS,
        [
            "s = 2", "2 = s", "s < 10", "s > 9L", "s <> 2", "s <=> 2", "s <=> NULL", "NOT s = 2",
            "s = 2.0", "s = 2.0D", "s = CAST(2 AS FLOAT)", "s < 99999999999999999999",
            "s IN (2, 3)", "s IN ('2', 10)", "s NOT IN (2)", "s IN (2, NULL)",
            "s BETWEEN 2 AND 9", "s = i", "i < s", "s <=> i", "s > f", "s >= m", "s = id + 1",
            "s + 1 = 3", "s * 2 > 4", "s = '2'", "s IN ('2')", "s = 2 OR id = 5",
            "i > '1'", "i = ' 3 '", "i = '+3'", "i < '99999999999'", "b = '300'", "b < '300'",
            "i IN ('2', '3')", "i IN ('2', 3)", "i BETWEEN '1' AND 3.5", "i <> '2'", "i <=> '2'",
            "i + '1' = 3", "f = '1.1'", "f > '1.1'", "f = '1.1f'", "x = '0.5'", "x < 'Infinity'",
            "x = 'nan'", "x IN ('0.5', '1')", "m = '0.5'", "m = '0.50'", "m = '0.501'",
            "m < '1e0'", "m > '99999999999999'", "m = 0.5D", "o = 'true'", "o = 'n'", "o IN ('t')",
            "d = '2024-01-02'", "d > '2024-1-2'", "t > '2024-01-02'", "n = '2024-01-03'",
            "z = '1'", "z > '1'", "i LIKE '1%'", "i LIKE '3'", "o LIKE 'tr%'",
            "CASE WHEN i = 2 THEN '2' ELSE i END = 2", "coalesce(i, '7') = 7",
            "if(id > 2, s, i) = 10", "nullif(s, 2) IS NULL",
            # errors
            "s = true", "s = DATE '2024-01-01'", "i > '2.5'", "i = 'two'", "i = ''", "i = '2e0'",
            "i <=> 'x'", "i <> '2.5'", "i IN ('2', '2.5')", "i = '9223372036854775808'",
            "i = '0x2'", "i = '2L'", "x > 'y'", "f = 'x'", "m = 'x'", "o = 'maybe'", "d > 'x'",
            "t = 'x'", "n = 'x'", "o = 1", "i = o", "z = 1", "d = 5", "t > 5", "i = d", "o = d",
            "'2.5' < i", "i + '1.5' = 3.5", "coalesce(i, 'none') = 'none'",
        ],
    ),
    "days": (
        DAYS,
        [
            "s = DATE '2024-01-02'", "s < d", "s = t", "s <= n",
            "s = TIMESTAMP '2024-01-02 00:00:00'",
            "s IN (DATE '2024-01-02')", "s > DATE '2024-01-01' AND id > 0", "s = 2", "s < x",
        ],
    ),
    "truths": (TRUTHS, ["s = true", "s = o", "o <> s", "s IN (false)", "s = 1"]),
    "floats": (FLOATS, ["s > 2.0", "s = f", "s <= x", "s <> 2.5D", "s = m", "s = 2"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", FILTERS)
def test_strings_compared_with_other_values(spark: Any, tmp_path: Path, kind: str) -> None:
    texts, filters = FILTERS[kind]
    both = TablePair.create(spark, tmp_path, MIXED, mixed(texts))
    read = spark.read.format("delta").load(str(both.path)).cache()
    snapshot = both.ours.snapshot()
    wrong = []
    for condition in filters:
        try:
            theirs: Any = sorted(row.id for row in read.where(condition).select("id").collect())
        except Exception as error:
            theirs = getattr(error, "getCondition", lambda: None)() or type(error).__name__
            assert "CAST_INVALID_INPUT" in theirs or "DATATYPE_MISMATCH" in theirs, condition
            theirs = "error"
        try:
            rows = snapshot.scan(columns=["id"], filter=condition).to_arrow()
            ours: Any = sorted(rows["id"].to_pylist())
        except dr.InvalidArgumentError as error:
            ours = "error" if error.code.split(".")[0] in ("filter", "formula") else error.code
        if ours != theirs:
            wrong.append((condition, ours, theirs))
    read.unpersist()
    assert wrong == []


#: Columns of the table and their new values.
STORED = [
    ("i", "s"), ("i", "' 12 '"), ("b", "s"), ("f", "'2.5'"), ("x", "s"), ("x", "'-inf'"),
    ("m", "'2.555'"), ("m", "s"), ("d", "'2024-05-06'"), ("t", "'2024-05-06 01:02:03'"),
    ("n", "'2024-05-06'"), ("o", "'y'"), ("o", "1"), ("o", "i"), ("o", "m"), ("i", "o"),
    ("x", "true"), ("m", "o"), ("z", "s"), ("s", "z"), ("s", "o"), ("s", "m"), ("s", "d"),
    ("i", "2.9"), ("i", "x"), ("m", "1.555"), ("s", "x"), ("s", "f"), ("s", "1e20D"),
]  # fmt: skip


def test_values_of_another_type_are_stored(spark: Any, tmp_path: Path) -> None:
    types = {f"{column}{at}": MIXED.field(column).type for at, (column, _) in enumerate(STORED)}
    schema = pa.schema([*MIXED, *types.items()])
    both = TablePair.create(spark, tmp_path, schema, mixed(["7", " 1", None]))
    sets = dict(zip(types, [value for _, value in STORED], strict=True))
    assert both.sql(f"UPDATE {{t}} SET {', '.join(f'{a} = {b}' for a, b in sets.items())}") is None
    both.ours.update(None, sets)
    assert len(both.same_rows()) == 3


NOT_STORED = [
    ("i", "'x'", "rows.value", '"x" cannot be cast to INT'), ("i", "'2.5'", "rows.value", "2.5"),
    ("b", "'300'", "rows.value", "300"), ("m", "'123456789012'", "rows.value", "DECIMAL"),
    ("d", "'x'", "rows.value", "DATE"), ("t", "'x'", "rows.value", "TIMESTAMP"),
    ("o", "'x'", "rows.value", "BOOLEAN"), ("b", "300", "rows.value", "300"),
    ("i", "s", "rows.value", '"seven"'), ("i", "d", "rows.type", "cast it first"),
    ("d", "i", "rows.type", "cast it first"), ("z", "i", "rows.type", "cast it first"),
]  # fmt: skip


def test_rejects_values_that_cannot_be_cast(spark: Any, tmp_path: Path) -> None:
    both = TablePair.create(spark, tmp_path, MIXED, mixed(["7", "seven", None]))
    for column, value, code, displayed in NOT_STORED:
        assert both.sql(f"UPDATE {{t}} SET {column} = {value}") is not None
        with pytest.raises(dr.InvalidArgumentError, match=displayed) as caught:
            both.ours.update(None, {column: value})
        assert caught.value.code == code
    both.same_rows()


def test_texts_are_merged_as_numbers(spark: Any, tmp_path: Path) -> None:
    both = TablePair.create(spark, tmp_path, TARGET, TARGET_ROWS)
    everything = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"

    def merge(rows: Rows) -> list[str | None]:
        return both.merge(
            "t.id = s.id",
            pa.Table.from_pylist(rows),
            lambda merge: merge.when_matched_update_all().when_not_matched_insert_all(),
            everything,
        )

    assert merge([{"id": " 1", "v": "12"}, {"id": "02", "v": "-3"}]) == [None, None]
    assert {"id": 2, "v": -3} in both.same_rows()
    for rows in ([{"id": "x", "v": "1"}], [{"id": "1", "v": "x"}], [{"id": "44", "v": "1.5"}]):
        ours, theirs = merge(rows)
        assert ours in ("formula.value", "rows.value")
        assert theirs is not None
        both.same_rows()


def test_files_are_not_skipped_by_the_order_of_texts(spark: Any, tmp_path: Path) -> None:
    """As strings, "9" is greater than "10"."""
    schema = pa.schema([("id", pa.int32()), ("s", pa.string()), ("p", pa.string())])
    files = [
        [{"id": 1, "s": "9", "p": "009"}],
        [{"id": 2, "s": "10", "p": "10"}, {"id": 3, "s": "100", "p": "10"}],
        [{"id": 4, "s": "2", "p": " 2"}],
        [{"id": 5, "s": None, "p": None}],
    ]
    both = TablePair.create(spark, tmp_path, schema, *files, partitions=["p"])
    read = spark.read.format("delta").load(str(both.path))
    snapshot = both.ours.snapshot()
    for condition in (
        "s < 10",
        "s = 10",
        "s > 9",
        "s BETWEEN 3 AND 50",
        "p < 10",
        "p = 9",
        "p = 2",
    ):
        theirs = {row.id for row in read.where(condition).collect()}
        assert set(snapshot.scan(filter=condition).to_arrow()["id"].to_pylist()) == theirs
    assert snapshot.scan(filter="p = 9").files().num_rows == 1, "no partitions are pruned"
    both.ours.delete("s < 10 OR p = '10' AND s >= 100")
    assert both.sql("DELETE FROM {t} WHERE s < 10 OR p = '10' AND s >= 100") is None
    assert {row["id"] for row in both.same_rows()} == {2, 5}


CHAR_ROWS = "(1, 'ab', 'ab'), (2, 'abcd', 'ab  '), (3, 'ab  ', 'x'), (4, NULL, ''), (5, 'ab ', 'a')"
CHAR_FILTERS = [
    "c = 'ab'", "c = 'ab  '", "c = 'ab      '", "c = 'abcd '", "c = 'abcde'", "'ab' = c",
    "c <> 'ab'", "c <=> 'ab'", "NOT c = 'ab'", "c < 'ab'", "c <= 'ab'", "c > 'ab'", "c >= 'ab'",
    "c > 'a'", "c < 'ac'", "c IN ('ab')", "c IN ('abcd', 'ab   ')", "c NOT IN ('ab')",
    "length(c) = 4", "length(c) = 2", "c LIKE 'ab'", "c LIKE 'ab  '", "c LIKE 'ab%'",
    "trim(c) = 'ab'", "upper(c) = 'AB'", "upper(c) = 'AB  '", "concat(c, '|') = 'ab  |'",
    "c = concat('a', 'b')", "c = 'a' || 'b'", "CASE WHEN c = 'ab' THEN true ELSE false END",
    "if(c IN ('ab'), true, false)", "c = v", "c = d", "c < d", "c IS NULL",
    "v = 'ab'", "v = 'ab '", "length(v) = 2", "c = 'ab' OR id = 2", "coalesce(c, '') = 'ab'",
]  # fmt: skip


def chars(spark: Any, root: Path, partitioned: bool) -> TablePair:
    """Create tables with unpadded CHAR values in their files, which delta-spark pads in reads."""
    for name in ("ours", "theirs"):
        spark.sql(
            f"CREATE TABLE delta.`{root / name}` (id INT, c CHAR(4), v VARCHAR(4), d CHAR(6)) "
            f"USING delta {'PARTITIONED BY (c)' if partitioned else ''}"
        )
        rows = f"SELECT /*+ COALESCE(1) */ *, col2 FROM VALUES {CHAR_ROWS}"
        spark.sql(f"INSERT INTO delta.`{root / name}` {rows}")
        spark.sql(f"INSERT INTO delta.`{root / name}` VALUES (6, 'zz', 'zz', 'zz')")
    return TablePair(spark, root)


@pytest.mark.parametrize("partitioned", [False, True], ids=["data", "partition"])
def test_char_values_are_padded(spark: Any, tmp_path: Path, partitioned: bool) -> None:
    both = chars(spark, tmp_path, partitioned)
    assert {row["c"] for row in both.same_rows("c", "d")} == {"ab", "abcd", "zz", None}
    read = spark.read.format("delta").load(str(both.path)).cache()
    snapshot = both.ours.snapshot()
    wrong = []
    for condition in CHAR_FILTERS:
        theirs = sorted(row.id for row in read.where(condition).select("id").collect())
        rows = snapshot.scan(columns=["id"], filter=condition).to_arrow()
        if sorted(rows["id"].to_pylist()) != theirs:
            wrong.append((condition, sorted(rows["id"].to_pylist()), theirs))
    read.unpersist()
    assert wrong == []
    assert snapshot.scan(filter="c = 'zz'").files().num_rows == 1, "no files are skipped"


def test_statements_find_padded_char_values(spark: Any, tmp_path: Path) -> None:
    both = chars(spark, tmp_path, False)
    both.ours.update("c = 'ab' AND id < 5", {"v": "concat(c, '')", "c": "'x'"})
    assert both.sql("UPDATE {t} SET v = concat(c, ''), c = 'x' WHERE c = 'ab' AND id < 5") is None
    both.same_rows("c", "d")
    # for `c >= 'x'` delta-spark skips a file whose greatest string is 'x', not padded
    both.ours.delete("length(c) = 4 AND upper(c) >= 'X'")
    assert both.sql("DELETE FROM {t} WHERE length(c) = 4 AND upper(c) >= 'X'") is None
    assert {row["c"] for row in both.same_rows("c", "d")} == {"ab", "abcd", None}
    # delta-spark cannot merge with a condition on such a column: "missing from input"
    source = pa.table({"key": ["ab", "ab  ", "abcd"], "n": [1, 2, 3]})
    merge = both.ours.merge(source, "target.c = source.key OR target.c = 'ab' AND n = 1")
    with pytest.raises(dr.InvalidArgumentError, match="several rows"):
        merge.when_matched_update({"v": "'new'"}).execute()
    merge = both.ours.merge(source, "target.c = source.key AND n <> 3")
    merge.when_matched_update({"v": "'new'"}).execute()
    assert both.sql("UPDATE {t} SET v = 'new' WHERE c = 'ab'") is None
    both.same_rows("c", "d")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        both.ours.update(None, {"c": "'abcde'"})
    assert caught.value.code == "rows.length"
    assert both.sql("UPDATE {t} SET c = 'abcde'") is not None
    both.same_rows("c", "d")
