"""``TableLocation``: the location of a table, and its storage options and catalog."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast
from urllib.parse import quote, urlsplit, urlunsplit

from deltareplay import _native
from deltareplay._support.arguments import checked_methods
from deltareplay._support.uris import (
    is_table_name,
    printable_option,
    refuse_signature,
    without_secrets,
)

if TYPE_CHECKING:
    from deltareplay.catalogs import Catalog, Credentials, Locator

#: Characters that need no encoding in the path of a URI, besides letters and digits.
_UNENCODED = "/-._~!$&'()*+,;=:@"


@checked_methods
class TableLocation:
    """The part of ``Table`` that snapshots, scans and splits need."""

    __slots__ = ("_allowed_roots", "_catalog", "_native", "_options", "_strict", "_vended")

    def __init__(
        self,
        uri: str | os.PathLike[str],
        storage_options: Mapping[str, str] | None = None,
        allowed_roots: Sequence[str | os.PathLike[str]] | None = None,
        *,
        strict: bool = False,
        catalog: Catalog | Locator | str | None = None,
    ) -> None:
        self._options = dict(storage_options or {})
        uri = os.fspath(uri)
        if is_table_name(uri, catalog):
            uri, resolved = self._look_up(uri, cast("Locator | str | None", catalog))
        else:
            resolved = cast("Catalog | None", catalog)
        roots = None if allowed_roots is None else [os.fspath(root) for root in allowed_roots]
        for location in (uri, *(roots or ())):
            refuse_signature(location)
        self._native = _native.Table(uri, self._options, roots, strict, resolved)
        self._catalog = resolved
        self._allowed_roots = roots
        self._strict = strict
        #: The vended credentials, and until when they are reused, by the kind of access.
        self._vended: dict[str, tuple[Credentials | None, float]] = {}

    def _look_up(self, name: str, catalog: Locator | str | None) -> tuple[str, Catalog | None]:
        """Look up a table by its name: return its location and catalog, and set its options."""
        from deltareplay.catalogs._locate import locate

        located = locate(name, catalog)
        self._options = located.options_with(self._options)
        return located.uri, located.catalog

    @property
    def uri(self) -> str:
        """The table root as a URI.

        >>> table.uri.startswith("file:///")
        True
        """
        return self._native.uri

    @property
    def native(self) -> _native.Table:
        """Internal: the table of the core."""
        return self._native

    @property
    def storage_options(self) -> dict[str, str]:
        """Internal: the options of the storage, secrets included."""
        return self._options

    @property
    def allowed_roots(self) -> list[str] | None:
        """Internal: the locations that absolute paths in the log may point to."""
        return self._allowed_roots

    @property
    def catalog(self) -> Catalog | None:
        """Internal: the catalog that manages the commits, or vends credentials."""
        return self._catalog

    def file_uris(self, paths: Sequence[str]) -> list[str]:
        """Internal: return the full URIs of files, by their paths in the log.

        Raises:
            CorruptTableError: A path is outside of the locations that the table may point to
                (``path.escapes_root``, ``path.foreign``).
        """
        root = urlsplit(self.uri)
        directory = root.path.rstrip("/")
        uris = []
        for path in self._native.locate(paths):
            encoded = quote(path, safe=_UNENCODED)
            encoded_path = encoded if path.startswith("/") else f"{directory}/{encoded}"
            uris.append(urlunsplit((root.scheme, root.netloc, encoded_path, root.query, "")))
        return uris

    def credentials(self, operation: Literal["READ", "READ_WRITE"]) -> Credentials | None:
        """Internal: return the credentials that the catalog vends, for Spark.

        They are cached for a quarter of their remaining lifetime, so that the steps of a statement
        share them, and no job starts with credentials that soon expire. Those that do not expire
        are always cached.
        """
        if self._catalog is None:
            return None
        now = time.time() * 1000  # milliseconds, as expires_at
        vended, reuse_until = self._vended.get(operation, (None, 0.0))
        if now < reuse_until:
            return vended
        vended = self._catalog.credentials(operation)
        expires = None if vended is None else vended.expires_at
        reuse_until = float("inf") if expires is None else now + (expires - now) / 4
        self._vended[operation] = vended, reuse_until
        return vended

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TableLocation):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self.uri)

    def _identity(self) -> tuple[Any, ...]:
        return self.uri, self._options, self._allowed_roots, self._strict, self._catalog

    def __reduce__(self) -> tuple[Any, ...]:
        build = functools.partial(type(self), strict=self._strict, catalog=self._catalog)
        return build, (self.uri, self._options, self._allowed_roots)

    def __repr__(self) -> str:
        text = repr(without_secrets(self.uri))
        if self._options:
            text += f", storage_options=<{', '.join(sorted(map(printable_option, self._options)))}>"
        if self._allowed_roots is not None:
            text += f", allowed_roots={[without_secrets(root) for root in self._allowed_roots]}"
        if self._strict:
            text += ", strict=True"
        if self._catalog is not None:
            text += f", catalog=<{type(self._catalog).__name__}>"
        return f"Table({text})"
