"""Owns the values that cross module borders: readings, misses, policy, findings, standing, alerts.

Signs and units, everywhere inside the program: seconds, and an offset is *local clock minus
reference*, so positive means the local clock is ahead (fast). Milliseconds appear only on the wire
and on the screen.
"""

from __future__ import annotations

from agent.core.typed import TYPE_CHECKING, IntEnum, NamedTuple

if TYPE_CHECKING:
    from typing import Mapping, Optional, Tuple, Union

    from typing_extensions import TypeAlias

#: What a value in ``detail`` may be: exactly what JSON can carry without loss.
Scalar: TypeAlias = "Union[str, int, float, bool, None]"
Detail: TypeAlias = "Mapping[str, Scalar]"


class Verdict(IntEnum):
    """How one condition stands in one cycle. The order is severity: ``max()`` is the worst."""

    OK = 0
    #: A reading exists, but its interval does not exclude a critical offset.
    UNSURE = 1
    #: There is no reading to judge by.
    UNKNOWN = 2
    WARNING = 3
    CRITICAL = 4

    @property
    def word(self) -> str:
        """The lower-case name used in JSON, texts and the store."""
        return self.name.lower()

    @property
    def blind(self) -> bool:
        """True when the verdict says "cannot tell": it is neither good nor a breach."""
        return self in (Verdict.UNSURE, Verdict.UNKNOWN)

    @property
    def exit_code(self) -> int:
        """The exit status of a health probe: 0 ok, 1 warning, 2 critical, 3 cannot tell."""
        return EXIT_CODES[self]


EXIT_CODES: Mapping[Verdict, int] = {
    Verdict.OK: 0,
    Verdict.WARNING: 1,
    Verdict.CRITICAL: 2,
    Verdict.UNSURE: 3,
    Verdict.UNKNOWN: 3,
}


class Weight(IntEnum):
    """How much one finding moves the standing of its condition."""

    #: Not counted either way: boot grace, or another condition already speaks for it.
    HELD = 0
    #: One reading towards the run of ``consecutive``.
    COUNTED = 1
    #: A structural fault (masked, not found): a second reading would say the same.
    AT_ONCE = 2


class Reading(NamedTuple):
    """One trusted measurement of the local clock against one source."""

    #: ``chronyd``, or the configured name of a reference.
    source: str
    #: Seconds, local minus reference; positive = the local clock is ahead.
    offset: float
    #: Seconds, >= 0: half-width of the interval around ``offset`` that holds the truth.
    uncertainty: float
    #: CLOCK_BOOTTIME seconds at which it was taken.
    taken_at: float
    #: Evidence for JSON and texts (stratum, leap status, round trip ...), never needed to judge.
    detail: Detail = {}

    @property
    def lower(self) -> float:
        """The least the clock is certainly off by, in seconds; <= 0 when it may be right."""
        return abs(self.offset) - self.uncertainty

    @property
    def upper(self) -> float:
        """The error bound: the most the clock can be off by, in seconds."""
        return abs(self.offset) + self.uncertainty


class Miss(NamedTuple):
    """The reason there is no trusted measurement from one source."""

    source: str
    #: A word from the source's own table of causes, such as ``not-running``.
    cause: str
    #: One sentence for people: what was seen, on what.
    what: str
    #: Exact commands or steps that help, most likely first.
    advice: Tuple[str, ...] = ()
    #: Evidence; an offset nobody vouches for may be quoted here, it is never judged.
    detail: Detail = {}


Observation: TypeAlias = "Union[Reading, Miss]"


class ServiceState(NamedTuple):
    """What is known of the host's time service; judged from facts by ``core.service``."""

    #: The real unit's name, or ``""`` when there is none.
    unit: str
    load_state: str
    active_state: str
    sub_state: str
    unit_file_state: str
    verdict: Verdict
    cause: str
    what: str
    advice: Tuple[str, ...] = ()
    weight: Weight = Weight.COUNTED
    detail: Detail = {}


class Protect(NamedTuple):
    """Something on this host that depends on the clock, and how much error it survives."""

    name: str
    #: Seconds.
    margin: float


class Policy(NamedTuple):
    """The numbers judgement depends on. Seconds, except where the name says otherwise."""

    offset_warning: float = 0.1
    offset_critical: float = 2.0
    consecutive: int = 3
    #: Seconds after boot during which "never synchronised" is not held against the host.
    grace: float = 300.0
    #: How fast an uncorrected oscillator is assumed to wander, in ppm (ClockBound asks for 50).
    max_drift_ppm: float = 50.0
    protects: Tuple[Protect, ...] = ()


class Trend(NamedTuple):
    """How fast the local clock runs away from one source. Rates in ppm, positive = it gains."""

    source: str
    #: The middle of the interval.
    rate: float
    #: The interval that holds the rate, as far as every reading's interval holds the truth.
    low: float
    high: float
    #: The newest reading behind it; seconds.
    offset: float
    uncertainty: float
    #: Seconds from the oldest to the newest reading behind it.
    span: float


class Observations(NamedTuple):
    """Everything one cycle saw. ``None`` means: switched off in the configuration."""

    chrony: Optional[Observation]
    service: Optional[ServiceState]
    references: Tuple[Observation, ...] = ()
    #: CLOCK_BOOTTIME seconds (uptime including suspend) at which the cycle started.
    boottime: float = 0.0
    #: What the readings of several cycles add up to, by ``core.drift``; empty for a single look.
    trends: Tuple[Trend, ...] = ()


class Finding(NamedTuple):
    """The verdict on one condition in one cycle, with the words to explain it."""

    #: ``offset``, ``sync``, ``service``, ``reference`` or ``drift``.
    condition: str
    verdict: Verdict
    cause: str
    summary: str
    advice: Tuple[str, ...] = ()
    weight: Weight = Weight.COUNTED
    #: Sources whose own readings prove the breach; empty unless ``verdict`` is a breach.
    blamed: Tuple[str, ...] = ()
    #: Sources that were asked and gave nothing to judge by: a miss, or a reading too imprecise.
    silent: Tuple[str, ...] = ()


class Assessment(NamedTuple):
    """One cycle judged: all findings, and the one offset the host is said to have."""

    findings: Tuple[Finding, ...]
    #: The worst proven trusted reading, else the most precise one; None when there is none.
    best: Optional[Reading]

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all conditions."""
        return max((f.verdict for f in self.findings), default=Verdict.UNKNOWN)


class Standing(NamedTuple):
    """What is remembered about one condition between cycles; ``advance`` makes the next."""

    condition: str
    #: The level being alerted: OK (nothing), UNKNOWN, WARNING or CRITICAL.
    alerting: Verdict = Verdict.OK
    #: Lengths of the current runs; see ``core.judge.advance`` for what ends each.
    ok_run: int = 0
    blind_run: int = 0
    warning_run: int = 0
    critical_run: int = 0
    #: Boottime seconds of the first reading of the present trouble; None when there is none.
    since: Optional[float] = None
    #: Sources that proved the present trouble and have not said anything better since: while one
    #: of them is silent, another source's good reading neither clears the run nor closes the alert.
    blamed: Tuple[str, ...] = ()
    #: Boottime seconds of the last message about the present alert; None when nothing is alerted.
    told_at: Optional[float] = None


class Transition(NamedTuple):
    """A change of standing that people are told about."""

    condition: str
    #: ``raise``, ``escalate``, ``remind`` or ``resolve``.
    kind: str
    #: The level alerted after (raise, escalate, remind) or before (resolve) the change.
    severity: Verdict
    finding: Finding
    #: Boottime seconds at which the trouble began.
    since: float


class Alert(NamedTuple):
    """One message to people. Saved before it is sent; every field is JSON-ready."""

    #: Unique per message; receivers drop repeats by it.
    id: str
    #: ``clock-agent/<host>/<condition>``: the same from raise to resolve.
    key: str
    #: ``raise``, ``escalate``, ``remind``, ``resolve``.
    kind: str
    severity: str
    host: str
    condition: str
    summary: str
    cause: str
    evidence: Tuple[str, ...]
    advice: Tuple[str, ...]
    #: Seconds the trouble has lasted, counted on CLOCK_BOOTTIME.
    lasted: float
    #: RFC 3339 UTC by the local (suspect) clock, and by the best reference; null when unknown.
    local_time: str
    reference_time: Optional[str]
    tags: Mapping[str, str] = {}


class Delivery(NamedTuple):
    """What one sink did with one alert."""

    delivered: bool
    #: When not delivered: trying again may help.
    retryable: bool = False
    #: Why not, in one sentence, without secrets.
    what: str = ""
    #: Seconds the receiver asked us to wait (Retry-After); None when it did not say.
    retry_after: Optional[float] = None
