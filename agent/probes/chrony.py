"""Owns asking chronyd through chronyc: one process, one deadline, a reading or the reason why not.

chronyc says the same "506 Cannot talk to daemon" for a chronyd that is dead, hung or out of reach,
so the kernel's socket tables and the process list tell these apart; they are read only then.
"""

from __future__ import annotations

import errno
import os

from agent import clock
from agent.core import sources, tracking
from agent.core.chrony_causes import miss
from agent.core.claims import Watch, claim, watch
from agent.core.model import Miss, Observation, Policy
from agent.core.printed import excerpt
from agent.core.settings import ChronySettings
from agent.core.typed import TYPE_CHECKING, NamedTuple
from agent.core.wording import CHRONYD
from agent.processes import Process, find_named, hidden
from agent.spawn import SEARCH_PATH, SHORTAGES, TERM_GRACE, Completed, run

if TYPE_CHECKING:
    from typing import List, Optional, Sequence, Tuple, Union

    from typing_extensions import TypeAlias

#: Seconds for everything asked of chronyc in one reading.
DEADLINE = 2.0
#: Seconds chronyc waits for chronyd, per address it tries: the unix socket, 127.0.0.1, ::1.
#: Its own waiting would take 7 s per address, and 3.2 to 3.5.1 can wait for ever.
ANSWER_WITHIN = 0.4
_PATIENCE = (f"timeout {ANSWER_WITHIN * 1000:.0f}", "retries 0")
#: Seconds that make a start of the text form worth while.
_WORTH_WHILE = 0.2
_COMMAND_PORT = 323
#: States of a process that answers nothing, and how people call them.
_HALTED = {
    "stopped": "stopped (state T)",
    "tracing-stop": "held by a debugger (state t)",
    "disk-sleep": "stuck in the kernel (state D)",
}
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Surroundings(NamedTuple):
    """Where to look when chronyd does not answer."""

    unix_table: str = "/proc/net/unix"
    udp_tables: Tuple[str, ...] = ("/proc/net/udp", "/proc/net/udp6")
    #: Where chronyd's command socket is by default.
    sockets: Tuple[str, ...] = ("/run/chrony/chronyd.sock", "/var/run/chrony/chronyd.sock")
    #: The name of chronyd's process.
    daemon: str = "chronyd"
    #: Where processes are shown.
    proc: str = "/proc"


_Report: TypeAlias = "Tuple[tracking.Tracking, Optional[Sequence[sources.Source]]]"


class ChronyProbe:
    """Reads chronyd. Keeps since when its newest measurement has been the same one."""

    source = CHRONYD
    #: Seconds ``read`` takes at most.
    timeout = DEADLINE + 2 * TERM_GRACE

    def __init__(
        self,
        settings: ChronySettings,
        policy: Policy,
        surroundings: Surroundings = Surroundings(),  # noqa: B008  a tuple: nobody can change it
    ) -> None:
        self._settings = settings
        self._policy = policy
        self._surroundings = surroundings
        self._watch: Optional[Watch] = None

    def read(self) -> Observation:
        """Ask chronyd once. Never raises."""
        wall, boottime = clock.wall(), clock.boottime()
        report = self._ask()
        if isinstance(report, Miss):
            return report
        claimed, known = report
        self._watch = watch(self._watch, claimed.ref_time, boottime)
        return claim(
            claimed,
            known,
            wall=wall,
            boottime=boottime,
            policy=self._policy,
            max_age=self._settings.max_age,
            watch=self._watch,
        )

    def _ask(self) -> Union[_Report, Miss]:
        until = clock.monotonic() + DEADLINE
        done = self._chronyc(until, "-c", "-n", "-m", *_PATIENCE, "tracking", "sources")
        if _knows_no_csv(done):
            return self._ask_for_text(until)
        first, _, rest = done.stdout.partition("\n")
        claimed = tracking.parse_csv(first)
        if done.overflowed or (isinstance(claimed, Miss) and done.status != 0):
            return self._explain(done)
        if isinstance(claimed, Miss):
            return claimed
        if done.status != 0:  # tracking was answered, sources was not: they may be forbidden
            return claimed, None
        known = sources.parse_csv(rest)
        return known if isinstance(known, Miss) else (claimed, known)

    def _ask_for_text(self, until: float) -> Union[_Report, Miss]:
        """Ask a chronyc older than 2.4. It knows no waiting times either: the deadline cuts it."""
        done = self._chronyc(until, "-n", "tracking")
        if done.status != 0 or done.overflowed:
            return self._explain(done)
        claimed = tracking.parse_text(done.stdout)
        if isinstance(claimed, Miss):
            return claimed
        if until - clock.monotonic() < _WORTH_WHILE:
            return claimed, None
        done = self._chronyc(until, "-n", "sources")
        if done.status != 0:
            return claimed, None
        known = sources.parse_text(done.stdout)
        return known if isinstance(known, Miss) else (claimed, known)

    def _chronyc(self, until: float, *arguments: str) -> Completed:
        address = self._settings.address
        where = ("-h", address) if address else ()
        argv = (self._settings.program, *where, *arguments)
        return run(argv, max(0.0, until - clock.monotonic()))

    def _explain(self, done: Completed) -> Miss:
        """Why ``done`` is not a report."""
        said = done.stdout.strip() or done.stderr.strip()
        if done.errno in SHORTAGES:
            return miss("shortage", _why_not_run(self._settings.program, done))
        if done.status is None or done.status in (126, 127):
            return miss("program-missing", _why_not_run(self._settings.program, done))
        if done.overflowed:
            return miss("unreadable", f"far more than a report, beginning with {excerpt(said)}")
        if done.timed_out or said.startswith(("506 ", "Could not open connection")):
            return self._silence(done)
        if said.startswith("501 "):
            return miss("no-access", f"it refuses the question: {excerpt(said)}")
        ending = f"status {done.status}" if done.status >= 0 else f"signal {-done.status}"
        return miss("unreadable", f"it ended with {ending} and said {excerpt(said)}")

    def _silence(self, done: Completed) -> Miss:
        """Tell a dead, a hung and an unreachable chronyd apart."""
        address, around = self._settings.address, self._surroundings
        waited = done.timed_out or done.elapsed >= 0.9 * ANSWER_WITHIN
        own_path = bool(address) and str(address).startswith("/")
        if address and not own_path and address not in _LOOPBACK:
            return _silence_from_afar(address, waited, done)
        paths = (address,) if address else around.sockets
        path = _bound_path(around.unix_table, paths)
        port = not own_path and _bound_port(around.udp_tables)
        named = find_named(around.daemon)
        alive = [p for p in named if p.state != "zombie" and not p.contained]
        there = path or port or (alive and not own_path)
        # with ten questions unanswered its queue is full, and chronyc gives up at once
        full = bool(path) and _may_use(path)
        if full or (waited and there):
            return _hung(done.elapsed if waited else None, alive)
        if path:
            return miss("no-access", f"its socket {path} is not open to this user")
        if port:
            return miss("no-access", f"UDP port {_COMMAND_PORT} is taken but answers nothing here")
        if there:
            runs = f"it runs (process {alive[0].pid}) but offers no command socket here"
            return miss("no-access", f"{runs}: `cmdport 0`, or a sandbox with a network of its own")
        where = paths[0] if own_path else f"UDP port {_COMMAND_PORT}"
        where = where if address else f"{paths[0]} and {where}"
        if not os.access(around.unix_table, os.R_OK) or (not address and hidden(around.proc)):
            return miss("no-access", f"nothing answers on {where}, and whether it runs is hidden")
        return miss("not-running", f"nobody listens on {where}")


def _knows_no_csv(done: Completed) -> bool:
    """True when chronyc is older than 2.4: it answers the flag with how it wants to be called."""
    return done.status == 1 and "usage" in (done.stdout + done.stderr).lower()


def _why_not_run(program: str, done: Completed) -> str:
    if done.errno == errno.ENOENT and "/" not in program:
        return f"there is no program {excerpt(program)} in {SEARCH_PATH}"
    if done.status is None:
        return f"{excerpt(program)} cannot be run: {done.stderr}"
    said = excerpt(done.stderr.strip() or done.stdout.strip())
    return f"{excerpt(program)} ended with status {done.status}: {said}"


def _silence_from_afar(address: str, waited: bool, done: Completed) -> Miss:
    """What can be known of a chronyd on another host."""
    if waited:
        return miss("hung", f"{excerpt(address)} has not answered within {done.elapsed:.1f} s")
    if done.stdout.startswith("506 "):
        return miss("not-running", f"{excerpt(address)} refuses questions")
    return miss("no-access", f"there is no way to {excerpt(address)}; is the name right?")


def _hung(waited: Optional[float], alive: Sequence[Process]) -> Miss:
    """A chronyd that is there and does not answer; if it is stopped, how to wake it.

    ``waited`` is in seconds; None: it takes no more questions, so there was nothing to wait for.
    """
    halted = [p for p in alive if p.state in _HALTED]
    if halted:
        pid, how = halted[0].pid, _HALTED[halted[0].state]
        # It forks a helper; one that stays stopped keeps it from looking up names, and from ending.
        stopped = " ".join(str(p.pid) for p in halted if p.state == "stopped")
        wake = f"kill -CONT {stopped}  # WARNING: chronyd may correct the clock when it wakes up"
        first = (wake,) if halted[0].state == "stopped" else ()
        return miss("hung", f"its process {pid} is {how} and answers nothing", first=first)
    if waited is None:
        return miss("hung", "it takes no more questions, those before are still unanswered")
    return miss("hung", f"it is there, but has not answered within {waited:.1f} s")


def _may_use(path: str) -> bool:
    """True when chronyc can write to the socket at ``path`` and put its own one beside it."""
    return os.access(path, os.W_OK) and os.access(os.path.dirname(path), os.W_OK | os.X_OK)


def _bound_path(table: str, paths: Sequence[str]) -> str:
    """The first of ``paths`` the kernel has a unix socket bound to, else ""."""
    rows = (line.rstrip("\n").split(None, 7) for line in _lines(table))
    bound = {row[7] for row in rows if len(row) == 8}
    return next((path for path in paths if path in bound), "")


def _bound_port(tables: Sequence[str]) -> bool:
    """True when something is bound to chronyd's command port in this network namespace."""
    ending = f":{_COMMAND_PORT:04X}"
    rows = (line.split() for table in tables for line in _lines(table))
    return any(len(row) > 1 and row[1].endswith(ending) for row in rows)


def _lines(table: str) -> List[str]:
    """The lines of a kernel table; none when it may not be read or is not there."""
    try:
        with open(table, encoding="utf-8", errors="replace") as lines:
            return lines.readlines()
    except OSError:
        return []
