"""Old spellings of arguments and results: they work for one more release, with a warning."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from deltareplay._support.arguments import checked
from deltareplay._support.warnings import warn
from deltareplay._transaction.written import Written
from deltareplay.exceptions import InvalidArgumentError

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Old:
    """An old spelling of an argument.

    Attributes:
        now: The argument that says the same now.
        values: What the old values are now; None if they are the same.
    """

    now: str
    values: Mapping[Any, Any] | None = None

    def value(self, argument: Any) -> Any:
        """The value of today's argument."""
        return argument if self.values is None else self.values.get(argument, argument)


#: Every old spelling, by the function's qualified name and the argument.
OLD: dict[tuple[str, str], Old] = {}


def renamed(**names: str | Old) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function that takes old spellings of its arguments too, and says what to write instead.

    Args:
        names: What each old argument is now called.
    """
    old_names = {name: Old(now) if isinstance(now, str) else now for name, now in names.items()}

    def of(function: Callable[P, R]) -> Callable[P, R]:
        for name, old in old_names.items():
            OLD[f"{function.__module__}.{function.__qualname__}", name] = old
        inside = checked(function)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            used = [name for name in old_names if name in kwargs]
            if not used:
                return inside(*args, **kwargs)
            return inside(*args, **_today(function.__name__, kwargs, old_names))

        return call

    return of


def _today(
    function: str, values: Mapping[str, Any], old_names: Mapping[str, Old]
) -> dict[str, Any]:
    """Arguments without old spellings.

    Raises:
        InvalidArgumentError: ``argument.renamed``: one is given twice, by its old and its new name.
    """
    arguments = {name: value for name, value in values.items() if name not in old_names}
    for name, old in old_names.items():
        if name not in values:
            continue
        if old.now in values:
            raise InvalidArgumentError(
                f"{name} is the old spelling of {old.now}: pass {old.now} alone",
                code="argument.renamed",
            )
        value = old.value(values[name])
        instead = "leave it out" if value is None else f"write {old.now}={value!r}"
        warn(f"{function}({name}=) is deprecated: {instead}", DeprecationWarning)
        if value is not None:
            arguments[old.now] = value
    return arguments


class WrittenVersion(Written):
    """A write that can still be taken for its version, which was returned instead before."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int):
            return self.__index__() == other
        return isinstance(other, Written) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.version)

    def __index__(self) -> int:
        warn("a write returns a Written: write .version for its version", DeprecationWarning)
        return operator.index(self.version)  # type: ignore[arg-type]  # a TypeError if it is None
