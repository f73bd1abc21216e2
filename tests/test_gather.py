"""Owns the tests of taking all readings at once, for the day a probe breaks its promises."""

from __future__ import annotations

import threading
from typing import Iterator, List

import pytest

from agent.core.model import Miss, Observation, Reading, ServiceState, Verdict
from agent.gather import Gathering, Probes
from tests.support.limits import no_more_threads
from tests.support.waiting import wait_for

READING = Reading(source="chronyd", offset=0.0, uncertainty=0.001, taken_at=1.0)


class Chronyd:
    """A probe that promises to be back at once, and does what it is told."""

    source = "chronyd"
    timeout = 0.0

    def __init__(self) -> None:
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.error = ""
        self.calls = 0

    def read(self) -> Observation:
        self.calls += 1
        assert self.goes_on.wait(30)
        if self.error:
            raise OSError(24, self.error)
        return READING


class Service:
    """The same for the time service, always with a defect."""

    source = "service"
    timeout = 0.0

    def read(self) -> ServiceState:
        raise ValueError("not a number")


@pytest.fixture
def chronyd() -> Iterator[Chronyd]:
    probe = Chronyd()
    yield probe
    probe.goes_on.set()


def gathered(gathering: Gathering) -> Observation:
    """One cycle: what chronyd gave."""
    gathering.start()
    wait_for(lambda: gathering.left == 0.0, what="the cycle")
    seen = gathering.observations().chrony
    assert seen is not None
    return seen


def test_a_probe_that_raises_is_a_miss_that_says_so_and_is_asked_again(
    chronyd: Chronyd, capfd: pytest.CaptureFixture[str]
) -> None:
    done: List[int] = []
    gathering = Gathering(Probes(chrony=chronyd, service=None), lambda: done.append(1))
    chronyd.error = "Too many open files"
    seen = gathered(gathering)
    assert isinstance(seen, Miss)
    assert (seen.source, seen.cause) == ("chronyd", "failed")
    assert "Too many open files" in seen.what
    assert seen.advice
    wait_for(lambda: done, what="word of the end")
    assert "Traceback" not in capfd.readouterr().err
    chronyd.error = ""
    assert gathered(gathering) == READING


def test_a_question_about_the_service_that_raises_is_unknown() -> None:
    gathering = Gathering(Probes(chrony=None, service=Service()), lambda: None)
    gathering.start()
    wait_for(lambda: gathering.left == 0.0, what="the cycle")
    seen = gathering.observations().service
    assert seen is not None
    assert (seen.verdict, seen.cause) == (Verdict.UNKNOWN, "failed")
    assert "ValueError: not a number" in seen.what


def test_a_probe_that_does_not_come_back_is_reported_and_not_multiplied(chronyd: Chronyd) -> None:
    gathering = Gathering(Probes(chrony=chronyd, service=None), lambda: None)
    chronyd.goes_on.clear()
    for _ in range(3):
        seen = gathered(gathering)
        assert isinstance(seen, Miss)
        assert seen.cause == "stuck"
    assert chronyd.calls == 1
    chronyd.goes_on.set()
    wait_for(lambda: gathered(gathering) == READING, what="a reading")


def test_a_cycle_that_begins_at_once_after_another_is_no_reason_to_call_a_probe_stuck(
    chronyd: Chronyd,
) -> None:
    """The thread that brought a reading may live a moment longer than its reading."""
    lingers = threading.Event()

    def done() -> None:
        lingers.wait(30)

    gathering = Gathering(Probes(chrony=chronyd, service=None), done)
    for _ in range(3):
        assert gathered(gathering) == READING
    lingers.set()


def test_a_probe_that_was_not_given_its_time_is_cut_short_and_not_called_stuck(
    chronyd: Chronyd,
) -> None:
    chronyd.timeout = 60.0
    chronyd.goes_on.clear()
    gathering = Gathering(Probes(chrony=chronyd, service=None), lambda: None)
    gathering.start()
    seen = gathering.observations().chrony
    assert isinstance(seen, Miss)
    assert seen.cause == "cut-short"
    assert "--timeout" in seen.advice[0]


def test_a_host_without_threads_to_spare_misses_its_readings(chronyd: Chronyd) -> None:
    gathering = Gathering(Probes(chrony=chronyd, service=None), lambda: None)
    with no_more_threads():
        seen = gathered(gathering)
    assert isinstance(seen, Miss)
    assert seen.cause == "shortage"
    assert gathered(gathering) == READING
