"""Owns the test of the running daemon against every receiver that misbehaves, all at once."""

from __future__ import annotations

import calendar
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

import pytest

from tests.support import receiver as receivers
from tests.support.certificates import Authority
from tests.support.command import clock_agent
from tests.support.daemon import Daemon
from tests.support.fakes import Chronyc
from tests.support.notify_socket import NotifySocket
from tests.support.ports import free_port
from tests.support.receiver import Answer, Received, Receiver, behaving, receiver
from tests.support.waiting import wait_for

KINDS = ("webhook", "alertmanager", "pagerduty")
#: Seconds that a receiver of the test asks to be left alone.
RETRY_AFTER = 6
#: Seconds a sink waits after its first failure, at least.
FIRST_PAUSE = 2.5


class Fault(NamedTuple):
    """One way of misbehaving, and what becomes of an alert."""

    name: str
    #: What ``status`` says why it was not delivered; empty when it is delivered in the end.
    why: str = ""
    #: Not delivered, and not tried again.
    final: bool = False
    answers: Tuple[Answer, ...] = ()
    behaviour: Optional[receivers.Behaviour] = None
    #: Dates and hosts of its certificate; None for plain HTTP.
    certificate: Optional[Dict[str, Any]] = None
    #: Spoken to as if it had no certificate.
    plain: bool = False


FAULTS = (
    Fault("fine"),
    Fault("tls", certificate={}),
    Fault("recovers", answers=(Answer(500), Answer())),
    Fault("busy", answers=(Answer(429, {"Retry-After": str(RETRY_AFTER)}), Answer())),
    Fault("refused", "Connection refused"),
    Fault("silent", "gave no answer within 1 s", behaviour=receivers.silent),
    Fault("trickling", "gave no answer within 1 s", behaviour=receivers.dripping),
    Fault("moved", "redirects are not followed", True, (Answer(302, {"Location": "/"}),)),
    Fault("unknown", "answered 404", True, (Answer(404),)),
    Fault("expired", "has expired, or this host's", certificate={"start": -20, "end": -10}),
    Fault("early", "this host's clock is behind", certificate={"start": 10, "end": 20}),
    Fault("misnamed", "is for another name", certificate={"hosts": "DNS:elsewhere.example"}),
    Fault("plain", "http://127.0.0.1:", certificate={}, plain=True),
)
DELIVERED = [fault.name for fault in FAULTS if not fault.why]


class Site:
    """A receiver of every kind for every fault."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self._authority = Authority(directory / "authority")
        self._stack = stack
        self._key = directory / "key"
        self._key.write_text("R0123456789ABCDEFGHIJKLMNOPQRSTU\n")
        self._key.chmod(0o600)
        self.receivers: Dict[Tuple[str, str], Receiver] = {}
        self.alerts = [self._sink(kind, fault) for kind in KINDS for fault in FAULTS]

    def _sink(self, kind: str, fault: Fault) -> Dict[str, Any]:
        url = self._url(kind, fault)
        sink = {"type": kind, "name": f"{kind}-{fault.name}", "url": url, "timeout": "1s"}
        if kind == "pagerduty":
            sink["routing_key_file"] = str(self._key)
        if fault.certificate is not None:
            sink["ca_file"] = str(self._authority.certificate)
        return sink

    def _url(self, kind: str, fault: Fault) -> str:
        if fault.name == "refused":
            return f"http://127.0.0.1:{free_port()}"
        if fault.behaviour is not None:
            return f"http://127.0.0.1:{self._stack.enter_context(behaving(fault.behaviour))}"
        pair = None
        if fault.certificate is not None:
            pair = self._authority.issue(f"{kind}-{fault.name}", **fault.certificate)
        opened = self._stack.enter_context(receiver(*fault.answers, certificate=pair))
        self.receivers[kind, fault.name] = opened
        return opened.url.replace("https", "http") if fault.plain else opened.url

    def told(self, kind: str, fault: str) -> List[str]:
        """What a receiver was told of the alert that it accepted, in order."""
        requests = tuple(self.receivers[kind, fault].requests)
        refused = 1 if fault in ("recovers", "busy") else 0
        return list(filter(None, (_told(kind, request) for request in requests[refused:])))

    def first_two(self, kind: str, fault: str) -> Tuple[float, float]:
        """When the first attempt came, and when the second."""
        first, second, *_ = self.receivers[kind, fault].requests
        return first.at, second.at


def _told(kind: str, request: Received) -> str:
    """``raise`` or ``resolve``; empty for a question about the time."""
    if kind == "webhook":
        return str(request.document["kind"])
    if kind == "pagerduty":
        return {"trigger": "raise", "resolve": "resolve"}[request.document["event_action"]]
    if request.body == b"[]":
        return ""
    alerts: Any = request.document
    ends = calendar.timegm(time.strptime(alerts[0]["endsAt"][:19], "%Y-%m-%dT%H:%M:%S"))
    return "raise" if ends > time.time() + 60 else "resolve"


def status_of(daemon: Daemon) -> Dict[str, Dict[str, Any]]:
    """How every sink fares, by its name."""
    document = clock_agent("--config", str(daemon.config), "status", "--json").document
    return {sink["name"]: sink for sink in document["published"]["daemon"]["sinks"]}


def as_expected(daemon: Daemon) -> Callable[[], bool]:
    """Whether ``status`` says of every sink what its fault calls for."""

    def look() -> bool:
        sinks = status_of(daemon)
        return all(
            fault.why in (sink["trouble"] or "")
            and bool(sink["trouble"]) == bool(fault.why)
            and bool(sink["waiting"]) == bool(fault.why and not fault.final)
            for kind in KINDS
            for fault in FAULTS
            for sink in [sinks[f"{kind}-{fault.name}"]]
        )

    return look


@pytest.mark.timeout(180)
def test_whatever_receivers_do_the_others_are_told_and_the_rhythm_does_not_change(
    private_dir: Path,
) -> None:
    chronyc = Chronyc(private_dir / "chronyc")
    systemd = NotifySocket(private_dir)
    with ExitStack() as stack:
        stack.callback(systemd.close)
        site = Site(private_dir, stack)
        settings = {"chrony": {"program": chronyc.path}, "service": {"enabled": False}}
        daemon = Daemon(private_dir, {**settings, "alerts": site.alerts})
        stack.callback(daemon.close)
        daemon.start(systemd.environment(watchdog_seconds=4.0))
        daemon.wait_for_readings(3)
        chronyc.say(5.0)

        def all_told(*kinds: str) -> Callable[[], bool]:
            return lambda: all(
                site.told(kind, name) == list(kinds) for kind in KINDS for name in DELIVERED
            )

        started, before = time.monotonic(), len(daemon.readings)
        wait_for(all_told("raise"), timeout=40.0, what="a raise wherever it can be delivered")
        wait_for(as_expected(daemon), timeout=40.0, what="the truth about each sink in status")
        lasted, readings = time.monotonic() - started, len(daemon.readings) - before
        for kind in KINDS:
            first, second = site.first_two(kind, "recovers")
            assert second - first >= FIRST_PAUSE
            first, second = site.first_two(kind, "busy")
            assert second - first >= RETRY_AFTER
        chronyc.say(0.0)
        wait_for(all_told("raise", "resolve"), timeout=40.0, what="a resolve after each raise")
        assert readings >= lasted / 0.2 * 0.6  # a reading every 0.2 s, on a busy machine
        assert systemd.longest_gap("WATCHDOG=1") < 2.0
        assert len(site.receivers["webhook", "moved"].requests) <= 2  # raise and resolve, once each
        assert daemon.stop() == 0
