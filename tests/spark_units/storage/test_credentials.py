"""Hadoop settings for credentials that a catalog vends; without a session."""

from __future__ import annotations

import pickle
import time
from collections.abc import Mapping
from typing import Any

import pytest

import deltareplay as dr
from deltareplay.catalogs import Credentials, LogTail
from deltareplay.catalogs._glue_storage import GlueStorage
from deltareplay.spark.storage.credentials import (
    REDACTION_PATTERN,
    REDACTION_SETTING,
    HadoopCredentials,
)

NO_SESSION: Any = None
S3 = {"aws_access_key_id": "key-id", "aws_secret_access_key": "hush"}
SAS = {"azure_storage_sas_token": "sv=1&sig=hush%3D"}
LAKE = "abfss://c@lake.dfs.core.windows.net/t"


class VendingCatalog:
    """A catalog that vends credentials and manages no commits."""

    def __init__(self, options: Mapping[str, str] | None, life: float | None = None) -> None:
        self.options, self.life = options, life
        self.requested: list[str] = []

    def load(self) -> LogTail:
        return LogTail(None)

    def commit(self, staged: Any) -> Any:
        raise AssertionError

    def published(self, version: int) -> None:
        raise AssertionError

    def credentials(self, operation: str) -> Credentials | None:
        self.requested.append(operation)
        if self.options is None:
            return None
        expires = None if self.life is None else int((time.time() + self.life) * 1000)
        return Credentials(self.options, expires)


def opened(
    uri: str, options: Mapping[str, str] | None, root: str | None = None
) -> HadoopCredentials:
    return HadoopCredentials.of(
        NO_SESSION, dr.Table(uri, catalog=VendingCatalog(options)), root, "READ"
    )


def test_s3_keys_are_set_for_the_bucket_only() -> None:
    result = opened("s3://b/t", {**S3, "aws_session_token": "token"})

    assert result.scheme is not None
    assert result.options == {
        "fs.s3a.bucket.b.access.key": "key-id",
        "fs.s3a.bucket.b.secret.key": "hush",
        "fs.s3a.bucket.b.session.token": "token",
        "fs.s3a.bucket.b.aws.credentials.provider": (
            "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider"
        ),
        f"fs.{result.scheme}.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    }
    assert result.path("s3a://b/t/a b:c") == f"{result.scheme}://b/t/a b:c"
    assert "hush" not in repr(result)


def test_s3_keys_without_a_session_token_and_an_endpoint() -> None:
    own = {**S3, "aws_endpoint": "http://here:1", "AWS_REGION": "eu", "allow_http": "true"}
    result = opened("s3a://b/t", own).options

    provider = result["fs.s3a.bucket.b.aws.credentials.provider"]
    assert provider == "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider"
    assert result["fs.s3a.bucket.b.endpoint"] == "http://here:1"
    assert result["fs.s3a.bucket.b.endpoint.region"] == "eu"
    assert result["fs.s3a.bucket.b.path.style.access"] == "true"


def test_equal_credentials_have_the_same_scheme() -> None:
    first, again = opened("s3://b/t", S3), opened("s3://b/u", S3)
    other = opened("s3://b/t", {**S3, "aws_secret_access_key": "another"})

    assert first.scheme == again.scheme
    assert str(first.scheme).startswith("s3a-")
    assert first.scheme != other.scheme


def test_azure_signatures() -> None:
    result = opened(LAKE, SAS)

    assert result.options == {
        "fs.azure.account.auth.type.lake.dfs.core.windows.net": "SAS",
        "fs.azure.sas.fixed.token.lake.dfs.core.windows.net": "sv=1&sig=hush%3D",
        "fs.azure.account.hns.enabled.lake.dfs.core.windows.net": "true",
        f"fs.{result.scheme}.impl": "org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem",
    }
    assert result.path(LAKE) == LAKE.replace("abfss:", f"{result.scheme}:")


@pytest.mark.parametrize(
    ("uri", "options"),
    [("gs://b/t", {"google_bearer_token": "hush"}), ("s3://b/t", {"aws_skip_signature": "hush"})],
)
def test_options_without_a_hadoop_setting_are_refused(uri: str, options: dict[str, str]) -> None:
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        opened(uri, options)
    assert caught.value.code == "spark.credentials"
    assert next(iter(options)) in str(caught.value)
    assert "hush" not in str(caught.value)
    assert opened(uri, options, root=uri) == HadoopCredentials()


@pytest.mark.parametrize("uri", ["s3://b/t", "gs://b/t", LAKE])
def test_spark_uses_its_own_credentials_if_none_are_vended(uri: str) -> None:
    assert opened(uri, None) == HadoopCredentials()
    assert HadoopCredentials.of(NO_SESSION, dr.Table(uri), None, "READ") == HadoopCredentials()
    assert HadoopCredentials().path(uri) == uri


def test_spark_uses_its_own_credentials_for_a_root() -> None:
    assert opened("s3://b/t", S3, root="s3a://b/t") == HadoopCredentials()


def test_credentials_of_a_boto3_session_are_not_passed_to_spark() -> None:
    class Session:
        def _credentials(self) -> Credentials:
            raise AssertionError("not asked")

    table = dr.Table("s3://b/t", catalog=GlueStorage(Session()))
    assert HadoopCredentials.of(NO_SESSION, table, None, "READ_WRITE") == HadoopCredentials()


def test_storage_options_are_not_passed_to_spark() -> None:
    table = dr.Table("s3://b/t", S3)
    assert HadoopCredentials.of(NO_SESSION, table, None, "READ") == HadoopCredentials()


def test_credentials_are_reused_for_a_quarter_of_their_lifetime(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1_800_000_000.0
    monkeypatch.setattr(time, "time", lambda: now)
    catalog = VendingCatalog(S3, life=2.0)
    table = dr.Table("s3://b/t", catalog=catalog)
    first = HadoopCredentials.of(NO_SESSION, table, None, "READ")

    assert HadoopCredentials.of(NO_SESSION, table, None, "READ") == first
    assert catalog.requested == ["READ"]
    HadoopCredentials.of(NO_SESSION, table, None, "READ_WRITE")
    assert catalog.requested == ["READ", "READ_WRITE"]
    now += 0.4
    assert HadoopCredentials.of(NO_SESSION, table, None, "READ") == first
    now += 0.2  # more than a quarter of their lifetime
    assert HadoopCredentials.of(NO_SESSION, table, None, "READ").expires_at > first.expires_at  # type: ignore
    assert catalog.requested == ["READ", "READ_WRITE", "READ"]


def test_a_pickled_table_has_no_credentials() -> None:
    table = dr.Table("s3://b/t", catalog=VendingCatalog(S3, life=60.0))
    HadoopCredentials.of(NO_SESSION, table, None, "READ")
    again = pickle.loads(pickle.dumps(table))

    assert again._vended == {}
    assert again.credentials("READ").storage_options == S3


class Connected:
    """The used part of a session of Spark Connect."""

    def __init__(self, setting: str | None) -> None:
        self.conf = {REDACTION_SETTING: setting} if setting else {}


@pytest.mark.parametrize("setting", [REDACTION_PATTERN + "|more", 'value: ".*"'])
def test_a_server_that_redacts_credentials_gets_them(setting: str) -> None:
    session: Any = Connected(setting)
    result = opened("s3://b/t", S3)
    assert result.options_for(session) == result.options


@pytest.mark.parametrize("setting", [None, "(?i)secret", "("])
def test_a_server_that_would_log_credentials_is_refused(setting: str | None) -> None:
    session: Any = Connected(setting)
    assert HadoopCredentials().options_for(session) == {}
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        opened("s3://b/t", S3).options_for(session)
    assert caught.value.code == "spark.redaction"
    assert REDACTION_PATTERN in str(caught.value).encode().decode("unicode_escape")
