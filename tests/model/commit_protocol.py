"""A model of committing versions: every interleaving of a few writers and faults.

The log is a list of versions, each the commit of one writer. A writer has committed (with the
version), failed, reported that the result is unknown, or is still working. Storage may lose the
response to a put: after its execution, before it, or so that it is executed later, by itself. A
reader checkpoints what it sees; a cleaner deletes old versions.

:func:`explore` visits every reachable state and returns all problems.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from model.visited import visited


@dataclass(frozen=True)
class Rules:
    """The rules for writers and the cleaner; the defaults are those of deltareplay.

    Attributes:
        read_back: After an answer that was lost, the version is read, and not committed again.
        unknown_at_deadline: Who gives up says that it does not know, and not that it failed.
        waits_for_unreadable: An existing version that cannot be read may be the writer's own.
        cleaner_keeps_recent: What a writer may still have to read back stays.
    """

    read_back: bool = True
    unknown_at_deadline: bool = True
    waits_for_unreadable: bool = True
    cleaner_keeps_recent: bool = True


@dataclass(frozen=True)
class Writer:
    """One writer: ``idle``, ``asks`` (a put without a response), or done."""

    phase: str = "idle"
    version: int = -1


@dataclass(frozen=True)
class State:
    """The state of the model.

    Attributes:
        log: Of each version the writer; None once it was cleaned away.
        writers: The writers.
        late: Puts that the storage may still carry out: writer and version.
        faults: How many answers may still be lost.
        checkpoint: The version of the checkpoint.
        counted: Who is in the checkpoint, in order.
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
    return visited(first, lambda state: steps(state, rules), problems)


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
            yield "reported as failed, and there"
        if writer.phase == "committed" and times == 0:
            yield "reported as committed, and lost"


def steps(state: State, rules: Rules) -> Iterator[State]:
    """Yield every possible next state."""
    for number, writer in enumerate(state.writers):
        if writer.phase == "idle":
            yield from put(state, number, len(state.log))
        elif writer.phase == "asks":
            yield from ask(state, number, rules)
    for late in state.late:
        yield apply(replace(state, late=state.late - {late}), *late)
    newest = len(state.log) - 1
    if newest > state.checkpoint:
        added = tuple(item for item in state.log[state.checkpoint + 1 :] if item is not None)
        yield replace(state, checkpoint=newest, counted=state.counted + added)
    yield from clean(state, rules)


def put(state: State, number: int, version: int) -> Iterator[State]:
    """A writer puts its commit, if there is none of this version."""
    taken = version < len(state.log) and state.log[version] is not None
    if taken:
        yield updated(state, number, Writer("asks", version))  # a read will show whose
    else:
        yield updated(apply(state, number, version), number, Writer("committed", version))
    if state.faults:
        fewer = replace(state, faults=state.faults - 1)
        asks = Writer("asks", version)
        yield updated(apply(fewer, number, version), number, asks)  # executed, the response is lost
        yield updated(fewer, number, asks)  # never arrived
        late = fewer.late | {(number, version)}
        yield updated(replace(fewer, late=late), number, asks)  # executed later


def apply(state: State, number: int, version: int) -> State:
    """The storage executes a put, unless the version exists."""
    if version == len(state.log):
        return replace(state, log=(*state.log, number))
    if version < len(state.log) and state.log[version] is None and version > 0:
        log = (*state.log[:version], number, *state.log[version + 1 :])
        return replace(state, log=log)
    return state


def ask(state: State, number: int, rules: Rules) -> Iterator[State]:
    """A writer without a response determines the result of its put."""
    version = state.writers[number].version
    idle = updated(state, number, Writer())
    if not rules.read_back:
        yield idle  # takes it for a failure, and commits again
        return
    result = state.log[version] if version < len(state.log) else None
    if result == number:
        yield updated(state, number, Writer("committed", version))
    elif result is not None:
        yield idle  # a lost race: the next version
    else:
        if version >= len(state.log):
            yield from put(state, number, version)  # the same bytes, to the same path
        given_up = "unknown" if rules.unknown_at_deadline else "failed"
        yield updated(state, number, Writer(given_up, version))
    if not rules.waits_for_unreadable and result is not None and state.faults:
        # the existing commit cannot be read, and is taken for another's
        yield replace(idle, faults=state.faults - 1)


def clean(state: State, rules: Rules) -> Iterator[State]:
    """The cleaner deletes what the checkpoint covers."""
    for version in range(1, state.checkpoint):
        if state.log[version] is None:
            continue
        requested = any(
            writer.phase == "asks" and writer.version <= version for writer in state.writers
        )
        if rules.cleaner_keeps_recent and (requested or state.late):
            continue
        log = (*state.log[:version], None, *state.log[version + 1 :])
        yield replace(state, log=log)


def updated(state: State, number: int, writer: Writer) -> State:
    """Return the state with a writer in another phase."""
    return replace(state, writers=(*state.writers[:number], writer, *state.writers[number + 1 :]))
