from __future__ import annotations

import pytest

from agent.core.consensus import agree, credible, majority
from agent.core.model import Policy, Reading
from tests.support.values import chronyd, redis

POLICY = Policy(offset_warning=0.1, offset_critical=2.0)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (chronyd(0.0), redis(0.030), True),  # servers differ a little
        (chronyd(0.002), redis(0.101), False),  # one within the limits, one not
        (chronyd(1320.0), redis(1322.0), True),  # the same story, whatever the seconds
        (chronyd(5.0), redis(-5.0), False),
        (chronyd(0.0), redis(3.0, 3.0), True),  # the intervals overlap
    ],
)
def test_sources_agree_when_they_tell_the_same_story(
    one: Reading, other: Reading, same: bool
) -> None:
    assert agree(POLICY, one, other) is same
    assert agree(POLICY, other, one) is same


def test_a_majority_is_more_than_half() -> None:
    good, off = chronyd(0.0), redis(5.0)
    assert majority(POLICY, ()) == ()
    assert majority(POLICY, (good,)) == (good,)
    assert majority(POLICY, (good, off)) == ()
    third = redis(0.01, name="cache")
    assert majority(POLICY, (good, off, third)) == (good, third)


def test_the_most_precise_reading_of_the_majority_is_believed() -> None:
    exact_but_alone = redis(5.0, 0.0001)
    precise, coarse = redis(0.001, 0.0002, name="cache"), chronyd(0.0, 0.01)
    assert credible(POLICY, (coarse, exact_but_alone, precise)) is precise


def test_without_a_majority_chronyd_is_believed() -> None:
    vouched = chronyd(0.0, 0.01)
    assert credible(POLICY, (redis(5.0, 0.0001), vouched)) is vouched


def test_without_chronyd_the_most_precise_is_believed_and_without_readings_nobody() -> None:
    exact = redis(5.0, 0.0001)
    assert credible(POLICY, (redis(0.0, 0.001, name="cache"), exact)) is exact
    assert credible(POLICY, ()) is None
