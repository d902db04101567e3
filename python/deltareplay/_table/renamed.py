"""Deprecated names of arguments and results, which work for one more release, with a warning."""

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
    """A deprecated name of an argument.

    Attributes:
        new_name: The new name.
        values: The new values by the old values; None if they are the same.
    """

    new_name: str
    values: Mapping[Any, Any] | None = None

    def value(self, argument: Any) -> Any:
        """Convert a value of the old argument to one of the new argument."""
        return argument if self.values is None else self.values.get(argument, argument)


#: Every old spelling, by the function's qualified name and the argument.
OLD: dict[tuple[str, str], Old] = {}


def renamed(**names: str | Old) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Wrap a function so that it also takes deprecated names of its arguments, with a warning."""
    old_names = {name: Old(new) if isinstance(new, str) else new for name, new in names.items()}

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        for name, old in old_names.items():
            OLD[f"{function.__module__}.{function.__qualname__}", name] = old
        checked_function = checked(function)

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            used = [name for name in old_names if name in kwargs]
            if not used:
                return checked_function(*args, **kwargs)
            return checked_function(*args, **_with_new_names(function.__name__, kwargs, old_names))

        return call

    return decorate


def _with_new_names(
    function: str, values: Mapping[str, Any], old_names: Mapping[str, Old]
) -> dict[str, Any]:
    """Return the arguments without deprecated names.

    Raises:
        InvalidArgumentError: ``argument.renamed``: an argument is passed by both of its names.
    """
    arguments = {name: value for name, value in values.items() if name not in old_names}
    for name, old in old_names.items():
        if name not in values:
            continue
        if old.new_name in values:
            raise InvalidArgumentError(
                f"{name} is the old name of {old.new_name}: pass {old.new_name} alone",
                code="argument.renamed",
            )
        value = old.value(values[name])
        instead = "leave it out" if value is None else f"write {old.new_name}={value!r}"
        warn(f"{function}({name}=) is deprecated: {instead}", DeprecationWarning)
        if value is not None:
            arguments[old.new_name] = value
    return arguments


class WrittenVersion(Written):
    """A result of a write that also works as its version, which earlier releases returned."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int):
            return self.__index__() == other
        return isinstance(other, Written) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.version)

    def __index__(self) -> int:
        warn("a write returns a Written: write .version for its version", DeprecationWarning)
        return operator.index(self.version)  # type: ignore[arg-type]  # a TypeError if it is None
