"""A model of committing versions through a catalog: writers, publishers, readers, faults.

The catalog ratifies version after version. Writers stage a file and request ratification; the
request or its response may be lost, or the request arrives late. Publishers, any of which may stop
at any point, copy ratified commits into the log and report that to the catalog, which then forgets
these commits. A reader queries the catalog and lists the log, one after the other.

:func:`explore` visits every reachable state and returns each kind of problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from model.states import check_states


@dataclass(frozen=True)
class Rules:
    """The rules for all participants; the defaults are those of deltareplay.

    Attributes:
        same_name: A request without a response is repeated with the same file.
        queries_first: A writer without a response queries the catalog before it starts again.
        in_order: A version is published after the previous one.
        catalog_first: A reader queries the catalog before it lists the log.
        lists_again: A reader that lists first and finds a gap lists the log again.
        ignores_later: A reader ignores published versions after the catalog's newest version.
    """

    same_name: bool = True
    queries_first: bool = True
    in_order: bool = True
    catalog_first: bool = True
    lists_again: bool = True
    ignores_later: bool = True


class File(NamedTuple):
    """A staged file.

    Attributes:
        version: The version that it shall become.
        writer: The number of its writer; -1 for the first version.
        name: How often the writer has chosen a new name before, for any of its files.
    """

    version: int
    writer: int
    name: int


#: The file of a writer that has not staged any.
NO_FILE = File(-1, -1, 0)


@dataclass(frozen=True)
class Writer:
    """One writer.

    Attributes:
        phase: ``idle``, ``pending`` (it does not know yet which file was ratified) or
            ``committed``.
        file: Its last staged file.
    """

    phase: str = "idle"
    file: File = NO_FILE


@dataclass(frozen=True)
class State:
    """The state of the model.

    Attributes:
        ratified: The file of each version; the first version has no writer.
        published: Versions that are in the log.
        forgotten: The catalog has forgotten the commits up to this version.
        writers: The writers.
        faults: How many requests or responses may still be lost or late.
        late: Files of requests that may still arrive.
        known: The result of a reader's first step: the newest version and the versions of the
            catalog's commits, or -1 and the published versions.
        wrong_reads: Problems that readers have found.
    """

    ratified: tuple[File, ...] = (File(0, -1, 0),)
    published: frozenset[int] = frozenset({0})
    forgotten: int = 0
    writers: tuple[Writer, ...] = ()
    faults: int = 0
    late: frozenset[File] = frozenset()
    known: tuple[int, frozenset[int]] | None = None
    wrong_reads: frozenset[str] = frozenset()


def explore(writers: int, faults: int, rules: Rules) -> tuple[int, list[str]]:
    """Return the number of states, and each kind of problem."""
    first = State(writers=(Writer(),) * writers, faults=faults)
    return check_states(first, lambda state: steps(state, rules), problems)


def problems(state: State) -> Iterator[str]:
    """Yield the violated invariants."""
    authors = [file.writer for file in state.ratified]
    for number, writer in enumerate(state.writers):
        if authors.count(number) > 1:
            yield "committed twice"
        if writer.phase == "committed" and authors.count(number) == 0:
            yield "reported as committed, and lost"
    yield from state.wrong_reads


def steps(state: State, rules: Rules) -> Iterator[State]:
    """Yield every possible next state."""
    for number, writer in enumerate(state.writers):
        if writer.phase == "idle":
            file = File(len(state.ratified), number, writer.file.name)
            yield from request(state, number, file)
        elif writer.phase == "pending":
            yield from resolve(state, number, rules)
    for late in state.late:
        yield ratify(replace(state, late=state.late - {late}), late)[1]
    yield from publish(state, rules)
    yield from read(state, rules)


def request(state: State, number: int, file: File) -> Iterator[State]:
    """A writer requests the ratification of a staged file."""
    is_ratified, after = ratify(state, file)
    # a refused writer queries the ratified commits, like one without a response
    phase = "committed" if is_ratified else "pending"
    yield with_writer(after, number, Writer(phase, file))
    if state.faults:
        fewer = replace(state, faults=state.faults - 1)
        pending = Writer("pending", file)
        yield with_writer(ratify(fewer, file)[1], number, pending)  # the response is lost
        yield with_writer(fewer, number, pending)  # the request is lost
        late = replace(fewer, late=fewer.late | {file})
        yield with_writer(late, number, pending)  # the request is late


def ratify(state: State, file: File) -> tuple[bool, State]:
    """The catalog ratifies a file if no other file is its version; return whether it did."""
    if file.version < len(state.ratified):
        return state.ratified[file.version] == file, state
    return True, replace(state, ratified=(*state.ratified, file))


def resolve(state: State, number: int, rules: Rules) -> Iterator[State]:
    """A writer without a response queries the catalog, or repeats the request."""
    file = state.writers[number].file
    if not rules.queries_first:  # it treats a missing response as a refusal
        yield with_writer(state, number, Writer("idle", NO_FILE._replace(name=file.name)))
    elif file.version < len(state.ratified):
        phase = "committed" if state.ratified[file.version] == file else "idle"
        yield with_writer(state, number, Writer(phase, file))
    else:
        name = file.name if rules.same_name else file.name + 1
        yield from request(state, number, file._replace(name=name))


def publish(state: State, rules: Rules) -> Iterator[State]:
    """Any process copies a ratified commit into the log, or reports the published version."""
    for version in range(1, len(state.ratified)):
        ready = version - 1 in state.published or not rules.in_order
        if version not in state.published and ready:
            yield replace(state, published=state.published | {version})
        if version in state.published and version > state.forgotten:
            yield replace(state, forgotten=version)


def read(state: State, rules: Rules) -> Iterator[State]:
    """A reader queries the catalog or lists the log, and does the other later."""
    answer = (
        len(state.ratified) - 1,
        frozenset(range(state.forgotten + 1, len(state.ratified))),
    )
    if state.known is None:
        first = answer if rules.catalog_first else (-1, state.published)
        yield replace(state, known=first)
        return
    newest, tail = state.known if rules.catalog_first else answer
    listed = state.published if rules.catalog_first else state.known[1]
    done = replace(state, known=None)
    needed = set(range(newest + 1))
    if needed - tail - listed and not rules.catalog_first and rules.lists_again:
        listed = state.published
    if needed - tail - listed:
        yield replace(done, wrong_reads=done.wrong_reads | {"a gap"})
        return
    if not rules.ignores_later and set(range(newest + 1, max(listed))) - listed:
        yield replace(done, wrong_reads=done.wrong_reads | {"a version without the previous one"})
        return
    yield done


def with_writer(state: State, number: int, writer: Writer) -> State:
    """Return the state with one writer replaced."""
    return replace(state, writers=(*state.writers[:number], writer, *state.writers[number + 1 :]))
