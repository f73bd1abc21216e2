"""Owns writing a month of history for ``make bench``: what a host with one Redis server leaves."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Iterator

from agent import clock
from agent.core.model import Assessment, Finding, Observations, Reading, Verdict
from agent.core.settings import HistorySettings
from agent.core.steps import ClockSample
from agent.store import Cycle
from agent.store.sqlite import SqliteStore

INTERVAL = 300.0
DAYS = 30
#: Cycles saved at a time: one by one, as the daemon does it, takes a minute of waiting for a disk.
BATCH = 50
CONDITIONS = ("offset", "sync", "service", "reference", "drift")


def write(state: Path) -> Path:
    """Fill a state directory with 30 days of readings every 5 minutes; return the file."""
    store = SqliteStore(str(state), HistorySettings(), print)
    waiting = list(cycles())
    while waiting:
        store.save(waiting[:BATCH], ())
        del waiting[:BATCH]
    path = Path(store.path)
    store.close()
    return path


def cycles() -> Iterator[Cycle]:
    """The cycles, oldest first, up to now."""
    now, boot_id = clock.sample(), clock.boot_id()
    chance = random.Random(1)  # noqa: S311 - noise, not secrets
    found = tuple(Finding(name, Verdict.OK, "", "") for name in CONDITIONS)
    for number in range(int(DAYS * 86_400 / INTERVAL), 0, -1):
        ago = number * INTERVAL
        at = ClockSample(*(clock_now - ago for clock_now in now))
        readings = tuple(
            Reading(source, chance.gauss(0.0, 2e-5), chance.uniform(1e-4, 1e-3), at.boottime)
            for source in ("chronyd", "locks")
        )
        yield Cycle(
            clock=at,
            boot_id=boot_id,
            observations=Observations(readings[0], None, readings[1:], boottime=at.boottime),
            assessment=Assessment(found, readings[0]),
            standings=(),
        )
