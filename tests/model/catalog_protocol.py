"""A model of committing versions through a catalog: writers, publishers, readers, faults.

The catalog ratifies version after version. Writers stage a file and request ratification; a
response may be lost, or the request, or it arrives late. Publishers, any of which may stop at any
point, copy ratified commits into the log and report that to the catalog, which forgets the commits
that it no longer needs. A reader takes the catalog's response and a listing, one after the other.

:func:`explore` visits every reachable state and returns all problems.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from model.visited import visited


@dataclass(frozen=True)
class Rules:
    """The rules for all participants; the defaults are those of deltareplay.

    Attributes:
        same_name: A commit whose answer was lost is asked for again with the same file.
        asks_first: After a lost answer the catalog is asked which commits count.
        in_order: A version is published after the one before it.
        catalog_first: A reader asks the catalog before it lists the log.
        lists_again: A reader that finds a gap asks and lists once more.
        passes_over_later: A reader leaves out what is published above the catalog's newest version.
    """

    same_name: bool = True
    asks_first: bool = True
    in_order: bool = True
    catalog_first: bool = True
    lists_again: bool = True
    passes_over_later: bool = True


#: A staged file: the version, the writer, and how often the writer has created another one.
File = tuple[int, int, int]


@dataclass(frozen=True)
class Writer:
    """One writer: ``idle``, ``asks`` (for a file, unanswered) or done."""

    phase: str = "idle"
    file: File = (-1, -1, 0)


@dataclass(frozen=True)
class State:
    """The state of the model.

    Attributes:
        ratified: Of each version the file; the first version is nobody's.
        published: Versions that are in the log.
        forgotten: The catalog knows no commits up to this version.
        writers: The writers.
        faults: How many answers may still be lost.
        late: Files that the catalog may still be asked for.
        asked: What a reader knows already: the newest version and the catalog's commits, or the
            published versions, whichever it looks at first.
        seen: What readers have read that is wrong.
    """

    ratified: tuple[File, ...] = ((0, -1, 0),)
    published: frozenset[int] = frozenset({0})
    forgotten: int = 0
    writers: tuple[Writer, ...] = ()
    faults: int = 0
    late: frozenset[File] = frozenset()
    asked: tuple[int, frozenset[int]] | None = None
    seen: frozenset[str] = frozenset()


def explore(writers: int, faults: int, rules: Rules) -> tuple[int, list[str]]:
    """Return the number of states, and each kind of problem."""
    first = State(writers=(Writer(),) * writers, faults=faults)
    return visited(first, lambda state: steps(state, rules), problems)


def problems(state: State) -> Iterator[str]:
    """Yield the violated invariants."""
    authors = [writer for _, writer, _ in state.ratified]
    for number, writer in enumerate(state.writers):
        if authors.count(number) > 1:
            yield "committed twice"
        if writer.phase == "committed" and authors.count(number) == 0:
            yield "reported as committed, and lost"
    yield from state.seen


def steps(state: State, rules: Rules) -> Iterator[State]:
    """Yield every possible next state."""
    for number, writer in enumerate(state.writers):
        if writer.phase == "idle":
            created = writer.file[2]
            yield from ask(state, number, (len(state.ratified), number, created))
        elif writer.phase == "asks":
            yield from again(state, number, rules)
    for late in state.late:
        yield ratify(replace(state, late=state.late - {late}), late)[1]
    yield from publish(state, rules)
    yield from read(state, rules)


def ask(state: State, number: int, file: File) -> Iterator[State]:
    """A writer requests that a staged file becomes its version."""
    taken, after = ratify(state, file)
    phase = (
        "committed" if taken else "asks"
    )  # a lost race is detected by querying the ratified commits
    yield updated(after, number, Writer(phase, file))
    if state.faults:
        fewer = replace(state, faults=state.faults - 1)
        yield updated(ratify(fewer, file)[1], number, Writer("asks", file))  # the response is lost
        yield updated(fewer, number, Writer("asks", file))  # the request is lost
        late = fewer.late | {file}
        yield updated(replace(fewer, late=late), number, Writer("asks", file))  # it is pending


def ratify(state: State, file: File) -> tuple[bool, State]:
    """The catalog's decision: the same file is ratified again."""
    if file[0] < len(state.ratified):
        return state.ratified[file[0]] == file, state
    return True, replace(state, ratified=(*state.ratified, file))


def again(state: State, number: int, rules: Rules) -> Iterator[State]:
    """A writer in doubt queries the catalog, or repeats the request."""
    version, _, created = state.writers[number].file
    ratified_file = state.ratified[version] if version < len(state.ratified) else None
    if not rules.asks_first:  # it takes a missing response for a refusal
        yield updated(state, number, Writer("idle", (-1, -1, created)))
    elif ratified_file is not None:
        ours = ratified_file[1] == number and (rules.same_name or ratified_file[2] == created)
        yield updated(
            state, number, Writer("committed" if ours else "idle", (version, number, created))
        )
    else:
        renamed = created if rules.same_name else created + 1
        yield from ask(state, number, (version, number, renamed))


def publish(state: State, rules: Rules) -> Iterator[State]:
    """Any process copies a ratified commit into the log, or reports the published version."""
    for version in range(1, len(state.ratified)):
        ready = version - 1 in state.published or not rules.in_order
        if version not in state.published and ready:
            yield replace(state, published=state.published | {version})
        if version in state.published and version > state.forgotten:
            yield replace(state, forgotten=version)


def read(state: State, rules: Rules) -> Iterator[State]:
    """A reader queries one side, and later the other."""
    answer = (
        len(state.ratified) - 1,
        frozenset(range(state.forgotten + 1, len(state.ratified))),
    )
    if state.asked is None:
        first = answer if rules.catalog_first else (-1, state.published)
        yield replace(state, asked=first)
        return
    newest, tail = state.asked if rules.catalog_first else answer
    listed = state.published if rules.catalog_first else state.asked[1]
    done = replace(state, asked=None)
    needed = set(range(newest + 1))
    if needed - tail - listed and not rules.catalog_first and rules.lists_again:
        listed = state.published
    if needed - tail - listed:
        yield replace(done, seen=done.seen | {"a gap"})
        return
    if not rules.passes_over_later and max(listed) > newest and newest + 1 not in listed:
        yield replace(done, seen=done.seen | {"a version without the one before"})
        return
    yield done


def updated(state: State, number: int, writer: Writer) -> State:
    """Return the state with a writer in another phase."""
    return replace(state, writers=(*state.writers[:number], writer, *state.writers[number + 1 :]))
