"""Names and paths of tables in the spelling of Hadoop and Spark's catalog; without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

import deltareplay as dr
from deltareplay.spark.catalog import lookup
from deltareplay.spark.session import capabilities
from deltareplay.spark.syntax import names


def test_s3_settings_become_storage_options() -> None:
    settings = {
        "fs.s3a.access.key": "a",
        "fs.s3a.secret.key": "b",
        "fs.s3a.endpoint": "http://localhost:1",
        "fs.s3a.endpoint.region": "here",
        "fs.s3a.path.style.access": "true",
    }
    table = lookup.at_path("s3a://bucket/a b%20", settings)
    assert table.uri == "s3a://bucket/a%20b%2520"
    assert table.storage_options == {
        "aws_access_key_id": "a",
        "aws_secret_access_key": "b",
        "aws_endpoint": "http://localhost:1",
        "aws_allow_http": "true",
        "aws_region": "here",
        "aws_virtual_hosted_style_request": "false",
    }


def test_an_azure_account_key_becomes_a_storage_option() -> None:
    path = "abfss://c@account.dfs.core.windows.net/t"
    settings = {"fs.azure.account.key.account.dfs.core.windows.net": "a2V5"}
    table = lookup.at_path(path, settings)
    assert table.storage_options == {"azure_storage_account_key": "a2V5"}


def test_hdfs_accepts_hadoops_own_settings() -> None:
    settings = {"dfs.nameservices": "lake", "fs.defaultFS": "hdfs://lake"}
    assert lookup.at_path("hdfs://lake/t", settings).storage_options == settings


def test_refuses_settings_without_a_counterpart() -> None:
    with pytest.raises(dr.UnsupportedFeatureError, match="assumed") as caught:
        lookup.at_path("s3a://bucket/t", {"fs.s3a.assumed.role.arn": "x"})
    assert caught.value.code == "spark.hadoop"
    with pytest.raises(dr.InvalidArgumentError) as other:
        lookup.at_path("s3a://bucket/t", {"spark.some": "x"})
    assert other.value.code == "argument.hadoop"
    provider = "fs.azure.account.keyprovider.account.dfs.core.windows.net"
    with pytest.raises(dr.UnsupportedFeatureError, match="keyprovider"):
        lookup.at_path("abfss://c@account.dfs.core.windows.net/t", {provider: "SimpleKeyProvider"})


def test_a_local_path_needs_no_settings(tmp_path: Path) -> None:
    assert lookup.at_path(str(tmp_path), {"fs.fake.impl": "x"}).storage_options == {}


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("delta.`/tmp/a`", "/tmp/a"),
        ("DELTA.`s3a://bucket/t`", "s3a://bucket/t"),
        ("spark_catalog.delta.`/tmp/a`", "/tmp/a"),
        ("delta.orders", None),
        ("sales.`/tmp/a`", None),
        ("a.delta.`/tmp/a`", None),
    ],
)
def test_paths_in_names(name: str, path: str | None) -> None:
    assert names.path_of(names.table_parts(name)) == path


def test_check_requires_a_session() -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        capabilities.check("no session")
    assert caught.value.code == "argument.session"
