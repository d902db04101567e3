"""Deprecated arguments and results: they work, with a warning that names the new ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltareplay as dr
import deltareplay.spark as dr_spark
from deltareplay._table import renamed

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string())])
ROWS = [{"id": 1, "p": "a"}, {"id": 2, "p": "b"}]

#: By function, old argument and value: the new argument and value, and the warning.
ALIASES: dict[tuple[str, str, Any], tuple[str, Any, str]] = {
    ("Table.overwrite", "partitions", "dynamic"): (
        "partition_overwrite",
        "dynamic",
        "overwrite(partitions=) is deprecated: write partition_overwrite='dynamic'",
    ),
    ("Table.clone", "replace", True): (
        "or_replace",
        True,
        "clone(replace=) is deprecated: write or_replace=True",
    ),
    ("spark.clone", "replace", True): (
        "or_replace",
        True,
        "clone(replace=) is deprecated: write or_replace=True",
    ),
    ("spark.write", "partition_by", ("p",)): (
        "partition_columns",
        ("p",),
        "write(partition_by=) is deprecated: write partition_columns=('p',)",
    ),
    ("spark.write", "replace_where", "id = 1"): (
        "where",
        "id = 1",
        "write(replace_where=) is deprecated: write where='id = 1'",
    ),
    ("spark.write", "merge_schema", True): (
        "schema_mode",
        "merge",
        "write(merge_schema=) is deprecated: write schema_mode='merge'",
    ),
    ("spark.write", "overwrite_schema", True): (
        "schema_mode",
        "overwrite",
        "write(overwrite_schema=) is deprecated: write schema_mode='overwrite'",
    ),
}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Table.overwrite": dr.Table.overwrite,
    "Table.clone": dr.Table.clone,
    "spark.clone": dr_spark.clone,
    "spark.write": dr_spark.write,
}


def path_of(function: str) -> str:
    """Return the module and the name by which ``renamed.OLD`` lists a function."""
    return f"{FUNCTIONS[function].__module__}.{FUNCTIONS[function].__qualname__}"


def warned() -> Any:
    return pytest.warns(DeprecationWarning, match="write ")


def test_every_old_spelling_is_listed() -> None:
    listed = {(path_of(function), name) for function, name, _ in ALIASES}
    assert listed == set(renamed.OLD)


@pytest.mark.parametrize("alias", ALIASES, ids=lambda alias: f"{alias[0]}-{alias[1]}")
def test_an_old_argument_is_passed_on_with_a_warning(alias: tuple[str, str, Any]) -> None:
    function, name, value = alias
    new_name, expected, message = ALIASES[alias]
    parameters = inspect.signature(FUNCTIONS[function]).parameters
    assert new_name in parameters
    assert name not in parameters
    received: dict[str, Any] = {}

    def stand_in(**arguments: Any) -> None:
        received.update(arguments)

    stand_in.__name__ = function.rpartition(".")[2]
    old = renamed.OLD[path_of(function), name]
    with pytest.warns(DeprecationWarning, match=name) as reported:
        renamed.renamed(**{name: old})(stand_in)(**{name: value})
    del renamed.OLD[f"{__name__}.{stand_in.__qualname__}", name]
    assert received == {new_name: expected}
    assert [str(item.message) for item in reported] == [message]
    assert reported[0].filename == __file__


def test_an_overwrite_by_its_old_argument(tmp_path: Path) -> None:
    table = dr.create_table(tmp_path / "t", SCHEMA, ["p"])
    table.append(ROWS)
    with pytest.warns(DeprecationWarning, match="partition_overwrite='dynamic'") as reported:
        table.overwrite([{"id": 3, "p": "b"}], partitions="dynamic")  # type: ignore[call-arg]
    assert reported[0].filename == __file__
    assert table.snapshot().scan(["id"]).to_arrow()["id"].to_pylist() == [1, 3]
    with warned(), pytest.raises(dr.InvalidArgumentError) as caught:
        table.overwrite(ROWS, partitions="some")  # type: ignore[call-arg]
    assert caught.value.code == "rows.partitions"


def test_a_clone_by_its_old_argument(rows: dr.Table, tmp_path: Path) -> None:
    rows.clone(tmp_path / "c", shallow=False)
    with pytest.warns(DeprecationWarning, match="or_replace=True"):
        rows.clone(tmp_path / "c", shallow=False, replace=True)  # type: ignore[call-arg]
    assert dr.Table(tmp_path / "c").snapshot().version == 1
    with pytest.raises(dr.InvalidArgumentError) as caught:
        rows.clone(tmp_path / "c", replace=True, or_replace=True)  # type: ignore[call-arg]
    assert caught.value.code == "argument.renamed"


def test_a_default_by_its_old_name_changes_nothing() -> None:
    reported = {"merge_schema": renamed.Old("schema_mode", {True: "merge", False: None})}
    with pytest.warns(DeprecationWarning, match=r"write\(merge_schema=\) .*: leave it out"):
        assert renamed._with_new_names("write", {"merge_schema": False}, reported) == {}


def test_values_by_their_old_names_are_checked(rows: dr.Table, tmp_path: Path) -> None:
    with warned(), pytest.raises(dr.InvalidArgumentError) as caught:
        rows.clone(tmp_path / "c", replace="yes")  # type: ignore[call-arg]
    assert caught.value.code == "argument.type"
    assert "or_replace" in str(caught.value)


def test_a_write_still_returns_its_version() -> None:
    written = renamed.WrittenVersion(7, {"numFiles": 1})
    assert written == dr.Written(7, {"numFiles": 1})
    assert written != dr.Written(8, {"numFiles": 1})
    for use in (lambda: written == 7, lambda: written.__index__() == 7, lambda: range(8)[written]):
        with pytest.warns(DeprecationWarning, match=r"write \.version for its version") as reported:
            assert use()
        assert reported[0].filename == __file__
    with warned(), pytest.raises(TypeError, match="NoneType"):
        range(8)[renamed.WrittenVersion(None, {})]


def test_refresh_is_the_name_of_update(rows: dr.Table) -> None:
    before = rows.snapshot(version=0)
    assert before.refresh().version == before.update().version == rows.snapshot().version > 0
