"""``OpenedBy``: what Spark opens the storage of a table with, where that is not its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from deltareplay.catalogs._glue_storage import GlueStorage
from deltareplay.exceptions import UnsupportedFeatureError

if TYPE_CHECKING:
    from deltareplay._table_location import TableLocation

_OPENS = "org.apache.hadoop.fs.s3a"

#: S3A's names of what a catalog says, without what is in front of each.
_OF_S3A = {
    "access_key_id": "access.key",
    "secret_access_key": "secret.key",
    "session_token": "session.token",
    "token": "session.token",
    "endpoint": "endpoint",
    "endpoint_url": "endpoint",
    "region": "endpoint.region",
}
_SIGNATURES = ("azure_storage_sas_token", "azure_storage_sas_key", "sas_token", "sas_key")


@dataclass(frozen=True)
class OpenedBy:
    """What Spark opens the storage of a table with, where that is not its own. Never printed.

    Attributes:
        options: Settings of Hadoop, for one read or one write: they become part of its own
            configuration, and the session's does not change.
        expires_at: Milliseconds since the epoch; None if they do not expire.
    """

    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    expires_at: int | None = None

    @classmethod
    def of(
        cls, table: TableLocation, root: str | None, operation: Literal["READ", "READ_WRITE"]
    ) -> OpenedBy:
        """The credentials that a table's catalog vends, as they are now.

        None where the caller tells Spark where the table lies, or no catalog vends any: Spark's own
        are used. So they are for Glue, which vends none: those of a boto3 session are the user's.

        Raises:
            UnsupportedFeatureError: ``spark.credentials``: Hadoop does not take what it vends.
        """
        if root is not None or isinstance(table._catalog, GlueStorage):
            return cls()
        vended = table._credentials(operation)
        translated = _BY_SCHEME.get(urlsplit(table.uri).scheme)
        if vended is None or translated is None:
            return cls()
        given = {key.lower(): value for key, value in vended.storage_options.items()}
        options = translated(urlsplit(table.uri).netloc, given)
        if options is None:
            raise UnsupportedFeatureError(
                f"the catalog vends {', '.join(sorted(given))} for {table.uri}, which Spark cannot "
                "open it with. If Spark has credentials of its own, pass root=, the table's "
                "Hadoop path, and they are used",
                code="spark.credentials",
            )
        return cls(options, vended.expires_at)


def _s3(bucket: str, given: Mapping[str, str]) -> dict[str, str] | None:
    own = {
        name: value
        for key, value in given.items()
        if (name := _OF_S3A.get(key.removeprefix("aws_")))
    }
    if not {"access.key", "secret.key"} <= own.keys():
        return None
    kind = "Temporary" if "session.token" in own else "Simple"
    own["aws.credentials.provider"] = f"{_OPENS}.{kind}AWSCredentialsProvider"
    if "endpoint" in own:
        own["path.style.access"] = "true"
    # of the bucket: a user's own settings of the bucket would win over those of all buckets
    found = {f"fs.s3a.bucket.{bucket}.{name}": value for name, value in own.items()}
    # Hadoop keeps a file system for each bucket, whatever it was opened with
    return {**found, "fs.s3a.impl.disable.cache": "true"}


def _azure(place: str, given: Mapping[str, str]) -> dict[str, str] | None:
    account = place.rpartition("@")[2]
    signature = next((given[one] for one in _SIGNATURES if given.get(one)), None)
    if signature is None:
        return None
    return {
        f"fs.azure.account.auth.type.{account}": "SAS",
        f"fs.azure.sas.fixed.token.{account}": signature,
        # what the token of a directory may not ask the account for; catalogs need such accounts
        f"fs.azure.account.hns.enabled.{account}": "true",
        "fs.abfs.impl.disable.cache": "true",
        "fs.abfss.impl.disable.cache": "true",
    }


def _none(_: str, __: Mapping[str, str]) -> None:
    """Hadoop takes a token only by a class, which the user would have to bring."""


_Translated = Callable[[str, Mapping[str, str]], "dict[str, str] | None"]

_BY_SCHEME: dict[str, _Translated] = {
    "s3": _s3,
    "s3a": _s3,
    "abfs": _azure,
    "abfss": _azure,
    "gs": _none,
    "wasb": _none,
    "wasbs": _none,
}
