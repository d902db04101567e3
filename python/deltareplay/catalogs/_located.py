"""``Located``: where a named table lies, and how it is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from deltareplay.catalogs._catalog import Catalog


@dataclass(frozen=True)
class Located:
    """Where a named table lies, and how it is reached.

    Attributes:
        uri: The table root, as for ``Table``.
        catalog: What vends credentials and knows which commits count, if the catalog does.
        storage_options: Settings of the storage that the catalog knows. Never printed.

    >>> Located("s3://bucket/orders", storage_options={"aws_region": "eu-west-1"})
    Located(uri='s3://bucket/orders', catalog=None)
    """

    uri: str
    catalog: Catalog | None = None
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def _options_with(self, own: Mapping[str, str]) -> dict[str, str]:
        """The catalog's options below a user's own, whose key is never mixed with its token."""
        options = dict(self.storage_options)
        if any(key.lower().endswith("access_key_id") for key in own):
            options.pop("aws_session_token", None)
        return {**options, **own}
