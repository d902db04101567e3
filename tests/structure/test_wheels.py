"""The checks of `make wheel`, tested on invalid wheels."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from support.wheels import LICENSE, NOTICES, flaws

Wheel = Callable[..., Path]


@pytest.fixture
def wheel(tmp_path: Path) -> Wheel:
    def build(
        *,
        licence: bytes = LICENSE.read_bytes(),
        notices: bytes = NOTICES.read_bytes(),
        strings: bytes,
    ) -> Path:
        path = tmp_path / "some.whl"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("some.dist-info/licenses/LICENSE", licence)
            archive.writestr(f"some.dist-info/licenses/{NOTICES.name}", notices)
            archive.writestr("some/_native.abi3.so", b"\x7fELF\0" + strings)
        return path

    return build


@pytest.mark.parametrize(
    ("strings", "licence", "megabytes", "flaw"),
    [
        (b"GLIBC_2.2.5\0GLIBC_2.17\0", None, 1, None),
        (b"GLIBC_2.17\0GLIBC_2.18\0", None, 1, "requires glibc 2.18"),
        (b"GLIBC_2.2.5\0GLIBC_2.34\0", None, 1, "requires glibc 2.34"),
        (b"GLIBC_2.17\0", b"", 1, "its LICENSE is not"),
        (b"GLIBC_PRIVATE\0", None, 1, "names no version of glibc"),
        (b"GLIBC_2.17\0", None, 0, "the limit is 0 MB"),
    ],
    ids=["valid", "glibc-2.18", "glibc-2.34", "empty-licence", "no-version", "size"],
)
def test_flaws_of_a_wheel(
    wheel: Wheel, strings: bytes, licence: bytes | None, megabytes: int, flaw: str | None
) -> None:
    path = wheel(strings=strings) if licence is None else wheel(strings=strings, licence=licence)

    result = list(flaws(path, glibc=(2, 17), megabytes=megabytes))

    assert len(result) == (flaw is not None)
    assert all(flaw in sentence for sentence in result if flaw)


def test_a_wheel_has_the_notices_of_its_crates(wheel: Wheel) -> None:
    path = wheel(strings=b"GLIBC_2.17\0", notices=b"none")
    (flaw,) = flaws(path, glibc=(2, 17), megabytes=1)
    assert NOTICES.name in flaw


def test_a_library_of_this_system_names_its_glibc(wheel: Wheel) -> None:
    import deltareplay._native

    library = Path(deltareplay._native.__file__)
    if b"\0libc.so.6\0" not in library.read_bytes():
        pytest.skip("built for another C library than glibc")
    path = wheel(strings=library.read_bytes())
    assert any("requires glibc 2." in flaw for flaw in flaws(path, glibc=(2, 0), megabytes=1000))
