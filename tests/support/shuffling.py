"""Net changes by the steps of a shuffle, as an engine executes them in many processes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltareplay import _native

TASKS = 3


def shuffled(table: Any, changes: Any, size: int) -> pa.Table:
    """Return the rows of net changes; each step only has its own input and the plan as text."""
    planned = changes.shuffle()
    plan = planned.to_json()

    def steps() -> Any:
        return _native.ChangeShuffle(plan)

    parts = planned.parts(size)
    if not parts:
        return pa.schema(changes._native.schema).empty_table()
    row_events = pa.concat_tables(
        pa.table(steps().row_events(table.native, part)) for part in parts
    )
    outcomes = pa.concat_tables(
        pa.table(
            steps().outcomes(
                share.sort_by([("identity", "ascending"), ("identity_low", "ascending")])
            )
        )
        for share in shares(row_events, "identity")
    )
    return pa.concat_tables(
        pa.table(steps().rows(table.native, share.sort_by("piece")))
        for share in shares(outcomes, "piece")
    )


def shares(rows: pa.Table, column: str) -> list[pa.Table]:
    """Split the rows into parts, those with the same value together."""
    numbers = rows[column]
    owner = pc.subtract(numbers, pc.multiply(pc.divide(numbers, TASKS), TASKS))
    return [rows.filter(pc.equal(pc.abs(owner), number)) for number in range(TASKS)]
