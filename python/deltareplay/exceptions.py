"""The exceptions, divided by what a caller can do about them.

Every exception has a stable, dotted ``code``, and names the position of the fault if there is one.
All exceptions pickle, so the driver gets an exception of a Spark worker with all attributes.
"""

from __future__ import annotations

from typing import Any

from deltareplay._names import escaped_message

#: The pages of the documentation about codes, and the first words of the codes on each.
_PAGES = {
    "log": (
        "cdc checkpoint checksum commit compacted compaction hint last_checkpoint log replay"
        " sidecar"
    ),
    "data": "columns data dv file partition_value split stats variant",
    "tables": "argument dataset diff internal table timestamp version",
    "storage": "options path storage uri",
    "definition": "alter properties protocol schema",
    "expressions": "expression filter formula",
    "changes": "changes follow",
    "writing": "clone conflict convert create rows transaction",
    "maintenance": "generate optimize report restore vacuum",
    "catalogs": "catalog",
    "spark": "column definition merge name option sink spark sql statement write",
}
_PAGE_OF = {word: page for page, words in _PAGES.items() for word in words.split()}


def docs_of(code: str) -> str | None:
    """Return the section of the documentation about a code, in the repository."""
    page = _PAGE_OF.get(code.partition(".")[0])
    return page and f"docs/troubleshooting/{page}.md#{code.replace('.', '')}"


class DeltaReplayError(Exception):
    """The base class of the errors that deltareplay raises.

    Attributes:
        code: The kind of error, for programs, e.g. ``commit.json``. Stable across releases.
        path: The file at fault, relative to the table root if it is below it; or None.
        version: The table version at fault, or None.
        line: The line at fault, counted from 1, or None.
        offset: The byte at fault, counted from 0 in the file, or None.

    A traceback ends with the code and the section of the documentation about it, ``docs``.

    >>> try:
    ...     table.snapshot(version=99)
    ... except DeltaReplayError as error:
    ...     print(type(error).__name__, error.code)
    VersionNotFoundError version.not_found
    """

    def __init__(
        self,
        message: str = "",
        *,
        code: str = "unknown",
        path: str | None = None,
        version: int | None = None,
        line: int | None = None,
        offset: int | None = None,
    ) -> None:
        # only the message is escaped: it is displayed, and may contain text from the table
        super().__init__(escaped_message(message))
        self.code = code
        self.path = path
        self.version = version
        self.line = line
        self.offset = offset
        if self.docs is not None:
            self.__notes__ = [f"[{code}] cause and remedy: {self.docs}"]

    @property
    def docs(self) -> str | None:
        """The section of the documentation with cause and remedy, in the repository; or None.

        >>> CorruptTableError("it ends early", code="commit.torn").docs
        'docs/troubleshooting/log.md#committorn'
        """
        return docs_of(self.code)

    def __reduce__(self) -> tuple[Any, ...]:
        # The state has the attributes, including notes.
        return type(self), self.args, self.__dict__


class TableNotFoundError(DeltaReplayError):
    """There is no Delta table at the location: check the path, or create the table."""


class VersionNotFoundError(DeltaReplayError):
    """The table has no such version or time; the message names the available range."""


class InvalidArgumentError(DeltaReplayError, ValueError):
    """The call contradicts itself or the table."""


class UnsupportedFeatureError(DeltaReplayError):
    """The table needs features that this release lacks; the message names all of them."""


class CorruptTableError(DeltaReplayError):
    """The table is damaged: its bytes break the protocol. The message names the position."""


#: Delta's names of conflicts, by their codes.
_CONFLICTS = {
    "conflict.protocol_changed": "ProtocolChangedException",
    "conflict.metadata_changed": "MetadataChangedException",
    "conflict.domain_metadata": "ConcurrentTransactionException",
    "conflict.transaction": "ConcurrentTransactionException",
    "conflict.append": "ConcurrentAppendException",
    "conflict.delete_read": "ConcurrentDeleteReadException",
    "conflict.delete_delete": "ConcurrentDeleteDeleteException",
    "conflict.deadline": "ConcurrentWriteException",
}


class CommitConflictError(DeltaReplayError):
    """Another writer's commit conflicts, and nothing was committed: read again, then retry.

    The error is always an instance of a subclass; these have the names of delta-spark's exceptions.

    Attributes:
        version: The version that the other writer committed.
        operation: The operation of that commit, such as ``DELETE``; or None.
    """

    def __new__(cls, *args: Any, code: str = "unknown", **_facts: Any) -> CommitConflictError:
        """Create an instance of the subclass that belongs to the code."""
        # The core knows only this class. Unpickling passes no code, and calls the subclass itself.
        if cls in (CommitConflictError, DeltaConcurrentModificationException):
            cls = globals()[_CONFLICTS.get(code, "ConcurrentWriteException")]
        return super().__new__(cls, *args)

    def __init__(self, message: str = "", *, operation: str | None = None, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.operation = operation

    @property
    def conflict(self) -> str:
        """Delta's own name of the conflict.

        >>> CommitConflictError("in the way", code="conflict.append").conflict
        'ConcurrentAppendException'
        """
        return type(self).__name__


class DeltaConcurrentModificationException(CommitConflictError):  # noqa: N818 Delta's name
    """Delta's base class of the following exceptions."""


class ProtocolChangedException(DeltaConcurrentModificationException):
    """Another writer changed the protocol of the table."""


class MetadataChangedException(DeltaConcurrentModificationException):
    """Another writer changed the schema, the properties or the partitioning."""


class ConcurrentAppendException(DeltaConcurrentModificationException):
    """Another writer added rows that this commit would have read."""


class ConcurrentDeleteReadException(DeltaConcurrentModificationException):
    """Another writer removed a file that this commit has read."""


class ConcurrentDeleteDeleteException(DeltaConcurrentModificationException):
    """Another writer removed a file that this commit removes too."""


class ConcurrentTransactionException(DeltaConcurrentModificationException):
    """Another writer committed for the same application, or the same metadata domain."""


class ConcurrentWriteException(DeltaConcurrentModificationException):
    """Other writers committed first each time, until the timeout had passed."""


class StorageError(DeltaReplayError):
    """The storage failed, perhaps temporarily."""


class CommitStateUnknownError(StorageError):
    """It is unknown whether the storage took a commit: it may exist, or appear later.

    The data files stay. Committing again may write the rows twice: first look in ``Table.history``
    for the ``txnId`` in the message, or use ``txn`` for writes that can be repeated.

    Attributes:
        version: The version that the commit was written to.
        path: The file of the commit.
    """


class DeltaReplayWarning(UserWarning):
    """A problem that does not fail a call, such as damage in the log (``Snapshot.warnings``)."""
