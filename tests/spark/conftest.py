"""One Spark session with delta-spark for a process and all its tests, and what it writes."""

from __future__ import annotations

import fcntl
import math
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent

#: How many cases the short form takes of a test.
FEW = 6


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In short (``DELTAREPLAY_SHORT``) what is marked ``slow`` is left out.

    Of each test with many cases some are taken, evenly: of tests with the same cases the same,
    which share a table.
    """
    if not os.environ.get("DELTAREPLAY_SHORT"):
        return
    ours = [item for item in items if HERE in item.path.parents]
    cases: dict[str, list[pytest.Item]] = {}
    for item in ours:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out = {item for item in ours if item.get_closest_marker("slow")}
    for same in cases.values():
        kept = same[:: math.ceil(len(same) / FEW)]
        left_out.update(set(same) - set(kept))
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


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


def written_once(where: pytest.TempPathFactory, folder: str, write: Callable[..., object]) -> Any:
    """Gives the directory of a table by its name; written when one of the workers first asks."""
    base = where.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / folder
    root.mkdir(exist_ok=True)

    def table(name: str) -> Path:
        done = root / f"{name}.done"
        with (root / f"{name}.lock").open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            if not done.exists():
                write(name, root / name)
                done.touch()
        return root / name

    return table


@pytest.fixture(scope="session")
def tables(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Tables that delta-spark writes, by their names; nobody changes them."""
    from spark import written_rows

    def write(name: str, path: Path) -> None:
        written_rows.ROWS[name](spark, path)

    return written_once(tmp_path_factory, "spark-tables", write)


@pytest.fixture(scope="session")
def changed(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Tables with a change feed, by their names; nobody changes them."""
    from spark import written_changes

    def write(name: str, path: Path) -> None:
        written_changes.written(spark, path, name)

    return written_once(tmp_path_factory, "changed", write)
