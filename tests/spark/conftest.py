"""One Spark session with delta-spark for a process and all its tests, and what it writes."""

from __future__ import annotations

import fcntl
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """delta-spark in local mode; the first start on a machine fetches its jars.

    One start at a time: two that fetch the same jars spoil them for each other.
    """
    pyspark = pytest.importorskip("pyspark", reason="pip install deltareplay[spark-tests]")
    delta = pytest.importorskip("delta", reason="pip install deltareplay[spark-tests]")
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("TZ", "UTC")
    builder = pyspark.sql.SparkSession.builder.master("local[2]").appName("deltareplay tests")
    settings = {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "2g",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    lock = Path(tempfile.gettempdir(), "deltareplay-spark-start")
    with warnings.catch_warnings(), lock.open("w") as held:
        warnings.simplefilter("ignore")
        fcntl.flock(held, fcntl.LOCK_EX)
        session = delta.configure_spark_with_delta_pip(builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
    monkeypatch.undo()


@pytest.fixture(autouse=True)
def _quiet_libraries() -> Iterator[None]:
    """PySpark and py4j leave sockets open and use what pandas deprecates; not ours to fix."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", pytest.PytestUnraisableExceptionWarning)
        yield


@pytest.fixture(scope="session")
def tables(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Gives the directory of a table by its name; it is written when it is first asked for."""
    from spark import written_rows

    root = tmp_path_factory.mktemp("spark-tables")
    done: dict[str, Path] = {}

    def table(name: str) -> Path:
        if name not in done:
            written_rows.ROWS[name](spark, root / name)
            done[name] = root / name
        return done[name]

    return table


@pytest.fixture(scope="session")
def changed(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Gives the directory of a table with a change feed by its name; written when asked for."""
    from spark import written_changes

    root = tmp_path_factory.mktemp("changed")

    def table(name: str) -> Path:
        if not (root / name).exists():
            written_changes.written(spark, root / name, name)
        return root / name

    return table
