"""Object stores that run on this machine, each with an empty bucket or container."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from email.utils import formatdate
from pathlib import Path

from stores import fake_gcs

#: The programs that ``make test-stores`` installs.
TOOLS = Path(__file__).resolve().parents[2] / ".venv" / "stores"
BUCKET = "tables"
#: The seconds until a server must be ready; the first start of HDFS on a machine downloads it.
STARTUP_TIMEOUT_S = 240
#: The account of every Azurite; its key is public.
ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)


@dataclass(frozen=True)
class Store:
    """A location for tables.

    Attributes:
        name: The name of the store.
        root: The URI of the bucket or directory for tables.
        options: The storage options.
        port: The port of the server.
        environment: Variables that its clients need in addition to the options.
        bucket: The objects and requests of a store that runs in this process.
        directory: The directory of a store whose objects are files.
    """

    name: str
    root: str
    options: dict[str, str]
    port: int
    environment: dict[str, str] = field(default_factory=dict)
    bucket: fake_gcs.Bucket | None = None
    directory: Path | None = None

    def behind(self, port: int) -> Store:
        """Return the same tables through a proxy on another port."""
        own_address, proxy_address = f"127.0.0.1:{self.port}", f"127.0.0.1:{port}"

        def moved(texts: dict[str, str]) -> dict[str, str]:
            return {name: text.replace(own_address, proxy_address) for name, text in texts.items()}

        return replace(
            self,
            root=self.root.replace(own_address, proxy_address),
            options=moved(self.options),
            environment=moved(self.environment),
        )


@contextmanager
def moto(accepted: Path | None = None) -> Iterator[Store]:
    """Start moto's S3, in the memory of another process.

    Args:
        accepted: A file with the accepted keys, as for ``serve_moto``; by default all are.
    """
    port = free_port()
    command = [sys.executable, str(Path(__file__).with_name("serve_moto.py")), str(port)]
    command += [str(accepted)] if accepted else []
    with _running(command, _listens(port)):
        key = accepted.read_text().split()[0] if accepted else "any"  # moto does not check more
        scope = f"Credential={key}/20260101/us-east-1/s3/aws4_request"
        authorization = f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=any"
        _ask("PUT", f"http://127.0.0.1:{port}/{BUCKET}", {"Authorization": authorization})
        yield Store("moto", f"s3://{BUCKET}", _s3(port), port)


@contextmanager
def versitygw(directory: Path) -> Iterator[Store]:
    """Start versitygw's S3, on real files."""
    port = free_port()
    (directory / BUCKET).mkdir(parents=True)
    options = _s3(port)
    environment = {
        **os.environ,
        "ROOT_ACCESS_KEY": options["aws_access_key_id"],
        "ROOT_SECRET_KEY": options["aws_secret_access_key"],
    }
    command = [_tool("versitygw"), "--port", f"127.0.0.1:{port}", "posix", str(directory)]
    with _running(command, _listens(port), environment):
        yield Store("versitygw", f"s3://{BUCKET}", options, port, directory=directory / BUCKET)


@contextmanager
def azurite(directory: Path) -> Iterator[Store]:
    """Start Azurite, an Azure Blob Storage.

    Its clients need ``AZURITE_BLOB_STORAGE_URL``, which is in ``environment``.
    """
    port = free_port()
    command = [_tool("azurite-blob"), "--silent", "--skipApiVersionCheck", "--loose"]
    command += ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(directory)]
    options = {
        "azure_storage_account_name": ACCOUNT,
        "azure_storage_account_key": ACCOUNT_KEY,
        "azure_storage_use_emulator": "true",
        "allow_http": "true",
    }
    with _running(command, _listens(port)):
        _make_container(port)
        environment = {"AZURITE_BLOB_STORAGE_URL": f"http://127.0.0.1:{port}"}
        yield Store("azurite", f"az://{BUCKET}", options, port, environment)


@contextmanager
def gcs(broken: bool = False) -> Iterator[Store]:
    """Start :mod:`stores.fake_gcs`, a Google Cloud Storage in this process."""
    with fake_gcs.serve(BUCKET, broken) as (url, bucket):
        key = {
            "gcs_base_url": url,
            "disable_oauth": True,
            "client_email": "",
            "private_key": "",
            "private_key_id": "",
        }
        options = {"google_service_account_key": json.dumps(key)}
        yield Store("gcs", f"gs://{BUCKET}", options, int(url.rsplit(":", 1)[1]), bucket=bucket)


@contextmanager
def hdfs(directory: Path) -> Iterator[Store]:
    """Start Hadoop's own test cluster of HDFS; its clients need no options."""
    directory.mkdir()
    port, usable = free_port(), directory / "usable"
    command = [sys.executable, str(Path(__file__).with_name("serve_hdfs.py")), str(port)]
    with _running([*command, str(usable)], usable.exists, directory=directory):
        yield Store("hdfs", f"hdfs://127.0.0.1:{port}/{BUCKET}", {}, port)


@contextmanager
def hive_metastore(directory: Path) -> Iterator[str]:
    """Start the metastore in PySpark's jars, with its database in memory; return its address."""
    import pyspark

    directory.mkdir()
    port = free_port()
    settings = {
        "hive.async.log.enabled": "false",
        "hive.metastore.schema.verification": "false",
        "datanucleus.schema.autoCreateAll": "true",
        "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
        "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
        "hive.metastore.warehouse.dir": str(directory),
    }
    command = ["java", "-Xmx256m", "-cp", f"{Path(pyspark.__file__).parent}/jars/*"]
    command += [f"-D{name}={value}" for name, value in settings.items()]
    command += ["org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)]
    with _running(command, _listens(port), directory=directory):
        yield f"thrift://127.0.0.1:{port}"


def has(tool: str) -> bool:
    """Return whether a server's program is installed."""
    return shutil.which(_tool(tool)) is not None


def free_port() -> int:
    """Return an unused port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _tool(name: str) -> str:
    for path in (TOOLS / name, TOOLS / "node_modules" / ".bin" / name):
        if path.exists():
            return str(path)
    return name


def _s3(port: int) -> dict[str, str]:
    return {
        "aws_endpoint": f"http://127.0.0.1:{port}",
        "aws_access_key_id": "test-access-key",
        "aws_secret_access_key": "hush-hush-secret",
        "aws_region": "us-east-1",
        "allow_http": "true",
    }


@contextmanager
def _running(
    command: list[str],
    ready: Callable[[], bool],
    environment: dict[str, str] | None = None,
    directory: Path | None = None,
) -> Iterator[None]:
    # not a pipe: an unread one fills up, and the server waits
    with tempfile.TemporaryFile() as output:
        server = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=output, env=environment, cwd=directory
        )
        try:
            deadline = time.monotonic() + STARTUP_TIMEOUT_S
            while not ready():
                if server.poll() is not None:
                    output.seek(0)
                    raise RuntimeError(f"{command}: {output.read().decode()[-500:]}")
                if time.monotonic() > deadline:
                    raise RuntimeError(f"{command} is not ready after {STARTUP_TIMEOUT_S} s")
                time.sleep(0.05)
            yield
        finally:
            server.kill()
            server.wait()


def _listens(port: int) -> Callable[[], bool]:
    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    return listens


def _ask(method: str, url: str, headers: dict[str, str]) -> None:
    request = urllib.request.Request(url, method=method, headers=headers)
    with urllib.request.urlopen(request, timeout=30):
        pass


def _make_container(port: int) -> None:
    """Send one request, signed with the account's key as Azure requires."""
    date, version = formatdate(usegmt=True), "2021-12-02"
    lines = ["PUT", *[""] * 11, f"x-ms-date:{date}", f"x-ms-version:{version}"]
    lines.append(f"/{ACCOUNT}/{ACCOUNT}/{BUCKET}")
    text = "\n".join([*lines, "restype:container"])
    digest = hmac.new(base64.b64decode(ACCOUNT_KEY), text.encode(), hashlib.sha256).digest()
    signature = base64.b64encode(digest).decode()
    _ask(
        "PUT",
        f"http://127.0.0.1:{port}/{ACCOUNT}/{BUCKET}?restype=container",
        {
            "x-ms-date": date,
            "x-ms-version": version,
            "Content-Length": "0",
            "Authorization": f"SharedKey {ACCOUNT}:{signature}",
        },
    )
