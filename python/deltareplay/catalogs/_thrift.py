"""Thrift's binary protocol: encoding of a call, and decoding of its reply.

It is implemented here because only two calls are needed: packages with Hive's generated classes
have thousands of them, and limit neither the time nor the size of a reply. A struct is a dict by
field number, a list or a set is a tuple. The bytes of a reply are untrusted: depth and number of
values are limited here, their length by ``ThriftClient``.

Source: Apache Thrift, ``thrift-binary-protocol.md``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Union

Fields = Mapping[int, Union[str, "Fields"]]

_VERSION = 0x80010000
_CALL, _REPLY, _EXCEPTION = 1, 2, 3
_STOP, _STRING, _STRUCT, _MAP, _SET, _LIST = 0, 11, 12, 13, 14, 15
#: Values of a fixed length, by type.
_FIXED = {2: ">?", 3: ">b", 4: ">d", 6: ">h", 8: ">i", 10: ">q"}
#: A depth that no valid entry of a table reaches.
_MAX_DEPTH = 32
_MAX_VALUES = 300_000
#: The first bytes of a server that refuses a client without SASL.
_SASL = (b"\x03", b"\x04")


class ThriftError(ValueError):
    """The bytes are not a reply."""


class ThriftRefusal(Exception):  # noqa: N818  it is a reply
    """A reply that is an exception of the server's framework.

    Attributes:
        kind: Its number in Thrift's ``TApplicationException``.
    """

    UNKNOWN_METHOD = 1

    def __init__(self, kind: int, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def encode_call(method: str, arguments: Fields) -> bytes:
    """Encode a call.

    >>> len(encode_call("get_table", {1: "sales", 2: "orders"}))
    47
    """
    head = struct.pack(">I", _VERSION | _CALL) + _text(method) + struct.pack(">i", 0)
    return head + _struct(arguments)


def decode_reply(read: Callable[[int], bytes], method: str) -> dict[int, Any]:
    """Decode the reply of a call to a struct.

    Args:
        read: Returns exactly this number of the next bytes, or raises.
        method: The name of the called method.

    Raises:
        ThriftError: The bytes are not a reply to this call.
        ThriftRefusal: The server does not know the method, or failed.

    >>> import io
    >>> reply = bytes.fromhex("80010002 00000004 70696e67 00000000 0b0000 00000004 706f6e67 00")
    >>> decode_reply(io.BytesIO(reply).read, "ping")
    {0: 'pong'}
    """
    reader = _Reader(read)
    first = read(4)
    if first[:1] in _SASL:
        raise ThriftError("it requires SASL (Kerberos), which is not supported")
    version = int.from_bytes(first, "big")
    kind = version & 0xFF
    if version & 0xFFFF0000 != _VERSION or kind not in (_REPLY, _EXCEPTION):
        raise ThriftError(f"it is not a Thrift reply: {first!r}")
    name = reader.value(_STRING)
    reader.value(8)  # the number of the call: only one call is open
    fields: dict[int, Any] = reader.value(_STRUCT)
    if kind == _EXCEPTION:
        message, number = fields.get(1), fields.get(2)
        raise ThriftRefusal(
            number if isinstance(number, int) else 0, message if isinstance(message, str) else ""
        )
    if name != method:
        raise ThriftError(f"it answers {name[:100]!r} instead of {method!r}")
    return fields


class _Reader:
    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._values = 0

    def value(self, kind: int, depth: int = 0) -> Any:
        self._values += 1
        if depth > _MAX_DEPTH or self._values > _MAX_VALUES:
            raise ThriftError("it nests deeper, or has more values, than any entry of a table")
        if kind in _FIXED:
            form = _FIXED[kind]
            return struct.unpack(form, self._read(struct.calcsize(form)))[0]
        if kind == _STRING:
            try:
                return self._read(self._length()).decode()
            except UnicodeDecodeError as error:
                raise ThriftError(f"it has a string that is not UTF-8: {error.reason}") from None
        if kind == _STRUCT:
            fields = {}
            while (field := self._byte()) != _STOP:
                number = self.value(6, depth + 1)
                fields[number] = self.value(field, depth + 1)
            return fields
        if kind == _MAP:
            key_type, value_type = self._byte(), self._byte()
            pairs = (
                (self.value(key_type, depth + 1), self.value(value_type, depth + 1))
                for _ in range(self._length())
            )
            try:
                return dict(pairs)
            except TypeError as error:
                raise ThriftError("it has a map whose keys are structs or maps") from error
        if kind in (_SET, _LIST):
            item_type = self._byte()
            return tuple(self.value(item_type, depth + 1) for _ in range(self._length()))
        raise ThriftError(f"it has a value of the type {kind}, which is unknown")

    def _byte(self) -> int:
        return self._read(1)[0]

    def _length(self) -> int:
        length: int = struct.unpack(">i", self._read(4))[0]
        if length < 0:
            raise ThriftError(f"it has a length of {length}")
        return length


def _struct(fields: Fields) -> bytes:
    parts = []
    for number, value in fields.items():
        kind, body = (
            (_STRING, _text(value)) if isinstance(value, str) else (_STRUCT, _struct(value))
        )
        parts.append(struct.pack(">bh", kind, number) + body)
    return b"".join([*parts, bytes([_STOP])])


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">i", len(encoded)) + encoded
