"""The thread that saves: what it does when the disk is slow, full or broken."""

from __future__ import annotations

import io
import threading
from typing import Callable, Iterator, List, Optional, Sequence, Tuple

import pytest

from agent.core.model import Standing
from agent.core.outbox import Posting
from agent.core.steps import ClockSample, Event
from agent.log import Log
from agent.store import Cycle, Remembered, StoreError
from agent.store.keeper import MOST_CYCLES, Keeper, thinned
from tests.support.cycles import A_BOOT, a_cycle, an_alert, clocks, postings
from tests.support.waiting import wait_for

OWED = postings("page", an_alert(1), an_alert(2, "resolve"))


class Disk:
    """A store in memory whose disk can be made to fail or to hang."""

    def __init__(self, remembered: Optional[Remembered] = None) -> None:
        self.remembered = remembered or Remembered()
        self.cycles: List[Cycle] = []
        self.postings: Tuple[Posting, ...] = ()
        self.trouble: Optional[Exception] = None
        self.works = threading.Event()
        self.works.set()
        self.closed = False

    def restore(self, now: ClockSample, boot_id: str) -> Remembered:
        self.asked = (now, boot_id)
        self._try()
        return self.remembered

    def save(self, cycles: Sequence[Cycle], postings: Sequence[Posting]) -> None:
        self._try()
        self.cycles += cycles
        self.postings = tuple(postings)

    def close(self) -> None:
        self.closed = True

    def _try(self) -> None:
        self.works.wait()
        if self.trouble is not None:
            raise self.trouble


class Desk:
    """A keeper on a disk, and what it logged."""

    def __init__(self, disk: Disk, patience: float) -> None:
        self.lines = io.StringIO()
        self.log = Log(self.lines, priorities=False)
        self.disk = disk
        self.keeper = Keeper(disk, self.log, clocks(1.0), A_BOOT, patience)

    def logged(self) -> List[str]:
        return self.lines.getvalue().splitlines()

    def close(self) -> None:
        self.disk.works.set()
        self.keeper.close(5.0)
        self.log.close(5.0)


@pytest.fixture
def open_desk() -> Iterator[Callable[[Disk], Desk]]:
    desks: List[Desk] = []

    def make(disk: Disk, patience: float = 10.0) -> Desk:
        desks.append(Desk(disk, patience))
        return desks[-1]

    yield make
    for desk in desks:
        desk.close()


def test_a_cycle_is_saved_with_what_is_owed_for_it(open_desk: Callable[[Disk], Desk]) -> None:
    desk = open_desk(Disk())
    cycle = a_cycle(10.0)
    desk.keeper.record(cycle, OWED)
    wait_for(lambda: desk.disk.postings == OWED)
    assert desk.disk.cycles == [cycle]
    desk.keeper.settle(OWED[:1])
    wait_for(lambda: desk.disk.postings == OWED[1:])


def test_what_was_remembered_is_told_and_still_owed(open_desk: Callable[[Disk], Desk]) -> None:
    remembered = Remembered(standings=(Standing("offset", critical_run=2),), postings=OWED)
    desk = open_desk(Disk(remembered))
    assert desk.keeper.restore(5.0) == remembered
    assert desk.keeper.postings == OWED


def test_what_is_kept_is_reported_only_after_it_is_saved(
    open_desk: Callable[[Disk], Desk],
) -> None:
    desk = open_desk(Disk())
    desk.keeper.restore(5.0)
    kept: List[Posting] = []
    desk.keeper.on_kept = kept.extend
    desk.disk.works.clear()
    desk.keeper.record(a_cycle(10.0), OWED)
    assert kept == []
    desk.disk.works.set()
    wait_for(lambda: kept)
    assert desk.disk.postings == OWED


def test_a_full_disk_loses_nothing_and_says_so_once(open_desk: Callable[[Disk], Desk]) -> None:
    desk = open_desk(Disk())
    desk.keeper.restore(5.0)
    kept: List[Posting] = []
    desk.keeper.on_kept = kept.extend
    desk.disk.trouble = StoreError("state.db: database or disk is full")
    for second in range(5):
        desk.keeper.record(a_cycle(float(second)), OWED)
        wait_for(lambda: kept)
        kept.clear()
    assert desk.keeper.trouble == "state.db: database or disk is full"
    desk.disk.trouble = None
    desk.keeper.record(a_cycle(5.0), ())
    wait_for(lambda: desk.keeper.trouble is None)
    assert [cycle.clock.boottime for cycle in desk.disk.cycles] == [0, 1, 2, 3, 4, 5]
    assert desk.disk.postings == OWED
    wait_for(lambda: len(desk.logged()) == 2)
    assert "in memory only" in desk.logged()[0]
    assert "on the disk again" in desk.logged()[1]


def test_a_disk_that_cannot_be_read_at_first_is_asked_before_it_is_written(
    open_desk: Callable[[Disk], Desk],
) -> None:
    disk = Disk(Remembered(postings=OWED[:1]))
    disk.trouble = StoreError("cannot be read")
    desk = open_desk(disk)
    assert desk.keeper.restore(5.0) == Remembered()
    desk.keeper.record(a_cycle(10.0), OWED[1:])
    wait_for(lambda: desk.keeper.trouble)
    disk.trouble = None
    desk.keeper.record(a_cycle(20.0), ())
    wait_for(lambda: disk.postings == OWED)
    assert [cycle.clock.boottime for cycle in disk.cycles] == [10, 20]


def test_what_a_slow_disk_remembers_is_told_late_and_once(
    open_desk: Callable[[Disk], Desk],
) -> None:
    remembered = Remembered(standings=(Standing("offset", critical_run=2),), postings=OWED)
    disk = Disk(remembered)
    disk.works.clear()
    desk = open_desk(disk)
    assert desk.keeper.restore(0.01) == Remembered()
    assert desk.keeper.take_late() is None
    disk.works.set()
    assert wait_for(desk.keeper.take_late) == remembered
    assert desk.keeper.take_late() is None


def test_what_was_told_in_time_is_not_told_again(open_desk: Callable[[Disk], Desk]) -> None:
    desk = open_desk(Disk(Remembered(postings=OWED)))
    desk.keeper.restore(5.0)
    assert desk.keeper.take_late() is None


def test_a_hanging_disk_holds_nobody_up(open_desk: Callable[[Disk], Desk]) -> None:
    disk = Disk()
    disk.works.clear()
    desk = open_desk(disk)
    assert desk.keeper.restore(0.01) == Remembered()
    desk.keeper.record(a_cycle(10.0), OWED)
    desk.keeper.settle(OWED)
    assert desk.keeper.postings == ()
    desk.keeper.close(0.01)
    assert not disk.closed


def test_a_disk_that_does_not_answer_is_said_once_and_so_is_its_return(
    open_desk: Callable[..., Desk],
) -> None:
    desk = open_desk(Disk(), patience=0.05)
    desk.keeper.restore(5.0)
    desk.disk.works.clear()
    desk.keeper.record(a_cycle(10.0), ())
    wait_for(lambda: desk.keeper.trouble, what="the disk to count as hanging")
    for second in range(11, 15):
        desk.keeper.record(a_cycle(float(second)), ())
    (said,) = wait_for(desk.logged, what="a word about it")
    assert said.startswith("history is kept in memory only: the disk has not answered for ")
    desk.disk.works.set()
    wait_for(lambda: len(desk.logged()) == 2, what="a word about its return")
    assert desk.logged()[-1] == "history is kept on the disk again"


def test_closing_a_disk_that_is_full_is_not_taken_for_its_recovery(
    open_desk: Callable[..., Desk],
) -> None:
    desk = open_desk(Disk())
    desk.keeper.restore(5.0)
    desk.disk.trouble = StoreError("state.db: database or disk is full")
    desk.keeper.record(a_cycle(10.0), ())
    wait_for(lambda: desk.keeper.trouble, what="trouble")
    desk.close()
    assert desk.logged() == ["history is kept in memory only: state.db: database or disk is full"]


def test_a_defect_of_the_store_is_trouble_and_not_the_end(
    open_desk: Callable[[Disk], Desk],
) -> None:
    desk = open_desk(Disk())
    desk.keeper.restore(5.0)
    desk.disk.trouble = KeyError("oops")
    desk.keeper.record(a_cycle(10.0), OWED)
    wait_for(lambda: desk.keeper.trouble)
    assert "KeyError in the store" in str(desk.keeper.trouble)
    desk.disk.trouble = None
    desk.keeper.record(a_cycle(20.0), ())
    wait_for(lambda: desk.disk.postings == OWED)


def test_closing_saves_what_is_left(open_desk: Callable[[Disk], Desk]) -> None:
    desk = open_desk(Disk())
    desk.keeper.record(a_cycle(10.0), OWED)
    desk.keeper.close(5.0)
    assert desk.disk.postings == OWED
    assert desk.disk.closed


def test_memory_is_bounded_and_the_newest_cycle_is_always_in_it(
    open_desk: Callable[[Disk], Desk],
) -> None:
    desk = open_desk(Disk())
    desk.keeper.restore(5.0)
    desk.disk.trouble = StoreError("full")
    for second in range(MOST_CYCLES * 3):
        desk.keeper.record(a_cycle(float(second)), ())
    desk.disk.trouble = None
    desk.keeper.close(10.0)
    assert len(desk.disk.cycles) <= MOST_CYCLES
    assert desk.disk.cycles[-1].clock.boottime == MOST_CYCLES * 3 - 1
    assert desk.disk.cycles[0].clock.boottime < MOST_CYCLES


def test_thinning_keeps_cycles_in_which_something_happened() -> None:
    step = Event("step", 0.0, 0.0, 1.0)
    cycles = [
        a_cycle(float(n), alerts=[an_alert(n)] if n == 4 else [], events=[step] if n == 8 else [])
        for n in range(12)
    ]
    assert [cycle.clock.boottime for cycle in thinned(cycles)] == [1, 3, 4, 5, 7, 8, 9, 11]


def test_thinning_ends_even_if_something_happened_in_every_cycle() -> None:
    cycles = [a_cycle(float(n), alerts=[an_alert(n)]) for n in range(10)]
    assert [cycle.clock.boottime for cycle in thinned(cycles)] == [5, 6, 7, 8, 9]
