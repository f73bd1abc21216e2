"""Owns the facts a cause of the time service is recognised by, and the questions asked of them."""

from __future__ import annotations

from agent.core.typed import TYPE_CHECKING, NamedTuple
from agent.core.units import Unit

if TYPE_CHECKING:
    from typing import Callable, Iterable, Optional, Tuple

#: Seconds a daemon must have run before its earlier restarts are history.
SETTLED = 300.0
#: Restarts within that time that make a loop of them.
LOOP = 3

_EXIT_CANNOT_RUN = 203
_KILLED = (2, 3)


class Program(NamedTuple):
    """One living process."""

    pid: int
    #: The kernel's name for it, and the base name of its first argument.
    name: str
    arguments0: str = ""
    #: One letter as in /proc: R, S, D (stuck), T (stopped), Z (dead, not yet buried); "" unknown.
    state: str = ""
    #: The systemd unit whose control group it is in; "" when in none.
    unit: str = ""
    #: It lives in a container: its pid there is another one than here.
    contained: bool = False
    parent: int = 0

    @property
    def alive(self) -> bool:
        """False for one that has ended and waits to be buried."""
        return self.state not in ("Z", "X")


def leaders(programs: Iterable[Program]) -> Tuple[Program, ...]:
    """The living ones that are not helpers: chronyd forks one for what needs privileges."""
    alive = [program for program in programs if program.alive]
    pids = {program.pid for program in alive}
    return tuple(program for program in alive if program.parent not in pids)


class Look(NamedTuple):
    """What the host shows behind systemd's back; taken only when something is wrong."""

    #: Every living chronyd, systemd's own included.
    chronyds: Tuple[Program, ...] = ()
    #: Old names of the unit, by its [Install] section or a link among the vendor's unit files.
    aliases: Tuple[str, ...] = ()
    #: The units of the family that the vendor ships as real files.
    real_names: Tuple[str, ...] = ()
    #: A boot link to the unit exists on disk; None when its files cannot be seen from here.
    boot_link: Optional[bool] = None
    #: What is no link, and stands where ``systemctl enable`` would make one.
    obstacles: Tuple[str, ...] = ()
    #: The unit file that masks is an empty file, not a link to /dev/null.
    empty_file: bool = False
    #: chronyd's program is on this host.
    installed: bool = False
    #: Whether anything on this host may set the clock; None when unknown.
    may_set_clock: Optional[bool] = None
    #: The package tool of this host, such as ``apt-get``; "" when none was found.
    installer: str = ""


class View(NamedTuple):
    """One host's time service, ready to be asked yes-or-no questions."""

    unit: Unit
    wanted: str = "auto"
    #: Masked other names of the unit.
    masked: Tuple[str, ...] = ()
    #: Masked names of other daemons: perhaps on purpose, perhaps names it once had.
    also_masked: Tuple[str, ...] = ()
    #: Other names that fail to load, because what they lead to is masked.
    broken_aliases: Tuple[str, ...] = ()
    #: Other chrony units that are loaded beside it.
    twins: Tuple[Unit, ...] = ()
    #: Active units of other daemons that steer a clock.
    others: Tuple[str, ...] = ()
    monotonic: float = 0.0
    main: Optional[Program] = None
    look: Look = Look()

    @property
    def chrony(self) -> bool:
        """True when the unit is one of chronyd, instances such as chrony@VRF.service included."""
        return self.unit.id.startswith("chron")

    @property
    def strays(self) -> Tuple[Program, ...]:
        """Living chronyds that systemd does not hold to be this unit's."""
        if self.unit.active or self.unit.main_pid or not self.chrony:
            return ()
        return tuple(p for p in leaders(self.look.chronyds) if not self._elsewhere(p))

    def _elsewhere(self, program: Program) -> bool:
        """True for the chronyd of a container, or of another chrony unit (chrony@VRF.service)."""
        another = program.unit.startswith("chron") and program.unit != self.unit.id
        return another or program.contained

    @property
    def enablement(self) -> str:
        """UnitFileState; the boot link on disk wins, because systemd's word can be an old one."""
        if self.look.boot_link and self.unit.unit_file_state == "disabled":
            return "enabled"
        return "disabled" if self.enabled_in_name else self.unit.unit_file_state

    @property
    def enabled_in_name(self) -> bool:
        """True when no boot link leads to it, whatever systemd says.

        For "enabled" systemd is content with a link of an alias, or with a boot link to /dev/null
        that it ignores at boot; and it remembers a link that was removed (seen on systemd 252).
        """
        return self.look.boot_link is False and self.unit.unit_file_state == "enabled"

    @property
    def at_boot(self) -> bool:
        """False when it is certain that nothing starts it at the next boot."""
        return self.enablement not in ("disabled", "enabled-runtime", "linked-runtime", "transient")

    @property
    def looping(self) -> bool:
        """True when it has restarted itself again and again until a moment ago."""
        if self.unit.sub_state == "auto-restart":
            return True
        recent = self.unit.started_at and self.monotonic - self.unit.started_at < SETTLED
        return bool(recent) and self.unit.restarts >= LOOP

    @property
    def condition_failed(self) -> bool:
        """True when a start condition was looked at and not met: "no" alone means nothing."""
        return self.unit.condition_checked and not self.unit.condition_met

    @property
    def cannot_run(self) -> bool:
        """True when its program could not be executed at the last start."""
        statuses = (self.unit.program_status, self.unit.exec_status)
        return _EXIT_CANNOT_RUN in statuses

    @property
    def killed_by(self) -> int:
        """The signal that ended its last run; 0 when none did."""
        return self.unit.exec_status if self.unit.exec_code in _KILLED else 0

    @property
    def ended_itself(self) -> bool:
        """True when the process ended before systemd left "active": nobody asked systemd."""
        if self.killed_by:
            return True
        ended, left = self.unit.exited_at, self.unit.deactivated_at
        return bool(ended and left) and ended <= left

    @property
    def misnamed(self) -> bool:
        """True when the daemon's process is some other program."""
        if self.main is None or not self.chrony:
            return False
        return self.main.name != "chronyd" or self.main.arguments0 not in ("chronyd", "")


def load(state: str) -> Callable[[View], bool]:
    """Asks whether systemd's word for the unit file is ``state``."""
    return lambda view: view.unit.load_state == state


def masked(view: View) -> bool:
    """Systemd refuses to start it under its own name."""
    return view.unit.load_state == "masked"


def absent(view: View) -> bool:
    """There is no unit file."""
    return view.unit.load_state in ("not-found", "")


def failed(view: View) -> bool:
    """It ended badly."""
    return view.unit.active_state == "failed"


def inactive(view: View) -> bool:
    """It is stopped."""
    return view.unit.active_state == "inactive"


def down(view: View) -> bool:
    """It does not run, as far as systemd knows."""
    return inactive(view) or failed(view)


def lost(view: View) -> bool:
    """A living chronyd is in the unit's own control group, though systemd says it is down."""
    return any(p.unit == view.unit.id for p in view.strays)


def main_state(*states: str) -> Callable[[View], bool]:
    """Asks whether the main process is in one of these states of /proc."""
    return lambda view: view.main is not None and view.main.state in states


def twins_fight(view: View) -> bool:
    """A second chrony unit runs or would be started at boot."""
    return any(u.active or u.unit_file_state == "enabled" for u in view.twins)


def without_process(view: View) -> bool:
    """A unit that only ran a script says active, but nothing came of it."""
    exited = view.unit.active and view.unit.sub_state == "exited"
    return exited and not any(p.alive for p in view.look.chronyds)


def unreadable(view: View) -> bool:
    """Systemd's answer makes no sense."""
    named = view.wanted != "auto" and not view.unit.load_state
    return not named and not view.unit.readable
