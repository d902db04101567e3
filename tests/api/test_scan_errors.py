"""``Snapshot.scan``: files, deletion vectors and schemas that cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import data, logs, vectors
from support.mixed import LEFT, ids, snapshot_of

import deltareplay as dr
from deltareplay._protocol.schema import Struct

DAMAGED_CONTENT: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "data.truncated"),
    "short": (b"PAR1", "data.truncated"),
    "garbage": (b"PAR1" + bytes(range(256)) * 8 + b"\x10\0\0\0PAR1", "data.footer"),
    "no parquet": (b"a,b,c\n" * 1000, "data.footer"),
}


#: The ids of the other files.
OTHERS = [number for number in LEFT if number // 5 != 1]


def damage(log: logs.LogBuilder, kind: str) -> str:
    """Damage the second file; return the expected code."""
    path = log.table / "part-1.parquet"
    if kind == "missing":
        path.unlink()
        return "data.missing"
    if kind == "truncated":
        path.write_bytes(path.read_bytes()[:-20])
        return "data.truncated"
    content, code = DAMAGED_CONTENT[kind]
    path.write_bytes(content)
    return code


@pytest.mark.parametrize("kind", ["missing", "truncated", *DAMAGED_CONTENT])
def test_a_damaged_file_is_named_or_skipped(mixed: logs.LogBuilder, kind: str) -> None:
    code = damage(mixed, kind)
    snapshot = snapshot_of(mixed)

    with pytest.raises(dr.CorruptTableError) as raised:
        snapshot.scan().to_arrow()
    assert raised.value.code == code
    assert raised.value.path == "part-1.parquet"

    scan = snapshot.scan(on_error="skip")
    assert scan.skipped == []
    assert ids(scan.to_arrow()) == OTHERS
    (skipped,) = scan.skipped
    assert isinstance(skipped, dr.SkippedFile)
    assert skipped.path == "part-1.parquet"
    assert skipped.code == raised.value.code
    assert skipped.message
    assert ids(scan.to_arrow()) == OTHERS
    assert scan.skipped == [skipped], "each once, however often it is read"


def test_rows_before_the_damage_are_returned(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long"))
    numbers = pa.table({"id": pa.array(range(1000), pa.int64())})
    plain = {"compression": "none", "use_dictionary": False}
    log.commit(
        data.write(log.table, "a.parquet", numbers, row_group_size=500, options=plain),
        data.write(log.table, "b.parquet", {"id": [5000]}),
    )
    path = log.table / "a.parquet"
    content = bytearray(path.read_bytes())
    # overwrite the page header of the second row group
    at = pq.read_metadata(path).row_group(1).column(0).data_page_offset
    content[at : at + 12] = b"\xff" * 12
    path.write_bytes(bytes(content))

    reader = snapshot_of(log).scan().to_batches()
    with pytest.raises(dr.CorruptTableError) as raised:
        list(reader)
    assert raised.value.code == "data.pages"
    assert raised.value.path == "a.parquet"

    scan = snapshot_of(log).scan(on_error="skip")
    assert ids(scan.to_arrow()) == [*range(500), 5000]
    assert [file.code for file in scan.skipped] == ["data.pages"]


INLINE = vectors.inline([1])
BAD_VECTORS: dict[str, tuple[dict[str, Any], str]] = {
    "beyond": (vectors.inline([4, 99]), "dv.beyond_file"),
    "cardinality": (INLINE | {"cardinality": 3}, "dv.cardinality"),
    "size": (INLINE | {"sizeInBytes": 20}, "dv.size"),
    "base85": (INLINE | {"pathOrInlineDv": "~" + INLINE["pathOrInlineDv"][1:]}, "dv.base85"),
    "storage": (INLINE | {"storageType": "z"}, "dv.storage_type"),
    "no file": (logs.deletion_vector(), "dv.missing"),
}


@pytest.mark.parametrize("kind", BAD_VECTORS)
def test_rows_of_a_bad_deletion_vector_are_not_returned(log: logs.LogBuilder, kind: str) -> None:
    vector, code = BAD_VECTORS[kind]
    log.create(logs.schema(id="long"), protocol_action=logs.features("deletionVectors"))
    rows = {"id": [1, 2, 3, 4, 5]}
    log.commit(
        data.write(log.table, "a.parquet", {"id": [0]}),
        data.write(log.table, "b.parquet", rows),
    )
    bad = data.write(log.table, "c.parquet", rows)
    bad["add"]["deletionVector"] = vector
    log.commit(bad)
    snapshot = snapshot_of(log)

    with pytest.raises(dr.CorruptTableError) as raised:
        snapshot.scan().to_arrow()
    assert raised.value.code == code
    assert raised.value.path
    scan = snapshot.scan(on_error="skip")
    assert ids(scan.to_arrow()) == [0, 1, 2, 3, 4, 5]
    assert [(file.path, file.code) for file in scan.skipped] == [("c.parquet", raised.value.code)]


def test_an_error_in_a_c_stream_names_the_file(mixed: logs.LogBuilder) -> None:
    damage(mixed, "missing")
    with pytest.raises(Exception, match=r"part-1\.parquet"):
        pa.table(snapshot_of(mixed))


def test_a_name_that_arrow_cannot_hold_is_refused(log: logs.LogBuilder) -> None:
    """Arrow's C data interface passes names as C strings, which end with a null character."""
    pq.write_table(pa.table({"id": [1]}), log.table / "a.parquet")
    fields = [
        {"name": name, "type": "long", "nullable": True, "metadata": {}} for name in ("id", "a\0b")
    ]
    size = (log.table / "a.parquet").stat().st_size
    log.create(json.dumps({"type": "struct", "fields": fields}), logs.add("a.parquet", size=size))
    snapshot = dr.Table(log.uri).snapshot()
    assert snapshot.num_files == 1
    for call in (
        lambda: snapshot.scan().to_arrow(),
        lambda: next(iter(snapshot.scan().to_batches())),
        lambda: pa.schema(snapshot.scan()),
        snapshot.to_pandas,
    ):
        with pytest.raises(dr.UnsupportedFeatureError) as caught:
            call()
        assert caught.value.code == "schema.name"
    assert snapshot.scan(["id"]).to_arrow().to_pydict() == {"id": [1]}


def test_a_schema_too_deep_for_python_is_refused() -> None:
    """The depth of Python's JSON parser depends on its version, and on the stack."""
    with pytest.raises(dr.UnsupportedFeatureError) as caught:
        Struct.parse("[" * 100_000)
    assert caught.value.code == "schema.pyarrow"


def test_a_file_of_a_bad_partition_value_can_be_removed(log: logs.LogBuilder) -> None:
    log.create(logs.schema(id="long", p="integer"), partition_columns=["p"])
    for name, value in (("a", "1"), ("b", "abc")):
        log.commit(data.write(log.table, name, {"id": [1]}, partition_values={"p": value}))
    table = dr.Table(log.uri)
    snapshot = table.snapshot()
    with pytest.raises(dr.CorruptTableError, match="append its rows again") as caught:
        snapshot.scan().to_arrow()
    assert (caught.value.code, caught.value.path) == ("partition_value.parse", "b")
    assert snapshot.scan(columns=["id"]).to_arrow()["id"].to_pylist() == [1, 1]
    assert snapshot.files().num_rows == table.history().num_rows - 1 == 2
    assert table.vacuum().files == ()

    with table.transaction("DELETE") as transaction:
        transaction.remove(caught.value.path)
    assert table.snapshot().scan().to_arrow().to_pylist() == [{"id": 1, "p": 1}]
