"""Unity Catalog: tables by name, against a server by its specification."""

from __future__ import annotations

import json
import logging
import pickle
import sqlite3
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from support.unity_server import UnityServer

import deltareplay as dr
from deltareplay.catalogs import Located, UnityCatalog

SCHEMA = pa.schema([("id", pa.int64()), ("tags", pa.list_(pa.string()))])
NAME = "main.sales.orders"


def ids(table: dr.Table) -> list[int]:
    return sorted(table.snapshot().scan().to_arrow()["id"].to_pylist())


def row(number: int) -> dict[str, list[object]]:
    return {"id": [number], "tags": [["a"]]}


# -- creating


def test_a_table_is_made_as_the_catalog_requires(server: UnityServer, unity: UnityCatalog) -> None:
    table = dr.create_table(NAME, SCHEMA, ["id"], description="all of them", catalog=unity)

    snapshot = table.snapshot()
    features = set(snapshot.protocol.writer_features or ())
    assert {"catalogManaged", "deletionVectors", "v2Checkpoint", "inCommitTimestamp"} <= features
    registered = server.table(NAME)
    assert registered["latest-table-version"] == 0
    assert registered["metadata"]["location"] == table.uri
    assert registered["metadata"]["partition-columns"] == ["id"]
    configuration = snapshot.metadata.configuration
    assert configuration["io.unitycatalog.tableId"] == registered["metadata"]["table-uuid"]
    # the suggestions of the catalog are applied if possible
    assert configuration["delta.columnMapping.mode"] == "name"
    assert "delta.suggestedForTests" not in configuration
    (tags,) = (
        field for field in registered["metadata"]["columns"]["fields"] if field["name"] == "tags"
    )
    assert tags["type"] == {"type": "array", "element-type": "string", "contains-null": True}


def test_an_existing_table_is_not_created_again(unity: UnityCatalog) -> None:
    dr.create_table(NAME, SCHEMA, catalog=unity)

    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.create_table(NAME, SCHEMA, catalog=unity)
    assert caught.value.code == "table.exists"


def test_an_existing_table_is_kept_or_replaced(server: UnityServer, unity: UnityCatalog) -> None:
    dr.create_table(NAME, SCHEMA, catalog=unity).append(row(1))

    same = dr.create_table(NAME, SCHEMA, if_not_exists=True, catalog=unity)
    assert ids(same) == [1]
    other = pa.schema([("day", pa.date32())])
    assert dr.create_table(NAME, other, or_replace=True, catalog=unity).snapshot().version == 2
    snapshot = dr.Table(NAME, catalog=unity).snapshot()
    assert snapshot.schema.names == ["day"]
    registered = server.table(NAME)["metadata"]
    assert registered["properties"]["io.unitycatalog.tableId"] == registered["table-uuid"]
    assert snapshot.properties["io.unitycatalog.tableId"] == registered["table-uuid"]


def test_rows_are_written_under_a_name(server: UnityServer, unity: UnityCatalog) -> None:
    assert not dr.is_table(NAME, catalog=unity)
    assert dr.write(NAME, row(1), catalog=unity).version == 0
    assert dr.is_table(NAME, catalog=unity)
    assert dr.write(NAME, row(2), catalog=unity).version == 1
    assert dr.write(NAME, row(1), mode="overwrite", where="id = 1", catalog=unity).version == 2
    with pytest.raises(dr.InvalidArgumentError, match="there is a table already"):
        dr.write(NAME, row(4), mode="error", catalog=unity)

    assert ids(dr.Table(NAME, catalog=unity)) == [1, 2]
    assert server.table(NAME)["latest-table-version"] == 2


def test_a_write_queries_the_catalog_twice(server: UnityServer, unity: UnityCatalog) -> None:
    table = dr.create_table(NAME, SCHEMA, catalog=unity)
    table.append(row(1))
    server.requests.clear()
    table.append(row(2))
    path = "/delta/v1/catalogs/main/schemas/sales/tables/orders"
    assert server.requests == [f"GET {path}", f"POST {path}"]


def test_a_read_only_catalog_creates_no_tables() -> None:
    class Finder:
        def locate(self, name: str) -> Located:
            raise dr.TableNotFoundError(f"no {name}", code="table.not_found")

    for make in (
        lambda: dr.create_table("s.t", SCHEMA, catalog=Finder()),
        lambda: dr.write("s.t", row(1), catalog=Finder()),
    ):
        with pytest.raises(dr.InvalidArgumentError, match="Finder cannot create tables") as caught:
            make()
        assert caught.value.code == "catalog.creates_none"


def test_a_table_that_cannot_be_registered_does_not_exist(
    server: UnityServer, unity: UnityCatalog
) -> None:
    server.faults.append(("POST .*/tables", "PermissionDeniedException", "before"))

    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.create_table(NAME, SCHEMA, catalog=unity)
    assert caught.value.code == "catalog.denied"
    with pytest.raises(dr.TableNotFoundError) as caught:
        unity.locate(NAME)
    assert caught.value.code == "catalog.no_table"
    dr.create_table(NAME, SCHEMA, catalog=unity)


# -- by name


def test_a_name_opens_a_table_in_all_spellings(
    server: UnityServer, unity: UnityCatalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    dr.create_table(NAME, SCHEMA, catalog=unity).append(row(1))
    monkeypatch.setenv("UNITY_CATALOG_URI", server.uri)
    monkeypatch.setenv("UNITY_CATALOG_TOKEN", "secret")

    opened = [
        dr.Table.from_name(NAME, unity),
        dr.Table.from_name(NAME, "uc"),
        dr.Table.from_name(f"uc://{NAME}"),
        dr.Table(f"uc://{NAME}"),
        dr.Table(NAME, catalog="uc"),
        dr.Table.from_name("main.`sales`.orders", unity),
    ]

    assert [ids(table) for table in opened] == [[1]] * len(opened)
    assert len(set(opened)) == 1


def test_a_table_that_the_catalog_does_not_manage_is_read_by_its_files(
    server: UnityServer, unity: UnityCatalog, tmp_path: Path
) -> None:
    dr.write(tmp_path / "plain", row(1))
    server.register("main.s.plain", (tmp_path / "plain").as_uri())

    table = dr.Table.from_name("main.s.plain", unity)
    table.append(row(2))

    assert ids(table) == ids(dr.Table(tmp_path / "plain")) == [1, 2]


def test_an_unmanaged_table_cannot_become_managed(
    server: UnityServer, unity: UnityCatalog, tmp_path: Path
) -> None:
    dr.write(tmp_path / "plain", row(1))
    server.register("main.s.plain", (tmp_path / "plain").as_uri())

    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        dr.Table.from_name("main.s.plain", unity).set_properties(
            {"delta.feature.catalogManaged": "supported"}
        )
    assert caught.value.code == "catalog.take_over"
    assert ids(dr.Table(tmp_path / "plain")) == [1]


@pytest.mark.parametrize("name", ["orders", "a.b", "a.b.c.d", "a..c", "a.`b.c", "", "hive://a.b.c"])
def test_rejects_invalid_names(unity: UnityCatalog, name: str) -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        unity.locate(name)
    assert caught.value.code == "catalog.name"


def test_rejects_an_unknown_kind() -> None:
    with pytest.raises(dr.InvalidArgumentError) as caught:
        dr.Table.from_name(NAME, "ucc")
    assert caught.value.code == "catalog.kind"


@pytest.mark.parametrize(
    "address", ["ftp://host", "http://", "http://[::1", "https://me:word@host", ""]
)
def test_rejects_invalid_addresses(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("UNITY_CATALOG_URI", "DATABRICKS_HOST"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(dr.InvalidArgumentError) as caught:
        UnityCatalog(address)
    assert caught.value.code == "catalog.address"


def test_a_missing_table_is_an_error(unity: UnityCatalog) -> None:
    with pytest.raises(dr.TableNotFoundError) as caught:
        dr.Table.from_name("main.sales.nothing", unity)
    assert caught.value.code == "catalog.no_table"


# -- committing


def test_commits_go_through_the_catalog(server: UnityServer, unity: UnityCatalog) -> None:
    table = dr.create_table(NAME, SCHEMA, catalog=unity)
    for number in range(12):
        table.append(row(number))
    table.delete("id = 3")

    assert server.table(NAME)["latest-table-version"] == 13
    assert ids(dr.Table.from_name(NAME, unity)) == [number for number in range(12) if number != 3]
    assert table.verify().findings == ()


def test_one_request_opens_and_one_commits(server: UnityServer, unity: UnityCatalog) -> None:
    table = dr.create_table(NAME, SCHEMA, catalog=unity)
    table.append(row(1))
    server.requests.clear()

    snapshot = table.snapshot()
    assert [request for request in server.requests if "credentials" not in request] == [
        "GET /delta/v1/catalogs/main/schemas/sales/tables/orders"
    ]
    transaction = table.transaction(snapshot=snapshot)
    transaction.set_transaction("app", 1)
    server.requests.clear()
    transaction.commit()
    posted = [request for request in server.requests if request.startswith("POST")]
    assert posted == ["POST /delta/v1/catalogs/main/schemas/sales/tables/orders"]
    assert "GET /delta/v1/catalogs/main/schemas/sales/tables/orders" not in server.requests


def test_changes_of_metadata_reach_the_catalog(server: UnityServer, unity: UnityCatalog) -> None:
    table = dr.create_table(NAME, SCHEMA, catalog=unity)
    table.set_properties({"team": "sales"})
    assert server.table(NAME)["metadata"]["properties"]["team"] == "sales"

    table.unset_properties(["team"])
    assert "team" not in server.table(NAME)["metadata"]["properties"]
    table.add_columns(pa.schema([("more", pa.map_(pa.string(), pa.float64()))]))
    columns = {
        field["name"]: field for field in server.table(NAME)["metadata"]["columns"]["fields"]
    }
    assert columns["more"]["type"]["value-type"] == "double"
    table.set_properties({"delta.enableChangeDataFeed": "true"})
    properties = server.table(NAME)["metadata"]["properties"]
    assert properties["delta.feature.changeDataFeed"] == "supported"
    assert table.snapshot().properties["delta.enableChangeDataFeed"] == "true"


def test_domains_reach_the_catalog(server: UnityServer, unity: UnityCatalog) -> None:
    table = dr.create_table(
        NAME, SCHEMA, properties={"delta.enableRowTracking": "true"}, catalog=unity
    )
    table.append(row(1))
    table.append({"id": [2, 3], "tags": [None, None]})

    (body,) = (
        update
        for body in server.bodies[-4:]
        for update in body.get("updates", [])
        if update["action"] == "set-domain-metadata"
        and update["updates"]["delta.rowTracking"]["rowIdHighWaterMark"] == 2
    )
    assert body["updates"].keys() == {"delta.rowTracking"}


@pytest.mark.parametrize(
    "fault",
    [
        ("CommitStateUnknownException", "before"),
        ("CommitStateUnknownException", "after"),
        ("InternalServerErrorException", "after"),
        ("TooManyRequestsException", "before"),
        ("hang up", "before"),
        ("hang up", "after"),
        ("nonsense", "after"),
    ],
)
def test_an_answer_that_is_lost_commits_once(
    server: UnityServer, unity: UnityCatalog, fault: tuple[str, str]
) -> None:
    table = dr.create_table(NAME, SCHEMA, catalog=unity)
    server.faults.append(("POST .*/tables/orders", *fault))

    assert table.append(row(1)).version == 1
    assert ids(table) == [1]
    assert server.faults == []


@pytest.mark.parametrize(
    "refusal", ["NotAuthorizedException", "PermissionDeniedException", "NoSuchTableException"]
)
def test_a_commit_is_found_although_its_repetition_would_be_refused(
    server: UnityServer, unity: UnityCatalog, refusal: str
) -> None:
    table = dr.create_table(NAME, SCHEMA, catalog=unity)
    posts = "POST .*/tables/orders"
    server.faults += [
        (posts, "ServiceUnavailableException", "after"),
        (posts, refusal, "before"),
    ]

    assert table.append(row(1)).version == 1
    server.faults.clear()
    assert ids(table) == [1]


def test_too_many_unpublished_commits_are_published_first(
    server: UnityServer, unity: UnityCatalog
) -> None:
    table = dr.create_table(NAME, SCHEMA, catalog=unity)
    log = Path(table.uri.removeprefix("file://")) / "_delta_log"
    for number in range(10):
        table.append(row(number))
    # as if nobody had published: the server still has all of them
    staged = {file.name[:20]: file.name for file in (log / "_staged_commits").iterdir()}
    with sqlite3.connect(server.database) as db:
        for version in range(1, 11):
            (log / f"{version:020}.json").unlink()
            name = staged[f"{version:020}"]
            commit = {"version": version, "timestamp": 1, "file-name": name}
            commit["file-size"] = (log / "_staged_commits" / name).stat().st_size
            commit["file-modification-timestamp"] = 1
            uuid = server.table(NAME)["metadata"]["table-uuid"]
            db.execute(
                "INSERT OR REPLACE INTO commits VALUES (?, ?, ?)",
                (uuid, version, json.dumps(commit)),
            )

    other = dr.Table.from_name(NAME, unity)
    assert ids(other) == list(range(10))
    assert other.append(row(10)).version == 11
    assert (log / f"{11:020}.json").exists()
    assert ids(dr.Table.from_name(NAME, unity)) == list(range(11))


def test_another_table_under_the_name_is_not_committed_to(
    server: UnityServer, unity: UnityCatalog
) -> None:
    table = dr.create_table(NAME, SCHEMA, catalog=unity)
    snapshot = table.snapshot()
    server.faults.append(("POST .*/tables/orders", "UpdateRequirementConflictException", "before"))

    with pytest.raises(dr.CorruptTableError) as caught:
        table.append(row(1))
    assert caught.value.code == "catalog.table_id"
    assert snapshot.refresh().version == 0


def test_a_restarted_server_keeps_its_state(server: UnityServer, unity: UnityCatalog) -> None:
    table = dr.create_table(NAME, SCHEMA, catalog=unity)
    table.append(row(1))
    again = server.restarted()
    try:
        table.append(row(2))
        assert ids(table) == [1, 2]
    finally:
        again.stop()


def test_writers_race_through_the_server(server: UnityServer, unity: UnityCatalog) -> None:
    server.latency = 0.002
    dr.create_table(NAME, SCHEMA, properties={"delta.checkpointInterval": "1000"}, catalog=unity)
    errors: list[BaseException] = []

    def write(first: int) -> None:
        try:
            table = dr.Table.from_name(NAME, unity)
            for number in range(first, first + 8):
                table.append(row(number))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(100 * number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    table = dr.Table.from_name(NAME, unity)
    assert table.snapshot().version == 24
    assert ids(table) == [100 * item + number for item in range(3) for number in range(8)]


# -- the older API


def test_reads_and_writes_through_the_older_api(server: UnityServer, unity: UnityCatalog) -> None:
    table = dr.create_table(NAME, SCHEMA, catalog=unity)
    for number in range(3):
        table.append(row(number))
    server.is_older = True
    server.requests.clear()

    older = dr.Table.from_name(NAME, unity)
    assert ids(older) == [0, 1, 2]
    for number in range(3, 8):
        older.append(row(number))
    assert ids(dr.Table.from_name(NAME, unity)) == list(range(8))
    assert "POST /delta/preview/commits" in server.requests


# -- tokens and credentials


def test_a_refused_token_is_reported_and_never_displayed(
    server: UnityServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    catalog = UnityCatalog(server.uri, "wrong-token")

    with pytest.raises(dr.InvalidArgumentError) as caught:
        catalog.locate(NAME)
    assert caught.value.code == "catalog.denied"
    seen = f"{caught.value!r} {catalog!r} {catalog._client!r} {caplog.text}"
    assert "wrong-token" not in seen


def test_a_token_may_be_a_function_that_is_called_each_time(server: UnityServer) -> None:
    tokens = iter(["first", "second"])
    server.tokens = {"first"}
    catalog = UnityCatalog(server.uri, lambda: next(tokens))
    with pytest.raises(dr.TableNotFoundError) as caught:
        catalog.locate(NAME)
    assert caught.value.code == "catalog.no_table"
    server.tokens = {"second"}
    with pytest.raises(dr.TableNotFoundError) as caught:
        catalog.locate(NAME)
    assert caught.value.code == "catalog.no_table"


def test_redirects_are_not_followed(server: UnityServer, unity: UnityCatalog) -> None:
    server.faults.append(("GET .*", "elsewhere", "before"))

    with pytest.raises(dr.InvalidArgumentError) as caught:
        unity.locate(NAME)
    assert caught.value.code == "catalog.refused"
    assert len(server.requests) == 1


def test_vended_credentials_become_storage_options(
    server: UnityServer, unity: UnityCatalog
) -> None:
    server.vended = {"s3.access-key-id": "id", "s3.secret-access-key": "key"}
    server.register("main.s.far", "s3://bucket/far")
    table = unity.locate("main.s.far").catalog
    assert table is not None

    result = table.credentials("READ")

    assert result is not None
    assert result.storage_options == {"aws_access_key_id": "id", "aws_secret_access_key": "key"}
    assert result.expires_at is not None
    assert "key" not in repr(result)
    server.is_older = True
    older = unity.locate("main.s.far").catalog
    assert older is not None
    again = older.credentials("READ_WRITE")
    assert again is not None
    assert again.storage_options == result.storage_options


def test_other_refusals_of_the_server_are_reported(
    server: UnityServer, unity: UnityCatalog
) -> None:
    table = dr.create_table(NAME, SCHEMA, catalog=unity)
    server.faults.append(("POST .*/tables/orders", "InvalidParameterValueException", "before"))

    with pytest.raises(dr.InvalidArgumentError) as caught:
        table.append(row(1))
    assert caught.value.code == "catalog.refused"
    assert ids(table) == []


@pytest.mark.parametrize("fault", ["nonsense", "hang up", "InternalServerErrorException"])
def test_a_server_that_does_not_answer_is_a_storage_error(
    server: UnityServer, unity: UnityCatalog, fault: str
) -> None:
    server.faults += [("GET .*", fault, "before")] * 4

    with pytest.raises(dr.StorageError) as caught:
        unity.locate(NAME)
    codes = {"nonsense": "catalog.response"}
    assert caught.value.code == codes.get(fault, "catalog.unreachable")


def test_validates_only_the_fields_that_it_needs(server: UnityServer, unity: UnityCatalog) -> None:
    server.register(NAME, "file:///nowhere", columns=None)
    server.register("main.sales.odd", "file:///nowhere", "MANAGED", latest="seven")

    assert unity.locate(NAME)
    with pytest.raises(dr.StorageError) as caught:
        unity.locate("main.sales.odd")
    assert caught.value.code == "catalog.response"


def test_catalogs_compare_by_their_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNITY_CATALOG_URI", "host/")
    catalog = UnityCatalog()

    assert catalog == UnityCatalog("https://host") != UnityCatalog("https://other")
    assert pickle.loads(pickle.dumps(catalog)) == catalog


def test_catalogs_and_their_tables_pickle(server: UnityServer, unity: UnityCatalog) -> None:
    table = dr.create_table(NAME, SCHEMA, catalog=unity)
    table.append(row(1))

    assert pickle.loads(pickle.dumps(unity)) == unity
    again = pickle.loads(pickle.dumps(table))
    assert again == table
    assert ids(again) == [1]
    assert pickle.loads(pickle.dumps(table.snapshot())).num_files == 1
