"""A model of how versions are committed: every interleaving of few writers and few faults.

The log is a list of versions, each the commit of one writer. A writer has committed (with the
version), failed, told its caller that it does not know, or is still at it. Storage may lose the
answer to a put: after it was carried out, before it was, or so that it is carried out later, by
itself. A reader checkpoints what it sees; a cleaner takes old versions away.

:func:`explore` visits every state that can be reached and says what is wrong with any of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from model.visited import visited


@dataclass(frozen=True)
class Rules:
    """What writers and the cleaner do; as it stands, what deltareplay does.

    Attributes:
        read_back: After an answer that was lost, the version is read, and not committed again.
        unknown_at_deadline: Who gives up says that it does not know, and not that it failed.
        waits_for_unreadable: A version that is there and cannot be read may be the writer's own.
        cleaner_keeps_recent: What a writer may still have to read back stays.
    """

    read_back: bool = True
    unknown_at_deadline: bool = True
    waits_for_unreadable: bool = True
    cleaner_keeps_recent: bool = True


@dataclass(frozen=True)
class Writer:
    """One writer: ``idle``, ``asks`` (a put has been answered by nobody), or done."""

    phase: str = "idle"
    version: int = -1


@dataclass(frozen=True)
class State:
    """Everything there is.

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
    """How many states there are, and each kind of thing that is wrong."""
    first = State(writers=(Writer(),) * writers, faults=faults)
    return visited(first, lambda state: steps(state, rules), problems)


def problems(state: State) -> Iterator[str]:
    """What must never be."""
    everything = [
        *state.counted,
        *(one for one in state.log[state.checkpoint + 1 :] if one is not None),
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
    """Every state that may come next."""
    for number, writer in enumerate(state.writers):
        if writer.phase == "idle":
            yield from put(state, number, len(state.log))
        elif writer.phase == "asks":
            yield from ask(state, number, rules)
    for late in state.late:
        yield apply(replace(state, late=state.late - {late}), *late)
    newest = len(state.log) - 1
    if newest > state.checkpoint:
        added = tuple(one for one in state.log[state.checkpoint + 1 :] if one is not None)
        yield replace(state, checkpoint=newest, counted=state.counted + added)
    yield from clean(state, rules)


def put(state: State, number: int, version: int) -> Iterator[State]:
    """A writer puts its commit, if there is none of this version."""
    taken = version < len(state.log) and state.log[version] is not None
    if taken:
        yield told(state, number, Writer("asks", version))  # by whom, a read will tell
    else:
        yield told(apply(state, number, version), number, Writer("committed", version))
    if state.faults:
        fewer = replace(state, faults=state.faults - 1)
        asks = Writer("asks", version)
        yield told(apply(fewer, number, version), number, asks)  # carried out, the answer is lost
        yield told(fewer, number, asks)  # never arrived
        late = fewer.late | {(number, version)}
        yield told(replace(fewer, late=late), number, asks)  # carried out later


def apply(state: State, number: int, version: int) -> State:
    """The storage carries a put out, unless the version is there."""
    if version == len(state.log):
        return replace(state, log=(*state.log, number))
    if version < len(state.log) and state.log[version] is None and version > 0:
        log = (*state.log[:version], number, *state.log[version + 1 :])
        return replace(state, log=log)
    return state


def ask(state: State, number: int, rules: Rules) -> Iterator[State]:
    """A writer that was not answered finds out what became of its put."""
    version = state.writers[number].version
    idle = told(state, number, Writer())
    if not rules.read_back:
        yield idle  # takes it for a failure, and commits again
        return
    found = state.log[version] if version < len(state.log) else None
    if found == number:
        yield told(state, number, Writer("committed", version))
    elif found is not None:
        yield idle  # a lost race: the next version
    else:
        if version >= len(state.log):
            yield from put(state, number, version)  # the same bytes, to the same place
        given_up = "unknown" if rules.unknown_at_deadline else "failed"
        yield told(state, number, Writer(given_up, version))
    if not rules.waits_for_unreadable and found is not None and state.faults:
        # what is there cannot be read, and is taken for another's
        yield replace(idle, faults=state.faults - 1)


def clean(state: State, rules: Rules) -> Iterator[State]:
    """The cleaner takes away what the checkpoint covers."""
    for version in range(1, state.checkpoint):
        if state.log[version] is None:
            continue
        asked = any(one.phase == "asks" and one.version <= version for one in state.writers)
        if rules.cleaner_keeps_recent and (asked or state.late):
            continue
        log = (*state.log[:version], None, *state.log[version + 1 :])
        yield replace(state, log=log)


def told(state: State, number: int, writer: Writer) -> State:
    """The state with a writer in another phase."""
    return replace(state, writers=(*state.writers[:number], writer, *state.writers[number + 1 :]))
