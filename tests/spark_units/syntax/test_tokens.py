"""Parts of a statement keep its tokens; without Spark."""

from __future__ import annotations

import pytest

from deltareplay.spark.statements.prefix import split
from deltareplay.spark.statements.sql import read
from deltareplay.spark.syntax import tokens
from deltareplay.spark.syntax.parser import Parser
from deltareplay.spark.syntax.tokens import Sql

MERGE = """
MERGE INTO t USING (SELECT * FROM u WHERE b = 'x') s ON t.id = s.id
WHEN MATCHED AND s.c > 1 THEN UPDATE SET t.a = s.a /* of u */, `b c` = 'y -- z'
WHEN NOT MATCHED THEN INSERT (id, a) VALUES (s.id, f(s.a, 2))
"""


@pytest.fixture
def scanned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the strings that the tokenizer reads."""
    texts: list[str] = []
    scan = tokens._tokenize

    def spy(text: str) -> list[tokens.Token]:
        texts.append(text)
        return scan(text)

    monkeypatch.setattr(tokens, "_tokenize", spy)
    return texts


def test_conditions_and_values_of_a_statement_are_not_tokenized_again(scanned: list[str]) -> None:
    parser = Parser(MERGE)
    merge = read(parser)
    assert merge is not None
    merge.read_clauses(parser)
    update, insert = merge.clauses  # type: ignore[attr-defined]
    texts = [merge.on, merge.source.text, update.condition]  # type: ignore[attr-defined]
    for text in (*texts, *update.values, *update.values.values(), *insert.values.values()):
        assert Parser(text).tokens == tokens._tokenize(str(text))
    scanned_here = [text for text in scanned if type(text) is str]  # by the line above
    assert scanned[0] == MERGE
    assert len(scanned) == 1 + len(scanned_here) == 10


def test_queries_before_a_statement_keep_their_tokens(scanned: list[str]) -> None:
    several = split(Parser("WITH q AS (SELECT 'a;b' x) FROM q INSERT INTO t SELECT x WHERE x > 1"))
    assert several is not None
    [(prefix, part)] = several
    insert = read(part)
    assert insert is not None
    insert.read_clauses(part)
    query = prefix.query(insert.query)  # type: ignore[attr-defined]
    assert query == "WITH q AS (SELECT 'a;b' x) FROM q SELECT x WHERE x > 1"
    assert Parser(query).tokens == tokens._tokenize(str(query))
    assert [text for text in scanned if "a;b" in text][1:] == [str(query)]


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        ("a = ? AND b", [(4, 5, "'x y'")], "a = 'x y' AND b"),
        ("SELECT * FROM t", [(14, 15, "{v}"), (15, 15, " AS `t`")], "SELECT * FROM {v} AS `t`"),
        ("now() + now()", [(0, 5, "1"), (8, 13, "2")], "1 + 2"),
        ("a /* c */ b", [], "a /* c */ b"),
    ],
)
def test_an_edited_text_has_the_tokens_of_its_parts(
    text: str, edits: list[tuple[int, int, str]], expected: str
) -> None:
    edited = Sql(text).edited(edits)
    assert edited == expected
    assert edited.tokens == tokens.tokens(expected)


def test_positions_in_a_part_of_a_part_count_from_its_start() -> None:
    text = Sql("SELECT (a, (b, c)) FROM d").part(7, 18).part(4, 10)
    assert text == "(b, c)"
    assert text.tokens == tokens.tokens("(b, c)")


# Spark 4: SqlBaseLexer.g4 (STRING_LITERAL, SIMPLE_COMMENT) and SparkParserUtils.unescapeSQLString
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'it''s'", "it's"),
        ("''''", "'"),
        ('"say ""so"", \'\'"', "say \"so\", ''"),
        (r"'\'it''s'", "'it's"),
        (r"r'\d'", r"\d"),
        (r"'\101\u0062\U0001F600'", "Ab\U0001f600"),
        (r"'\uD83D\uDE00\ud83d\u0041'", "\U0001f600?A"),
        (r"'\%\_\8'", r"\%\_8"),
    ],
)
def test_the_value_of_a_string_is_that_of_spark(text: str, value: str) -> None:
    [token, _] = tokens.tokens(text)
    assert token.value == value


def test_quotes_are_doubled_in_raw_strings_of_a_session_too() -> None:
    [token, _] = tokens.tokens(r"'a\n''b'")
    with tokens.raw_strings(enabled=True):
        assert token.value == r"a\n'b"


def test_a_comment_ends_with_its_line() -> None:
    texts = [token.text for token in tokens.tokens("a -- b \\\n c\r d -- e\nf")]
    assert texts == ["a", "d", "f", ""]
