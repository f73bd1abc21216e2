"""Owns ``clock-agent drill``: does a message reach people? A marked one goes through every sink.

It bypasses the daemon, its memory and its gauges: what arrives says that it is a drill, and nothing
on this host counts it.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, List, NamedTuple, Optional

from agent import clock, sinks, spawn
from agent import config as configuration
from agent.core import wording
from agent.core.model import Alert, Delivery, Verdict
from agent.core.settings import AlertSettings, Config
from agent.errors import UsageError
from agent.sinks import Sink

if TYPE_CHECKING:
    import argparse

KINDS = ("raise", "resolve")
#: Seconds a sink may take beyond its timeout for each message before it is given up.
GRACE = 1.0
FAILED = 2


class Attempt(NamedTuple):
    """One message to one sink."""

    kind: str
    delivery: Delivery
    #: Seconds it took.
    elapsed: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``drill``."""
    parser.add_argument(
        "--sink",
        metavar="NAME",
        action="append",
        default=[],
        help="only through this one (may be repeated; default: all)",
    )


def run(arguments: argparse.Namespace, config_path: Optional[str]) -> int:
    """Send and report; return 0 when everything was delivered, else 2."""
    config = configuration.load(config_path).config
    drills = [Drill(settings, config) for settings in _chosen(config, arguments.sink)]
    for drill in drills:
        drill.start()
    failed = False
    try:
        for drill in drills:
            failed = not drill.finish() or failed
            print(drill.report(), flush=True)
    finally:
        spawn.end_all()
    return FAILED if failed else 0


def _chosen(config: Config, names: List[str]) -> List[AlertSettings]:
    """The sinks that take part. Raises UsageError."""
    known = [settings.name for settings in config.alerts]
    for name in names:
        if name not in known:
            there = wording.listing(known) if known else "none"
            raise UsageError(f"--sink: there is no sink {name}; configured: {there}")
    if not known:
        raise UsageError("no sink is configured: nobody would hear of anything", "see alerts")
    return [settings for settings in config.alerts if not names or settings.name in names]


class Drill:
    """One sink's part, in a thread of its own."""

    def __init__(self, settings: AlertSettings, config: Config) -> None:
        self._settings = settings
        self._messages = [message(kind, settings, config) for kind in KINDS]
        self._attempts: List[Attempt] = []
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._give_up = 0.0

    def start(self) -> None:
        """Begin to send."""
        self._give_up = clock.monotonic() + len(KINDS) * (self._settings.timeout + GRACE)
        self._thread.start()

    def finish(self) -> bool:
        """Wait for the end, or until it is overdue; True when everything was delivered."""
        self._thread.join(max(0.0, self._give_up - clock.monotonic()))
        attempts = self._attempts
        return len(attempts) == len(KINDS) and all(each.delivery.delivered for each in attempts)

    def report(self) -> str:
        """What became of it, in one line."""
        said = [_told(each) for each in self._attempts]
        if len(said) < len(KINDS):
            said.append(f"{KINDS[len(said)]} has not come back and was given up")
        return f"{self._settings.name}: " + "; ".join(said)

    def _work(self) -> None:
        sink = sinks.make(self._settings)
        for alert in self._messages:
            started = clock.monotonic()
            delivery = _send(sink, alert, self._settings.timeout)
            elapsed = clock.monotonic() - started
            self._attempts.append(Attempt(alert.kind, delivery, elapsed))


def message(kind: str, settings: AlertSettings, config: Config) -> Alert:
    """What is sent: nobody can take it for a real alert, and no real one has its key."""
    host = os.uname().nodename
    lowest = max(settings.min_severity, Verdict.WARNING)
    what = "this is a test of the alerts of clock-agent; nothing is wrong"
    return Alert(
        id=f"drill/{clock.boot_id()}/{os.getpid()}/{clock.boottime():.6f}/{kind}",
        key=f"clock-agent/{host}/drill",
        kind=kind,
        severity=lowest.word,
        host=host,
        condition="drill",
        summary=f"DRILL: {what}" if kind == "raise" else f"DRILL over: {what}",
        cause="drill",
        evidence=(f"sent by hand with clock-agent drill on {host}",),
        advice=("do nothing",),
        lasted=0.0,
        local_time=wording.utc(clock.wall()),
        reference_time=None,
        tags={**config.tags, **settings.tags, "drill": "true"},
    )


def _send(sink: Sink, alert: Alert, timeout: float) -> Delivery:
    try:
        return sink.send(alert, timeout)
    except Exception as error:  # a defect of one sink is its result, not the end of the drill
        return Delivery(delivered=False, what=f"{type(error).__name__} in the sink: {error}")


def _told(attempt: Attempt) -> str:
    took = wording.duration(attempt.elapsed)
    if attempt.delivery.delivered:
        return f"{attempt.kind} delivered in {took}"
    future = "the daemon would try again" if attempt.delivery.retryable else "refused for good"
    return f"{attempt.kind} NOT delivered after {took}: {attempt.delivery.what} ({future})"
