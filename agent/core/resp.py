"""Owns the Redis wire format RESP2, as far as asking for the time needs it: pure text in, text out.

Source of the rules: the RESP2 part of the Redis protocol specification. RESP3 never comes, because
we never send HELLO.
"""

from __future__ import annotations

from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Callable, List, Optional, Union

    from typing_extensions import TypeAlias

#: Bytes: more than any answer we ask for; a longer one is not waited for.
MAX_REPLY = 8192
#: Elements of one array, and arrays within arrays.
MAX_ELEMENTS = 64
MAX_DEPTH = 4
_MAX_SHOWN = 80
_DIGITS = 19  # of a 64-bit integer


class NotResp(ValueError):
    """The bytes cannot be the beginning of an acceptable RESP2 reply, whatever follows."""


class ErrorReply(NamedTuple):
    """``-ERR ...``, without the sign."""

    text: bytes


class SimpleReply(NamedTuple):
    """``+OK``, without the sign."""

    text: bytes


#: Bytes are a bulk string, None a nil one or a nil array.
Reply: TypeAlias = "Union[ErrorReply, SimpleReply, int, bytes, None, List[Reply]]"


class Parsed(NamedTuple):
    """One whole reply, and how many bytes it took."""

    value: Reply
    size: int


def encode(*words: bytes) -> bytes:
    """A command as an array of bulk strings: any byte may stand in a word."""
    parts = [b"*%d\r\n" % len(words)]
    parts += [b"$%d\r\n%s\r\n" % (len(word), word) for word in words]
    return b"".join(parts)


def parse(data: bytes) -> Optional[Parsed]:
    """Read the reply ``data`` begins with; None when it needs more bytes to tell.

    Raises NotResp as soon as no continuation could make it acceptable, so that a server that
    speaks something else is known by its first byte.
    """
    parsed = _parse(data, 0, 0)
    if parsed is None and len(data) > MAX_REPLY:
        raise NotResp("the reply is too long")
    return parsed


def shown(reply: Reply, scrub: Callable[[bytes], bytes]) -> str:
    """A reply as it may stand in a message: scrubbed of secrets, escaped, and cut."""
    return _cut(_shown(reply, scrub))


def shown_bytes(data: bytes, scrub: Callable[[bytes], bytes]) -> str:
    """Bytes that are no reply, as they may stand in a message: scrubbed, escaped, quoted, cut."""
    return _cut(_quoted(scrub(data)))


def _parse(data: bytes, start: int, depth: int) -> Optional[Parsed]:
    """As ``parse``, for the reply that starts at ``start``; ``size`` is then the place after it."""
    end = data.find(b"\r\n", start)
    kind = data[start : start + 1]
    if kind and kind not in b"+-:$*":
        raise NotResp("it does not begin like a reply")
    if end < 0:
        return None
    line = data[start + 1 : end]
    if kind == b"+":
        return Parsed(SimpleReply(line), end + 2)
    if kind == b"-":
        return Parsed(ErrorReply(line), end + 2)
    number = _number(line)
    if kind == b":":
        return Parsed(number, end + 2)
    if number == -1:
        return Parsed(None, end + 2)
    if kind == b"$":
        return _bulk(data, end + 2, number)
    return _array(data, end + 2, number, depth)


def _bulk(data: bytes, start: int, length: int) -> Optional[Parsed]:
    """The bytes of a bulk string and the line end behind them."""
    if not 0 <= length <= MAX_REPLY:
        raise NotResp("the length of a string is out of range")
    stop = start + length
    ending = data[stop : stop + 2]
    if not b"\r\n".startswith(ending):
        raise NotResp("a string does not end where its length says")
    return Parsed(data[start:stop], stop + 2) if ending == b"\r\n" else None


def _array(data: bytes, start: int, count: int, depth: int) -> Optional[Parsed]:
    """The elements of an array, each a reply of its own."""
    if not 0 <= count <= MAX_ELEMENTS or depth >= MAX_DEPTH:
        raise NotResp("the size of an array is out of range")
    elements: List[Reply] = []
    for _ in range(count):
        element = _parse(data, start, depth + 1)
        if element is None:
            return None
        elements.append(element.value)
        start = element.size
    return Parsed(elements, start)


def _number(line: bytes) -> int:
    """A decimal number with an optional sign, and nothing else that ``int`` would accept."""
    digits = line[1:] if line[:1] in (b"-", b"+") else line
    if not digits.isdigit() or len(digits) > _DIGITS:
        raise NotResp("a number is not one")
    return int(line)


def _shown(reply: Reply, scrub: Callable[[bytes], bytes]) -> str:
    if isinstance(reply, ErrorReply):
        return _quoted(b"-" + scrub(reply.text))
    if isinstance(reply, SimpleReply):
        return _quoted(b"+" + scrub(reply.text))
    if isinstance(reply, list):
        return "[" + ", ".join(_shown(element, scrub) for element in reply) + "]"
    if isinstance(reply, bytes):
        return _quoted(scrub(reply))
    return "nil" if reply is None else str(reply)


def _quoted(data: bytes) -> str:
    """Python's own escapes, without the ``b``: control characters and quotes cannot get out."""
    return repr(data[:_MAX_SHOWN])[1:]


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 3] + "..."
