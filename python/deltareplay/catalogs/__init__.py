"""Catalogs: they find tables by name; some also vend credentials, and manage commits.

Any object with the methods of ``Catalog`` can be passed to ``Table(uri, catalog=...)``, and any
object with the method of ``Locator`` to ``Table.from_name(name, catalog=...)``.

>>> from deltareplay.catalogs import LogTail, RatifiedCommit
>>> LogTail(max_version=7, commits=[RatifiedCommit(7, content=b"{}")]).max_version
7
"""

from deltareplay.catalogs._catalog import (
    Catalog,
    Credentials,
    Located,
    LogTail,
    Permission,
    Ratification,
    RatifiedCommit,
    StagedCommit,
)
from deltareplay.catalogs._glue_catalog import GlueCatalog
from deltareplay.catalogs._hive_metastore import HiveMetastore
from deltareplay.catalogs._locate import Locator
from deltareplay.catalogs._unity_catalog import UnityCatalog

__all__ = [
    "Catalog",
    "Credentials",
    "GlueCatalog",
    "HiveMetastore",
    "Located",
    "Locator",
    "LogTail",
    "Permission",
    "Ratification",
    "RatifiedCommit",
    "StagedCommit",
    "UnityCatalog",
]
