"""``HiveMetastore``: tables by name from a Hive Metastore."""

from __future__ import annotations

import os
from typing import Any
from urllib.parse import urlsplit

from deltareplay._support.arguments import checked_methods
from deltareplay.catalogs._catalog import Located
from deltareplay.catalogs._hive_entry import HiveEntry
from deltareplay.catalogs._names import table_parts
from deltareplay.catalogs._response_values import field_of, string_map_of
from deltareplay.catalogs._thrift import ThriftError, ThriftRefusal
from deltareplay.catalogs._thrift_client import ThriftClient
from deltareplay.exceptions import InvalidArgumentError, StorageError, TableNotFoundError

_ADDRESSES = ("HIVE_METASTORE_URI", "HIVE_METASTORE_URIS")
_PORT = 9083
#: The maximum number of characters of an error's text that a message repeats.
_MAX_MESSAGE = 2000


@checked_methods
class HiveMetastore:
    """A Hive Metastore: finds tables by name.

    Uses Thrift's binary protocol over a plain connection, which is a metastore's default. Kerberos
    (SASL), TLS and HTTP are not supported. No other package is needed.

    Args:
        uri: The metastore, e.g. ``thrift://host:9083``, or several separated by commas, which are
            tried in this order; by default the environment variable ``HIVE_METASTORE_URI``, or
            ``HIVE_METASTORE_URIS``.
        timeout: Seconds to wait for a connection, and for a response.

    Raises:
        InvalidArgumentError: The address is missing or invalid (``catalog.address``).

    Source: Hive, ``hive_metastore.thrift``.

    >>> HiveMetastore("thrift://metastore")
    HiveMetastore('thrift://metastore:9083')
    """

    def __init__(self, uri: str | None = None, *, timeout: float = 60.0) -> None:
        address = uri or next(filter(None, map(os.environ.get, _ADDRESSES)), "")
        self._servers = [_server(part.strip()) for part in address.split(",") if part.strip()]
        if not self._servers:
            raise InvalidArgumentError(
                f"there is no address of a Hive Metastore: pass it, or set {_ADDRESSES[0]}",
                code="catalog.address",
            )
        self.uri = ",".join(f"thrift://{_authority(*server)}" for server in self._servers)
        self._timeout = timeout

    def locate(self, name: str) -> Located:
        """Find a table: one connection with one request, or two before Hive 2.3.

        Args:
            name: ``schema.table``, or ``catalog.schema.table`` where the metastore has catalogs
                (Hive 3 and later), with or without ``hive://`` in front.

        Raises:
            TableNotFoundError: There is no such table (``catalog.no_table``), or it is not a Delta
                table (``catalog.not_delta``), or it has no location (``catalog.no_location``).
            InvalidArgumentError: The name is invalid (``catalog.name``).
            StorageError: No metastore responds, or it reports an error of its own
                (``catalog.unreachable``), or the response is invalid (``catalog.response``).
        """
        parts = table_parts(name, ("hive",), "[catalog.]schema.table")
        failures: list[str] = []
        for server in self._servers:
            authority = _authority(*server)
            try:
                with ThriftClient(*server, self._timeout) as client:
                    entry = _entry(_table(client, parts), ".".join(parts))
            except OSError as error:
                failures.append(f"{authority}: {error}")
                continue
            except (ThriftError, ThriftRefusal, TypeError) as error:
                raise StorageError(
                    f"the Hive Metastore at {authority} sent an invalid response: "
                    f"{str(error)[:_MAX_MESSAGE]}",
                    code="catalog.response",
                ) from error
            return Located(entry.root())
        raise StorageError(
            f"no Hive Metastore responds: {'; '.join(failures)}", code="catalog.unreachable"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HiveMetastore) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self.uri)

    def _identity(self) -> tuple[str, float]:
        return self.uri, self._timeout

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled, self._identity()

    def __repr__(self) -> str:
        return f"HiveMetastore({self.uri!r})"


def _table(client: ThriftClient, parts: list[str]) -> dict[int, Any]:
    """Return a table, by the numbers of its fields.

    Field 0 of a reply is the result, 1 a ``MetaException``, and 2 a ``NoSuchObjectException``.
    """
    *catalog, schema, table = parts
    arguments = {1: schema, 2: table} | ({4: catalog[0]} if catalog else {})
    try:
        reply = client.call("get_table_req", {1: arguments})
        success = field_of(field_of(reply, 0, dict), 1, dict)
    except ThriftRefusal as error:
        if error.kind != ThriftRefusal.UNKNOWN_METHOD:
            raise
        reply = client.call("get_table", {1: schema, 2: table})  # before Hive 2.3
        success = field_of(reply, 0, dict)
    name = ".".join(parts)
    message = None
    if 2 in reply:
        message = _message(reply, 2) or "it has no such table"
    elif catalog and success and success.get(17) != catalog[0].lower():
        # field 17 is the table's catalog; a metastore without catalogs ignores that of the request
        message = f"it has no catalog {catalog[0]}"
    if message is not None:
        raise TableNotFoundError(
            f"the Hive Metastore reports an error for {name}: {message}. Check the name",
            code="catalog.no_table",
        )
    if 1 in reply:
        raise StorageError(
            f"the Hive Metastore reports an error for {name}: {_message(reply, 1)}",
            code="catalog.unreachable",
        )
    if not success:
        raise ThriftError(f"the response has no table {name}")
    return success


def _message(reply: dict[int, Any], number: int) -> str:
    """Return the text of an exception of the metastore, the field of this number."""
    return field_of(field_of(reply, number, dict), 1, str)[:_MAX_MESSAGE]


def _entry(table: dict[int, Any], name: str) -> HiveEntry:
    descriptor = field_of(table, 7, dict)
    return HiveEntry(
        name,
        kind=field_of(table, 12, str),
        location=field_of(descriptor, 2, str),
        input_format=field_of(descriptor, 3, str),
        parameters=string_map_of(table, 9),
        serde_parameters=string_map_of(field_of(descriptor, 7, dict), 3),
    )


def _server(uri: str) -> tuple[str, int]:
    try:
        parts = urlsplit(uri if "://" in uri else f"thrift://{uri}")
        host, port = parts.hostname, parts.port or _PORT
        (host or "").encode("idna")
    except ValueError:
        host, port = None, 0
    if not host or parts.scheme != "thrift" or "@" in parts.netloc or parts.path.strip("/"):
        raise InvalidArgumentError(
            "the address of a Hive Metastore is thrift://host:port, without a user in it",
            code="catalog.address",
        )
    return host, port


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _unpickled(uri: str, timeout: float) -> HiveMetastore:
    return HiveMetastore(uri, timeout=timeout)
