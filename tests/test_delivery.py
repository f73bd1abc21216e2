"""Alerts reach every sink in order, whatever another sink, the disk or a restart does."""

from __future__ import annotations

import io
import sqlite3
import threading
from pathlib import Path
from typing import Iterator, List, Mapping, Optional, Sequence, Tuple

import pytest

from agent import clock
from agent.core.model import Alert, Delivery, Verdict
from agent.core.settings import AlertSettings, HistorySettings
from agent.delivery import Deliverer
from agent.log import Log
from agent.store import Cycle
from agent.store.keeper import Keeper
from agent.store.sqlite import SqliteStore
from tests.support.cycles import A_BOOT, a_cycle, an_alert, clocks, postings
from tests.support.waiting import wait_for

DELIVERED = Delivery(delivered=True)
FAILED = Delivery(delivered=False, retryable=True, what="503 from the receiver")
REFUSED = Delivery(delivered=False, retryable=False, what="404 from the receiver")
THREE = (an_alert(1), an_alert(2, "escalate"), an_alert(3, "resolve"))


class Receiver:
    """A sink that notes what it is sent, and can be made to fail, to hang or to break."""

    def __init__(self, name: str, repeat_every: Optional[float] = None) -> None:
        self.name = name
        self.repeat_every = repeat_every
        self.sent: List[Alert] = []
        self.asked = 0
        self.answer: Delivery = DELIVERED
        self.defect: Optional[Exception] = None
        self.works = threading.Event()
        self.works.set()

    def send(self, alert: Alert, timeout: float) -> Delivery:
        self.asked += 1
        self.timeout = timeout
        self.works.wait()
        if self.defect is not None:
            raise self.defect
        if self.answer.delivered:
            self.sent.append(alert)
        return self.answer

    @property
    def ids(self) -> List[str]:
        return [alert.id for alert in self.sent]


class Office:
    """A keeper on a real file, and the deliverers that come and go."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.lines = io.StringIO()
        self.log = Log(self.lines, priorities=False)
        self.receivers: List[Receiver] = []
        self.deliverer: Optional[Deliverer] = None
        self.keeper = self._keeper()

    def open(self, *receivers: Receiver, **settings: object) -> Deliverer:
        self.receivers += receivers
        self.deliverer = Deliverer(
            self.keeper,
            [(settings_of(receiver, settings), receiver) for receiver in receivers],
            self.log,
            chance=lambda: 0.0,
            after=self.deliverer,
        )
        return self.deliverer

    def restart(self) -> None:
        """Everything in memory is gone."""
        if self.deliverer is not None:
            self.deliverer.close(1.0)
        self.deliverer = None
        self.keeper.close(5.0)
        self.keeper = self._keeper()

    def logged(self, text: str) -> int:
        return self.lines.getvalue().count(text)

    def close(self) -> None:
        for receiver in self.receivers:
            receiver.works.set()
        self.restart()
        self.keeper.close(5.0)
        self.log.close(5.0)

    def _keeper(self) -> Keeper:
        store = SqliteStore(str(self.directory), HistorySettings(), print)
        keeper = Keeper(store, self.log, clocks(1.0), A_BOOT)
        keeper.restore(10.0)
        return keeper


def settings_of(receiver: Receiver, settings: Mapping[str, object]) -> AlertSettings:
    plain = AlertSettings(type="test", name=receiver.name, timeout=5.0)
    return plain._replace(**settings)  # type: ignore[arg-type]


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    office = Office(tmp_path)
    yield office
    office.close()


def cycle_with(alerts: Sequence[Alert], boottime: float = 10.0) -> Cycle:
    return a_cycle(boottime, alerts=alerts)


def test_every_sink_is_told_everything_in_order(office: Office) -> None:
    first, second = Receiver("first"), Receiver("second")
    office.open(first, second).record(cycle_with(THREE))
    wait_for(lambda: len(first.sent) == len(second.sent) == 3)
    assert first.ids == second.ids == ["alert-1", "alert-2", "alert-3"]
    wait_for(lambda: office.keeper.postings == ())


def test_a_sink_that_blocks_for_ever_holds_up_nobody_else(office: Office) -> None:
    stuck, fine = Receiver("stuck"), Receiver("fine")
    stuck.works.clear()
    deliverer = office.open(stuck, fine)
    started = clock.monotonic()
    for number, alert in enumerate(THREE):
        deliverer.record(cycle_with([alert], 10.0 + number))
    assert clock.monotonic() - started < 1.0
    wait_for(lambda: len(fine.sent) == 3 and stuck.asked)
    assert stuck.asked == 1


def test_a_stuck_sink_is_said_once_and_shown(office: Office) -> None:
    stuck = Receiver("stuck")
    stuck.works.clear()
    deliverer = office.open(stuck, timeout=-4.9)  # overdue after 0.1 s
    deliverer.record(cycle_with(THREE[:1]))
    wait_for(lambda: "not come back" in deliverer.health()[0].trouble)
    for number in range(3):
        deliverer.record(cycle_with([], 20.0 + number))
    wait_for(lambda: office.logged("has not come back"))
    stuck.works.set()
    wait_for(lambda: stuck.ids == ["alert-1"])
    wait_for(lambda: not deliverer.health()[0].trouble)
    assert office.logged("has not come back") == 1


def test_a_failure_is_said_once_and_so_is_its_end(office: Office) -> None:
    receiver = Receiver("page")
    receiver.answer = FAILED
    deliverer = office.open(receiver)
    deliverer.record(cycle_with(THREE))
    wait_for(lambda: deliverer.health()[0].failures == 1)
    assert deliverer.health()[0].waiting == 3
    assert deliverer.health()[0].trouble == "503 from the receiver"
    receiver.answer = DELIVERED
    wait_for(lambda: receiver.ids == ["alert-1", "alert-2", "alert-3"], timeout=20.0)
    wait_for(lambda: office.logged("delivers again") == 1)
    assert office.logged("tries again: 503 from the receiver") == 1
    wait_for(lambda: deliverer.health()[0] == ("page", 0, 0, ""))


def test_what_is_refused_for_good_is_said_and_dropped(office: Office) -> None:
    receiver = Receiver("page")
    receiver.answer = REFUSED
    office.open(receiver).record(cycle_with(THREE[:1]))
    wait_for(lambda: office.logged("refused raise of clock-agent/web-1/offset for good: 404"))
    wait_for(lambda: office.keeper.postings == ())


def test_a_defect_of_a_sink_is_a_failure_like_any_other(office: Office) -> None:
    receiver = Receiver("page")
    receiver.defect = ZeroDivisionError("division by zero")
    deliverer = office.open(receiver)
    deliverer.record(cycle_with(THREE[:1]))
    wait_for(lambda: "ZeroDivisionError in the sink" in deliverer.health()[0].trouble)
    receiver.defect = None
    wait_for(lambda: receiver.ids == ["alert-1"], timeout=20.0)


def test_what_was_owed_is_delivered_after_a_restart_and_in_order(office: Office) -> None:
    receiver = Receiver("page")
    receiver.answer = FAILED
    deliverer = office.open(receiver)
    deliverer.record(cycle_with(THREE[:2]))
    wait_for(lambda: deliverer.health()[0].failures == 1)
    office.restart()
    healthy = Receiver("page")
    office.open(healthy).record(cycle_with(THREE[2:], 20.0))
    wait_for(lambda: healthy.ids == ["alert-1", "alert-2", "alert-3"])
    wait_for(lambda: office.keeper.postings == ())
    office.restart()
    again = Receiver("page")
    office.open(again).close(1.0)
    assert again.asked == 0


def test_a_sink_hears_only_what_is_severe_enough_for_it(office: Office) -> None:
    receiver = Receiver("page")
    mild = THREE[0]._replace(severity="warning", id="mild")
    office.open(receiver, min_severity=Verdict.CRITICAL).record(cycle_with([mild, THREE[2]]))
    wait_for(lambda: receiver.ids == ["alert-3"])
    wait_for(lambda: office.keeper.postings == ())


def test_what_the_disk_tells_late_is_delivered_too(office: Office) -> None:
    receiver, owed = Receiver("page"), postings("page", an_alert(1), an_alert(2, "resolve"))
    deliverer = office.open(receiver)
    deliverer.adopt((*owed, *postings("gone", an_alert(3))))
    wait_for(lambda: receiver.ids == ["alert-1", "alert-2"])
    assert office.logged("owed to sink gone are dropped") == 1


@pytest.mark.parametrize("repeat_every", [None, 60.0])
def test_a_sink_that_became_choosier_still_hears_the_end_of_what_it_was_told(
    office: Office, repeat_every: Optional[float]
) -> None:
    receiver = Receiver("page", repeat_every)
    raised, over, unheard = (
        alert._replace(severity="warning")
        for alert in (an_alert(1), an_alert(2, "resolve"), an_alert(3, "resolve", "sync"))
    )
    first = office.open(receiver)
    first.record(cycle_with([raised]))
    wait_for(lambda: receiver.ids == ["alert-1"])
    first.close(1.0)
    office.open(receiver, min_severity=Verdict.CRITICAL).record(cycle_with([unheard, over], 20.0))
    wait_for(lambda: "alert-2" in receiver.ids)
    assert "alert-3" not in receiver.ids


def test_the_tags_of_a_sink_are_added_and_win(office: Office) -> None:
    receiver = Receiver("page")
    office.open(receiver, tags={"team": "night", "dc": "us"}).record(cycle_with(THREE[:1]))
    wait_for(lambda: receiver.sent)
    assert receiver.sent[0].tags == {"dc": "us", "team": "night"}


def test_a_sink_that_is_configured_no_longer_is_owed_nothing_and_that_is_said(
    office: Office,
) -> None:
    receiver = Receiver("old")
    receiver.answer = FAILED
    deliverer = office.open(receiver)
    deliverer.record(cycle_with(THREE))
    wait_for(lambda: receiver.asked)
    office.restart()
    office.open(Receiver("new"))
    wait_for(lambda: office.logged("3 alerts owed to sink old are dropped"))
    assert office.keeper.postings == ()


def test_a_reload_waits_for_what_is_under_way_and_sends_nothing_twice(office: Office) -> None:
    receiver = Receiver("page")
    receiver.works.clear()
    first = office.open(receiver)
    first.record(cycle_with(THREE[:2]))
    wait_for(lambda: receiver.asked)
    first.close(0.0)
    office.open(receiver).record(cycle_with(THREE[2:], 20.0))
    receiver.works.set()
    wait_for(lambda: len(receiver.sent) == 3)
    assert receiver.ids == ["alert-1", "alert-2", "alert-3"]


def test_a_reload_does_not_multiply_a_stuck_sink(office: Office) -> None:
    receiver = Receiver("page")
    receiver.works.clear()
    office.open(receiver).record(cycle_with(THREE[:1]))
    wait_for(lambda: receiver.asked)
    for _ in range(3):
        assert office.deliverer is not None
        office.deliverer.close(0.0)
        office.open(receiver)
    assert receiver.asked == 1
    receiver.works.set()
    wait_for(lambda: office.keeper.postings == ())
    assert receiver.ids == ["alert-1"]


def test_closing_tries_what_was_not_tried_and_does_not_wait_for_the_stuck(office: Office) -> None:
    stuck, fine = Receiver("stuck"), Receiver("fine")
    stuck.works.clear()
    deliverer = office.open(stuck, fine)
    deliverer.record(cycle_with(THREE))
    started = clock.monotonic()
    deliverer.close(0.5)
    assert clock.monotonic() - started < 2.0
    assert fine.ids == ["alert-1", "alert-2", "alert-3"]


def test_closing_does_not_wait_for_a_receiver_that_is_down(office: Office) -> None:
    down = Receiver("down")
    down.answer = FAILED
    deliverer = office.open(down)
    deliverer.record(cycle_with(THREE))
    wait_for(lambda: deliverer.health()[0].failures)
    started = clock.monotonic()
    deliverer.close(2.0)
    assert clock.monotonic() - started < 1.0


def test_a_receiver_that_forgets_is_told_again_after_a_restart(office: Office) -> None:
    receiver = Receiver("am", repeat_every=0.1)
    office.open(receiver).record(cycle_with(THREE[:1]))
    wait_for(lambda: receiver.ids[:3] == ["alert-1"] * 3)
    office.restart()
    again = Receiver("am", repeat_every=60.0)
    deliverer = office.open(again)
    wait_for(lambda: again.ids == ["alert-1"])
    deliverer.record(cycle_with(THREE[2:], 20.0))
    wait_for(lambda: again.ids == ["alert-1", "alert-3"])
    wait_for(lambda: office.keeper.postings == ())
    assert deliverer.health()[0].waiting == 0


def test_an_alert_is_saved_before_it_is_sent(office: Office) -> None:
    on_disk: List[Tuple[str, ...]] = []

    class Watching(Receiver):
        def send(self, alert: Alert, timeout: float) -> Delivery:
            on_disk.append(owed_on_disk(office.directory))
            return super().send(alert, timeout)

    office.open(Watching("page")).record(cycle_with(THREE[:1]))
    wait_for(lambda: on_disk)
    assert on_disk == [("alert-1",)]


def owed_on_disk(directory: Path) -> Tuple[str, ...]:
    connection = sqlite3.connect(f"file:{directory}/state.db?mode=ro", uri=True)
    try:
        return tuple(row[0] for row in connection.execute("SELECT alert FROM outbox ORDER BY id"))
    finally:
        connection.close()


def test_a_hanging_disk_delays_an_alert_but_does_not_stop_it() -> None:
    works = threading.Event()

    class Hanging:
        def restore(self, *_now: object) -> object:
            works.wait()
            raise AssertionError("not reached before the end")

        def save(self, *_what: object) -> None:
            raise AssertionError

        def close(self) -> None:
            pass

    log = Log(io.StringIO(), priorities=False)
    keeper = Keeper(Hanging(), log, clocks(1.0), A_BOOT)  # type: ignore[arg-type]
    receiver = Receiver("page")
    deliverer = Deliverer(keeper, [(settings_of(receiver, {}), receiver)], log)
    deliverer.record(cycle_with(THREE))
    wait_for(lambda: receiver.ids == ["alert-1", "alert-2", "alert-3"], timeout=15.0)
    deliverer.close(1.0)
    works.set()
    keeper.close(5.0)
    log.close(5.0)


def test_what_is_left_out_of_a_long_outage_is_said(office: Office) -> None:
    down = Receiver("down")
    down.answer = FAILED
    deliverer = office.open(down)
    for number in range(30):
        alert = an_alert(number, "resolve" if number % 2 else "raise")
        deliverer.record(cycle_with([alert], 10.0 + number))
    wait_for(lambda: office.logged("2 of those that wait for sink down are left out"))
    assert deliverer.health()[0].waiting <= 21
    wait_for(lambda: len(office.keeper.postings) == deliverer.health()[0].waiting)
