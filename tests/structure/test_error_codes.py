"""Every error code and warning code of the engine occurs in a test or a fixture."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "rust" / "core" / "src"
BINDINGS = ROOT / "rust" / "bindings" / "src"
PACKAGE = ROOT / "python" / "deltareplay"

#: The form of a code: words separated by dots.
CODE = re.compile(r'"([a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+)"')
#: Names of properties, settings and hosts, which have the same form.
OTHER_NAME = re.compile(r"^delta\.|^fs\.|^deltareplay\.|\.com$|^spark\.sql\.")

#: Other texts of the same form.
SOMETHING_ELSE = {
    "add.size": "a field of the log: the source of a number in the report",
    "add.stats": "a field of the log: the source of a number in the report",
    "catalog.schema.table": "the form of a name",
    "sales.orders": "a name in an example",
    "database.table": "the form of a name",
    "report.css": "a file of the package",
    "geoarrow.wkb": "the name of an extension type of Arrow",
    "gpj.exe": "the name of a file in an example",
    "report.html": "the name of a file",
    "report.js": "a file of the package",
    "txn.version": "the name of a field",
    "dfs.client.failover.max.attempts": "an option of HDFS",
    "org.apache.spark.sql.parquet.row.metadata": "where Spark keeps its schema in a footer",
    "org.apache.spark.version": "where Spark keeps its version in a footer",
    "parquet.field.id": "what Spark calls the id of a field",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "a setting of Hadoop",
}

#: The beginning of a Rust file's unit tests.
UNIT_TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\(crate\) )?mod \w+ \{")

#: Codes that no test can cause, each with its reason.
EXCEPTIONS: dict[str, str] = {
    "checksum.json": "is the cause of checksum.unreadable, which has a test",
    "commit.columns": "guards columns that only the engine builds",
    "dv.too_large": "takes 2 GiB of deletion vectors",
    "last_checkpoint.json": "is the cause of hint.corrupt, which has a test",
    "partition_value.map": "guards a column that the decoders always build as a map",
    "rows.file_exists": "takes two equal random names",
    "rows.parquet": "guards against an encoder that refuses rows which fit the table",
    "stats.text": "guards text that the Parquet decoder has checked",
    "stats.too_large": "takes 2 GiB of statistics in one batch",
    "storage.exchanged": "takes a file that is exchanged within microseconds; its check has a test",
    "variant.size": "takes 2 GiB of variants in one batch",
    "storage.threads": "takes a process that cannot start a thread; root always can",
}


def without_tests(path: Path) -> str:
    """Return the code of a Rust file, without its unit tests."""
    return UNIT_TESTS.split(path.read_text(encoding="utf-8"), maxsplit=1)[0]


def is_test(path: Path) -> bool:
    return path.name == "tests.rs" or "tests" in path.parts[len(ROOT.parts) :]


def codes_in_sources() -> dict[str, str]:
    """Return every code, with a file that raises it."""
    result: dict[str, str] = {}
    for folder, pattern in ((CORE, "*.rs"), (BINDINGS, "*.rs"), (PACKAGE, "*.py")):
        for path in sorted(folder.rglob(pattern)):
            if is_test(path):
                continue
            for code in CODE.findall(without_tests(path)):
                if not OTHER_NAME.search(code) and code not in SOMETHING_ELSE:
                    result.setdefault(code, str(path.relative_to(ROOT)))
    return result


def text_of_the_tests() -> str:
    """Return the text of every test."""
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
    codes, tests = codes_in_sources(), text_of_the_tests()
    assert len(codes) > 40, "the pattern no longer finds codes: look at how they are raised"
    missing = {
        code: where
        for code, where in codes.items()
        if f'"{code}"' not in tests and f"`{code}`" not in tests and code not in EXCEPTIONS
    }
    assert not missing, "write a test that causes each, or list it in EXCEPTIONS with a reason"


def test_exceptions_are_needed() -> None:
    codes, tests = codes_in_sources(), text_of_the_tests()
    for code in EXCEPTIONS:
        assert code in codes, f"{code} is not raised"
        assert f'"{code}"' not in tests, f"{code} has a test"
