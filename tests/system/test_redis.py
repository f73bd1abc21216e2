"""Owns the proofs about the Redis probe with real servers: plain, locked, full, busy, stopped."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Tuple

import pytest
import redis

from agent.core.resp import ErrorReply, Reply, SimpleReply, encode
from agent.probes.redis_wire import Wire, connect
from agent.resolve import Address
from tests.support import needs
from tests.support.redis_proxy import Proxy
from tests.support.redis_server import RedisServer, redis_sentinel, redis_server
from tests.support.references import (
    ENCODED,
    PASSWORD,
    SLACK,
    free_of_secrets,
    good,
    missed,
    read,
)
from tests.support.waiting import wait_for

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """One open server for the tests that leave it as it is."""
    with redis_server(tmp_path_factory.mktemp("redis")) as started:
        yield started


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    """A server whose default user has ``PASSWORD``, and a user for each way to be let in."""
    with redis_server(tmp_path_factory.mktemp("redis"), "--requirepass", PASSWORD) as started:
        with started.client(password=PASSWORD) as client:
            client.execute_command("ACL", "SETUSER", "ada", "on", f">{PASSWORD}", "+time")
            client.execute_command("ACL", "SETUSER", "bob", "on", f">{PASSWORD}", "+ping")
            client.execute_command("ACL", "SETUSER", "off", "off", f">{PASSWORD}", "+time")
            client.execute_command("ACL", "SETUSER", "any", "on", "nopass", "+time")
        yield started


def calls(client: redis.Redis) -> Dict[str, int]:
    """How often each command was run, those of ``client`` itself left out."""
    own = {"info", "config|resetstat", "client|setinfo", "hello", "command|docs"}
    stats: Any = client.info("commandstats")  # Any: redis-py knows no better
    counted = {name[len("cmdstat_") :]: int(each["calls"]) for name, each in stats.items()}
    return {name: count for name, count in counted.items() if name not in own}


@pytest.mark.parametrize("form", ["127.0.0.1", "localhost"])
def test_a_server_on_this_host_shows_this_clock(server: RedisServer, form: str) -> None:
    reading = good(read(f"redis://{form}:{server.port}"))
    assert abs(reading.offset) <= reading.uncertainty
    assert reading.uncertainty < 0.05


def test_a_unix_socket_shows_this_clock(server: RedisServer) -> None:
    reading = good(read(f"unix://{server.socket}"))
    assert abs(reading.offset) <= reading.uncertainty
    assert reading.detail["address"] == str(server.socket)


def test_another_client_is_told_the_same_time(server: RedisServer) -> None:
    """redis-py stands a round trip away, so it can contradict the reading but not by less."""
    reading = good(read(server.url))
    with server.client() as client:
        client.ping()
        before = time.time()
        seconds, microseconds = client.time()
        after = time.time()
    theirs = (before + after) / 2 - (seconds + microseconds / 1e6)
    assert abs(theirs - reading.offset) <= (after - before) / 2 + reading.uncertainty


def as_redis_py(reply: Reply) -> object:
    """A reply as redis-py hands it over when it does not interpret it."""
    if isinstance(reply, SimpleReply):
        return reply.text
    if isinstance(reply, ErrorReply):
        return "error"
    if isinstance(reply, list):
        return [as_redis_py(element) for element in reply]
    return reply


def test_replies_read_as_another_client_reads_them(server: RedisServer) -> None:
    """Every kind of reply that RESP2 has, asked of a real server by two clients."""
    words: List[Tuple[bytes, ...]] = [
        (b"PING",),
        (b"ECHO", bytes(range(256))),
        (b"ECHO", b""),
        (b"ECHO", b"\r\n$-1\r\n"),
        (b"STRLEN", b"none"),
        (b"DECRBY", b"number", b"9223372036854775806"),
        (b"GET", b"none"),
        (b"LRANGE", b"none", b"0", b"-1"),
        (b"BLPOP", b"none", b"0.01"),
        (b"MGET", b"none", b"number", b"none"),
        (b"EVAL", b"return {1, {2, 'x', {}}, false}", b"0"),
        (b"NO", b"such", b"command"),
        (b"GET",),
    ]
    address = Address(socket.AF_INET, ("127.0.0.1", server.port))
    deadline = time.monotonic() + 20
    wire = Wire(connect([address], deadline)[0], deadline)
    with redis.Redis(port=server.port, protocol=2) as client:
        client.response_callbacks.clear()
        for command in words:
            client.delete("number")
            try:
                theirs = client.execute_command(*command)
            except redis.ResponseError:
                theirs = "error"
            client.delete("number")
            assert as_redis_py(wire.ask(encode(*command), "asking").reply) == theirs, command
    wire.close()


def test_a_hundred_readings_leave_no_connection_behind(server: RedisServer) -> None:
    with server.client() as client:
        for _ in range(100):
            good(read(server.url))
        wait_for(lambda: client.info("clients")["connected_clients"] == 1)


def test_the_server_sees_nothing_but_time(tmp_path: Path) -> None:
    with redis_server(tmp_path, "--requirepass", "pw") as locked:
        with locked.client(password="pw") as client, client.monitor() as monitor:
            with locked.client(password="pw") as other:
                other.config_resetstat()
                good(read(f"redis://:pw@127.0.0.1:{locked.port}/1", samples=2))
                other.echo("the end")
                assert calls(other) == {"auth": 1, "time": 3, "echo": 1}
            seen = [each["command"] for each in _until_echo(monitor)]
        assert [each for each in seen if each.split()[0] not in _OWN_COMMANDS] == ["TIME"] * 3


#: What the other client says for itself.
_OWN_COMMANDS = {"HELLO", "AUTH", "CLIENT", "CONFIG", "INFO", "ECHO", "COMMAND"}


def _until_echo(monitor: redis.client.Monitor) -> Iterator[Dict[str, str]]:
    for command in monitor.listen():  # type: ignore[no-untyped-call]
        yield command
        if command["command"].startswith("ECHO"):
            return


class TestLogin:
    """Every way to be let in or turned away; the password is never told."""

    def test_the_right_password_lets_in(self, locked: RedisServer) -> None:
        good(read(locked.login(f":{ENCODED}")))

    def test_a_password_file_lets_in(self, locked: RedisServer, tmp_path: Path) -> None:
        (tmp_path / "password").write_text(PASSWORD + "\n")
        good(read(locked.url, password_file=str(tmp_path / "password")))

    @pytest.mark.parametrize("database", ["", "/0", "/1"])
    def test_a_user_who_may_do_nothing_but_time_is_enough(
        self, locked: RedisServer, database: str
    ) -> None:
        good(read(locked.login(f"ada:{ENCODED}") + database))

    def test_a_user_who_needs_no_password_needs_none(self, locked: RedisServer) -> None:
        good(read(locked.login("any")))

    def test_by_unix_socket_it_is_the_same(self, locked: RedisServer) -> None:
        good(read(f"unix://ada:{ENCODED}@{locked.socket}"))

    @pytest.mark.parametrize(
        ("login", "cause"),
        [
            (f":{ENCODED}x", "auth-refused"),
            (f"ada:{ENCODED}x", "auth-refused"),
            (f"nobody:{ENCODED}", "auth-refused"),
            (f"off:{ENCODED}", "auth-refused"),
            ("ada", "auth-refused"),
            (f"bob:{ENCODED}", "no-permission"),
        ],
    )
    def test_a_wrong_login_is_told_apart(self, locked: RedisServer, login: str, cause: str) -> None:
        with locked.client(password=PASSWORD) as client:
            client.config_resetstat()
            miss = missed(read(locked.login(login)), cause)
            # one attempt only, else a host that asks every few minutes looks like an attack
            assert calls(client).get("auth") == 1
        free_of_secrets(miss)

    def test_no_password_where_one_is_wanted_is_said(self, locked: RedisServer) -> None:
        missed(read(locked.url), "auth-missing")

    def test_a_password_where_none_is_set_is_said(self, server: RedisServer) -> None:
        free_of_secrets(missed(read(server.login(f":{ENCODED}")), "auth-unset"))

    def test_the_advice_for_a_missing_right_grants_it(self, locked: RedisServer) -> None:
        with locked.client(password=PASSWORD) as client:
            client.execute_command("ACL", "SETUSER", "eve", "on", f">{PASSWORD}")
            advice = missed(read(locked.login(f"eve:{ENCODED}")), "no-permission").advice[0]
            command = advice[advice.index("ACL") :].split()
            client.execute_command(*command)
        good(read(locked.login(f"eve:{ENCODED}")))


class TestTrouble:
    """A server in trouble is named for what it is, and read again when it is over."""

    def test_a_full_server(self, tmp_path: Path) -> None:
        with redis_server(tmp_path, "--maxclients", "5") as full, full.client() as client:
            client.ping()
            taken = [socket.create_connection(("127.0.0.1", full.port)) for _ in range(4)]
            wait_for(lambda: client.info("clients")["connected_clients"] == 5)
            for _ in range(5):
                missed(read(full.url), "server-full")
                missed(read(full.login("ada:pw")), "server-full")
            for each in taken:
                each.close()
            wait_for(lambda: client.info("clients")["connected_clients"] == 1)
            good(read(full.url))

    def test_a_server_that_is_stopped(self, tmp_path: Path) -> None:
        with redis_server(tmp_path) as stopped:
            good(read(stopped.url))
            os.kill(stopped.pid, signal.SIGSTOP)
            started = time.monotonic()
            missed(read(stopped.url, timeout=0.3), "timeout")
            missed(read(f"unix://{stopped.socket}", timeout=0.3), "timeout")
            assert time.monotonic() - started < 0.6 + SLACK
            os.kill(stopped.pid, signal.SIGCONT)
            good(read(stopped.url))

    def test_a_server_that_has_ended(self, tmp_path: Path) -> None:
        with redis_server(tmp_path) as ended:
            with ended.client() as client:
                client.execute_command("CLIENT", "NO-EVICT", "off")
                os.kill(ended.pid, signal.SIGTERM)
            wait_for(lambda: not ended.socket.exists())
            missed(read(ended.url), "refused")
            missed(read(f"unix://{ended.socket}"), "no-such-file")

    def test_a_server_busy_with_a_script(self, tmp_path: Path) -> None:
        with redis_server(tmp_path, "--busy-reply-threshold", "10") as busy:
            loop = threading.Thread(target=_run_for_ever, args=(busy,))
            loop.start()
            try:
                wait_for(lambda: getattr(read(busy.url), "cause", "") == "busy")
            finally:
                with busy.client() as client:
                    client.script_kill()
                loop.join(10)
            good(read(busy.url))


def _run_for_ever(server: RedisServer) -> None:
    with server.client() as client, pytest.raises(redis.ResponseError):
        client.eval("while true do end", 0)


class TestProxy:
    """The real server behind a slow or false way."""

    @pytest.mark.parametrize("shift", [1320.0, -1320.0, 0.005, -0.005])
    def test_a_shifted_clock_is_seen_with_its_sign(self, server: RedisServer, shift: float) -> None:
        with Proxy(("127.0.0.1", server.port), shift=shift) as proxy:
            reading = good(read(proxy.url))
        assert abs(reading.offset + shift) <= reading.uncertainty + 1e-6
        assert reading.offset * shift < 0

    def test_200_ms_both_ways_are_no_offset(self, server: RedisServer) -> None:
        with Proxy(("127.0.0.1", server.port), there=0.2, back=0.2) as proxy:
            reading = good(read(proxy.url))
        assert abs(reading.offset) < 0.05
        assert reading.uncertainty >= 0.2

    @pytest.mark.parametrize("way", ["there", "back"])
    def test_400_ms_one_way_prove_nothing(self, server: RedisServer, way: str) -> None:
        with Proxy(("127.0.0.1", server.port)) as proxy:
            setattr(proxy, way, 0.4)
            reading = good(read(proxy.url, timeout=2.0))
        assert reading.uncertainty >= 0.2
        assert reading.lower <= 0

    def test_random_delays_leave_the_best_of_them(self, server: RedisServer) -> None:
        dice = random.Random(1)
        with Proxy(("127.0.0.1", server.port), there=lambda: dice.uniform(0, 0.3)) as proxy:
            reading = good(read(proxy.url, timeout=3.0))
        assert abs(reading.offset) <= reading.uncertainty


class TestSentinel:
    def test_the_master_is_found(self, server: RedisServer, tmp_path: Path) -> None:
        with redis_sentinel(tmp_path, server) as sentinel:
            url = f"redis+sentinel://127.0.0.1:{sentinel.port}/mymaster"
            reading = good(read(url))
            assert reading.detail["address"] == f"127.0.0.1:{server.port}"
            missed(read(url.replace("mymaster", "other")), "no-master")
            missed(read(f"redis://127.0.0.1:{sentinel.port}"), "no-time")
        missed(read(url), "refused")
        missed(read(f"redis+sentinel://127.0.0.1:{server.port}/mymaster"), "not-sentinel")

    def test_locked_sentinels_and_masters_take_the_same_login(self, tmp_path: Path) -> None:
        with redis_server(tmp_path, "--requirepass", "pw") as master:
            lines = ("requirepass pw", "sentinel auth-pass mymaster pw")
            with redis_sentinel(tmp_path, master, *lines) as sentinel:
                servers = f"127.0.0.1:{sentinel.port}/mymaster"
                good(read(f"redis+sentinel://:pw@{servers}"))
                missed(read(f"redis+sentinel://:no@{servers}"), "auth-refused")
                missed(read(f"redis+sentinel://{servers}"), "auth-missing")


_SILENT_RESOLVER = """
import os, socket, time
from agent.core.settings import ReferenceSettings
from agent.probes.redis import RedisProbe
servers = []
for host in ("127.0.0.1", "127.0.0.2"):
    servers.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    servers[-1].bind((host, 53))
probe = RedisProbe(ReferenceSettings(name="locks", url="redis://lock-store.example", timeout=0.3))
for _ in range(4):
    started = time.monotonic()
    miss = probe.read()
    in_time = time.monotonic() - started < 0.3 + {slack}
    print(miss.cause, in_time, len(os.listdir("/proc/self/task")), miss.what)
print("asked:", bool(servers[0].recv(512, socket.MSG_DONTWAIT)))
"""


def test_a_system_resolver_that_is_silent_holds_nobody(tmp_path: Path) -> None:
    needs.root()
    resolv = tmp_path / "resolv.conf"
    resolv.write_text("nameserver 127.0.0.1\nnameserver 127.0.0.2\n")
    script = tmp_path / "script.py"
    script.write_text(_SILENT_RESOLVER.format(slack=SLACK))
    inside = f"ip link set lo up; mount --bind {resolv} /etc/resolv.conf; exec {sys.executable} -"
    with script.open() as program:
        done = subprocess.run(
            [needs.program("unshare"), "--net", "--mount", "sh", "-ec", inside],
            stdin=program,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 0, done.stderr
    *lines, last = done.stdout.splitlines()
    assert last == "asked: True"
    assert len(lines) == 4
    for line in lines:
        # two threads: this one, and the one look-up that is under way
        assert line.startswith("name True 2 the name lock-store.example cannot be looked up"), lines
