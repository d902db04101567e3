"""Errors that are also Spark's ``AnalysisException``, which pipelines of delta-spark catch.

This imports PySpark: import it only where a session exists.
"""

from __future__ import annotations

from pyspark.errors import AnalysisException

from deltareplay import exceptions


class TableNotFoundError(exceptions.TableNotFoundError, AnalysisException):  # type: ignore[misc]
    """There is no Delta table."""


class VersionNotFoundError(exceptions.VersionNotFoundError, AnalysisException):  # type: ignore[misc]
    """The table has no such version or time."""


class InvalidArgumentError(exceptions.InvalidArgumentError, AnalysisException):  # type: ignore[misc]
    """The call contradicts itself or the table."""


class UnsupportedFeatureError(exceptions.UnsupportedFeatureError, AnalysisException):  # type: ignore[misc]
    """The table needs features that this release lacks."""


_CLASSES: dict[type, type[exceptions.DeltaReplayError]] = {
    kind.__mro__[1]: kind
    for kind in (
        TableNotFoundError,
        VersionNotFoundError,
        InvalidArgumentError,
        UnsupportedFeatureError,
    )
}


def as_analysis_error(error: exceptions.DeltaReplayError) -> exceptions.DeltaReplayError:
    """Return an error as one that is also an ``AnalysisException``; others are returned as is.

    >>> wrong = exceptions.InvalidArgumentError("a is no column", code="write.columns")
    >>> error = as_analysis_error(wrong)
    >>> isinstance(error, AnalysisException), error.code, str(error)
    (True, 'write.columns', 'a is no column')
    """
    kind = _CLASSES.get(type(error))
    if kind is None:
        return error
    result = kind.__new__(kind, *error.args)
    AnalysisException.__init__(result, str(error))
    vars(result).update(vars(error))
    return result.with_traceback(error.__traceback__)
