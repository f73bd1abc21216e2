"""Owns the proofs about one exchange: the truth is in the interval, steps are seen."""

from __future__ import annotations

from typing import List, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.exchange import (
    MAX_OFFSET,
    Chosen,
    Sample,
    choose,
    consistent,
    plausible,
    reading,
    server_time,
)
from agent.core.resp import ErrorReply, Reply, SimpleReply

NOW = 1_790_000_000_000_000_000  # a true time in nanoseconds
_YEAR = 31_557_600 * 10**9


def exchange(
    *, offset: int = 0, there: int = 100_000, back: int = 100_000, at: int = NOW, step: int = 0
) -> Sample:
    """What an exchange looks like from here. Nanoseconds; ``step`` moves the clock on the way."""
    return Sample(
        sent_wall=at + offset,
        received_wall=at + offset + there + back + step,
        sent=5_000,
        received=5_000 + there + back,
        server=(at + there) // 1000,
    )


DELAYS = st.integers(0, 10**10)
SAMPLES = st.builds(exchange, there=DELAYS, back=DELAYS, step=st.sampled_from([0, 0, 10**10]))


@given(
    offset=st.integers(-90 * _YEAR, 90 * _YEAR),
    there=DELAYS,
    back=DELAYS,
    at=st.integers(NOW, NOW + 999),
)
def test_the_true_offset_is_never_outside_the_uncertainty(
    offset: int, there: int, back: int, at: int
) -> None:
    sample = exchange(offset=offset, there=there, back=back, at=at)
    # 4e-7: a float holds an offset of 90 years no better
    assert abs(sample.offset - offset / 1e9) <= sample.uncertainty + 4e-7
    assert sample.steady
    assert plausible(sample)


@given(offset=st.integers(-(10**12), 10**12), one_way=st.integers(0, 10**9))
def test_with_equal_delays_the_offset_is_exact_to_the_resolution(offset: int, one_way: int) -> None:
    sample = exchange(offset=offset, there=one_way, back=one_way)
    assert sample.offset == pytest.approx(offset / 1e9, abs=1.1e-6)


def test_a_clock_that_is_ahead_has_a_positive_offset() -> None:
    assert exchange(offset=1320 * 10**9).offset == pytest.approx(1320.0, abs=1e-3)


def test_a_slow_clock_has_a_negative_offset() -> None:
    assert exchange(offset=-5_000_000).offset == pytest.approx(-0.005, abs=1e-6)


@pytest.mark.parametrize(("there", "back"), [(400, 0), (0, 400)])
def test_a_delay_one_way_only_is_uncertainty_and_not_offset_beyond_doubt(
    there: int, back: int
) -> None:
    sample = exchange(there=there * 10**6, back=back * 10**6)
    assert abs(sample.offset) == pytest.approx(0.2, abs=1e-5)
    assert sample.uncertainty >= 0.2
    assert abs(sample.offset) - sample.uncertainty <= 0


@pytest.mark.parametrize("step", [10**10, -(10**10), 1_100_000, -1_100_000])
def test_a_step_within_the_exchange_is_seen(step: int) -> None:
    assert not exchange(there=300_000_000, step=step).steady


@given(st.lists(SAMPLES, max_size=8))
def test_the_shortest_round_trip_since_the_last_step_wins(samples: List[Sample]) -> None:
    chosen = choose(samples)
    steps = [number for number, sample in enumerate(samples) if not sample.steady]
    since = samples[steps[-1] + 1 if steps else 0 :]
    if chosen is None:
        assert not since
        return
    assert chosen.sample in since
    assert chosen.dropped == len(steps)
    after_the_warm_up = since if steps else since[1:]
    assert all(chosen.sample.round_trip <= sample.round_trip for sample in after_the_warm_up)
    assert chosen.kept == (len(after_the_warm_up) or 1)


def test_the_warm_up_counts_only_when_it_is_all_there_is() -> None:
    fast, slow = exchange(there=1), exchange(there=10**9)
    assert choose([fast, slow]) == Chosen(slow, kept=1, dropped=0)
    assert choose([fast]) == Chosen(fast, kept=1, dropped=0)
    assert choose([]) is None


def test_what_was_measured_before_a_step_is_forgotten() -> None:
    before, stepped, after = exchange(there=1), exchange(step=10**10), exchange(there=10**9)
    assert choose([before, before, stepped, after]) == Chosen(after, kept=1, dropped=1)
    assert choose([before, before, stepped]) is None


@given(st.integers(-(10**12), 10**12), st.lists(st.tuples(DELAYS, DELAYS), max_size=8))
def test_honest_samples_agree_whatever_the_delays(
    offset: int, delays: List[Tuple[int, int]]
) -> None:
    assert consistent([exchange(offset=offset, there=there, back=back) for there, back in delays])


@pytest.mark.parametrize("jump", [10_000_000, -10_000_000, 10**10, -(10**10)])
def test_a_clock_that_jumps_between_two_exchanges_is_seen(jump: int) -> None:
    before, after = exchange(), exchange(offset=jump)
    assert before.steady
    assert after.steady
    assert not consistent([before, before, after])


def test_a_step_within_an_exchange_leaves_those_after_it_in_agreement() -> None:
    after = exchange(offset=10**10)
    assert consistent([exchange(), exchange(step=10**10), after, after])
    assert consistent([exchange(step=10**10)])


def test_the_same_answer_again_and_again_is_seen() -> None:
    asked = [exchange(at=NOW + count * 2_000_000) for count in range(6)]
    assert consistent(asked)
    assert not consistent([sample._replace(server=asked[0].server) for sample in asked])


def test_a_reading_says_how_it_was_taken() -> None:
    taken = reading("locks", Chosen(exchange(offset=-7_000_000), 4, 1), 12.5, {"tls": True})
    assert (taken.source, taken.taken_at) == ("locks", 12.5)
    assert taken.offset == pytest.approx(-0.007, abs=2e-6)
    assert taken.uncertainty == pytest.approx(0.000101, abs=1e-9)
    assert taken.detail == {
        "tls": True,
        "round_trip_ms": 0.2,
        "samples_kept": 4,
        "samples_dropped": 1,
    }


@pytest.mark.parametrize(
    "reply",
    [
        [b"1790000000", b"123456"],
        [1790000000, 123456],
        [b"1790000000", b"0000123456"],
    ],
)
def test_two_plain_numbers_are_a_time(reply: Reply) -> None:
    assert server_time(reply) == 1790000000123456


@pytest.mark.parametrize(
    "reply",
    [
        SimpleReply(b"OK"),
        ErrorReply(b"ERR unknown command"),
        1790000000,
        b"1790000000",
        None,
        [],
        [b"1790000000"],
        [b"1790000000", b"1", b"2"],
        [b"1790000000123", b"0"],
        [b"17900000001", b"0"],
        [10**10, 0],
        [b"1790000000", b"1000000"],
        [b"1790000000", b"-1"],
        [b"-1", b"0"],
        [-1, 0],
        [b"1790000000", None],
        [b"1790000000", []],
        [b"", b""],
        [b"17e8", b"0"],
        [b" 1790000000", b"0"],
        [b"now", b"soon"],
        ["\u0661".encode(), b"0"],
        [SimpleReply(b"1790000000"), SimpleReply(b"0")],
    ],
)
def test_anything_else_is_no_time(reply: Reply) -> None:
    assert server_time(reply) is None


def test_a_host_that_woke_in_1970_is_off_by_decades_and_believed() -> None:
    assert plausible(exchange(offset=-56 * _YEAR))
    assert not plausible(exchange(offset=int((MAX_OFFSET + 1) * 1e9)))
    assert not plausible(exchange(offset=-int((MAX_OFFSET + 1) * 1e9)))
