"""``CACHE TABLE`` of rows that cannot be read; without a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from deltareplay.spark.catalog.lookup import CatalogEntry
from deltareplay.spark.statements.cache import Cache


class Session:
    """A session that is not asked anything."""


class UnreadableRows:
    """A DataFrame whose rows cannot be read."""

    is_persisted = False

    def persist(self) -> None:
        self.is_persisted = True

    def unpersist(self) -> None:
        self.is_persisted = False

    def count(self) -> int:
        assert self.is_persisted
        raise OSError("a data file is missing")


def test_rows_that_cannot_be_read_do_not_stay_persisted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark's CACHE TABLE leaves nothing cached either."""
    rows = UnreadableRows()
    module = "deltareplay.spark.statements.cache"
    monkeypatch.setattr(f"{module}.queries.run_on_snapshots", lambda *_: rows)
    monkeypatch.setattr(f"{module}.empty_frame", lambda _: None)
    entry = CatalogEntry(("delta", str(tmp_path)), provider="delta", location=str(tmp_path))
    with pytest.raises(OSError, match="a data file is missing"):
        Cache(entry.parts).run(cast(Any, Session()), entry)
    assert not rows.is_persisted
