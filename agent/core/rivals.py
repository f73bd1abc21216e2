"""Owns judging the programs alive on a host that steer its clock besides chronyd, or may."""

from __future__ import annotations

from typing import Iterator, Mapping, NamedTuple, Optional, Sequence, Tuple

from agent.core.diagnosis import Diagnosis
from agent.core.model import ServiceState, Verdict
from agent.core.service_view import Program

#: Programs that do nothing else.
DISCIPLINERS = ("ntpd", "systemd-timesyncd", "phc2sys", "ntpdate", "sntp")


class GuestTool(NamedTuple):
    """What a hypervisor wants to run in its guests; setting the clock is one of its many jobs."""

    #: It does so unless told otherwise; None when that cannot be seen from inside.
    default: Optional[bool]
    remedy: str
    #: The argument it was told with.
    off: str = ""
    #: A command that says "Enabled" or "Disabled", and changes nothing.
    ask: Tuple[str, ...] = ()


GUEST_TOOLS: Mapping[str, GuestTool] = {
    "vmtoolsd": GuestTool(
        None,
        "vmware-toolbox-cmd timesync disable",
        ask=("vmware-toolbox-cmd", "timesync", "status"),
    ),
    "VBoxService": GuestTool(
        True, "# start VBoxService with --disable-timesync", off="--disable-timesync"
    ),
    "prltoolsd": GuestTool(
        None, "# switch time synchronisation off in the settings of the virtual machine"
    ),
    "xe-daemon": GuestTool(None, "# see /proc/sys/xen/independent_wallclock"),
}


class Guest(NamedTuple):
    """One living guest tool."""

    program: Program
    arguments: Tuple[str, ...] = ()
    #: What its ``ask`` printed; ``""`` when it could not be asked.
    answer: str = ""

    @property
    def steers(self) -> Optional[bool]:
        """Whether it sets the clock; None when that cannot be seen."""
        tool = GUEST_TOOLS[self.program.name]
        if tool.off and tool.off in self.arguments:
            return False
        said = self.answer.strip().lower()
        return {"enabled": True, "disabled": False}.get(said, tool.default)


def disciplining(alive: Sequence[Program], service: Optional[ServiceState]) -> Iterator[Diagnosis]:
    """Other daemons, those that ``service`` has named already left out."""
    if service is not None and service.cause == "second-discipliner":
        return
    for program in alive:
        where = f" in {program.unit}" if program.unit else ", started by no unit"
        stop = f"systemctl disable --now {program.unit}" if program.unit else f"kill {program.pid}"
        yield Diagnosis(
            "service",
            "second-discipliner",
            Verdict.WARNING,
            f"{program.name} runs as pid {program.pid}{where}",
            "Two daemons steer one clock: each undoes what the other does.",
            (stop,),
        )


def guests(alive: Sequence[Guest]) -> Iterator[Diagnosis]:
    """Guest tools that set the clock, or may."""
    for guest in alive:
        steers, program = guest.steers, guest.program
        if steers is not False:
            yield Diagnosis(
                "service",
                "second-discipliner" if steers else "guest-tools",
                Verdict.WARNING if steers else Verdict.OK,
                f"{program.name} runs as pid {program.pid}, and {'sets' if steers else 'may set'}"
                " this clock",
                "Guest tools that follow the hypervisor's clock step it under chronyd.",
                (GUEST_TOOLS[program.name].remedy,),
            )


def chronyds(alive: Sequence[Program]) -> Iterator[Diagnosis]:
    """More than one chronyd."""
    if len(alive) > 1:
        pids = ", ".join(str(each.pid) for each in alive)
        yield Diagnosis(
            "service",
            "two-chronyds",
            Verdict.WARNING,
            f"more than one chronyd runs: pids {pids}",
            "Unless all but one run with -x, they steer one clock against each other.",
            ("ps -o pid,ppid,etime,args -C chronyd", "# end those that no unit needs"),
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
