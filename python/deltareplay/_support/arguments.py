"""Checks of the arguments of public functions, by their annotations."""

from __future__ import annotations

import datetime
import functools
import inspect
import math
import operator
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

from deltareplay.exceptions import InvalidArgumentError

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)
T = TypeVar("T")

#: The largest integer that the core takes. It reports the range of each argument itself.
_MAX_INTEGER = 2**127 - 1


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function so that its arguments are checked by their annotations.

    Integers, including numpy's, become ``int``, but a bool is not a number. Where a sequence of
    names is expected, a single name becomes a sequence. Arguments with other annotations are passed
    unchanged.

    Raises:
        InvalidArgumentError: ``argument.type``, with the name of the argument;
            ``argument.range``: an integer has 128 bits or more; ``argument.timestamp``: a
            ``datetime`` has no time; ``argument.text``: a string has half of a surrogate pair.
    """

    @functools.cache
    def declared() -> tuple[inspect.Signature, dict[str, Any]]:
        # at the first call, since a class has many methods and a program calls few
        signature = inspect.signature(function)
        return signature, {
            name: _for_each(rule) if parameter.kind is parameter.VAR_POSITIONAL else rule
            for name, parameter in signature.parameters.items()
            if (rule := _rule(str(parameter.annotation))) is not None
        }

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        signature, rules = declared()
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # raises its own error
        for name, value in bound.arguments.items():
            rule = rules.get(name)
            if rule is not None:
                bound.arguments[name] = rule(name, value)
        try:
            return function(*bound.args, **bound.kwargs)
        except (UnicodeEncodeError, TypeError):  # the core takes UTF-8
            for name, value in bound.arguments.items():
                if not _is_encodable(value):
                    raise InvalidArgumentError(  # not repeated: it may be a secret
                        f"{name} has half of a surrogate pair, which UTF-8 cannot encode: decode it"
                        " again, without errors='surrogateescape' or 'surrogatepass'",
                        code="argument.text",
                    ) from None
            raise

    return call


def checked_methods(cls: C) -> C:
    """Wrap the public methods and the constructor of a class by ``checked``."""
    for name, member in list(vars(cls).items()):
        if name == "__init__" or not name.startswith("_"):
            if inspect.isfunction(member):
                setattr(cls, name, checked(member))
            elif isinstance(member, (classmethod, staticmethod)):
                setattr(cls, name, type(member)(checked(member.__func__)))
    return cls


def _is_encodable(value: Any, depth: int = 3) -> bool:
    """Return whether the strings in a value can be encoded."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return False
    elif depth and isinstance(value, Mapping):
        return all(_is_encodable(part, depth - 1) for pair in value.items() for part in pair)
    elif depth and isinstance(value, (list, tuple)):
        return all(_is_encodable(part, depth - 1) for part in value)
    return True


def names(argument: str, value: Any) -> list[str]:
    """Convert names to a list; a single name becomes a list of one item.

    Raises:
        InvalidArgumentError: ``argument.type``.

    >>> names("columns", "id"), names("columns", ("id", "s"))
    (['id'], ['id', 's'])
    """
    if isinstance(value, str):
        return [value]
    if _is_iterable(value) and not isinstance(value, (bytes, Mapping)):
        items = list(value)
        for item in items:
            if not isinstance(item, str):
                raise _wrong(
                    argument, "a name or a sequence of names", item, subject=f"its item {item!r}"
                )
        return items
    raise _wrong(argument, "a name or a sequence of names", value)


def _is_iterable(value: Any) -> bool:
    """Return whether a value has items: an array of no dimension has the method, but no items."""
    try:
        iter(value)
    except TypeError:
        return False
    return True


def _integer(argument: str, value: Any, expected: str = "an integer") -> int:
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise _wrong(argument, expected, value)
    if -_MAX_INTEGER <= number <= _MAX_INTEGER:
        return number
    raise InvalidArgumentError(
        f"{argument} is a number of {number.bit_length()} bits: pass one of at most 64",
        code="argument.range",
    )


def _seconds(argument: str, value: Any) -> float:
    """Check a period, the only numbers of public functions that are not integers."""
    seconds = float(value) if isinstance(value, float) else _integer(argument, value, "a number")
    if 0 <= seconds < math.inf:  # not NaN
        return min(seconds, threading.TIMEOUT_MAX)
    raise InvalidArgumentError(
        f"{argument} is {value}: pass a finite number of seconds, 0 or more", code="argument.range"
    )


def _flag(argument: str, value: Any) -> bool:
    # numpy's class is not a bool; it has had two names
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise _wrong(argument, "True or False", value)


def _of_type(kind: type, expected: str) -> Callable[[str, Any], Any]:
    def check(argument: str, value: Any) -> Any:
        if isinstance(value, kind):
            return value
        raise _wrong(argument, expected, value)

    return check


_text = _of_type(str, "a string")


def _time(argument: str, value: Any) -> datetime.datetime:
    if isinstance(value, datetime.datetime):
        return _with_time(argument, value)
    raise _wrong(argument, "a datetime", value)


def _timestamp(argument: str, value: Any) -> datetime.datetime | str:
    if isinstance(value, (datetime.datetime, str)):
        return _with_time(argument, value)
    raise _wrong(argument, "a datetime or an ISO 8601 string", value)


def _version_or_timestamp(argument: str, value: Any) -> int | datetime.datetime | str:
    if isinstance(value, (datetime.datetime, str)):
        return _with_time(argument, value)
    return _integer(argument, value, "a version, a datetime or an ISO 8601 string")


def _with_time(argument: str, value: T) -> T:
    """Check that a ``datetime`` has a time: pandas' ``NaT`` is one without, and a zone may fail."""
    if isinstance(value, datetime.datetime):
        try:
            value.utcoffset()
        except Exception as error:
            raise InvalidArgumentError(
                f"{argument} is a {type(value).__name__} without a time: {error}",
                code="argument.timestamp",
            ) from error
    return value


def _version_or_latest(argument: str, value: Any) -> int | str:
    if isinstance(value, str) and value == "latest":
        return "latest"
    return _integer(argument, value, "a version or 'latest'")


def _named_version(argument: str, value: Any) -> tuple[str, int]:
    expected = "a pair of a string and an integer"
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise _wrong(argument, expected, value)
    name, version = value
    if not isinstance(name, str):
        raise _wrong(argument, expected, name, subject=f"its first item {name!r}")
    return name, _integer(f"the version of {argument}", version)


def _path(argument: str, value: Any) -> str:
    path = value.__fspath__() if isinstance(value, os.PathLike) else value
    if isinstance(path, str):
        return path
    raise _wrong(argument, "a path or a URI", value)


def _paths(argument: str, value: Any) -> list[str]:
    values = [value] if isinstance(value, (str, os.PathLike)) else value
    if not _is_iterable(values) or isinstance(values, (bytes, Mapping)):
        raise _wrong(argument, "a sequence of paths or URIs", value)
    return [_path(f"an item of {argument}", item) for item in values]


def _texts_by_name(argument: str, value: Any) -> dict[str, str]:
    expected = "a mapping of strings to strings"
    for key, item in _mapping(argument, value, expected).items():
        if not isinstance(item, str):  # it may be a secret: print only its type
            raise _wrong(argument, expected, item, subject=f"its value of {key!r}")
    return dict(value)


def _mapping(
    argument: str, value: Any, expected: str = "a mapping with strings as keys"
) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(argument, expected, value)
    for key in value:
        if not isinstance(key, str):
            raise _wrong(argument, expected, key, subject=f"its key {key!r}")
    return value


def _names_or_pairs(argument: str, value: Any) -> list[str] | dict[str, str] | str:
    if isinstance(value, Mapping):
        return _texts_by_name(argument, value)
    return value if isinstance(value, str) else names(argument, value)


def _text_or_mapping(argument: str, value: Any) -> str | Mapping[str, Any]:
    if isinstance(value, str):
        return value
    return _mapping(argument, value, "JSON text or a mapping with strings as keys")


def _mappings(argument: str, value: Any) -> Mapping[str, Mapping[str, Any]]:
    for name, item in _mapping(argument, value).items():
        _mapping(f"{argument}[{name!r}]", item)
    return dict(value)


def _values_by_column(argument: str, value: Any) -> Mapping[str, Any]:
    return _mapping(argument, value, "a mapping of columns to values")


def _wrong(
    argument: str, expected: str, value: Any, *, subject: str | None = None
) -> InvalidArgumentError:
    received = f"; {subject} is of type" if subject else " but got"
    return InvalidArgumentError(
        f"{argument} needs to be {expected}{received} {type(value).__name__}", code="argument.type"
    )


def _instance_of(name: str, expected: str) -> Callable[[str, Any], Any]:
    """Return a rule for the instances of a class, which is not imported for that."""

    def check(argument: str, value: Any) -> Any:
        if any(
            f"{cls.__module__.split('.')[0]}.{cls.__name__}" == name for cls in type(value).__mro__
        ):
            return value
        raise _wrong(argument, expected, value)

    return check


_vector = _instance_of("deltareplay.DeletionVector", "a deletion vector")


def _vectors(argument: str, value: Any) -> list[Any]:
    if not _is_iterable(value):
        raise _wrong(argument, "a sequence of deletion vectors", value)
    return [_vector(f"an item of {argument}", item) for item in value]


_column = _instance_of("pyspark.Column", "SQL text or a column")


def _expression(argument: str, value: Any) -> Any:
    return value if isinstance(value, str) else _column(argument, value)


def _expressions_by_column(argument: str, value: Any) -> Mapping[str, Any]:
    for name, item in _values_by_column(argument, value).items():
        _expression(f"{argument}[{name!r}]", item)
    return dict(value)


Rule = Callable[[str, Any], Any]
#: The checks of arguments, by their annotation without `| None`.
_RULES: dict[str, Rule] = {
    "int": _integer,
    "float": _seconds,
    "bool": _flag,
    "str": _text,
    "tuple[str, int]": _named_version,
    "timedelta": _of_type(datetime.timedelta, "a timedelta"),
    "datetime": _time,
    "datetime | str": _timestamp,
    "datetime.datetime | str": _timestamp,
    "int | datetime.datetime | str": _version_or_timestamp,
    "Kind": _text,
    "bytes": _of_type(bytes, "bytes"),
    "uuid.UUID": _instance_of("uuid.UUID", "a UUID"),
    "pa.Table": _instance_of("pyarrow.Table", "a table of pyarrow"),
    "Metadata": _instance_of("deltareplay.Metadata", "the metadata of a table"),
    "Protocol": _instance_of("deltareplay.Protocol", "the protocol of a table"),
    "Snapshot": _instance_of("deltareplay.Snapshot", "a snapshot"),
    "ReplayTail": _instance_of("deltareplay.ReplayTail", "the tail of a replay plan"),
    "DeletionVector": _vector,
    "Sequence[DeletionVector]": _vectors,
    "Sequence[str]": names,
    "str | Sequence[str]": names,
    "str | Iterable[str]": names,
    "Iterable[str]": names,
    "str | Sequence[str] | Mapping[str, str]": _names_or_pairs,
    "int | Literal['latest']": _version_or_latest,  # quoted as Python prints an annotation
    "Mapping[str, str]": _texts_by_name,
    "Mapping[str, str | None]": _mapping,
    "Mapping[str, Any]": _mapping,
    "str | Mapping[str, Any]": _text_or_mapping,
    "Mapping[str, Mapping[str, Any]]": _mappings,
    "Mapping[str, Expression]": _values_by_column,
    "Mapping[str, Value]": _values_by_column,
    "str | Column": _expression,
    "Mapping[str, str | Column]": _expressions_by_column,
    "str | os.PathLike[str]": _path,
    "Sequence[str | os.PathLike[str]]": _paths,
    "Literal['raise', 'skip']": lambda _, value: value,  # checked with a code of its own
}


def _for_each(rule: Rule) -> Rule:
    return lambda argument, values: tuple(rule(argument, value) for value in values)


def _rule(annotation: str) -> Rule | None:
    plain = annotation.removesuffix(" | None")
    rule = _RULES.get(plain, _text if plain.startswith("Literal[") else None)
    if rule is None or plain == annotation:
        return rule
    checks = rule
    return lambda argument, value: None if value is None else checks(argument, value)
