"""Packages that catalogs need."""

from __future__ import annotations

import subprocess
import sys

import pytest

import deltareplay as dr
from deltareplay.catalogs import GlueCatalog


@pytest.mark.parametrize("missing", ["boto3", "botocore.config"])
def test_a_missing_package_is_reported(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    for ask in (GlueCatalog, lambda: dr.Table("glue://sales.orders")):
        with pytest.raises(dr.UnsupportedFeatureError, match="pip install boto3") as caught:
            ask()
        assert caught.value.code == "catalog.package"


def test_catalogs_are_imported_without_their_packages() -> None:
    code = "import sys, deltareplay.catalogs; print({'boto3', 'botocore'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
