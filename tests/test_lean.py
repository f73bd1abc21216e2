"""Owns the proofs about threads and signals without their modules."""

from __future__ import annotations

import os
import signal
import time
from typing import List

from agent import lean


def test_a_latch_lets_everybody_through_once_it_is_open() -> None:
    latch = lean.Latch()
    passed = [lean.Latch() for _ in range(3)]
    for each in passed:

        def wait(mine: lean.Latch = each) -> None:
            latch.wait(5.0)
            mine.open()

        lean.start(wait)
    assert not any(each.wait(0.01) for each in passed)
    latch.open()
    assert all(each.wait(5.0) for each in passed)
    assert latch.wait(0.0)
    assert latch.wait(-1.0)


def test_a_latch_that_stays_shut_is_waited_for_no_longer_than_told() -> None:
    started = time.monotonic()
    assert not lean.Latch().wait(0.05)
    assert not lean.Latch().wait(-1.0)
    assert time.monotonic() - started < 2.0


def test_a_signal_is_taken_while_a_latch_is_waited_for() -> None:
    taken: List[int] = []
    before = lean.signal.signal(lean.signal.SIGUSR1, lambda number, _: taken.append(number))
    try:
        lean.start(lambda: os.kill(os.getpid(), signal.SIGUSR1))
        lean.Latch().wait(0.2)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert taken == [signal.SIGUSR1]
