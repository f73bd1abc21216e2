"""Standings and alerts survive being written down, a reboot, and another version's fields."""

from __future__ import annotations

import json
from typing import Optional, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.model import Alert, Standing, Verdict
from agent.core.steps import ClockSample
from agent.store import codec
from agent.store.codec import Moment
from tests.support.cycles import A_BOOT, BOOTED_AT, an_alert, clocks

SAVED = Moment(clocks(5000.0), A_BOOT)
STANDING = Standing(
    condition="offset",
    alerting=Verdict.WARNING,
    critical_run=2,
    since=4000.0,
    blamed=("locks",),
    told_at=4800.0,
)

text = st.text(max_size=20)
boottimes = st.none() | st.floats(min_value=0, max_value=1e8)
standings = st.builds(
    Standing,
    condition=text,
    alerting=st.sampled_from(tuple(Verdict)),
    ok_run=st.integers(0, 99),
    blind_run=st.integers(0, 99),
    warning_run=st.integers(0, 99),
    critical_run=st.integers(0, 99),
    since=boottimes,
    blamed=st.lists(text, max_size=3).map(tuple),
    told_at=boottimes,
)


@given(standings)
def test_within_one_boot_a_standing_comes_back_as_it_was(standing: Standing) -> None:
    later = Moment(clocks(9000.0), A_BOOT)
    assert codec.standing_from_text(codec.standing_to_text(standing, SAVED), later) == standing


@pytest.mark.parametrize(
    ("down", "uptime"), [(600.0, 30.0), (0.0, 30.0), (86_400.0 * 20, 10_000.0)]
)
def test_over_a_reboot_the_trouble_has_lasted_as_long_as_it_has(down: float, uptime: float) -> None:
    wall = SAVED.clock.wall + down + uptime
    now = Moment(clocks(uptime, wall=wall), "another boot")
    restored = codec.standing_from_text(codec.standing_to_text(STANDING, SAVED), now)
    assert restored is not None
    assert restored.since is not None
    assert uptime - restored.since == pytest.approx(1000.0 + down + uptime)
    assert restored.told_at is not None
    assert uptime - restored.told_at == pytest.approx(200.0 + down + uptime)
    assert restored._replace(since=None, told_at=None) == STANDING._replace(
        since=None, told_at=None
    )


@pytest.mark.parametrize("wall", [5.0, BOOTED_AT - 3600.0, 4_294_944_000.0])
def test_a_wall_clock_that_lost_its_way_over_the_reboot_counts_for_nothing(wall: float) -> None:
    now = Moment(clocks(30.0, wall=wall), "another boot")
    restored = codec.standing_from_text(codec.standing_to_text(STANDING, SAVED), now)
    assert restored is not None
    assert restored.since is not None
    assert 30.0 - restored.since == pytest.approx(1030.0)


def test_two_unknown_boots_are_not_the_same_boot() -> None:
    saved, now = Moment(clocks(5000.0), ""), Moment(clocks(30.0, BOOTED_AT + 5630.0), "")
    assert codec.elapsed(saved, now) == pytest.approx(630.0)


def test_a_field_of_another_version_is_left_out_and_a_missing_one_has_its_default() -> None:
    fields = json.loads(codec.standing_to_text(STANDING, SAVED))
    fields["mood"] = "good"
    del fields["told_at"]
    restored = codec.standing_from_text(json.dumps(fields), SAVED)
    assert restored == STANDING._replace(told_at=None)


@pytest.mark.parametrize(
    "wrong",
    ["", "{", "[]", "null", "7", '"x"', "{}", '{"condition": "offset"}', '{"saved": 3}'],
)
def test_text_that_is_none_of_ours_is_nothing(wrong: str) -> None:
    assert codec.standing_from_text(wrong, SAVED) is None
    assert codec.alert_from_text(wrong) is None


def broken(field: str, value: object) -> str:
    return json.dumps({**json.loads(codec.standing_to_text(STANDING, SAVED)), field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [("alerting", "awful"), ("alerting", 3), ("saved", [1, 2]), ("since", "long ago")],
)
def test_a_standing_with_a_wrong_value_is_nothing(field: str, value: object) -> None:
    assert codec.standing_from_text(broken(field, value), SAVED) is None


@given(
    st.builds(
        Alert,
        id=text,
        key=text,
        kind=text,
        severity=text,
        host=text,
        condition=text,
        summary=text,
        cause=text,
        evidence=st.lists(text, max_size=3).map(tuple),
        advice=st.lists(text, max_size=3).map(tuple),
        lasted=st.floats(0, 1e9),
        local_time=text,
        reference_time=st.none() | text,
        tags=st.dictionaries(text, text, max_size=3),
    )
)
def test_an_alert_comes_back_as_it_was(alert: Alert) -> None:
    assert codec.alert_from_text(codec.alert_to_text(alert)) == alert


@given(
    st.tuples(st.floats(0, 1e6), st.floats(0, 1e6)),
    st.booleans(),
)
def test_time_never_runs_backwards_between_saving_and_restoring(
    boottimes: Tuple[float, float], same_boot: bool
) -> None:
    first, second = sorted(boottimes)
    now_boot: Optional[str] = A_BOOT if same_boot else "another boot"
    passed = codec.elapsed(Moment(clocks(first), A_BOOT), Moment(clocks(second), now_boot or ""))
    assert passed >= 0.0


def test_an_alert_that_was_saved_is_one_line_of_json() -> None:
    assert "\n" not in codec.alert_to_text(an_alert(1)._replace(summary="a\nb"))


def test_a_clock_sample_is_saved_whole() -> None:
    saved = json.loads(codec.standing_to_text(STANDING, SAVED))["saved"]
    assert ClockSample(*saved) == SAVED.clock
