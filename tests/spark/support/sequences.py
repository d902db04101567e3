"""Random sequences of statements that both our engine and delta-spark's support."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltareplay as dr
from deltareplay import spark as dr_spark


@dataclass(frozen=True)
class Engine:
    """An engine that runs statements on one table."""

    spark: Any
    path: Path

    @property
    def name(self) -> str:
        """Return the name of the table in statements."""
        return f"delta.`{self.path}`"


class Ours(Engine):
    """Statements of ``deltareplay.spark``."""

    def sql(self, text: str) -> None:
        dr_spark.sql(self.spark, text).collect()

    def table(self) -> Any:
        return dr_spark.DeltaTable.forPath(self.spark, str(self.path))

    def write(self, rows: Any, **options: str) -> None:
        arguments = {
            "mode": options["mode"],
            "where": options.get("replaceWhere"),
            "partition_overwrite": options.get("partitionOverwriteMode", "static"),
        }
        dr_spark.write(rows, self.path, **arguments)

    def set_property(self, name: str, value: str) -> None:
        dr.Table(self.path).set_properties({name: value})


class Theirs(Engine):
    """Statements of delta-spark."""

    def sql(self, text: str) -> None:
        self.spark.sql(text).collect()

    def table(self) -> Any:
        from delta.tables import DeltaTable

        return DeltaTable.forPath(self.spark, str(self.path))

    def write(self, rows: Any, **options: str) -> None:
        writer = rows.write.format("delta").mode(options.pop("mode"))
        writer.options(**options).save(str(self.path))

    def set_property(self, name: str, value: str) -> None:
        self.sql(f"ALTER TABLE {self.name} SET TBLPROPERTIES ('{name}' = '{value}')")


@dataclass(frozen=True)
class Step:
    """A statement.

    Attributes:
        description: The statement, for messages.
        run: Runs it on an engine.
        is_layout: Whether it only rewrites files, which may differ between both tables.
    """

    description: str
    run: Callable[[Any], None]
    is_layout: bool = False


#: The columns whose values can be set, and the values; ``{t}`` is the table's alias with a dot.
VALUES: dict[str, list[str]] = {
    "k": ["{t}k + 1", "NULL", "{t}id % 7", "coalesce({t}k, 0) - 3", "length({t}v)"],
    "v": ["concat({t}v, '!')", "'x'", "NULL", "upper({t}v)", "cast({t}id AS STRING)"],
    "s": ["named_struct('a', {t}id + 1, 'b', 5)", "NULL"],
    "s.a": ["{t}s.a * 2", "NULL", "{t}id"],
    "s.b": ["{t}s.b + 1", "7"],
    "d": ["{t}d + 1.5", "NULL", "1"],
    "p": ["({t}p + 1) % 4", "NULL", "1", "{t}id % 3"],
    "l": ["array(named_struct('y', 'z', 'x', {t}id))", "NULL", "slice({t}l, 1, 1)"],
    "m": ["map('k', {t}id)", "NULL", "map_concat({t}m, map('new', 1L))"],
}
FEED = "delta.enableChangeDataFeed"
PROPERTIES = ("delta.enableDeletionVectors", FEED)


def rows(spark: Any, start: int, end: int, salt: int) -> Any:
    """Return rows with ids from ``start`` to before ``end``; another ``salt`` gives other rows."""
    return spark.range(start, end, 1, 1).selectExpr(
        "id",
        f"CAST(nullif((id + {salt}) % 10, 3) AS INT) AS k",
        f"nullif(concat('v', id % {5 + salt % 7}), 'v2') AS v",
        f"IF(id % 11 = 4, NULL, named_struct('a', id * {salt}, 'b', CAST(id % 4 AS INT))) AS s",
        f"CAST(id * 0.25 + {salt} AS DECIMAL(10, 2)) AS d",
        f"CAST(nullif((id + {salt}) % 4, 2) AS INT) AS p",
        f"IF(id % 9 = 5, NULL, array(named_struct('x', id, 'y', 'l'), named_struct('x', {salt}L, "
        "'y', NULL))) AS l",
        f"map('a', id + {salt}, 'b', NULL) AS m",
    )


class Sequence:
    """A table's features and statements on it, determined by a seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.next_id = 120
        self.version = 0
        self.extra = 0
        choice = self.chance.choice
        self.properties = {
            name: str(self.chance.random() < 0.6).lower()
            for name in (*PROPERTIES, "delta.enableRowTracking")
        }
        mode = choice(["none", "none", "name", "id"])
        if mode != "none":
            self.properties["delta.columnMapping.mode"] = mode
        self.had_feed = self.properties[FEED] == "true"
        self.partitions = choice([["p"], []])

    def create(self, spark: Any, path: Path) -> None:
        """Write the table's first rows, by delta-spark."""
        writer = rows(spark, 0, 120, 1).repartition(3, "k").write.format("delta")
        first = dict(self.properties)
        # delta-spark cannot create a table with both column mapping and a change feed by a write
        feed = first.pop(FEED) if "delta.columnMapping.mode" in first else "false"
        writer.options(**first).partitionBy(*self.partitions).save(str(path))
        if feed == "true":
            Theirs(spark, path).set_property(FEED, feed)

    def steps(self) -> Iterator[Step]:
        """Yield statements without end."""
        kinds = {
            self._delete: 4,
            self._update: 4,
            self._merge: 6,
            self._append: 1,
            self._overwrite: 2,
            self._optimize: 1,
            self._purge: 1,
            self._restore: 1,
            self._set: 1,
        }
        while True:
            [kind] = self.chance.choices(list(kinds), list(kinds.values()))
            yield kind()

    def _condition(self, t: str = "") -> str:
        number = self.chance.randrange
        return self.chance.choice(
            [
                f"{t}id % {number(2, 9)} = {number(3)}",
                f"{t}id < {number(self.next_id)}",
                f"{t}id BETWEEN {(low := number(self.next_id))} AND {low + number(40)}",
                f"{t}k = {number(10)}",
                f"{t}k > {number(10)} AND {t}p = {number(4)}",
                f"{t}p = {number(4)}",
                f"{t}p IN ({number(4)}, {number(4)})",
                f"{t}p IS NULL",
                f"{t}k IS NULL OR {t}id = {number(self.next_id)}",
                f"{t}v LIKE '%{number(5)}'",
                f"{t}s.a > {number(200)}",
                f"{t}s IS NULL",
                f"{t}d >= {number(30)}.25",
                f"NOT ({t}k < {number(10)})",
                f"{t}k <=> {t}p",
                "1 = 0",
            ]
        )

    def _values(self, t: str) -> dict[str, str]:
        names = self.chance.sample(list(VALUES), self.chance.randint(1, 3))
        if "s" in names:
            names = [name for name in names if not name.startswith("s.")]
        return {name: self.chance.choice(VALUES[name]).replace("{t}", t) for name in names}

    def _delete(self) -> Step:
        where = self._condition() if self.chance.random() < 0.95 else None
        if self.chance.random() < 0.5:
            return Step(f"delete({where!r})", lambda engine: engine.table().delete(where))
        text = "" if where is None else f" WHERE {where}"
        return Step(f"DELETE{text}", lambda engine: engine.sql(f"DELETE FROM {engine.name}{text}"))

    def _update(self) -> Step:
        where = self._condition() if self.chance.random() < 0.9 else None
        values = self._values("")
        if self.chance.random() < 0.5:
            description = f"update({where!r}, {values})"
            return Step(description, lambda engine: engine.table().update(where, values))
        text = " SET " + ", ".join(f"{name} = {value}" for name, value in values.items())
        text += "" if where is None else f" WHERE {where}"
        return Step(f"UPDATE{text}", lambda engine: engine.sql(f"UPDATE {engine.name}{text}"))

    def _append(self) -> Step:
        start, end = self._fresh()
        salt = self.chance.randrange(20)
        return Step(
            f"append {start}-{end} {salt}",
            lambda engine: engine.write(rows(engine.spark, start, end, salt), mode="append"),
        )

    def _fresh(self) -> tuple[int, int]:
        start = self.next_id
        self.next_id += self.chance.randint(1, 40)
        return start, self.next_id

    def _overwrite(self) -> Step:
        start, end = self._fresh()
        salt = self.chance.randrange(20)
        options = {"mode": "overwrite"}
        if self.partitions and self.chance.random() < 0.3:
            options["partitionOverwriteMode"] = "dynamic"
        else:
            options["replaceWhere"] = where = self._condition()

        def run(engine: Any) -> None:
            new = rows(engine.spark, start, end, salt)
            if "replaceWhere" in options:
                new = new.where(where)
            engine.write(new, **options)

        return Step(f"overwrite {start}-{end} {salt} {options}", run)

    def _optimize(self) -> Step:
        chosen = self.chance.choice(["", " ZORDER BY (k)"])
        return Step(
            f"OPTIMIZE{chosen}",
            lambda engine: engine.sql(f"OPTIMIZE {engine.name}{chosen}"),
            is_layout=True,
        )

    def _purge(self) -> Step:
        if self.had_feed:  # delta-spark rewrites files whose `_change_type` is always null
            return self._optimize()
        return Step(
            "REORG",
            lambda engine: engine.sql(f"REORG TABLE {engine.name} APPLY (PURGE)"),
            is_layout=True,
        )

    def _restore(self) -> Step:
        back = self.chance.randint(0, 3)

        def run(engine: Any) -> None:
            version = max(0, dr.Table(engine.path).snapshot().version - back)
            engine.sql(f"RESTORE TABLE {engine.name} TO VERSION AS OF {version}")

        return Step(f"RESTORE {back} versions", run)

    def _set(self) -> Step:
        name = self.chance.choice(PROPERTIES)
        value = self.chance.choice(["true", "false"])
        self.had_feed |= name == FEED and value == "true"
        return Step(f"{name} = {value}", lambda engine: engine.set_property(name, value))

    def _merge(self) -> Step:
        chance = self.chance
        low = chance.randrange(self.next_id)
        high, salt = low + chance.randint(1, 60), chance.randrange(20)
        self.next_id = max(self.next_id, high)
        is_doubled, evolves = chance.random() < 0.1, chance.random() < 0.1
        on = "t.id = s.id"
        if chance.random() < 0.4:
            on += " AND " + self._condition(chance.choice(["t.", "s."]))
        clauses = self._clauses()
        is_sql = chance.random() < 0.5
        if evolves:
            self.extra += 1
        column = f"extra{self.extra}"

        def source(spark: Any) -> Any:
            result = rows(spark, low, high, salt)
            if is_doubled:
                result = result.union(result.limit(2))
            return result.withColumn(column, result["id"] * 3) if evolves else result

        text = f"MERGE {'WITH SCHEMA EVOLUTION ' if evolves else ''}INTO {{t}} t USING {{s}} s"
        text += f" ON {on} {' '.join(map(_clause_sql, clauses))}"

        def run(engine: Any) -> None:
            if is_sql:
                source(engine.spark).createOrReplaceTempView("sequence_source")
                engine.sql(text.format(t=engine.name, s="sequence_source"))
                return
            merge = engine.table().alias("t").merge(source(engine.spark).alias("s"), on)
            if evolves:
                merge = merge.withSchemaEvolution()
            for clause in clauses:
                merge = _clause_added(merge, clause)
            merge.execute()

        source_rows = f"{low}-{high} {salt}{' doubled' if is_doubled else ''}"
        return Step(f"{'' if is_sql else '(DeltaTable) '}{text} of {source_rows}", run)

    def _clauses(self) -> list[Clause]:
        clauses: list[Clause] = []
        while not clauses:
            for kind in ("matched", "not matched", "not matched by source"):
                for later in reversed(range(self.chance.choice([0, 1, 1, 2]))):
                    clauses.append(self._clause(kind, has_condition=later > 0))
        return clauses

    def _clause(self, kind: str, *, has_condition: bool) -> Clause:
        chance = self.chance
        by_source = kind == "not matched by source"
        sides = {"matched": ["t.", "s."], "not matched": ["s."]}.get(kind, ["t."])
        condition = None
        if has_condition or chance.random() < 0.4 or by_source:
            condition = self._condition(chance.choice(sides))
        values: dict[str, str] | None = None
        if kind == "not matched":
            if chance.random() < 0.5:
                values = {"id": "s.id", **self._values("s.")}
                values = {name: value for name, value in values.items() if "." not in name}
            return Clause(kind, "insert", condition, values)
        if chance.random() < 0.35:
            return Clause(kind, "delete", condition, None)
        if by_source or chance.random() < 0.6:
            values = self._values(chance.choice(sides))
        return Clause(kind, "update", condition, values)


@dataclass(frozen=True)
class Clause:
    """A clause of MERGE.

    Attributes:
        kind: ``matched``, ``not matched`` or ``not matched by source``.
        then: ``insert``, ``update`` or ``delete``.
        condition: None selects all rows of the kind.
        values: None sets every column from the source.
    """

    kind: str
    then: str
    condition: str | None
    values: dict[str, str] | None


def _clause_sql(clause: Clause) -> str:
    text = f"WHEN {clause.kind.upper()}"
    if clause.condition is not None:
        text += f" AND {clause.condition}"
    values = clause.values
    if clause.then == "delete":
        return f"{text} THEN DELETE"
    if clause.then == "update":
        set_ = "*" if values is None else ", ".join(f"{n} = {v}" for n, v in values.items())
        return f"{text} THEN UPDATE SET {set_}"
    if values is None:
        return f"{text} THEN INSERT *"
    return f"{text} THEN INSERT ({', '.join(values)}) VALUES ({', '.join(values.values())})"


def _clause_added(merge: Any, clause: Clause) -> Any:
    condition, values = clause.condition, clause.values
    if clause.kind == "not matched by source":
        if clause.then == "delete":
            return merge.whenNotMatchedBySourceDelete(condition)
        return merge.whenNotMatchedBySourceUpdate(condition, values)
    if clause.kind == "not matched":
        if values is None:
            return merge.whenNotMatchedInsertAll(condition)
        return merge.whenNotMatchedInsert(condition, values)
    if clause.then == "delete":
        return merge.whenMatchedDelete(condition)
    if values is None:
        return merge.whenMatchedUpdateAll(condition)
    return merge.whenMatchedUpdate(condition, values)
