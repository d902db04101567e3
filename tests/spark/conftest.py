"""One Spark session for all tests of a process, and the tables that delta-spark wrote."""

from __future__ import annotations

import itertools
import math
import os
import socket
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from spark.support.tiers import NIGHTLY
from support import locks

HERE = Path(__file__).parent

#: The kind of ``spark``: ``delta-spark``, or a session without its jar, ``classic`` or
#: ``connect``.
SESSION = os.environ.get("DELTAREPLAY_SESSION", "delta-spark")

#: The maximum number of tests of each file in the short form; 0 runs all.
SHORT = int(os.environ.get("DELTAREPLAY_SHORT", 0))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """During the day, run some of the cases of each test.

    In the short form (``DELTAREPLAY_SHORT``), run an evenly chosen sample of each file's tests,
    without those marked ``slow`` and those that would be skipped.
    """
    ours = [item for item in items if HERE in item.path.parents]
    selected = ours if NIGHTLY else [item for cases in _by_test(ours) for item in _sample(cases)]
    if SHORT:
        quick = [
            item for item in selected if not (item.get_closest_marker("slow") or _is_skipped(item))
        ]
        selected = []
        for _, tests in itertools.groupby(quick, lambda item: item.path):
            candidates = list(tests)
            step = math.ceil(len(candidates) / SHORT)
            # Connect runs other tests of these files than a classic session
            selected += candidates[step // 2 if SESSION == "connect" else 0 :: step]
    left_out = set(ours) - set(selected)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def _by_test(items: list[pytest.Item]) -> list[list[pytest.Item]]:
    """Return the cases of each test."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return list(tests.values())


def _sample(cases: list[pytest.Item]) -> list[pytest.Item]:
    """Return one of two or three cases, a third of up to six, a fourth of up to 12, or a seventh.

    One case is chosen by the test's name, so that tests with the same parameter run each of its
    values. Of more, the generalized Thue-Morse sequence chooses, so that a parameter that
    alternates, or has every third value, keeps all its values.
    """
    if len(cases) < 4:
        name = cases[0].nodeid.partition("[")[0]
        return [cases[zlib.crc32(name.encode()) % len(cases)]]
    share = 7 if len(cases) > 12 else 4 if len(cases) > 6 else 3
    return [case for index, case in enumerate(cases) if _digit_sum(index, share) % share == 0]


def _digit_sum(number: int, base: int) -> int:
    return number % base + _digit_sum(number // base, base) if number else 0


def _is_skipped(item: pytest.Item) -> bool:
    return any(mark.args[:1] == (True,) for mark in item.iter_markers("skipif"))


#: For every JVM, including those of other processes. Plans of a few rows run once: the optimising
#: compiler takes more time than it saves. Without it, the default code cache is too small.
JAVA_OPTIONS = ["-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m", "-XX:+UseSerialGC"]
if not NIGHTLY:  # verifying Spark's classes takes a sixth of the CPU time of a start
    JAVA_OPTIONS += ["-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote"]
os.environ.setdefault("JDK_JAVA_OPTIONS", " ".join(JAVA_OPTIONS))

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
    # the UI keeps the plans of finished queries
    "spark.sql.ui.retainedExecutions": "20",
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "100",
    "spark.ui.retainedTasks": "1000",
}

#: Plans of a few rows take longer to compile than to interpret. The other sessions compile them.
DELTA = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "1",
    # by default, 10,000 tables keep their plans, about 3 MB each
    "spark.databricks.delta.delta.log.cacheSize": "20",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """delta-spark in local mode, or another session selected by ``SESSION``.

    The first start with delta-spark on a machine downloads its jars. One start at a time: two that
    download the same jars corrupt them.
    """
    pytest.importorskip("pyspark", reason="pip install --group spark-tests")
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("TZ", "UTC")
    warehouse = {"spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse"))}
    start = connected if SESSION == "connect" else classic
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session = start(SETTINGS | warehouse)
    yield session
    session.stop()
    monkeypatch.undo()


def classic(settings: dict[str, str]) -> Any:
    """Start a session with the driver's JVM, with delta-spark's jar or without it."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("deltareplay tests")
    if SESSION == "delta-spark":
        delta = pytest.importorskip("delta", reason="pip install --group spark-tests")
        builder = delta.configure_spark_with_delta_pip(builder)
        settings = settings | DELTA
    for name, value in settings.items():
        builder = builder.config(name, value)
    with locks.exclusive(locks.SPARK_START):
        session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def connected(settings: dict[str, str]) -> Any:
    """Start a session of Spark Connect; its server uses a free port."""
    from pyspark.sql.connect.session import SparkSession

    with socket.create_server(("localhost", 0)) as free:
        port = free.getsockname()[1]
    settings = settings | {"spark.connect.grpc.binding.port": str(port)}
    SparkSession._start_connect_server("local[2]", settings)
    os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"
    return SparkSession.builder.remote(f"sc://localhost:{port}").getOrCreate()


@pytest.fixture(autouse=True)
def _quiet_libraries() -> Iterator[None]:
    """PySpark and py4j leave sockets open and use deprecated functions of pandas."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", pytest.PytestUnraisableExceptionWarning)
        yield


def written_once(
    where: pytest.TempPathFactory, folder: str, write: Callable[[str, Path], object]
) -> Callable[[str], Path]:
    """Return a function from a table's name to its directory, which writes it on first use."""
    base = where.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / folder
    root.mkdir(exist_ok=True)

    def table(name: str) -> Path:
        done = root / f"{name}.done"
        with locks.exclusive(root / f"{name}.lock"):
            if not done.exists():
                write(name, root / name)
                done.touch()
        return root / name

    return table


def from_delta_spark(request: pytest.FixtureRequest, folder: str) -> Callable[[str], Path]:
    """Return a function from a table's name to its directory: stored, or at night a new one."""
    from spark.support import stored

    if not NIGHTLY:
        root = request.getfixturevalue("stored_tables")
        return lambda name: root / folder / name
    spark = request.getfixturevalue("spark")

    def write(name: str, path: Path) -> None:
        stored.write(spark, folder, name, path)

    return written_once(request.getfixturevalue("tmp_path_factory"), folder, write)


@pytest.fixture(scope="session")
def stored_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the tables stored by ``support/stored.py``."""
    from spark.support import stored

    unpacked = written_once(tmp_path_factory, "stored", lambda _, path: stored.unpack(path))
    return unpacked("all")


@pytest.fixture(scope="session")
def tables(request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """Tables written by delta-spark, by name; read only."""
    return from_delta_spark(request, "rows")


@pytest.fixture(scope="session")
def changed(request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """Tables with a change feed, by name; read only."""
    return from_delta_spark(request, "changed")


@pytest.fixture
def table(spark: Any, tmp_path: Path) -> Any:
    """A ``DeltaTable`` of four rows."""
    from spark.support.delta_tables import write_table

    return write_table(spark, tmp_path / "t")


@pytest.fixture
def name(spark: Any) -> Iterator[str]:
    """A name for a table, in a session with the format ``delta``."""
    from deltareplay import spark as dr_spark

    if SESSION != "delta-spark":
        dr_spark.register(spark, "delta")
    chosen = f"table_{os.urandom(4).hex()}"
    yield chosen
    spark.sql(f"DROP TABLE IF EXISTS {chosen}")
