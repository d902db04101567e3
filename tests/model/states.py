"""Explore every reachable state of a model."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeVar

S = TypeVar("S")


def check_states(
    first: S, steps: Callable[[S], Iterable[S]], problems: Callable[[S], Iterable[str]]
) -> tuple[int, list[str]]:
    """Return the number of states, and each problem once.

    Args:
        first: The initial state; states are hashable values.
        steps: The possible next states of a state.
        problems: The invariants that a state violates.
    """
    seen, open_states = {first}, deque([first])
    wrong: dict[str, None] = {}
    while open_states:
        state = open_states.popleft()
        wrong.update(dict.fromkeys(problems(state)))
        for following in steps(state):
            if following not in seen:
                seen.add(following)
                open_states.append(following)
    return len(seen), list(wrong)
