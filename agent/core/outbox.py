"""Owns what one sink is still owed: in which order, when to try again, and what may be condensed.

Pure: the time comes from the caller, in CLOCK_MONOTONIC seconds, and chance as a function.

The rules. Messages of one key go out in the order they came, so no resolve overtakes its raise.
A receiver that fails is left alone for a while that doubles, and meanwhile no other key bothers it
either. A message it refuses for good is dropped. What waits longer than anybody wants to read is
condensed from the middle: the receiver still hears of the first trouble and of how it stands now.
"""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from agent.core.model import Alert, Delivery

#: Seconds after the first failure, doubled with each further one up to the longest.
FIRST_PAUSE = 5.0
LONGEST_PAUSE = 300.0
#: The longest a receiver may ask us to wait (Retry-After), in seconds.
LONGEST_REQUEST = 3600.0
#: Messages of one key that wait, before the middle ones are condensed.
MOST_PER_KEY = 20
NEVER_BEFORE = float("-inf")


class Posting(NamedTuple):
    """One alert owed to one sink."""

    #: The ``name`` of the sink's settings.
    sink: str
    alert: Alert

    @property
    def ident(self) -> Tuple[str, str]:
        """What tells this posting from all others."""
        return (self.sink, self.alert.id)


class SinkHealth(NamedTuple):
    """How one sink is doing, for status and gauges."""

    name: str
    #: Alerts it has still to deliver.
    waiting: int
    #: Failed attempts since it last delivered.
    failures: int
    #: Why the last attempt failed, or that it is stuck; empty when all is well.
    trouble: str = ""


class _Entry:
    """A posting in the queue, and how it fared so far."""

    def __init__(self, posting: Posting, not_before: float) -> None:
        self.posting = posting
        self.not_before = not_before
        self.attempts = 0
        #: Delivered, and kept only to be told again while its trouble lasts.
        self.told = False

    @property
    def key(self) -> str:
        return self.posting.alert.key

    @property
    def kind(self) -> str:
        return self.posting.alert.kind


class Queue:
    """What one sink is owed. Not safe for threads by itself."""

    def __init__(self, chance: Callable[[], float], repeat_every: Optional[float] = None) -> None:
        """``chance`` gives [0, 1), for the jitter. ``repeat_every``: seconds after which a
        receiver that forgets has to be told again what still lasts; None for all others."""
        self._chance = chance
        self._repeat_every = repeat_every
        self._entries: List[_Entry] = []
        self._sending: Optional[_Entry] = None
        self._failures = 0
        self._rest_until = NEVER_BEFORE

    @property
    def untold(self) -> int:
        """How many messages the receiver has not had yet."""
        return sum(not entry.told for entry in self._entries)

    def untried(self, by: float) -> bool:
        """Whether a message waits that was never tried, and may be before ``by``."""
        return self._rest_until < by and any(not entry.attempts for entry in self._entries)

    @property
    def failures(self) -> int:
        """Failed attempts since the receiver last answered."""
        return self._failures

    def add(self, posting: Posting, not_before: float = NEVER_BEFORE) -> Tuple[Posting, ...]:
        """Owe one more; it is not sent before ``not_before``. Returns what is thereby settled:
        older messages of its key that nobody needs to hear any more."""
        if any(entry.posting.ident == posting.ident for entry in self._entries):
            return ()
        added = _Entry(posting, not_before)
        same = [entry for entry in self._entries if entry.key == added.key]
        gone = [entry for entry in same if self._superseded(entry)]
        self._entries.append(added)
        if len(same) - len(gone) >= MOST_PER_KEY:
            gone += self._middle([entry for entry in same if entry not in gone])
        self._entries = [entry for entry in self._entries if entry not in gone]
        return tuple(entry.posting for entry in gone)

    def adopt(self, postings: Sequence[Posting]) -> None:
        """Owe what was owed before all that waits here: an earlier run's, remembered late."""
        known = {entry.posting.ident for entry in self._entries}
        older = [p for p in postings if p.ident not in known]
        self._entries[:0] = [_Entry(posting, NEVER_BEFORE) for posting in older]

    def release(self, posting: Posting) -> None:
        """It need not wait for its ``not_before`` any longer."""
        for entry in self._entries:
            if entry.posting.ident == posting.ident and not entry.attempts:
                entry.not_before = NEVER_BEFORE

    def discard(self, posting: Posting) -> None:
        """It is owed no longer: somebody else has delivered it."""
        self._entries = [e for e in self._entries if e.posting.ident != posting.ident]

    def take(self, now: float) -> Optional[Posting]:
        """The posting to send now, if there is one; then tell how it went with ``settle``."""
        if self._sending is not None or now < self._rest_until:
            return None
        ready = [entry for entry in self._heads() if entry.not_before <= now]
        if not ready:
            return None
        # the least tried first: a message the receiver chokes on must not starve the other keys
        self._sending = min(ready, key=lambda entry: (entry.told, entry.attempts))
        return self._sending.posting

    def wait(self, now: float) -> Optional[float]:
        """Seconds until ``take`` may have something; None: not before something is added."""
        times = [max(entry.not_before, self._rest_until) for entry in self._heads()]
        return max(0.0, min(times) - now) if times and self._sending is None else None

    def settle(self, delivery: Delivery, now: float) -> bool:
        """Note how the posting last taken fared. True when it is owed no longer."""
        entry, self._sending = self._sending, None
        if entry is None or entry not in self._entries:
            return True
        entry.attempts += 1
        if not delivery.delivered and not delivery.retryable and self._again(entry):
            # a proxy said 404 while the receiver restarted: unsaid, the trouble expires there
            self._failures += 1
            entry.not_before = now + self._pause(delivery.retry_after)
            return False
        if not delivery.delivered and delivery.retryable:
            self._failures += 1
            self._rest_until = now + self._pause(delivery.retry_after)
            if not (entry.told and self._followed(entry)):
                return False
        else:
            self._failures = 0
            self._rest_until = NEVER_BEFORE
        if delivery.delivered and self._lasts(entry):
            entry.told = True
            entry.not_before = now + (self._repeat_every or 0.0)
            return False
        self._entries.remove(entry)
        return True

    def _pause(self, asked: Optional[float]) -> float:
        longest: float = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(self._failures - 1, 30))
        # half fixed, half by chance: a fleet that lost its receiver does not come back as one
        pause = longest * (0.5 + self._chance() / 2)
        return max(pause, min(asked or 0.0, LONGEST_REQUEST))

    def _lasts(self, entry: _Entry) -> bool:
        """Whether a delivered message has to be told again until another one of its key."""
        return (
            self._repeat_every is not None and entry.kind != "resolve" and not self._followed(entry)
        )

    def _again(self, entry: _Entry) -> bool:
        """Whether it was delivered before, and still has to be told again."""
        return entry.told and self._lasts(entry)

    def _followed(self, entry: _Entry) -> bool:
        """Whether a newer message of its key waits behind it."""
        return any(other is not entry and other.key == entry.key for other in self._entries)

    def _superseded(self, entry: _Entry) -> bool:
        """Whether a new message of its key leaves nothing to say for this one."""
        if entry is self._sending:
            return False
        return entry.told or (entry.kind == "remind" and not entry.attempts)

    def _middle(self, waiting: List[_Entry]) -> List[_Entry]:
        """The oldest "it is over" and "it is back" in a row, neither of which was ever tried."""
        for over, back in zip(waiting, waiting[1:]):
            tried = over.attempts or back.attempts or over is self._sending
            if over.kind == "resolve" and back.kind == "raise" and not tried:
                return [over, back]
        return []

    def _heads(self) -> List[_Entry]:
        """The oldest entry of each key: only that one may go out."""
        heads: Dict[str, _Entry] = {}
        for entry in self._entries:
            heads.setdefault(entry.key, entry)
        return list(heads.values())
