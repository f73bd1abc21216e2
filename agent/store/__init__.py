"""Owns what is worth remembering of a cycle, and what a store of it must be able to do.

How it hangs together: the daemon hands every cycle to ``delivery.Deliverer.record``. The
``keeper.Keeper`` behind it saves the cycle in a thread of its own, in one transaction, and only
then are its alerts sent. What is still owed to a sink lives in memory and is mirrored to the disk,
so a full or broken disk costs history but no alert.
"""

from __future__ import annotations

from typing import NamedTuple, Optional, Protocol, Sequence, Tuple

from agent.core.model import Alert, Assessment, Observations, Reading, Standing
from agent.core.outbox import Posting
from agent.core.steps import ClockSample, Event

#: The file in the state directory.
FILE_NAME = "state.db"


class Cycle(NamedTuple):
    """One cycle of the daemon, as it goes into the store."""

    #: The host's clocks when the readings were taken.
    clock: ClockSample
    #: The kernel's name of this boot: a boottime means nothing without it.
    boot_id: str
    observations: Observations
    assessment: Assessment
    #: The standing of every condition after this cycle.
    standings: Tuple[Standing, ...]
    #: What people have to be told because of it.
    alerts: Tuple[Alert, ...] = ()
    events: Tuple[Event, ...] = ()


class Remembered(NamedTuple):
    """What the daemon knew when it last ran."""

    #: With ``since`` translated to the boottime of the present boot.
    standings: Tuple[Standing, ...] = ()
    #: Owed and not yet settled, oldest first.
    postings: Tuple[Posting, ...] = ()
    #: The clocks at the last cycle, when that was in this boot: steps meanwhile are still seen.
    clock: Optional[ClockSample] = None
    #: Trusted readings of this boot from the last hours and since the last step or suspend,
    #: oldest first.
    readings: Tuple[Reading, ...] = ()
    #: Steps and suspends of this boot from the last day, oldest first.
    events: Tuple[Event, ...] = ()


class StoreError(Exception):
    """The store cannot do its work now; one sentence says why. Trying again later may help."""


class Store(Protocol):
    """Where cycles are remembered. Used by one thread only; every method may raise StoreError."""

    def restore(self, now: ClockSample, boot_id: str) -> Remembered:
        """What was known at the last ``save``, told in the boottime of this boot."""

    def save(self, cycles: Sequence[Cycle], postings: Sequence[Posting]) -> None:
        """Add ``cycles`` and make the outbox hold exactly ``postings``: all of it or nothing."""

    def close(self) -> None:
        """Let go of the file."""
