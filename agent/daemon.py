"""Owns the daemon's loop: when a cycle runs, what a signal means, and who hears that it is alive.

The loop itself never waits for anything outside: probes, deliveries, the disk, name look-ups and
log lines have threads of their own. So the watchdog message, which only the loop sends, means what
it says: readings are being taken.
"""

from __future__ import annotations

import signal
from typing import Callable, Mapping

from agent import clock
from agent.core import schedule
from agent.core.settings import Config
from agent.cycle import Cycles
from agent.errors import ConfigError
from agent.log import Log
from agent.notify import Notifier
from agent.wakeup import Wakeup

STOP, RELOAD = "stop", "reload"
SIGNALS: Mapping[int, str] = {
    signal.SIGTERM: STOP,
    signal.SIGINT: STOP,
    signal.SIGHUP: RELOAD,
}
#: Seconds the way out may take: last alerts and the disk.
FAREWELL = 1.5


class Daemon:
    """The loop. Everything it needs is handed in; nothing here knows a path or an address."""

    def __init__(
        self,
        config: Config,
        load: Callable[[], Config],
        cycles: Cycles,
        wakeup: Wakeup,
        notifier: Notifier,
        log: Log,
        identity: str,
    ) -> None:
        """``load`` reads the configuration again for a reload, and may raise ConfigError;
        ``identity`` tells this host from the others of its fleet, for its place in the interval."""
        self._config = config
        self._load = load
        self._cycles = cycles
        self._wakeup = wakeup
        self._notifier = notifier
        self._log = log
        self._identity = identity
        self._started = 0.0

    def run(self) -> None:
        """Take readings until told to stop. The first one is due at once."""
        self._notifier.ready()
        due = clock.boottime()
        while not self._wakeup.raised(STOP):
            if self._wakeup.take(RELOAD):
                self._reload()
                due = clock.boottime()
            if clock.boottime() >= due or self._overtaken():
                due = self._cycle()
            self._wait(due - clock.boottime())
            self._cycles.refresh()
        self._notifier.stopping()
        self._cycles.close(FAREWELL)

    def _cycle(self) -> float:
        """Run one cycle; return the boottime at which the next one is due."""
        started = self._started = clock.boottime()
        self._cycles.start()
        while self._cycles.left > 0:
            if self._wakeup.raised(STOP):
                return started
            self._wait(self._cycles.left)
        said, outcome = self._cycles.judge()
        due = self._next(started, outcome.pending)
        self._notifier.status(self._cycles.show(said, due))
        return due

    def _overtaken(self) -> bool:
        """Whether the clock was set since the last readings, which then say nothing any more.

        Looked at whenever the loop wakes up, every ten seconds at least. A clock that somebody
        keeps setting is read every ``confirm_interval`` and not each time.
        """
        soonest = self._started + min(self._config.confirm_interval, self._config.interval)
        return clock.boottime() >= soonest and self._cycles.stepped()

    def _next(self, started: float, pending: bool) -> float:
        interval = self._config.interval
        if pending:
            return started + min(self._config.confirm_interval, interval)
        phase = schedule.phase(self._identity, interval)
        return schedule.next_start(started, interval, phase)

    def _reload(self) -> None:
        """Take over a changed configuration; a broken one leaves everything as it was."""
        self._notifier.reloading()
        try:
            self._config = self._load()
        except ConfigError as error:
            for problem in error.problems:
                self._log.error(f"configuration not reloaded: {problem}")
            self._log.error("the configuration from before the reload stays in force")
        else:
            self._cycles.configure(self._config)
            self._log.info("configuration reloaded")
        self._notifier.ready()

    def _wait(self, seconds: float) -> None:
        """Wait for ``seconds``, a signal or a thread, and say in time that the loop lives."""
        self._notifier.alive(clock.monotonic())
        self._wakeup.wait(min(seconds, self._notifier.pause(clock.monotonic())))
