"""Small tables that could need much memory: read, changed and written within limits.

Each case runs in a separate process, whose peak resident memory is measured. Numbers of rows and
of bytes are computed from the written data. Files are pyarrow's, logs are written by hand.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import logs

#: The memory of a process before it reads anything, and of some batches on two threads.
MAX_MIB = 600
#: The dictionary contains one word of this length.
WORD = 31 << 10

LISTS = {"type": "array", "elementType": "string", "containsNull": True}

CHILD = """
import json, sys, warnings
warnings.simplefilter("ignore")
import pyarrow.compute as pc
import deltareplay as dr

def size(column):
    while pc and str(column.type).startswith("list"):
        column = column.flatten()
    return pc.sum(pc.binary_length(column)).as_py() or 0

def read(batches, name):
    rows = bytes = most = 0
    for batch in batches:
        rows += batch.num_rows
        own = size(batch.column(name))
        bytes, most = bytes + own, max(most, own)
    return [rows, bytes, most]

table = dr.Table(sys.argv[1])
try:
    result = eval(sys.argv[2])
except dr.DeltaReplayError as error:
    result = [type(error).__name__, error.code, error.path, str(error)]
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([result, int(peak.split()[1]) >> 10]))
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads peak memory from /proc")


def test_a_child_measures_its_own_memory() -> None:
    """Workers start from test processes that may be large: only their own peak counts."""
    code = "from support.memory import peak_memory; print(peak_memory() >> 20)"
    parent = f"""
import subprocess, sys
memory = b"1" * (400 << 20)
subprocess.run([sys.executable, "-c", {code!r}], check=True)
"""
    paths = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", parent],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert int(done.stdout) < 200


def run(table: Path, code: str, threads: int = 2) -> tuple[Any, int]:
    """Return the output of the code about the table, and its peak memory in MiB."""
    environment = {**os.environ, "DELTAREPLAY_THREADS": str(threads), "DELTAREPLAY_PROGRESS": "0"}
    command = [sys.executable, "-c", CHILD, str(table), code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-1000:]
    assert "panicked" not in done.stderr, done.stderr[-1000:]
    output, peak = json.loads(done.stdout)
    return output, peak


def write_table(
    table: Path, columns: dict[str, Any], partition: dict[str, str], **options: Any
) -> int:
    """Write a table of one file; return the number of its rows."""
    rows = pa.table(columns)
    table.mkdir()
    pq.write_table(rows, table / "a.parquet", compression="zstd", **options)
    fields = {name: LISTS if pa.types.is_list(rows[name].type) else "string" for name in columns}
    fields |= dict.fromkeys(partition, "string") | ({"id": "long"} if "id" in columns else {})
    log = logs.LogBuilder(table)
    log.create(logs.schema(**fields), partition_columns=list(partition))
    size = (table / "a.parquet").stat().st_size
    log.commit(logs.add("a.parquet", size=size, partition_values=partition, stats=None))
    return rows.num_rows


def of_one_word(rows: int, word: int = WORD) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["x" * word])


def dictionary(table: Path) -> tuple[int, int]:
    """Repeat one word. delta-spark has no limit here; DuckDB 1.4 reads 8 such files in 215 MB."""
    rows = write_table(table, {"id": pa.array(range(40_000)), "s": of_one_word(40_000)}, {})
    return rows, rows * WORD


def dictionary_in_lists(table: Path) -> tuple[int, int]:
    """Four words per row; the same arrays repeatedly, which pyarrow stores as one dictionary."""
    values = pa.array(["x" * WORD] * 4_000)
    lists = pa.ListArray.from_arrays(pa.array(range(0, 4_001, 4), pa.int32()), values)
    write_table(table, {"s": pa.chunked_array([lists] * 10)}, {})
    return 10_000, 40_000 * WORD


def partition_value(table: Path) -> tuple[int, int]:
    rows = write_table(table, {"id": pa.array(range(40_000))}, {"s": "v" * WORD})
    return rows, rows * WORD


def long_texts(table: Path) -> tuple[int, int]:
    """More than 2 GiB of text in fewer rows than a batch has."""
    rows, text = 1_100, 2_000_000
    column = pa.array(["y" * text] * 100, pa.large_string())
    columns = {"s": pa.chunked_array([column] * 11)}
    write_table(
        table, columns, {}, use_dictionary=False, data_page_size=4 << 20, write_batch_size=1
    )
    return rows, rows * text


def prefixes(table: Path) -> tuple[int, int]:
    """Each string equals the previous one: DELTA_BYTE_ARRAY only stores its length."""
    rows, text = 20_000, 50_000
    columns = {"s": pa.chunked_array([pa.array(["z" * text] * 1_000)] * 20)}
    encoding = {"s": "DELTA_BYTE_ARRAY"}
    write_table(table, columns, {}, use_dictionary=False, column_encoding=encoding)
    return rows, rows * text


CASES: list[Callable[[Path], tuple[int, int]]] = [
    dictionary,
    dictionary_in_lists,
    partition_value,
    long_texts,
    prefixes,
]


@pytest.mark.slow
@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_rows_stream_in_bounded_memory(
    make: Callable[[Path], tuple[int, int]], tmp_path: Path
) -> None:
    table = tmp_path / "t"
    rows, size = make(table)
    assert size > MAX_MIB << 20
    for code in (
        "read(table.snapshot().scan(['s']).to_batches(), 's')",
        "read((b for s in table.snapshot().scan(['s']).splits() for b in s.to_batches()), 's')",
        "read(table.changes(1, columns=['s']).to_batches(), 's')",
    ):
        output, peak = run(table, code)
        assert output[:2] == [rows, size], code
        assert output[2] <= 64 << 20, code
        assert peak < MAX_MIB, code
    output, peak = run(table, "table.verify(rows=True).ok")
    assert output is True
    assert peak < MAX_MIB


def test_terabytes_from_kilobytes_are_refused(tmp_path: Path) -> None:
    """A dictionary of one string of 16 MiB in 100,000 rows is 1.5 TiB: hours of CPU time."""
    write_table(tmp_path / "t", {"s": of_one_word(100_000, 16 << 20)}, {})
    code = "sum(batch.num_rows for batch in table.snapshot().scan().to_batches())"
    output, peak = run(tmp_path / "t", code)
    assert output[:3] == ["CorruptTableError", "data.pages", "a.parquet"]
    assert peak < MAX_MIB


def test_a_long_string_in_a_dictionary_of_short_ones(tmp_path: Path) -> None:
    """It is in one row, although the dictionary would allow it in every row."""
    indexes = pa.array([1] + [0] * 99_999, pa.int32())
    column = pa.DictionaryArray.from_arrays(indexes, ["x", "y" * (16 << 20)])
    write_table(tmp_path / "t", {"s": column}, {})
    code = "sum(batch.num_rows for batch in table.snapshot().scan().to_batches())"
    assert run(tmp_path / "t", code)[0] == 100_000


@pytest.mark.slow
def test_short_lists_after_long_ones(tmp_path: Path) -> None:
    """The mean length of all lists fits neither the long ones nor the short ones."""
    table = tmp_path / "t"
    long, short, each = 300, 300_000, 1_000_000
    table.mkdir()
    writer = pq.ParquetWriter(
        table / "a.parquet", pa.schema([("s", pa.list_(pa.int64()))]), compression="zstd"
    )
    values = pa.array([7] * each)
    with writer:
        schema = writer.schema
        chunks = [pa.ListArray.from_arrays(pa.array([0, each], pa.int32()), values)] * long
        ends = pa.array(range(short + 1), pa.int32())
        short_lists = pa.ListArray.from_arrays(ends, pa.array([7] * short))
        writer.write_table(
            pa.table({"s": pa.chunked_array([*chunks, short_lists])}, schema=schema),
            row_group_size=1 << 30,
        )
    log = logs.LogBuilder(table)
    log.create(logs.schema(s={**LISTS, "elementType": "long"}))
    size = (table / "a.parquet").stat().st_size
    log.commit(logs.add("a.parquet", size=size, stats=None))
    code = (
        "[sum(n) for n in zip(*((batch.num_rows, len(batch['s'].flatten())) "
        "for batch in table.snapshot().scan().to_batches()))]"
    )
    output, peak = run(table, code)
    assert output == [long + short, long * each + short]
    assert peak < MAX_MIB


@pytest.mark.slow
def test_rows_are_changed_in_bounded_memory(tmp_path: Path) -> None:
    statements = (
        ("table.delete('id = 3').version", 39_999),
        ("table.update('id < 10', {'id': '-id'}).version", 40_000),
        ("table.optimize(z_order_by=['id']).version", 40_000),
        ("table.optimize(z_order_by=['s']).version", 40_000),
        ("table.optimize(z_order_by=['s', 'id']).version", 40_000),
    )
    for number, (code, left) in enumerate(statements):
        table = tmp_path / f"t{number}"
        dictionary(table)
        read = "read(table.snapshot().scan(['s']).to_batches(), 's')"
        [version, (rows, size, _)], peak = run(table, f"[{code}, {read}]")
        assert (version, rows, size) == (2, left, left * WORD), code
        # rows are sampled, spilled and sorted by each core
        assert peak < (2 * MAX_MIB if "optimize" not in code else 3 * MAX_MIB), code


@pytest.mark.slow
def test_values_of_more_than_2_gib(tmp_path: Path) -> None:
    """70,000 rows get 40,000 characters each: 64 Ki rows of these do not fit a string array."""
    import deltareplay as dr

    dr.write(tmp_path / "t", {"id": list(range(70_000)), "s": ["a"] * 70_000})
    long = "'" + "x" * 40_000 + "'"
    output, _ = run(
        tmp_path / "t", f'table.snapshot().scan(filter="s < concat(s, {long})").count()'
    )
    assert output[:2] == ["InvalidArgumentError", "formula.too_large"]
    output, peak = run(
        tmp_path / "t", f"table.update(None, {{'s': \"concat(s, {long})\"}}).version"
    )
    assert output == 1
    assert peak < 8 * MAX_MIB
    output, _ = run(tmp_path / "t", "read(table.snapshot().scan(['s']).to_batches(), 's')")
    assert output[:2] == [70_000, 70_000 * 40_001]


def test_a_constraint_that_joins_a_text_many_times(tmp_path: Path) -> None:
    """A string of 1 MB, 3,000 times: refused before it is built."""
    text = f"length(concat({', '.join(['s'] * 3000)})) > 0"
    log = logs.LogBuilder(tmp_path)
    constraint = {"delta.constraints.long": text}
    log.create(
        logs.schema(s="string"), protocol_action=logs.protocol(1, 3), configuration=constraint
    )
    output, peak = run(tmp_path, "table.append({'s': ['a' * 1_000_000]}).version")
    assert output[:2] == ["InvalidArgumentError", "formula.too_large"]
    assert peak < MAX_MIB


@pytest.mark.slow
def test_a_long_row_of_a_source_that_many_rows_match(tmp_path: Path) -> None:
    """40,000 rows get a string of 64 KiB each: 2.6 GB from one row of the source."""
    import deltareplay as dr

    dr.write(tmp_path / "t", {"id": list(range(40_000)), "k": [1] * 40_000, "s": ["a"] * 40_000})
    code = (
        "table.merge({'k': [1], 'w': ['x' * 65536]}, 'target.k = source.k')"
        ".when_matched_update({'s': 'source.w'}).execute().version"
    )
    output, peak = run(tmp_path / "t", code)
    assert output == 1
    assert peak < 2 * MAX_MIB
    output, _ = run(tmp_path / "t", "read(table.snapshot().scan(['s']).to_batches(), 's')")
    assert output[:2] == [40_000, 40_000 * 65_536]


LARGE_FILES = {
    "_last_checkpoint": None,
    f"{1:020d}.crc": None,
    f"{1:020d}.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json": None,
    f"{2:020d}.json": "commit.line_too_long",
    f"{0:020d}.{1:020d}.compacted.json": None,
    f"{1:020d}.checkpoint.parquet": None,
    "_last_vacuum_info": None,
}


@pytest.mark.parametrize("name", LARGE_FILES)
def test_large_files_of_the_log_are_not_read_whole(name: str, tmp_path: Path) -> None:
    """Sparse files of 4 GiB (``storage.file_too_large``), most of which are optional."""
    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(id="long"))
    log.commit(logs.commit_info())
    with open(tmp_path / "_delta_log" / name, "wb") as file:
        file.truncate(4 << 30)
    vacuum, snapshot = "len(table.vacuum(lite=True).files)", "table.snapshot().version"
    output, peak = run(tmp_path, vacuum if "vacuum" in name else snapshot)
    if LARGE_FILES[name]:
        assert output[1] == LARGE_FILES[name]
    else:
        assert output in (0, 1), output
    assert peak < MAX_MIB


def test_warnings_state_the_size_of_too_large_files(tmp_path: Path) -> None:
    import deltareplay as dr

    log = logs.LogBuilder(tmp_path)
    log.create(logs.schema(id="long"))
    for name in (f"{0:020d}.crc", "_last_checkpoint"):
        with open(tmp_path / "_delta_log" / name, "wb") as file:
            file.truncate(1 << 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        snapshot = dr.Table(tmp_path).snapshot()
    result = {warning.code: warning.message for warning in snapshot.warnings}
    assert "1073741824 bytes" in result["checksum.unreadable"]
    assert "1073741824 bytes" in result["hint.corrupt"]
