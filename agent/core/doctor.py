"""Owns turning what was seen on a live host into ``doctor``'s findings, each with its reason.

What ``check`` judges is taken over with the same verdicts and remedies; the rest is what an
operator would look at next: the files behind systemd's memory, other daemons, the agent itself.
"""

from __future__ import annotations

from typing import Iterable, Iterator, Mapping, NamedTuple, Optional, Sequence, Tuple

from agent.core import wording
from agent.core.diagnosis import Diagnosis
from agent.core.model import Assessment, Finding, Miss, Observations, ServiceState, Verdict
from agent.core.service_view import Program

#: Programs that steer the system clock, besides chronyd.
DISCIPLINERS = ("ntpd", "systemd-timesyncd", "phc2sys", "ntpdate", "sntp")
#: Guest tools that can set the clock of a virtual machine; whether they do is their own setting.
GUEST_TOOLS: Mapping[str, str] = {
    "vmtoolsd": "vmware-toolbox-cmd timesync disable",
    "VBoxService": "# start VBoxService with --disable-timesync",
    "prltoolsd": "# switch time synchronisation off in the settings of the virtual machine",
    "xe-daemon": "# see /proc/sys/xen/independent_wallclock",
}

_WHY: Mapping[Tuple[str, Verdict], str] = {
    ("service", Verdict.CRITICAL): "Nothing corrects this clock, or nothing will after the next"
    " restart: it drifts by up to minutes a day, and locks judged by it fail.",
    ("service", Verdict.WARNING): "The clock is right only until the next restart or reboot, or"
    " until two daemons disagree.",
    ("service", Verdict.UNKNOWN): "Whether a time daemon runs and will start at boot is not known.",
    ("sync", Verdict.CRITICAL): "Nobody vouches for this clock: its error may be anything.",
    (
        "sync",
        Verdict.WARNING,
    ): "Only a reference still vouches for this clock; nothing corrects it.",
    ("offset", Verdict.CRITICAL): "What compares times with other hosts acts on a wrong clock.",
    ("offset", Verdict.WARNING): "The error is on its way to where locks and timestamps fail.",
    ("reference", Verdict.CRITICAL): "Neither chronyd nor a reference vouches for this clock.",
    ("reference", Verdict.WARNING): "chronyd's own word is then all there is, and it can be wrong.",
}


_COMMAND_WORDS = """
apt apt-get chronyc chronyd clock-agent command date dnf getent grep journalctl kill ls mv openssl
ps redis-cli ss sudo systemctl systemd-analyze yum zypper
"""
#: The programs our advice names; a line that begins with any other word is prose.
_COMMANDS = frozenset(_COMMAND_WORDS.split())


class AgentFacts(NamedTuple):
    """What is known of the agent's own daemon on this host."""

    #: Every problem of its configuration; none when it is valid.
    config_problems: Tuple[str, ...] = ()
    config_path: str = ""
    #: Why this user may not read it; ``""`` when it could be read.
    config_forbidden: str = ""
    #: What about a valid one deserves a second look.
    config_warnings: Tuple[str, ...] = ()
    #: Its unit as systemd sees it; None when systemd could not be asked.
    unit: Optional[ServiceState] = None
    #: A status that can be believed now is published.
    published: bool = False
    #: Why its state directory cannot be used; ``""`` when it can.
    state_trouble: str = ""
    state_directory: str = ""


def conditions(assessment: Assessment, seen: Observations) -> Iterator[Diagnosis]:
    """What ``check`` judges, one finding per condition, and one per reference."""
    for finding in assessment.findings:
        if finding.condition == "reference":
            yield from _references(finding, seen)
        else:
            yield _taken_over(finding)


def _taken_over(finding: Finding) -> Diagnosis:
    well = finding.verdict is Verdict.OK
    return Diagnosis(
        topic=finding.condition,
        cause=finding.cause,
        verdict=finding.verdict,
        seen=finding.summary,
        why=_WHY.get((finding.condition, finding.verdict), ""),
        remedy=() if well else tuple(_shell(line) for line in finding.advice),
    )


def _shell(line: str) -> str:
    """Advice as a line for a shell: prose becomes a comment, commands stay what they are."""
    command = line.split(" ")[0] in _COMMANDS
    return line if command or line.startswith("#") else f"# {line}"


def _references(finding: Finding, seen: Observations) -> Iterator[Diagnosis]:
    misses = [each for each in seen.references if isinstance(each, Miss)]
    for miss in misses:
        yield Diagnosis(
            topic=f"reference {miss.source}",
            cause=miss.cause,
            verdict=finding.verdict,
            seen=miss.what,
            why=_WHY.get(("reference", finding.verdict), ""),
            remedy=tuple(_shell(line) for line in miss.advice),
        )
    if not misses:
        yield _taken_over(finding)
    for reading in seen.references:
        if not isinstance(reading, Miss):
            yield Diagnosis(
                f"reference {reading.source}", "answers", Verdict.OK, wording.reading(reading)
            )


def disk_against_memory(
    service: Optional[ServiceState], on_disk: Iterable[Diagnosis]
) -> Iterator[Diagnosis]:
    """What the unit files say while systemd, which has not read them again, says all is well."""
    if service is None or service.verdict is not Verdict.OK or not service.unit:
        return
    for each in on_disk:
        if each.verdict > Verdict.OK:
            yield each._replace(
                verdict=Verdict.WARNING,
                seen=f"{each.seen}; systemd has not noticed yet",
                why="It will take effect at the next `daemon-reload` or reboot.",
            )


def programs(
    alive: Sequence[Program], chronyds: Sequence[Program], service: Optional[ServiceState]
) -> Iterator[Diagnosis]:
    """Other living programs that steer this clock, or may, and a second chronyd."""
    known = service is not None and service.cause == "second-discipliner"
    for program in alive:
        if program.name in DISCIPLINERS and not known:
            yield Diagnosis(
                "service",
                "second-discipliner",
                Verdict.WARNING,
                f"{program.name} runs as pid {program.pid}"
                + (f" in {program.unit}" if program.unit else ", started by no unit"),
                "Two daemons steer one clock.",
                (
                    f"systemctl disable --now {program.unit}"
                    if program.unit
                    else f"kill {program.pid}",
                ),
            )
        elif program.name in GUEST_TOOLS:
            yield Diagnosis(
                "service",
                "guest-tools",
                Verdict.OK,
                f"{program.name} runs as pid {program.pid}, and may set this clock",
                "Guest tools that follow the hypervisor's clock step it under chronyd.",
                (GUEST_TOOLS[program.name],),
            )
    if len(chronyds) > 1:
        pids = ", ".join(str(each.pid) for each in chronyds)
        yield Diagnosis(
            "service",
            "two-chronyds",
            Verdict.WARNING,
            f"more than one chronyd runs: pids {pids}",
            "Unless all but one run with -x, they steer one clock against each other.",
            ("ps -o pid,ppid,etime,args -C chronyd",),
        )


def without_control(pid: int) -> Diagnosis:
    """A chronyd that was started with ``-x``: right in a container, odd on a host."""
    return Diagnosis(
        "service",
        "no-clock-control",
        Verdict.OK,
        f"chronyd (pid {pid}) runs with -x: it measures this clock and does not correct it",
        "In a container the clock is the host's to correct; anywhere else it is left to drift.",
        ("# on a host of its own: remove -x from DAEMON_OPTS or OPTIONS of the chrony package",),
    )


def agent(facts: AgentFacts) -> Iterator[Diagnosis]:
    """The state of clock-agent itself."""
    if facts.config_forbidden:
        yield Diagnosis(
            "clock-agent",
            "config-forbidden",
            Verdict.UNKNOWN,
            facts.config_forbidden,
            "The built-in defaults were judged by instead; no reference was asked.",
            ("# run clock-agent doctor as root",),
            (facts.config_path,),
        )
    for problem in facts.config_problems:
        yield Diagnosis(
            "clock-agent",
            "config-invalid",
            Verdict.WARNING,
            problem,
            "The daemon does not start with it; a running one keeps the old one.",
            ("clock-agent config check",),
            (facts.config_path,),
        )
    for warning in facts.config_warnings:
        yield Diagnosis(
            "clock-agent",
            "config-warning",
            Verdict.OK,
            warning,
            "",
            ("clock-agent config check",),
            (facts.config_path,),
        )
    yield _daemon(facts)
    if facts.state_trouble and _expected(facts):
        yield Diagnosis(
            "clock-agent",
            "state-unusable",
            Verdict.WARNING,
            f"{facts.state_directory}: {facts.state_trouble}",
            "What is being alerted is forgotten at a restart: alerts come twice or not at all.",
            (f"ls -ld {facts.state_directory}",),
            (facts.state_directory,),
        )


def _expected(facts: AgentFacts) -> bool:
    """True when somebody has installed the daemon's unit here."""
    return facts.unit is not None and facts.unit.load_state not in ("", "not-found")


def _daemon(facts: AgentFacts) -> Diagnosis:
    unit = facts.unit
    if facts.published:
        return Diagnosis("clock-agent", "running", Verdict.OK, "its published status is fresh")
    if unit is None or not _expected(facts):
        return Diagnosis(
            "clock-agent",
            "not-running",
            Verdict.OK,
            "no clock-agent daemon publishes a status on this host",
            "Nobody is told when this clock goes wrong between two calls of `check`.",
            ("# install the clock-agent package, or run `clock-agent run`",),
        )
    active = unit.active_state == "active"
    return Diagnosis(
        "clock-agent",
        "status-stale" if active else unit.cause,
        Verdict.WARNING,
        f"{unit.what}, but it publishes no fresh status" if active else unit.what,
        "Nobody is told when this clock goes wrong.",
        ("systemctl restart clock-agent.service",) if active else unit.advice,
    )
