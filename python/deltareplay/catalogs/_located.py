"""``Located``: the location of a named table, with its catalog and storage options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deltareplay.catalogs._catalog import Catalog


@dataclass(frozen=True)
class Located:
    """The location of a named table, with its catalog and storage options.

    Attributes:
        uri: The table root, as for ``Table``.
        catalog: The catalog, if it vends credentials or manages commits.
        storage_options: Settings of the storage from the catalog. Never printed.

    >>> Located("s3://bucket/orders", storage_options={"aws_region": "eu-west-1"})
    Located(uri='s3://bucket/orders', catalog=None)
    """

    uri: str
    catalog: Catalog | None = None
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def options_with(self, own: Mapping[str, str]) -> dict[str, str]:
        """Internal: merge the catalog's options with the user's, which take precedence.

        A user's access key is never combined with the catalog's session token.
        """
        options = dict(self.storage_options)
        if any(key.lower().endswith("access_key_id") for key in own):
            options.pop("aws_session_token", None)
        return {**options, **own}
