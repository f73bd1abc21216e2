"""Owns the tests of the chrony probe against a real chronyd, in every state one can be in."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import List, Optional, Sequence

import psutil  # noqa: F401  loaded here, because nobody may not read it where it is installed
import pytest

from agent.core.model import Miss, Observation, Policy, Reading
from agent.core.settings import ChronySettings
from agent.probes.chrony import ChronyProbe
from tests.support import needs
from tests.support.chrony_fixtures import StartChronyd, StartTimeServer
from tests.support.chronyd import PATIENCE, Chronyd
from tests.support.faketime_server import TimeServer
from tests.support.nobody import as_nobody
from tests.support.waiting import wait_for
from tests.support.wall import Wall


def probe(daemon: Chronyd) -> ChronyProbe:
    return ChronyProbe(daemon.settings, Policy())


def wait_for_miss(asked: ChronyProbe, causes: Sequence[str]) -> Miss:
    def come() -> Optional[Miss]:
        seen = asked.read()
        return seen if isinstance(seen, Miss) and seen.cause in causes else None

    return wait_for(come, timeout=PATIENCE, what=f"a miss: {causes}", every=0.1)


def test_a_synchronised_chronyd_gives_a_reading(synchronised_chronyd: Chronyd) -> None:
    reading = probe(synchronised_chronyd).read()
    assert isinstance(reading, Reading)
    assert abs(reading.offset) < 0.005
    assert 0 < reading.uncertainty < 0.02
    assert reading.detail["reference"] == "127.0.0.1"
    assert reading.detail["stratum"] == 2


@pytest.mark.parametrize("behind", [5.0, -5.0, 0.25, 7200.0, -86400.0])
def test_a_clock_off_by_a_known_amount_has_its_sign_and_size(
    start_chronyd: StartChronyd, start_time_server: StartTimeServer, behind: float
) -> None:
    daemon = start_chronyd(start_time_server(shift=behind))
    daemon.wait_until_synchronised()
    reading = probe(daemon).read()
    assert isinstance(reading, Reading)
    assert reading.offset == pytest.approx(-behind, abs=0.005)
    assert reading.uncertainty < 0.05


def test_a_source_with_an_ipv6_address_is_read(
    start_chronyd: StartChronyd, start_time_server: StartTimeServer
) -> None:
    daemon = start_chronyd(start_time_server("::1"))
    daemon.wait_until_synchronised()
    reading = probe(daemon).read()
    assert isinstance(reading, Reading)
    assert reading.detail["reference"] == "::1"


def test_a_stopped_chronyd_is_not_running(synchronised_chronyd: Chronyd) -> None:
    synchronised_chronyd.stop()
    seen = probe(synchronised_chronyd).read()
    assert isinstance(seen, Miss)
    assert seen.cause == "not-running"
    assert "not running" in seen.what


def test_a_killed_chronyd_is_not_running_though_its_socket_is_left(
    synchronised_chronyd: Chronyd,
) -> None:
    os.kill(synchronised_chronyd.pid, signal.SIGKILL)
    seen = wait_for_miss(probe(synchronised_chronyd), ["not-running"])
    assert synchronised_chronyd.socket.exists()
    assert seen.what


def test_a_hung_chronyd_is_said_to_be_hung_within_three_seconds(
    synchronised_chronyd: Chronyd,
) -> None:
    asked = probe(synchronised_chronyd)
    synchronised_chronyd.freeze()
    started = time.monotonic()
    seen = asked.read()
    assert time.monotonic() - started < 3.0
    assert isinstance(seen, Miss)
    assert seen.cause == "hung"
    assert "not running" not in seen.what
    assert f"process {synchronised_chronyd.pid} is stopped" in seen.what
    assert f"kill -CONT {synchronised_chronyd.pid}" in seen.advice[0]


def test_a_chronyd_that_stays_hung_is_hung_each_time_and_comes_back_by_itself(
    synchronised_chronyd: Chronyd,
) -> None:
    asked = probe(synchronised_chronyd)
    synchronised_chronyd.freeze()
    # after ten unanswered questions its queue is full, and chronyc gives up without waiting
    seen = [asked.read() for _ in range(13)]
    assert {miss.cause for miss in seen if isinstance(miss, Miss)} == {"hung"}
    assert all(isinstance(miss, Miss) for miss in seen)
    synchronised_chronyd.thaw()
    wait_for(lambda: isinstance(asked.read(), Reading), timeout=PATIENCE, what="a reading")


def test_a_chronyd_whose_server_never_answers_is_never_synchronised(
    start_chronyd: StartChronyd, time_server: TimeServer
) -> None:
    time_server.silent = True
    daemon = start_chronyd(time_server)
    wait_for(lambda: time_server.asked > 3, timeout=PATIENCE, what="four questions")
    seen = probe(daemon).read()
    assert isinstance(seen, Miss)
    assert seen.cause == "never-synchronised"
    assert "no answer from its only source: 127.0.0.1" in seen.what
    assert not any("offset" in name for name in seen.detail)


def test_a_chronyd_without_any_source_is_never_synchronised(start_chronyd: StartChronyd) -> None:
    seen = probe(start_chronyd()).read()
    assert isinstance(seen, Miss)
    assert seen.cause == "never-synchronised"
    assert "no source" in seen.what


def test_a_chronyd_whose_server_is_not_synchronised_itself_never_is(
    start_chronyd: StartChronyd, start_time_server: StartTimeServer
) -> None:
    server = start_time_server(leap=3)
    daemon = start_chronyd(server)
    wait_for(lambda: server.asked > 3, timeout=PATIENCE, what="four questions")
    seen = probe(daemon).read()
    assert isinstance(seen, Miss)
    assert seen.cause == "never-synchronised"


def test_three_missed_polls_of_the_only_source_are_lost_sources_and_an_answer_ends_it(
    synchronised_chronyd: Chronyd, time_server: TimeServer
) -> None:
    asked = probe(synchronised_chronyd)
    time_server.silent = True
    seen = wait_for_miss(asked, ["sources-lost"])
    assert "no answer from its only source since 20" in seen.what
    # all the while chronyd itself says that everything is fine
    assert synchronised_chronyd.tracking().leap_status == "Normal"
    time_server.silent = False
    wait_for(lambda: isinstance(asked.read(), Reading), timeout=PATIENCE, what="a reading")


def test_a_source_that_ceases_to_be_synchronised_is_no_longer_believed(
    synchronised_chronyd: Chronyd, time_server: TimeServer
) -> None:
    asked = probe(synchronised_chronyd)
    time_server.leap = 3
    seen = wait_for_miss(asked, ("sources-lost", "unsynchronised"))
    assert synchronised_chronyd.tracking().leap_status == "Normal", seen


def test_two_servers_that_contradict_each_other_are_no_majority(
    start_chronyd: StartChronyd, start_time_server: StartTimeServer
) -> None:
    daemon = start_chronyd(start_time_server(), start_time_server("127.0.0.2", shift=30.0))
    wait_for_miss(probe(daemon), ["no-majority"])


@pytest.mark.parametrize("step", [1320.0, -1320.0])
def test_a_clock_set_behind_its_back_is_said_as_soon_as_chronyd_sees_it(
    start_chronyd: StartChronyd, time_server: TimeServer, tmp_path: Path, step: float
) -> None:
    wall = Wall(tmp_path)
    # polled so slowly that even a busy machine asks before three polls are missed
    server = f"server {time_server.host} port {time_server.port} iburst minpoll 3 maxpoll 3"
    daemon = start_chronyd(extra=[server], environment=wall.environment)
    daemon.wait_until_synchronised()
    asked = probe(daemon)
    assert isinstance(asked.read(), Reading)
    time_server.silent = True  # else it has measured the new offset before anybody asks
    wall.shift(step)
    wait_for_miss(asked, ["clock-stepped"])


def test_local_mode_is_only_its_own_clock(start_chronyd: StartChronyd) -> None:
    daemon = start_chronyd(extra=["local stratum 10"])
    daemon.wait_until(lambda claimed: claimed.reference_id == "7F7F0101", "in local mode")
    seen = probe(daemon).read()
    assert isinstance(seen, Miss)
    assert seen.cause == "local-mode"
    assert "only its own clock" in seen.what


def test_a_command_socket_closed_to_this_user_is_no_access_and_says_how_to_grant_it(
    start_chronyd: StartChronyd,
) -> None:
    needs.root()
    daemon = start_chronyd()

    def ask() -> str:
        seen = probe(daemon).read()
        assert isinstance(seen, Miss)
        return "\n".join((seen.cause, seen.what, *seen.advice))

    cause, what, *advice = as_nobody(ask).splitlines()
    assert cause == "no-access"
    assert str(daemon.socket) in what
    assert "not running" not in what
    assert any("cmdport" in line for line in advice)


def test_a_stopped_chronyd_is_not_running_for_an_unprivileged_user_too(
    start_chronyd: StartChronyd,
) -> None:
    needs.root()
    daemon = start_chronyd()
    daemon.stop()

    def ask() -> str:
        seen = probe(daemon).read()
        return seen.cause if isinstance(seen, Miss) else "trusted"

    assert as_nobody(ask) == "not-running"


def test_a_configured_address_nobody_answers_at_is_not_running(private_dir: Path) -> None:
    settings = ChronySettings(program=needs.program("chronyc"), address=f"{private_dir}/none.sock")
    seen = ChronyProbe(settings, Policy()).read()
    assert isinstance(seen, Miss)
    assert seen.cause == "not-running"


def test_many_probes_at_once_do_not_disturb_each_other_and_leave_no_sockets(
    synchronised_chronyd: Chronyd,
) -> None:
    seen: List[Observation] = []
    asking = [
        threading.Thread(target=lambda: seen.append(probe(synchronised_chronyd).read()))
        for _ in range(20)
    ]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert [type(answer) for answer in seen] == [Reading] * 20
    assert not list(synchronised_chronyd.directory.glob("chronyc*"))
