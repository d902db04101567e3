"""Tables by name from Glue, as implemented by moto."""

from __future__ import annotations

import datetime
import pickle
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stores import servers
from stores.servers import Store

import deltareplay as dr
from deltareplay.catalogs import GlueCatalog, LogTail, StagedCommit

pytest.importorskip("moto", reason="pip install --group stores")
boto3 = pytest.importorskip("boto3", reason="pip install --group stores")
pytestmark = pytest.mark.stores

SPARK = {"spark.sql.sources.provider": "delta"}
SECRETS = ("hush-hush-secret", "token-of-mine")


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    with servers.moto() as running:
        created = boto3.client("glue", endpoint_url=running.options["aws_endpoint"], **KEYS)
        created.create_database(DatabaseInput={"Name": "sales"})
        yield running


KEYS = {
    "region_name": "us-east-1",
    "aws_access_key_id": "test-access-key",
    "aws_secret_access_key": SECRETS[0],
}


@pytest.fixture(autouse=True)
def endpoint(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, str]]:
    """The options of the store; boto3 is configured by the environment."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", store.options["aws_endpoint"])
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS["aws_access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEYS["aws_secret_access_key"])
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    return {"aws_endpoint": store.options["aws_endpoint"], "allow_http": "true"}


@pytest.fixture
def table(store: Store, request: pytest.FixtureRequest) -> str:
    """The root of a table with one row."""
    root = f"{store.root}/{request.node.name}/a b%25"
    dr.write(root, {"id": [1]}, storage_options=store.options)
    return root


def register(
    name: str, location: str = "", serde: dict[str, str] | None = None, **fields: Any
) -> None:
    """Create an entry; ``serde`` are the parameters of its serialization."""
    descriptor = {"Location": location, "SerdeInfo": {"Parameters": serde or {}}}
    entry = {"Name": name, "TableType": "EXTERNAL_TABLE", "StorageDescriptor": descriptor, **fields}
    glue = boto3.client("glue")
    glue.create_table(DatabaseName="sales", TableInput=entry)


def renewable_session() -> Any:
    """Return a session whose credentials expire in an hour, and a list of their renewals."""
    from botocore.credentials import RefreshableCredentials
    from botocore.session import Session

    renewed: list[int] = []

    def credentials() -> dict[str, str]:
        renewed.append(len(renewed))
        soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
        return {
            "access_key": KEYS["aws_access_key_id"],
            "secret_key": SECRETS[0],
            "token": SECRETS[1],
            "expiry_time": soon.isoformat(),
        }

    session = Session()
    session._credentials = RefreshableCredentials.create_from_metadata(
        credentials(), credentials, "test"
    )
    return boto3.Session(botocore_session=session), renewed


def hadoop(root: str) -> str:
    """Return the same location as Spark writes it."""
    return root.replace("s3://", "s3a://").replace("%25", "%")


def test_a_table_of_each_writer_opens(table: str, endpoint: dict[str, str]) -> None:
    path = hadoop(table)
    forms: dict[str, dict[str, Any]] = {
        "athena": {"location": path, "Parameters": {"table_type": "DELTA"}},
        "spark": {
            "location": "s3://warehouse/spark-__PLACEHOLDER__",
            "Parameters": SPARK,
            "serde": {"path": path, "serialization.format": "1"},
        },
        "crawler": {
            "location": f"{path}/",
            "Parameters": {**SPARK, "classification": "parquet", "table_type": "delta"},
        },
    }
    for name, form in forms.items():
        register(name, **form)
        opened = dr.Table.from_name(f"sales.{name}", "glue", storage_options=endpoint)
        assert opened.snapshot().scan().to_arrow()["id"].to_pylist() == [1]
        opened.append({"id": [2]})
        opened.restore(0)
        assert opened == dr.Table(f"glue://Sales.{name.upper()}", endpoint)
        assert not [secret for secret in SECRETS if secret in repr(opened)]
        assert pickle.loads(pickle.dumps(opened)).snapshot().version > 0


def test_other_tables_are_reported(table: str) -> None:
    register("iceberg", table, Parameters={"table_type": "ICEBERG"})
    register("view", TableType="VIRTUAL_VIEW")
    register("list", f"{table}/_symlink_format_manifest")
    for name, reason in {"iceberg": "ICEBERG", "view": "a view", "list": "Open the table"}.items():
        with pytest.raises(dr.TableNotFoundError, match=reason) as caught:
            GlueCatalog().locate(f"sales.{name}")
        assert caught.value.code == "catalog.not_delta"


@pytest.mark.parametrize("name", ["sales.nothing", "nothing.orders"])
def test_missing_tables_are_reported(name: str) -> None:
    with pytest.raises(dr.TableNotFoundError, match=name) as caught:
        dr.Table(f"glue://{name}")
    assert caught.value.code == "catalog.no_table"


def test_a_link_is_followed(table: str) -> None:
    register("target", table, Parameters=SPARK)
    glue = GlueCatalog()
    get_table = glue._client.get_table
    target = {"CatalogId": "123456789012", "DatabaseName": "sales", "Name": "target"}

    def linked(**request: str) -> Any:  # moto does not support links
        if request["Name"] == "link":
            return {"Table": {"Name": "link", "TargetTable": target}}
        return get_table(**request)

    glue._client.get_table = linked
    assert glue.locate("sales.link") == glue.locate("sales.target")

    target["Region"] = "eu-west-1"
    with pytest.raises(dr.TableNotFoundError) as caught:
        glue.locate("sales.link")
    assert caught.value.code == "catalog.no_table"
    client = boto3.client("glue", region_name="eu-west-1")
    client.create_database(DatabaseInput={"Name": "sales"})
    entry = {"Name": "target", "StorageDescriptor": {"Location": table}, "Parameters": SPARK}
    client.create_table(DatabaseName="sales", TableInput=entry)
    result = glue.locate("sales.link")
    assert result.uri == glue.locate("sales.target").uri
    assert result.storage_options["aws_region"] == "eu-west-1"


def test_a_location_outside_of_s3_gets_no_credentials(tmp_path: Path) -> None:
    dr.write(tmp_path, {"id": [1]})
    register("local", str(tmp_path), Parameters=SPARK)

    located = GlueCatalog().locate("sales.local")

    assert (located.catalog, located.storage_options) == (None, {})
    assert dr.Table("glue://sales.local").snapshot().num_rows == 1


def test_expired_credentials_are_requested_again(
    table: str, endpoint: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    register("renewed", hadoop(table), Parameters=SPARK)
    session, renewed = renewable_session()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    glue = GlueCatalog(region="us-east-1", session=session)

    located = glue.locate("sales.renewed")
    assert located.storage_options == {"aws_region": "us-east-1"}
    assert located.catalog is not None
    vended = located.catalog.credentials("READ")
    assert vended is not None
    assert vended.storage_options["aws_session_token"] == SECRETS[1]
    now = datetime.datetime.now().timestamp() * 1000
    assert vended.expires_at is not None
    assert now < vended.expires_at < now + 10 * 60 * 1000
    assert located.catalog.load() == LogTail(None)
    assert renewed == [0]

    opened = dr.Table.from_name("sales.renewed", glue, storage_options=endpoint)
    opened.append({"id": [2]})
    assert opened.snapshot().num_rows == 2
    displayed = repr((glue, located, located.catalog, vended, opened))
    assert not [secret for secret in SECRETS if secret in displayed]


def test_glue_does_not_manage_commits(table: str, endpoint: dict[str, str]) -> None:
    register("unmanaged", table, Parameters=SPARK)
    glue = GlueCatalog(session=renewable_session()[0])
    catalog = glue.locate("sales.unmanaged").catalog
    assert catalog is not None
    for ask in (
        lambda: catalog.published(1),
        lambda: catalog.commit(StagedCommit(1, "a", 1, 1, 1)),
    ):
        with pytest.raises(dr.UnsupportedFeatureError) as caught:
            ask()
        assert caught.value.code == "catalog.required"


def test_a_profile_opens_tables(
    table: str, endpoint: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("profiled", hadoop(table), Parameters=SPARK)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    (tmp_path / "credentials").write_text(
        f"[mine]\naws_access_key_id = {KEYS['aws_access_key_id']}\n"
        f"aws_secret_access_key = {SECRETS[0]}\naws_session_token = {SECRETS[1]}\n"
    )
    glue = GlueCatalog(profile="mine", catalog_id="123456789012")

    assert dr.Table.from_name("sales.profiled", glue, storage_options=endpoint).snapshot()
    assert repr(glue) == "GlueCatalog(catalog_id='123456789012', profile='mine')"
    assert pickle.loads(pickle.dumps(glue)) == glue
    assert glue != GlueCatalog(profile="mine")

    # explicit credentials replace all of these: a token belongs to one key
    own = {"aws_access_key_id": "own", "aws_secret_access_key": "own", **endpoint}
    opened = dr.Table.from_name("sales.profiled", glue, storage_options=own)
    assert "aws_session_token" not in repr(opened)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        GlueCatalog(profile="another")
    assert caught.value.code == "catalog.address"


def test_missing_credentials_and_region_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(dr.InvalidArgumentError) as caught:
        GlueCatalog().locate("sales.orders")
    assert caught.value.code == "catalog.denied"

    monkeypatch.delenv("AWS_DEFAULT_REGION")
    for wrong in ({}, {"region": "us east"}, {"region": "us-east-1", "endpoint_url": "nowhere"}):
        with pytest.raises(dr.InvalidArgumentError) as caught:
            GlueCatalog(**wrong)
        assert caught.value.code == "catalog.address"


def test_a_refused_connection_is_reported() -> None:
    with socket.socket() as closed:  # it does not listen, and keeps its port
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
        with pytest.raises(dr.StorageError) as caught:
            GlueCatalog(endpoint_url=address, timeout=1).locate("sales.orders")
    assert caught.value.code == "catalog.unreachable"


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("InvalidSignatureException", 403, "catalog.denied"),
        ("AccessDeniedException", 400, "catalog.denied"),
        ("ThrottlingException", 400, "catalog.unreachable"),
        ("InternalServiceException", 500, "catalog.unreachable"),
        ("InvalidInputException", 400, "catalog.refused"),
    ],
)
def test_errors_of_aws_are_reported(kind: str, status: int, code: str) -> None:
    from botocore.exceptions import ClientError

    glue = GlueCatalog()
    response = {
        "Error": {"Code": kind, "Message": "what was signed: x"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }

    def refuse(**_: str) -> None:
        raise ClientError(response, "GetTable")

    glue._client.get_table = refuse
    with pytest.raises(dr.DeltaReplayError) as caught:
        glue.locate("sales.orders")
    assert caught.value.code == code
    assert kind in str(caught.value)
    assert ("what was signed" in str(caught.value)) == (kind != "InvalidSignatureException")
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("name", ["orders", "a.b.c", "hive://a.b"])
def test_names_of_another_form_are_refused(name: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        GlueCatalog().locate(name)
    assert caught.value.code == "catalog.name"
