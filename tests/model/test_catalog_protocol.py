"""The rules by which deltareplay commits through a catalog hold in every interleaving."""

from __future__ import annotations

import pytest
from model.catalog_protocol import Rules, explore


@pytest.mark.parametrize(("writers", "faults"), [(2, 3), (3, 2)])
@pytest.mark.parametrize("catalog_first", [True, False], ids=["catalog first", "listing first"])
def test_nothing_is_lost_doubled_or_misread(writers: int, faults: int, catalog_first: bool) -> None:
    states, wrong = explore(writers, faults, Rules(catalog_first=catalog_first))
    assert states > 500
    assert wrong == []


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (Rules(same_name=False), "committed twice"),
        (Rules(asks_first=False), "committed twice"),
        (Rules(in_order=False), "a gap"),
        (Rules(catalog_first=False, lists_again=False), "a gap"),
        (
            Rules(in_order=False, passes_over_later=False),
            "a version without the one before",
        ),
    ],
    ids=["new name", "silence is a refusal", "out of order", "one listing", "later ones count"],
)
def test_other_rules_break(rules: Rules, expected: str) -> None:
    _, wrong = explore(2, 2, rules)
    assert expected in wrong
