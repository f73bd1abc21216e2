"""Owns the arithmetic of asking another clock for its time: samples in, one reading out.

The other side read its clock somewhere between our sending and our receiving. Whatever the two
delays are, the middle of that interval is off by half the round trip at most: that half is the
uncertainty, and the shortest round trip makes the best sample (RFC 5905 chooses alike).
"""

from __future__ import annotations

from agent.core.model import Detail, Reading
from agent.core.resp import Reply
from agent.core.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Optional, Sequence

#: The command, in RESP2, that asks Redis for its clock.
TIME = b"TIME"
#: Seconds: TIME cuts its value to whole microseconds.
RESOLUTION = 1e-6
#: Seconds by which wall clock and monotonic clock may differ over one exchange. More means that the
#: wall clock was stepped, or the host paused, between sending and receiving.
STEP = 1e-3
#: Seconds: a hundred years. A clock without a battery wakes in 1970, so decades are real.
MAX_OFFSET = 100 * 365.25 * 86400.0
_SECONDS_DIGITS = 10  # the last of them is used up in the year 2286
_MICROSECONDS = 1_000_000


class Sample(NamedTuple):
    """One exchange. Nanoseconds, except ``server``: microseconds since 1970 by its clock."""

    sent_wall: int
    received_wall: int
    #: The same moments on CLOCK_MONOTONIC, read outside the two above.
    sent: int
    received: int
    server: int

    @property
    def round_trip(self) -> float:
        """Seconds from sending to receiving by the clock that shows it longer, never negative."""
        return max(self.received - self.sent, self.received_wall - self.sent_wall, 0) / 1e9

    @property
    def offset(self) -> float:
        """Seconds, local minus server, as if both ways took equally long; positive = ahead."""
        return (self.sent_wall + self.received_wall - 2000 * self.server) / 2e9

    @property
    def uncertainty(self) -> float:
        """Seconds around ``offset`` that hold the truth, however unequal the two ways are."""
        return self.round_trip / 2 + RESOLUTION

    @property
    def steady(self) -> bool:
        """False when the wall clock was stepped, or the host paused, within the exchange."""
        wall = self.received_wall - self.sent_wall
        return abs(wall - (self.received - self.sent)) <= STEP * 1e9


class Chosen(NamedTuple):
    """The sample to believe, and how many there were to choose from."""

    sample: Sample
    kept: int
    dropped: int


def choose(samples: Sequence[Sample]) -> Optional[Chosen]:
    """The sample with the shortest round trip of those since the clock was last stepped.

    None when there is none. The first sample is the warm-up (cold caches, slow start): it counts
    only when it is all there is, as on a path so slow that time ran out on the second.
    """
    kept = _since_step(samples)
    if len(kept) > 1 and len(kept) == len(samples):
        kept = kept[1:]
    if not kept:
        return None
    return Chosen(
        sample=min(kept, key=lambda sample: sample.round_trip),
        kept=len(kept),
        dropped=sum(not sample.steady for sample in samples),
    )


def consistent(samples: Sequence[Sample]) -> bool:
    """False when no one offset, give or take a step, lies within the intervals of all samples.

    Then one of the two clocks was set between two exchanges, or the answers are not fresh: from a
    cache, or each one that of the question before.
    """
    kept = _since_step(samples)
    if not kept:
        return True
    highest = max(sample.offset - sample.uncertainty for sample in kept)
    lowest = min(sample.offset + sample.uncertainty for sample in kept)
    return highest - lowest <= STEP


def _since_step(samples: Sequence[Sample]) -> Sequence[Sample]:
    """The samples after the last one with a step in it: what came before tells of another clock."""
    steps = [number for number, sample in enumerate(samples) if not sample.steady]
    return samples[steps[-1] + 1 :] if steps else samples


def server_time(reply: Reply) -> Optional[int]:
    """Microseconds since 1970 from the answer to TIME; None when it is not one.

    Accepted are exactly two plain numbers, as strings (Redis) or integers (its imitations):
    seconds of at most ten digits, and microseconds below a million.
    """
    if not isinstance(reply, list) or len(reply) != 2:
        return None
    seconds, microseconds = (_natural(part) for part in reply)
    if seconds is None or microseconds is None:
        return None
    if seconds >= 10**_SECONDS_DIGITS or microseconds >= _MICROSECONDS:
        return None
    return seconds * _MICROSECONDS + microseconds


def plausible(sample: Sample) -> bool:
    """False when the two clocks are further apart than any broken clock we know of."""
    return abs(sample.offset) <= MAX_OFFSET


def reading(source: str, chosen: Chosen, taken_at: float, detail: Detail) -> Reading:
    """The reading a choice stands for. ``taken_at`` is CLOCK_BOOTTIME in seconds."""
    return Reading(
        source=source,
        offset=chosen.sample.offset,
        uncertainty=chosen.sample.uncertainty,
        taken_at=taken_at,
        detail={
            **detail,
            "round_trip_ms": round(chosen.sample.round_trip * 1e3, 6),
            "samples_kept": chosen.kept,
            "samples_dropped": chosen.dropped,
        },
    )


def _natural(part: Reply) -> Optional[int]:
    """A number that is not negative, of digits only and few enough of them."""
    if isinstance(part, bytes):
        return int(part) if part.isdigit() and len(part) <= _SECONDS_DIGITS else None
    return part if isinstance(part, int) and part >= 0 else None
