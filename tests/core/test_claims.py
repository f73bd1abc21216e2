"""Owns the tests of agent.core.claims: when the word of chronyd counts, and when it does not."""

from __future__ import annotations

from typing import Optional, Sequence, Tuple, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core import sources as source_list
from agent.core import tracking as tracking_report
from agent.core.chrony_causes import CAUSES
from agent.core.claims import Watch, claim, watch
from agent.core.model import Miss, Policy, Reading
from agent.core.sources import Source
from agent.core.tracking import Tracking
from tests.support.captures import Capture, captures

NOW = 1_750_000_000.0
GOOD = Tracking(
    reference_id="C0A87B01",
    reference="192.168.123.1",
    stratum=2,
    ref_time=NOW - 30,
    offset=0.000002,
    last_offset=0.000001,
    rms_offset=0.000003,
    frequency_ppm=5.0,
    residual_ppm=0.0,
    skew_ppm=0.06,
    root_delay=0.002,
    root_dispersion=0.0001,
    update_interval=64.5,
    leap_status="Normal",
)
SERVER = Source(
    mode="^",
    state="*",
    name="192.168.123.1",
    stratum=1,
    poll=6,
    reach=0o377,
    last_rx=30,
    offset=0.0,
    measured=0.0,
    error=0.0001,
)
NEVER = GOOD._replace(
    reference_id="00000000",
    reference="",
    stratum=0,
    ref_time=0.0,
    offset=0.0,
    last_offset=0.0,
    rms_offset=0.0,
    root_delay=1.0,
    root_dispersion=1.0,
    update_interval=0.0,
    leap_status="Not synchronised",
)


def judge(
    tracking: Tracking,
    sources: Optional[Sequence[Source]] = (SERVER,),
    *,
    wall: float = NOW,
    boottime: float = 90_000.0,
    max_age: Optional[float] = None,
    watch: Optional[Watch] = None,
    policy: Policy = Policy(),  # noqa: B008  a tuple: nobody can change it
) -> Union[Reading, Miss]:
    return claim(
        tracking,
        sources,
        wall=wall,
        boottime=boottime,
        policy=policy,
        max_age=max_age,
        watch=watch,
    )


def trusted(answer: Union[Reading, Miss]) -> Reading:
    assert isinstance(answer, Reading), answer
    return answer


def refused(answer: Union[Reading, Miss]) -> Miss:
    assert isinstance(answer, Miss), answer
    return answer


# --- captured output ------------------------------------------------------------------------------

#: What the captured cases come to; those not named here are trusted.
CAUSE_OF = {
    "03-not-synced-starting": "never-synchronised",
    "04-never-reachable": "never-synchronised",
    "20-lost-source@t1500": "sources-lost",
    "20-lost-source@t4600": "sources-lost",
    "20-lost-source@t1d": "sources-lost",
    "20-lost-source@t7d": "sources-lost",
    "21-lost-source-local10@t1500": "sources-lost",
    "21-lost-source-local10@t1d": "sources-lost",
    "21-lost-source-local10@t7d": "sources-lost",
    "21-lost-source-local10@t13d": "local-mode",
    "22-local-stratum10-only": "local-mode",
    "50-no-majority": "no-majority",
    "60-external-step@t605": "clock-stepped",
    "91-iburst@t3": "never-synchronised",
}
#: Between a step from outside and the third measurement after it; chronyd measured at t800.
STEPPED = ("@t599", "@t601", "@t605", "@t630", "@t645", "@t660", "@t680", "@t720", "@t760")
TOLD = [c for c in captures() if c.is_report and c.wall and c.is_csv and not c.is_sources]


def judge_capture(capture: Capture) -> Union[Reading, Miss]:
    listed = capture.twin(".sources.csv")
    tracking = tracking_report.parse_csv(capture.text)
    sources = source_list.parse_csv(listed.text) if listed else None
    assert isinstance(tracking, Tracking)
    assert not isinstance(sources, Miss)
    assert capture.wall is not None
    return judge(tracking, sources, wall=capture.wall)


def expected_cause(capture: Capture) -> Optional[str]:
    if capture.case.startswith("64-") and capture.case.endswith(STEPPED):
        return "unsynchronised"
    return next((word for case, word in CAUSE_OF.items() if capture.case.startswith(case)), None)


def is_blind_spot(capture: Capture) -> bool:
    """Before 4.0 tracking does not show an unmeasured step; only the sources, not captured, do."""
    old = capture.version in ("2.4.1", "3.5.1")
    return old and capture.case.startswith("64-") and capture.case.endswith(STEPPED)


@pytest.mark.parametrize("capture", [c for c in TOLD if not is_blind_spot(c)], ids=lambda c: c.file)
def test_a_captured_claim_is_trusted_only_where_it_holds_the_truth(capture: Capture) -> None:
    answer = judge_capture(capture)
    cause = expected_cause(capture)
    if cause is not None:
        assert refused(answer).cause == cause
        return
    reading = trusted(answer)
    assert capture.true_offset is not None
    assert abs(reading.offset - capture.true_offset) <= reading.uncertainty


def test_the_captures_hold_many_claims_of_both_kinds() -> None:
    causes = [expected_cause(capture) for capture in TOLD if not is_blind_spot(capture)]
    assert causes.count(None) >= 50
    assert len(causes) - causes.count(None) >= 70


def test_since_when_a_lost_source_is_silent_is_said_in_utc_and_as_an_age() -> None:
    capture = next(c for c in TOLD if c.file == "4.8/20-lost-source@t1500.csv")
    miss = refused(judge_capture(capture))
    assert "2025-06-15T15:22:5" in miss.what
    assert "8 min 49 s ago" in miss.what


# --- what is trusted ------------------------------------------------------------------------------


def test_a_fresh_and_synchronised_chronyd_is_trusted() -> None:
    reading = trusted(judge(GOOD))
    assert reading.source == "chronyd"
    assert reading.offset == 0.000002
    assert reading.taken_at == 90_000.0


def test_the_uncertainty_is_dispersion_half_the_delay_and_drift_since_the_measurement() -> None:
    exact = 0.0001 + 0.002 / 2 + (30 - 0.000002) * 50e-6
    reading = trusted(judge(GOOD))
    assert exact <= reading.uncertainty <= exact + 2e-6


def test_a_measurement_slightly_in_the_future_adds_no_drift() -> None:
    reading = trusted(judge(GOOD._replace(ref_time=NOW + 1.5)))
    assert reading.uncertainty == pytest.approx(0.0011, abs=2e-6)


def test_the_coarse_digits_of_a_large_offset_are_part_of_the_uncertainty() -> None:
    offset = 315_360_000.0  # printed in steps of 32 s
    reading = trusted(judge(GOOD._replace(offset=offset, ref_time=NOW - offset - 30)))
    assert reading.uncertainty > 32


@pytest.mark.parametrize("leap", ["Insert second", "Delete second"])
def test_an_announced_leap_second_is_no_fault(leap: str) -> None:
    assert trusted(judge(GOOD._replace(leap_status=leap))).detail["leap_status"] == leap


def test_a_chronyd_that_does_not_tell_its_sources_is_judged_by_its_age() -> None:
    assert isinstance(judge(GOOD, None), Reading)
    assert refused(judge(GOOD._replace(ref_time=NOW - 601), None)).cause == "stale"


def test_one_answering_source_among_dead_ones_is_enough() -> None:
    dead = SERVER._replace(state="?", reach=0, last_rx=None)
    assert isinstance(judge(GOOD, (dead, SERVER, dead)), Reading)


def test_the_detail_has_the_evidence_in_the_units_people_read() -> None:
    assert trusted(judge(GOOD)).detail == {
        "stratum": 2,
        "leap_status": "Normal",
        "reference_id": "C0A87B01",
        "reference": "192.168.123.1",
        "root_delay_ms": 2.0,
        "root_dispersion_ms": 0.1,
        "age_s": 29.999998,
        "skew_ppm": 0.06,
        "frequency_ppm": 5.0,
        "last_offset_ms": 0.001,
        "update_interval_s": 64.5,
    }


# --- what is not trusted --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spoilt",
    [
        {"leap_status": "Not synchronised"},
        {"leap_status": "Invalid"},
        {"reference_id": "00000000"},
        {"stratum": 0},
        {"ref_time": 0.0},
    ],
)
def test_each_sign_of_not_being_synchronised_is_enough(spoilt: dict[str, object]) -> None:
    fields = {**GOOD._asdict(), **spoilt}
    assert refused(judge(Tracking(**fields))).cause == "unsynchronised"


def test_never_synchronised_shows_no_offset_anywhere() -> None:
    miss = refused(judge(NEVER, (SERVER._replace(state="?", reach=0, last_rx=None),)))
    assert miss.cause == "never-synchronised"
    assert not any("offset" in name for name in miss.detail)
    assert "0.0" not in miss.what


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ((), "no source, or none of their names resolves"),
        ((SERVER._replace(state="?", reach=0, last_rx=None),), "no answer from its only source"),
        ((SERVER._replace(state="?", reach=3, last_rx=1),), "nothing usable (yet)"),
        (None, "'Not synchronised'"),
    ],
)
def test_never_synchronised_says_what_the_sources_do(
    sources: Optional[Tuple[Source, ...]], said: str
) -> None:
    miss = refused(judge(NEVER, sources))
    assert miss.cause == "never-synchronised"
    assert said in miss.what


def test_a_long_list_of_sources_is_cut() -> None:
    dead = SERVER._replace(state="?", reach=0, last_rx=None)
    many = tuple(dead._replace(name=f"10.0.0.{n}") for n in range(9))
    assert "10.0.0.2 and 6 more" in refused(judge(NEVER, many)).what


def test_a_chronyd_that_gave_up_for_want_of_answers_has_lost_its_sources() -> None:
    gave_up = NEVER._replace(update_interval=64.0, last_offset=1e-6)
    silent = SERVER._replace(state="?", reach=0, last_rx=7200)
    miss = refused(judge(gave_up, (silent,)))
    assert miss.cause == "sources-lost"
    assert "2 h ago" in miss.what


@pytest.mark.parametrize("reach", [0o000, 0o200, 0o370])
def test_three_unanswered_polls_in_a_row_are_a_lost_source(reach: int) -> None:
    assert refused(judge(GOOD, (SERVER._replace(reach=reach),))).cause == "sources-lost"


def test_two_unanswered_polls_are_not() -> None:
    assert isinstance(judge(GOOD, (SERVER._replace(reach=0o374),)), Reading)


def test_a_chronyd_without_any_source_left_has_lost_them() -> None:
    miss = refused(judge(GOOD, ()))
    assert miss.cause == "sources-lost"
    assert "30.0 s" in miss.what or "30 s" in miss.what


def test_the_newest_answer_of_several_dead_sources_says_since_when() -> None:
    dead = (SERVER._replace(reach=0, last_rx=9000), SERVER._replace(reach=0, last_rx=3600))
    assert "1 h ago" in refused(judge(GOOD, dead)).what


def test_local_mode_is_never_trusted_however_fresh_it_looks() -> None:
    local = GOOD._replace(reference_id="7F7F0101", reference="", stratum=10)
    miss = refused(judge(local, ()))
    assert miss.cause == "local-mode"
    assert "only its own clock" in miss.what
    assert "age_s" not in miss.detail


def test_local_mode_says_since_when_its_sources_are_gone() -> None:
    local = GOOD._replace(reference_id="7F7F0101", reference="", stratum=10)
    miss = refused(judge(local, (SERVER._replace(state="?", reach=0, last_rx=86400),)))
    assert "1 d ago" in miss.what


def test_samples_thrown_away_after_a_jump_are_seen_though_the_status_is_normal() -> None:
    dropped = SERVER._replace(state="?", last_rx=None)
    assert refused(judge(GOOD, (dropped,))).cause == "clock-stepped"


def test_while_no_source_is_usable_the_status_normal_is_not_believed() -> None:
    anew = SERVER._replace(state="?", last_rx=3)
    assert refused(judge(GOOD, (anew,))).cause == "unsynchronised"


def test_a_measurement_in_the_future_means_that_the_clock_was_set_back() -> None:
    miss = refused(judge(GOOD._replace(ref_time=NOW + 3600)))
    assert miss.cause == "clock-stepped"
    assert "1 h in the future" in miss.what


@pytest.mark.parametrize(
    ("interval", "poll", "limit"),
    [(2.0, 4, 600.0), (64.5, 6, 600.0), (64.5, 10, 8192.0), (2000.0, 10, 16000.0)],
)
def test_the_age_limit_is_eight_polls_but_never_under_ten_minutes(
    interval: float, poll: int, limit: float
) -> None:
    source = (SERVER._replace(poll=poll),)
    aged = GOOD._replace(update_interval=interval, offset=0.0)
    assert isinstance(judge(aged._replace(ref_time=NOW - limit), source), Reading)
    assert refused(judge(aged._replace(ref_time=NOW - limit - 1), source)).cause == "stale"


def test_the_poll_of_the_selected_source_counts_when_there_is_one() -> None:
    sources = (SERVER, SERVER._replace(state="-", poll=10))
    assert refused(judge(GOOD._replace(ref_time=NOW - 700), sources)).cause == "stale"


def test_a_configured_age_limit_replaces_the_derived_one() -> None:
    assert refused(judge(GOOD, max_age=20.0)).cause == "stale"
    assert isinstance(judge(GOOD._replace(ref_time=NOW - 5000), max_age=6000.0), Reading)


def test_the_age_is_right_however_wrong_the_clock_is() -> None:
    for offset in (1320.0, -1320.0, 7200.0):
        reading = trusted(judge(GOOD._replace(offset=offset), wall=NOW + offset))
        assert reading.detail["age_s"] == pytest.approx(30.0)


def test_a_measurement_that_does_not_move_is_stale_even_if_the_clock_was_set_back() -> None:
    seen = Watch(ref_time=GOOD.ref_time, since=89_000.0)
    assert refused(judge(GOOD, watch=seen)).cause == "stale"
    assert isinstance(judge(GOOD, watch=seen._replace(since=89_500.0)), Reading)


def test_a_stale_claim_may_quote_its_offset_as_a_claim() -> None:
    miss = refused(judge(GOOD._replace(ref_time=NOW - 700)))
    assert miss.detail["claimed_offset_ms"] == 0.002
    assert "700" in miss.what or "11 min 40 s ago" in miss.what


def test_the_watch_moves_with_the_measurement_and_stands_still_with_it() -> None:
    first = watch(None, 100.0, 5.0)
    assert first == Watch(ref_time=100.0, since=5.0)
    assert watch(first, 100.0, 50.0) is first
    assert watch(first, 101.0, 50.0) == Watch(ref_time=101.0, since=50.0)


def test_every_cause_has_a_sentence_and_advice_and_no_step_without_a_warning() -> None:
    for word, cause in CAUSES.items():
        assert "{seen}" in cause.sentence, word
        assert cause.advice, word
        for line in cause.advice:
            moves = any(verb in line for verb in ("makestep", "systemctl start", "restart"))
            assert "WARNING" in line or not moves, line


TRACKINGS = st.builds(
    Tracking,
    reference_id=st.sampled_from(["C0A87B01", "00000000", "7F7F0101"]),
    reference=st.sampled_from(["", "192.168.123.1"]),
    stratum=st.integers(0, 16),
    ref_time=st.floats(0, 1e11),
    offset=st.floats(-1e11, 1e11),
    last_offset=st.floats(-1e11, 1e11),
    rms_offset=st.floats(0, 1e11),
    frequency_ppm=st.floats(-1e9, 1e9),
    residual_ppm=st.floats(-1e9, 1e9),
    skew_ppm=st.floats(0, 1e12),
    root_delay=st.floats(0, 1e6),
    root_dispersion=st.floats(0, 1e9),
    update_interval=st.floats(0, 1e9),
    leap_status=st.sampled_from(["Normal", "Insert second", "Not synchronised", "Invalid"]),
)
SOURCES = st.builds(
    Source,
    mode=st.sampled_from("^=#"),
    state=st.sampled_from("*+-x~?"),
    name=st.just("192.168.123.1"),
    stratum=st.integers(0, 16),
    poll=st.integers(-32, 32),
    reach=st.integers(0, 255),
    last_rx=st.none() | st.integers(0, 2**32 - 2),
    offset=st.floats(-1e11, 1e11),
    measured=st.floats(-1e11, 1e11),
    error=st.floats(0, 1e11),
)


@given(
    tracking=TRACKINGS,
    sources=st.none() | st.lists(SOURCES, max_size=4),
    wall=st.floats(-1e10, 1e11),
    unmoved=st.none() | st.floats(0, 1e9),
    drift=st.floats(0, 1e6),
)
def test_whatever_chronyd_claims_is_trusted_with_a_bound_or_refused_with_a_reason(
    tracking: Tracking,
    sources: Optional[Sequence[Source]],
    wall: float,
    unmoved: Optional[float],
    drift: float,
) -> None:
    seen = None if unmoved is None else Watch(ref_time=tracking.ref_time, since=1e9 - unmoved)
    policy = Policy(max_drift_ppm=drift)
    answer = judge(tracking, sources, wall=wall, boottime=1e9, watch=seen, policy=policy)
    if isinstance(answer, Miss):
        assert answer.cause in CAUSES
        assert "{" not in answer.what
        return
    assert answer.uncertainty > tracking.root_dispersion + tracking.root_delay / 2
    assert tracking.reference_id == "C0A87B01"
    assert tracking.leap_status in ("Normal", "Insert second")
    assert sources is None or any(source.reach & 7 for source in sources)
