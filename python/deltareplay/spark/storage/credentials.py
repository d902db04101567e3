"""Credentials that a table's catalog vends, for Spark."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from deltareplay._support.uris import without_secrets
from deltareplay.catalogs._glue_storage import GlueStorage
from deltareplay.exceptions import UnsupportedFeatureError
from deltareplay.spark.session import capabilities
from deltareplay.spark.storage import renewed_credentials
from deltareplay.spark.storage.hadoop_path import hadoop_root

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from deltareplay._snapshot.table_location import TableLocation

#: A setting of Spark, and a value that keeps the options of reads out of a server's log.
REDACTION_SETTING = "spark.sql.redaction.string.regex"
REDACTION_PATTERN = r'"fs\.[^"]*"\s+value: "[^"]*"'

_SECRET = re.compile(r"access\.key|secret|token")

#: S3A's names of a catalog's options, without the prefix ``aws_``.
_S3A_SETTINGS = {
    "access_key_id": "fs.s3a.access.key",
    "secret_access_key": "fs.s3a.secret.key",
    "session_token": "fs.s3a.session.token",
    "token": "fs.s3a.session.token",
    "endpoint": "fs.s3a.endpoint",
    "endpoint_url": "fs.s3a.endpoint",
    "region": "fs.s3a.endpoint.region",
}
_AZURE_SIGNATURES = ("azure_storage_sas_token", "azure_storage_sas_key", "sas_token", "sas_key")


@dataclass(frozen=True)
class HadoopCredentials:
    """Hadoop settings with which Spark opens a table's storage, and their scheme. Never printed.

    Hadoop caches one file system per scheme and bucket, whatever its settings; without the cache,
    each file opens a file system with threads that never end. So each set of credentials has its
    own scheme, implemented by the same class.

    Attributes:
        options: Hadoop settings of one read or write; the session's do not change.
        scheme: The scheme of the paths; None for the table's own.
        expires_at: Milliseconds since the epoch; None if they do not expire.
    """

    options: Mapping[str, str] = field(default_factory=dict, repr=False)
    scheme: str | None = None
    expires_at: int | None = None

    @classmethod
    def of(
        cls,
        spark: SparkSession,
        table: TableLocation,
        root: str | None,
        operation: Literal["READ", "READ_WRITE"],
    ) -> HadoopCredentials:
        """Return the credentials that the table's catalog vends now.

        The result has no settings, and Spark uses its own credentials, if the caller passed
        ``root`` or the catalog vends none. Glue vends none: those of a boto3 session are the
        user's.

        Raises:
            UnsupportedFeatureError: ``spark.credentials``: Hadoop does not support the vended
                credentials.
        """
        if root is not None or isinstance(table.catalog, GlueStorage):
            return cls()
        if renewing := renewed_credentials.options(spark, table, operation):
            return cls(renewing, urlsplit(table.uri).scheme)
        vended = table.credentials(operation)
        location = urlsplit(hadoop_root(table.uri))
        if vended is None or location.scheme not in _FILE_SYSTEMS:
            return cls()
        vended_options = {key.lower(): value for key, value in vended.storage_options.items()}
        file_system, translate = _FILE_SYSTEMS[location.scheme]
        options = translate(location.netloc, vended_options)
        if not options:
            raise UnsupportedFeatureError(
                f"the catalog vends {', '.join(sorted(vended_options))} for "
                f"{without_secrets(table.uri)}, which Spark cannot use. If Spark has its own "
                "credentials, pass the table's Hadoop path as root= to use them",
                code="spark.credentials",
            )
        scheme = f"{location.scheme}-{_digest(options)}"
        return cls({**options, f"fs.{scheme}.impl": file_system}, scheme, vended.expires_at)

    def options_for(self, spark: SparkSession) -> Mapping[str, str]:
        """Return the settings, unless the Spark Connect server would log them.

        Spark's plans do not print them, but a Spark Connect server logs all requests.

        Raises:
            UnsupportedFeatureError: ``spark.redaction``: the server would log them.
        """
        if not self.options or capabilities.is_classic(spark):
            return self.options
        logged = "".join(
            f'key: "{key}"\n  value: "{value}"\n' for key, value in self.options.items()
        )
        with contextlib.suppress(re.error):  # a pattern that is valid in Java only
            logged = re.sub(str(spark.conf.get(REDACTION_SETTING, None) or "$^"), "", logged)
        secrets = [value for key, value in self.options.items() if _SECRET.search(key)]
        if any(secret in logged for secret in secrets):
            raise UnsupportedFeatureError(
                "the server of Spark Connect would log the credentials that the catalog vends: "
                f"spark.conf.set({REDACTION_SETTING!r}, {REDACTION_PATTERN!r}) leaves them out. If "
                "Spark has its own credentials, pass the table's Hadoop path as root= to use them",
                code="spark.redaction",
            )
        return self.options

    def path(self, path: str) -> str:
        """Return a Hadoop path with the scheme of these credentials."""
        return path if self.scheme is None else f"{self.scheme}:{path.partition(':')[2]}"


def _digest(options: Mapping[str, str]) -> str:
    """Return a digest of the credentials, which does not reveal them."""
    return hashlib.sha256(repr(sorted(options.items())).encode()).hexdigest()[:12]


def _s3(bucket: str, options: Mapping[str, str]) -> dict[str, str]:
    settings = {
        name: value
        for key, value in options.items()
        if (name := _S3A_SETTINGS.get(key.removeprefix("aws_")))
    }
    if not {"fs.s3a.access.key", "fs.s3a.secret.key"} <= settings.keys():
        return {}
    kind = "Temporary" if "fs.s3a.session.token" in settings else "Simple"
    provider = f"org.apache.hadoop.fs.s3a.{kind}AWSCredentialsProvider"
    settings["fs.s3a.aws.credentials.provider"] = provider
    if "fs.s3a.endpoint" in settings:
        settings["fs.s3a.path.style.access"] = "true"
    # a user's own settings of the bucket would take precedence over settings of all buckets
    prefix = f"fs.s3a.bucket.{bucket}."
    return {name.replace("fs.s3a.", prefix, 1): value for name, value in settings.items()}


def _azure(location: str, options: Mapping[str, str]) -> dict[str, str]:
    account = location.rpartition("@")[2]
    signature = next((options[name] for name in _AZURE_SIGNATURES if options.get(name)), None)
    if signature is None:
        return {}
    return {
        f"fs.azure.account.auth.type.{account}": "SAS",
        f"fs.azure.sas.fixed.token.{account}": signature,
        # catalogs require hierarchical namespaces, and a directory's token cannot look that up
        f"fs.azure.account.hns.enabled.{account}": "true",
    }


def _none(_: str, __: Mapping[str, str]) -> dict[str, str]:
    """Return no settings: Hadoop gets a token only from a class, which the user has to provide."""
    return {}


#: The class of file systems, and the function that writes credentials as its settings, by scheme.
_FILE_SYSTEMS: dict[str, tuple[str, Callable[[str, Mapping[str, str]], dict[str, str]]]] = {
    "s3a": ("org.apache.hadoop.fs.s3a.S3AFileSystem", _s3),
    "abfs": ("org.apache.hadoop.fs.azurebfs.AzureBlobFileSystem", _azure),
    "abfss": ("org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem", _azure),
    "gs": ("", _none),
}
