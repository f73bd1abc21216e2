"""Owns when the next cycle starts. Pure arithmetic on CLOCK_BOOTTIME seconds."""

from __future__ import annotations

#: The part of an interval by which a cycle may start before its slot and still be in it: rounding.
_SAME_SLOT = 1e-6


def phase(identity: str, interval: float) -> float:
    """This host's place within ``interval``: stable, and spread evenly over a fleet.

    Seconds in [0, interval). Agents started by the same deployment would otherwise ask the same
    Redis server in the same second, and its queue would look like a clock error.
    """
    value = 2166136261
    for byte in identity.encode():  # FNV-1a: hashlib costs more to import than this loop
        value = (value ^ byte) * 16777619 % 2**32
    # the low bits of FNV vary more from one id to the next than the high ones
    return interval * ((value * 2654435761 % 2**32) / 2**32)


def next_start(started: float, interval: float, phase: float) -> float:
    """The boottime of the cycle after the one that started at ``started``.

    The next slot of this host's phase, at most one interval away. Slots that went by (a suspend, a
    long cycle) are skipped, never caught up.
    """
    gone = ((started - phase) / interval + _SAME_SLOT) // 1.0
    return phase + (gone + 1.0) * interval
