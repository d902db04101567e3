"""The rules by which deltareplay commits through a catalog hold in every interleaving."""

from __future__ import annotations

import pytest
from model.catalog_protocol import Rules, explore


@pytest.mark.parametrize(("writers", "faults"), [(2, 3), (3, 2)])
@pytest.mark.parametrize("catalog_first", [True, False], ids=["catalog first", "listing first"])
def test_every_commit_is_ratified_and_read_once(
    writers: int, faults: int, catalog_first: bool
) -> None:
    states, wrong = explore(writers, faults, Rules(catalog_first=catalog_first))
    assert states > 500
    assert wrong == []


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (Rules(same_name=False), "committed twice"),
        (Rules(queries_first=False), "committed twice"),
        (Rules(in_order=False), "a gap"),
        (Rules(catalog_first=False, lists_again=False), "a gap"),
        (Rules(in_order=False, ignores_later=False), "a version without the previous one"),
    ],
    ids=["new name", "no query", "out of order", "one listing", "later versions are read"],
)
def test_weaker_rules_violate_an_invariant(rules: Rules, expected: str) -> None:
    _, wrong = explore(2, 2, rules)
    assert expected in wrong
