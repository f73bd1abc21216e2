"""Owns every reading of the host's clocks. No other module asks what time it is.

The wall clock (CLOCK_REALTIME) is the thing being measured; it is never used for an age, a deadline
or a schedule. Those use CLOCK_BOOTTIME (counts through suspend) or CLOCK_MONOTONIC.
"""

from __future__ import annotations

import time


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
