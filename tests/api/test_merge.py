"""``Table.merge``: the order of clauses, multiple matches, the change data feed, row ids."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.writing import MODES

import deltareplay as dr

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.int64()), ("p", pa.string())])


def filled(path: Path, properties: dict[str, str], partitions: list[str]) -> dr.Table:
    """A table of ids 0 to 9 with v = id, in at least two files."""
    table = dr.create_table(path, SCHEMA, partitions, properties)
    for start in (0, 5):
        ids = range(start, start + 5)
        table.append([{"id": number, "v": number, "p": "ab"[number % 2]} for number in ids])
    return table


def values(table: dr.Table) -> dict[int, int]:
    rows = pa.table(table.snapshot(strict=True)).to_pylist()
    result = {row["id"]: row["v"] for row in rows}
    assert len(result) == len(rows)
    return result


SOURCE = pa.table({"id": [1, 3, 7, 20, 21], "v": [10, 30, 70, 200, 210]})


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("partitions", [[], ["p"]], ids=["plain", "partitioned"])
def test_every_clause(mode: str, partitions: list[str], tmp_path: Path) -> None:
    properties = {**MODES[mode], "delta.enableChangeDataFeed": "true"}
    table = filled(tmp_path / "t", properties, partitions)
    tracked = "ids" in mode

    def row_ids() -> dict[int, int]:
        rows = pa.table(table.snapshot().scan(with_row_id=True)).to_pylist()
        return {row["id"]: row["_row_id"] for row in rows}

    before = row_ids() if tracked else {}
    done = (
        table.merge(SOURCE, "id")
        .when_matched_delete("source.v = 30")
        .when_matched_update({"v": "target.v + source.v"})
        .when_not_matched_insert({"id": "id", "v": "-source.v", "p": "'c'"}, "source.id > 20")
        .when_not_matched_by_source_update({"v": 0}, "target.id = 0")
        .when_not_matched_by_source_delete("target.v >= 8")
        .execute()
    )
    assert values(table) == {0: 0, 1: 11, 2: 2, 4: 4, 5: 5, 6: 6, 7: 77, 21: -210}
    numbers = {
        name: done.metrics["numTargetRows" + name] for name in ("Inserted", "Updated", "Deleted")
    }
    assert numbers == {"Inserted": 1, "Updated": 3, "Deleted": 3}
    assert done.metrics["numSourceRows"] == 5
    if tracked:
        after = row_ids()
        assert all(after[item] == before[item] for item in after if item != 21)
        assert after[21] not in before.values()
    assert done.version is not None
    changes = table.changes(done.version, require_feed=True).to_arrow().to_pylist()
    reported = sorted((row["id"], row["_change_type"], row["v"]) for row in changes)
    assert reported == [
        (0, "update_postimage", 0),
        (0, "update_preimage", 0),
        (1, "update_postimage", 11),
        (1, "update_preimage", 1),
        (3, "delete", 3),
        (7, "update_postimage", 77),
        (7, "update_preimage", 7),
        (8, "delete", 8),
        (9, "delete", 9),
        (21, "insert", -210),
    ]
    [info] = table.history(limit=1).to_pylist()
    assert info["operation"] == "MERGE"
    assert json.loads(dict(info["operationParameters"])["matchedPredicates"]) == [
        {"predicate": "source.v = 30", "actionType": "delete"},
        {"actionType": "update"},
    ]


def test_upsert(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", {}, [])
    source = [{"id": 4, "v": 40, "p": "x"}, {"id": 30, "v": 300, "p": "y"}]
    merge = table.merge(source, ["id"]).when_matched_update_all().when_not_matched_insert_all()
    assert merge.execute().metrics["numTargetRowsCopied"] == 4
    result = values(table)
    assert result.pop(30) == 300
    assert result == {**{number: number for number in range(10)}, 4: 40}
    assert table.snapshot().num_files == 2, "the unchanged file and the new one"


@pytest.mark.parametrize("name", ["2024", "1a", " a", "a ", "a.b", "a`b", "null", "source"])
def test_all_columns_by_their_names(name: str, tmp_path: Path) -> None:
    properties = {"delta.columnMapping.mode": "name"}
    schema = pa.schema([("id", pa.int64()), (name, pa.string())])
    table = dr.create_table(tmp_path / "t", schema, properties=properties)
    table.append([{"id": 1, name: "x"}])
    source = [{"id": 1, name: "y"}, {"id": 2, name: "z"}]
    merge = table.merge(source, "id").when_matched_update_all().when_not_matched_insert_all()
    merge.execute()
    quoted = "`" + name.replace("`", "``") + "`"
    table.update(f"{quoted} = 'z'", {quoted: "'w'"})
    rows = table.snapshot().scan().to_arrow().to_pylist()
    assert {row["id"]: row[name] for row in rows} == {1: "y", 2: "w"}


def test_inserts_alone_append(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", {"delta.enableChangeDataFeed": "true"}, [])
    done = table.merge(SOURCE, {"id": "id"}).when_not_matched_insert_all().execute()
    assert done.metrics["numTargetFilesRemoved"] == 0
    assert done.metrics["numTargetChangeFilesAdded"] == 0
    assert set(values(table)) == {*range(10), 20, 21}
    repeated = table.merge(SOURCE, "id").when_not_matched_insert_all().execute()
    assert repeated.version is None


@pytest.mark.parametrize(
    ("on", "expected"),
    [
        ("target.id = source.id", 5),
        ("source.id = target.id AND target.v < 5", 2),
        ("target.id = source.id AND target.v * 10 = source.v", 5),
        ("target.id = source.id - 1", 5),
        ("CAST(target.id AS STRING) = source.text", 1),
        ("(target.id = source.id)", 5),
    ],
)
def test_conditions_of_the_join(on: str, expected: int, tmp_path: Path) -> None:
    table = filled(tmp_path / "t", {}, [])
    source = pa.table(
        {
            "id": pa.array([1, 3, 7, 8, 9, None], pa.int32()),
            "v": [10, 30, 70, 80, 90, 0],
            "text": ["1", "x", "01", None, "", "y"],
        }
    )
    done = table.merge(source, on).when_matched_update({"v": -1}).execute()
    updated = sum(value == -1 for value in values(table).values())
    assert done.metrics["numTargetRowsUpdated"] == updated == expected


@pytest.mark.parametrize(("on", "matches"), [("false", 0), ("NULL", 0), ("True", 1)])
def test_constants_as_conditions(tmp_path: Path, on: str, matches: int) -> None:
    """As in delta-spark, where ``ON false`` replaces rows in one commit."""
    table = dr.create_table(tmp_path / "t", SCHEMA)
    table.append([{"id": 0, "v": 0, "p": "a"}])
    merge = table.merge([{"id": 1, "v": 1, "p": "b"}], on)
    merge.when_matched_delete().when_not_matched_insert_all().execute()
    assert values(table) == ({} if matches else {0: 0, 1: 1})
    with pytest.raises(dr.InvalidArgumentError, match="false"):
        table.merge([{"id": 1}], ["false"]).when_matched_delete().execute()


def test_aliases_and_names_of_keys(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", {}, [])
    source = pa.table({"key": [2], "n": [20]})
    merge = table.merge(source, {"key": "id"}, source_alias="s", target_alias="t")
    merge.when_matched_update({"v": "s.n + t.v + n"}).execute()
    assert values(table)[2] == 42


@pytest.mark.parametrize("mode", ["copies", "vectors"])
def test_several_source_rows_match_one_row(mode: str, tmp_path: Path) -> None:
    table = filled(tmp_path / "t", MODES[mode], [])
    source = pa.table({"id": [4, 4, 5], "v": [1, 2, 3]})
    before = sorted((tmp_path / "t").rglob("*"))
    message = r"row \{id: 4, p: a\} of the table.*id: 4, v: 1.*id: 4, v: 2"
    with pytest.raises(dr.InvalidArgumentError, match=message) as caught:
        table.merge(source, "id").when_matched_update({"v": "source.v"}).execute()
    assert caught.value.code == "rows.ambiguous"
    assert "_row_index" not in str(caught.value)  # which is read, but no column of the table
    assert sorted((tmp_path / "t").rglob("*")) == before
    # the condition of a clause does not make the match unambiguous
    with pytest.raises(dr.InvalidArgumentError, match="refine `on`"):
        table.merge(source, "id").when_matched_update({"v": "source.v"}, "source.v >= 2").execute()
    on = "target.id = source.id AND source.v >= 2"
    table.merge(source, on).when_matched_update({"v": "source.v"}).execute()
    assert values(table) == {**{number: number for number in range(10)}, 4: 2, 5: 3}
    # inserts and deletes allow several matches
    assert table.merge(source, "id").when_not_matched_insert_all().execute().version is None
    table.merge(source, "id").when_matched_delete().execute()
    assert set(values(table)) == set(range(10)) - {4, 5}


WRONG: dict[str, tuple[Any, str]] = {
    "no clause": (lambda merge: merge, "rows.merge"),
    "two clauses without a condition": (
        lambda merge: merge.when_matched_delete().when_matched_update({"v": 1}),
        "rows.merge",
    ),
    "an unknown column": (lambda merge: merge.when_matched_update({"x": 1}), "rows.column"),
    "an incomplete expression": (
        lambda merge: merge.when_matched_update({"v": "source."}),
        "formula.syntax",
    ),
    "a condition that is not boolean": (
        lambda merge: merge.when_matched_delete("source.v"),
        "formula.type",
    ),
    "an insert of an unknown column": (
        lambda merge: merge.when_not_matched_insert({"x": "source.v"}),
        "rows.column",
    ),
    "an insert of a column of no target row": (
        lambda merge: merge.when_not_matched_insert({"id": "target.id"}),
        "formula.column",
    ),
    "an insert on a condition on no target row": (
        lambda merge: merge.when_not_matched_insert({"id": 1}, "target.v IS NULL"),
        "formula.column",
    ),
    "an update from no source row": (
        lambda merge: merge.when_not_matched_by_source_update({"v": "1 + source.v"}),
        "formula.column",
    ),
    "a delete on a condition on no source row": (
        lambda merge: merge.when_not_matched_by_source_delete("source.v IS NULL"),
        "formula.column",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_invalid_clauses_are_refused(case: str, tmp_path: Path) -> None:
    add, code = WRONG[case]
    table = filled(tmp_path / "t", {}, [])
    with pytest.raises(dr.InvalidArgumentError) as caught:
        add(table.merge(SOURCE, "id")).execute()
    assert caught.value.code == code
    assert table.snapshot().version == 2


def test_a_column_of_both_sides_needs_an_alias_in_any_case(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("É", pa.int64())]))
    merge = table.merge({"id": [1], "é": [2]}, "target.id = source.id")
    with pytest.raises(dr.InvalidArgumentError, match=r"target\.`É`, source\.`é`") as caught:
        merge.when_matched_update({"É": "`É` + 1"}).execute()
    assert caught.value.code == "formula.column"


def test_a_join_without_an_equality(tmp_path: Path) -> None:
    """There are far more pairs of rows than are held at once."""
    table = dr.create_table(tmp_path / "t", pa.schema([("id", pa.int64()), ("v", pa.int64())]))
    table.append(pa.table({"id": range(2000), "v": range(2000)}))
    source = pa.table({"low": range(0, 4000, 10), "high": range(1, 4001, 10)})
    merge = table.merge(source, "target.id >= low AND target.id < high")
    merge = merge.when_matched_update({"v": "-target.v"}).when_not_matched_insert({"id": "low"})
    done = merge.execute()
    assert (done.metrics["numTargetRowsUpdated"], done.metrics["numTargetRowsInserted"]) == (
        200,
        200,
    )
    result = pa.table(table.snapshot()).to_pylist()
    assert sorted(row["id"] for row in result) == [*range(2000), *range(2000, 4000, 10)]
    by_id = {row["id"]: row["v"] for row in result}
    assert all(by_id[number] == (number if number % 10 else -number) for number in range(2000))


def test_invalid_join_conditions_are_refused(tmp_path: Path) -> None:
    table = filled(tmp_path / "t", {}, [])
    for on, code in (("nothing", "formula.column"), ("target.id + 1", "formula.type")):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            table.merge(SOURCE, on).when_matched_delete().execute()
        assert caught.value.code == code


@pytest.mark.parametrize("key", [[1], {"a": 1}], ids=["array", "struct"])
@pytest.mark.parametrize("on", ["target.k = source.k", "target.k <=> source.k", "k"])
def test_nested_values_are_no_keys(on: str, key: Any, tmp_path: Path) -> None:
    rows = pa.Table.from_pylist([{"k": key, "v": 1}])
    table = dr.create_table(tmp_path / "t", rows.schema)
    merge = table.merge(rows, on).when_matched_update_all().when_not_matched_insert_all()
    with pytest.raises(dr.InvalidArgumentError, match=r"ARRAY<BIGINT>|STRUCT<a: BIGINT>") as caught:
        merge.execute()
    assert caught.value.code == "formula.type"
    assert table.snapshot().version == 0


def test_a_merge_is_created_by_a_table_only() -> None:
    with pytest.raises(TypeError, match=r"Table\.merge"):
        dr.Merge()


@pytest.mark.parametrize("source", [[], {}, ()], ids=str)
def test_a_source_without_rows(source: Any, tmp_path: Path) -> None:
    table = filled(tmp_path / "t", {}, [])
    merge = table.merge(source, "id").when_matched_update_all().when_not_matched_insert_all()
    assert merge.execute().version is None
    table.merge(source, "id").when_not_matched_by_source_delete("target.id > 1").execute()
    assert values(table) == {0: 0, 1: 1}


@pytest.mark.parametrize("on", [[], {}, ()], ids=str)
def test_a_merge_needs_a_condition(on: Any, tmp_path: Path) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        filled(tmp_path / "t", {}, []).merge(SOURCE, on)
    assert caught.value.code == "rows.merge"


@pytest.mark.parametrize("keys", [[1.0, 2.5], [1, 2.5], [Decimal("1.0"), Decimal("2.5")]], ids=str)
def test_numbers_of_plain_rows_are_not_cut_off_before_they_are_compared(
    keys: list[Any], tmp_path: Path
) -> None:
    table = filled(tmp_path / "t", {}, [])
    merge = table.merge({"id": keys, "v": [100, 200]}, "id")
    merge.when_matched_update({"v": "source.v"}).execute()
    assert values(table) == {**{number: number for number in range(10)}, 1: 100}


def test_a_condition_is_evaluated_only_where_no_earlier_clause_applies(tmp_path: Path) -> None:
    """Clauses are tried in order, so that an earlier one may protect a later one from a value."""
    table = filled(tmp_path / "t", {}, [])
    source = pa.table({"id": [1, 3, 7], "v": [0, 10, 1000]})
    merge = table.merge(source, "id").when_matched_delete("source.v = 0")
    merge = merge.when_matched_update({"v": "100 / source.v"}, "100 / source.v >= 1")
    merge = merge.when_not_matched_by_source_delete("target.v = 0")
    merge.when_not_matched_by_source_update({"v": -1}, "8 / target.v = 1").execute()
    assert values(table) == {2: 2, 3: 10, 4: 4, 5: 5, 6: 6, 7: 7, 8: -1, 9: 9}
