"""Conflicts between commits, compared with those of delta-spark for the same actions.

Two transactions begin at the same version. The winner's commit is written first; then the current
one commits, by delta-spark's ``OptimisticTransaction`` or by our ``Transaction``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from support import logs

import deltareplay as dr

pytestmark = pytest.mark.spark

LEVELS = ("Serializable", "WriteSerializable")


@dataclass(frozen=True)
class Step:
    """The reads of a transaction (``all``, a filter, or nothing), and its staged actions."""

    reads: str | None
    actions: tuple[logs.Action, ...]
    operation: str = "WRITE"

    @property
    def is_blind(self) -> bool:
        return self.reads is None and all("remove" not in action for action in self.actions)


def add(name: str, p: str, *, data_change: bool = True) -> logs.Action:
    stats = logs.stats(1, id=(1, 1, 0))
    return logs.add(name, partition_values={"p": p}, data_change=data_change, stats=stats)


def remove(name: str, p: str, *, data_change: bool = True) -> logs.Action:
    return logs.remove(name, partition_values={"p": p}, data_change=data_change)


def metadata(level: str, **configuration: str) -> logs.Action:
    return logs.metadata(
        logs.schema(id="long", p="string"),
        partition_columns=["p"],
        configuration={"delta.isolationLevel": level, **configuration},
    )


PROTOCOL = logs.features(writer_only=["appendOnly", "invariants", "domainMetadata"])
WIDER = logs.features(
    writer_only=["appendOnly", "invariants", "domainMetadata", "changeDataFeed", "checkConstraints"]
)


def steps(who: str, level: str) -> dict[str, Step]:
    """Return the steps by name; ``who`` distinguishes the files of the two transactions."""
    new = [f"{who}-{number}" for number in range(2)]
    removed, other = remove("a", "1"), remove("b", "2")
    return {
        "blind append": Step(None, (add(new[0], "1"),)),
        "blind append elsewhere": Step(None, (add(new[0], "3"),)),
        "append that read all": Step("all", (add(new[0], "1"),)),
        "delete": Step("p = '1'", (removed,), "DELETE"),
        "delete elsewhere": Step("p = '2'", (other,), "DELETE"),
        "update": Step("p = '1'", (removed, add(new[0], "1")), "UPDATE"),
        "merge": Step("all", (other, add(new[0], "2"), add(new[1], "3")), "MERGE"),
        "overwrite": Step("all", (removed, other, remove("c", "1"), add(new[0], "2"))),
        "replaceWhere": Step("p = '1'", (removed, remove("c", "1"), add(new[0], "1"))),
        "rearrangement": Step(
            "p = '1'",
            (
                remove("a", "1", data_change=False),
                remove("c", "1", data_change=False),
                add(new[0], "1", data_change=False),
            ),
            "OPTIMIZE",
        ),
        "metadata": Step(
            None, (metadata(level, **{"delta.logRetentionDuration": f"interval {who} days"}),)
        ),
        "protocol": Step(None, (WIDER, metadata(level)), "UPGRADE PROTOCOL"),
        "transaction": Step(None, (logs.txn("app", 5), add(new[0], "1")), "STREAMING UPDATE"),
        "domain": Step(None, (logs.domain("owner", who),)),
        "removal that read nothing": Step(None, (removed,), "DELETE"),
    }


NAMES = list(steps("x", LEVELS[0]))
ALL = list(product(LEVELS, NAMES, NAMES))
#: The pairs of every run: the current transaction reads everything or nothing. All take minutes.
SOME = [
    ("Serializable", "blind append", "delete"),
    ("Serializable", "append that read all", "append that read all"),
    ("Serializable", "merge", "blind append"),
    ("Serializable", "overwrite", "removal that read nothing"),
    ("Serializable", "protocol", "transaction"),
    ("WriteSerializable", "blind append", "metadata"),
    ("WriteSerializable", "append that read all", "rearrangement"),
    ("WriteSerializable", "merge", "overwrite"),
    ("WriteSerializable", "metadata", "update"),
    ("WriteSerializable", "transaction", "delete elsewhere"),
    ("WriteSerializable", "removal that read nothing", "delete"),
]
PAIRS = ALL if os.environ.get("DELTAREPLAY_SLOW") else SOME


#: Intended differences: we skip a version that the same application has committed.
OURS = {("transaction", "transaction"): ("done", "ConcurrentTransactionException")}
#: Enforces the protocol's rule that new table features stop other writers; off by default.
STRICT = "spark.databricks.delta.conflictChecker.enforceConcurrentFeatureEnablement.enabled"


def begin(root: Path, level: str) -> logs.LogBuilder:
    log = logs.LogBuilder(root)
    log.create(
        logs.schema(id="long", p="string"),
        protocol_action=PROTOCOL,
        partition_columns=["p"],
        configuration={"delta.isolationLevel": level},
    )
    log.commit(logs.commit_info(), add("a", "1"), add("b", "2"), add("c", "1"))
    return log


def win(log: logs.LogBuilder, step: Step) -> None:
    info = logs.commit_info(step.operation, isBlindAppend=step.is_blind, readVersion=1)
    log.commit(info, *step.actions)


def ours(root: Path, level: str, current: str, winner: str) -> str:
    log = begin(root, level)
    step = steps("7", level)[current]
    transaction = dr.Table(root).transaction(step.operation)
    if step.reads is not None:
        transaction.read(None if step.reads == "all" else step.reads)
    for action in step.actions:
        ((kind, body),) = action.items()
        native = transaction.native
        if kind in ("add", "remove"):
            getattr(native, kind)(json.dumps([body]))
        elif kind == "metaData":
            transaction.set_metadata(
                dr.Metadata(
                    id=body["id"],
                    schema_string=body["schemaString"],
                    partition_columns=body["partitionColumns"],
                    configuration=body["configuration"],
                    created_time=body.get("createdTime"),
                )
            )
        elif kind == "protocol":
            fields = ("minReaderVersion", "minWriterVersion", "readerFeatures", "writerFeatures")
            transaction.set_protocol(dr.Protocol(*(body.get(name) for name in fields)))
        elif kind == "txn":
            assert not native.set_transaction(body["appId"], body["version"])
        else:
            native.set_domain(body["domain"], body["configuration"])
    win(log, steps("9", level)[winner])
    try:
        transaction.commit()
    except dr.CommitConflictError as conflict:
        return conflict.conflict
    return "done"


class Reference:
    """delta-spark's own transactions."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self.jvm = spark._jvm
        self.rows = spark.createDataFrame([], "id long, p string")
        manual = "org.apache.spark.sql.delta.DeltaOperations$ManualUpdate$"
        loader = self.jvm.java.lang.Thread.currentThread().getContextClassLoader()
        kind = loader.loadClass(manual)
        self.operation = kind.getField("MODULE$").get(None)

    def sequence(self, values: list[Any]) -> Any:
        result = self.jvm.java.util.ArrayList()
        for value in values:
            result.add(value)
        return self.jvm.org.apache.spark.api.python.PythonUtils.toSeq(result)

    def outcome(self, root: Path, level: str, current: str, winner: str) -> str:
        log = begin(root, level)
        step = steps("7", level)[current]
        delta = self.jvm.org.apache.spark.sql.delta
        delta_log = delta.DeltaLog.forTable(self.spark._jsparkSession, str(root))
        transaction = delta_log.startTransaction()
        if step.reads == "all":
            transaction.filterFiles()
        elif step.reads is not None:
            plan = self.rows.where(step.reads)._jdf.queryExecution().analyzed()
            transaction.filterFiles(self.sequence([plan.condition()]), False)
        actions = [delta.actions.Action.fromJson(json.dumps(action)) for action in step.actions]
        if current == "transaction":
            transaction.txnVersion("app")
        win(log, steps("9", level)[winner])
        try:
            transaction.commit(self.sequence(actions), self.operation)
        except Exception as error:
            return conflict_of(error)
        return "done"


def conflict_of(error: Any) -> str:
    """Return Delta's class of an exception of py4j or PySpark."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    name = str(java.getClass().getSimpleName()) if java is not None else type(error).__name__
    assert name.endswith("Exception"), repr(error)
    return name


@pytest.fixture(scope="module")
def reference(spark: Any) -> Iterator[Reference]:
    spark.conf.set(STRICT, "true")
    yield Reference(spark)
    spark.conf.unset(STRICT)


@pytest.mark.parametrize(("level", "current", "winner"), PAIRS)
def test_conflicts_equal_those_of_delta_spark(
    reference: Reference, tmp_path: Path, level: str, current: str, winner: str
) -> None:
    theirs = reference.outcome(tmp_path / "theirs", level, current, winner)
    result = ours(tmp_path / "ours", level, current, winner)
    assert (result, theirs) == OURS.get((current, winner), (theirs, theirs))


def test_all_pairs_have_every_outcome(tmp_path: Path) -> None:
    result = {
        ours(tmp_path / str(number), level, current, winner)
        for number, (level, current, winner) in enumerate(ALL)
    }
    assert result >= {
        "done",
        "ConcurrentAppendException",
        "ConcurrentDeleteReadException",
        "ConcurrentDeleteDeleteException",
        "MetadataChangedException",
        "ProtocolChangedException",
        "ConcurrentTransactionException",
    }
