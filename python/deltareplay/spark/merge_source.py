"""``MergeSource``: the source of a merge, the same each time it is read."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltareplay.exceptions import InvalidArgumentError
from deltareplay.spark import names, session
from deltareplay.spark.directory import Directory
from deltareplay.spark.schema import Json, fields_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from deltareplay.spark.target_table import TargetTable

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


@dataclass(frozen=True)
class MergeSource:
    """The source, as a merge joins it.

    Attributes:
        frame: The rows, under the alias.
        alias: The alias; None if the rows have their own names.
        fields: Their columns.
    """

    frame: DataFrame
    alias: str | None
    fields: list[Json]

    @classmethod
    def of(cls, frame: DataFrame, alias: str | None) -> MergeSource:
        """Gives the source its name.

        Raises:
            InvalidArgumentError: It has two columns of one name.
        """
        fields = fields_of(frame.schema)
        seen: set[str] = set()
        for one in fields:
            if one["name"].lower() in seen:
                raise InvalidArgumentError(
                    f"the source has two columns {one['name']}: give one of them another name",
                    code="write.columns",
                )
            seen.add(one["name"].lower())
        if alias is None and not _has_alias(frame):
            alias = "source"
        return cls(frame if alias is None else frame.alias(alias), alias, fields)

    @property
    def columns(self) -> dict[str, str]:
        """For each column in small letters the name under which the joined rows have it, too."""
        return {one["name"].lower(): f"{_COLUMN}{at}" for at, one in enumerate(self.fields)}

    @property
    def rows(self) -> DataFrame:
        """The source with ``names.FROM_SOURCE``, and its columns under names of their own, too."""
        return self._marked(self.frame)

    def _marked(self, frame: DataFrame) -> DataFrame:
        from pyspark.sql import functions as sf

        known = {one["name"].lower(): sf.col(names.quoted(one["name"])) for one in self.fields}
        copies = {name: known[own] for own, name in self.columns.items()}
        return frame.withColumns({**copies, names.FROM_SOURCE: sf.lit(True)})

    @contextmanager
    def stable(self, target: TargetTable, root: str | None) -> Iterator[DataFrame]:
        """``rows``, which have the same rows however often they are read.

        A source that may have others is written into a directory of the table until the merge
        ends.
        """
        if _is_stable(self.frame):
            yield self.rows
            return
        spark = self.frame.sparkSession
        directory = Directory(target.table, uuid.uuid4().hex, root)
        try:
            self.frame.write.mode("append").parquet(directory.place)
            kept = spark.read.schema(self.frame.schema).parquet(directory.place)
            yield self._marked(kept.alias(self.alias or _own_alias(self.frame) or "source"))
        finally:
            directory.discard()


_COLUMN = "__deltareplay_source_"


def _has_alias(frame: DataFrame) -> bool:
    """Whether columns can be named by an alias that the frame has."""
    if session.is_classic(frame.sparkSession):
        plan: Any = frame._jdf.queryExecution().analyzed()
        output = plan.output()
        return any(output.apply(at).qualifier().size() for at in range(output.size()))
    return type(_plan(frame)).__name__ in ("SubqueryAlias", "Read")


def _own_alias(frame: DataFrame) -> str | None:
    """The alias at the top of a frame, if there is one."""
    if session.is_classic(frame.sparkSession):
        plan: Any = frame._jdf.queryExecution().analyzed()
        return str(plan.alias()) if plan.nodeName() == "SubqueryAlias" else None
    return getattr(_plan(frame), "_alias", None)


def _plan(frame: DataFrame) -> Any:
    return getattr(frame, "_plan", None)


def _is_stable(frame: DataFrame) -> bool:
    """Whether a frame gives the same rows each time, as its plan shows; Connect has none."""
    if not session.is_classic(frame.sparkSession):
        return False
    plan: Any = frame._jdf.queryExecution().analyzed()
    return _gives_the_same(plan)


def _gives_the_same(plan: Any) -> bool:
    name = plan.nodeName()
    if name not in _STABLE or not plan.deterministic():
        return name == "LogicalRelation" and _is_of_snapshot(plan)
    children = plan.children()
    return all(_gives_the_same(children.apply(at)) for at in range(children.size()))


def _is_of_snapshot(leaf: Any) -> bool:
    """Whether a relation is over the files of a version, which do not change."""
    try:
        return "SnapshotFiles" in leaf.relation().location().getClass().getName()
    except Exception:  # another kind of relation has no location
        return False
