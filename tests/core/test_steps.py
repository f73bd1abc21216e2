"""Steps, suspends and the slew, from nothing but the host's own clocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import clock
from agent.core.steps import ClockSample, changes

BEFORE = ClockSample(wall=1_750_000_000.0, boottime=5000.0, monotonic=4000.0, raw=3999.0)


def later(seconds: float, *, step: float = 0.0, asleep: float = 0.0) -> ClockSample:
    return ClockSample(
        wall=BEFORE.wall + seconds + asleep + step,
        boottime=BEFORE.boottime + seconds + asleep,
        monotonic=BEFORE.monotonic + seconds,
        raw=BEFORE.raw + seconds,
    )


@pytest.mark.parametrize("step", [3600.0, -3600.0, 0.0015, -0.0015])
def test_setting_the_clock_is_a_step_with_its_size_and_sign(step: float) -> None:
    (event,) = changes(BEFORE, later(300.0, step=step))
    assert event.kind == "step"
    assert event.size == pytest.approx(step, abs=1e-6)
    assert event.boottime == 5300.0
    assert event.wall == BEFORE.wall + 300.0 + step


@pytest.mark.parametrize("step", [0.0, 0.0009, -0.0009])
def test_what_sampling_may_cause_is_no_step(step: float) -> None:
    assert changes(BEFORE, later(300.0, step=step)) == ()


def test_time_asleep_is_a_suspend_and_not_a_step() -> None:
    (event,) = changes(BEFORE, later(300.0, asleep=36_000.0))
    assert event.kind == "suspend"
    assert event.size == pytest.approx(36_000.0)


def test_a_clock_set_while_asleep_is_both() -> None:
    assert [event.kind for event in changes(BEFORE, later(1.0, asleep=60.0, step=-2.0))] == [
        "suspend",
        "step",
    ]


@given(st.floats(min_value=-500.0, max_value=500.0), st.floats(min_value=1.0, max_value=1e6))
def test_slewing_is_neither_a_step_nor_a_suspend(ppm: float, seconds: float) -> None:
    slewed = seconds * (1 + ppm * 1e-6)
    after = ClockSample(
        wall=BEFORE.wall + slewed,
        boottime=BEFORE.boottime + slewed,
        monotonic=BEFORE.monotonic + slewed,
        raw=BEFORE.raw + seconds,
    )
    assert changes(BEFORE, after) == ()


def test_the_clocks_of_this_machine_are_sampled_as_one() -> None:
    samples = [clock.sample() for _ in range(200)]
    for before, after in zip(samples, samples[1:]):
        assert changes(before, after) == ()
