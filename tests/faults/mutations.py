"""Random damage to the bytes of a file."""

from __future__ import annotations

import random

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


def mutate(content: bytes, rng: random.Random) -> bytes:
    """Return ``content`` with one to three changes; never the same bytes."""
    damaged = content
    while damaged == content:
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            damaged = _damage(damaged, rng)
    return damaged


def _damage(content: bytes, rng: random.Random) -> bytes:
    if not content:
        return rng.choice(TOKENS)
    at = _place(content, rng)
    end = min(len(content), at + rng.choice([1, 1, 2, 4, 8, 64, 512]))
    how = rng.randrange(9)
    if how == 0:  # a bit
        return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]
    if how == 1:  # a byte
        return content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]
    if how == 2:  # a hole
        return content[:at] + content[end:]
    if how == 3:  # twice
        return content[:end] + content[at:end] + content[end:]
    if how == 4:  # zeros, as after a power cut
        return content[:at] + bytes(end - at) + content[end:]
    if how == 5:  # noise
        return content[:at] + rng.randbytes(end - at) + content[end:]
    if how == 6:  # a token where none belongs
        return content[:at] + rng.choice(TOKENS) + content[at:]
    if how == 7:  # a digit
        digits = [i for i, byte in enumerate(content) if 48 <= byte <= 57]
        at = rng.choice(digits) if digits else at
        return content[:at] + b"%d" % rng.randrange(10) + content[at + 1 :]
    return content[:at]  # the rest is gone


def _place(content: bytes, rng: random.Random) -> int:
    """Return a random position; in every second Parquet file, in its footer."""
    if content[:4] == b"PAR1" and rng.random() < 0.5:
        return rng.randrange(max(0, len(content) - 1500), len(content))
    return rng.randrange(len(content))
