"""Tables by name: which catalog a name belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from deltareplay.catalogs._glue_catalog import GlueCatalog
from deltareplay.catalogs._hive_metastore import HiveMetastore
from deltareplay.catalogs._located import Located
from deltareplay.catalogs._unity_catalog import UnityCatalog
from deltareplay.exceptions import InvalidArgumentError


class Locator(Protocol):
    """What finds tables by name, such as ``UnityCatalog``."""

    def locate(self, name: str) -> Located:
        """Return where the table of this name lies.

        Raises:
            TableNotFoundError: There is none.
        """
        ...


#: By what a user writes: ``catalog="uc"``, or ``uc://`` in front of the name.
_KINDS: dict[str, Callable[[], Locator]] = {
    "glue": GlueCatalog,
    "hive": HiveMetastore,
    "uc": UnityCatalog,
}


def locate(name: str, catalog: Locator | str | None) -> Located:
    """Where the table of a name lies.

    Args:
        name: The name, with or without the scheme of its catalog.
        catalog: A catalog, or which kind of catalog; None goes by the scheme.

    Raises:
        InvalidArgumentError: ``catalog.kind``: there is no such kind.
    """
    if catalog is not None and not isinstance(catalog, str):
        return catalog.locate(name)
    kind = catalog or name.partition("://")[0]
    made = _KINDS.get(kind)
    if made is None:
        raise InvalidArgumentError(
            f"{kind!r} is no kind of catalog: the kinds are {', '.join(sorted(_KINDS))}; or pass a "
            "catalog of deltareplay.catalogs",
            code="catalog.kind",
        )
    return made().locate(name)
