"""A Unity Catalog server with the interfaces of the open one, ``delta.yaml`` and ``all.yaml``.

State is in SQLite, so that a restarted server keeps it. It validates requests as strictly as the
specification allows, and can be configured to be slow, to fail, to lose responses and to let
tokens expire.
"""

from __future__ import annotations

import json
import re
import sqlite3
import threading
import time
import uuid
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

Json = dict[str, Any]
BASE = "/api/2.1/unity-catalog"
STATUS = {
    "BadRequestException": 400,
    "InvalidParameterValueException": 400,
    "UnsupportedTableFormatException": 400,
    "NotAuthorizedException": 401,
    "PermissionDeniedException": 403,
    "NoSuchTableException": 404,
    "AlreadyExistsException": 409,
    "CommitVersionConflictException": 409,
    "UpdateRequirementConflictException": 409,
    "ResourceExhaustedException": 429,
    "TooManyRequestsException": 429,
    "CommitStateUnknownException": 500,
    "InternalServerErrorException": 500,
    "ServiceUnavailableException": 503,
}
DERIVED = re.compile(
    r"delta\.(min(Reader|Writer)Version|feature\..*|clusteringColumns|lastUpdateVersion"
    r"|lastCommitTimestamp|rowTracking\.rowIdHighWaterMark)"
)
REQUIRED_FEATURES = {
    "reader": ["catalogManaged", "deletionVectors", "v2Checkpoint", "vacuumProtocolCheck"],
    "writer": [
        "catalogManaged",
        "deletionVectors",
        "inCommitTimestamp",
        "v2Checkpoint",
        "vacuumProtocolCheck",
    ],
}


class Refusal(Exception):
    def __init__(self, kind: str, message: str = "refused by the test") -> None:
        super().__init__(message)
        self.kind = kind


class UnityServer:
    """A server on a port of this machine.

    Attributes:
        uri: Its address.
        requests: Method and path of each request.
        faults: Failures of the next requests: ``("POST .*/tables/t", kind, when)`` with a regular
            expression of method and path, and ``"before"`` or ``"after"`` the request is executed.
        latency: Seconds before each response.
        tokens: Tokens that are accepted.
        vended: The vended credentials; None vends empty ones.
        lifetime: The lifetime of credentials, in seconds.
        location: The location of new managed tables; None chooses a directory.
        is_older: Whether only the older interface knows the tables.
    """

    most_unpublished = 10

    def __init__(self, directory: Path, port: int = 0) -> None:
        self.root = directory / "tables"
        self.database = directory / "unity.sqlite"
        self.requests: list[str] = []
        self.bodies: list[Json] = []
        self.faults: list[tuple[str, str, str]] = []
        self.latency = 0.0
        self.tokens = {"secret"}
        self.vended: Json | None = None
        self.lifetime = 3600.0
        self.is_older = False
        self.location: str | None = None
        self.lock = threading.Lock()
        with closing(self._connect()) as db, db:
            db.execute(
                "CREATE TABLE IF NOT EXISTS tables"
                " (id TEXT PRIMARY KEY, name TEXT UNIQUE, body TEXT)"
            )
            db.execute(
                "CREATE TABLE IF NOT EXISTS commits"
                " (id TEXT, version INTEGER, body TEXT, PRIMARY KEY (id, version))"
            )
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_: Any) -> None:
                pass

            def _answer(self) -> None:
                server._handle(self)

            do_GET = do_POST = do_DELETE = _answer

        self.http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.http.daemon_threads = True
        self.port = self.http.server_address[1]
        self.uri = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self.http.shutdown()
        self.http.server_close()

    def restarted(self) -> UnityServer:
        """Restart the server on the same port, with its state."""
        self.stop()
        return UnityServer(self.database.parent, self.port)

    def register(self, name: str, location: str, kind: str = "EXTERNAL", **body: Any) -> str:
        """Register a table as if by another client."""
        entry = {
            "table-type": kind,
            "location": location,
            "columns": {"type": "struct", "fields": []},
            "properties": {},
            "latest": 0 if kind == "MANAGED" else None,
            **body,
        }
        with closing(self._connect()) as db, db:
            return self._insert(db, name, str(uuid.uuid4()), entry)

    def table(self, name: str) -> Json:
        """Return the server's entry of a table."""
        with closing(self._connect()) as db:
            return self._loaded(db, *self._named(db, name))

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.database, timeout=30)

    # -- requests

    def _handle(self, http: BaseHTTPRequestHandler) -> None:
        length = int(http.headers.get("Content-Length") or 0)
        content = http.rfile.read(length)
        parts = urlsplit(http.path)
        path = parts.path.removeprefix(BASE)
        request = f"{http.command} {path}"
        self.requests.append(request)
        time.sleep(self.latency)
        try:
            if not parts.path.startswith(BASE):
                raise Refusal("BadRequestException", "no such interface")
            token = (http.headers.get("Authorization") or "").removeprefix("Bearer ")
            if token not in self.tokens:
                raise Refusal("NotAuthorizedException", "the token is unknown or has expired")
            fault = self._fault(request)
            if fault and fault[2] == "before":
                self._fail(http, fault[1])
                return
            body = json.loads(content) if content else {}
            self.bodies.append(body)
            query = {key: value[0] for key, value in parse_qs(parts.query).items()}
            with self.lock, closing(self._connect()) as db, db:
                answer = self._route(db, http.command, path, query, body)
            if fault:
                self._fail(http, fault[1])
                return
            self._send(http, 200, answer)
        except Refusal as refusal:
            self._refuse(http, refusal)
        except (KeyError, ValueError, TypeError) as error:
            self._refuse(http, Refusal("BadRequestException", repr(error)))

    def _fault(self, request: str) -> tuple[str, str, str] | None:
        with self.lock:
            for fault in self.faults:
                if re.fullmatch(fault[0], request):
                    self.faults.remove(fault)
                    return fault
        return None

    def _fail(self, http: BaseHTTPRequestHandler, kind: str) -> None:
        if kind == "hang up":
            http.close_connection = True
            http.connection.close()
        elif kind == "nonsense":
            self._send(http, 200, "<html>")
        elif kind == "elsewhere":
            http.send_response(307)
            http.send_header("Location", f"{self.uri}/stolen")
            http.send_header("Content-Length", "0")
            http.end_headers()
        else:
            self._refuse(http, Refusal(kind))

    def _refuse(self, http: BaseHTTPRequestHandler, refusal: Refusal) -> None:
        status = STATUS[refusal.kind]
        model = {"message": str(refusal), "type": refusal.kind, "code": status}
        self._send(http, status, {"error": model})

    def _send(self, http: BaseHTTPRequestHandler, status: int, answer: Json | str) -> None:
        content = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        http.send_response(status)
        http.send_header("Content-Type", "application/json")
        http.send_header("Content-Length", str(len(content)))
        if status == 429:
            http.send_header("Retry-After", "0")
        http.end_headers()
        http.wfile.write(content)

    def _route(
        self, db: sqlite3.Connection, method: str, path: str, query: Json, body: Json
    ) -> Json:
        table = re.fullmatch(
            r"/delta/v1/catalogs/([^/]+)/schemas/([^/]+)/tables/([^/]+)(/\w+)?", path
        )
        schema = re.fullmatch(
            r"/delta/v1/catalogs/([^/]+)/schemas/([^/]+)/(tables|staging-tables)", path
        )
        staging = re.fullmatch(r"/delta/v1/staging-tables/([^/]+)/credentials", path)
        if path == "/delta/v1/config" and method == "GET":
            return {"endpoints": [], "protocol-version": "1.0"}
        if schema and method == "POST":
            space = ".".join(map(unquote, schema.groups()[:2]))
            make = self._stage if schema[3] == "staging-tables" else self._create
            return make(db, f"{space}.{body['name']}", body)
        if staging and method == "GET":
            row = self._by_id(db, staging[1])
            return self._credentials(row["location"], "READ_WRITE")
        if table:
            name = ".".join(map(unquote, table.groups()[:3]))
            entry = self._named(db, name)
            if self.is_older:
                raise Refusal("UnsupportedTableFormatException")
            if table[4] == "/credentials" and method == "GET":
                return self._credentials(entry[1]["location"], query["operation"])
            if table[4] is None and method == "GET":
                return self._loaded(db, *entry)
            if table[4] is None and method == "POST":
                return self._update(db, *entry, body)
        return self._older(db, method, path, body)

    # -- the interface for Delta tables

    def _stage(self, db: sqlite3.Connection, name: str, body: Json) -> Json:
        if db.execute("SELECT 1 FROM tables WHERE name = ?", (name,)).fetchone():
            raise Refusal("AlreadyExistsException", name)
        table_id = str(uuid.uuid4())
        location = self.location or (self.root / table_id).as_uri()
        self._insert(db, f"staged:{table_id}", table_id, {"location": location, "of": name})
        return {
            "table-id": table_id,
            "table-type": "MANAGED",
            "location": location,
            **self._credentials(location, "READ_WRITE"),
            "required-protocol": {
                "min-reader-version": 3,
                "min-writer-version": 7,
                "reader-features": REQUIRED_FEATURES["reader"],
                "writer-features": REQUIRED_FEATURES["writer"],
            },
            "required-properties": {
                "delta.checkpointPolicy": "v2",
                "delta.enableDeletionVectors": "true",
                "delta.enableInCommitTimestamps": "true",
                "io.unitycatalog.tableId": table_id,
            },
            "suggested-properties": {
                "delta.columnMapping.mode": "name",
                "delta.columnMapping.maxColumnId": None,
                "delta.suggestedForTests": "unknown",
            },
        }

    def _create(self, db: sqlite3.Connection, name: str, body: Json) -> Json:
        if db.execute("SELECT 1 FROM tables WHERE name = ?", (name,)).fetchone():
            raise Refusal("AlreadyExistsException", name)
        for key in ("location", "table-type", "columns", "protocol", "last-commit-timestamp-ms"):
            if key not in body:
                raise Refusal("InvalidParameterValueException", f"{key} is missing")
        for field in body["columns"]["fields"]:
            assert {"name", "type", "nullable", "metadata"} <= field.keys()
        fields = {key: body[key] for key in ("location", "table-type", "columns", "properties")}
        fields["partition-columns"] = body.get("partition-columns", [])
        fields["protocol"] = body["protocol"]
        table_id = str(uuid.uuid4())
        if body["table-type"] == "MANAGED":
            table_id = body["properties"]["io.unitycatalog.tableId"]
            staged = self._by_id(db, table_id)
            if staged["location"] != body["location"].rstrip("/") or staged["of"] != name:
                raise Refusal("InvalidParameterValueException", "it was staged elsewhere")
            lacking = set(REQUIRED_FEATURES["writer"]) - set(body["protocol"]["writer-features"])
            if lacking:
                raise Refusal("InvalidParameterValueException", f"the protocol lacks {lacking}")
            fields["latest"] = 0
            db.execute("DELETE FROM tables WHERE id = ?", (table_id,))
        self._insert(db, name, table_id, fields)
        return self._loaded(db, *self._named(db, name))

    def _loaded(self, db: sqlite3.Connection, table_id: str, table: Json) -> Json:
        rows = db.execute(
            "SELECT body FROM commits WHERE id = ? ORDER BY version DESC", (table_id,)
        ).fetchall()
        metadata = {
            "etag": str(hash(json.dumps(table))),
            "table-uuid": table_id,
            "created-time": 1,
            "updated-time": 1,
            **{key: value for key, value in table.items() if key not in ("latest", "protocol")},
        }
        features = table.get("protocol", {}).get("writer-features", [])
        derived = {f"delta.feature.{name}": "supported" for name in features}
        metadata["properties"] = {
            **table["properties"],
            **derived,
            "delta.lastUpdateVersion": str(table.get("latest") or 0),
        }
        answer: Json = {"metadata": metadata, "commits": [json.loads(row[0]) for row in rows]}
        if table.get("latest") is not None:
            answer["latest-table-version"] = table["latest"]
        return answer

    def _update(self, db: sqlite3.Connection, table_id: str, table: Json, body: Json) -> Json:
        asserted = [item for item in body["requirements"] if item["type"] == "assert-table-uuid"]
        if len(asserted) != 1:
            raise Refusal("BadRequestException", "assert-table-uuid is required")
        if asserted[0]["uuid"] != table_id:
            raise Refusal("UpdateRequirementConflictException", "it is another table")
        updates = {update["action"]: update for update in body["updates"]}
        if not updates or len(updates) != len(body["updates"]):
            raise Refusal("BadRequestException", "one update of each kind, and at least one")
        backfilled = updates.pop("set-latest-backfilled-version", None)
        if "add-commit" in updates:
            commit = updates.pop("add-commit")["commit"]
            published = backfilled and backfilled["latest-published-version"]
            if not self._add(db, table_id, table, commit, published):
                return self._loaded(db, table_id, table)
        elif backfilled:
            self._backfilled(db, table_id, table, backfilled["latest-published-version"])
        for action, update in updates.items():
            self._apply(table, action, update)
        db.execute("UPDATE tables SET body = ? WHERE id = ?", (json.dumps(table), table_id))
        return self._loaded(db, table_id, table)

    def _add(
        self,
        db: sqlite3.Connection,
        table_id: str,
        table: Json,
        commit: Json,
        published: int | None,
    ) -> bool:
        for key in ("version", "timestamp", "file-size", "file-modification-timestamp"):
            if not isinstance(commit[key], int):
                raise Refusal("InvalidParameterValueException", key)
        version, name = commit["version"], commit["file-name"]
        if table.get("latest") is None:
            raise Refusal("InvalidParameterValueException", "the table is not managed")
        existing = db.execute(
            "SELECT body FROM commits WHERE id = ? AND version = ?", (table_id, version)
        ).fetchone()
        if existing and json.loads(existing[0])["file-name"] == name:
            return False
        if version != table["latest"] + 1:
            raise Refusal("CommitVersionConflictException", f"{table['latest']} is the latest")
        if published is not None:
            self._backfilled(db, table_id, table, published)
        (waiting,) = db.execute("SELECT count(*) FROM commits WHERE id = ?", (table_id,)).fetchone()
        if waiting >= self.most_unpublished:
            raise Refusal("ResourceExhaustedException", f"{waiting} commits wait")
        db.execute("INSERT INTO commits VALUES (?, ?, ?)", (table_id, version, json.dumps(commit)))
        table["latest"] = version
        return True

    def _backfilled(self, db: sqlite3.Connection, table_id: str, table: Json, version: int) -> None:
        if version > table["latest"]:
            raise Refusal("InvalidParameterValueException", "later than the latest")
        # as in the open server, the newest is kept, to know the latest version
        db.execute(
            "DELETE FROM commits WHERE id = ? AND version <= ? AND version < ?",
            (table_id, version, table["latest"]),
        )

    def _apply(self, table: Json, action: str, update: Json) -> None:
        if action in ("set-properties", "remove-properties"):
            keys = update.get("updates") or update.get("removals")
            wrong = [key for key in keys if DERIVED.fullmatch(key)]
            if wrong:
                raise Refusal("InvalidParameterValueException", f"the server's own: {wrong}")
        match action:
            case "set-properties":
                table["properties"] |= update["updates"]
            case "remove-properties":
                for key in update["removals"]:
                    del table["properties"][key]
            case "set-columns":
                table["columns"] = update["columns"]
            case "set-partition-columns":
                table["partition-columns"] = update["partition-columns"]
            case "set-protocol":
                table["protocol"] = update["protocol"]
            case "set-table-comment":
                table["comment"] = update["comment"]
            case "set-domain-metadata":
                assert update["updates"].keys() <= {"delta.clustering", "delta.rowTracking"}
                table.setdefault("domains", {}).update(update["updates"])
            case "remove-domain-metadata":
                for domain in update["domains"]:
                    table["domains"].pop(domain, None)
            case _:
                raise Refusal("BadRequestException", action)

    def _credentials(self, location: str, operation: str) -> Json:
        if operation not in ("READ", "READ_WRITE"):
            raise Refusal("InvalidParameterValueException", operation)
        expires = int((time.time() + self.lifetime) * 1000)
        offered = {"operation": operation, "expiration-time-ms": expires}
        names = ("s3.access-key-id", "s3.secret-access-key", "s3.session-token")
        wrong = dict.fromkeys(names, "for another path")
        return {
            "storage-credentials": [
                {**offered, "prefix": location[:8], "config": wrong},
                {**offered, "prefix": location, "config": self.vended or {}},
            ]
        }

    # -- the older interface

    def _older(self, db: sqlite3.Connection, method: str, path: str, body: Json) -> Json:
        if method == "GET" and path.startswith("/tables/"):
            table_id, table = self._named(db, unquote(path.removeprefix("/tables/")))
            properties = dict(table["properties"])
            if table.get("latest") is not None:
                properties["delta.feature.catalogManaged"] = "supported"
            return {
                "table_id": table_id,
                "storage_location": table["location"],
                "table_type": table["table-type"],
                "properties": properties,
            }
        if path == "/temporary-table-credentials" and method == "POST":
            table = self._by_id(db, body["table_id"])
            expires = int((time.time() + self.lifetime) * 1000)
            config = self._credentials(table["location"], body["operation"])
            vended = config["storage-credentials"][1]["config"]
            aws = {
                "access_key_id": vended.get("s3.access-key-id"),
                "secret_access_key": vended.get("s3.secret-access-key"),
                "session_token": vended.get("s3.session-token"),
            }
            return {"aws_temp_credentials": aws, "expiration_time": expires}
        if path == "/delta/preview/commits":
            table = self._by_id(db, body["table_id"])
            if body["table_uri"] != table["location"]:
                raise Refusal("InvalidParameterValueException", "table_uri")
            if method == "GET":
                return self._older_commits(db, table, body)
            if method == "POST":
                return self._older_commit(db, table, body)
        raise Refusal("BadRequestException", f"{method} {path}")

    def _older_commits(self, db: sqlite3.Connection, table: Json, body: Json) -> Json:
        rows = db.execute(
            "SELECT body FROM commits WHERE id = ? AND version >= ? ORDER BY version LIMIT 2",
            (body["table_id"], body["start_version"]),
        ).fetchall()
        commits = [
            {key.replace("-", "_"): value for key, value in json.loads(row[0]).items()}
            for row in rows
        ]
        latest = table["latest"] or -1
        return {"commits": commits[::-1], "latest_table_version": latest}

    def _older_commit(self, db: sqlite3.Connection, table: Json, body: Json) -> Json:
        published = body.get("latest_backfilled_version")
        if "commit_info" in body:
            commit = {key.replace("_", "-"): value for key, value in body["commit_info"].items()}
            self._add(db, body["table_id"], table, commit, published)
        elif published is not None:
            self._backfilled(db, body["table_id"], table, published)
        db.execute("UPDATE tables SET body = ? WHERE id = ?", (json.dumps(table), body["table_id"]))
        return {}

    # -- rows

    def _insert(self, db: sqlite3.Connection, name: str, table_id: str, table: Json) -> str:
        db.execute("INSERT INTO tables VALUES (?, ?, ?)", (table_id, name, json.dumps(table)))
        return table_id

    def _named(self, db: sqlite3.Connection, name: str) -> tuple[str, Json]:
        row = db.execute("SELECT id, body FROM tables WHERE name = ?", (name,)).fetchone()
        if row is None:
            raise Refusal("NoSuchTableException", f"there is no table {name}")
        return row[0], json.loads(row[1])

    def _by_id(self, db: sqlite3.Connection, table_id: str) -> Json:
        row = db.execute("SELECT body FROM tables WHERE id = ?", (table_id,)).fetchone()
        if row is None:
            raise Refusal("NoSuchTableException", f"there is no table {table_id}")
        entry: Json = json.loads(row[0])
        return entry
