"""Lookup of tables by name, in the catalog that the name belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from deltareplay.catalogs._catalog import Located
from deltareplay.catalogs._glue_catalog import GlueCatalog
from deltareplay.catalogs._hive_metastore import HiveMetastore
from deltareplay.catalogs._unity_catalog import UnityCatalog
from deltareplay.catalogs._unity_staging import UnityStaging
from deltareplay.exceptions import InvalidArgumentError


class Locator(Protocol):
    """A catalog that finds tables by name, such as ``UnityCatalog``."""

    def locate(self, name: str) -> Located:
        """Return the location of the table of this name.

        Raises:
            TableNotFoundError: There is no such table.
        """
        ...


#: The kinds of catalog, as in ``catalog="uc"``, and as the scheme in ``uc://`` before a name.
_KINDS: dict[str, Callable[[], Locator]] = {
    "glue": GlueCatalog,
    "hive": HiveMetastore,
    "uc": UnityCatalog,
}


def locate(name: str, catalog: Locator | str | None) -> Located:
    """Return the location of the table of a name.

    Args:
        name: The name, with or without the scheme of its catalog.
        catalog: A catalog, or the kind of catalog; None takes the kind from the scheme.

    Raises:
        InvalidArgumentError: ``catalog.kind``: there is no such kind.
    """
    return _locator(name, catalog).locate(name)


def staged(name: str, catalog: Locator | str | None) -> UnityStaging:
    """Return a new table, not created yet, under a name.

    Raises:
        InvalidArgumentError: ``catalog.creates_none``: this catalog cannot create tables;
            ``catalog.kind``: there is no such kind of catalog.
    """
    locator = _locator(name, catalog)
    if isinstance(locator, UnityCatalog):
        return locator.staged(name)
    raise InvalidArgumentError(
        f"there is no table {name!r}, and {type(locator).__name__} cannot create tables: create it "
        "at a path, and register that path under the name, e.g. with Spark",
        code="catalog.creates_none",
    )


def _locator(name: str, catalog: Locator | str | None) -> Locator:
    if catalog is not None and not isinstance(catalog, str):
        return catalog
    kind = catalog or name.partition("://")[0]
    catalog_class = _KINDS.get(kind)
    if catalog_class is None:
        raise InvalidArgumentError(
            f"{kind!r} is not a kind of catalog: the kinds are {', '.join(sorted(_KINDS))}; or "
            "pass a catalog of deltareplay.catalogs",
            code="catalog.kind",
        )
    return catalog_class()
