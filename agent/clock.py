"""Owns every reading of the host's clocks. No other module asks what time it is.

The wall clock (CLOCK_REALTIME) is the thing being measured; it is never used for an age, a deadline
or a schedule. Those use CLOCK_BOOTTIME (counts through suspend) or CLOCK_MONOTONIC.
"""

from __future__ import annotations

import time

from agent.core.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Tuple

    from agent.core.steps import ClockSample

#: Seconds between the first and the last clock of one sample; longer means: interrupted meanwhile.
_SAMPLE_SPREAD = 0.0001
_SAMPLE_TRIES = 5


def wall() -> float:
    """Seconds since 1970 by the local, possibly wrong, clock."""
    return time.time()


def boottime() -> float:
    """Seconds since boot, suspend included (CLOCK_BOOTTIME); for ages and schedules."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def monotonic() -> float:
    """Seconds that never jump (CLOCK_MONOTONIC); for deadlines and round trips."""
    return time.monotonic()


def monotonic_ns() -> int:
    """CLOCK_MONOTONIC in nanoseconds."""
    return time.monotonic_ns()


def wall_ns() -> int:
    """CLOCK_REALTIME in nanoseconds."""
    return time.time_ns()


def sample() -> ClockSample:
    """All clocks as one: the tightest of a few tries, so that being preempted looks like no step.

    The difference of any two of them is then good to about the half of 100 microseconds.
    """
    tightest, spread = _sample()
    for _ in range(_SAMPLE_TRIES - 1):
        if spread <= _SAMPLE_SPREAD:
            break
        again, its_spread = _sample()
        if its_spread < spread:
            tightest, spread = again, its_spread
    return tightest


def _sample() -> Tuple[ClockSample, float]:
    from agent.core.steps import ClockSample

    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    now = time.time()
    mono = time.clock_gettime(time.CLOCK_MONOTONIC)
    raw = time.clock_gettime(time.CLOCK_MONOTONIC_RAW)
    after = time.clock_gettime(time.CLOCK_BOOTTIME)
    middle = (before + after) / 2
    return ClockSample(wall=now, boottime=middle, monotonic=mono, raw=raw), after - before


def boot_id() -> str:
    """The kernel's name for this boot; empty when it does not tell."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as source:
            return source.read(64).strip()
    except (OSError, ValueError):
        return ""
