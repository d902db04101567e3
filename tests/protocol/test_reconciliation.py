"""The actions of a log that form the state of a version."""

from __future__ import annotations

import time

import pytest
from protocol.reading import SCHEMA, one_file, opened, paths
from support import logs

import deltareplay as dr

NOW = int(time.time() * 1000)
HOUR = 3600 * 1000
DAY = 24 * HOUR


def vector(offset: int | None = 1, name: str = "vBn[lx{q8@P<9BNH/isA") -> dict[str, object]:
    return logs.deletion_vector(name, offset=offset)


# -- the key: path and vector


def test_a_file_and_the_same_file_with_a_vector_are_two_logical_files(
    log: logs.LogBuilder,
) -> None:
    """Removing one of them keeps the other."""
    log.create(SCHEMA, logs.add("f"))
    log.commit(logs.remove("f"), logs.add("f", deletion_vector=vector()))

    assert one_file(opened(log))["deletionVector"]["offset"] == 1

    log.commit(logs.remove("f"))

    assert paths(opened(log)) == ["f"]

    log.commit(logs.remove("f", deletion_vector=vector()))

    assert paths(opened(log)) == []


@pytest.mark.parametrize(
    ("added", "removed"),
    [
        (vector(1), vector(2)),
        (vector(None), vector(0)),
        (vector(0), vector(None)),
        (vector(1), vector(1, "other[lx{q8@P<9BNH/is")),
        (logs.deletion_vector("x", storage_type="p"), logs.deletion_vector("x", storage_type="u")),
    ],
    ids=["offset", "absent is not 0", "0 is not absent", "name", "storage"],
)
def test_vectors_differ_by_storage_name_and_offset(
    log: logs.LogBuilder, added: dict[str, object], removed: dict[str, object]
) -> None:
    log.create(SCHEMA, logs.add("f", deletion_vector=added))
    log.commit(logs.remove("f", deletion_vector=removed))

    assert paths(opened(log)) == ["f"]


def test_vectors_do_not_differ_by_size_and_cardinality(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, logs.add("f", deletion_vector=vector()))
    log.commit(logs.remove("f", deletion_vector={**vector(), "cardinality": 77, "sizeInBytes": 1}))

    assert paths(opened(log)) == []


@pytest.mark.parametrize("kind", ["classic", "v2-json", "v2-parquet", "multipart"])
def test_later_commits_remove_files_of_a_checkpoint_by_path_and_vector(
    log: logs.LogBuilder, kind: str
) -> None:
    log.create(
        SCHEMA,
        logs.add("plain"),
        logs.add("with", deletion_vector=vector()),
        logs.add("without", deletion_vector=vector(None)),
    )
    log.checkpoint(0, kind=kind)
    log.commit(
        logs.remove("plain", deletion_vector=vector()),  # another logical file
        logs.remove("with", deletion_vector=vector()),
        logs.remove("without", deletion_vector=vector(0)),  # another logical file
    )

    assert paths(opened(log)) == ["plain", "without"]


@pytest.mark.parametrize("kind", ["none", "classic", "v2-json", "multipart"])
def test_a_file_added_again_replaces_all_of_its_fields(log: logs.LogBuilder, kind: str) -> None:
    log.create(SCHEMA, logs.add("f", size=1, stats=logs.stats(1), tags={"a": "1"}, base_row_id=5))
    if kind != "none":
        log.checkpoint(0, kind=kind)
    log.commit(logs.add("f", size=2, stats=logs.stats(2), modification_time=7))

    row = one_file(opened(log))

    assert (row["size"], row["modificationTime"], row["baseRowId"]) == (2, 7, None)
    assert (row["stats"], row["tags"]) == ('{"numRecords":2}', None)
    assert opened(log).size_in_bytes == 2


def test_a_removed_file_may_be_added_again(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, logs.add("f"))
    log.commit(logs.remove("f"))
    log.checkpoint()
    log.commit(logs.add("f", size=9))

    snapshot = opened(log)

    assert one_file(snapshot)["size"] == 9
    assert snapshot.tombstones().num_rows == 0


def test_the_order_of_actions_in_a_commit_does_not_matter(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, logs.add("f"))
    log.commit(logs.add("f", deletion_vector=vector()), logs.remove("f"))
    log.commit(
        logs.remove("f", deletion_vector=vector()), logs.add("f", deletion_vector=vector(50))
    )

    assert one_file(opened(log))["deletionVector"]["offset"] == 50


def test_verify_reports_a_checkpoint_with_a_duplicate_row(log: logs.LogBuilder) -> None:
    """Readers treat the rows of one checkpoint as reconciled, as the protocol says."""
    log.create(SCHEMA, logs.add("f"), logs.add("g"))
    logs.write_checkpoint(log.table, 0, [*log.state().actions(), logs.add("f")])

    assert paths(opened(log)) == ["f", "f", "g"]
    findings = dr.Table(log.uri).verify(data_files=False).findings
    assert [finding.code for finding in findings if finding.severity == "error"] == [
        "checkpoint.duplicate_row"
    ]


def test_verify_reports_a_checkpoint_with_a_file_with_and_without_a_deletion_vector(
    log: logs.LogBuilder,
) -> None:
    log.create(SCHEMA, logs.add("f", deletion_vector=vector()))
    logs.write_checkpoint(log.table, 0, [logs.add("f"), *log.state().actions()])

    assert paths(opened(log)) == ["f", "f"]
    findings = dr.Table(log.uri).verify(data_files=False).findings
    assert "checkpoint.duplicate_row" in {finding.code for finding in findings}


def test_later_commits_do_not_restore_removed_files_of_a_checkpoint(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, logs.add("f"))
    log.commit(logs.remove("f"))
    log.checkpoint()
    log.commit(logs.add("g"))

    assert paths(opened(log)) == ["g"]


# -- spellings of one path; each pair was tried with delta-spark 4.3.0, which normalizes the URI
# and decodes nothing


ONE_FILE = [
    ("a%20b.parquet", "a%20b.parquet"),
    ("%E7%8C%AB", "%e7%8c%ab"),
    ("d=1/a", "d=1//a"),
    ("./a", "a"),
    ("x/../a", "a"),
    ("file:///data/x", "file:/data/x"),
    ("file:/data/x", "file:///data/x"),
    ("/data/x", "file:///data/x"),
    ("file:/data/x", "/data/x"),
    ("/data//x", "/data/x"),
    ("/data/x/", "/data/x"),
    ("/data/a%20b", "file:///data/a%20b"),
    ("FILE:///data/x", "file:///data/x"),
    ("file:/data/../x", "/x"),
    ("s3://b/x", "s3://b//x"),
]
TWO_FILES = [
    ("%61.parquet", "a.parquet"),
    ("a.parquet", "%61.parquet"),
    ("%E7%8C%AB", "猫"),
    ("a%2Fb", "a/b"),
    ("a%2520b", "a%20b"),
    ("a+b", "a%20b"),
    ("A.parquet", "a.parquet"),
    ("file:///data/%61", "/data/a"),
    ("file://localhost/data/x", "file:///data/x"),
]


@pytest.mark.parametrize(("added", "removed"), ONE_FILE)
def test_spellings_that_are_one_file_in_delta_spark(
    log: logs.LogBuilder, added: str, removed: str
) -> None:
    log.create(SCHEMA, logs.add(added))
    log.checkpoint()
    log.commit(logs.remove(removed))

    assert paths(opened(log)) == []


@pytest.mark.parametrize(("added", "removed"), TWO_FILES)
def test_spellings_that_are_two_files_in_delta_spark(
    log: logs.LogBuilder, added: str, removed: str
) -> None:
    log.create(SCHEMA, logs.add(added))
    log.commit(logs.remove(removed))

    assert paths(opened(log)) == [added]


def test_an_absolute_path_inside_the_table_is_not_its_relative_spelling(
    log: logs.LogBuilder,
) -> None:
    log.create(SCHEMA, logs.add("x.parquet"))
    log.commit(logs.remove(f"file://{log.uri}/x.parquet"))

    assert paths(opened(log)) == ["x.parquet"]


def test_paths_are_returned_as_in_the_log(log: logs.LogBuilder) -> None:
    spelled = ["d=a%2520b/f%20g.parquet", "file:///x/y%2F.parquet", "s3://bucket/k%20.parquet"]
    log.create(SCHEMA, *(logs.add(path) for path in spelled))

    assert paths(opened(log)) == sorted(spelled)


# -- tombstones


def tombstones(log: logs.LogBuilder) -> list[str]:
    return sorted(opened(log).tombstones()["path"].to_pylist())


@pytest.mark.parametrize("kind", ["none", "classic", "multipart", "v2-json", "v2-parquet"])
def test_tombstones_expire_after_a_week(log: logs.LogBuilder, kind: str) -> None:
    log.create(SCHEMA)
    log.commit(
        logs.remove("fresh", deletion_timestamp=NOW - HOUR),
        logs.remove("six days", deletion_timestamp=NOW - 6 * DAY),
        logs.remove("eight days", deletion_timestamp=NOW - 8 * DAY),
        logs.remove("no time", deletion_timestamp=None),
        logs.remove("zero", deletion_timestamp=0),
        logs.remove("ahead", deletion_timestamp=NOW + 300 * DAY),
    )
    if kind != "none":
        log.checkpoint(kind=kind)
        log.delete_commits(1)

    assert tombstones(log) == ["ahead", "fresh", "six days"]


@pytest.mark.parametrize(
    ("interval", "kept"),
    [
        ("interval 2 days", ["day old"]),
        ("2 DAYS", ["day old"]),
        ("interval 48 hours", ["day old"]),
        ("interval 1 hour", []),
        ("interval 30 days", ["day old", "six days", "twenty days"]),
        ("interval 1 week", ["day old", "six days"]),
        ("interval 3 weeks 2 days", ["day old", "six days", "twenty days"]),
    ],
)
def test_a_property_sets_the_retention_of_tombstones(
    log: logs.LogBuilder, interval: str, kept: list[str]
) -> None:
    log.create(SCHEMA, configuration={"delta.deletedFileRetentionDuration": interval})
    log.commit(
        logs.remove("day old", deletion_timestamp=NOW - DAY),
        logs.remove("six days", deletion_timestamp=NOW - 6 * DAY),
        logs.remove("twenty days", deletion_timestamp=NOW - 20 * DAY),
    )

    assert tombstones(log) == kept


def test_an_expired_tombstone_still_removes_its_file(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, logs.add("f"))
    log.checkpoint()
    log.commit(logs.remove("f", deletion_timestamp=1))

    snapshot = opened(log)

    assert paths(snapshot) == []
    assert snapshot.tombstones().num_rows == 0


def test_a_tombstone_has_the_fields_of_the_log(log: logs.LogBuilder) -> None:
    log.create(SCHEMA)
    log.commit(
        logs.remove(
            "f%20",
            deletion_timestamp=NOW,
            size=77,
            deletion_vector=vector(),
            partition_values={"p": None},
        )
    )

    (row,) = opened(log).tombstones().to_pylist()

    assert (row["path"], row["deletionTimestamp"], row["size"]) == ("f%20", NOW, 77)
    assert row["extendedFileMetadata"] is True
    assert dict(row["partitionValues"]) == {"p": None}
    assert row["deletionVector"]["pathOrInlineDv"] == "vBn[lx{q8@P<9BNH/isA"


def test_a_remove_of_an_old_writer_has_neither_size_nor_partition_values(
    log: logs.LogBuilder,
) -> None:
    log.create(SCHEMA, logs.add("f"))
    log.commit(logs.remove("f", extended=None, size=None, deletion_timestamp=NOW))

    snapshot = opened(log)
    (row,) = snapshot.tombstones().to_pylist()

    assert paths(snapshot) == []
    assert (row["size"], row["partitionValues"]) == (None, None)


# -- transactions


def test_the_newest_transaction_of_an_application_counts_even_if_its_version_is_lower(
    log: logs.LogBuilder,
) -> None:
    log.create(SCHEMA, logs.txn("a", 9), logs.txn("b", 2**62))
    log.checkpoint()
    log.commit(logs.txn("a", 3))
    log.commit(logs.txn("c", 0, None))

    assert dict(opened(log).transactions) == {"a": 3, "b": 2**62, "c": 0}


@pytest.mark.parametrize("kind", ["none", "classic", "v2-json"])
def test_transactions_expire_by_the_property(log: logs.LogBuilder, kind: str) -> None:
    retention = {"delta.setTransactionRetentionDuration": "interval 10 days"}
    log.create(
        SCHEMA,
        logs.txn("fresh", 1, NOW - DAY),
        logs.txn("old", 2, NOW - 11 * DAY),
        logs.txn("unknown", 3, None),
        configuration=retention,
    )
    if kind != "none":
        log.checkpoint(kind=kind)

    assert dict(opened(log).transactions) == {"fresh": 1}


def test_transactions_without_a_time_never_expire(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, logs.txn("a", 1, None), logs.txn("b", 2, 5))

    assert dict(opened(log).transactions) == {"a": 1, "b": 2}


# -- domains


@pytest.mark.parametrize("kind", ["none", "classic", "multipart", "v2-json", "v2-parquet"])
def test_domains_live_until_they_are_removed(log: logs.LogBuilder, kind: str) -> None:
    log.create(SCHEMA, logs.domain("a", "1"), logs.domain("delta.b", "2"), logs.domain("c", "3"))
    if kind != "none":
        log.checkpoint(kind=kind)
    log.commit(logs.domain("a", "4"), logs.domain("c", "3", removed=True))

    assert dict(opened(log).domain_metadata) == {"a": "4", "delta.b": "2"}
    assert dict(opened(log, 0).domain_metadata) == {"a": "1", "delta.b": "2", "c": "3"}


@pytest.mark.parametrize("kind", ["classic", "v2"])
def test_a_checkpoint_may_hold_removed_domains(log: logs.LogBuilder, kind: str) -> None:
    """Delta Kernel writes them."""
    log.create(SCHEMA, logs.domain("a", "1"))
    log.commit(logs.domain("b", "2", removed=True))
    rows = log.state().actions(removed_domains=True)
    if kind == "v2":
        logs.write_v2(log.table, 1, rows)
    else:
        logs.write_checkpoint(log.table, 1, rows)
    log.delete_commits(1)

    assert dict(opened(log).domain_metadata) == {"a": "1"}


# -- metadata, protocol, unknown actions


def test_newer_metadata_replaces_all_of_the_older(log: logs.LogBuilder) -> None:
    log.create(
        SCHEMA, configuration={"a": "1"}, name="first", description="d", partition_columns=["id"]
    )
    log.commit(logs.metadata(logs.schema(x="string"), configuration={"b": "2"}))

    metadata = opened(log).metadata

    assert dict(metadata.configuration) == {"b": "2"}
    assert (metadata.name, metadata.description) == (None, None)
    assert list(metadata.partition_columns) == []
    assert opened(log).schema.names == ["x"]
    assert dict(opened(log, 0).properties) == {"a": "1"}


def test_unknown_actions_fields_and_domains_are_ignored(log: logs.LogBuilder) -> None:
    log.create(SCHEMA)
    log.commit(
        {"future": {"add": {"path": "x"}}},
        {
            "add": {
                "path": "f",
                "partitionValues": {},
                "size": 1,
                "modificationTime": 1,
                "dataChange": True,
                "newField": {"deep": [1, {"x": None}]},
                "rank": 7,
            }
        },
        {"add": None, "txn": {"appId": "a", "version": 1}},
        {"checkpointMetadata": {"version": 77}},
        {"sidecar": {"path": "nope.parquet", "sizeInBytes": 1, "modificationTime": 1}},
        logs.cdc("_change_data/c.parquet"),
        logs.domain("unknown.domain", "?"),
    )

    snapshot = opened(log, strict=True)

    assert paths(snapshot) == ["f"]
    assert dict(snapshot.transactions) == {"a": 1}


def test_nulls_and_absent_keys_are_the_same(log: logs.LogBuilder) -> None:
    add = logs.add("f")["add"]
    nulls = dict.fromkeys(
        [
            "stats",
            "tags",
            "deletionVector",
            "baseRowId",
            "defaultRowCommitVersion",
            "clusteringProvider",
        ]
    )
    log.create(SCHEMA)
    log.commit({"add": {**add, **nulls}, "remove": None, "metaData": None, "commitInfo": None})

    row = one_file(opened(log))

    assert {name: row[name] for name in nulls} == nulls
    log.commit(logs.remove("f"))
    assert paths(opened(log)) == []


@pytest.mark.parametrize("kind", ["none", "classic", "v2-json"])
def test_large_numbers_keep_every_digit(log: logs.LogBuilder, kind: str) -> None:
    big = 2**63 - 1
    log.create(SCHEMA, logs.txn("a", big))
    log.commit(logs.add("f", size=2**53 + 1, base_row_id=big, default_row_commit_version=big - 1))
    if kind != "none":
        log.checkpoint(kind=kind)
        log.delete_commits(1)

    row = one_file(opened(log))
    assert (row["size"], row["baseRowId"]) == (2**53 + 1, big)
    assert row["defaultRowCommitVersion"] == big - 1
    assert dict(opened(log).transactions) == {"a": big}


@pytest.mark.parametrize("kind", ["none", "classic", "v2-json", "v2-inline-json"])
def test_partition_values_keep_nulls_and_empty_strings(log: logs.LogBuilder, kind: str) -> None:
    values = {"a": None, "b": "", "c": "x=y/z%", "d": '猫\n"\\'}
    log.create(SCHEMA, logs.add("f", partition_values=values))
    if kind != "none":
        log.checkpoint(kind=kind)
        log.delete_commits(1)

    assert dict(one_file(opened(log))["partitionValues"]) == values


@pytest.mark.parametrize("ending", [b"\n", b"", b"\r\n", b"\n\n", b"\n \n"], ids=repr)
def test_the_last_line_may_end_in_any_way(log: logs.LogBuilder, ending: bytes) -> None:
    log.create(SCHEMA)
    log.commit(logs.add("f"))
    content = logs.json_lines(log.commits[1]).rstrip(b"\n") + ending
    logs.write_file(log.table, logs.commit_name(1), content)

    assert paths(opened(log)) == ["f"]


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\r\n"], ids=repr)
@pytest.mark.parametrize("end", [b"\r", b"\r\r", b" \r\n\t", b"\n \r\n\n"], ids=repr)
def test_lines_may_end_in_any_way(log: logs.LogBuilder, start: bytes, end: bytes) -> None:
    log.create(SCHEMA)
    log.commit(logs.commit_info(), logs.add("a"), logs.add("b"), logs.add("c"))
    log.commit(logs.remove("b"), logs.commit_info(), logs.add("d"))
    for version in (1, 2):
        content = start + logs.json_lines(log.commits[version]).replace(b"\n", end)
        logs.write_file(log.table, logs.commit_name(version), content)

    assert paths(opened(log)) == ["a", "c", "d"]
    operations = dr.Table(log.uri).history()["operation"].to_pylist()
    assert operations == ["WRITE", "WRITE", "CREATE TABLE"]


def test_an_action_after_one_that_is_skipped_and_a_carriage_return(log: logs.LogBuilder) -> None:
    log.create(SCHEMA)
    log.commit(logs.add("a"), logs.commit_info(), logs.add("b"))
    content = logs.json_lines(log.commits[1]).replace(b"\n", b"\r", 1)
    logs.write_file(log.table, logs.commit_name(1), content)

    assert paths(opened(log)) == ["a", "b"]
    assert dr.Table(log.uri).history()["operation"].to_pylist() == ["WRITE", "CREATE TABLE"]


def test_text_after_an_action_is_an_error(log: logs.LogBuilder) -> None:
    log.create(SCHEMA)
    log.commit()
    content = logs.json_lines([logs.add("a")]).rstrip(b"\n") + b" x\r"
    logs.write_file(log.table, logs.commit_name(1), content)
    with pytest.raises(dr.CorruptTableError) as caught:
        paths(opened(log))
    assert caught.value.code == "commit.json"


def test_spaces_and_order_of_keys_in_a_line_do_not_matter(log: logs.LogBuilder) -> None:
    log.create(SCHEMA)
    log.commit()
    line = (
        b' { "add" :\t{ "dataChange" : true , "size" : 5 , "modificationTime" : 1 , '
        b'"partitionValues" : { } , "path" : "f\\u00e9\\/g" } } \n'
    )
    logs.write_file(log.table, logs.commit_name(1), line)

    assert one_file(opened(log))["path"] == "fé/g"
