"""Owns the proofs about RESP2: it reads back, wherever it is cut, and rubbish is named."""

from __future__ import annotations

from typing import List, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.resp import (
    MAX_REPLY,
    ErrorReply,
    NotResp,
    Parsed,
    Reply,
    SimpleReply,
    encode,
    parse,
    shown,
    shown_bytes,
)

_LINES = st.binary(max_size=40).map(lambda data: data.replace(b"\r", b"").replace(b"\n", b""))
_SIMPLE: st.SearchStrategy[Reply] = st.one_of(
    st.builds(ErrorReply, _LINES),
    st.builds(SimpleReply, _LINES),
    st.integers(-(2**63), 2**63 - 1),
    st.binary(max_size=60),
    st.none(),
)
REPLIES: st.SearchStrategy[Reply] = st.one_of(
    _SIMPLE, st.lists(st.one_of(_SIMPLE, st.lists(_SIMPLE, max_size=3)), max_size=5)
)


def as_it_is(data: bytes) -> bytes:
    return data


def on_the_wire(reply: Reply) -> bytes:
    """Written from the specification, for want of a server: what a server sends for ``reply``."""
    if isinstance(reply, ErrorReply):
        return b"-" + reply.text + b"\r\n"
    if isinstance(reply, SimpleReply):
        return b"+" + reply.text + b"\r\n"
    if isinstance(reply, list):
        return b"*%d\r\n" % len(reply) + b"".join(map(on_the_wire, reply))
    if isinstance(reply, bytes):
        return b"$%d\r\n" % len(reply) + reply + b"\r\n"
    return b"$-1\r\n" if reply is None else b":%d\r\n" % reply


def outcome(data: bytes) -> Union[Parsed, None, str]:
    try:
        return parse(data)
    except NotResp as error:
        return str(error)


@given(REPLIES, st.binary(max_size=20))
def test_a_reply_reads_as_what_was_sent_and_leaves_the_rest(reply: Reply, rest: bytes) -> None:
    data = on_the_wire(reply)
    assert parse(data + rest) == Parsed(reply, len(data))


@given(REPLIES)
def test_a_reply_cut_anywhere_asks_for_more(reply: Reply) -> None:
    data = on_the_wire(reply)
    for length in range(len(data)):
        assert parse(data[:length]) is None


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=6))
def test_a_command_is_an_array_of_its_words(words: List[bytes]) -> None:
    assert parse(encode(*words)) == Parsed(list(words), len(encode(*words)))


@given(st.one_of(st.binary(), st.lists(st.sampled_from(b"+-:$*\r\n0129x"), max_size=30).map(bytes)))
def test_any_bytes_are_a_reply_or_too_few_or_no_reply(data: bytes) -> None:
    whole = outcome(data)
    for length in range(len(data)):
        part = outcome(data[:length])
        # once it is known, more bytes do not change it
        assert part is None or part == whole


@given(st.one_of(REPLIES, st.binary().map(lambda data: [data])))
def test_what_is_shown_is_short_and_printable(reply: Reply) -> None:
    text = shown(reply, as_it_is)
    assert len(text) <= 80
    assert text.isprintable()


@pytest.mark.parametrize(
    "data",
    [
        b"H",
        b"\x00",
        b"\x15\x03\x01",
        b"\r\n",
        b":x\r\n",
        b":1.5\r\n",
        b":1_0\r\n",
        b": 1\r\n",
        b":\r\n",
        b":--1\r\n",
        b"$-2\r\n",
        b"$9999999\r\n",
        b"$99999999999999999999999\r\n",
        b"$1\r\nab",
        b"*-2\r\n",
        b"*65\r\n",
        b"*1\r\n" * 5,
        b"*1\r\nx",
        b"+" + b"x" * (MAX_REPLY + 1),
        b"*64\r\n" + (b"$1000\r\n" + b"x" * 1000 + b"\r\n") * 10,
    ],
)
def test_what_can_be_no_reply_is_known_at_once(data: bytes) -> None:
    with pytest.raises(NotResp):
        parse(data)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (SimpleReply(b"OK"), "'+OK'"),
        (ErrorReply(b"ERR x"), "'-ERR x'"),
        (b"12", "'12'"),
        (12, "12"),
        (None, "nil"),
        ([], "[]"),
        ([b"1", 2, None], "['1', 2, nil]"),
        (b"\x1b[31m\n", "'\\x1b[31m\\n'"),
        (b"x" * 200, "'" + "x" * 76 + "..."),
    ],
)
def test_a_reply_is_shown_as_people_read_it(reply: Reply, text: str) -> None:
    assert shown(reply, as_it_is) == text


def test_a_secret_is_struck_out_before_the_text_is_cut() -> None:
    def scrub(data: bytes) -> bytes:
        return data.replace(b"secret", b"***")

    assert "secr" not in shown(ErrorReply(b"x" * 76 + b"secret"), scrub)
    assert shown([b"secret"], scrub) == "['***']"
    assert shown_bytes(b"secret\r\n", scrub) == "'***\\r\\n'"
