"""Owns turning what was seen on a live host into ``doctor``'s findings, each with its reason.

What ``check`` judges is taken over with the same verdicts and remedies; the rest is what an
operator would look at next: the files behind systemd's memory, other daemons, the agent itself.
"""

from __future__ import annotations

from typing import Iterable, Iterator, Mapping, NamedTuple, Optional, Tuple

from agent.core import wording
from agent.core.diagnosis import Diagnosis
from agent.core.model import Assessment, Finding, Miss, Observations, ServiceState, Verdict
from agent.core.units import CHRONY_UNITS

_DRIFTS = (
    "Nothing corrects this clock, or nothing will after the next restart: it drifts by up to"
    " minutes a day, and locks judged by it fail."
)
_UNTIL = "The clock is right only until the next restart or reboot."
_BLIND = "An error of this clock could go unnoticed."
#: Why a condition matters, by its verdict.
_WHY: Mapping[str, Mapping[Verdict, str]] = {
    "service": {
        Verdict.CRITICAL: _DRIFTS,
        Verdict.WARNING: _UNTIL,
        Verdict.UNKNOWN: "Whether a time daemon runs and will start at boot is not known.",
    },
    "sync": {
        Verdict.CRITICAL: "Nobody vouches for this clock: its error may be anything.",
        Verdict.WARNING: "Only a reference still vouches for this clock; nothing corrects it.",
    },
    "offset": {
        Verdict.CRITICAL: "What compares times with other hosts acts on a wrong clock.",
        Verdict.WARNING: "The error is on its way to where locks and timestamps fail.",
    },
    "reference": {
        Verdict.CRITICAL: "Neither chronyd nor a reference vouches for this clock.",
        Verdict.WARNING: "chronyd's own word is then all there is, and it can be wrong.",
    },
}
#: Where the verdict alone does not say it.
_WHY_THIS: Mapping[str, str] = {
    "masked-alias": "Whatever starts or watches chronyd by that name fails, a safety net included.",
    "second-discipliner": "Each undoes what the other does: the clock swings, or steps.",
    "contradictory-names": "Which of them runs after the next boot is chance.",
    "activating": "Nothing corrects the clock until it has started.",
    "deactivating": "Nothing will correct the clock once it has stopped.",
    "wrong-program": "Whether it corrects the clock is not known.",
    "process-stuck": "While it waits it corrects nothing.",
}


_COMMAND_WORDS = """
apt apt-get chronyc chronyd clock-agent command date dnf getent grep journalctl kill ls mv openssl
ps redis-cli ss sudo systemctl systemd-analyze timeout yum zypper
"""
#: The programs our advice names; a line that begins with any other word is prose.
_COMMANDS = frozenset(_COMMAND_WORDS.split())


_SEE_OTHERS = ("# comes right with the other findings",)


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


def conditions(
    assessment: Assessment, seen: Observations, masks: Mapping[str, str]
) -> Iterator[Diagnosis]:
    """What ``check`` judges, one finding per condition, and one per reference.

    ``masks``: the files that mask, and what is known of each: the evidence for the service.
    """
    service = next((f for f in assessment.findings if f.condition == "service"), None)
    for finding in assessment.findings:
        if finding.condition == "reference":
            yield from _references(finding, seen)
        elif finding is service:
            yield _with_evidence(_taken_over(finding), masks)
        elif service and finding.advice and finding.advice == service.advice:
            yield _taken_over(finding)._replace(remedy=("# the same as for service",))
        else:
            yield _taken_over(finding)


def _taken_over(finding: Finding) -> Diagnosis:
    well = finding.verdict is Verdict.OK
    return Diagnosis(
        topic=finding.condition,
        cause=finding.cause,
        verdict=finding.verdict,
        seen=finding.summary,
        why="" if well else why(finding),
        remedy=() if well else tuple(_shell(line) for line in finding.advice) or _SEE_OTHERS,
    )


def why(finding: Finding) -> str:
    """Why a finding that is not ok matters."""
    known = _WHY.get(finding.condition, {}).get(finding.verdict, _BLIND)
    return _WHY_THIS.get(finding.cause, known) if finding.condition == "service" else known


def _with_evidence(told: Diagnosis, masks: Mapping[str, str]) -> Diagnosis:
    """A fault with the files that mask: since when, and who made them."""
    if told.verdict is Verdict.OK or not masks:
        return told
    return told._replace(seen=f"{told.seen}: {', '.join(masks.values())}", where=tuple(masks))


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
            why=why(finding),
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
    if service is None or service.verdict is not Verdict.OK or service.unit not in CHRONY_UNITS:
        return  # the files judged are those of chronyd's units
    for each in on_disk:
        if each.verdict >= Verdict.WARNING:
            yield each._replace(
                verdict=Verdict.WARNING,
                seen=f"{each.seen}; systemctl does not show it",
                why="It will take effect at the next `daemon-reload` or reboot.",
            )
        elif each.verdict > Verdict.OK:
            yield each


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
