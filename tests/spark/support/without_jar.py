"""``DeltaTable``, ``sql`` and the format ``delta`` without delta-spark's jar.

A process has only one session, so the files run again in a new process for each other session.
Each of these runs has its own test file, so that workers can share them.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from spark.support.tiers import NIGHTLY

HERE = Path(__file__).parents[1]
FILES = (
    "test_delta_table.py",
    "test_delta_definitions.py",
    "test_delta_statements.py",
    "test_delta_layout.py",
    "test_delta_format.py",
    "test_delta_options.py",
    "test_named_tables.py",
    "test_sql.py",
    "test_sql_create.py",
    "test_sql_ported.py",
    "test_sql_select.py",
    "test_column_conditions.py",
)


def check(session: str, tmp_path: Path) -> None:
    """Run the files in a session of this kind."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
    }
    if not NIGHTLY:
        environment.setdefault("DELTAREPLAY_SHORT", "1")  # the other session runs another
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-rp", "-p", "no:cacheprovider"),
            f"--basetemp={tmp_path / 'inner'}",
            *(str(HERE / name) for name in FILES),
        ],
        env=environment | {"DELTAREPLAY_SESSION": session},
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    passed = re.findall(r"^PASSED \S*?(\w+\.py)::", done.stdout, re.MULTILINE)
    assert set(passed) == set(FILES), done.stdout
    if NIGHTLY:
        assert len(passed) >= 2 * len(FILES)
