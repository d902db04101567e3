"""The source of a merge, made repeatable."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltareplay._names import parts_of
from deltareplay._protocol.schema import Field
from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark.scan import hidden_columns
from deltareplay.spark.schema.fields import fields_of
from deltareplay.spark.session import capabilities, internals
from deltareplay.spark.storage.hadoop_path import exactly
from deltareplay.spark.storage.staging_directory import Directory
from deltareplay.spark.syntax import names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from deltareplay.spark.writing.target_table import TargetTable

#: Nodes of a plan that give the same rows of the same input each time. A limit does not, nor does a
#: window, or an aggregate of floating-point numbers: they depend on the order of rows.
_STABLE = (
    "Filter",
    "Join",
    "LocalRelation",
    "OneRowRelation",
    "Project",
    "Range",
    "SubqueryAlias",
    "Union",
    "View",
)

#: Patterns of expressions that may give others each time, even if they count as deterministic.
_UNSTABLE = ("CURRENT_LIKE", "PYTHON_UDF", "SCALA_UDF")

#: Settings under which every date and timestamp is kept as it is.
_EXACT = {
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
}


@dataclass(frozen=True)
class MergeSource:
    """The source of a merge.

    Attributes:
        frame: The rows, under the alias.
        alias: The alias; None if the columns have several.
        fields: The columns.
    """

    frame: DataFrame
    alias: str | None
    fields: list[Field]

    @classmethod
    def of(cls, frame: DataFrame, alias: str | None) -> MergeSource:
        """Determine the alias of the source, and check its columns.

        Raises:
            InvalidArgumentError: Two columns have the same name.
        """
        fields = fields_of(frame.schema)
        seen: set[str] = set()
        for field in fields:
            if field.key in seen:
                raise InvalidArgumentError(
                    f"the source has two columns {field.name}: rename one of them",
                    code="write.columns",
                )
            seen.add(field.key)
        if alias is None:
            own = _aliases(frame)
            alias = next(iter(own)) if len(own) == 1 else None
            if own and _is_stable(frame):
                return cls(frame, alias, fields)
            alias = alias or "source"  # a stored copy needs an alias
        return cls(frame.alias(alias), alias, fields)

    @property
    def columns(self) -> list[tuple[Field, str]]:
        """The columns, each with the name of its copy in joined rows."""
        return [(field, f"{_COLUMN}{at}") for at, field in enumerate(self.fields)]

    @property
    def rows(self) -> DataFrame:
        """The source with ``names.FROM_SOURCE`` and copies of its columns."""
        return self._marked(self.frame)

    def _marked(self, frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as sf

        copies = {copy: sf.col(names.quoted(field.name)) for field, copy in self.columns}
        return frame.withColumns({**copies, hidden_columns.FROM_SOURCE: sf.lit(True)})

    @contextmanager
    def stable(self, target: TargetTable, root: str | None) -> Iterator[DataFrame]:
        """Provide ``rows`` such that they are the same however often they are read.

        A source that is not repeatable is written into a directory of the table until the merge
        ends.
        """
        if _is_stable(self.frame):
            yield self.rows
            return
        spark = self.frame.sparkSession
        directory = Directory(spark, target.table, uuid.uuid4().hex, root)
        try:
            frame = self.frame
            if capabilities.is_classic(spark) or hasattr(spark, "cloneSession"):
                frame = capabilities.in_own_session(frame, _EXACT)
            writer = frame.write.mode("append")
            # VACUUM would not take the mark
            writer = writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
            options = directory.opened_by.options_for(spark)
            writer.options(**options).parquet(directory.path)
            reader = spark.read.options(**options).schema(self.frame.schema)
            kept = reader.parquet(exactly(directory.path))
            yield self._marked(kept.alias(self.alias or "source"))
        finally:
            directory.discard()


_COLUMN = f"{hidden_columns.OWN}source_"


def _aliases(frame: DataFrame) -> set[str]:
    """Return the qualifiers of a frame's columns."""
    if capabilities.is_classic(frame.sparkSession):
        plan = internals.analyzed_plan(frame)
        output = plan.output()
        paths = [output.apply(at).qualifier() for at in range(output.size())]
        return {str(path.last()) for path in paths if path.size()}
    return _aliases_in(internals.connect_plan(frame))


def _aliases_in(plan: Any) -> set[str]:
    """Return the qualifiers of a Connect plan's columns; projections keep those of their input."""
    while plan is not None:
        kind = type(plan).__name__
        if kind == "SubqueryAlias":
            return {internals.alias(plan)}
        if kind == "Read":
            return {*parts_of(str(plan.table_name))[-1:]}
        if kind == "Join":
            return _aliases_in(plan.left) | _aliases_in(plan.right)
        plan = internals.child(plan)
    return set()


def _is_stable(frame: DataFrame) -> bool:
    """Return whether the plan of a frame is repeatable; Connect has no plan to inspect."""
    if not capabilities.is_classic(frame.sparkSession):
        return False
    plan = internals.analyzed_plan(frame)
    trees = internals.jvm(frame.sparkSession).org.apache.spark.sql.catalyst.trees
    # the current time is that of each query; UDFs are what their authors say they are
    unstable = [getattr(trees.TreePattern, pattern)() for pattern in _UNSTABLE]
    return not any(map(plan.containsPattern, unstable)) and _gives_the_same(plan)


def _gives_the_same(plan: Any) -> bool:
    name = plan.nodeName()
    if name not in _STABLE or not plan.deterministic():
        return name == "LogicalRelation" and _is_of_snapshot(plan)
    children = plan.children()
    return all(_gives_the_same(children.apply(at)) for at in range(children.size()))


def _is_of_snapshot(leaf: Any) -> bool:
    """Return whether a relation reads the files of a version, which do not change."""
    try:
        return "SnapshotFiles" in leaf.relation().location().getClass().getName()
    except Exception:  # another kind of relation has no location
        return False
