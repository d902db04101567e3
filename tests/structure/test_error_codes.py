"""Every error code and warning code of the engine occurs in a test or a fixture."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "rust" / "core" / "src"
BINDINGS = ROOT / "rust" / "bindings" / "src"
PACKAGE = ROOT / "python" / "deltareplay"

#: Where a code is made: the first literal of these calls, or of the field ``code``.
MADE = re.compile(
    r"""(?:\b(?:corrupt|invalid|unsupported|storage|conflict|warn|warning|note)\(\s*(?:py,\s*)?
        |\bnew\(\s*ErrorKind::\w+,\s*
        |\bLogWarning::new\(\s*
        |\bcode(?::|=)\s*)
        "([a-z0-9_]+(?:\.[a-z0-9_]+)*)\"""",
    re.VERBOSE,
)

#: Codes that no test can bring about, each with its reason.
EXCEPTIONS: dict[str, str] = {}


def without_tests(path: Path) -> str:
    """The code of a Rust file, without its unit tests."""
    return path.read_text(encoding="utf-8").split("#[cfg(test)]\nmod tests {")[0]


def is_test(path: Path) -> bool:
    return path.name == "tests.rs" or "tests" in path.parts[len(ROOT.parts) :]


def made() -> dict[str, str]:
    """Every code, with a file that makes it."""
    found: dict[str, str] = {}
    for folder, pattern in ((CORE, "*.rs"), (BINDINGS, "*.rs"), (PACKAGE, "*.py")):
        for path in sorted(folder.rglob(pattern)):
            if is_test(path):
                continue
            for code in MADE.findall(without_tests(path)):
                found.setdefault(code, str(path.relative_to(ROOT)))
    return found


def tested() -> str:
    """The text of every test."""
    texts = []
    for folder in ("tests", "rust/core/tests", "rust/core/src"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".md") and folder == "tests" and path != Path(__file__):
                texts.append(path.read_text(encoding="utf-8"))
            elif path.suffix == ".rs":
                text = path.read_text(encoding="utf-8")
                whole = folder != "rust/core/src" or is_test(path)
                texts.append(text if whole else text[len(without_tests(path)) :])
    return "\n".join(texts)


def test_every_code_has_a_test() -> None:
    codes, tests = made(), tested()
    assert len(codes) > 40, "the pattern finds no codes any more: look at how they are made"
    missing = {
        code: where
        for code, where in codes.items()
        if f'"{code}"' not in tests and f"`{code}`" not in tests and code not in EXCEPTIONS
    }
    assert not missing, (
        "write a test that brings each about, or name it in EXCEPTIONS with a reason"
    )


def test_exceptions_are_needed() -> None:
    codes, tests = made(), tested()
    for code in EXCEPTIONS:
        assert code in codes, f"{code} is made nowhere"
        assert f'"{code}"' not in tests, f"{code} has a test by now"


def test_codes_are_dotted_and_belong_to_one_room() -> None:
    for code, where in made().items():
        assert code == "interrupted" or "." in code, f"{where}: {code}"
