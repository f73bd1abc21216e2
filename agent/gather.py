"""Owns taking all readings of one cycle at once: one thread per probe, one deadline for all.

A probe has deadlines of its own; the one here is for the day they do not hold. A thread that is
stuck is reported as such and left alone: no second one is ever started for the same probe.
"""

from __future__ import annotations

from agent import clock, lean, spawn
from agent.core.model import Miss, Observation, Observations, ServiceState, Verdict
from agent.core.settings import Config
from agent.core.typed import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar
from agent.core.wording import duration, plain

if TYPE_CHECKING:
    from typing import Callable, List, Mapping, Optional, Tuple, Union

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

#: Seconds a probe may take beyond the time it promised before it is called stuck.
MARGIN = 0.3


class Probe(Protocol[T_co]):
    """One source of readings: ``read`` returns within ``timeout`` seconds and never raises."""

    @property
    def source(self) -> str:
        """The name the reading goes by."""

    @property
    def timeout(self) -> float:
        """Seconds ``read`` takes at most."""

    def read(self) -> T_co:
        """Take one reading, or say why there is none."""


#: Why a probe gave nothing at all -> what helps.
ADVICE: Mapping[str, str] = {
    "cut-short": "give the command more time (--timeout), or look at the load of this host: uptime",
    "stuck": "look for a stuck resolver, mount or device; restart clock-agent if it stays so",
    "shortage": "cat /proc/sys/fs/file-nr; ps -eLf | wc -l; free -m  # open files, threads, memory",
    "failed": "please report it with the output of `clock-agent check --live --json`",
}


def no_reading(source: str, cause: str, why: str) -> Observation:
    """What stands in for a reading that a probe did not give; ``cause`` is a word of ADVICE."""
    what = f"the reading of {source} {why}"
    return Miss(source=source, cause=cause, what=what, advice=(ADVICE[cause],))


def no_state(source: str, cause: str, why: str) -> ServiceState:
    """The same for the state of the time service."""
    return ServiceState(
        unit="",
        load_state="",
        active_state="",
        sub_state="",
        unit_file_state="",
        verdict=Verdict.UNKNOWN,
        cause=cause,
        what=f"the question about the {source} {why}",
        advice=(ADVICE[cause],),
    )


class Seat(Generic[T]):
    """One probe, its thread while it reads, and its newest result."""

    def __init__(self, probe: Probe[T], nothing: Callable[[str, str, str], T]) -> None:
        """``nothing`` makes what stands in for a result, of the source, a cause and a reason."""
        self.timeout = probe.timeout
        self._probe = probe
        self._nothing = nothing
        self._back: Optional[lean.Latch] = None
        self._started = 0.0
        self._cycle = 0
        self._result: Optional[T] = None

    def start(self, done: Callable[[], None]) -> None:
        """Begin a reading, unless the one before is still under way. Calls ``done`` at its end."""
        self._result = None
        self._cycle += 1
        if self.busy:
            return
        self._started = clock.monotonic()
        cycle = self._cycle
        back = lean.Latch()

        def work() -> None:
            try:
                result = self._read()
                if cycle == self._cycle:  # one that comes a cycle late is no reading of this one
                    self._result = result
            finally:
                back.open()
                done()

        try:
            lean.start(work)
            self._back = back
        except RuntimeError:  # the host, or the control group, has no more threads
            self._result = self._nothing(self._probe.source, "shortage", "found no thread to run")

    @property
    def busy(self) -> bool:
        """True while a reading is under way."""
        return not self.wait(0.0)

    def wait(self, seconds: float) -> bool:
        """Wait for the reading up to ``seconds``; True when none is under way."""
        return self._back is None or self._back.wait(seconds)

    def result(self) -> T:
        """The reading, or what stands in for it."""
        if self._result is None:
            return self._nothing(self._probe.source, *self._delay())
        return self._result

    def _delay(self) -> Tuple[str, str]:
        """The cause and the reason why there is no result yet."""
        waited = clock.monotonic() - self._started
        if waited < self.timeout:  # it is we who did not keep the promise
            return "cut-short", f"was waited for no longer than {duration(waited)}"
        return "stuck", f"has not come back for {duration(waited)}"

    def _read(self) -> T:
        try:
            return self._probe.read()
        except Exception as error:  # a defect of one probe must not silence it, nor end a cycle
            why = f"failed: {type(error).__name__}: {error}"
            return self._nothing(self._probe.source, "failed", plain(why))


class Probes(NamedTuple):
    """What a host is asked in one cycle; None where the configuration switches it off."""

    chrony: Optional[Probe[Observation]]
    service: Optional[Probe[ServiceState]]
    references: Tuple[Probe[Observation], ...] = ()


def build(config: Config) -> Probes:
    """The probes ``config`` asks for. Building one never touches the outside world."""
    chrony: Optional[Probe[Observation]] = None
    service: Optional[Probe[ServiceState]] = None
    references: List[Probe[Observation]] = []
    if config.chrony.enabled:
        from agent.probes.chrony import ChronyProbe

        chrony = ChronyProbe(config.chrony, config.policy)
    if config.service.enabled:
        from agent.probes.systemd import ServiceProbe

        service = ServiceProbe(config.service)
    if config.references:
        from agent.probes.redis import RedisProbe

        references = [RedisProbe(settings) for settings in config.references]
    return Probes(chrony=chrony, service=service, references=tuple(references))


class Gathering:
    """The seats of all probes, and the readings of the current cycle."""

    def __init__(self, probes: Probes, done: Callable[[], None]) -> None:
        self._done = done
        self._chrony = Seat(probes.chrony, no_reading) if probes.chrony else None
        self._service = Seat(probes.service, no_state) if probes.service else None
        self._references = [Seat(probe, no_reading) for probe in probes.references]
        self._boottime = 0.0
        self._deadline = 0.0

    def start(self) -> None:
        """Begin one cycle: start every probe that is not stuck in an earlier one."""
        self._boottime = clock.boottime()
        longest = max((seat.timeout for seat in self._seats()), default=0.0)
        self._deadline = clock.monotonic() + longest + MARGIN
        for seat in self._seats():
            seat.start(self._done)

    @property
    def left(self) -> float:
        """Seconds until the cycle stops waiting: 0 when every probe is back or time is up."""
        if not any(seat.busy for seat in self._seats()):
            return 0.0
        return max(0.0, self._deadline - clock.monotonic())

    def wait(self, deadline: float) -> None:
        """Wait until every probe is back, or for the cycle's own time or ``deadline`` to be up."""
        for seat in self._seats():
            seat.wait(min(self._deadline, deadline) - clock.monotonic())

    def observations(self) -> Observations:
        """What the cycle saw; a probe that is not back is a miss that says so."""
        return Observations(
            chrony=self._chrony.result() if self._chrony else None,
            service=self._service.result() if self._service else None,
            references=tuple(seat.result() for seat in self._references),
            boottime=self._boottime,
        )

    def _seats(self) -> List[Union[Seat[Observation], Seat[ServiceState]]]:
        first = (seat for seat in (self._chrony, self._service) if seat is not None)
        return [*first, *self._references]


def once(config: Config, deadline: float) -> Observations:
    """Take every reading once, by ``deadline`` (CLOCK_MONOTONIC) at the latest.

    Helper programs that are still under way then are ended.
    """
    gathering = Gathering(build(config), done=lambda: None)
    gathering.start()
    gathering.wait(deadline)
    observations = gathering.observations()
    spawn.end_all()
    return observations
