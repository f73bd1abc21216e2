"""Owns asking systemd about the time service: one ``systemctl show``, and a look behind if need be.

systemd is asked and never told: no verb that changes anything, no ``timedatectl`` (its time-sync
verbs start timesyncd, which stops chronyd). A host whose service is well costs one child process
and a few reads in /proc; only when something is wrong are processes and unit files looked at.
"""

from __future__ import annotations

import errno
import os

from agent import clock, processes, spawn
from agent.core.model import ServiceState, Verdict
from agent.core.service import Facts, Look, decide, disk_decides, unanswered, watched_pid
from agent.core.settings import ServiceSettings
from agent.core.typed import TYPE_CHECKING
from agent.core.units import CHRONY_UNITS, FAMILY, PROPERTIES, SEARCH, WANTS, if_loaded, parse
from agent.core.wording import plain

if TYPE_CHECKING:
    from typing import Optional, Sequence, Tuple

#: Seconds systemctl gets: it answers in 5 ms, and in 25 s or never on a stuck bus.
DEADLINE = 1.8
#: Exists exactly where systemd is the init; systemctl itself decides by it.
BOOTED = "/run/systemd/system"
#: Package tools that can bring a chrony package back, the one to use first.
INSTALLERS = ("apt-get", "dnf", "yum", "zypper")
CAP_SYS_TIME = 25


class ServiceProbe:
    """Reads the state of the time service; ``read`` never raises."""

    source = "service"
    #: Seconds a reading takes at most, ending a stuck systemctl included.
    timeout = DEADLINE + 2 * spawn.TERM_GRACE

    def __init__(
        self,
        settings: ServiceSettings,
        booted: str = BOOTED,
        root: str = "",
    ) -> None:
        """``booted`` exists while systemd runs; unit files are looked for below ``root``."""
        self._program = settings.program
        self._wanted = _unit_name(settings.unit)
        self._booted = booted
        self._root = root

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
        if state.verdict is Verdict.OK and not disk_decides(facts) and self._starts_at_boot(state):
            return state
        look = self._unit_files(state)
        if state.verdict is not Verdict.OK:
            look = _with_processes(look)
        return decide(facts._replace(look=look))

    def _command(self) -> Tuple[str, ...]:
        extra = () if self._wanted in ("auto", *FAMILY) else (self._wanted,)
        family = (name if self._may_exist(name) else if_loaded(name) for name in FAMILY)
        properties = "--property=" + ",".join(PROPERTIES)
        return (self._program, "show", "--no-pager", properties, "--", *extra, *family)

    def _may_exist(self, name: str) -> bool:
        """True for a name with a unit file, and for those whose absence is worth knowing."""
        return name in CHRONY_UNITS[:2] or any(
            os.path.lexists(f"{self._root}{directory}/{name}") for directory in SEARCH
        )

    def _starts_at_boot(self, state: ServiceState) -> bool:
        """False when "enabled" may be systemd's word alone: no plain boot link is to be seen."""
        if state.unit_file_state != "enabled" or not self._ours(state):
            return True
        return any(
            self._leads_on(f"{self._root}{SEARCH[0]}/{name}/{state.unit}")
            for name in _names(f"{self._root}{SEARCH[0]}")
            if name.endswith(WANTS)
        )

    def _ours(self, state: ServiceState) -> bool:
        """False where the files systemd reads are not to be seen.

        They are not there in a container that may ask its host's systemd, or not for this user.
        """
        fragment = f"{self._root}{state.detail.get('fragment_path')}"
        return os.path.lexists(fragment) and os.access(self._root + SEARCH[0], os.R_OK | os.X_OK)

    def _leads_on(self, path: str) -> bool:
        """True for a link to a file that is not empty, as /dev/null is."""
        try:
            target = os.readlink(path)
            base = self._root if os.path.isabs(target) else os.path.dirname(path) + "/"
            return os.path.getsize(base + target) > 0
        except PermissionError:
            return True  # not for this user to see: systemd's word stands
        except OSError:
            return False

    def _unit_files(self, state: ServiceState) -> Look:
        """What the files on disk say about the unit."""
        from agent.core import unitfiles
        from agent.tree import Tree

        files = Tree(self._root)
        unit, fragment = state.unit, str(state.detail.get("fragment_path", ""))
        links = unitfiles.leading_links(files, unit)
        return Look(
            aliases=unitfiles.aliases(files, unit),
            real_names=tuple(name for name in CHRONY_UNITS if unitfiles.vendor_file(files, name)),
            boot_link=bool(links) if self._ours(state) else None,
            obstacles=unitfiles.obstacles(files, unit),
            empty_file=bool(fragment) and files.entry(fragment).kind == "file",
            installed=spawn.find_program("chronyd") != "chronyd",
            installer=next((tool for tool in INSTALLERS if spawn.find_program(tool) != tool), ""),
        )

    def _unanswered(self, answer: spawn.Completed) -> ServiceState:
        if answer.timed_out:
            return unanswered(
                "systemctl-hung",
                f"systemctl has not answered within {DEADLINE} s: systemd or its bus is stuck",
                (
                    "timeout 10 systemctl is-system-running",
                    "# if root gets an answer, it is only the bus: systemctl status dbus.service",
                    "# if not, systemd(1) promises that `kill -TERM 1` makes it start afresh and"
                    " keep its state",
                ),
            )
        if answer.errno in spawn.SHORTAGES:
            return unanswered(
                "shortage",
                f"systemd cannot be asked, this host is short of something: {answer.stderr}",
                ("cat /proc/sys/fs/file-nr; ps -eLf | wc -l; free -m",),
            )
        if answer.errno not in (0, errno.ENOENT):
            return unanswered(
                "systemctl-unusable",
                f"{plain(self._program)} cannot be run: {plain(answer.stderr)}",
                ("# set service.program to a systemctl that clock-agent may run",),
            )
        if not os.path.isdir(self._booted):
            return _without_systemd()
        if answer.errno == errno.ENOENT:
            return unanswered(
                "systemctl-missing",
                f"systemd runs here, but there is no {plain(self._program)}",
                ("# set service.program to the path of systemctl",),
            )
        if answer.status != 0:
            return unanswered(
                "bus-unreachable",
                f"systemd cannot be asked: {plain(answer.stderr) or 'no reason given'}",
                ("systemctl status --no-pager dbus.service dbus.socket",),
            )
        return unanswered(
            "unreadable",
            f"what systemctl printed cannot be read: {plain(answer.stdout)!r}",
            (" ".join(self._command()),),
        )


def _unit_name(setting: str) -> str:
    """``chronyd`` means ``chronyd.service``, as it does to systemctl."""
    return setting if setting == "auto" or "." in setting else setting + ".service"


def _without_systemd() -> ServiceState:
    """Where systemd is not the init, a living chronyd is all there is to see."""
    named = processes.find_named("chronyd")
    alive = [p for p in named if p.state != "zombie" and not p.contained]
    if not alive and processes.hidden():
        return unanswered(
            "hidden",
            "whether chronyd runs is hidden from this user (/proc is missing or mounted with"
            " hidepid), and systemd is not the init here to be asked",
            ("# run clock-agent as root, or set service.enabled: false",),
        )
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


def _names(directory: str) -> Sequence[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return ()


def _with_processes(look: Look) -> Look:
    """``look`` with the living chronyds, and whether anything here may set the clock."""
    found = [processes.peek(process.pid) for process in processes.find_named("chronyd")]
    return look._replace(
        chronyds=tuple(program for program in found if program is not None),
        may_set_clock=_may_set_clock(),
    )


def _may_set_clock() -> Optional[bool]:
    """Whether the init of this host holds CAP_SYS_TIME; None when it does not say."""
    from agent.tree import Tree

    for line in (Tree("/").read("/proc/1/status") or "").split("\n"):
        if line.startswith("CapBnd:"):
            return bool(int(line[7:].strip() or "0", 16) >> CAP_SYS_TIME & 1)
    return None
