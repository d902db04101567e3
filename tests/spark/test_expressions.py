"""Expressions, some chosen and some random, have the same values as in Spark."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import math
import os
import random
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from spark.support.settings import conf

import deltareplay as dr
from deltareplay import spark as dr_spark

pytestmark = pytest.mark.spark

#: The number of random expressions; ``DELTAREPLAY_EXPRESSIONS`` sets another.
MANY = int(os.environ.get("DELTAREPLAY_EXPRESSIONS", "300"))
SEED = int(os.environ.get("DELTAREPLAY_SEED", "20260101"))

UTC = datetime.timezone.utc
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("l", pa.int64()),
        ("i", pa.int32()),
        ("d", pa.float64()),
        ("f", pa.float32()),
        ("s", pa.string()),
        ("b", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("n", pa.decimal128(9, 2)),
        ("y", pa.int8()),
    ]
)
LONGS = [0, 1, -7, 2**63 - 1, -(2**63), 1000, None]
INTS = [0, -1, 2**31 - 1, -(2**31), 42, None, 3]
DOUBLES = [
    5e-324,
    0.0,
    -0.0,
    math.nan,
    -math.nan,
    math.inf,
    -math.inf,
    1e300,
    1e-5,
    1e7,
    0.1,
    None,
    5.5,
]
FLOATS = [1e-45, 0.0, -0.0, math.nan, 1e7, 16777216.0, 0.1, 3.3, -math.inf, None, 1e-10]
TEXTS = ["", "a", "a\tb", "it's", "C:\\x", "50%", "ä", " 3 ", None, "A_b", '"', "\n"]
SMALL = [0, 1, -128, 127, None, 5, -1, 2]
DAYS = [(1970, 1, 1), (1969, 12, 31), (2024, 2, 29), (1, 1, 1), None]
DECIMALS = ["0.00", "-0.01", "9999999.99", "12.50", None]


def rows() -> pa.Table:
    """Return rows with unusual values in many combinations."""
    result = []
    for number in range(60):
        day = DAYS[number % len(DAYS)]
        exact = DECIMALS[number // 2 % len(DECIMALS)]
        timestamp = datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)
        result.append(
            {
                "id": number,
                "l": LONGS[number % len(LONGS)],
                "i": INTS[number // 3 % len(INTS)],
                "d": DOUBLES[number % len(DOUBLES)],
                "f": FLOATS[number // 5 % len(FLOATS)],
                "s": TEXTS[number // 4 % len(TEXTS)],
                "b": (True, False, None)[number % 3],
                "day": None if day is None else datetime.date(*day),
                "at": timestamp + datetime.timedelta(hours=number * 9000),
                "y": SMALL[number // 2 % len(SMALL)],
                "n": None if exact is None else decimal.Decimal(exact),
            }
        )
    return pa.Table.from_pylist(result, SCHEMA)


@pytest.fixture(scope="module")
def unusual_rows(spark: Any) -> Any:
    return spark.createDataFrame(rows())


Outcome = list[Any] | str


def outcomes(run: Callable[[list[str]], pa.Table], texts: list[str]) -> dict[str, Outcome]:
    """Return the values of each expression, or its error; a failing one does not affect others."""
    if not texts:
        return {}
    try:
        result = run(texts)
    except Exception as error:
        if len(texts) == 1:
            return {texts[0]: getattr(error, "code", None) or "error"}
        half = len(texts) // 2
        return outcomes(run, texts[:half]) | outcomes(run, texts[half:])
    return {text: result.column(index).to_pylist() for index, text in enumerate(texts)}


def types_of(frame: Any, texts: list[str]) -> dict[str, Any]:
    """Return the Arrow types of the expressions that Spark's analyser accepts; no job runs."""
    from pyspark.errors import AnalysisException
    from pyspark.sql.pandas.types import to_arrow_type

    types = {}
    for text in texts:
        with contextlib.suppress(AnalysisException):
            [column] = frame.selectExpr(f"({text}) AS r").schema
            types[text] = to_arrow_type(column.dataType, timezone="UTC")
    return types


def by_spark(frame: Any, texts: list[str]) -> dict[str, Outcome]:
    """Return the values of expressions in Spark."""

    def run(texts_: list[str]) -> pa.Table:
        columns = [f"({text}) AS r{index}" for index, text in enumerate(texts_)]
        return frame.selectExpr("id", *columns).toArrow().sort_by("id").drop(["id"])

    return outcomes(run, texts)


def by_update(texts: list[str], types: dict[str, Any]) -> dict[str, Outcome]:
    """Return the values of expressions that ``update`` stores."""

    def run(texts_: list[str]) -> pa.Table:
        results = [pa.field(f"r{index}", types[text]) for index, text in enumerate(texts_)]
        name = f"memory://expressions-{random.randrange(1 << 60)}"
        table = dr.create_table(name, pa.schema([*SCHEMA, *results]))
        table.append(rows())
        table.update(None, {item.name: text for item, text in zip(results, texts_, strict=True)})
        result = table.snapshot().scan().to_arrow().sort_by("id")
        return result.select([item.name for item in results])

    return outcomes(run, texts)


def same(ours: Outcome, theirs: Outcome) -> bool:
    if isinstance(ours, str) or isinstance(theirs, str):
        return isinstance(ours, str) and isinstance(theirs, str)
    return all(equal(item, other) for item, other in zip(ours, theirs, strict=True))


def equal(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    if isinstance(left, str) and isinstance(right, str) and left != right:
        # Java before 19 writes more digits for a few numbers
        return form(left) == form(right) and float(left) == float(right)
    return bool(left == right)


def form(text: str) -> tuple[str | None, ...]:
    """Return the parts of a number: the digits before the point, and the exponent."""
    result = re.fullmatch(r"(-?\d+)\.\d{2,}(E-?\d+)?", text)
    return (text,) if result is None else result.groups()


#: A day from which Python's dates can go back.
LATER = "greatest(day, DATE '1000-01-01')"
CHOSEN = [
    # strings
    r"'a\tb' = s", r"s = 'it\'s'", r"s = 'C:\\x'", r"s = r'C:\x'", 's = "it\'s"', r"'\u00e4' = s",
    r"concat('\101', s, '\n', \"'\")".replace('\\"', '"'), "concat('one' 'two', s)",
    r"s LIKE '50\%'", r"s LIKE 'C:\\\\%'", r"s LIKE '%\_b'", r"s LIKE r'50\%'", "s = 'it''s'",
    # one NaN, one zero
    "-d > 5", "d - d > 0", "d + 0 > 5", "least(-d, 1.0D)", "greatest(-d, 1.0D)", "-d = d", "-d",
    "d * 0 = d - d", "d IN (-d, 0.0D)", "f - f", "-f > 5", "abs(d)", "d = -0.0D", "d <=> -d",
    "CASE WHEN -d > 5 THEN 'above' ELSE 'not' END", "coalesce(-d, 1.5D)",
    # several types, of which each value is cast to the common one at once
    "coalesce(d, l, '1.5')", "CASE WHEN d > 5 THEN d WHEN l > 5 THEN l ELSE '1.5' END",
    "greatest(l, CAST(0 AS DECIMAL(38, 38)), d)", "least(l, CAST(0 AS DECIMAL(38, 38)), d)",
    # numbers as strings
    "CAST(d AS STRING)", "CAST(f AS STRING)", "CAST(d / 3 AS STRING)",
    "concat(d, '')", "CAST(CAST(l AS DOUBLE) AS STRING)",
    "CAST(l AS STRING)", "CAST(n AS STRING)", "CAST(b AS STRING)", "CAST(at AS STRING)",
    # literals
    "coalesce(1.5D, l) <> 2", "1.5F + f", "i + 2L", "n + 1.25BD", "10S + 1", "d > 1e3",
    "day = DATE '1970-1-1'", "day = DATE '1970'", "day >= DATE '2024-02'", "day > '1969-12-31'",
    "at >= TIMESTAMP '1970-1-1 0:0:0'", "at < TIMESTAMP '1980-01-01T00:00:00Z'",
    "at > '1971-2-3 4:05'", "at = TIMESTAMP '1969-12-31 23:59:59.999999'",
    # dates and timestamps
    f"date_add({LATER}, i % 1000)", f"date_sub({LATER}, y)", "date_add('2024-02-28', 1)",
    "datediff(at, day)", "datediff('2024-03-01', day)", f"add_months({LATER}, y)", "last_day(day)",
    "day + INTERVAL 1 MONTH", f"{LATER} - INTERVAL 3 DAYS", "day + INTERVAL 1 WEEK",
    "day + INTERVAL 36 HOURS", "at - INTERVAL '1' YEAR", "at + INTERVAL 1.5 SECONDS",
    "at + INTERVAL '-.5' SECOND", "at + INTERVAL '1.' SECOND", "at + INTERVAL 1.0000019 SECONDS",
    "INTERVAL 90 MINUTES + at", "at - INTERVAL '2 days'", "at + INTERVAL -1 MONTH",
    "at < TIMESTAMP '1970-02-01 00:00:00Z' - INTERVAL 1 MONTH",
    "day BETWEEN date_sub('1970-01-01', 1) AND last_day('1970-01-01')",
    *(f"date_trunc('{unit}', at)" for unit in (
        "year", "QUARTER", "mon", "WEEK", "dd", "hour", "MINUTE", "second", "millisecond", "x"
    )),
    *(f"trunc(day, '{unit}')" for unit in ("yy", "quarter", "MM", "week", "day")),
    # patterns
    "s ILIKE 'A%'", "s NOT ILIKE 'Ä'", r"s ILIKE 'a\_B'", "s ILIKE 'a!_b' ESCAPE '!'",
    "s RLIKE 'a'", "s NOT RLIKE '^$'", r"s RLIKE r'^\s*\d\s*$'", r"s REGEXP '\\W'",
    r"regexp_like(s, r'(?i)^A[_\t](b|B)?$')", "s RLIKE '.'", "s RLIKE '[^a-z]+'",
    r"rlike(s, r'%$|\\.{1,2}$')", "regexp_like(s, NULL)", "isnan(d / 3)", "isnan(f + 1)",
    "isnan(l * 1)",
]  # fmt: skip


def test_chosen_expressions(unusual_rows: Any) -> None:
    theirs = by_spark(unusual_rows, CHOSEN)
    assert not [text for text, result in theirs.items() if isinstance(result, str)]
    ours = by_update(CHOSEN, types_of(unusual_rows, CHOSEN))
    wrong = [text for text in CHOSEN if not same(ours[text], theirs[text])]
    assert not {text: difference(ours[text], theirs[text]) for text in wrong}
    # there is one NaN: computed and stored values have no sign
    for text in ("-d", "d * 0 - d"):
        [computed] = by_update([text], {text: pa.float64()}).values()
        signs = [
            math.copysign(1, item) for item in computed if item is not None and math.isnan(item)
        ]
        assert signs, text
        assert set(signs) == {1.0}


def test_filters_agree_with_spark(unusual_rows: Any) -> None:
    table = dr.create_table("memory://conditions", SCHEMA)
    table.append(rows())
    snapshot, checked = table.snapshot(), 0
    types = types_of(unusual_rows, CHOSEN)
    conditions = [text for text in CHOSEN if types[text] == pa.bool_()]
    for text, result in by_spark(unusual_rows, conditions).items():
        ids = snapshot.scan(filter=text, columns=["id"]).to_arrow()["id"].to_pylist()
        assert sorted(ids) == [number for number, item in enumerate(result) if item is True], text
        checked += 1
    assert checked > 20


def test_backslashes_in_constraints_defaults_and_generated_columns(
    spark: Any, tmp_path: Any
) -> None:
    from delta.tables import DeltaTable

    path = tmp_path / "t"
    created = DeltaTable.create(spark).location(str(path)).addColumn("a", "STRING")
    created = created.addColumn("g", "STRING", generatedAlwaysAs=r"concat(a, '\t', a)")
    created.property("delta.feature.allowColumnDefaults", "supported").execute()
    spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMNS (c STRING)")
    spark.sql(f"ALTER TABLE delta.`{path}` ALTER COLUMN c SET DEFAULT " + r"'d\\e'")
    spark.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT no_tab CHECK (a <> " + r"'x\ty')")
    table = dr.Table(path)
    table.append(pa.table({"a": ["s\ts", "b"]}))
    spark.sql(f"INSERT INTO delta.`{path}` (a) VALUES ('C:\\\\dir')")
    with pytest.raises(dr.InvalidArgumentError, match="no_tab"):
        table.append(pa.table({"a": ["x\ty"]}))
    table.update(r"a = 's\ts'", {"c": r"'\'' || c"})
    table.delete(r"g LIKE 'b\tb'")
    expected = [("C:\\dir", "C:\\dir\tC:\\dir", "d\\e"), ("s\ts", "s\ts\ts\ts", "'d\\e")]
    assert sorted(map(tuple, spark.read.format("delta").load(str(path)).collect())) == expected
    for text in (r"a = 's\ts'", r"a = 'C:\\dir'", r"a LIKE '%\t%'"):
        assert dr_spark.read(spark, path, filter=text).count() == 1
    # the core must not skip files by a string that the session reads differently
    with conf(spark, spark__sql__parser__escapedStringLiterals="true"):
        assert dr_spark.read(spark, path, filter=r"a = 'C:\dir'").count() == 1
    with conf(spark, spark__sql__ansi__doubleQuotedIdentifiers="true"):
        assert dr_spark.read(spark, path, filter="\"a\" = 'C:\\\\dir'").count() == 1


def difference(ours: Outcome, theirs: Outcome) -> Any:
    if isinstance(ours, str) or isinstance(theirs, str):
        return [result if isinstance(result, str) else "values" for result in (ours, theirs)]
    pairs = zip(ours, theirs, strict=True)
    return [(item, other) for item, other in pairs if not equal(item, other)][:3]


class RandomExpressions:
    """Random expressions with operands of matching types."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def any(self, depth: int) -> str:
        return self.random.choice([self.number, self.text, self.condition, self.moment])(depth)

    def number(self, depth: int) -> str:
        leaf = [
            "l", "i", "d", "f", "n", "y", "1", "-3", "2.5D", "0.0D", "7L", "1.5F", "-2147483648",
            "CAST('NaN' AS DOUBLE)", "CAST(f AS DOUBLE)", "12.34", "2Y", "100S", "NULL",
        ]  # fmt: skip
        if depth == 0 or self.random.random() < 0.2:
            return self.random.choice(leaf)
        a, b = self.number(depth - 1), self.number(depth - 1)
        return self.random.choice(
            [
                f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"(-({a}))",
                f"abs({a})", f"least({a}, {b})", f"greatest({a}, {b})",
                f"coalesce({a}, {b})", f"CAST({a} AS DOUBLE)", f"length({self.text(0)})",
                f"CASE WHEN {self.condition(depth - 1)} THEN {a} ELSE {b} END",
                f"nullif({a}, {b})", f"CAST(CAST({a} AS FLOAT) AS DOUBLE)",
                f"({a} % {b})", f"({a} DIV {b})", f"floor({a})", f"ceil({a})",
                f"({a} / {b})", f"year({self.moment(0)})", f"CAST({a} AS BIGINT)",
            ]
        )  # fmt: skip

    def moment(self, depth: int) -> str:
        leaf = ["day", "at", "DATE '2024-02-29'", "TIMESTAMP '1970-01-01 00:00:00Z'", "NULL"]
        if depth == 0:
            return self.random.choice(leaf)
        a, b = self.moment(depth - 1), self.moment(0)
        return self.random.choice(
            [
                f"coalesce({a}, {b})", f"greatest({a}, {b})", f"CAST({a} AS DATE)",
                f"least({a}, {b})", f"CAST({a} AS TIMESTAMP)", f"nullif({a}, {b})",
            ]
        )  # fmt: skip

    def text(self, depth: int) -> str:
        leaf = ["s", "'a'", r"'a\tb'", "''", r"'it\'s'", r"'C:\\x'", "r'C:\\x'", "NULL", '"ä"']
        if depth == 0 or self.random.random() < 0.2:
            return self.random.choice(leaf)
        a = self.text(depth - 1)
        return self.random.choice(
            [
                f"concat({a}, {self.text(0)})", f"upper({a})", f"({a} || {self.text(0)})",
                f"substring({a}, {self.random.randint(-3, 3)}, {self.random.randint(0, 3)})",
                f"CAST({self.number(depth - 1)} AS STRING)", f"coalesce({a}, {self.text(0)})",
                f"trim({a})", f"CAST({self.random.choice(['day', 'at', 'n', 'b'])} AS STRING)",
                f"CASE WHEN {self.condition(depth - 1)} THEN {a} END",
            ]
        )  # fmt: skip

    def condition(self, depth: int) -> str:
        if depth == 0:
            return self.random.choice(["b", "true", "s IS NULL", "d = d", "i < l", "NOT b"])
        kind = self.random.choice([self.number, self.number, self.text, self.moment])
        first, other = kind(depth - 1), kind(depth - 1)
        comparison = self.random.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
        nested = self.condition(depth - 1)
        return self.random.choice(
            [
                f"({first} {comparison} {other})", f"({first} {comparison} {other})",
                f"({nested} AND {self.condition(0)})", f"({nested} OR {self.condition(0)})",
                f"(NOT {nested})", f"({first} IS NULL)", f"({first} IN ({other}, {kind(0)}))",
                f"({first} BETWEEN {kind(0)} AND {other})", f"({self.text(0)} LIKE '%a%')",
                f"({self.text(0)} LIKE '_!_%' ESCAPE '!')",
            ]
        )  # fmt: skip


def test_random_expressions(unusual_rows: Any) -> None:
    expressions = RandomExpressions(SEED)
    depths = (expressions.random.randint(1, 3) for _ in range(MANY))
    texts = list(dict.fromkeys(map(expressions.any, depths)))
    types = types_of(unusual_rows, texts)
    ours = by_update(list(types), types)
    skipped = [text for text in types if str(ours[text]).endswith(".unsupported")]
    supported = [text for text in types if text not in skipped]
    # one job for the expressions that have values, and one for each that fails
    valued = [text for text in supported if not isinstance(ours[text], str)]
    theirs = by_spark(unusual_rows, valued)
    for text in supported:
        if text not in theirs:
            theirs |= by_spark(unusual_rows, [text])
    wrong = {
        text: difference(ours[text], theirs[text])
        for text in supported
        if not same(ours[text], theirs[text])
    }
    print(f"{len(types)} of {len(texts)} are typed, {len(skipped)} skipped, {len(valued)} valued")
    assert not wrong, f"seed {SEED}: {len(wrong)} of {len(supported)}"
    assert len(supported) > MANY * 0.5
