"""Owns what the host's own clocks tell about each other: steps and suspends.

CLOCK_REALTIME and CLOCK_BOOTTIME are slewed alike, so their difference changes only when somebody
*sets* the clock. BOOTTIME counts through suspend and MONOTONIC does not; MONOTONIC_RAW is never
slewed at all. Subtractions therefore tell what no time server needs to be asked for.
"""

from __future__ import annotations

from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import List, Optional, Tuple

#: Seconds. A smaller change of REALTIME against BOOTTIME may be the sampling itself.
STEP_THRESHOLD = 0.001
#: Seconds of BOOTTIME against MONOTONIC; the same reason, and no machine sleeps for less.
SUSPEND_THRESHOLD = 0.01


class ClockSample(NamedTuple):
    """All clocks of the host read as one, in seconds."""

    #: CLOCK_REALTIME, since 1970 by the clock that is being measured.
    wall: float
    #: CLOCK_BOOTTIME, since boot, suspend included.
    boottime: float
    #: CLOCK_MONOTONIC, since boot, suspend left out.
    monotonic: float
    #: CLOCK_MONOTONIC_RAW, as the oscillator runs.
    raw: float


class Event(NamedTuple):
    """Something that happened to the clock or to the daemon between two cycles."""

    #: ``step``, ``suspend``, or a word of the daemon's own such as ``start`` and ``reload``.
    kind: str
    #: When it was noticed; by the local clock, after the change.
    wall: float
    boottime: float
    #: Seconds: of a step, positive when the clock was set forward; of a suspend, its length.
    size: Optional[float] = None
    #: One sentence, for what a size does not tell.
    what: str = ""


def changes(before: ClockSample, after: ClockSample) -> Tuple[Event, ...]:
    """The steps and suspends between two samples of one boot, with size and sign."""
    found: List[Event] = []
    slept = (after.boottime - after.monotonic) - (before.boottime - before.monotonic)
    if slept > SUSPEND_THRESHOLD:
        found.append(Event("suspend", after.wall, after.boottime, slept))
    stepped = (after.wall - after.boottime) - (before.wall - before.boottime)
    if abs(stepped) > STEP_THRESHOLD:
        found.append(Event("step", after.wall, after.boottime, stepped))
    return tuple(found)
