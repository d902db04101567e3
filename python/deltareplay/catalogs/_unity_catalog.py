"""``UnityCatalog``: tables by name from a Unity Catalog server."""

from __future__ import annotations

import os
from collections.abc import Callable

from deltareplay._support.arguments import checked_methods
from deltareplay.catalogs._catalog import Located
from deltareplay.catalogs._names import table_parts
from deltareplay.catalogs._rest import RestClient
from deltareplay.catalogs._unity_staging import UnityStaging
from deltareplay.catalogs._unity_table import API, UnityTable
from deltareplay.exceptions import InvalidArgumentError

#: Environment variables of address and token: ours first, then those of Databricks.
_ADDRESSES = ("UNITY_CATALOG_URI", "DATABRICKS_HOST")
_TOKENS = ("UNITY_CATALOG_TOKEN", "DATABRICKS_TOKEN")


@checked_methods
class UnityCatalog:
    """A Unity Catalog server: finds tables by name, and commits to tables that it manages.

    Uses the server's API for Delta tables, and the older API for tables for which the server
    responds ``UnsupportedTableFormatException``. No request is made before a table is looked up.

    Args:
        uri: The server, e.g. ``https://host``; by default the environment variable
            ``UNITY_CATALOG_URI``, or ``DATABRICKS_HOST``.
        token: The bearer token, or a function that returns one and is called for each request; by
            default the environment variable ``UNITY_CATALOG_TOKEN``, or ``DATABRICKS_TOKEN``, read
            for each request. Never printed or logged, but a pickle contains a token that was
            passed as a string.
        timeout: Seconds to wait for a response.

    Raises:
        InvalidArgumentError: The address is missing or invalid (``catalog.address``).

    Source: the API of the open Unity Catalog server, ``api/delta.yaml``.

    >>> UnityCatalog("http://localhost:8080", token="secret")
    UnityCatalog('http://localhost:8080')
    """

    def __init__(
        self,
        uri: str | None = None,
        token: str | Callable[[], str] | None = None,
        *,
        timeout: float = 60.0,
    ) -> None:
        address = uri or next(filter(None, map(os.environ.get, _ADDRESSES)), "")
        if not address:
            raise InvalidArgumentError(
                f"there is no address of a Unity Catalog server: pass it, or set {_ADDRESSES[0]}",
                code="catalog.address",
            )
        if "://" not in address:
            address = f"https://{address}"
        self.uri = address.rstrip("/").removesuffix(API)
        self._arguments = (self.uri, token, timeout)
        self._client = RestClient(self.uri + API, token or _token_of_environment, timeout)

    def locate(self, name: str) -> Located:
        """Find a table: one request, or a few with the older API.

        Args:
            name: ``catalog.schema.table``, with or without ``uc://`` in front.

        Raises:
            TableNotFoundError: There is no such table (``catalog.no_table``).
            InvalidArgumentError: The name is invalid (``catalog.name``); or the catalog rejects the
                token (``catalog.denied``) or the request (``catalog.refused``).
            StorageError: The catalog does not respond (``catalog.unreachable``), or its response is
                invalid (``catalog.response``).
        """
        table = UnityTable(self._client, _parts(name))
        return Located(table.find(), table)

    def staged(self, name: str) -> UnityStaging:
        """Internal: request a location for a new table: one request."""
        return UnityStaging(self._client, _parts(name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnityCatalog) and self._arguments == other._arguments

    def __hash__(self) -> int:
        return hash(self.uri)

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled, self._arguments

    def __repr__(self) -> str:
        return f"UnityCatalog({self.uri!r})"


def _parts(name: str) -> list[str]:
    return table_parts(name, ("uc", "unity"), "catalog.schema.table")


def _token_of_environment() -> str:
    return next(filter(None, map(os.environ.get, _TOKENS)), "")


def _unpickled(uri: str, token: str | Callable[[], str] | None, timeout: float) -> UnityCatalog:
    return UnityCatalog(uri, token, timeout=timeout)
