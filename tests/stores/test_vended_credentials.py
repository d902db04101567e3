"""A store that only opens with credentials that a catalog vends, and that expire."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pytest
from stores.servers import Store
from support.unity_server import UnityServer

import deltareplay as dr
from deltareplay.catalogs import UnityCatalog

pytestmark = pytest.mark.stores
SECRETS = ("aws_access_key_id", "aws_secret_access_key")
CREDENTIALS = "GET /delta/v1/catalogs/main/schemas/s/tables/far/credentials"
SCHEMA = pa.schema([("id", pa.int64())])


@pytest.mark.parametrize("store", ["moto", "versitygw"], indirect=True)
def test_vended_credentials_open_the_store_until_they_expire(
    store: Store, server: UnityServer, tmp_path: Path
) -> None:
    path = f"{store.root}/vended-{tmp_path.name}"
    dr.create_table(path, SCHEMA, storage_options=store.options).append({"id": [1]})
    server.register("main.s.far", path)
    server.vended = {
        "s3.access-key-id": store.options[SECRETS[0]],
        "s3.secret-access-key": store.options[SECRETS[1]],
    }
    plain = {key: value for key, value in store.options.items() if key not in SECRETS}
    plain |= {"aws_access_key_id": "wrong", "aws_secret_access_key": "wrong"}
    unity = UnityCatalog(server.uri, "secret")

    table = dr.Table.from_name("main.s.far", unity, storage_options=plain)
    # options of the user precede the catalog's settings, and vended credentials precede both
    assert table.snapshot().scan().to_arrow()["id"].to_pylist() == [1]
    requested = server.requests.count(CREDENTIALS)
    table.snapshot()
    assert server.requests.count(CREDENTIALS) == requested
    assert store.options[SECRETS[1]] not in repr(table)

    server.lifetime = 1.0
    table = dr.Table.from_name("main.s.far", unity, storage_options=plain)
    assert table.snapshot().num_files == 1
    requested = server.requests.count(CREDENTIALS)
    time.sleep(1.1)
    table.append({"id": [2]})
    assert server.requests.count(CREDENTIALS) > requested
    assert table.snapshot().num_files == 2


@pytest.mark.parametrize("store", ["moto"], indirect=True)
def test_a_catalog_managed_table_in_a_store(
    store: Store, server: UnityServer, tmp_path: Path
) -> None:
    path = f"{store.root}/managed-{tmp_path.name}"
    server.location = path
    unity = UnityCatalog(server.uri, "secret")
    table = dr.create_table("main.s.managed", SCHEMA, storage_options=store.options, catalog=unity)
    for number in range(3):
        table.append({"id": [number]})

    again = dr.Table.from_name("main.s.managed", unity, storage_options=store.options)
    assert again.uri == path
    assert sorted(again.snapshot().scan().to_arrow()["id"].to_pylist()) == [0, 1, 2]
    assert server.table("main.s.managed")["latest-table-version"] == 3
