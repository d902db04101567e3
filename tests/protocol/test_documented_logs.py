"""Logs in the text of the protocol and in articles about logs, as far as they concern snapshots."""

from __future__ import annotations

import json

import pytest
from protocol.reading import SCHEMA, codes, opened, paths
from support import logs

import deltareplay as dr

# -- the protocol


def test_file_types_of_the_protocol(log: logs.LogBuilder) -> None:
    """Commits 0, 1 and 3, and a checkpoint at 3: the gap is before the checkpoint."""
    log.create(SCHEMA, logs.add("f0"))
    log.commit(logs.add("f1"))
    log.commit(logs.add("f2"))
    log.commit(logs.add("part-00000-3935a07c-416b-4344-ad97-2a38342ee2fc.c000.snappy.parquet"))
    log.checkpoint(3)
    (logs.log_dir(log.table) / logs.commit_name(2)).unlink()

    assert opened(log).version == 3
    assert opened(log).num_files == 4


def test_log_compaction_of_the_protocol(log: logs.LogBuilder) -> None:
    """Commits 4, 5 and 6 and their compacted file."""
    app = "3ae45b72-24e1-865a-a211-34987ae02f2a"
    log.create(SCHEMA, logs.add("f1"))
    for _ in range(3):
        log.commit(logs.commit_info())
    log.commit(logs.commit_info(), logs.add("f2"), logs.remove("f1"))
    log.commit(logs.commit_info(), logs.add("f3"), logs.add("f4"), logs.txn(app, 4389, None))
    log.commit(logs.commit_info(), logs.remove("f3"), logs.txn(app, 4390, None))
    before = opened(log)
    assert (paths(before), dict(before.transactions)) == (["f2", "f4"], {app: 4390})

    logs.write_compacted(
        log.table,
        4,
        6,
        [
            logs.add("f2"),
            logs.add("f4"),
            logs.remove("f1"),
            logs.remove("f3"),
            logs.txn(app, 4390, None),
        ],
    )
    after = opened(log, strict=True)

    assert (paths(after), dict(after.transactions)) == (["f2", "f4"], {app: 4390})
    assert sorted(after.tombstones()["path"].to_pylist()) == ["f1", "f3"]


def test_checkpoint_names_of_the_protocol(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, *(logs.add(f"f{i}") for i in range(6)))
    for _ in range(10):
        log.commit(logs.commit_info())
    rows = log.state().actions()
    files = [row for row in rows if "add" in row]
    sidecars = [
        logs.write_sidecar(log.table, name, files[i::3])
        for i, name in enumerate(
            [
                "3a0d65cd-4056-49b8-937b-95f9e3ee90e5.parquet",
                "016ae953-37a9-438e-8683-9a9a4a79a395.parquet",
                "7d17ac10-5cc3-401b-bd1a-9c82dd2ea032.parquet",
            ]
        )
    ]
    manifest = [logs.checkpoint_metadata(10, tags={}), *sidecars]
    logs.write_file(
        log.table,
        "00000000000000000010.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.json",
        logs.json_lines([*manifest, *(row for row in rows if "add" not in row)]),
    )
    logs.write_hint(log.table, 10)
    log.delete_commits(10)

    assert paths(opened(log, strict=True)) == [f"f{i}" for i in range(6)]


def test_domain_metadata_of_the_protocol(log: logs.LogBuilder) -> None:
    log.create(SCHEMA, logs.domain("delta.deltaTableFeatureX", '{"key1":"value1"}'))

    assert dict(opened(log).domain_metadata) == {"delta.deltaTableFeatureX": '{"key1":"value1"}'}


def test_metadata_of_the_protocol(log: logs.LogBuilder) -> None:
    log.create(
        SCHEMA,
        id="af23c9d7-fff1-4a5a-a2c8-55c59bd782aa",
        configuration={"appendOnly": "true"},
        created_time=None,
    )
    metadata = opened(log).metadata

    assert metadata.id == "af23c9d7-fff1-4a5a-a2c8-55c59bd782aa"
    assert dict(metadata.configuration) == {"appendOnly": "true"}
    assert metadata.created_time is None


def test_add_and_remove_of_the_protocol(log: logs.LogBuilder) -> None:
    path = "date=2017-12-10/part-000...c000.gz.parquet"
    log.create(
        logs.schema(date="date"),
        logs.add(
            path,
            partition_values={"date": "2017-12-10"},
            size=841454,
            modification_time=1512909768000,
            base_row_id=4071,
            default_row_commit_version=41,
            clustering_provider="liquid",
            stats='{"numRecords":1}',
        ),
        {
            "remove": {
                "path": "part-00001-9.snappy.parquet",
                "deletionTimestamp": 1515488792485,
                "baseRowId": 4071,
                "defaultRowCommitVersion": 41,
                "dataChange": True,
            }
        },
        partition_columns=["date"],
    )
    (row,) = opened(log).files().to_pylist()

    assert (row["path"], row["size"], row["modificationTime"]) == (path, 841454, 1512909768000)
    assert (row["baseRowId"], row["defaultRowCommitVersion"]) == (4071, 41)
    assert row["clusteringProvider"] == "liquid"
    assert dict(row["partitionValues"]) == {"date": "2017-12-10"}
    assert opened(log).tombstones().num_rows == 0, "it expired in January 2018"


def test_reader_version_2_with_column_mapping_among_the_writer_features(
    log: logs.LogBuilder,
) -> None:
    """The protocol: such a table equals one that lists column mapping as a reader feature."""
    features = ["columnMapping", "identityColumns"]
    log.create(SCHEMA, protocol_action=logs.protocol(2, 7, writer_features=features))
    result = opened(log).protocol

    assert (result.min_reader_version, result.min_writer_version) == (2, 7)
    assert result.reader_features is None
    assert result.why_not_readable() == []
    listed = dr.Protocol(3, 7, ["columnMapping"], features)
    assert listed.why_not_readable() == []


# -- the protocol action


@pytest.mark.parametrize(
    ("reader", "writer"),
    [(1, 2), (1, 3), (1, 4), (1, 6), (2, 5)],
    ids=["append only", "constraints", "generated or feed", "identity", "column mapping"],
)
def test_minimum_protocols_of_features(log: logs.LogBuilder, reader: int, writer: int) -> None:
    log.create(
        SCHEMA,
        protocol_action=logs.protocol(reader, writer),
        configuration={"delta.appendOnly": "true"},
    )
    result = opened(log)

    assert (result.protocol.min_reader_version, result.protocol.min_writer_version) == (
        reader,
        writer,
    )
    assert result.protocol.why_not_readable() == []
    assert result.properties["delta.appendOnly"] == "true"


# -- a log of Databricks 10.4


def test_hint_of_databricks(log: logs.LogBuilder) -> None:
    """``{"version":10,"size":12}``, and the later commits 11 to 13."""
    log.create(SCHEMA)
    for version in range(1, 14):
        log.commit(logs.add(f"f{version}"))
    log.checkpoint(10, hint=False)
    logs.write_file(log.table, "_last_checkpoint", b'{"version":10,"size":12}')
    for version in range(1, 10):
        # only 11, 12 and 13 are read: the others need not even be readable
        logs.write_file(log.table, logs.commit_name(version), b"not json")

    snapshot = opened(log, strict=True)

    assert (snapshot.version, snapshot.num_files, codes(snapshot)) == (13, 13, [])


def test_checksum_and_actions_of_databricks(log: logs.LogBuilder) -> None:
    schema = json.dumps(
        {
            "type": "struct",
            "fields": [
                {"name": name, "type": kind, "nullable": True, "metadata": {}}
                for name, kind in [
                    ("id", "long"),
                    ("loan_amnt", "float"),
                    ("funded_amnt", "integer"),
                    ("term", "string"),
                    ("int_rate", "string"),
                    ("addr_state", "string"),
                ]
            ],
        }
    )
    properties = {
        "delta.autoOptimize.autoCompact": "true",
        "delta.autoOptimize.optimizeWrite": "true",
    }
    path = "part-00000-764ea26b-847f-4d8e-ba33-b50410648f11-c000.snappy.parquet"
    log.commit(
        {
            "commitInfo": {
                "timestamp": 1662199085825,
                "operation": "CREATE TABLE AS SELECT",
                "operationParameters": {
                    "description": None,
                    "isManaged": "true",
                    "partitionBy": "[]",
                    "properties": json.dumps(properties),
                },
                "operationMetrics": {
                    "numFiles": "1",
                    "numOutputBytes": "892610",
                    "numOutputRows": "148014",
                },
                "notebook": {"notebookId": "4494197656234952"},
                "isBlindAppend": True,
                "engineInfo": "Databricks-Runtime/10.4.x-cpu-ml-scala2.12",
                "txnId": "5b12b522-1070-4139-b7b2-714dc1e6d701",
            }
        },
        logs.protocol(1, 2),
        {
            "metaData": {
                "id": "6beacf7b-dea1-4ecd-bd6e-6a4dfc697d6b",
                "format": {"provider": "parquet"},
                "schemaString": schema,
                "partitionColumns": [],
                "configuration": properties,
                "createdTime": 1662199084374,
            }
        },
        logs.add(
            path,
            size=892610,
            modification_time=1662199086000,
            stats='{"numRecords":148014,"minValues":{"id":0},"maxValues":{"id":25769817599}}',
            tags={"INSERTION_TIME": "1662199086000000", "OPTIMIZE_TARGET_SIZE": "268435456"},
        ),
    )
    logs.write_checksum(
        log.table,
        0,
        {
            "tableSizeBytes": 892610,
            "numFiles": 1,
            "numMetadata": 1,
            "numProtocol": 1,
            "protocol": log.state().protocol,
            "metadata": log.state().metadata,
            "histogramOpt": {
                "sortedBinBoundaries": [0, 8192, 16384],
                "fileCounts": [0, 0, 1],
                "totalBytes": [0, 0, 892610],
            },
        },
    )

    snapshot = opened(log, strict=True)
    (row,) = snapshot.files(columns=["path", "size", "tags", "numRecords"]).to_pylist()

    assert (snapshot.num_files, snapshot.size_in_bytes) == (1, 892610)
    assert (row["path"], row["size"], row["numRecords"]) == (path, 892610, 148014)
    assert dict(row["tags"])["OPTIMIZE_TARGET_SIZE"] == "268435456"
    assert dict(snapshot.properties) == properties
    (entry,) = dr.Table(log.uri).history().to_pylist()
    assert entry["operation"] == "CREATE TABLE AS SELECT"
    assert dict(entry["operationMetrics"])["numOutputRows"] == "148014"


def test_create_delete_insert(log: logs.LogBuilder) -> None:
    """1.parquet and 2.parquet; then both removed; then 3.parquet."""
    log.create(SCHEMA, logs.add("1.parquet"), logs.add("2.parquet"))
    log.commit(logs.remove("1.parquet"), logs.remove("2.parquet"))
    log.commit(logs.add("3.parquet"))

    assert [paths(opened(log, version)) for version in range(3)] == [
        ["1.parquet", "2.parquet"],
        [],
        ["3.parquet"],
    ]


# -- change queries


def test_files_of_each_version(log: logs.LogBuilder) -> None:
    """Create, insert three, update one, delete one; with vectors the data file stays."""
    schema = logs.schema(name="string", fruit="string")
    log.create(schema, protocol_action=logs.features("deletionVectors"))
    first, second = logs.deletion_vector(offset=1, cardinality=1), logs.deletion_vector(offset=44)
    log.commit(logs.add("data-1", stats=logs.stats(3)))
    log.commit(
        logs.remove("data-1"),
        logs.add("data-1", stats=logs.stats(3), deletion_vector=first),
        logs.add("data-2", stats=logs.stats(1)),
    )
    log.commit(
        logs.remove("data-1", deletion_vector=first),
        logs.add("data-1", stats=logs.stats(3), deletion_vector=second),
    )

    def live(version: int) -> dict[str, int]:
        rows = opened(log, version).files(columns=["path", "numRecords", "deletionVector"])
        return {
            row["path"]: row["numRecords"]
            - (row["deletionVector"]["cardinality"] if row["deletionVector"] else 0)
            for row in rows.to_pylist()
        }

    assert [live(version) for version in range(4)] == [
        {},
        {"data-1": 3},
        {"data-1": 2, "data-2": 1},
        {"data-1": 1, "data-2": 1},
    ]
