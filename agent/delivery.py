"""Owns getting alerts to people: one thread per sink, beside the daemon's loop and never in it.

At least once, over every crash: an alert is saved before it is sent and struck out after. A sink
that blocks for ever holds up its own thread and nothing else; it is reported, not multiplied.
"""

from __future__ import annotations

import random
import threading
from typing import Callable, List, Optional, Sequence, Set, Tuple

from agent import clock
from agent.core.model import Alert, Delivery, Verdict
from agent.core.outbox import Posting, Queue, SinkHealth
from agent.core.settings import AlertSettings
from agent.log import Log
from agent.sinks import Sink
from agent.store import Cycle
from agent.store.keeper import Keeper

#: Seconds an alert waits for a slow disk to save it; then it goes out all the same.
SAVE_PATIENCE = 5.0
#: Seconds a sink may take beyond its timeout before it is called stuck.
STUCK_AFTER = 5.0


class Deliverer:
    """Hands every cycle to the keeper and its alerts to the sinks."""

    def __init__(
        self,
        keeper: Keeper,
        sinks: Sequence[Tuple[AlertSettings, Sink]],
        log: Log,
        chance: Callable[[], float] = random.random,
        changed: Callable[[], None] = lambda: None,
        after: Optional[Deliverer] = None,
    ) -> None:
        """Start delivering what the keeper says is still owed.

        ``chance`` gives [0, 1), for the jitter. ``changed`` is called from other threads after
        every attempt. ``after`` is the closed one this one takes over from: a sink that is still
        busy there is waited for, so that nothing goes out of order.
        """
        self._keeper = keeper
        self._log = log
        self._couriers = [_Courier(keeper, *pair, log, chance, changed) for pair in sinks]
        owed = keeper.postings
        self._drop_unknown(owed, log)
        keeper.on_kept = self._release
        busy = {courier.name: courier for courier in after._couriers} if after else {}
        for courier in self._couriers:
            own = [posting for posting in owed if posting.sink == courier.name]
            courier.start(own, busy.get(courier.name))

    def record(self, cycle: Cycle) -> None:
        """Save ``cycle``, then tell its alerts. Returns at once."""
        postings: List[Posting] = []
        for courier in self._couriers:
            own = courier.route(cycle.alerts)
            courier.add(own, saved=False)
            courier.report_stuck()
            postings += own
        self._keeper.record(cycle, postings)

    def adopt(self, owed: Sequence[Posting]) -> None:
        """Deliver as well what the disk remembered only after this one had started."""
        self._drop_unknown(owed, self._log)
        for courier in self._couriers:
            courier.adopt([posting for posting in owed if posting.sink == courier.name])

    def health(self) -> Tuple[SinkHealth, ...]:
        """How every sink is doing, in the order of the configuration."""
        return tuple(courier.health() for courier in self._couriers)

    def close(self, timeout: float) -> None:
        """Try once what was not tried yet, and stop: all within ``timeout`` seconds."""
        deadline = clock.monotonic() + timeout
        for courier in self._couriers:
            courier.close(deadline)
        for courier in self._couriers:
            courier.join(max(0.0, deadline - clock.monotonic()))

    def _release(self, postings: Sequence[Posting]) -> None:
        for courier in self._couriers:
            courier.release(postings)

    def _drop_unknown(self, owed: Sequence[Posting], log: Log) -> None:
        known = {courier.name for courier in self._couriers}
        lost = [posting for posting in owed if posting.sink not in known]
        for name in sorted({posting.sink for posting in lost}):
            count = sum(posting.sink == name for posting in lost)
            log.warning(f"{count} alerts owed to sink {name} are dropped: it is not configured")
        self._keeper.settle(lost)


class _Courier:
    """One sink, its queue and its thread."""

    def __init__(
        self,
        keeper: Keeper,
        settings: AlertSettings,
        sink: Sink,
        log: Log,
        chance: Callable[[], float],
        changed: Callable[[], None],
    ) -> None:
        self.name = settings.name
        self._changed = changed
        self._keeper = keeper
        self._settings = settings
        self._sink = sink
        self._log = log
        self._queue = Queue(chance, sink.repeat_every)
        self._condition = threading.Condition()
        self._last_failure = ""
        self._sending_since: Optional[float] = None
        self._stuck_said = False
        self._stop_at: Optional[float] = None
        #: The keys of the troubles that this sink was told of, and not yet of their end.
        self._open: Set[str] = set()
        self._thread: Optional[threading.Thread] = None

    def start(self, owed: Sequence[Posting], before: Optional[_Courier]) -> None:
        """Begin with what was ``owed`` already; after the courier ``before`` has come back."""
        self._open = {posting.alert.key for posting in owed} | (before._open if before else set())
        self.add(owed, saved=True)
        self._thread = threading.Thread(
            target=self._work, args=(owed, before), name=f"sink {self.name}", daemon=True
        )
        self._thread.start()

    def route(self, alerts: Sequence[Alert]) -> List[Posting]:
        """What this sink is owed of ``alerts``, with its own tags added."""
        return [
            Posting(self.name, alert._replace(tags={**alert.tags, **self._settings.tags}))
            for alert in alerts
            if self._wants(alert)
        ]

    def _wants(self, alert: Alert) -> bool:
        """Severe enough for this sink, or the end of a trouble it was told of.

        ``min_severity`` may have been raised meanwhile: nobody else would end that trouble there.
        """
        wanted = Verdict[alert.severity.upper()] >= self._settings.min_severity
        if alert.kind == "resolve":
            wanted = wanted or alert.key in self._open
            self._open.discard(alert.key)
        elif wanted:
            self._open.add(alert.key)
        return wanted

    def add(self, postings: Sequence[Posting], saved: bool) -> None:
        """Owe ``postings``; those not ``saved`` wait for that, or until patience ends."""
        if not postings:
            return
        condensed: List[Posting] = []
        with self._condition:
            not_before = clock.monotonic() + (0.0 if saved else SAVE_PATIENCE)
            for posting in postings:
                condensed += self._queue.add(posting, not_before)
            self._condition.notify_all()
        if condensed:
            self._keeper.settle(condensed)
        lost = [posting for posting in condensed if posting.alert.kind in ("raise", "resolve")]
        if lost:
            self._log.warning(
                f"alerts: {len(lost)} of those that wait for sink {self.name} are left out:"
                " too many; it is still told of the first trouble and of the present state"
            )

    def adopt(self, postings: Sequence[Posting]) -> None:
        """Owe ``postings`` before all that is owed."""
        with self._condition:
            self._open |= {posting.alert.key for posting in postings}
            self._queue.adopt(postings)
            self._condition.notify_all()

    def release(self, postings: Sequence[Posting]) -> None:
        """``postings`` are saved, or cannot be: they may go out."""
        with self._condition:
            for posting in postings:
                self._queue.release(posting)
            self._condition.notify_all()

    def health(self) -> SinkHealth:
        with self._condition:
            stuck = self._stuck_for()
            trouble = f"has not come back for {stuck:.0f} s" if stuck else self._last_failure
            return SinkHealth(self.name, self._queue.untold, self._queue.failures, trouble)

    def report_stuck(self) -> None:
        """Say once that the thread has not come back from the sink."""
        with self._condition:
            stuck = self._stuck_for()
            say, self._stuck_said = stuck > 0 and not self._stuck_said, stuck > 0
        if say:
            self._log.error(
                f"alerts: sink {self.name} has not come back for {stuck:.0f} s; its alerts wait"
            )

    def close(self, deadline: float) -> None:
        with self._condition:
            self._stop_at = deadline
            self._condition.notify_all()

    def join(self, timeout: Optional[float] = None) -> None:
        if self._thread is not None:
            self._thread.join(timeout)

    def _stuck_for(self) -> float:
        """Seconds the present attempt has taken, once that is too long; else 0."""
        if self._sending_since is None:
            return 0.0
        taken = clock.monotonic() - self._sending_since
        return taken if taken > self._settings.timeout + STUCK_AFTER else 0.0

    def _work(self, owed: Sequence[Posting], before: Optional[_Courier]) -> None:
        if before is not None:
            self._wait_for(before, owed)
        while True:
            posting = self._next()
            if posting is None:
                return
            delivery = self._send(posting.alert)
            with self._condition:
                self._sending_since = None
                settled = self._queue.settle(delivery, clock.monotonic())
            if settled:
                self._keeper.settle([posting])
            self._report(posting.alert, delivery, settled)
            self._changed()

    def _wait_for(self, before: _Courier, owed: Sequence[Posting]) -> None:
        """Let ``before`` finish what it is sending, and strike out what it has delivered."""
        with self._condition:
            self._sending_since = clock.monotonic()
        before.join()
        still_owed = {posting.ident for posting in self._keeper.postings}
        with self._condition:
            self._sending_since = None
            for posting in owed:
                if posting.ident not in still_owed:
                    self._queue.discard(posting)

    def _next(self) -> Optional[Posting]:
        """The next posting to send, however long that takes; None: stop."""
        with self._condition:
            while True:
                now = clock.monotonic()
                if self._stop_at is not None and not (
                    now < self._stop_at and self._queue.untried(by=self._stop_at)
                ):
                    return None
                posting = self._queue.take(now)
                if posting is not None:
                    self._sending_since = now
                    return posting
                left = None if self._stop_at is None else self._stop_at - now
                waits = [w for w in (self._queue.wait(now), left) if w is not None]
                self._condition.wait(min(waits, default=None))

    def _send(self, alert: Alert) -> Delivery:
        try:
            return self._sink.send(alert, self._settings.timeout)
        except Exception as error:  # a defect of one sink must not end its thread
            what = f"{type(error).__name__} in the sink: {error}"
            return Delivery(delivered=False, retryable=True, what=what)

    def _report(self, alert: Alert, delivery: Delivery, settled: bool) -> None:
        """One log line per change, not per attempt."""
        before, self._last_failure = self._last_failure, delivery.what
        if delivery.delivered:
            self._last_failure = ""
            if before:
                self._log.info(f"alerts: sink {self.name} delivers again")
        elif not delivery.retryable and settled:
            self._log.error(
                f"alerts: sink {self.name} refused {alert.kind} of {alert.key} for good:"
                f" {delivery.what}"
            )
        elif before != delivery.what:
            self._log.warning(
                f"alerts: sink {self.name} has not delivered {alert.kind} of {alert.key}"
                f" and tries again: {delivery.what}"
            )
