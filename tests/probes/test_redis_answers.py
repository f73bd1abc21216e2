"""Owns the proofs about what odd servers say: each a miss that quotes it and tells no password."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Dict, List, Tuple

import pytest

from agent.core.model import Miss
from agent.core.settings import ReferenceSettings
from agent.probes.redis import RedisProbe
from tests.support.redis_proxy import FakeRedis, Words, time_reply
from tests.support.references import ENCODED, PASSWORD, free_of_secrets, good, missed, read

#: The answer to TIME, its cause, and what of it is quoted.
ODD_ANSWERS: Dict[str, Tuple[bytes, str, str]] = {
    "unsupported": (b"-ERR unsupported command\r\n", "no-time", "'-ERR unsupported command'"),
    "unknown": (b"-ERR unknown command 'TIME'\r\n", "no-time", "unknown command"),
    "hung up": (b"", "closed", "while asking for TIME"),
    "OK": (b"+OK\r\n", "absurd", "'+OK'"),
    "an integer": (b":1790000000\r\n", "absurd", "1790000000"),
    "one element": (b"*1\r\n$10\r\n1790000000\r\n", "absurd", "['1790000000']"),
    "empty": (b"*0\r\n", "absurd", "[]"),
    "nil": (b"$-1\r\n", "absurd", "nil"),
    "nil array": (b"*-1\r\n", "absurd", "nil"),
    "words": (b"*2\r\n$3\r\nten\r\n$4\r\npast\r\n", "absurd", "['ten', 'past']"),
    "milliseconds": (b"*2\r\n$13\r\n1790000000123\r\n$1\r\n0\r\n", "absurd", "1790000000123"),
    "microseconds": (b"*2\r\n$10\r\n1790000000\r\n$7\r\n1000000\r\n", "absurd", "1000000"),
    "negative": (b"*2\r\n$10\r\n1790000000\r\n$2\r\n-1\r\n", "absurd", "-1"),
    "next century": (b"*2\r\n$10\r\n9999999999\r\n$1\r\n0\r\n", "absurd", "a hundred years"),
    "no login": (b"-NOAUTH Authentication required.\r\n", "auth-missing", "authentication"),
    "very old": (b"-ERR operation not permitted\r\n", "auth-missing", "authentication"),
    "no right": (b"-NOPERM this user has no permissions to run the 'time' command\r\n",
                 "no-permission", "+time"),
    "loading": (b"-LOADING Redis is loading the dataset in memory\r\n", "loading", "loading"),
    "busy": (b"-BUSY Redis is busy running a script.\r\n", "busy", "script"),
    "HTTP": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "not-redis", "HTTP/1.1 400"),
    "TLS": (b"\x15\x03\x01\x00\x02\x02\x46", "tls-mismatch", "rediss"),
    "twice": (time_reply() * 2, "not-redis", "more than it was asked"),
    "binary": (b"\x00\xff" * 40, "not-redis", "\\x00\\xff"),
    "terminal": (b"-\x1b[31mERR\x07\r\n", "no-time", "\\x1b[31mERR\\x07"),
    "endless": (b"+" + b"x" * 100_000, "not-redis", "too long"),
    "long": (b"-ERR " + b"x" * 4000 + b"\r\n", "no-time", "..."),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD_ANSWERS)
def test_an_odd_answer_to_time_is_a_miss_that_quotes_it(name: str) -> None:
    answer, cause, quoted = ODD_ANSWERS[name]
    with FakeRedis({b"TIME": answer}) as server:
        miss = missed(read(server.url), cause)
    assert quoted in miss.what + "".join(miss.advice)
    assert len(miss.what) < 250


#: Those that can be said slowly; of two answers at once the second then belongs to no question.
IN_BYTES = [name for name in ODD_ANSWERS if name not in ("hung up", "endless", "long", "twice")]


@pytest.mark.parametrize("name", IN_BYTES)
def test_an_odd_answer_in_single_bytes_is_the_same(name: str) -> None:
    answer, cause, _ = ODD_ANSWERS[name]
    with FakeRedis({b"TIME": answer}, trickle=0.0005) as server:
        missed(read(server.url, timeout=10.0), cause)


def test_answers_from_a_cache_are_no_time() -> None:
    cached = time_reply()
    with FakeRedis({b"TIME": cached}, trickle=0.0005) as server:
        missed(read(server.url, timeout=10.0), "unsteady")


#: What a server says unasked, and then hangs up.
GREETINGS: Dict[str, Tuple[bytes, str]] = {
    "full": (b"-ERR max number of clients reached\r\n", "server-full"),
    "protected": (b"-DENIED Redis is running in protected mode because ...\r\n", "protected"),
    "ssh": (b"SSH-2.0-OpenSSH_9.2p1\r\n", "not-redis"),
    "smtp": (b"220 mail ESMTP\r\n", "not-redis"),
}


@pytest.mark.parametrize("login", ["", ":pw@"])
@pytest.mark.parametrize("name", GREETINGS)
def test_what_a_server_says_before_it_hangs_up_is_heard(name: str, login: str) -> None:
    greeting, cause = GREETINGS[name]
    with FakeRedis(greeting=greeting) as server:
        missed(read(f"redis://{login}127.0.0.1:{server.port}"), cause)


#: The answer to AUTH, and its cause.
REFUSED_LOGINS: Dict[str, Tuple[bytes, str]] = {
    "wrong": (b"-WRONGPASS invalid username-password pair or user is disabled.\r\n",
              "auth-refused"),
    "wrong, old": (b"-ERR invalid password\r\n", "auth-refused"),
    "unset": (b"-ERR AUTH <password> called without any password configured for the default "
              b"user. Are you sure your configuration is correct?\r\n", "auth-unset"),
    "unset, old": (b"-ERR Client sent AUTH, but no password is set\r\n", "auth-unset"),
    "no users": (b"-ERR wrong number of arguments for 'auth' command\r\n", "auth-users"),
    "unknown": (b"-ERR unknown command 'AUTH', with args beginning with: "
                b"'S3cr\xe2\x82\xact/@:#'\r\n", "auth-error"),
    "odd": (b"-S3cr\xe2\x82\xact/@:#\r\n", "auth-error"),
    "not OK": (b"$13\r\nS3cr\xe2\x82\xact/@:#\r\n", "not-redis"),
    "rubbish": (b"S3cr\xe2\x82\xact/@:#\r\n", "not-redis"),
    "part of it": (b"S3cr\xe2\x82", "not-redis"),
    "loading": (b"-LOADING Redis is loading the dataset in memory\r\n", "loading"),
    "hung up": (b"", "closed"),
}  # fmt: skip


@pytest.mark.parametrize("user", ["", "ada"])
@pytest.mark.parametrize("name", REFUSED_LOGINS)
def test_a_refused_login_is_told_apart_and_tells_no_password(name: str, user: str) -> None:
    answer, cause = REFUSED_LOGINS[name]
    with FakeRedis({b"AUTH": answer}) as server:
        miss = missed(read(f"redis://{user}:{ENCODED}@127.0.0.1:{server.port}"), cause)
        assert [words[0] for words in server.commands] == [b"AUTH"]
    free_of_secrets(miss)
    if name == "wrong" and user:
        assert "'ada'" in miss.what


@pytest.mark.parametrize(
    "echo",
    [
        b"-ERR you said " + PASSWORD.encode() + b"\r\n",
        b"-ERR you said " + ENCODED.encode() + b"\r\n",
        b"*1\r\n$13\r\n" + PASSWORD.encode() + b"\r\n",
        b"rubbish " + PASSWORD.encode(),
    ],
)
def test_a_password_that_is_repeated_later_is_struck_out(echo: bytes) -> None:
    with FakeRedis({b"TIME": echo}) as server:
        miss = read(f"redis://:{ENCODED}@127.0.0.1:{server.port}")
    assert isinstance(miss, Miss)
    assert "***" in miss.what
    free_of_secrets(miss)


class TestPasswordFile:
    def sent(self, path: Path, url_login: str = "") -> List[Words]:
        with FakeRedis() as server:
            good(read(f"redis://{url_login}127.0.0.1:{server.port}", password_file=str(path)))
        return [words for words in server.commands if words[0] == b"AUTH"]

    @pytest.mark.parametrize("content", [b"p w", b"p w\n", b"p w\r\n", b"p w\nsecond line\n"])
    def test_its_first_line_is_the_password(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "password"
        path.write_bytes(content)
        assert self.sent(path) == [[b"AUTH", b"p w"]]

    def test_it_goes_before_the_password_in_the_url(self, tmp_path: Path) -> None:
        path = tmp_path / "password"
        path.write_bytes(b"\xff\x00new")
        assert self.sent(path, "ada:old@") == [[b"AUTH", b"ada", b"\xff\x00new"]]

    def test_a_change_is_seen_by_the_next_reading(self, tmp_path: Path) -> None:
        path = tmp_path / "password"
        with FakeRedis() as server:
            settings = ReferenceSettings(name="locks", url=server.url, password_file=str(path))
            probe = RedisProbe(settings)
            missed(probe.read(), "password-file")
            for word in (b"one", b"two"):
                path.write_bytes(word)
                good(probe.read())
        logins = [words for words in server.commands if words[0] == b"AUTH"]
        assert logins == [[b"AUTH", b"one"], [b"AUTH", b"two"]]

    @pytest.mark.parametrize("content", [b"", b"\n", b"\nsecond\n"])
    def test_an_empty_first_line_is_a_miss(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "password"
        path.write_bytes(content)
        miss = missed(read("redis://127.0.0.1:1", password_file=str(path)), "password-file")
        assert "empty" in miss.what

    def test_what_cannot_be_read_is_a_miss(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        for path in (tmp_path / "none", tmp_path, pipe, tmp_path / "x" / "y", "a\0b"):
            missed(read("redis://127.0.0.1:1", password_file=str(path)), "password-file")

    def test_a_password_in_it_is_never_told(self, tmp_path: Path) -> None:
        path = tmp_path / "password"
        path.write_text(PASSWORD)
        for echo in (b"-ERR " + PASSWORD.encode() + b"\r\n", PASSWORD.encode()):
            with FakeRedis({b"TIME": echo}) as server:
                miss = read(server.url, password_file=str(path))
            assert isinstance(miss, Miss)
            free_of_secrets(miss)
