"""Java classes of the tests for Spark's processes."""

from __future__ import annotations

import os
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent / "java"


def jar(name: str, root: Path, java_home: str, jars: Sequence[str] = ()) -> str:
    """Compile ``deltareplay.<name>`` and return its jar; skip the test if there is no compiler.

    Args:
        name: The simple name of the class.
        root: The directory of the jar.
        java_home: The directory of the JDK.
        jars: The jars that the class needs in addition to Spark's own.
    """
    import pyspark

    javac = Path(java_home, "bin", "javac")
    if not javac.exists():
        pytest.skip(f"needs a JDK, to compile {name}")
    path = os.pathsep.join([*jars, f"{Path(pyspark.__file__).parent}/jars/*"])
    source = str(SOURCES / f"{name}.java")
    done = subprocess.run(
        [str(javac), "-proc:none", "-cp", path, "-d", str(root), source],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    created = root / f"{name}.jar"
    with zipfile.ZipFile(created, "w") as archive:
        archive.write(root / f"deltareplay/{name}.class", f"deltareplay/{name}.class")
    return str(created)
