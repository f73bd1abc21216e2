from __future__ import annotations

import math
from typing import Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core import chrony_causes
from agent.core.conditions import best, judge_reading, watched
from agent.core.judge import assess
from agent.core.model import (
    Assessment,
    Finding,
    Miss,
    Observation,
    Observations,
    Policy,
    Reading,
    Verdict,
    Weight,
)
from tests.support.values import LATE, chronyd, miss, redis, seen, service

POLICY = Policy(offset_warning=0.1, offset_critical=2.0, grace=300.0)
OK, UNSURE, UNKNOWN = Verdict.OK, Verdict.UNSURE, Verdict.UNKNOWN
WARNING, CRITICAL = Verdict.WARNING, Verdict.CRITICAL

offsets = st.floats(-10, 10) | st.sampled_from([0.0, 0.1, -0.1, 2.0, -2.0])
uncertainties = st.floats(0, 5) | st.sampled_from([0.0, 0.001])


def readings(name: str) -> st.SearchStrategy[Reading]:
    return st.builds(redis, offsets, uncertainties, st.just(name))


def observed(name: str) -> st.SearchStrategy[Observation]:
    causes = ("not-running", "stale", "never-synchronised")
    return readings(name) | st.builds(miss, st.just(name), st.sampled_from(causes))


observations = st.builds(
    Observations,
    chrony=st.none() | observed("chronyd"),
    service=st.none() | st.builds(service, st.sampled_from(list(Verdict))),
    references=st.tuples()
    | st.tuples(observed("locks"))
    | st.tuples(observed("locks"), observed("cache")),
    boottime=st.sampled_from([10.0, LATE]),
    trends=st.just(()),
)


def of(assessment: Assessment, condition: str) -> Finding:
    """The finding on one condition."""
    return {f.condition: f for f in assessment.findings}[condition]


def verdicts(assessment: Assessment) -> dict[str, Verdict]:
    return {f.condition: f.verdict for f in assessment.findings}


def negated(seen_: Optional[Observation]) -> Optional[Observation]:
    return seen_._replace(offset=-seen_.offset) if isinstance(seen_, Reading) else seen_


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("offset", "uncertainty", "verdict"),
    [
        (0.0, 0.0, OK),
        (0.1, 0.0, OK),  # equal is not above
        (0.101, 0.0, WARNING),
        (0.099, 0.0, OK),
        (0.15, 0.05, OK),  # may well be within the limit
        (2.0, 0.0, WARNING),
        (2.001, 0.0, CRITICAL),
        (1.999, 0.0, WARNING),
        (5.0, 1.0, CRITICAL),
        (0.5, 1.6, UNSURE),
        (0.0, 2.0, OK),
        (0.0, 2.1, UNSURE),
        (3.0, 2.95, UNSURE),
        (3.0, 2.0, WARNING),  # proven beyond the warning limit, whatever else it may be
    ],
)
def test_only_what_the_whole_interval_proves_is_a_breach(
    offset: float, uncertainty: float, verdict: Verdict, sign: int
) -> None:
    assert judge_reading(POLICY, chronyd(sign * offset, uncertainty)) is verdict


@given(offsets, uncertainties, uncertainties)
def test_more_uncertainty_never_makes_a_breach(offset: float, less: float, more: float) -> None:
    less, more = sorted((less, more))
    sure = judge_reading(POLICY, chronyd(offset, less))
    vague = judge_reading(POLICY, chronyd(offset, more))
    assert vague.blind or vague <= sure
    if not sure.blind:
        assert vague is not OK or sure <= WARNING
    if vague is CRITICAL:
        assert sure is CRITICAL


@given(offsets, uncertainties, st.floats(0, 10))
def test_a_larger_offset_is_never_judged_better(offset: float, u: float, more: float) -> None:
    further = offset + more if offset >= 0 else offset - more
    ranks = (OK, UNSURE, WARNING, CRITICAL)
    near, far = (judge_reading(POLICY, chronyd(o, u)) for o in (offset, further))
    assert ranks.index(far) >= ranks.index(near)


@given(observations)
def test_a_slow_clock_is_judged_like_a_fast_one(seen_: Observations) -> None:
    references = tuple(r for r in map(negated, seen_.references) if r is not None)
    mirror = seen_._replace(chrony=negated(seen_.chrony), references=references)
    assert verdicts(assess(POLICY, mirror)) == verdicts(assess(POLICY, seen_))


@given(observations, st.sampled_from(["chronyd", "locks", "cache"]))
def test_losing_a_reading_that_proves_nothing_never_improves_a_verdict(
    seen_: Observations, lost: str
) -> None:
    def blank(o: Observation) -> Observation:
        proves = isinstance(o, Reading) and judge_reading(POLICY, o) > UNKNOWN
        return o if o.source != lost or proves else miss(lost, "stale")

    without = seen_._replace(
        chrony=blank(seen_.chrony) if seen_.chrony else None,
        references=tuple(blank(r) for r in seen_.references),
        boottime=LATE,
    )
    before = verdicts(assess(POLICY, seen_._replace(boottime=LATE)))
    after = verdicts(assess(POLICY, without))
    assert all(after[condition] >= before[condition] for condition in before)


@given(observations)
def test_the_offset_is_the_worst_that_any_reading_proves(seen_: Observations) -> None:
    asked = [o for o in (seen_.chrony, *seen_.references) if o is not None]
    each = [judge_reading(POLICY, r) for r in asked if isinstance(r, Reading)]
    finding = of(assess(POLICY, seen_), "offset")
    worst = max(each, default=UNKNOWN)
    if worst > UNKNOWN:
        assert finding.verdict is worst
    elif OK in each:
        assert finding.verdict is OK
    else:
        assert finding.verdict is (UNSURE if each else UNKNOWN)
    assert set(finding.silent) == {
        o.source for o in asked if isinstance(o, Miss) or judge_reading(POLICY, o).blind
    }


@given(observations)
def test_a_clock_nobody_vouches_for_is_never_ok(seen_: Observations) -> None:
    assessment = assess(POLICY, seen_)
    asked = [o for o in (seen_.chrony, *seen_.references) if isinstance(o, Reading)]
    if not any(r.upper <= POLICY.offset_critical for r in asked):
        assert assessment.verdict is not OK


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_reading_that_is_not_a_number_is_no_reading(bad: float) -> None:
    broken = (chronyd(bad), chronyd(0.0, bad), chronyd(0.0, -0.1))
    for chrony in broken:
        assessment = assess(POLICY, seen(chrony, redis(0.0, bad)))
        causes = {f.condition: (f.verdict, f.cause) for f in assessment.findings}
        assert causes == {
            "sync": (CRITICAL, "unreadable"),
            "offset": (UNKNOWN, "no-reading"),
            "reference": (CRITICAL, "unreadable"),
        }


def test_the_best_reading_is_the_worst_proven_one_else_the_most_precise() -> None:
    vague, exact, proven = chronyd(0.0, 1.0), redis(0.0, 0.1), redis(0.5, 0.2, name="cache")
    assert best((vague, exact, proven)) is proven
    worse = redis(-0.9, 0.3, name="far")
    assert best((proven, worse)) is worse
    assert best((vague, exact)) is exact
    assert best(()) is None


@pytest.mark.parametrize(
    ("chrony", "references", "verdict", "cause"),
    [
        (chronyd(0.0), (), OK, "synchronised"),
        (chronyd(5.0), (), OK, "synchronised"),  # the offset speaks for itself
        (chronyd(0.0, 3.0), (redis(0.0),), UNSURE, "bound-too-wide"),
        (chronyd(3.0, 2.5), (redis(0.0),), UNSURE, "bound-too-wide"),
        (miss(), (), CRITICAL, "not-running"),
        (miss(), (redis(0.0),), WARNING, "not-running"),
        (miss(), (redis(0.5),), WARNING, "not-running"),
        (miss(), (redis(5.0),), CRITICAL, "not-running"),
        (miss(), (redis(0.0, 3.0),), CRITICAL, "not-running"),
        (miss(), (redis(3.0, 2.5),), CRITICAL, "not-running"),  # certainly off, perhaps far
        (miss(), (redis(5.0), redis(0.0, name="cache")), WARNING, "not-running"),
        (miss(cause="program-missing"), (miss("locks", "refused"),), CRITICAL, "program-missing"),
        (miss(cause="never-synchronised"), (), CRITICAL, "never-synchronised"),
        (None, (redis(0.0),), OK, "not-asked"),
        (None, (miss("locks", "refused"),), CRITICAL, "not-asked"),
        (None, (), CRITICAL, "not-asked"),
    ],
)
def test_a_clock_nobody_vouches_for_is_critical_and_one_of_two_a_warning(
    chrony: Optional[Observation],
    references: tuple[Observation, ...],
    verdict: Verdict,
    cause: str,
) -> None:
    finding = of(assess(POLICY, seen(chrony, *references)), "sync")
    assert (finding.verdict, finding.cause, finding.weight) == (verdict, cause, Weight.COUNTED)


def test_redis_still_vouches_when_chronyd_is_down() -> None:
    finding = of(assess(POLICY, seen(miss(), redis(0.0002, 0.0004))), "sync")
    assert finding.summary == (
        "chronyd is not running; Redis locks still vouches for this clock"
        " (+0.200 ms ahead (fast), error at most 0.600 ms)"
    )


@pytest.mark.parametrize("cause", ["never-synchronised", "hung"])
@pytest.mark.parametrize("boottime", [299.0, 300.0])
def test_only_never_synchronised_is_forgiven_and_only_within_the_grace(
    cause: str, boottime: float
) -> None:
    finding = of(assess(POLICY, seen(miss(cause=cause), boottime=boottime)), "sync")
    forgiven = cause == "never-synchronised" and boottime < 300.0
    expected = (UNKNOWN, Weight.HELD) if forgiven else (CRITICAL, Weight.COUNTED)
    assert (finding.verdict, finding.weight) == expected


def test_without_a_reading_the_offset_is_unknown_and_held() -> None:
    finding = of(assess(POLICY, seen(miss())), "offset")
    assert (finding.verdict, finding.weight) == (UNKNOWN, Weight.HELD)
    assert "0" not in finding.summary


def test_a_switched_off_condition_gives_no_finding() -> None:
    assert set(verdicts(assess(POLICY, seen(chronyd(0.0))))) == {"offset", "sync"}


def test_the_service_finding_is_what_the_service_rules_say() -> None:
    state = service(CRITICAL, "masked", Weight.AT_ONCE)
    finding = of(assess(POLICY, seen(chronyd(0.0), state=state)), "service")
    assert (finding.verdict, finding.cause, finding.weight) == (CRITICAL, "masked", Weight.AT_ONCE)
    assert finding.summary == "chrony.service is masked"
    assert finding.advice == ("cure masked",)


@pytest.mark.parametrize(
    ("chrony", "references", "verdict", "cause"),
    [
        (chronyd(0.0), (redis(5.0),), OK, "answering"),
        (chronyd(0.0), (miss("locks", "refused"),), WARNING, "refused"),
        (chronyd(0.0), (redis(0.0, 3.0),), WARNING, "too-imprecise"),
        (chronyd(0.0), (redis(3.0, 2.5),), WARNING, "too-imprecise"),
        (miss(), (miss("locks", "auth"),), CRITICAL, "auth"),
        (miss(), (miss("locks", "auth"), redis(0.0, name="cache")), WARNING, "auth"),
        (miss(), (redis(0.0, 3.0),), CRITICAL, "too-imprecise"),
    ],
)
def test_every_reference_is_expected_to_answer(
    chrony: Observation, references: tuple[Observation, ...], verdict: Verdict, cause: str
) -> None:
    finding = of(assess(POLICY, seen(chrony, *references)), "reference")
    assert (finding.verdict, finding.cause) == (verdict, cause)
    if verdict is CRITICAL:
        assert "nobody vouches for this clock" in finding.summary


def test_all_silent_references_are_named_and_each_advice_is_given_once() -> None:
    both = (miss("locks", "timeout"), miss("cache", "timeout"))
    finding = of(assess(POLICY, seen(chronyd(0.0), *both)), "reference")
    assert finding.summary == "locks is timeout; cache is timeout"
    assert finding.advice == ("cure timeout",)


@pytest.mark.parametrize(
    ("observed_", "condition", "caution"),
    [
        (seen(chronyd(5.0)), "offset", "this clock will move 5 s back"),
        (seen(miss(), redis(-1320.0)), "sync", "this clock will move 22 min forward"),
        (seen(miss()), "sync", "nobody knows how far this clock will move"),
        (
            seen(miss(), state=service(CRITICAL, "masked")),
            "service",
            "nobody knows how far this clock will move",
        ),
        (
            seen(chronyd(5.0), state=service(WARNING, "disabled")),
            "service",
            "this clock will move 5 s back",
        ),
        (seen(chronyd(0.5)), "offset", None),
        (seen(miss(), redis(0.0)), "sync", None),
        (seen(chronyd(0.0), redis(1320.0)), "offset", None),
        (seen(chronyd(0.0), miss("locks", "refused")), "reference", None),
    ],
)
def test_workers_are_stopped_before_a_remedy_that_may_make_the_clock_jump(
    observed_: Observations, condition: str, caution: Optional[str]
) -> None:
    advice = of(assess(POLICY, observed_), condition).advice
    cautions = [line for line in advice if "stop the workers before `chronyc makestep`" in line]
    assert [line.rsplit(": ", 1)[1] for line in cautions] == ([caution] if caution else [])
    assert advice[: len(cautions)] == tuple(cautions)  # whoever works from the top reads it in time


def test_a_chronyd_that_is_down_is_brought_back_by_what_mends_its_unit() -> None:
    masked = seen(chrony_causes.miss("not-running", "x"), state=service(CRITICAL, "masked"))
    assert of(assess(POLICY, masked), "sync").advice[1:] == ("cure masked",)
    running = service(WARNING, "disabled")._replace(unit="chronyd.service")
    hung = seen(chrony_causes.miss("hung", "x"), redis(0.0), state=running)
    advice = of(assess(POLICY, hung), "sync").advice
    assert any(line.startswith("systemctl restart chronyd.service ") for line in advice)
    assert "chrony.service" not in str(advice)


def test_as_long_as_the_unit_is_not_known_both_names_are_given() -> None:
    for state in (None, service(CRITICAL, "down")._replace(unit="ntpsec.service")):
        down = seen(chrony_causes.miss("not-running", "x"), state=state)
        advice = str(of(assess(POLICY, down), "sync").advice)
        assert "chrony.service  # chronyd.service outside Debian" in advice


@pytest.mark.parametrize(
    ("observed_", "names"),
    [
        (seen(None), ("sync", "offset")),
        (seen(miss()), ("sync", "offset", "drift")),
        (seen(None, miss("locks")), ("sync", "offset", "reference", "drift")),
        (seen(chronyd(0.0), state=service()), ("service", "sync", "offset", "drift")),
    ],
)
def test_what_is_switched_off_is_not_watched(
    observed_: Observations, names: tuple[str, ...]
) -> None:
    assert watched(observed_) == names


@given(observations)
def test_every_finding_is_on_a_watched_condition(seen_: Observations) -> None:
    assert {f.condition for f in assess(POLICY, seen_).findings} <= set(watched(seen_))
