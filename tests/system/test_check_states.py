"""Owns the tests of what ``check --live`` says and returns in every state the clock can be in.

Real chronyd (always -x), real redis-server; only systemctl is played, for a chronyd that systemd
did not start.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Dict, Iterator, Optional

import psutil  # noqa: F401  loaded here, because nobody may not read it where it is installed
import pytest

from agent.cli import main
from tests.support.chrony_fixtures import StartChronyd, StartTimeServer
from tests.support.chronyd import PATIENCE, Chronyd
from tests.support.command import Answer, clock_agent, configuration
from tests.support.fakes import systemctl
from tests.support.faketime_server import TimeServer
from tests.support.nobody import as_nobody
from tests.support.redis_proxy import FakeRedis, Proxy
from tests.support.redis_server import RedisServer, redis_server
from tests.support.waiting import wait_for

OK, WARNING, CRITICAL, UNKNOWN = 0, 1, 2, 3


class Host:
    """A host made of one chronyd, a systemd that runs it, and any number of references."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def check(
        self,
        chronyd: Chronyd,
        *arguments: str,
        redis: Optional[str] = None,
        service: bool = True,
        grace: str = "0s",
    ) -> Answer:
        """Run ``check --live`` on it."""
        settings: Dict[str, Any] = {
            "grace": grace,
            "chrony": {"program": chronyd.program, "address": str(chronyd.socket)},
            "service": {"enabled": False},
        }
        if service:
            settings["service"] = {"program": systemctl(self._directory, chronyd.pid)}
        if redis is not None:
            settings["references"] = [{"name": "locks", "url": redis, "timeout": "700ms"}]
        config = configuration(self._directory, settings)
        return clock_agent("--config", config, "check", "--live", *arguments)


@pytest.fixture
def host(private_dir: Path) -> Host:
    return Host(private_dir)


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


def wait_for_status(host: Host, chronyd: Chronyd, status: int, word: str) -> Answer:
    """Check until it ends with ``status`` and says ``word``."""

    def come() -> Optional[Answer]:
        answer = host.check(chronyd)
        return answer if answer.status == status and word in answer.stdout else None

    return wait_for(come, timeout=PATIENCE, what=f"{status} and {word!r}", every=0.1)


def test_a_synchronised_clock_is_ok_with_its_sign_word_and_error_bound(
    host: Host, synchronised_chronyd: Chronyd
) -> None:
    answer = host.check(synchronised_chronyd)
    assert answer.status == OK
    assert answer.first.startswith("CLOCK OK - chronyd: ")
    assert "ahead" in answer.first or "behind" in answer.first
    assert "error at most" in answer.first
    assert "|offset=" in answer.first


def test_a_stopped_chronyd_is_critical_and_not_running(
    host: Host, synchronised_chronyd: Chronyd
) -> None:
    pid = synchronised_chronyd.pid
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: synchronised_chronyd.ask("tracking").status != 0, what="chronyd gone")
    answer = host.check(synchronised_chronyd)
    assert answer.status == CRITICAL
    assert "not running" in answer.first or "no chronyd" in answer.first
    assert "hung" not in answer.stdout
    assert "offset=" not in answer.stdout


def test_a_hung_chronyd_is_critical_within_three_seconds_and_hung(
    host: Host, synchronised_chronyd: Chronyd
) -> None:
    synchronised_chronyd.freeze()
    answer = host.check(synchronised_chronyd)
    assert answer.elapsed < 3.0
    assert answer.status == CRITICAL
    assert "hung" in answer.first
    assert "not running" not in answer.stdout


def test_a_chronyd_that_never_synchronised_is_critical_and_shows_no_offset(
    host: Host, start_chronyd: StartChronyd, time_server: TimeServer
) -> None:
    time_server.silent = True
    chronyd = start_chronyd(time_server)
    answer = host.check(chronyd)
    assert answer.status == CRITICAL
    assert "never synchronised" in answer.first
    assert "offset=" not in answer.first
    document = host.check(chronyd, "--json").document
    assert document["offset_ms"] is None
    assert all(reading["offset_ms"] is None for reading in document["readings"])


def test_within_the_grace_after_boot_a_chronyd_that_is_still_starting_is_unknown(
    host: Host, start_chronyd: StartChronyd, time_server: TimeServer
) -> None:
    time_server.silent = True
    answer = host.check(start_chronyd(time_server), grace="1d")
    assert answer.status == UNKNOWN
    assert "never synchronised" in answer.first


def test_a_chronyd_whose_only_source_missed_three_polls_is_critical_and_says_since_when(
    host: Host, synchronised_chronyd: Chronyd, time_server: TimeServer
) -> None:
    time_server.silent = True
    answer = wait_for_status(host, synchronised_chronyd, CRITICAL, "sources-lost")
    assert "since 20" in answer.first


def test_a_chronyd_in_local_mode_is_critical_and_has_only_its_own_clock(
    host: Host, start_chronyd: StartChronyd
) -> None:
    chronyd = start_chronyd(extra=["local stratum 10"])
    chronyd.wait_until(lambda claimed: claimed.reference_id == "7F7F0101", "in local mode")
    answer = host.check(chronyd)
    assert answer.status == CRITICAL
    assert "only its own clock" in answer.first


@pytest.mark.parametrize(
    ("server_ahead", "signed", "word"),
    [(5.0, "-5000", "behind (slow)"), (-5.0, "+5000", "ahead (fast)")],
)
def test_a_clock_five_seconds_off_is_critical_with_the_right_sign(
    host: Host,
    start_chronyd: StartChronyd,
    start_time_server: StartTimeServer,
    server_ahead: float,
    signed: str,
    word: str,
) -> None:
    chronyd = start_chronyd(start_time_server(shift=server_ahead))
    chronyd.wait_until_synchronised()
    answer = host.check(chronyd, "--json")
    assert answer.status == CRITICAL
    assert answer.document["offset_ms"] == pytest.approx(-server_ahead * 1000, abs=5)
    text = host.check(chronyd).first
    assert word in text
    assert signed in text or str(int(signed) - 1) in text or "4999" in text


def test_without_access_to_chronyd_it_is_not_ok_and_says_how_to_grant_it(
    host: Host, synchronised_chronyd: Chronyd, private_dir: Path
) -> None:
    config = configuration(
        private_dir,
        {
            "chrony": {
                "program": synchronised_chronyd.program,
                "address": str(synchronised_chronyd.socket),
            },
            "service": {"enabled": False},
        },
    )
    for file in (private_dir, Path(config)):
        file.chmod(0o755)

    def ask() -> str:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = main(["--config", config, "check", "--live"])
        return f"{status}\n{said.getvalue()}"

    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    ask()  # so that all modules are loaded: nobody may not read them where they are
    for number, handler in kept.items():  # a check takes over how its own process is ended
        signal.signal(number, handler)
    status, first, *more = as_nobody(ask).splitlines()
    assert int(status) in (CRITICAL, UNKNOWN)
    assert "no-access" in first
    assert any("cmdport" in line for line in more)
    assert "not running" not in first


def test_chronyd_and_redis_that_agree_are_ok_and_both_are_shown(
    host: Host, synchronised_chronyd: Chronyd, redis: RedisServer
) -> None:
    answer = host.check(synchronised_chronyd, redis=redis.url)
    assert answer.status == OK
    assert "chronyd: " in answer.first
    assert "Redis locks: " in answer.first


def test_a_redis_22_minutes_off_is_critical_and_says_which_clock_is_suspect(
    host: Host, synchronised_chronyd: Chronyd, redis: RedisServer
) -> None:
    with Proxy(("127.0.0.1", redis.port), shift=-1320.0) as wrong:
        answer = host.check(synchronised_chronyd, redis=wrong.url)
    assert answer.status == CRITICAL
    assert "suspect" in answer.first
    assert "chronyd vouches for this" in answer.first
    assert "22 min" in answer.first
    assert "makestep" not in answer.stdout.replace("stop the workers before `chronyc makestep`", "")


def test_without_chronyd_redis_still_vouches_and_only_the_service_is_critical(
    host: Host, start_chronyd: StartChronyd, redis: RedisServer
) -> None:
    chronyd = start_chronyd()
    os.kill(chronyd.pid, signal.SIGKILL)
    wait_for(lambda: chronyd.ask("tracking").status != 0, what="chronyd gone")
    answer = host.check(chronyd, "--json", redis=redis.url)
    assert answer.status == CRITICAL
    assert answer.condition("service")["verdict"] == "critical"
    assert answer.condition("sync")["verdict"] == "warning"
    assert "Redis locks still vouches" in answer.condition("sync")["summary"]
    assert answer.condition("offset")["verdict"] == "ok"


SECRET = "s3cret-Kn0w-it"


@pytest.fixture
def broken_redis(
    request: pytest.FixtureRequest, redis: RedisServer, tmp_path: Path
) -> Iterator[str]:
    """The URL of a Redis that has the fault named by the parameter."""
    with ExitStack() as running:
        if request.param == "silent":
            proxy = running.enter_context(Proxy(("127.0.0.1", redis.port)))
            proxy.silent = True
            yield proxy.url
        elif request.param == "refused":
            yield "redis://127.0.0.1:1"
        elif request.param == "wrong password":
            server = running.enter_context(redis_server(tmp_path, "--requirepass", "another-one"))
            yield server.login(f":{SECRET}")
        elif request.param == "no permission":
            server = running.enter_context(redis_server(tmp_path))
            server.client().acl_setuser("agent", enabled=True, passwords=[f"+{SECRET}"])
            yield server.login(f"agent:{SECRET}")
        else:
            fake = running.enter_context(FakeRedis(greeting=b"SSH-2.0-OpenSSH_9.2\r\n"))
            yield fake.url


@pytest.mark.parametrize(
    ("broken_redis", "cause"),
    [
        ("silent", "timeout"),
        ("refused", "refused"),
        ("wrong password", "auth"),
        ("no permission", "no-permission"),
        ("not Redis", "not-redis"),
    ],
    indirect=["broken_redis"],
)
def test_a_broken_reference_is_a_warning_that_says_which_fault_and_no_password(
    host: Host, synchronised_chronyd: Chronyd, broken_redis: str, cause: str
) -> None:
    answer = host.check(synchronised_chronyd, redis=broken_redis)
    assert answer.status == WARNING
    assert f"reference {cause}" in answer.first
    assert SECRET not in answer.stdout + answer.stderr
    document = host.check(synchronised_chronyd, "--json", redis=broken_redis)
    assert document.status == WARNING
    assert SECRET not in document.stdout


def test_everything_hung_at_once_is_answered_within_three_seconds(
    host: Host, synchronised_chronyd: Chronyd, redis: RedisServer, private_dir: Path
) -> None:
    synchronised_chronyd.freeze()
    with Proxy(("127.0.0.1", redis.port)) as silent:
        silent.silent = True
        stuck = private_dir / "stuck"
        stuck.write_text("#!/bin/sh\ntrap '' TERM\nsleep 300\n")
        stuck.chmod(0o755)
        config = configuration(
            private_dir,
            {
                "chrony": {
                    "program": synchronised_chronyd.program,
                    "address": str(synchronised_chronyd.socket),
                },
                "service": {"program": str(stuck)},
                "references": [{"name": "locks", "url": silent.url}],
            },
        )
        answer = clock_agent("--config", config, "check", "--live")
    assert answer.elapsed < 3.0
    assert answer.status == CRITICAL
    assert "hung" in answer.first
