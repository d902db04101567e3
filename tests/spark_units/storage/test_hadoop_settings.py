"""Settings of Hadoop's file systems as storage options, by Hadoop's documents of S3A and ABFS."""

from __future__ import annotations

import itertools

import pytest

import deltareplay as dr
from deltareplay.spark.storage.hadoop_settings import storage_options

LAKE, OTHER = "lake.dfs.core.windows.net", "other.dfs.core.windows.net"
IN_LAKE = f"abfss://c@{LAKE}/t"


def test_settings_of_the_bucket_precede_those_of_all() -> None:
    settings = {
        "fs.s3a.bucket.mine.access.key": "own",
        "fs.s3a.bucket.mine.secret.key": "own secret",
        "fs.s3a.access.key": "all",
        "fs.s3a.session.token": "token",
        "fs.s3a.bucket.yours.access.key": "other",
    }
    for shuffled in itertools.permutations(settings.items()):
        assert storage_options("s3a://mine/t", dict(shuffled)) == {
            "aws_access_key_id": "own",
            "aws_secret_access_key": "own secret",
            "aws_session_token": "token",
        }


def test_settings_of_the_account_precede_those_of_all() -> None:
    settings = {
        f"fs.azure.account.key.{LAKE}": "own",
        "fs.azure.account.key": "all",
        f"fs.azure.account.key.{OTHER}": "other",
    }
    for shuffled in itertools.permutations(settings.items()):
        assert storage_options(IN_LAKE, dict(shuffled)) == {"azure_storage_account_key": "own"}
    del settings[f"fs.azure.account.key.{LAKE}"]
    assert storage_options(IN_LAKE, settings) == {"azure_storage_account_key": "all"}


def test_settings_of_other_stores_have_no_effect() -> None:
    settings = {
        "fs.s3a.access.key": "s3",
        f"fs.azure.account.key.{LAKE}": "azure",
        "fs.gs.auth.service.account.json.keyfile": "/key.json",
    }
    assert storage_options("s3://b/t", settings) == {"aws_access_key_id": "s3"}
    assert storage_options(IN_LAKE, settings) == {"azure_storage_account_key": "azure"}
    assert storage_options("gs://b/t", settings) == {"google_service_account": "/key.json"}
    assert storage_options("/t", settings) == {}


def test_shared_signatures_of_the_account_and_the_container() -> None:
    settings = {
        f"fs.azure.sas.fixed.token.c.{LAKE}": "of c",
        f"fs.azure.sas.fixed.token.{LAKE}": "of all containers",
        f"fs.azure.account.auth.type.{LAKE}": "SAS",
        f"fs.azure.account.auth.type.{OTHER}": "OAuth",
    }
    expected = {"azure_storage_sas_token": "of c", "azure_credential_type": "sas_token"}
    assert storage_options(IN_LAKE, settings) == expected
    options = storage_options(f"abfss://d@{LAKE}/t", settings)
    assert options["azure_storage_sas_token"] == "of all containers"


def test_a_client_of_the_account() -> None:
    oauth = {
        "account.auth.type": "OAuth",
        "account.oauth.provider.type": (
            "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider"
        ),
        "account.oauth2.client.id": "id",
        "account.oauth2.client.secret": "secret",
        "account.oauth2.client.endpoint": "https://login.microsoftonline.com/tenant/oauth2/token",
    }
    settings = {f"fs.azure.{key}.{LAKE}": value for key, value in oauth.items()}
    settings |= {f"fs.azure.{key}.{OTHER}": "of another account" for key in oauth}
    assert storage_options(IN_LAKE, settings) == {
        "azure_storage_client_id": "id",
        "azure_storage_client_secret": "secret",
        "azure_credential_type": "client_secret",
        "azure_storage_authority_host": "https://login.microsoftonline.com",
        "azure_storage_tenant_id": "tenant",
    }


@pytest.mark.parametrize(
    ("endpoint", "settings", "expected"),
    [
        ("s3.eu-west-1.amazonaws.com", {}, {"aws_endpoint": "https://s3.eu-west-1.amazonaws.com"}),
        (
            "minio:9000",
            {"connection.ssl.enabled": "false", "path.style.access": "true"},
            {
                "aws_endpoint": "http://minio:9000",
                "aws_allow_http": "true",
                "aws_virtual_hosted_style_request": "false",
            },
        ),
        (
            "https://s3.example.org",
            {"path.style.access": "false"},
            {
                "aws_endpoint": "https://b.s3.example.org",
                "aws_virtual_hosted_style_request": "true",
            },
        ),
    ],
)
def test_endpoints_of_s3(endpoint: str, settings: dict[str, str], expected: dict[str, str]) -> None:
    settings = {f"fs.s3a.{key}": value for key, value in settings.items()}
    assert storage_options("s3a://b/t", {"fs.s3a.endpoint": endpoint, **settings}) == expected


def test_providers_of_credentials_of_s3() -> None:
    def options(*names: str, **keys: str) -> dict[str, str]:
        providers = ",\n".join(f"org.apache.hadoop.fs.s3a.{name}" for name in names)
        settings = {"fs.s3a.aws.credentials.provider": providers}
        settings |= {f"fs.s3a.{key}.key": value for key, value in keys.items()}
        return storage_options("s3a://b/t", settings)

    assert options("SimpleAWSCredentialsProvider") == {}
    assert options("AnonymousAWSCredentialsProvider") == {"aws_skip_signature": "true"}
    # the first that has credentials
    chain = "SimpleAWSCredentialsProvider", "AnonymousAWSCredentialsProvider"
    assert options(*chain) == {"aws_skip_signature": "true"}
    assert options(*chain, access="a") == {"aws_access_key_id": "a"}
    assert options(*chain[::-1], access="a")["aws_skip_signature"] == "true"
    with pytest.raises(dr.UnsupportedFeatureError, match=r"credentials\.provider") as caught:
        options("auth.AssumedRoleCredentialProvider", "AnonymousAWSCredentialsProvider")
    assert caught.value.code == "spark.hadoop"
