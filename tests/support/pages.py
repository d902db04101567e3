"""The pages of the documentation, and the code that readers paste from them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
}
#: The info string of a block, and the block.
FENCE = re.compile(r"^```(.*?)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
#: The number of blocks that are not Python code to paste, by page: commands and drawings.
OTHERS = {
    "README.md": 2,
    "docs/design.md": 3,
    "docs/guide/catalogs.md": 1,
    "docs/guide/cli.md": 5,
    "docs/guide/errors.md": 1,
}
#: Packages that `make demo` does not install. A block that imports one depends only on the first
#: block of its page, and tests/peers/test_engines.py runs it if the package is installed.
OPTIONAL = {"dask", "datafusion", "ray"}
IMPORT = re.compile(r"^(?:import|from) (\w+)", re.MULTILINE)
#: Conditions that hold after a page was pasted from top to bottom.
HOLDS = {
    "README.md": "snapshot.version == 7 and orders.count() > 0 and events.snapshot().num_rows == 1",
    "docs/guide/quickstart.md": "files.num_rows == snapshot.num_files == frame.count() > 0",
    "docs/guide/report.md": "path.stat().st_size < 300_000",
    "docs/guide/inspecting.md": "(snapshot.version, snapshot.num_rows) == (11, 259)",
    "docs/guide/rows.md": "orders.num_rows == snapshot.scan().count() == frame.count() > 0",
    "docs/guide/changes.md": "happened.num_rows and net.num_rows and batch.data.num_rows",
    "docs/guide/engines.md": "spent.height > 0 and len(by_country) == len(recent) == 3",
    "docs/guide/errors.md": "True",
    "docs/guide/making-tables.md": (
        "dr.Table('memory://sales').snapshot().version == 1"
        " and copy.snapshot().scan().count() == full.snapshot().scan().count() == 2"
    ),
    "docs/guide/services.md": "result.ok",
    "docs/guide/catalogs.md": "same.snapshot().num_files == 1",
    "docs/guide/storage.md": "table.uri == 'hdfs://lake/warehouse/orders'",
    "docs/guide/time-travel.md": "table.snapshot(timestamp=old.timestamp).version == 3",
    "docs/guide/warnings.md": "snapshot.warnings == []",
    "docs/guide/writing.md": (
        "{*table.snapshot().scan().to_arrow()['id'].to_pylist()} == {1, 2, 102}"
    ),
    "docs/migration/deltalake.md": "snapshot.version == 7",
    "docs/recipes/after-a-bad-write.md": (
        "same and repaired.num_rows == 80"
        " and repaired.sort_by('id')"
        " == good.scan(filter=\"country = 'DE'\").to_arrow().sort_by('id')"
    ),
    "docs/recipes/backfill.md": (
        "[*totals.values()].count(24) == 2 and totals[days[2]] == 20"
        " and sales.snapshot().version == written.version"
    ),
    "docs/recipes/change-data-out.md": (
        "first == second == 3 and sorted((m['op'], m['id'], m.get('name')) for m in messages[3:])"
        " == [('delete', 2, None), ('upsert', 1, 'Ada Lovelace'), ('upsert', 4, 'Di')]"
    ),
    "docs/recipes/delete-for-privacy.md": "existed > 0 and len(plan.files) > 0",
    "docs/recipes/incremental-pipeline.md": (
        "(first, second, third) == (3, 1, 0) and states == {1: 'paid', 2: 'cancelled'}"
    ),
    "docs/recipes/table-that-will-not-open.md": (
        "caught.code == 'commit.torn' and codes == {'commit.torn'} and missing == [lost]"
        " and 0 < rows.num_rows < 260 and orders.snapshot().num_files == 15"
    ),
    "docs/reference/python/index.md": (
        "rows.snapshot().num_rows == table.snapshot().num_files == 2"
        " and empty.snapshot().num_files == 0"
    ),
    "docs/spark.md": (
        "spark.read.parquet('/tmp/rows').count() == 260"
        " and dr_spark.count(spark, '/tmp/more_orders') == 2 * orders.count()"
    ),
    "docs/distributed-replay.md": "files.count() == 16 > plan.files.num_rows",
}


def script(page: str) -> str:
    """Return all Python of a page, as if pasted from top to bottom, without optional blocks."""
    return "\n".join(code for code in blocks(page) if not OPTIONAL & {*IMPORT.findall(code)})


def blocks(page: str) -> list[str]:
    """Return the Python blocks of a page."""
    return [code for kind, code in FENCE.findall(PAGES[page]) if kind == "python"]


def needs_spark(page: str) -> bool:
    """Return whether the page starts a session."""
    return "SparkSession" in script(page)


def paste(page: str, directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a page in a separate process, as in the root of a clone, with its environment active."""
    shutil.copytree(ROOT / "demo" / "orders", directory / "demo" / "orders")
    settings = directory / "conf" / "spark-defaults.conf"
    settings.parent.mkdir()
    settings.write_text(
        "spark.ui.enabled false\nspark.sql.shuffle.partitions 2\nspark.driver.memory 1g\n"
    )
    code = f"{script(page)}\nassert {HOLDS[page]}\n".replace("/tmp/", f"{directory}/")
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    environment["SPARK_CONF_DIR"] = str(settings.parent)
    return subprocess.run(
        [sys.executable, *options, "-c", code],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
