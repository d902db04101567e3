"""A model of committing versions: every interleaving of a few writers and faults.

The log is a list of versions, each the commit of one writer. A writer has committed (with the
version), failed, reported that the result is unknown, or is still working. The response to a put
may be lost: the storage has executed the put, never executes it, or executes it later. A process
writes checkpoints; a cleaner deletes old versions.

:func:`explore` visits every reachable state and returns each kind of problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from model.states import check_states


@dataclass(frozen=True)
class Rules:
    """The rules for writers and the cleaner; the defaults are those of deltareplay.

    Attributes:
        read_back: A writer without a response reads the version before it commits again.
        unknown_at_deadline: A writer that gives up reports an unknown result, not a failure.
        waits_for_unreadable: A writer retries to read an existing version, which may be its own.
        cleaner_keeps_recent: The cleaner keeps versions that a writer may still have to read.
    """

    read_back: bool = True
    unknown_at_deadline: bool = True
    waits_for_unreadable: bool = True
    cleaner_keeps_recent: bool = True


@dataclass(frozen=True)
class Writer:
    """One writer: ``idle``, ``pending`` (the result of its put is not known), or its result."""

    phase: str = "idle"
    version: int = -1


@dataclass(frozen=True)
class State:
    """The state of the model.

    Attributes:
        log: The writer of each version; None once the cleaner has deleted it.
        writers: The writers.
        late: Puts that the storage may still execute: writer and version.
        faults: How many responses or reads may still be lost.
        checkpoint: The version of the checkpoint.
        counted: The writers whose commits are in the checkpoint, in order.
    """

    log: tuple[int | None, ...] = (None,)
    writers: tuple[Writer, ...] = ()
    late: frozenset[tuple[int, int]] = frozenset()
    faults: int = 0
    checkpoint: int = 0
    counted: tuple[int, ...] = ()


def explore(writers: int, faults: int, rules: Rules) -> tuple[int, list[str]]:
    """Return the number of states, and each kind of problem."""
    first = State(writers=(Writer(),) * writers, faults=faults)
    return check_states(first, lambda state: steps(state, rules), problems)


def problems(state: State) -> Iterator[str]:
    """Yield the violated invariants."""
    everything = [
        *state.counted,
        *(item for item in state.log[state.checkpoint + 1 :] if item is not None),
    ]
    for number, writer in enumerate(state.writers):
        times = everything.count(number)
        if times > 1:
            yield "committed twice"
        if writer.phase == "failed" and times:
            yield "reported as failed, and committed"
        if writer.phase == "committed" and times == 0:
            yield "reported as committed, and lost"


def steps(state: State, rules: Rules) -> Iterator[State]:
    """Yield every possible next state."""
    for number, writer in enumerate(state.writers):
        if writer.phase == "idle":
            yield from put(state, number, len(state.log))
        elif writer.phase == "pending":
            yield from resolve(state, number, rules)
    for late in state.late:
        yield apply(replace(state, late=state.late - {late}), *late)
    newest = len(state.log) - 1
    if newest > state.checkpoint:
        added = tuple(item for item in state.log[state.checkpoint + 1 :] if item is not None)
        yield replace(state, checkpoint=newest, counted=state.counted + added)
    yield from clean(state, rules)


def put(state: State, number: int, version: int) -> Iterator[State]:
    """A writer puts its commit, unless the version exists."""
    taken = version < len(state.log) and state.log[version] is not None
    if taken:
        # it reads whose commit this is
        yield with_writer(state, number, Writer("pending", version))
    else:
        yield with_writer(apply(state, number, version), number, Writer("committed", version))
    if state.faults:
        fewer = replace(state, faults=state.faults - 1)
        pending = Writer("pending", version)
        yield with_writer(apply(fewer, number, version), number, pending)  # the response is lost
        yield with_writer(fewer, number, pending)  # the request is lost
        late = fewer.late | {(number, version)}
        yield with_writer(replace(fewer, late=late), number, pending)  # the request is late


def apply(state: State, number: int, version: int) -> State:
    """The storage executes a put, unless the version exists."""
    if version == len(state.log):
        return replace(state, log=(*state.log, number))
    if version < len(state.log) and state.log[version] is None and version > 0:
        log = (*state.log[:version], number, *state.log[version + 1 :])
        return replace(state, log=log)
    return state


def resolve(state: State, number: int, rules: Rules) -> Iterator[State]:
    """A writer without a response determines the result of its put."""
    version = state.writers[number].version
    idle = with_writer(state, number, Writer())
    if not rules.read_back:
        yield idle  # treats it as a failure, and commits again
        return
    result = state.log[version] if version < len(state.log) else None
    if result == number:
        yield with_writer(state, number, Writer("committed", version))
    elif result is not None:
        yield idle  # a lost race: the next version
    else:
        if version >= len(state.log):
            yield from put(state, number, version)  # the same bytes, to the same path
        given_up = "unknown" if rules.unknown_at_deadline else "failed"
        yield with_writer(state, number, Writer(given_up, version))
    if not rules.waits_for_unreadable and result is not None and state.faults:
        # the existing commit cannot be read, and is treated as another writer's
        yield replace(idle, faults=state.faults - 1)


def clean(state: State, rules: Rules) -> Iterator[State]:
    """The cleaner deletes a version before the checkpoint."""
    for version in range(1, state.checkpoint):
        if state.log[version] is None:
            continue
        requested = any(
            writer.phase == "pending" and writer.version <= version for writer in state.writers
        )
        if rules.cleaner_keeps_recent and (requested or state.late):
            continue
        log = (*state.log[:version], None, *state.log[version + 1 :])
        yield replace(state, log=log)


def with_writer(state: State, number: int, writer: Writer) -> State:
    """Return the state with one writer replaced."""
    return replace(state, writers=(*state.writers[:number], writer, *state.writers[number + 1 :]))
