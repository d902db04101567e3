"""The modes of ``df.write`` for new tables, which Spark refuses for Python data sources."""

from __future__ import annotations

from collections.abc import Mapping

from deltareplay._support.uris import without_secrets
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.format.options import Use, parse, table

#: The names of the modes in the history of a table, by Spark's names in lower case.
NEW_TABLE_MODES = {
    **dict.fromkeys(("error", "errorifexists", "default"), "ErrorIfExists"),
    "ignore": "Ignore",
}


def is_written(options: Mapping[str, str], mode: str) -> bool:
    """Return whether rows are written: not by the mode ``Ignore``, if the table exists.

    Args:
        options: The options of the writer.
        mode: The mode, as the history has it.

    Raises:
        InvalidArgumentError: ``table.exists``: the table exists, and the mode is not ``Ignore``; or
            as by ``parse``.
    """
    target = table(parse(options, Use.WRITE))
    if not target.native.exists():
        return True
    if mode == "Ignore":
        return False
    raise InvalidArgumentError(
        f"there is a table already at {without_secrets(target.uri)}: append to it, overwrite it, "
        "or pass mode('ignore')",
        code="table.exists",
    )
