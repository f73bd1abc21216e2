"""Owns asking systemd about the time service: one ``systemctl show``, and a look behind if need be.

systemd is asked and never told: no verb that changes anything, no ``timedatectl`` (its time-sync
verbs start timesyncd, which stops chronyd). A host whose service is well costs one child process
and a few reads in /proc; only when something is wrong are processes and unit files looked at.
"""

from __future__ import annotations

import errno
import os
from typing import Tuple

from agent import clock, processes, spawn
from agent.core.model import ServiceState, Verdict
from agent.core.service import Facts, Look, decide, unanswered, watched_pid
from agent.core.settings import ServiceSettings
from agent.core.units import FAMILY, PROPERTIES, parse, shown

#: Seconds systemctl gets: it answers in 5 ms, and in 25 s or never on a stuck bus.
DEADLINE = 1.8
#: Exists exactly where systemd is the init; systemctl itself decides by it.
BOOTED = "/run/systemd/system"


class ServiceProbe:
    """Reads the state of the time service; ``read`` never raises."""

    source = "service"
    #: Seconds a reading takes at most, ending a stuck systemctl included.
    timeout = DEADLINE + 2 * spawn.TERM_GRACE

    def __init__(self, settings: ServiceSettings, booted: str = BOOTED) -> None:
        self._program = settings.program
        self._wanted = _unit_name(settings.unit)
        self._booted = booted

    def read(self) -> ServiceState:
        """Ask once, and judge the answer or the lack of one."""
        answer = spawn.run(self._command(), DEADLINE)
        units = () if answer.timed_out else parse(answer.stdout)
        if not units:
            return self._unanswered(answer)
        facts = Facts(units=units, wanted=self._wanted, monotonic=clock.monotonic())
        pid = watched_pid(facts)
        if pid:
            facts = facts._replace(main=processes.peek(pid))
        state = decide(facts)
        if state.verdict is Verdict.OK:
            return state
        return decide(facts._replace(look=_look()))

    def _command(self) -> Tuple[str, ...]:
        extra = () if self._wanted in ("auto", *FAMILY) else (self._wanted,)
        properties = "--property=" + ",".join(PROPERTIES)
        return (self._program, "show", "--no-pager", properties, "--", *extra, *FAMILY)

    def _unanswered(self, answer: spawn.Completed) -> ServiceState:
        if answer.timed_out:
            return unanswered(
                "systemctl-hung",
                f"systemctl has not answered within {DEADLINE} s: systemd or its bus is stuck",
                ("systemctl is-system-running",),
            )
        if answer.errno not in (0, errno.ENOENT):
            return unanswered(
                "systemctl-unusable",
                f"{shown(self._program)} cannot be run: {shown(answer.stderr)}",
                ("# set service.program to a systemctl that clock-agent may run",),
            )
        if not os.path.isdir(self._booted):
            return _without_systemd()
        if answer.errno == errno.ENOENT:
            return unanswered(
                "systemctl-missing",
                f"systemd runs here, but there is no {shown(self._program)}",
                ("# set service.program to the path of systemctl",),
            )
        if answer.status != 0:
            return unanswered(
                "bus-unreachable",
                f"systemd cannot be asked: {shown(answer.stderr) or 'no reason given'}",
                ("systemctl status --no-pager dbus.service dbus.socket",),
            )
        return unanswered(
            "unreadable",
            f"what systemctl printed cannot be read: {shown(answer.stdout)!r}",
            (" ".join(self._command()),),
        )


def _unit_name(setting: str) -> str:
    """``chronyd`` means ``chronyd.service``, as it does to systemctl."""
    return setting if setting == "auto" or "." in setting else setting + ".service"


def _without_systemd() -> ServiceState:
    """Where systemd is not the init, a living chronyd is all there is to see."""
    alive = [p for p in processes.find_named("chronyd") if p.state != "zombie"]
    if alive:
        return unanswered(
            "no-systemd",
            f"chronyd runs as pid {alive[0].pid}; systemd is not the init here, so nothing"
            " can be said about the next boot",
            verdict=Verdict.OK,
        )
    return unanswered(
        "not-running",
        "no chronyd is running, and systemd is not the init here to start it",
        (
            "# start chronyd by this system's own means, or, in a container whose host keeps the"
            " clock, set service.enabled: false and chrony.enabled: false",
        ),
        verdict=Verdict.CRITICAL,
    )


def _look() -> Look:
    return Look()
