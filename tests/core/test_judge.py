from __future__ import annotations

import itertools
import json
from typing import Iterator, NamedTuple, Optional, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.judge import REMIND_EVERY, advance, assess, due_reminder, pending, retire
from agent.core.model import Finding, Observation, Policy, Standing, Verdict, Weight
from tests.support.values import LATE, chronyd, finding, miss, redis, seen

POLICY = Policy(offset_warning=0.1, offset_critical=2.0, consecutive=3)
OK, UNSURE, UNKNOWN = Verdict.OK, Verdict.UNSURE, Verdict.UNKNOWN
WARNING, CRITICAL = Verdict.WARNING, Verdict.CRITICAL

COUNTED = {verdict: finding(verdict) for verdict in Verdict}
WARNING_AT_ONCE = finding(WARNING, Weight.AT_ONCE)
CRITICAL_AT_ONCE = finding(CRITICAL, Weight.AT_ONCE)
HELD = finding(UNKNOWN, Weight.HELD)
NEW = Standing("offset")
FOUR = [COUNTED[verdict] for verdict in (OK, UNKNOWN, WARNING, CRITICAL)]
ALL_KINDS = [*COUNTED.values(), WARNING_AT_ONCE, CRITICAL_AT_ONCE, HELD]


class Told(NamedTuple):
    """A transition as far as the drills look at it."""

    step: int
    kind: str
    severity: Verdict


def told(findings: Sequence[Finding], start: Standing = NEW) -> list[Told]:
    """What people are told over a sequence of findings, 30 s apart."""
    standing, found = start, []
    for step, each in enumerate(findings):
        standing, transition = advance(POLICY, standing, each, LATE + 30.0 * step)
        if transition is not None:
            found.append(Told(step, transition.kind, transition.severity))
    return found


def level_by_the_rules(past: Sequence[Finding]) -> Verdict:
    now = past[-1]
    if now.weight is Weight.HELD or now.verdict is OK:
        return OK
    counting = [f.verdict for f in past if f.weight is not Weight.HELD]
    if now.verdict.blind:
        return UNKNOWN if sum(1 for _ in blind_tail(counting)) >= 3 else OK
    if now.weight is Weight.AT_ONCE:
        return now.verdict
    since_ok = list(itertools.takewhile(lambda v: v is not OK, reversed(counting)))
    breaches = [v for v in since_ok if not v.blind]
    if breaches[:3] == [CRITICAL] * 3:
        return CRITICAL
    return WARNING if len(breaches) >= 3 else OK


def blind_tail(verdicts: Sequence[Verdict]) -> Iterator[Verdict]:
    return itertools.takewhile(lambda v: v.blind, reversed(verdicts))


class Walk(NamedTuple):
    """One sequence of findings on the way through the tree of all of them."""

    past: tuple[Finding, ...] = ()
    found: tuple[Told, ...] = ()
    standing: Standing = Standing("offset")

    def then(self, now: Finding) -> Walk:
        """The sequence one finding longer, told by ``advance`` and checked by the rules."""
        step, past = len(self.past), (*self.past, now)
        standing, transition = advance(POLICY, self.standing, now, LATE + 30.0 * step)
        found = self.found
        if transition is not None:
            found = (*found, Told(step, transition.kind, transition.severity))
        assert found == self.found + by_the_rules(past, self.standing.alerting), past
        return Walk(past, found, standing)


def by_the_rules(past: Sequence[Finding], alerting: Verdict) -> tuple[Told, ...]:
    """What is told of the last finding by the rules as they are written, without counting."""
    step, level = len(past) - 1, level_by_the_rules(past)
    if level > alerting:
        return (Told(step, "escalate" if alerting else "raise", level),)
    if alerting and len(past) >= 3 and all(f.verdict is OK for f in past[-3:]):
        return (Told(step, "resolve", alerting),)
    return ()


@pytest.mark.parametrize(("kinds", "length"), [(FOUR, 8), (ALL_KINDS, 5)])
def test_every_sequence_is_told_by_the_rules(kinds: list[Finding], length: int) -> None:
    walks = [Walk()]
    for _ in range(length):
        walks = [walk.then(kind) for walk in walks for kind in kinds]
    assert len(walks) == len(kinds) ** length
    for walk in walks:
        assert_sane(walk.past, walk.found)


def assert_sane(sequence: Sequence[Finding], found: Sequence[Told]) -> None:
    """What holds whatever the rules are in detail."""
    ends = [f.kind for f in found if f.kind != "escalate"]
    assert ends == ["raise", "resolve"] * (len(ends) // 2) + ["raise"] * (len(ends) % 2)
    for each in found:
        now = sequence[each.step]
        if each.kind == "resolve":
            assert [f.verdict for f in sequence[each.step - 2 : each.step + 1]] == [OK] * 3
        elif now.weight is not Weight.AT_ONCE:
            so_far = [f for f in sequence[: each.step + 1] if f.weight is not Weight.HELD]
            assert sum(f.verdict is not OK for f in so_far) >= 3
            assert now.verdict >= each.severity or now.verdict.blind


def test_the_third_breach_in_a_row_raises_and_not_the_second() -> None:
    assert told([COUNTED[CRITICAL]] * 2) == []
    assert told([COUNTED[CRITICAL]] * 5) == [Told(2, "raise", CRITICAL)]


def test_a_structural_fault_raises_on_the_first_reading() -> None:
    assert told([CRITICAL_AT_ONCE]) == [Told(0, "raise", CRITICAL)]


def test_a_missing_reading_between_breaches_neither_resets_nor_clears() -> None:
    breach, blind = COUNTED[WARNING], COUNTED[UNKNOWN]
    assert told([breach, blind, breach, HELD, breach]) == [Told(4, "raise", WARNING)]


def test_escalation_counts_its_own_three() -> None:
    warning, critical = COUNTED[WARNING], COUNTED[CRITICAL]
    sequence = [warning, critical, critical, critical]
    assert told(sequence) == [Told(2, "raise", WARNING), Told(3, "escalate", CRITICAL)]
    broken = [warning] * 3 + [critical, critical, warning, critical, critical, critical]
    assert told(broken)[1:] == [Told(8, "escalate", CRITICAL)]


def test_an_alert_does_not_climb_down_by_steps() -> None:
    sequence = [COUNTED[CRITICAL]] * 3 + [COUNTED[WARNING]] * 9
    assert told(sequence) == [Told(2, "raise", CRITICAL)]


def test_being_blind_raises_its_own_alert_and_never_closes_one() -> None:
    assert told([COUNTED[UNSURE], COUNTED[UNKNOWN], COUNTED[UNSURE]]) == [Told(2, "raise", UNKNOWN)]
    assert told([COUNTED[WARNING]] * 3 + [COUNTED[UNKNOWN]] * 9) == [Told(2, "raise", WARNING)]


def test_blind_between_good_readings_starts_the_resolution_again() -> None:
    ok = COUNTED[OK]
    for interruption in (HELD, COUNTED[UNKNOWN]):
        sequence = [CRITICAL_AT_ONCE, ok, ok, interruption, ok, ok, ok]
        assert told(sequence)[1:] == [Told(6, "resolve", CRITICAL)]


@given(st.lists(st.sampled_from(ALL_KINDS), max_size=20), st.integers(0, 20))
def test_stopping_anywhere_and_going_on_from_what_was_stored_changes_nothing(
    sequence: list[Finding], cut: int
) -> None:
    standing = Standing("offset")
    for step, each in enumerate(sequence[:cut]):
        standing, _ = advance(POLICY, standing, each, LATE + 30.0 * step)
    stored = json.loads(json.dumps(standing._asdict()))
    stored.update(alerting=Verdict(stored["alerting"]), blamed=tuple(stored["blamed"]))
    rest = told(sequence[cut:], Standing(**stored))
    whole = [t._replace(step=t.step - cut) for t in told(sequence) if t.step >= cut]
    assert rest == whole


@given(st.lists(st.sampled_from(ALL_KINDS), min_size=1, max_size=30))
def test_runs_stop_counting_so_that_a_quiet_host_stores_the_same_standing(
    sequence: list[Finding],
) -> None:
    standing = Standing("offset")
    for each in sequence:
        standing, _ = advance(POLICY, standing, each, LATE)
        runs = (standing.ok_run, standing.blind_run, standing.warning_run, standing.critical_run)
        assert max(runs) <= POLICY.consecutive
        if standing.alerting is not OK:
            assert standing.since is not None
            assert standing.told_at is not None


def test_the_trouble_began_with_its_first_reading_and_is_forgotten_after_three_good_ones() -> None:
    standing = Standing("offset")
    for step in range(3):
        standing, transition = advance(POLICY, standing, COUNTED[WARNING], LATE + step)
    assert transition is not None
    assert transition.since == LATE
    for step in range(3):
        standing, transition = advance(POLICY, standing, COUNTED[OK], LATE + 10 + step)
    assert transition is not None
    assert transition.since == LATE
    assert standing == Standing("offset", ok_run=3)


def cycles(pairs: Sequence[tuple[Optional[Observation], Optional[Observation]]]) -> list[Told]:
    """What is told about the offset over cycles of chronyd's and one Redis server's answers."""
    findings = []
    for chrony, reference in pairs:
        references = (reference,) if reference is not None else ()
        assessment = assess(POLICY, seen(chrony, *references))
        findings += [f for f in assessment.findings if f.condition == "offset"]
    return told(findings)


FINE = chronyd(0.0)
OFF = redis(1320.0)
AGREES = redis(0.0)
GONE = miss("locks", "refused")


def test_flapping_around_the_threshold_never_alerts() -> None:
    flapping = [(chronyd(0.101, 0.0), None), (chronyd(0.099, 0.0), None)] * 30
    assert cycles(flapping) == []


@pytest.mark.parametrize("sign", [1, -1])
def test_three_breaches_and_then_flapping_are_one_alert(sign: int) -> None:
    breach, good = chronyd(sign * 0.101, 0.0), chronyd(sign * 0.099, 0.0)
    sequence = [breach] * 3 + [good, breach] * 28
    assert cycles([(each, None) for each in sequence]) == [Told(2, "raise", WARNING)]


def test_the_only_source_missing_between_breaches_neither_resets_nor_clears() -> None:
    breach = (chronyd(5.0), None)
    gap: tuple[Observation, None] = (miss(), None)
    assert cycles([breach, gap, breach, gap, breach]) == [Told(4, "raise", CRITICAL)]
    assert cycles([breach] * 3 + [gap] * 20) == [Told(2, "raise", CRITICAL)]


def test_a_source_that_proved_a_breach_is_not_cleared_by_another_while_it_is_silent() -> None:
    proven, silent, cleared = (FINE, OFF), (FINE, GONE), (FINE, AGREES)
    assert cycles([proven, silent, proven, silent, proven]) == [Told(4, "raise", CRITICAL)]
    assert cycles([proven] * 3 + [silent] * 20) == [Told(2, "raise", CRITICAL)]
    assert cycles([proven] * 3 + [silent] * 20 + [cleared] * 3) == [
        Told(2, "raise", CRITICAL),
        Told(25, "resolve", CRITICAL),
    ]


def test_a_silent_source_that_proved_nothing_holds_nothing_back() -> None:
    chronyd_alone_off = [(chronyd(5.0), AGREES)] * 3
    redis_lost = [(FINE, GONE)] * 3
    assert cycles([*chronyd_alone_off, *redis_lost])[1:] == [Told(5, "resolve", CRITICAL)]


def test_a_source_taken_out_of_the_configuration_holds_nothing_back() -> None:
    assert cycles([(FINE, OFF)] * 3 + [(FINE, None)] * 3)[1:] == [Told(5, "resolve", CRITICAL)]


def test_an_alert_about_what_is_watched_no_longer_ends() -> None:
    assert retire(Standing("reference", warning_run=2, since=LATE), LATE) is None
    standing = Standing("reference", alerting=WARNING, since=LATE, told_at=LATE)
    ended = retire(standing, LATE + 60)
    assert ended is not None
    assert (ended.kind, ended.severity, ended.since) == ("resolve", WARNING, LATE)
    assert (ended.finding.verdict, ended.finding.cause) == (OK, "not-watched")


def test_an_alert_is_reminded_of_once_a_day_and_a_restart_is_no_reason() -> None:
    standing, _ = advance(POLICY, Standing("service"), CRITICAL_AT_ONCE, LATE)
    stored = Standing(*standing)
    reminders = []
    for hour in range(1, 73):
        now = LATE + 3600.0 * hour
        stored, transition = advance(POLICY, stored, CRITICAL_AT_ONCE, now)
        if transition is not None:
            reminders.append((hour, transition.kind, transition.severity, transition.since))
    assert reminders == [(hour, "remind", CRITICAL, LATE) for hour in (24, 48, 72)]


def test_nothing_is_reminded_of_that_is_not_alerted() -> None:
    assert not due_reminder(Standing("offset", warning_run=2, since=0.0), LATE)
    alerted = Standing("offset", alerting=WARNING, told_at=LATE, since=0.0)
    assert not due_reminder(alerted, LATE + REMIND_EVERY - 1)
    assert due_reminder(alerted, LATE + REMIND_EVERY)


@pytest.mark.parametrize(
    ("sequence", "unfinished"),
    [
        ([], False),
        ([COUNTED[OK]], False),
        ([COUNTED[WARNING]], True),
        ([COUNTED[WARNING]] * 2, True),
        ([COUNTED[WARNING]] * 3, False),
        ([COUNTED[WARNING]] * 3 + [COUNTED[CRITICAL]], True),
        ([COUNTED[CRITICAL]] * 4, False),
        ([CRITICAL_AT_ONCE], False),
        ([WARNING_AT_ONCE, COUNTED[CRITICAL]], True),
        ([COUNTED[UNKNOWN]], True),
        ([COUNTED[UNKNOWN]] * 4, False),
        ([COUNTED[WARNING]] * 3 + [COUNTED[UNKNOWN]], False),
        ([COUNTED[WARNING], COUNTED[OK]], False),
        ([CRITICAL_AT_ONCE, COUNTED[OK]], True),
        ([CRITICAL_AT_ONCE] + [COUNTED[OK]] * 2, True),
        ([CRITICAL_AT_ONCE] + [COUNTED[OK]] * 3, False),
        ([HELD] * 5, False),
    ],
)
def test_a_run_is_unfinished_while_one_more_reading_could_raise_or_resolve(
    sequence: list[Finding], unfinished: bool
) -> None:
    standing = Standing("offset")
    for each in sequence:
        standing, _ = advance(POLICY, standing, each, LATE)
    assert pending(POLICY, (Standing("sync"), standing)) is unfinished


@given(st.lists(st.sampled_from(ALL_KINDS), max_size=12), st.sampled_from(ALL_KINDS))
def test_whatever_three_more_readings_bring_was_announced_as_pending(
    sequence: list[Finding], then: Finding
) -> None:
    """Between its first and its last reading, a run that raises or resolves is pending."""
    standing = Standing("offset")
    for each in sequence:
        standing, _ = advance(POLICY, standing, each, LATE)
    first, transition = advance(POLICY, standing, then, LATE)
    if transition is None and then.weight is Weight.COUNTED:
        second, transition = advance(POLICY, first, then, LATE)
        third, last = advance(POLICY, second, then, LATE)
        if transition is not None or last is not None:
            assert pending(POLICY, (first,))
