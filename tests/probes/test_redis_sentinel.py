"""Owns the proofs about Sentinels: whom they name is asked, and what they do wrong is said."""

from __future__ import annotations

import time

import pytest

from tests.support.ports import free_port
from tests.support.redis_proxy import FakeRedis
from tests.support.references import SLACK, good, missed, read


def sentinels(*ports: int, login: str = "", service: str = "mymaster") -> str:
    servers = ",".join(f"127.0.0.1:{port}" for port in ports)
    return f"redis+sentinel://{login}{servers}/{service}"


def master_is(host: str, port: int) -> bytes:
    return b"*2\r\n$%d\r\n%s\r\n$%d\r\n%d\r\n" % (len(host), host.encode(), len(str(port)), port)


class TestSentinel:
    def test_the_master_is_asked_for_and_then_asked(self) -> None:
        with FakeRedis() as master:
            answer = master_is("127.0.0.1", master.port)
            with FakeRedis({b"SENTINEL": answer}) as sentinel:
                reading = good(read(sentinels(sentinel.port), samples=1))
        assert sentinel.commands == [[b"SENTINEL", b"get-master-addr-by-name", b"mymaster"]]
        assert master.commands == [[b"TIME"]] * 2
        assert reading.detail["address"] == f"127.0.0.1:{master.port}"

    def test_the_login_is_for_the_master_unless_the_sentinel_wants_it_too(self) -> None:
        with FakeRedis() as master:
            answer = master_is("127.0.0.1", master.port)
            answers = iter([b"-NOAUTH Authentication required.\r\n", answer])
            with FakeRedis({b"SENTINEL": answer}) as open_one:
                good(read(sentinels(open_one.port, login="ada:pw@")))
            with FakeRedis({b"SENTINEL": lambda _: next(answers)}) as closed_one:
                good(read(sentinels(closed_one.port, login="ada:pw@")))
        assert [words[0] for words in open_one.commands] == [b"SENTINEL"]
        assert [words[0] for words in closed_one.commands] == [b"SENTINEL", b"AUTH", b"SENTINEL"]
        assert master.commands[0] == [b"AUTH", b"ada", b"pw"]

    def test_a_dead_and_a_silent_one_are_passed_over(self) -> None:
        with FakeRedis() as master, FakeRedis({b"SENTINEL": None}) as silent:
            answer = master_is("127.0.0.1", master.port)
            with FakeRedis({b"SENTINEL": answer}) as sentinel:
                good(read(sentinels(free_port(), silent.port, sentinel.port)))

    def test_a_master_that_is_not_known_is_said_to_be(self) -> None:
        with FakeRedis({b"SENTINEL": b"*-1\r\n"}) as sentinel:
            miss = missed(read(sentinels(sentinel.port, free_port())), "no-master")
        assert "'mymaster'" in miss.what
        assert f"127.0.0.1:{sentinel.port} (one of 2 asked)" in miss.what

    def test_a_dead_master_is_named(self) -> None:
        port = free_port()
        with FakeRedis({b"SENTINEL": master_is("127.0.0.1", port)}) as sentinel:
            miss = missed(read(sentinels(sentinel.port)), "refused")
        assert f"Redis at 127.0.0.1:{port} (by Sentinel)" in miss.what
        assert f"-p {port}" in miss.advice[0]

    @pytest.mark.parametrize(
        "answer",
        [
            b"-ERR unknown command 'SENTINEL'\r\n",
            b"+OK\r\n",
            b"*0\r\n",
            b"*2\r\n$1\r\nh\r\n$1\r\n0\r\n",
            b"*2\r\n$1\r\nh\r\n$5\r\n65536\r\n",
            b"*2\r\n$1\r\nh\r\n$1\r\nx\r\n",
            b"*2\r\n$0\r\n\r\n$1\r\n1\r\n",
            b"*2\r\n$2\r\n\xc3\xbc\r\n$1\r\n1\r\n",
            b"*2\r\n:1\r\n:1\r\n",
        ],
    )
    def test_an_answer_that_is_no_address_is_a_miss(self, answer: bytes) -> None:
        with FakeRedis({b"SENTINEL": answer}) as sentinel:
            missed(read(sentinels(sentinel.port)), "not-sentinel")

    def test_one_deadline_holds_for_all_of_them(self) -> None:
        with FakeRedis({b"SENTINEL": None}) as silent:
            started = time.monotonic()
            missed(read(sentinels(*[silent.port] * 3), timeout=0.4), "timeout")
            assert time.monotonic() - started < 0.4 + SLACK
