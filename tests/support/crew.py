"""Owns a few booted machines that work side by side: most of each state is spent on waiting."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Callable, Dict, Iterable

from tests.support.nspawn import Machine


class Crew:
    """One machine per skill, which does one piece of work at a time."""

    def __init__(self, skills: Iterable[str], logs: Path) -> None:
        self._machines: Dict[str, Machine] = {}
        self._queues: Dict[str, ThreadPoolExecutor] = {}
        try:
            for skill in skills:
                self._machines[skill] = Machine(logs / f"{skill}.log")
                self._queues[skill] = ThreadPoolExecutor(1)
        except BaseException:
            self.stop()
            raise

    def start(self, skill: str, work: Callable[[Machine], None]) -> Future[None]:
        """Let the machine with that skill do ``work``; its failure comes out of ``result``."""
        return self._queues[skill].submit(work, self._machines[skill])

    def stop(self) -> None:
        """Drop what has not begun, wait for the rest, and end the machines."""
        for queue in self._queues.values():
            queue.shutdown(cancel_futures=True)
        for machine in self._machines.values():
            machine.stop()
