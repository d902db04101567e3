"""Checks finished wheels: ``python wheels.py WHEEL... --glibc 2.17 --megabytes 20``.

Run by ``make wheel``. No container is needed: a library lists the versions of glibc that it needs.
"""

from __future__ import annotations

import argparse
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LICENSE = ROOT / "LICENSE"
NOTICES = ROOT / "THIRD_PARTY_NOTICES.txt"
#: A version in the string table of a library, where each string ends with a zero byte.
GLIBC = re.compile(rb"\0GLIBC_(\d+)\.(\d+)(?:\.\d+)?(?=\0)")


def flaws(wheel: Path, *, glibc: tuple[int, int], megabytes: int) -> Iterator[str]:
    """Yield the flaws of a wheel, as sentences."""
    if wheel.stat().st_size > megabytes * 1_000_000:
        yield f"it has {wheel.stat().st_size:,} bytes, and the limit is {megabytes} MB"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        licenses = {name: archive.read(name) for name in names if "/licenses/" in name}
        libraries = [name for name in names if name.endswith(".so")]
        for file in (LICENSE, NOTICES):
            if [text for name, text in licenses.items() if name.endswith(f"/{file.name}")] != [
                file.read_bytes()
            ]:
                yield f"its {file.name} is not that of the repository: {sorted(licenses)}"
        if len(libraries) != 1:
            yield f"it must have one library, and has {libraries}"
        for name in libraries:
            required = {
                (int(major), int(minor)) for major, minor in GLIBC.findall(archive.read(name))
            }
            if not required:
                yield f"{name} names no version of glibc"
            elif max(required) > glibc:
                yield f"{name} requires glibc {'.'.join(map(str, max(required)))}"


def main() -> None:
    """Print each wheel with its size; exit with 1 and the flaws if there are any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheels", type=Path, nargs="+")
    parser.add_argument("--glibc", required=True, help="the newest allowed version, e.g. 2.17")
    parser.add_argument("--megabytes", type=int, required=True, help="the maximum size of a wheel")
    arguments = parser.parse_args()
    major, minor = map(int, arguments.glibc.split("."))
    lines = []
    for wheel in arguments.wheels:
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
        lines += [
            f"{wheel.name}: {flaw}"
            for flaw in flaws(wheel, glibc=(major, minor), megabytes=arguments.megabytes)
        ]
    sys.exit("\n".join(lines) or None)


if __name__ == "__main__":
    main()
