"""The files of ``without_jar`` on classic Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from spark.support.without_jar import check

pytestmark = [pytest.mark.spark, pytest.mark.slow]  # sessions of its own


def test_files_pass_without_the_jar(tmp_path: Path) -> None:
    check("classic", tmp_path)
