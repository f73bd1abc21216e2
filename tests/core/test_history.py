"""What a clock showed at a moment and what time it was: over drift, steps, reboots and silence."""

from __future__ import annotations

import random
from typing import List, NamedTuple, Optional, Tuple

import pytest

from agent.core.history import Record, Timeline
from agent.core.model import Verdict

EPOCH = 1_756_000_000.0
WANDER = 50e-6


def record(
    number: int,
    boottime: float,
    offset: Optional[float] = 0.0,
    *,
    step: float = 0.0,
    boot: int = 1,
    uncertainty: float = 0.001,
) -> Record:
    """A cycle of a host whose clock is right but for ``step`` (and says so, with an offset)."""
    return Record(
        number=number,
        boot=boot,
        wall=EPOCH + boottime + step,
        boottime=boottime,
        offset=offset,
        uncertainty=None if offset is None else uncertainty,
        source=None if offset is None else "chronyd",
    )


def test_between_two_readings_the_offset_is_interpolated() -> None:
    line = Timeline([record(n, n * 300.0, n * 0.3) for n in range(10)], WANDER)
    (found,) = line.at_local(EPOCH + 1300.0)
    assert found.true == pytest.approx(EPOCH + 1300.0 - 1.3)
    assert found.offset == pytest.approx(1.3)
    assert found.uncertainty == pytest.approx(0.001 + 100.0 * WANDER, rel=0.1)
    assert found.before is not None
    assert found.after is not None
    assert (found.before.number, found.after.number, found.latest.number) == (4, 5, 4)


@pytest.mark.parametrize("begin", [1200.0, 1260.0, 1350.0, 1480.0])
def test_while_a_drift_began_the_answer_leaves_open_when_it_did(begin: float) -> None:
    """chronyd died between two readings: the line between them is not what the clock did."""

    def offset(boottime: float) -> float:
        return max(0.0, boottime - begin) * 1389e-6

    line = Timeline([record(n, n * 300.0, offset(n * 300.0)) for n in range(10)], WANDER)
    for boottime in range(1210, 1500, 10):
        (found,) = line.at_local(EPOCH + boottime)
        assert found.uncertainty is not None
        assert found.offset == pytest.approx(offset(boottime), abs=found.uncertainty)
        assert found.uncertainty < 0.15
    (found,) = line.at_local(EPOCH + 900.0)
    assert found.uncertainty is not None
    assert found.uncertainty < 0.002


def test_where_neither_side_explains_how_the_clock_moved_both_ends_are_possible() -> None:
    """Slewed by chronyd within a minute, or a source that was wrong: only the ends are known."""
    line = Timeline([record(n, n * 300.0, 0.5 if n < 5 else 0.0) for n in range(10)], WANDER)
    for boottime in (1201.0, 1350.0, 1499.0):
        (found,) = line.at_local(EPOCH + boottime)
        assert found.offset is not None
        assert found.uncertainty is not None
        assert found.offset - found.uncertainty <= 0.0
        assert found.offset + found.uncertainty >= 0.5


def test_the_incident_at_two_in_the_morning() -> None:
    fast = 22 * 60.0
    line = Timeline(
        [record(n, n * 300.0, fast, step=fast, uncertainty=0.01) for n in range(10)], WANDER
    )
    (found,) = line.at_local(EPOCH + fast + 1000.0)
    assert found.offset == pytest.approx(fast)
    assert found.true == pytest.approx(EPOCH + 1000.0)
    (found,) = line.at_true(EPOCH + 1000.0)
    assert found.local == pytest.approx(EPOCH + fast + 1000.0)


def test_a_stretch_without_readings_is_bridged_and_less_certain() -> None:
    cycles = [record(n, n * 300.0, None if 8 < n < 17 else 0.1 * n) for n in range(26)]
    (found,) = Timeline(cycles, WANDER).at_local(EPOCH + 3750.0)
    assert found.offset == pytest.approx(1.25)
    assert found.uncertainty == pytest.approx(0.001 + 1350.0 * WANDER, rel=0.1)
    assert found.latest.number == 12


def test_after_a_single_reading_the_certainty_fades() -> None:
    line = Timeline([record(0, 0.0, 0.5), record(1, 300.0, None), record(2, 3600.0, None)], WANDER)
    (found,) = line.at_local(EPOCH + 3000.0)
    assert found.offset == pytest.approx(0.5)
    assert found.uncertainty == pytest.approx(0.001 + 3000.0 * WANDER)
    assert found.after is None


def test_after_the_last_reading_the_drift_is_taken_to_go_on() -> None:
    known = [record(n, n * 300.0, n * 0.3) for n in range(10)]
    line = Timeline([*known, record(10, 6000.0, None)], WANDER)
    (found,) = line.at_local(EPOCH + 3700.0)
    assert found.offset == pytest.approx(3.7)
    assert found.uncertainty == pytest.approx(0.001 + 1000.0 * (WANDER + 0.004 / 1800.0))


def test_before_the_first_reading_of_a_boot_the_drift_is_taken_to_have_been_the_same() -> None:
    known = [record(n, n * 300.0, n * 0.3) for n in range(4, 7)]
    line = Timeline([record(1, 300.0, None), *known], WANDER)
    (found,) = line.at_local(EPOCH + 600.0)
    assert found.offset == pytest.approx(0.6)
    assert found.before is None


def test_without_any_trusted_reading_the_local_time_is_all_there_is() -> None:
    line = Timeline([record(0, 0.0, None), record(1, 300.0, None)], WANDER)
    (found,) = line.at_local(EPOCH + 100.0)
    assert (found.true, found.offset, found.uncertainty) == (None, None, None)
    assert line.at_true(EPOCH + 100.0) == ()


def test_after_a_step_back_a_local_time_was_twice() -> None:
    line = Timeline(
        [
            record(0, 0.0, 1320.0, step=1320.0),
            record(1, 300.0, 1320.0, step=1320.0),
            record(2, 600.0, 0.0),
            record(3, 2100.0, 0.0),
        ],
        WANDER,
    )
    first, second = line.at_local(EPOCH + 1320.0 + 100.0)
    assert first.offset == pytest.approx(1320.0)
    assert second.offset == pytest.approx(0.0, abs=1e-6)
    assert first.step is None
    assert second.step is None


def test_while_the_clock_was_being_set_both_sides_are_possible() -> None:
    line = Timeline([record(0, 0.0, 2.0, step=2.0), record(1, 300.0, 0.0)], WANDER)
    before, after = line.at_local(EPOCH + 150.0)
    assert (before.step, before.after_step, after.step, after.after_step) == (
        -2.0,
        False,
        -2.0,
        True,
    )
    assert before.offset == pytest.approx(2.0)
    assert after.offset == pytest.approx(0.0, abs=1e-6)
    assert {round(e.local - EPOCH, 6) for e in line.at_true(EPOCH + 150.0)} == {150.0, 152.0}


def test_a_local_time_that_was_stepped_over_never_was() -> None:
    line = Timeline([record(0, 0.0, -3600.0, step=-3600.0), record(1, 300.0, 0.0)], WANDER)
    assert line.at_local(EPOCH - 1800.0) == ()
    gap = line.gap(EPOCH - 1800.0, local=True)
    assert gap.why == "skipped"
    assert gap.before is not None
    assert gap.after is not None
    assert (gap.before.number, gap.after.number) == (0, 1)


def test_nothing_is_known_of_the_time_between_two_boots() -> None:
    last = record(1, 300.0)
    first = record(2, 30.0, boot=2)._replace(wall=EPOCH + 7200.0)
    line = Timeline([record(0, 0.0), last, first], WANDER)
    assert line.at_local(EPOCH + 3600.0) == ()
    assert line.gap(EPOCH + 3600.0, local=True).why == "off"


@pytest.mark.parametrize(("moment", "why"), [(EPOCH - 1.0, "early"), (EPOCH + 301.0, "late")])
@pytest.mark.parametrize("local", [True, False])
def test_before_the_first_and_after_the_last_cycle_nothing_is_known(
    moment: float, why: str, local: bool
) -> None:
    line = Timeline([record(0, 0.0), record(1, 300.0)], WANDER)
    assert line.at_local(moment) == line.at_true(moment) == ()
    assert line.gap(moment, local).why == why


def test_an_empty_history_says_so() -> None:
    assert Timeline([], WANDER).at_local(EPOCH) == ()
    assert Timeline([], WANDER).gap(EPOCH, local=True).why == "nothing"


def test_the_verdict_of_a_cycle_is_the_worst_of_its_conditions() -> None:
    findings = {"offset": ("warning", "slow"), "sync": ("unsure", ""), "service": ("ok", "")}
    assert record(0, 0.0)._replace(findings=findings).verdict is Verdict.WARNING
    assert record(0, 0.0)._replace(findings={"x": ("no word", "")}).verdict is Verdict.UNKNOWN


class Moment(NamedTuple):
    """One second in the life of a simulated host."""

    local: float
    true: float
    boottime: float
    #: How many cycles there had been by then.
    cycles: int


def simulate(chance: random.Random, restless: bool) -> Tuple[List[Record], List[Moment]]:
    """A few hours: an oscillator that wanders, wrong readings, silence, steps and reboots.

    ``restless``: chronyd dies, returns and slews, with at least two readings in between.
    """
    true, step = EPOCH, chance.uniform(-5, 5)
    rate = chance.uniform(-500e-6, 500e-6)
    records: List[Record] = []
    life: List[Moment] = []
    for boot in range(1, chance.randint(2, 4)):
        true += chance.uniform(60, 7200)
        began, boottime, due, stepped, quiet = true, 0.0, chance.randint(1, 300), False, 0
        for second in range(chance.randint(600, 4000)):
            if not stepped and chance.random() < 0.001:  # at most one between two cycles
                stepped = True
                step += chance.choice([-1, 1]) * chance.choice([0.002, 1.0, 1320.0])
            if restless and quiet >= 3 and chance.random() < 0.01:
                quiet = 0
                rate = chance.choice([-1, 1]) * chance.choice([0.0, 1389e-6, 1389e-6, 0.02])
            local = began + boottime + step
            life.append(Moment(local, true, boottime, len(records)))
            if second == due:
                stepped = False
                quiet += 1
                due += chance.choice([30, 300, 300])
                error = chance.uniform(-1, 1) * (0.0005 if restless else 0.01)
                known = restless or chance.random() < 0.8
                records.append(
                    Record(
                        number=len(records),
                        boot=boot,
                        wall=local,
                        boottime=boottime,
                        offset=local - true + error if known else None,
                        uncertainty=abs(error) + 1e-4 if known else None,
                    )
                )
            boottime += 1.0 + rate + chance.uniform(-1, 1) * WANDER / 2
            true += 1.0
    return records, life


@pytest.mark.parametrize("restless", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_whenever_somebody_asks_the_truth_is_within_the_answer(seed: int, restless: bool) -> None:
    chance = random.Random(seed)
    records, life = simulate(chance, restless)
    line = Timeline(records, WANDER)
    asked = 0
    for moment in chance.sample(life, 200):
        spanned = 0 < moment.cycles < len(records)
        if not spanned or records[moment.cycles - 1].boot != records[moment.cycles].boot:
            continue
        boot = [r for r in records if r.boot == records[moment.cycles].boot]
        if sum(r.offset is not None for r in boot) < 2:
            continue
        asked += 1
        answers = [a for a in line.at_local(moment.local) if a.true is not None]
        assert any(abs((a.true or 0.0) - moment.true) <= (a.uncertainty or 0.0) for a in answers)
        if boot[0].boottime + 1 > moment.boottime or boot[-1].boottime - 1 < moment.boottime:
            continue  # by the true time of the first and the last cycle it may be just outside
        at_true = line.at_true(moment.true)
        slack = 1.05 if restless else 1.0  # while it is slewed, both clocks' seconds differ
        assert any(abs(a.local - moment.local) <= slack * (a.uncertainty or 0.0) for a in at_true)
    assert asked or len(records) < 20
