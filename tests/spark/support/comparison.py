"""Compare the effects of statements and writes, ours and delta-spark's, on copies of a table."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import deltareplay as dr
from deltareplay import spark as dr_spark


def create_table(spark: Any, path: Path, *statements: str) -> Path:
    """Create a table by delta-spark, with statements about ``{t}``."""
    for text in statements:
        spark.sql(text.format(t=f"delta.`{path}`"))
    return path


def texts_by_delta_spark(spark: Any, path: Path, *more: str) -> list[str]:
    """Return the rows that delta-spark reads, with more expressions, as sorted text."""
    frame = spark.read.format("delta").load(str(path))
    return sorted(map(str, frame.select("*", *more).collect()))


def state_of(spark: Any, path: Path) -> tuple[Any, ...]:
    """Return schema, rows, operation, partition columns and properties of the newest version."""
    if not dr.is_table(path):
        return ("no table",)
    snapshot = dr.Table(path).snapshot()
    [last] = dr.Table(path).history(1).select(["operation"]).to_pylist()
    return (
        json.loads(snapshot.schema_json)["fields"],
        texts_by_delta_spark(spark, path),
        last["operation"],
        snapshot.metadata.partition_columns,
        _without_random_values(snapshot.properties),
    )


def _without_random_values(properties: dict[str, str]) -> dict[str, str]:
    """Return properties except those whose values are random."""
    return {key: value for key, value in properties.items() if "materialized" not in key}


def compare(
    spark: Any,
    home: Path,
    base: Path | None,
    theirs: Callable[[Path], Any],
    ours: Callable[[Path], Any],
    *,
    succeeds: bool | None = True,
) -> tuple[Any, ...]:
    """Check that both succeed or fail, and have the same effect; return the final state.

    Args:
        spark: The session.
        home: An empty directory.
        base: The table that both begin with; None if there is none.
        theirs: What delta-spark does with its copy.
        ours: What this package does with its own.
        succeeds: Whether both succeed; otherwise both must fail. None allows both.
    """
    results = []
    for name, act in (("theirs", theirs), ("ours", ours)):
        path = home / name
        if base is not None:
            shutil.copytree(base, path)
        try:
            act(path)
            error = None
        except Exception as caught:
            error = caught
        results.append((error, state_of(spark, path)))
    (their_error, expected), (our_error, result) = results
    assert (our_error is None) == (their_error is None), (our_error, their_error)
    assert succeeds is None or (our_error is None) == succeeds, our_error
    assert result == expected
    if our_error is not None:
        assert isinstance(our_error, dr.DeltaReplayError) or "deltareplay." in str(our_error)
    return result


def compare_statements(
    spark: Any,
    home: Path,
    base: Path,
    texts: Sequence[str],
    *,
    ours: Callable[[str], Any] | None = None,
    changes: bool | None = True,
) -> None:
    """Check that statements, one after the other, succeed or fail in both, with the same effect.

    Two copies of a table serve all of them, which is quicker than ``compare`` for each. After each
    statement the core reads both copies, and at the end delta-spark does.

    Args:
        spark: The session.
        home: An empty directory.
        base: The table that both begin with.
        texts: Statements about ``{t}``.
        ours: Runs a statement of this package; by default its ``sql``.
        changes: Whether each statement changes the table; otherwise each must fail. None allows
            both.
    """
    run = ours or (lambda text: dr_spark.sql(spark, text))
    engines = {home / "theirs": spark.sql, home / "ours": run}
    for path in engines:
        shutil.copytree(base, path)
    before = _state(home / "theirs")
    for text in texts:
        errors = []
        for path, execute in engines.items():
            try:
                execute(text.format(t=f"delta.`{path}`"))
                errors.append(None)
            except Exception as error:
                errors.append(error)
        their_error, our_error = errors
        assert (our_error is None) == (their_error is None), (text, our_error, their_error)
        assert our_error is None or isinstance(our_error, dr.DeltaReplayError), (text, our_error)
        after, expected = _state(home / "ours"), _state(home / "theirs")
        assert after == expected, text
        assert changes is None or (our_error is None) == (after != before) == changes, text
        before = after
    assert state_of(spark, home / "ours") == state_of(spark, home / "theirs")


def _state(path: Path) -> tuple[Any, ...]:
    """Return the result of ``state_of``, and the version, as read by the core."""
    snapshot = dr.Table(path).snapshot()
    [last] = dr.Table(path).history(1).select(["operation"]).to_pylist()
    return (
        json.loads(snapshot.schema_json)["fields"],
        sorted(map(repr, snapshot.scan().to_arrow().to_pylist())),
        last["operation"],
        snapshot.version,
        snapshot.metadata.partition_columns,
        _without_random_values(snapshot.properties),
    )
