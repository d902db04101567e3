"""Explores every reachable state, and returns its problems."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeVar

S = TypeVar("S")


def visited(
    first: S, steps: Callable[[S], Iterable[S]], problems: Callable[[S], Iterable[str]]
) -> tuple[int, list[str]]:
    """Return the number of states, and each problem once.

    Args:
        first: Where it begins; states are values.
        steps: Every state that may come next.
        problems: What is wrong with a state.
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
