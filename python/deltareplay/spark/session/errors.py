"""Decorators of functions whose errors pipelines of delta-spark catch as ``AnalysisException``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from deltareplay.exceptions import DeltaReplayError

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)


def raises_analysis_errors(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function raise errors that are also ``AnalysisException``, as in delta-spark."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except DeltaReplayError as error:
            from deltareplay.spark.session.analysis_errors import as_analysis_error

            raise as_analysis_error(error) from error.__cause__

    return call


def methods_raise_analysis_errors(cls: C) -> C:
    """Wrap the public methods of a class by ``raises_analysis_errors``."""
    for name, member in list(vars(cls).items()):
        if name.startswith("_"):
            continue
        if inspect.isfunction(member):
            setattr(cls, name, raises_analysis_errors(member))
        elif isinstance(member, classmethod):
            setattr(cls, name, classmethod(raises_analysis_errors(member.__func__)))
    return cls
