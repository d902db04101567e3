"""What does a catalog cost: opening, refreshing and appending to a table that it manages?

``python benches/python/catalogs.py [--latency MS] [--tries N]``

Compares a table opened by its path with one opened through a Unity Catalog server. Server and
store are those of the tests, on this machine, and wait before each response, as remote ones would.
Prints the median time of each operation, and the number of requests to the store and to the
catalog.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

import deltareplay as dr
from deltareplay.catalogs import UnityCatalog

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tests"))

from stores.servers import Store, gcs
from support.unity_server import UnityServer

ROWS = pa.table({"id": [1]})
NAME = "main.sales.orders"


def measured(
    tries: int, work: Callable[[], object], store: Store, server: UnityServer
) -> tuple[float, float, float]:
    """Return the median milliseconds, and the requests of a run to the store and the catalog."""
    assert store.bucket is not None
    work()
    before = len(store.bucket.requests), len(server.requests)
    times = []
    for _ in range(tries):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return (
        statistics.median(times) * 1000,
        (len(store.bucket.requests) - before[0]) / tries,
        (len(server.requests) - before[1]) / tries,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--latency", type=float, default=20, help="ms before each response")
    parser.add_argument("--tries", type=int, default=40)
    arguments = parser.parse_args()
    with gcs() as store, tempfile.TemporaryDirectory() as directory:
        assert store.bucket is not None
        server = UnityServer(Path(directory))
        server.location = f"{store.root}/managed"
        unity = UnityCatalog(server.uri, "secret")
        # the features that the catalog requires, for both
        managed = dr.create_table(NAME, ROWS.schema, storage_options=store.options, catalog=unity)
        properties = dict(managed.snapshot().metadata.configuration)
        plain = dr.create_table(
            f"{store.root}/plain",
            ROWS.schema,
            properties={
                key: value
                for key, value in properties.items()
                if key.startswith("delta.") and not key.endswith("maxColumnId")
            },
            storage_options=store.options,
        )
        store.bucket.latency = server.latency = arguments.latency / 1000
        print(f"{arguments.latency:g} ms before each response of the store and of the catalog")
        print(f"{'':10} {'':24} {'median':>9} {'store':>7} {'catalog':>8}")
        for task in ("open", "refresh", "append"):
            for way, table in (("by path", plain), ("through the catalog", managed)):
                snapshot = table.snapshot()
                work: dict[str, Callable[[], object]] = {
                    "open": table.snapshot,
                    "refresh": snapshot.refresh,
                    "append": lambda table=table: table.append(ROWS),  # type: ignore[misc]
                }
                median, to_store, to_catalog = measured(arguments.tries, work[task], store, server)
                print(
                    f"{task:10} {way:24} {median:6.1f} ms {to_store:7.1f} {to_catalog:8.1f}",
                    flush=True,
                )
        server.stop()


if __name__ == "__main__":
    main()
