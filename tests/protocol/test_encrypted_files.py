"""Parquet's modular encryption: decryption is not supported, and the error says so.

The format is that of Apache Parquet's ``Encryption.md``; pyarrow writes the files.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs

import deltareplay as dr

encryption = pytest.importorskip("pyarrow.parquet.encryption")

ROWS = pa.table({"id": pa.array([1, 2], pa.int64()), "s": ["a", "b"]})


class Keys(encryption.KmsClient):  # type: ignore[misc]
    """Wraps keys without encrypting them."""

    def __init__(self, config: Any) -> None:
        super().__init__()

    def wrap_key(self, key: bytes, name: str) -> bytes:
        return base64.b64encode(key)

    def unwrap_key(self, key: bytes, name: str) -> bytes:
        return base64.b64decode(key)


def write(path: Path, *, plaintext_footer: bool) -> None:
    """Write a file whose column ``s`` is encrypted, and its footer, too, unless it is plain."""
    config = encryption.EncryptionConfiguration(
        footer_key="f", column_keys={"c": ["s"]}, plaintext_footer=plaintext_footer
    )
    properties = encryption.CryptoFactory(Keys).file_encryption_properties(
        encryption.KmsConnectionConfig(), config
    )
    with pq.ParquetWriter(path, ROWS.schema, encryption_properties=properties) as writer:
        writer.write_table(ROWS)


def table_of(log: logs.LogBuilder, *, plaintext_footer: bool) -> dr.Table:
    path = log.table / "f.parquet"
    write(path, plaintext_footer=plaintext_footer)
    schema = logs.schema(id="long", s="string")
    log.create(schema, logs.add("f.parquet", size=path.stat().st_size))
    return dr.Table(log.uri)


@pytest.mark.parametrize("plaintext_footer", [False, True], ids=["footer", "columns"])
def test_errors_name_the_encryption(log: logs.LogBuilder, plaintext_footer: bool) -> None:
    table = table_of(log, plaintext_footer=plaintext_footer)
    for read in (
        lambda: table.snapshot().scan().to_arrow(),
        lambda: table.snapshot().scan(columns=["id"], filter="s = 'a'").to_arrow(),
        lambda: table.delete("s = 'a'"),
        lambda: table.optimize(z_order_by=["s"]),
        lambda: table.changes(0).to_arrow(),
    ):
        with pytest.raises(dr.UnsupportedFeatureError, match="encrypted") as caught:
            read()
        assert caught.value.code == "data.encrypted"
        assert caught.value.path == "f.parquet"
    [finding] = [
        finding for finding in table.verify(rows=True).findings if finding.code == "data.encrypted"
    ]
    assert (finding.severity, finding.path) == ("error", "f.parquet")
    assert "keys" in finding.remedy


def test_columns_that_are_not_encrypted_are_read(log: logs.LogBuilder) -> None:
    table = table_of(log, plaintext_footer=True)
    assert table.snapshot().scan(columns=["id"]).to_arrow()["id"].to_pylist() == [1, 2]


@pytest.mark.parametrize("plaintext_footer", [False, True], ids=["footer", "columns"])
def test_an_encrypted_checkpoint_is_skipped_and_reported(
    log: logs.LogBuilder, plaintext_footer: bool
) -> None:
    log.create(logs.schema(id="long", s="string"))
    table = dr.Table(log.uri)
    checkpoint = table.checkpoint().path
    write(log.table / checkpoint, plaintext_footer=plaintext_footer)
    with pytest.warns(dr.DeltaReplayWarning, match="encrypted"):
        assert dr.Table(log.uri).snapshot().num_files == 0
    result = table.verify()
    [finding] = [finding for finding in result.findings if finding.code == "data.encrypted"]
    assert (finding.severity, finding.path) == ("error", checkpoint)
    assert "checkpoint()" in finding.remedy
    assert not result.ok


def test_encrypted_files_are_not_converted(tmp_path: Path) -> None:
    write(tmp_path / "f.parquet", plaintext_footer=False)
    with pytest.raises(dr.UnsupportedFeatureError, match="encrypted"):
        dr.convert(tmp_path)
