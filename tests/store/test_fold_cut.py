"""Stopping the daemon anywhere and going on from what was stored changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import FrozenSet, List, NamedTuple, Optional, Sequence, Set, Tuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.core.fold import Identity, Memory, fold, resume
from agent.core.judge import advance
from agent.core.model import (
    Observation,
    Observations,
    Policy,
    Reading,
    Standing,
    Transition,
    Verdict,
)
from agent.core.settings import HistorySettings
from agent.store import codec
from agent.store.codec import Moment
from agent.store.sqlite import SqliteStore
from tests.support.cycles import A_BOOT, BOOTED_AT, a_cycle, clocks
from tests.support.values import LATE, chronyd, finding, miss

POLICY = Policy(offset_warning=0.1, offset_critical=2.0, consecutive=3)
LENGTH = 8
VERDICTS = (Verdict.OK, Verdict.UNKNOWN, Verdict.WARNING, Verdict.CRITICAL)
#: Seconds the host is off between a cut and what follows, where it is rebooted.
DOWN = 120.0


class Walk(NamedTuple):
    """One condition's standing, and the clock by which its boottimes count."""

    standing: Standing
    boottime: float
    boot_id: str = A_BOOT

    def on(self, verdict: Verdict) -> Tuple[Walk, Optional[Transition]]:
        after = self._replace(boottime=self.boottime + 30.0)
        standing, transition = advance(POLICY, self.standing, finding(verdict), after.boottime)
        return after._replace(standing=standing), transition

    def restarted(self, rebooted: bool) -> Walk:
        """The same after being written down and read again, in this boot or the next."""
        wall = BOOTED_AT + self.boottime
        saved = Moment(clocks(self.boottime, wall), self.boot_id)
        now, text = saved, codec.standing_to_text(self.standing, saved)
        if rebooted:
            now = Moment(clocks(DOWN / 2, wall + DOWN), "the next boot")
        standing = codec.standing_from_text(text, now)
        assert standing is not None
        return Walk(standing, now.clock.boottime, now.boot_id)


def told(transition: Optional[Transition], now: float) -> Optional[Tuple[str, Verdict, float]]:
    """What people hear, with how long the trouble has lasted."""
    if transition is None:
        return None
    return transition.kind, transition.severity, round(now - transition.since, 3)


def all_walks(length: int) -> List[List[Walk]]:
    """Every standing that sequences up to ``length`` lead to, by length; each once."""
    levels = [[Walk(Standing("offset"), LATE)]]
    for _ in range(length):
        after = (walk.on(verdict)[0] for walk in levels[-1] for verdict in VERDICTS)
        levels.append(list(dict.fromkeys(after)))
    return levels


def assert_same_future(whole: Walk, cut: Walk, steps: int) -> None:
    """Whatever comes in the next ``steps``, people are told the same by both at the same time."""
    pairs: FrozenSet[Tuple[Walk, Walk]] = frozenset({(whole, cut)})
    for _ in range(steps):
        following: Set[Tuple[Walk, Walk]] = set()
        for one, other in pairs:
            for verdict in VERDICTS:
                next_one, expected = one.on(verdict)
                next_other, found = other.on(verdict)
                assert told(found, next_other.boottime) == told(expected, next_one.boottime)
                following.add((next_one, next_other))
        pairs = frozenset(following)


@pytest.mark.parametrize("rebooted", [False, True], ids=["restarted", "rebooted"])
def test_every_sequence_cut_at_every_point_goes_on_as_if_it_had_not_been(rebooted: bool) -> None:
    levels = all_walks(LENGTH)
    for length, walks in enumerate(levels):
        for walk in walks:
            off = DOWN if rebooted else 0.0
            whole = walk._replace(boottime=walk.boottime + off)
            assert_same_future(whole, walk.restarted(rebooted), LENGTH - length)


KINDS: Sequence[Observation] = (chronyd(0.0), miss(), chronyd(0.5), chronyd(-5.0))
IDENTITY = Identity(host="web-1", boot_id=A_BOOT)


def taken(kind: Observation, at: float) -> Observation:
    """``kind`` as seen at boottime ``at``."""
    return kind._replace(taken_at=at) if isinstance(kind, Reading) else kind


def one_cycle(memory: Memory, number: int, observation: Observation) -> Tuple[Memory, List[str]]:
    """Fold one observation; return what is remembered, and what was said word for word."""
    sample = clocks(LATE + 30.0 * number)
    seen = Observations(chrony=observation, service=None, boottime=sample.boottime)
    memory, outcome = fold(POLICY, IDENTITY, memory, seen, sample)
    return memory, [repr(alert) for alert in outcome.alerts]


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(KINDS), min_size=4, max_size=LENGTH))
def test_a_file_between_any_two_cycles_changes_no_word(
    tmp_path_factory: pytest.TempPathFactory, observations: List[Observation]
) -> None:
    whole, through_the_file = Memory(), Memory()
    directory: Path = tmp_path_factory.mktemp("state")
    for number, kind in enumerate(observations):
        observation = taken(kind, LATE + 30.0 * number)
        whole, expected = one_cycle(whole, number, observation)
        store = SqliteStore(str(directory), HistorySettings(), print)
        remembered = store.restore(clocks(LATE + 30.0 * number), A_BOOT)
        through_the_file = resume(
            remembered.standings, remembered.clock, remembered.readings, remembered.events
        )
        through_the_file, found = one_cycle(through_the_file, number, observation)
        assert found == expected
        assert through_the_file == whole
        assert through_the_file.clock is not None
        cycle = a_cycle(
            through_the_file.clock.boottime,
            observation,
            standings=through_the_file.standings,
        )
        store.save([cycle], ())
        store.close()
