"""The files of the repository: what they contain and import, and where they are."""

from __future__ import annotations

import ast
import hashlib
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Concatenated here, so that this file passes its own test.
PLACES = [
    "/".join(parts) for parts in (("", "work", "main"), ("", "work", "shared"), ("", "tmp", "wt"))
]
HOMES = re.compile(rb"/(root|home/[a-z][a-z0-9_-]*)/\.?[A-Za-z]")
HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("static", "crates", "io"),
        ("index", "crates", "io"),
        ("registry", "npmjs", "org"),
        ("repo1", "maven", "org"),
        ("repo", "maven", "apache", "org"),
        ("deb", "debian", "org"),
        ("proxy", "golang", "org"),
    )
]
#: The SHA-256 of the text that the Apache Software Foundation publishes.
APACHE_2 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
#: Tables written by other programs, which contain the paths of their machines.
FOREIGN = "tests/fixtures/"


def tracked() -> list[str]:
    """Return every file under version control."""
    done = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("not a git checkout")
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_files_contain_no_machine_paths_or_registries() -> None:
    forbidden = [text.encode() for text in (*PLACES, *HOSTS)]
    checked = 0
    result = []
    for name in tracked():
        content = (ROOT / name).read_bytes()
        checked += 1
        result += [f"{name}: {text.decode()}" for text in forbidden if text in content]
        if not name.startswith(FOREIGN) and (home := HOMES.search(content)):
            result.append(f"{name}: {home.group().decode(errors='replace')}")
    assert checked > 50
    assert not result


def test_the_licence_is_complete() -> None:
    assert hashlib.sha256((ROOT / "LICENSE").read_bytes()).hexdigest() == APACHE_2


def test_files_are_not_too_long() -> None:
    long = {
        name: lines
        for name in tracked()
        if name.endswith((".rs", ".py"))
        and (lines := len((ROOT / name).read_text(encoding="utf-8").splitlines())) > 600
    }
    assert not long, "split them by topic"


def test_unit_tests_of_rust_have_their_own_files() -> None:
    inline = [
        name
        for name in tracked()
        if name.startswith("rust/core/src/")
        and name.endswith(".rs")
        and re.search(r"^mod tests \{", (ROOT / name).read_text("utf-8"), re.MULTILINE)
    ]
    assert not inline, "move the tests to tests.rs"


#: Modules that may call functions of only some operating systems.
PLATFORM = "rust/core/src/storage/platform/"


def test_only_one_module_depends_on_the_operating_system() -> None:
    dependent = {
        name
        for name in tracked()
        if re.match(r"rust/\w+/src/", name)
        and not re.search(r"\btests(/|\.rs$)", name)
        and re.search(r"\bos::(unix|windows|linux|fd)\b|\blibc::", (ROOT / name).read_text("utf-8"))
    }
    assert any(name.startswith(PLATFORM) for name in dependent)
    assert not [name for name in dependent if not name.startswith(PLATFORM)]


def test_the_map_of_the_tests_has_every_folder() -> None:
    readme = (ROOT / "tests" / "README.md").read_text()
    listed = re.findall(r"^\| `(\w+)` \|", readme, re.MULTILINE)
    folders = {path.name for path in (ROOT / "tests").iterdir() if any(path.glob("*.*"))}
    assert sorted(listed) == sorted(folders - {"__pycache__"})


def test_tests_are_collected_without_spark() -> None:
    collected = [
        name for name in tracked() if re.search(r"^tests/(?:.*/)?(?:test_\w+|conftest)\.py$", name)
    ]
    assert any(name.startswith("tests/spark/") for name in collected)
    result = []
    for name in collected:
        for statement in ast.parse((ROOT / name).read_text(encoding="utf-8")).body:
            match statement:
                case ast.Import(names=names):
                    packages = {alias.name.partition(".")[0] for alias in names}
                case ast.ImportFrom(module=str(module), level=0):
                    packages = {module.partition(".")[0]}
                case _:
                    continue
            result += [f"{name}: {package}" for package in packages & {"pyspark", "delta"}]
    assert not result, "the plain tests run without these packages: import them in the test"
