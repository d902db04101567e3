"""Tables written by delta-spark for tests of reading, stored with the rows that it reads.

``PYTHONPATH=tests python -m spark.support.stored`` writes all of them again into ``ARCHIVE``.
During the day, tests read those; at night they are written again, and ``test_stored.py`` compares
both.
"""

from __future__ import annotations

import io
import json
import sys
import tarfile
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spark.support import delta_spark_changes, delta_spark_rows
from spark.support.delta_spark_logs import TABLES as TABLES_OF_LOGS
from spark.support.references import Reference, references
from spark.support.settings import conf
from spark.test_rows import lines, read_by_spark, spelled, versions

ARCHIVE = Path(__file__).parents[2] / "fixtures" / "delta_spark.tar.xz"

#: The names of the tables, by folder.
TABLES = {"rows": list(delta_spark_rows.ROWS), "changed": delta_spark_changes.BY_DAY}

_DEFAULTS = "spark__databricks__delta__properties__defaults__"
#: Stored tables age: a write to a copy must keep its log, and its tombstones.
_KEPT = {
    _DEFAULTS + "deletedFileRetentionDuration": "interval 1000 weeks",
    _DEFAULTS + "logRetentionDuration": "interval 1000 weeks",
}


def write(spark: Any, folder: str, name: str, path: Path) -> None:
    """Write a table by delta-spark."""
    with conf(spark, **_KEPT):
        if folder == "changed":
            delta_spark_changes.write_table(spark, path, name)
        else:
            delta_spark_rows.ROWS[name](spark, path)


@dataclass(frozen=True)
class Read:
    """The result of reading a version by delta-spark."""

    #: Spark's schema, as JSON.
    schema: str
    #: Arrow's types, by column.
    types: list[tuple[str, str]]
    #: The rows as text, sorted.
    lines: list[str]


def read(spark: Any, path: Path, version: int) -> Read:
    """Read a version by delta-spark."""
    rows = read_by_spark(spark, path, version)
    with conf(spark, spark__sql__readSideCharPadding="false"):
        frame = spark.read.format("delta").option("versionAsOf", version).load(str(path))
        schema = frame.schema.json()
    types = [(field.name, spelled(field.type)) for field in rows.schema]
    return Read(schema, types, lines(rows))


def unpack(directory: Path) -> None:
    """Unpack the archive: a folder of tables for each kind, and ``read``."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(directory, filter="data")


def stored_read(directory: Path, name: str, version: int) -> Read | None:
    """Return the stored result of delta-spark for a version; None if there is none."""
    reads = json.loads((directory / "read" / f"{name}.json").read_text())
    if str(version) not in reads:
        return None
    fields = reads[str(version)]
    return Read(fields["schema"], [tuple(pair) for pair in fields["types"]], fields["lines"])


def stored_references(directory: Path, name: str) -> list[Reference]:
    """Return delta-spark's snapshots of all versions of a stored table."""
    text = (directory / "references" / f"{name}.json").read_text()
    return [Reference(**fields) for fields in json.loads(text)]


def store(spark: Any) -> None:
    """Write all tables and delta-spark's results into ``ARCHIVE``."""
    with tempfile.TemporaryDirectory() as created:
        root = Path(created)
        for folder, names in TABLES.items():
            for name in names:
                write(spark, folder, name, root / folder / name)
        (root / "read").mkdir()
        for name in TABLES["rows"]:
            path = root / "rows" / name
            reads = {version: asdict(read(spark, path, version)) for version in versions(path)}
            (root / "read" / f"{name}.json").write_text(json.dumps(reads, indent=1))
        (root / "references").mkdir()
        for name in TABLES_OF_LOGS:
            snapshots = [asdict(snapshot) for snapshot in references(spark, root / "rows" / name)]
            (root / "references" / f"{name}.json").write_text(json.dumps(snapshots, indent=1))
        _pack(root)


def _pack(root: Path) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:xz", preset=9) as archive:
        for path in sorted(root.rglob("*")):
            # without the checksums of Hadoop's local file system
            if not path.name.startswith("."):
                archive.add(path, path.relative_to(root), recursive=False, filter=_without_owner)
    ARCHIVE.write_bytes(packed.getvalue())


def _without_owner(file: tarfile.TarInfo) -> tarfile.TarInfo:
    file.uid = file.gid = 0
    file.uname = file.gname = ""
    return file


if __name__ == "__main__":
    from spark.conftest import SETTINGS, classic

    session = classic(SETTINGS)
    store(session)
    session.stop()
    print(f"{ARCHIVE}: {ARCHIVE.stat().st_size:,} bytes", file=sys.stderr)
