"""Conversion of a Unity Catalog server's errors to exceptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from deltareplay.catalogs._rest import RestError
from deltareplay.exceptions import (
    CorruptTableError,
    DeltaReplayError,
    InvalidArgumentError,
    StorageError,
    TableNotFoundError,
)

T = TypeVar("T")

#: The kind of the error for a table that only the older API serves (``OlderTable``).
UNSUPPORTED_FORMAT = "UnsupportedTableFormatException"


def to_exception(error: RestError, name: str) -> DeltaReplayError:
    """Return the exception for an error response; ``name`` is that of the table."""
    message = f"the catalog reports an error for {name}: {str(error).rstrip('.')}"
    if error.status in (401, 403):
        return InvalidArgumentError(
            f"{message}. Pass a token that may do this, or ask for the permission",
            code="catalog.denied",
        )
    if error.status == 404:
        return TableNotFoundError(f"{message}. Check the name", code="catalog.no_table")
    if error.kind == "UpdateRequirementConflictException":
        return CorruptTableError(
            f"{message}. The table was replaced: open it again",
            code="catalog.table_id",
        )
    if error.kind == "AlreadyExistsException":
        return InvalidArgumentError(f"{message}. Choose another name", code="table.exists")
    if error.status >= 500 or error.status == 429:
        return StorageError(message, code="catalog.unreachable")
    return InvalidArgumentError(message, code="catalog.refused")


def call_catalog(request: Callable[[], T], name: str) -> T:
    """Make a request about a table; convert errors and invalid responses to our exceptions."""
    try:
        return request()
    except RestError as error:
        raise to_exception(error, name) from error
    except DeltaReplayError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise StorageError(
            f"the catalog's response about {name} is incomplete or invalid: {error!r}",
            code="catalog.response",
        ) from error
