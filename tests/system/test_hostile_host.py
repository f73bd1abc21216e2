"""Owns the tests of a host that has nothing left to give, or a clock at either end of time."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from typing import Iterator

import pytest

from tests.support.command import clock_agent, configuration
from tests.support.daemon import Daemon
from tests.support.fakes import Chronyc
from tests.support.redis_proxy import FakeRedis
from tests.support.waiting import wait_for
from tests.support.wall import Wall

#: Files the daemon holds open anyway, and fewer than a helper program needs on top.
_FEW_FILES = 2


@pytest.fixture
def daemon(private_dir: Path) -> Iterator[Daemon]:
    chronyc = Chronyc(private_dir / "chronyc")
    started = Daemon(
        private_dir, {"chrony": {"program": chronyc.path}, "service": {"enabled": False}}
    )
    yield started
    started.close()


def test_a_daemon_without_files_to_open_says_so_and_recovers(daemon: Daemon) -> None:
    daemon.start()
    daemon.wait_for_readings(2)
    usual = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir(f"/proc/{daemon.pid}/fd")))
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (highest + _FEW_FILES, usual[1]))
    wait_for(lambda: "sync shortage" in daemon.readings[-1], what="a reading without chronyc")
    daemon.wait_for_readings(len(daemon.readings) + 20)
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, usual)
    wait_for(lambda: daemon.readings[-1].startswith("CLOCK OK"), what="a good reading")
    assert "Traceback" not in "\n".join(daemon.output)
    assert max(map(int, os.listdir(f"/proc/{daemon.pid}/fd"))) <= highest + 10
    assert daemon.stop() == 0


@pytest.mark.parametrize(
    ("moment", "written"),
    [
        (90, "1970-01-01T00:01:"),
        (2147483730, "2038-01-19T03:15:"),
        (4294967430, "2106-02-07T06:30:"),
    ],
)
def test_a_clock_at_either_end_of_time_is_read_to_the_millisecond(
    private_dir: Path, moment: int, written: str
) -> None:
    wall = Wall(private_dir)
    chronyc = Chronyc(private_dir / "chronyc", ["miss"])
    shift = round(moment - time.time())
    wall.shift(shift)
    with FakeRedis() as redis:
        settings = {
            "chrony": {"program": chronyc.path},
            "service": {"enabled": False},
            "references": [{"name": "locks", "url": f"redis://127.0.0.1:{redis.port}"}],
        }
        config = configuration(private_dir, settings)
        answer = clock_agent(
            "--config", config, "check", "--live", "--json", environment=wall.environment
        )
    assert answer.status == 2
    wrong = abs(answer.document["offset_ms"] - shift * 1000)
    assert wrong <= answer.document["uncertainty_ms"] + 1
    assert answer.document["taken_at"].startswith(written)
    assert "e+" not in answer.document["summary"]
