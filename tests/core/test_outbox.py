"""The order, the patience and the bounds of what one sink is owed."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.model import Alert, Delivery
from agent.core.outbox import LONGEST_PAUSE, MOST_PER_KEY, Posting, Queue
from tests.support.cycles import an_alert, postings

DELIVERED = Delivery(delivered=True)
FAILED = Delivery(delivered=False, retryable=True, what="503")
REFUSED = Delivery(delivered=False, retryable=False, what="404")


def no_jitter() -> float:
    return 1.0 - 2**-53


def queue_of(*alerts: Alert, repeat_every: Optional[float] = None) -> Queue:
    queue = Queue(no_jitter, repeat_every)
    for posting in postings("s", *alerts):
        queue.add(posting)
    return queue


def taken(queue: Queue, now: float = 0.0) -> str:
    posting = queue.take(now)
    assert posting is not None
    return posting.alert.id


def test_messages_of_one_key_keep_their_order() -> None:
    queue = queue_of(an_alert(1), an_alert(2, "escalate"), an_alert(3, "resolve"))
    told = []
    for _ in range(3):
        told.append(taken(queue))
        assert queue.settle(DELIVERED, 0.0)
    assert told == ["alert-1", "alert-2", "alert-3"]
    assert queue.take(0.0) is None
    assert queue.wait(0.0) is None


def test_a_resolve_waits_for_a_raise_that_fails() -> None:
    queue = queue_of(an_alert(1), an_alert(2, "resolve"))
    assert taken(queue) == "alert-1"
    assert not queue.settle(FAILED, 0.0)
    assert taken(queue, 10.0) == "alert-1"
    assert not queue.settle(FAILED, 10.0)
    assert queue.take(10.0) is None


def test_pauses_double_up_to_the_longest() -> None:
    queue = queue_of(an_alert(1))
    now, pauses = 0.0, []
    for _ in range(9):
        taken(queue, now)
        queue.settle(FAILED, now)
        pause = queue.wait(now)
        assert pause is not None
        pauses.append(round(pause))
        now += pause
    assert pauses == [5, 10, 20, 40, 80, 160, 300, 300, 300]


def test_jitter_takes_at_most_half_of_a_pause_away() -> None:
    queue = Queue(lambda: 0.0)
    queue.add(Posting("s", an_alert(1)))
    taken(queue)
    queue.settle(FAILED, 0.0)
    assert queue.wait(0.0) == 2.5


def test_a_receiver_is_given_the_time_it_asks_for() -> None:
    queue = queue_of(an_alert(1))
    taken(queue)
    queue.settle(FAILED._replace(retry_after=120.0), 0.0)
    assert queue.wait(0.0) == 120.0


@pytest.mark.parametrize("asked", [1e9, float("inf")])
def test_a_receiver_cannot_ask_for_ever(asked: float) -> None:
    queue = queue_of(an_alert(1))
    taken(queue)
    queue.settle(FAILED._replace(retry_after=asked), 0.0)
    assert queue.wait(0.0) == 3600.0


def test_a_failing_receiver_is_not_bothered_with_the_other_keys_meanwhile() -> None:
    queue = queue_of(an_alert(1), an_alert(2, condition="sync"))
    taken(queue)
    queue.settle(FAILED, 0.0)
    assert queue.take(4.0) is None


def test_a_message_the_receiver_chokes_on_does_not_starve_the_other_keys() -> None:
    queue = queue_of(an_alert(1), an_alert(2, condition="sync"))
    assert taken(queue) == "alert-1"
    queue.settle(FAILED, 0.0)
    assert taken(queue, 5.0) == "alert-2"


def test_a_message_refused_for_good_is_dropped_and_the_next_goes_out() -> None:
    queue = queue_of(an_alert(1), an_alert(2, "resolve"))
    taken(queue)
    assert queue.settle(REFUSED, 0.0)
    assert taken(queue) == "alert-2"


def test_only_one_message_is_under_way_at_a_time() -> None:
    queue = queue_of(an_alert(1), an_alert(2, condition="sync"))
    taken(queue)
    assert queue.take(0.0) is None
    assert queue.wait(0.0) is None


def test_what_is_not_saved_yet_waits_for_it() -> None:
    queue = Queue(no_jitter)
    (posting,) = postings("s", an_alert(1))
    queue.add(posting, not_before=5.0)
    assert queue.take(0.0) is None
    assert queue.wait(0.0) == 5.0
    queue.release(posting)
    assert queue.take(0.0) == posting


def test_being_saved_does_not_shorten_a_pause() -> None:
    queue = queue_of(an_alert(1))
    taken(queue)
    queue.settle(FAILED, 0.0)
    queue.release(Posting("s", an_alert(1)))
    assert queue.take(0.0) is None


def test_the_same_message_is_owed_once() -> None:
    queue = queue_of(an_alert(1), an_alert(1))
    assert queue.untold == 1


def test_a_reminder_that_did_not_get_out_gives_way_to_the_next_message() -> None:
    queue = queue_of(an_alert(1), an_alert(2, "remind"))
    (resolve,) = postings("s", an_alert(3, "resolve"))
    assert [posting.alert.id for posting in queue.add(resolve)] == ["alert-2"]
    assert taken(queue) == "alert-1"
    queue.settle(DELIVERED, 0.0)
    assert taken(queue) == "alert-3"


def test_a_receiver_that_forgets_is_told_again_until_the_trouble_is_over() -> None:
    queue = queue_of(an_alert(1), repeat_every=60.0)
    for now in (0.0, 60.0, 120.0):
        assert taken(queue, now) == "alert-1"
        assert not queue.settle(DELIVERED, now)
        assert queue.take(now + 59.0) is None
    assert queue.untold == 0
    (resolve,) = postings("s", an_alert(2, "resolve"))
    assert [posting.alert.id for posting in queue.add(resolve)] == ["alert-1"]
    assert taken(queue, 130.0) == "alert-2"
    assert queue.settle(DELIVERED, 130.0)
    assert queue.wait(130.0) is None


def test_a_refusal_does_not_end_the_telling_again_of_what_lasts() -> None:
    queue = queue_of(an_alert(1), repeat_every=60.0)
    taken(queue)
    queue.settle(DELIVERED, 0.0)
    taken(queue, 60.0)
    assert not queue.settle(REFUSED, 60.0)
    assert queue.failures == 1
    assert queue.take(60.0) is None
    assert taken(queue, 65.0) == "alert-1"
    queue.add(Posting("s", an_alert(2, "resolve")))
    assert queue.settle(REFUSED, 65.0)
    assert taken(queue, 65.0) == "alert-2"


def test_what_is_remembered_late_goes_before_what_came_meanwhile() -> None:
    queue = queue_of(an_alert(2, "escalate"))
    queue.adopt(postings("s", an_alert(1), an_alert(2, "escalate")))
    assert taken(queue) == "alert-1"
    queue.settle(DELIVERED, 0.0)
    assert taken(queue) == "alert-2"
    queue.settle(DELIVERED, 0.0)
    assert queue.take(0.0) is None


def test_telling_again_never_goes_before_news() -> None:
    queue = queue_of(an_alert(1), repeat_every=60.0)
    taken(queue)
    queue.settle(DELIVERED, 0.0)
    queue.add(Posting("s", an_alert(2, condition="sync")))
    assert taken(queue, 60.0) == "alert-2"


def test_news_need_not_wait_for_telling_again_to_succeed() -> None:
    queue = queue_of(an_alert(1), repeat_every=60.0)
    taken(queue)
    queue.settle(DELIVERED, 0.0)
    taken(queue, 60.0)
    queue.add(Posting("s", an_alert(2, "resolve")))
    assert queue.settle(FAILED, 60.0)
    assert taken(queue, 65.0) == "alert-2"


def test_a_long_outage_keeps_the_first_trouble_and_the_present_state() -> None:
    queue = Queue(no_jitter)
    dropped: List[Posting] = []
    for number in range(200):
        alert = an_alert(number, "resolve" if number % 2 else "raise")
        dropped += queue.add(Posting("s", alert))
    told = []
    while queue.untold:
        told.append(taken(queue))
        queue.settle(DELIVERED, 0.0)
    assert len(told) <= MOST_PER_KEY + 1
    assert told[0] == "alert-0"
    assert told[-1] == "alert-199"
    kinds = ["resolve" if int(ident[6:]) % 2 else "raise" for ident in told]
    assert kinds == ["raise", "resolve"] * (len(told) // 2)
    assert len(told) + len(dropped) == 200


Step = st.tuples(
    st.sampled_from(["raise", "escalate", "resolve", "delivered", "failed", "refused", "wait"]),
    st.sampled_from(["offset", "sync"]),
)


@given(st.lists(Step, max_size=60), st.sampled_from([None, 30.0]))
def test_whatever_happens_each_key_is_told_in_order_and_nothing_is_lost(
    steps: List[Tuple[str, str]], repeat_every: Optional[float]
) -> None:
    queue = Queue(no_jitter, repeat_every)
    owed: Dict[str, List[str]] = {"offset": [], "sync": []}
    told: Dict[str, List[str]] = {"offset": [], "sync": []}
    now = 0.0

    def attempt(delivery: Delivery) -> None:
        posting = queue.take(now)
        if posting is None:
            return
        before = told[posting.alert.condition]
        if not before or before[-1] != posting.alert.id:
            before.append(posting.alert.id)
        queue.settle(delivery, now)

    results = {"delivered": DELIVERED, "failed": FAILED, "refused": REFUSED}
    for number, (what, condition) in enumerate(steps):
        if what == "wait":
            now += LONGEST_PAUSE
        elif what in results:
            attempt(results[what])
        elif queue.untold < MOST_PER_KEY:
            alert = an_alert(number, what, condition)
            queue.add(Posting("s", alert))
            owed[condition].append(alert.id)
    while queue.untold:
        now += LONGEST_PAUSE
        attempt(DELIVERED)
    assert told == owed
