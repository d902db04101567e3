"""delta-spark's own snapshots, as references."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.actions import PLAIN_FIELDS


@dataclass(frozen=True)
class Reference:
    """delta-spark's own snapshot of a version."""

    version: int
    metadata: dict[str, Any]
    protocol: dict[str, Any]
    #: The rows of the state: ``add``, ``remove``, ``txn`` and ``domainMetadata``.
    state: list[dict[str, Any]]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [row[kind] for row in self.state if row[kind] is not None]

    @property
    def files(self) -> list[str]:
        return sorted(map(comparable, self.of("add")))

    @property
    def tombstones(self) -> list[tuple[Any, ...]]:
        rows = self.of("remove")
        return sorted((row["path"], row["deletionTimestamp"], row["size"]) for row in rows)

    @property
    def transactions(self) -> dict[str, int]:
        return {txn["appId"]: txn["version"] for txn in self.of("txn")}

    @property
    def domains(self) -> dict[str, str]:
        live = [domain for domain in self.of("domainMetadata") if not domain["removed"]]
        return {domain["domain"]: domain["configuration"] for domain in live}


def references(spark: Any, path: Path) -> list[Reference]:
    """Read all versions of a table by delta-spark."""
    log_class = spark._jvm.org.apache.spark.sql.delta.DeltaLog
    none = spark._jvm.scala.Option.empty()
    log = log_class.forTable(spark._jsparkSession, str(path))
    latest = int(log.update(False, none, none).version())
    return [reference(spark, path, version) for version in range(latest + 1)]


def reference(spark: Any, path: Path, version: int) -> Reference:
    """Read a version of a table by delta-spark, without its cache."""
    log_class = spark._jvm.org.apache.spark.sql.delta.DeltaLog
    none = spark._jvm.scala.Option.empty()
    log_class.clearCache()
    log = log_class.forTable(spark._jsparkSession, str(path))
    return _read(spark, log.getSnapshotAt(version, none, none, False))


def _read(spark: Any, snapshot: Any) -> Reference:
    """Read a snapshot, its state in one job."""
    from pyspark.sql import DataFrame

    state = DataFrame(snapshot.stateDS().toDF(), spark)
    rows = state.select("add", "remove", "txn", "domainMetadata").collect()
    return Reference(
        version=int(snapshot.version()),
        metadata=json.loads(snapshot.metadata().json())["metaData"],
        protocol=json.loads(snapshot.protocol().json())["protocol"],
        state=[row.asDict(recursive=True) for row in rows],
    )


def comparable(row: dict[str, Any]) -> str:
    vector = row["deletionVector"]
    return json.dumps(
        [
            *(row[name] for name in PLAIN_FIELDS),
            sorted(dict(row["partitionValues"] or {}).items()),
            sorted(dict(row["tags"] or {}).items()),
            json.loads(row["stats"]) if row["stats"] else None,
            [vector[k] for k in sorted(vector) if k != "maxRowIndex"] if vector else None,
        ],
        sort_keys=True,
    )
