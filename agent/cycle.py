"""Owns one cycle of the daemon: take readings, judge them, remember, publish, tell.

Nothing here waits. The probes are started and looked after by ``gather``; saving and delivering
have threads of their own; a datagram is sent or dropped.
"""

from __future__ import annotations

import os
from typing import Callable, NamedTuple, Optional, Tuple

from agent import __version__, clock, sinks
from agent.core import daemon_view, drift, report
from agent.core.fold import Identity, Memory, Outcome, fold, resume
from agent.core.gauges import Snapshot
from agent.core.model import Reading
from agent.core.outbox import SinkHealth
from agent.core.settings import Config
from agent.core.steps import ClockSample, Event, changes
from agent.delivery import Deliverer
from agent.gather import Gathering, build
from agent.log import Log
from agent.metrics import Metrics
from agent.publish import Publisher
from agent.store import Cycle
from agent.store.keeper import Keeper

#: Seconds a published verdict outlives the moment the next one is due: more than a cycle takes.
VALID_BEYOND = 10.0


class Surroundings(NamedTuple):
    """What a configuration stands for; a reload makes all of it anew."""

    config: Config
    gathering: Gathering
    metrics: Optional[Metrics]
    publisher: Publisher
    deliverer: Deliverer

    def close(self, timeout: float) -> None:
        """Let go of everything, alerts last, within ``timeout`` seconds."""
        if self.metrics is not None:
            self.metrics.close()
        self.deliverer.close(timeout)


class Cycles:
    """The cycles of one daemon, one after the other."""

    def __init__(
        self,
        config: Config,
        host: str,
        keeper: Keeper,
        log: Log,
        memory: Memory,
        poke: Callable[[], None],
    ) -> None:
        """``memory`` is what was known when the daemon last ran; ``poke`` is called from other
        threads whenever a reading has come back."""
        self._host = host
        self._keeper = keeper
        self._log = log
        self._poke = poke
        self._boot_id = clock.boot_id()
        self._memory = memory
        self._last_reading_at: Optional[float] = None
        self._unpublished: Optional[str] = None
        #: The last that was published, and how the others fared then.
        self._published: Optional[Tuple[report.Report, float]] = None
        self._told: Tuple[Tuple[SinkHealth, ...], Optional[str]] = ((), None)
        self._sample: ClockSample = clock.sample()
        self._around = self._surroundings(config)
        #: What the daemon itself did since the last cycle.
        self._doings: Tuple[Event, ...] = ()
        self._note("start", f"clock-agent {__version__}")

    def configure(self, config: Config) -> None:
        """Go on with ``config``; what is standing and what is owed is kept."""
        before, self._published = self._around, None
        before.publisher.withdraw()
        before.close(timeout=0.0)
        if (
            config.paths.state != before.config.paths.state
            or config.history != before.config.history
        ):
            self._log.warning("paths.state and history are taken over at the next start")
        self._around = self._surroundings(config, before.deliverer)
        self._note("reload", "another configuration is in force")

    def start(self) -> None:
        """Begin a cycle."""
        self._sample = clock.sample()
        self._around.gathering.start()

    def stepped(self) -> bool:
        """Whether somebody has set the clock since the last cycle began."""
        return any(event.kind == "step" for event in changes(self._sample, clock.sample()))

    @property
    def left(self) -> float:
        """Seconds until the readings are all there, or are waited for no longer."""
        return self._around.gathering.left

    def judge(self) -> Tuple[report.Report, Outcome]:
        """Judge what has come back, and hand it to those who save it and tell people."""
        config = self._around.config
        observations = self._around.gathering.observations()
        identity = Identity(host=self._host, boot_id=self._boot_id, tags=config.tags)
        late = self._keeper.take_late()
        if late is not None:  # a slow disk: what it knows counts for more than the cycles since
            self._memory = resume(late.standings, late.clock, late.readings, late.events)
            self._around.deliverer.adopt(late.postings)
        self._memory, outcome = fold(
            config.policy, identity, self._memory, observations, self._sample
        )
        self._around.deliverer.record(
            Cycle(
                clock=self._sample,
                boot_id=self._boot_id,
                observations=outcome.observations,
                assessment=outcome.assessment,
                standings=self._memory.standings,
                alerts=outcome.alerts,
                events=(*self._doings, *outcome.events),
            )
        )
        self._doings = ()
        said = report.Report(
            host=self._host,
            taken_at=self._sample.wall,
            origin=report.DAEMON,
            assessment=outcome.assessment,
            observations=outcome.observations,
            policy=config.policy,
        )
        return said, outcome

    def show(self, said: report.Report, due: float) -> str:
        """Publish the verdict until the next one is ``due`` (boottime), send the gauges, and return
        the cycle in one line."""
        self._publish(said, due)
        self._send_gauges(said)
        line = report.text(said).partition("\n")[0].partition("|")[0].strip()
        self._log.info(line)
        return line

    def refresh(self) -> None:
        """Publish again what was published, if alerts or the disk fare differently by now."""
        if self._published is not None and self._others() != self._told:
            self._publish(*self._published)

    def close(self, timeout: float) -> None:
        """Withdraw the published verdict, send what was not tried yet, save, stop."""
        half = timeout / 2
        self._around.publisher.withdraw()
        self._around.close(half)
        self._keeper.close(half)

    def _note(self, kind: str, what: str) -> None:
        now = clock.sample()
        self._doings = (*self._doings, Event(kind, now.wall, now.boottime, what=what))

    def _others(self) -> Tuple[Tuple[SinkHealth, ...], Optional[str]]:
        """How those fare who go on between two cycles: the sinks and the disk."""
        return self._around.deliverer.health(), self._keeper.trouble

    def _publish(self, said: report.Report, due: float) -> None:
        self._published, self._told = (said, due), self._others()
        state = daemon_view.State(
            pid=os.getpid(),
            version=__version__,
            taken_at=self._sample.boottime,
            due=due,
            standings=self._memory.standings,
            sinks=self._told[0],
            trouble=self._told[1],
            events=self._memory.events,
        )
        unpublished = self._around.publisher.publish(
            exit_code=said.assessment.verdict.exit_code,
            text=report.text(said),
            valid_until_ns=int((due + VALID_BEYOND) * 1e9),
            document={**report.as_dict(said), "daemon": daemon_view.as_dict(said.policy, state)},
            booted_ns=int((self._sample.wall - self._sample.boottime) * 1e9),
        )
        if unpublished and unpublished != self._unpublished:
            self._log.warning(f"{unpublished}; 'clock-agent check' measures for itself meanwhile")
        self._unpublished = unpublished

    def _send_gauges(self, said: report.Report) -> None:
        readings = (said.observations.chrony, *said.observations.references)
        newest = max((r.taken_at for r in readings if isinstance(r, Reading)), default=None)
        if newest is not None:
            self._last_reading_at = newest
        if self._around.metrics is None:
            return
        changed = self._around.metrics.send(
            Snapshot(
                assessment=said.assessment,
                observations=said.observations,
                standings=self._memory.standings,
                boottime=clock.boottime(),
                last_reading_at=self._last_reading_at,
                drift_ppm=drift.host_rate(said.observations.trends),
                store_ok=self._keeper.trouble is None,
            )
        )
        if changed:
            self._log.warning(changed)

    def _surroundings(self, config: Config, after: Optional[Deliverer] = None) -> Surroundings:
        return Surroundings(
            config=config,
            gathering=Gathering(build(config), self._poke),
            metrics=(
                Metrics(config.statsd, self._host, config.tags) if config.statsd.enabled else None
            ),
            publisher=Publisher(config.paths.runtime, self._boot_id),
            deliverer=Deliverer(
                self._keeper,
                [(each, sinks.make(each)) for each in config.alerts],
                self._log,
                changed=self._poke,
                after=after,
            ),
        )
