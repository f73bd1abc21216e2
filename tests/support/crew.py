"""Owns a few booted machines that work side by side: most of each state is spent on waiting."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Callable, List

from tests.support.nspawn import Machine


class Crew:
    """One machine per processor, two at least; each does one piece of work at a time."""

    def __init__(self, logs: Path) -> None:
        size = max(2, os.cpu_count() or 1)
        self._machines: List[Machine] = []
        self._free: SimpleQueue[Machine] = SimpleQueue()
        self._pool = ThreadPoolExecutor(size)
        try:
            for number in range(size):
                machine = Machine(logs / f"console-{number}.log")
                self._machines.append(machine)
                self._free.put(machine)
        except BaseException:
            self.stop()
            raise

    def start(self, work: Callable[[Machine], None]) -> Future[None]:
        """Do ``work`` on the next machine that is free; its failure comes out of ``result``."""
        return self._pool.submit(self._do, work)

    def _do(self, work: Callable[[Machine], None]) -> None:
        machine = self._free.get()
        try:
            work(machine)
        finally:
            self._free.put(machine)

    def stop(self) -> None:
        """Drop what has not begun, wait for the rest, and end the machines."""
        self._pool.shutdown(cancel_futures=True)
        for machine in self._machines:
            machine.stop()
