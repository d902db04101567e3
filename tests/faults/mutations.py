"""Random damage to the bytes of a file."""

from __future__ import annotations

import random

#: Bytes to insert: syntax of JSON, extreme values, deep nesting, and actions.
TOKENS = [
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"\r\n",
    b"\\",
    b"null",
    b"true",
    b"-1",
    b"0",
    b"9" * 25,
    b"1e999",
    b'"\\ud800"',
    b"\x00",
    b"\xff\xfe",
    b"[" * 3000,
    b'{"a":' * 3000,
    b'{"add":{}}\n',
    b'{"remove":null}\n',
    b'{"metaData":{"id":1}}\n',
    b'{"protocol":{"minReaderVersion":99,"minWriterVersion":99}}\n',
]
#: The kinds of damage; their order determines the result of a seed.
KINDS = (
    "flip a bit",
    "replace a byte",
    "remove bytes",
    "repeat bytes",
    "zero bytes",  # as after a power failure
    "randomize bytes",
    "insert a token",
    "replace a digit",
    "truncate",
)


def mutate(content: bytes, rng: random.Random) -> bytes:
    """Return ``content``, damaged one to three times, and again until it differs."""
    damaged = content
    while damaged == content:
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            damaged = _damage(damaged, rng)
    return damaged


def _damage(content: bytes, rng: random.Random) -> bytes:
    if not content:
        return rng.choice(TOKENS)
    at = _position(content, rng)
    end = min(len(content), at + rng.choice([1, 1, 2, 4, 8, 64, 512]))
    match rng.choice(KINDS):
        case "flip a bit":
            changed = bytes([content[at] ^ (1 << rng.randrange(8))])
            return content[:at] + changed + content[at + 1 :]
        case "replace a byte":
            return content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]
        case "remove bytes":
            return content[:at] + content[end:]
        case "repeat bytes":
            return content[:end] + content[at:end] + content[end:]
        case "zero bytes":
            return content[:at] + bytes(end - at) + content[end:]
        case "randomize bytes":
            return content[:at] + rng.randbytes(end - at) + content[end:]
        case "insert a token":
            return content[:at] + rng.choice(TOKENS) + content[at:]
        case "replace a digit":
            digits = [i for i, byte in enumerate(content) if 48 <= byte <= 57]
            at = rng.choice(digits) if digits else at
            return content[:at] + b"%d" % rng.randrange(10) + content[at + 1 :]
        case _:
            return content[:at]


def _position(content: bytes, rng: random.Random) -> int:
    """Return a random position; in Parquet files, half of them are in or near the footer."""
    if content[:4] == b"PAR1" and rng.random() < 0.5:
        return rng.randrange(max(0, len(content) - 1500), len(content))
    return rng.randrange(len(content))
