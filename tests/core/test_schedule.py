"""Owns the tests of when the next cycle starts."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from agent.core import schedule

intervals = st.floats(0.1, 86400)
times = st.floats(0, 1e8)


@given(times, intervals, st.text(min_size=1))
def test_the_next_cycle_is_at_most_one_interval_away_and_never_at_once(
    started: float, interval: float, machine_id: str
) -> None:
    gap = schedule.next_start(started, interval, schedule.phase(machine_id, interval)) - started
    assert 0 < gap <= interval * (1 + 1e-5) + 1e-7  # floats near 1e8 s


@given(times, intervals, st.text(min_size=1))
def test_the_slot_of_a_cycle_that_starts_when_it_is_due_is_not_used_twice(
    started: float, interval: float, machine_id: str
) -> None:
    phase = schedule.phase(machine_id, interval)
    due = schedule.next_start(started, interval, phase)
    assert schedule.next_start(due, interval, phase) > due + interval / 2


def test_regular_cycles_keep_their_phase() -> None:
    start = schedule.next_start(1000.0, 300.0, 17.0)
    assert start == 1217.0
    assert schedule.next_start(start, 300.0, 17.0) == 1517.0
    assert schedule.next_start(start + 0.4, 300.0, 17.0) == 1517.0


def test_slots_missed_in_a_suspend_are_not_caught_up() -> None:
    assert schedule.next_start(86400.0 + 30.0, 300.0, 17.0) == 86400.0 + 317.0
    assert schedule.next_start(86400.0 + 10.0, 300.0, 17.0) == 86400.0 + 17.0


def test_a_fleet_started_together_is_spread_over_the_interval() -> None:
    seconds = Counter(int(schedule.phase(f"{n:032x}", 10.0)) for n in range(1000))
    assert set(seconds) == set(range(10))
    assert max(seconds.values()) < 150


def test_the_phase_of_a_host_is_stable() -> None:
    assert schedule.phase("a" * 32, 300.0) == schedule.phase("a" * 32, 300.0)
