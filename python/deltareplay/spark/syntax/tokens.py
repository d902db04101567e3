"""A tokenizer of SQL; expressions are passed to Spark as text."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property

from deltareplay._names import unquoted
from deltareplay.exceptions import InvalidArgumentError

_TOKEN = re.compile(
    r"""(?P<space>\s+|--(?:\\\n|[^\r\n])*)
      | (?P<comment>/\*)
      | (?P<string>[rR]?(?:'|"))
      | (?P<quoted>`(?:[^`]|``)*`)
      | (?P<word>\w+)
      | (?P<symbol>[^\w\s])""",
    re.VERBOSE,
)
#: A backslash, then a code in hexadecimal or octal digits, or one character.
_ESCAPED = r"\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\([01][0-7]{2})|\\(.)"
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "0": "\0", "Z": "\x1a"}

#: True if backslashes in strings are ordinary characters.
_raw: ContextVar[bool] = ContextVar("_raw", default=False)


@contextmanager
def raw_strings(*, enabled: bool) -> Iterator[None]:
    """Set, within the context, whether backslashes in strings are ordinary characters."""
    token = _raw.set(enabled)
    try:
        yield
    finally:
        _raw.reset(token)


@dataclass(frozen=True)
class Token:
    """One token with its position in the text.

    Attributes:
        kind: ``word`` (numbers too), ``quoted`` (in backticks), ``string``, ``symbol`` or ``end``.
        text: The source text.
        start: The index of the first character.
        end: The index after the last character.
    """

    kind: str
    text: str
    start: int
    end: int

    @property
    def is_name(self) -> bool:
        """True for a part of a name: a word, or a name in backticks."""
        return self.kind in ("word", "quoted")

    @property
    def name(self) -> str:
        """The identifier of a ``word`` or ``quoted`` token.

        >>> Token("quoted", "`a``b`", 0, 6).name
        'a`b'
        """
        return unquoted(self.text)

    @property
    def value(self) -> str:
        r"""The value of a ``string`` token.

        >>> Token("string", r"'it\'s'", 0, 7).value
        "it's"
        """
        if not _raw.get() or self.text[0] in "rR":
            return self.unescaped
        return self.text[1:-1].replace(self.text[0] * 2, self.text[0])

    @property
    def unescaped(self) -> str:
        """The value of a ``string`` token in a session in which backslashes escape."""
        quote = self.text[0]
        if quote in "rR":
            return self.text[2:-1]
        pattern = rf"{_ESCAPED}|({quote}){quote}"
        value = re.sub(pattern, _unescape, self.text[1:-1], flags=re.DOTALL)
        # escapes of surrogates: a pair is one character, and Spark replaces others by "?"
        value = value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return value.encode(errors="replace").decode()

    def is_word(self, *words: str) -> bool:
        """Return whether the token is one of these keywords (in upper case)."""
        return self.kind == "word" and self.text.upper() in words

    def shifted(self, offset: int) -> Token:
        """Return the token with its position shifted by a number of characters."""
        return Token(self.kind, self.text, self.start + offset, self.end + offset)


class Sql(str):
    """A text that keeps its tokens, so that parts of a statement are not tokenized again.

    >>> Sql("a IN (b, c)").part(6, 10).tokens[1]
    Token(kind='symbol', text=',', start=1, end=2)
    """

    #: The texts that ``joined`` has concatenated.
    pieces: tuple[Sql, ...] = ()
    #: The text of which this one is a part, and the index of the part in that text.
    source: Sql | None = None
    start: int = 0

    @classmethod
    def of(cls, text: str) -> Sql:
        """Return the text as ``Sql``; one that is ``Sql`` already keeps its tokens."""
        return text if isinstance(text, Sql) else cls(text)

    @classmethod
    def joined(cls, *texts: str) -> Sql:
        """Join texts that each consist of whole tokens."""
        sql = cls("".join(texts))
        sql.pieces = tuple(map(cls.of, texts))
        return sql

    def part(self, start: int, end: int | None = None) -> Sql:
        """Return a slice of the text, which must not split a token."""
        sql = Sql(self[start:end])
        sql.source, sql.start = self, start
        return sql

    def edited(self, edits: Iterable[tuple[int, int, str]]) -> Sql:
        """Replace slices that do not split a token: each a start, an end, and the new text.

        >>> Sql("a = now()").edited([(4, 9, "'x'")])
        "a = 'x'"
        """
        pieces, index = [], 0
        for start, end, text in edits:
            pieces += [self.part(index, start), text]
            index = end
        return self.joined(*pieces, self.part(index)) if pieces else self

    @cached_property
    def tokens(self) -> list[Token]:
        """The tokens, as the function ``tokens`` returns them."""
        if self.source is not None:
            start, end = self.start, self.start + len(self)
            all_tokens = self.source.tokens
            inner = [token.shifted(-start) for token in all_tokens if start <= token.start < end]
        elif self.pieces:
            inner, start = [], 0
            for piece in self.pieces:
                inner += [token.shifted(start) for token in piece.tokens[:-1]]
                start += len(piece)
        else:
            return _tokenize(self)
        return [*inner, Token("end", "", len(self), len(self))]


def tokens(text: str) -> list[Token]:
    """Tokenize a text, without spaces and comments; the last token is of the kind ``end``.

    Raises:
        InvalidArgumentError: ``sql.token``: a string, a name or a comment is not closed.

    >>> [token.text for token in tokens("SET `a b` = 'x' -- why")]
    ['SET', '`a b`', '=', "'x'", '']
    """
    return Sql.of(text).tokens


def _tokenize(text: str) -> list[Token]:
    result: list[Token] = []
    index = 0
    while match := _TOKEN.match(text, index):
        kind, start = str(match.lastgroup), index
        index = match.end()
        if kind == "comment":
            index = _after_comment(text, start)
        elif kind == "string":
            index = _after_string(text, start, match.group())
        elif kind == "symbol" and match.group() == "`":
            raise _unclosed(text, start, "name in backticks")
        if kind not in ("space", "comment"):
            result.append(Token(kind, text[start:index], start, index))
    return [*result, Token("end", "", len(text), len(text))]


def position(text: str, index: int) -> str:
    r"""Return a character index as line and column, both counted from 1.

    >>> position("DELETE\nFROM", 7)
    'line 2, column 1'
    """
    before = text[:index]
    return f"line {before.count(chr(10)) + 1}, column {index - before.rfind(chr(10))}"


def _unescape(match: re.Match[str]) -> str:
    code, long_code, octal, single, quote = match.groups()
    if quote is not None:
        return quote
    if single is not None:
        return match[0] if single in "%_" else _ESCAPES.get(single, single)
    number = int(octal, 8) if octal is not None else int(code or long_code, 16)
    return chr(number) if number <= sys.maxunicode else match[0]


def _after_string(text: str, start: int, opening: str) -> int:
    """Return the index after a string, in which two quotes stand for one unless it is raw."""
    quote, index, is_raw = opening[-1], start + len(opening), len(opening) > 1
    while index < len(text):
        if text[index] != quote:
            index += 2 if text[index] == "\\" and not is_raw else 1
        elif is_raw or text[index + 1 : index + 2] != quote:
            return index + 1
        else:
            index += 2
    raise _unclosed(text, start, "string")


def _after_comment(text: str, start: int) -> int:
    """Return the index after a comment; comments nest."""
    depth, index = 0, start
    while index < len(text):
        pair = text[index : index + 2]
        depth += (pair == "/*") - (pair == "*/")
        index += 2 if pair in ("/*", "*/") else 1
        if depth == 0:
            return index
    raise _unclosed(text, start, "comment")


def _unclosed(text: str, start: int, kind: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the {kind} that begins at {position(text, start)} is not closed", code="sql.token"
    )
