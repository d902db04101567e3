"""The rules by which deltareplay commits hold in every interleaving; others do not."""

from __future__ import annotations

import pytest
from model.commit_protocol import Rules, explore


@pytest.mark.parametrize(("writers", "faults"), [(2, 3), (3, 2)])
def test_every_commit_is_in_the_log_once(writers: int, faults: int) -> None:
    states, wrong = explore(writers, faults, Rules())
    assert states > 1_000
    assert wrong == []


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (Rules(read_back=False), "committed twice"),
        (Rules(unknown_at_deadline=False), "reported as failed, and committed"),
        (Rules(waits_for_unreadable=False), "committed twice"),
        (Rules(cleaner_keeps_recent=False), "committed twice"),
    ],
    ids=["no read-back", "failed at the deadline", "unreadable is another's", "eager cleaner"],
)
def test_weaker_rules_violate_an_invariant(rules: Rules, expected: str) -> None:
    _, wrong = explore(2, 2, rules)
    assert expected in wrong
